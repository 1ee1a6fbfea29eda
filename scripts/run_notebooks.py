"""For docs/notebooks: run the notebooks from a clean kernel and keep their outputs.

    python scripts/run_notebooks.py [NOTEBOOK]...

What changes from run to run (times, counters of the kernel) is left out; a notebook over 700 kB is refused.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
LARGEST = 700_000  # bytes


def run(path: Path) -> int:
    """Run one notebook, write it back with its outputs, and return its size in bytes."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.resolve().parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:  # warnings name files of the machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            _drop_long_text(output)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > LARGEST:
        raise SystemExit(f"{path.name}: {len(text.encode()):,} bytes of output; keep it under {LARGEST:,}")
    path.write_text(text, encoding="utf-8", newline="\n")
    return len(text.encode())


def _drop_long_text(output: nbformat.NotebookNode) -> None:
    """Drop the plain form of a result that is long and has a better one."""
    forms = output.get("data", {})
    if len(forms) > 1 and len(forms.get("text/plain", "")) > 1000:
        del forms["text/plain"]


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        print(f"{path.name}: {run(path):,} bytes")


if __name__ == "__main__":
    main()
