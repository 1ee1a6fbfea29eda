"""Where the data that comes with nmtalign lies: inside the installed package, or in data/ of a checkout."""

from __future__ import annotations

from pathlib import Path

from nmtalign.door import as_path
from nmtalign.errors import UsageError

_PLACES = (Path(__file__).parent / "data", Path(__file__).parent.parent / "data")


def shipped(name: str) -> Path:
    """Return the path of a shipped file or folder.

    Parameters
    ----------
    name : str
        As in data/: ``en_fr_sample``, ``en_fr_vectors``.

    Raises
    ------
    UsageError
        If this installation has no such data.

    Examples
    --------
    >>> shipped("en_fr_sample").name
    'en_fr_sample'
    """
    for place in _PLACES:
        if (place / name).exists():
            return place / name
    raise UsageError(f"this installation of nmtalign holds no data named {name!r}; name your own files")


def place_of(path: str | Path) -> Path:
    """Return a path as it is, or where there is nothing of that name, the shipped folder that is called so.

    >>> place_of("en_fr_vectors").is_dir(), place_of("nothing/of/the/kind").exists()
    (True, False)
    """
    path = as_path(path)
    places = [path, *(place / path for place in _PLACES)]
    return next((place for place in places if place.exists()), places[0])
