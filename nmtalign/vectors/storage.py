"""Load and save word vectors in every form people have them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from nmtalign.errors import DataError, UsageError
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.folders import read_folder, read_word2int, write_folder, write_word2int

FORMATS = ("folder", "word2int")


def load_embeddings(
    path: str | Path, *, format: str = "auto", limit: int | None = None, unsafe_pickle: bool = False
) -> Embeddings:
    """Load the vectors of one language."""
    path = Path(path)
    if unsafe_pickle:
        warnings.warn(f"{path}: pickles are read without the allow-list and can run any code", stacklevel=2)
    if path.is_dir():
        return read_folder(path)
    return read_word2int(*_word2int_files(path), unsafe_pickle=unsafe_pickle)


def save_embeddings(embeddings: Embeddings, path: str | Path, *, format: str = "folder") -> None:
    """Save the vectors of one language."""
    path = Path(path)
    if format == "folder":
        write_folder(embeddings, path)
    elif format == "word2int":
        path.parent.mkdir(parents=True, exist_ok=True)
        write_word2int(embeddings, *_word2int_files(path))
    else:
        raise UsageError(f"expected one of {FORMATS}, found {format!r}")


def _word2int_files(path: Path) -> tuple[Path, Path]:
    """Return pickle and matrix of the seeds' form, given either of them."""
    name = path.name
    for start, end in (("word2int", ".pkl"), ("embeddings", ".npz")):
        if name.startswith(start) and name.endswith(end):
            middle = name[len(start) : -len(end)]
            return path.with_name(f"word2int{middle}.pkl"), path.with_name(f"embeddings{middle}.npz")
    raise UsageError(f"{path}: expected a name like word2int_en.pkl or embeddings_en.npz")


def load_pair(
    folder: str | Path, *, languages: tuple[str, str] | None = None, unsafe_pickle: bool = False
) -> tuple[Embeddings, Embeddings]:
    """Load source and target vectors that lie side by side in one folder.

    Parameters
    ----------
    folder : path
        Holds, for each of two languages XX, ``word2int_XX.pkl`` and ``embeddings_XX.npz``, or a sub-folder
        ``XX`` of the own format.
    languages : (str, str), optional
        Source and target; by default as ``pair.json`` says, else the only two there are, alphabetically.

    Returns
    -------
    (source, target) : Embeddings
        Vectors of the same dimension.
    """
    folder = Path(folder)
    places = _languages(folder)
    source, target = languages or _default_pair(folder, sorted(places))
    for language in (source, target):
        if language not in places:
            raise DataError(f"no vectors for language {language!r}; found {sorted(places)}").at(folder)
    first = load_embeddings(places[source], unsafe_pickle=unsafe_pickle)
    second = load_embeddings(places[target], unsafe_pickle=unsafe_pickle)
    if first.dimension != second.dimension:
        found = f"{source} has {first.dimension} dimensions, {target} {second.dimension}"
        raise DataError(f"{found}; they share no space").at(folder)
    return first, second


def save_pair(
    source: Embeddings,
    target: Embeddings,
    folder: str | Path,
    *,
    languages: tuple[str, str],
    format: str = "folder",
) -> None:
    """Save source and target vectors side by side, so that :func:`load_pair` finds them again."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for language, embeddings in zip(languages, (source, target), strict=True):
        name = language if format == "folder" else f"word2int_{language}.pkl"
        save_embeddings(embeddings, folder / name, format=format)
    text = json.dumps({"languages": list(languages), "settings": dict(source.settings)}, indent=2)
    (folder / "pair.json").write_text(text + "\n", encoding="utf-8")


def _languages(folder: Path) -> dict[str, Path]:
    """Return where each language of a folder lies."""
    if not folder.is_dir():
        raise DataError("no such folder of vectors").at(folder)
    places = {path.stem.removeprefix("word2int_"): path for path in folder.glob("word2int_*.pkl")}
    places |= {path.parent.name: path.parent for path in folder.glob("*/meta.json")}
    return places


def _default_pair(folder: Path, found: list[str]) -> tuple[str, str]:
    if (folder / "pair.json").exists():
        languages = json.loads((folder / "pair.json").read_text(encoding="utf-8"))["languages"]
        return languages[0], languages[1]
    if len(found) != 2:
        raise UsageError(f"{folder}: expected vectors of two languages, found {found}; name them (--langs)")
    return found[0], found[1]
