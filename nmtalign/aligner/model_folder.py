"""The model folder: the state of an aligner as text, JSON and plain NumPy arrays; no pickle.

meta.json           format, version, plain values of all parts, hashes of the files
arrays.npz          small arrays
*.npy               large arrays, a file each
*.txt               word lists, a word a line
sentencepiece-*     copies of the files of the tokenizer, where it has any
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from nmtalign.arrays import read_arrays
from nmtalign.door import as_path
from nmtalign.errors import DataError, UsageError
from nmtalign.files import file_in, fingerprint, foreign, read_json
from nmtalign.output import expect_room, whole_folder
from nmtalign.state import State, Stored

_DAMAGED = "; the file is damaged or of another model: copy the folder again, or learn the model again"
FORMAT = "nmtalign model"
VERSION = 6

KINDS: dict[str, tuple[str, str]] = {  # of parts: module, and class or function, imported when one is opened
    "mixture": ("nmtalign.scorers.mixture", "Mixture"),
    "lexicon": ("nmtalign.scorers.lexicon", "Lexicon"),
    "dense": ("nmtalign.scorers.dense", "DenseScorer"),
    "vectors": ("nmtalign.scorers.given_vectors", "VectorScorer"),
    "embeddings": ("nmtalign.vectors.embeddings", "Embeddings"),
    "dot": ("nmtalign.scorers.vector_scores", "DotScore"),
    "bahdanau": ("nmtalign.scorers.vector_scores", "BahdanauScore"),
    "projected-dot": ("nmtalign.scorers.vector_scores", "ProjectedDot"),
    "softmax": ("nmtalign.positions.softmax", "SoftmaxPositions"),
    "hmm": ("nmtalign.positions.hmm", "HiddenMarkov"),
    "rescored": ("nmtalign.rescoring.rescorer", "Rescored"),
    "extraction": ("nmtalign.aligner.extraction", "extraction_from_state"),
    "expert": ("nmtalign.aligner.experts", "Expert"),
}


def is_model(folder: str | Path) -> bool:
    """Tell whether a folder holds a model, of whatever version."""
    if not Path(folder, "meta.json").exists():
        return False
    file = file_in(Path(folder), "meta.json")
    try:
        return read_json(file).get("format") == FORMAT
    except (OSError, DataError):
        return False


def expect_room_for_model(folder: str | Path, *, overwrite: bool) -> None:
    """Refuse a folder with other files than those of a model, and with these but for `overwrite`."""
    meta = read_json(Path(folder) / "meta.json") if is_model(folder) else {}
    files = meta.get("files")
    own = ["meta.json", *files] if isinstance(files, dict) else []
    expect_room(folder, own, "a model", overwrite=overwrite)


def save_state(state: State, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the state of an aligner, as of :meth:`nmtalign.aligner.aligner.Aligner.save`."""
    expect_room_for_model(as_path(folder), overwrite=overwrite)
    with whole_folder(folder) as new:
        meta = {"format": FORMAT, "version": VERSION, **state.write(new)}
        text = json.dumps(meta | {"files": fingerprints(new)}, ensure_ascii=False, indent=1) + "\n"
        (new / "meta.json").write_text(text, encoding="utf-8", newline="\n")


def open_state(folder: str | Path, opened: Callable[[Stored], Any]) -> Any:
    """Return what `opened` makes of the state in a folder.

    Raises
    ------
    DataError
        If the folder is not a model or is of another format, a part is missing or not the one that was saved,
        or an array is not of the type, shape and range that it should be.
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    with foreign(folder, "this model is damaged or incomplete; copy the folder again, or learn it again"):
        expect_files(folder, meta["files"])
        place = partial(file_in, folder, listed=meta["files"])
        packed = read_arrays(place("arrays.npz")) if (folder / "arrays.npz").exists() else {}
        kinds = {kind: partial(_opened, *entry) for kind, entry in KINDS.items()}
        try:
            return opened(Stored(folder, meta, packed, kinds, place))
        except UsageError as error:  # of a value that the folder gives, not the caller
            raise DataError(str(error)).at(folder / "meta.json") from None


def _opened(module: str, name: str, stored: Stored, *context: Any) -> Any:
    maker = getattr(import_module(module), name)
    return getattr(maker, "from_state", maker)(stored, *context)


def _read_meta(folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    if not path.exists():
        raise DataError("expected a model folder with a meta.json; there is none").at(folder)
    meta = read_json(path)
    if meta.get("format") != FORMAT:
        raise DataError(f"expected a folder of the format {FORMAT!r}; this is something else").at(path)
    if meta.get("version") != VERSION:
        found = f"expected format version {VERSION}, found {meta.get('version')}"
        raise DataError(f"{found}; learn the model again with this program").at(path)
    if not isinstance(meta.get("files"), dict):
        raise DataError("expected a list of the files").at(path)
    return meta


def fingerprints(folder: Path) -> dict[str, dict[str, Any]]:
    """Return size and SHA-256 of each file of a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): fingerprint(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expect_files(folder: Path, expected: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files of other sizes or bytes than `expected`, which is as :func:`fingerprints` gives them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "source.txt").write_text("the\\n")
    ...     expect_files(Path(folder), {"source.txt": {"bytes": 5}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nmtalign.errors.DataError: ...source.txt: expected 5 bytes, found 4; the file is damaged...
    """
    for name, wanted in expected.items():
        path = file_in(folder, name)
        size = path.stat().st_size
        if size != wanted["bytes"]:
            raise DataError(f"expected {wanted['bytes']:,} bytes, found {size:,}{_DAMAGED}").at(path)
    for name, wanted in expected.items():
        found = fingerprint(folder / name)["sha256"]
        if found != wanted["sha256"]:
            what = f"expected the SHA-256 {wanted['sha256'][:8]}..., found {found[:8]}..."
            raise DataError(what + _DAMAGED).at(folder / name)
