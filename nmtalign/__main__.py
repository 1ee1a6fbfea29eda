"""``python -m nmtalign`` is the command line."""

from nmtalign.cli import main

if __name__ == "__main__":
    main()
