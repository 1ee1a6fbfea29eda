"""The state of a part of an aligner: plain values, arrays, word lists, and the states of its own parts.

Every part has a method ``state()``. Its class restores the part from a :class:`Stored` state, which validates
each value that it returns. A model folder contains the state of an aligner as text, JSON and plain arrays; no
pickle. Names give the path of a part, such as ``scorer.lexicon.source_counts``.

meta.json           format, version, plain values of all parts, hashes of the files
arrays.npz          small arrays
*.npy               large arrays, one file per array
*.txt               word lists, one word per line
sentencepiece-*     copies of the files of the tokenizer, where it has any
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Shape, check_stored_array, check_stored_integer, check_stored_number
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import read_array, read_arrays, write_array
from nmtalign.files.atomic_output import atomic_folder, check_replaceable
from nmtalign.files.paths import as_path, file_inside, fingerprint, reraise_as_data_error
from nmtalign.files.text_files import is_encodable, read_json, read_utf8

FORMAT = "nmtalign model"
VERSION = 6
_DAMAGED = "; the file is damaged or of another model: copy the folder again, or learn the model again"

NamedArrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class State:
    """The content of a part, from which its class can make it again."""

    kind: str  # names the class, see `PART_CLASSES` in aligner/aligner.py
    values: Mapping[str, Any] = field(default_factory=dict)  # plain values, for JSON
    arrays: NamedArrays = field(default_factory=dict)  # small arrays, stored in one file
    large: NamedArrays = field(default_factory=dict)  # large arrays, one file per array
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)  # word lists
    files: Mapping[str, str | Path] = field(default_factory=dict)  # files to copy, by their new name
    parts: Mapping[str, State] = field(default_factory=dict)

    def equals(self, other: State) -> bool:
        """Return whether another state has the same content; files are compared by their content."""
        if self.kind != other.kind or dict(self.values) != dict(other.values):
            return False
        for ours, theirs in ((self.arrays, other.arrays), (self.large, other.large)):
            if ours.keys() != theirs.keys():
                return False
            if not all(np.array_equal(array, theirs[name]) for name, array in ours.items()):
                return False
        if self.words.keys() != other.words.keys() or self.parts.keys() != other.parts.keys():
            return False
        if not all(list(words) == list(other.words[name]) for name, words in self.words.items()):
            return False
        files, other_files = (
            {name: Path(path).read_bytes() for name, path in one.files.items()} for one in (self, other)
        )
        return files == other_files and all(
            part.equals(other.parts[name]) for name, part in self.parts.items()
        )

    def write(self, folder: Path) -> dict[str, Any]:
        """Write arrays, word lists and files into a folder; return the other values, for JSON."""
        packed: dict[str, NDArray[Any]] = {}
        meta = self._written(folder, "", packed)
        if packed:
            np.savez_compressed(folder / "arrays.npz", **packed)  # type: ignore[arg-type]
        return meta

    def _written(self, folder: Path, prefix: str, packed: dict[str, NDArray[Any]]) -> dict[str, Any]:
        packed |= {prefix + name: array for name, array in self.arrays.items()}
        for name, array in self.large.items():
            write_array(folder / f"{prefix}{name}.npy", array)
        for name, words in self.words.items():
            _write_word_list(words, folder / f"{prefix}{name}.txt")
        for name, path in self.files.items():
            shutil.copyfile(path, folder / f"{prefix}{name}")
        parts = {name: part._written(folder, f"{prefix}{name}.", packed) for name, part in self.parts.items()}
        counts = {name: len(words) for name, words in self.words.items()}
        return {"kind": self.kind, **self.values, "lists": counts, "parts": parts}


def _write_word_list(words: Sequence[str], path: Path) -> None:
    """Write one word per line; raise DataError for a word that contains a line end or a surrogate."""
    for number, word in enumerate(words):
        if "\n" in word or not is_encodable(word):
            found = f"word {number}, {word[:60]!r}, contains a line end or an unpaired surrogate"
            raise DataError(f"{found}; a word list cannot keep the word")
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")


@dataclass(frozen=True, eq=False)
class Stored:
    """A state that was read from a folder; each method checks a value, and its DataError names the place."""

    folder: Path
    meta: Mapping[str, Any]
    packed: NamedArrays  # the arrays of arrays.npz
    kinds: Mapping[str, tuple[str, str]]  # module and class of each kind of part
    file: Callable[[str], Path]  # returns the path of a file by its name, or raises DataError
    prefix: str = ""  # the names of the files and arrays of this part begin with it

    def section(self, name: str) -> Stored:
        """Return the values of the object with this name; arrays and files stay those of this part."""
        return replace(self, meta=self.value(name, dict))

    def part(self, name: str) -> Stored:
        """Return the state of the part with this name, such as ``scorer``."""
        meta = self.section("parts").value(name, dict)
        return replace(self, meta=meta, prefix=f"{self.prefix}{name}.")

    def parts(self) -> list[str]:
        """Return the names of the parts."""
        return list(self.meta["parts"])

    def open(self, name: str, *context: Any) -> Any:
        """Return a part; `context` is passed on to ``from_state`` of its class."""
        stored = self.part(name)
        kind = stored.text("kind")
        if kind not in self.kinds:
            kinds = ", ".join(self.kinds)
            raise DataError(f"expected one of the kinds {kinds}, found {kind!r}").at(self._meta)
        module, class_name = self.kinds[kind]
        return getattr(import_module(module), class_name).from_state(stored, *context)

    @property
    def _meta(self) -> Path:
        return self.folder / "meta.json"

    def value(self, name: str, kind: type) -> Any:
        """Return a plain value if it is an instance of `kind`."""
        value = self.meta.get(name)
        if not isinstance(value, kind):
            found = f"expected {kind.__name__} as {name!r}, found {type(value).__name__}"
            raise DataError(found).at(self._meta)
        return value

    def text(self, name: str) -> str:
        """Return the value with this name; a DataError if it is not a string."""
        return str(self.value(name, str))

    def number(self, name: str, *, minimum: float | None = None, maximum: float | None = None) -> float:
        """Return a finite number in [minimum, maximum]."""
        return check_stored_number(self.meta.get(name), minimum, maximum, name=self._meta)

    def integer(self, name: str, *, minimum: float | None = None, maximum: float | None = None) -> int:
        """Return an integer in [minimum, maximum]."""
        return check_stored_integer(self.meta.get(name), minimum, maximum, name=self._meta)

    def array(
        self,
        name: str,
        kind: str,
        shape: Shape,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
    ) -> NDArray[Any]:
        """Return a packed array; for the parameters see :func:`nmtalign.arrays.check_stored_array`."""
        entry = f"{self.folder / 'arrays.npz'}, {self.prefix}{name}"
        return check_stored_array(self.packed[self.prefix + name], kind, shape, minimum, maximum, name=entry)

    def large(
        self,
        name: str,
        kind: str,
        shape: Shape,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
    ) -> NDArray[Any]:
        """Return an array that has a file of its own."""
        path = self.file(f"{self.prefix}{name}.npy")
        return check_stored_array(read_array(path), kind, shape, minimum, maximum, name=path)

    def words(self, name: str) -> list[str]:
        """Return a word list."""
        path = self.file(f"{self.prefix}{name}.txt")
        count = check_stored_integer(self.meta["lists"][name], minimum=0, name=self._meta)
        words = read_utf8(path).split("\n")[:-1]
        if len(words) != count:
            raise DataError(f"expected {count} words, found {len(words)}").at(path)
        return words


def is_model(folder: str | Path) -> bool:
    """Return whether a folder contains a model, of any version."""
    folder = as_path(folder)
    if not (folder / "meta.json").exists():
        return False
    file = file_inside(folder, "meta.json")
    try:
        return read_json(file).get("format") == FORMAT
    except (OSError, DataError):
        return False


def languages_of_model(folder: str | Path) -> tuple[str | None, str | None]:
    """Return the languages of a model without reading the rest of it; (None, None) unless it knows both."""
    languages = read_json(as_path(folder) / "meta.json").get("languages") if is_model(folder) else None
    if not isinstance(languages, list) or len(languages) != 2:
        return None, None
    source, target = languages
    return (source, target) if isinstance(source, str) and isinstance(target, str) else (None, None)


def check_model_replaceable(folder: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError if saving a model would destroy other files, or a model without `overwrite`."""
    meta = read_json(as_path(folder) / "meta.json") if is_model(folder) else {}
    files = meta.get("files")
    names = ["meta.json", *files] if isinstance(files, dict) else []
    check_replaceable(folder, names, "a model", overwrite=overwrite)


def save_state(state: State, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the state of an aligner for :meth:`nmtalign.aligner.aligner.Aligner.save`."""
    check_model_replaceable(folder, overwrite=overwrite)
    with atomic_folder(folder) as new:
        meta = {"format": FORMAT, "version": VERSION, **state.write(new)}
        text = json.dumps(meta | {"files": fingerprints(new)}, ensure_ascii=False, indent=1) + "\n"
        (new / "meta.json").write_text(text, encoding="utf-8", newline="\n")


def open_state(
    folder: Path, from_state: Callable[[Stored], Any], kinds: Mapping[str, tuple[str, str]]
) -> Any:
    """Return the object that `from_state` makes of the state in a folder; `kinds` are those of the aligner.

    Raises DataError if the folder is not a model of this format, if a file is missing or has changed, or if
    an array has another type, shape or range than expected.
    """
    meta = _read_model_meta(folder)
    damaged = "this model is damaged or incomplete; copy the folder again, or learn it again"
    with reraise_as_data_error(folder, damaged):
        check_files(folder, meta["files"])
        path_of = partial(file_inside, folder, listed=meta["files"])
        packed = read_arrays(path_of("arrays.npz")) if (folder / "arrays.npz").exists() else {}
        try:
            return from_state(Stored(folder, meta, packed, kinds, path_of))
        except UsageError as error:  # a wrong value in the folder, not in the call
            raise DataError(str(error)).at(folder / "meta.json") from None


def _read_model_meta(folder: Path) -> dict[str, Any]:
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


def check_files(folder: Path, expected: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise DataError if the size or the bytes of a file differ from `expected`, see :func:`fingerprints`."""
    for name, wanted in expected.items():
        path = file_inside(folder, name)
        size = path.stat().st_size
        if size != wanted["bytes"]:
            raise DataError(f"expected {wanted['bytes']:,} bytes, found {size:,}{_DAMAGED}").at(path)
        sha256 = fingerprint(path)["sha256"]
        if sha256 != wanted["sha256"]:
            found = f"expected the SHA-256 {wanted['sha256'][:8]}..., found {sha256[:8]}..."
            raise DataError(found + _DAMAGED).at(path)
