"""Load and save word vectors in the common formats.

====================  ==================================================================  =======
format                description                                                         written
====================  ==================================================================  =======
``folder``            nmtalign's own format: vectors.npy, vocab.txt, meta.json            yes
``word2int``          word2int_XX.pkl or .json with a matrix in an .npz or .npy file      yes
``word2vec``          text of word2vec, fastText (.vec) or, without a header line, GloVe  yes
``word2vec-binary``   binary files of word2vec                                            yes
``fasttext``          fastText's .bin models with sub-words                               no
``gensim``            gensim's KeyedVectors and models with word vectors (pickles)        no
``pickle``            a pickled dictionary from words to vectors                          no
``static``            tokenizer.json and model.safetensors (model2vec, Hugging Face)      no
====================  ==================================================================  =======

The format of a file is detected from its content, except that ``word2int`` and ``static`` are recognized by
file names. Files of the formats from ``word2vec`` to ``pickle`` may be compressed by gzip, bzip2, xz or
Zstandard, or be the only file of a zip archive.
"""

from __future__ import annotations

import codecs
import json
import pickle
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nmtalign.arrays import Reals
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.files.array_files import NpyRowReader, read_array
from nmtalign.files.atomic_output import AtomicFiles, atomic_folder, check_overwrite, check_replaceable
from nmtalign.files.paths import (
    MATRIX_SUFFIXES,
    as_path,
    companion_paths,
    file_inside,
    is_word2int_path,
    reraise_as_data_error,
    resolve_path,
)
from nmtalign.files.sniffing import (
    FASTTEXT,
    PICKLE,
    WIDE_ENCODINGS,
    check_readable,
    detect_encoding,
)
from nmtalign.files.text_files import check_encoding, parse_json, read_json, read_utf8
from nmtalign.names import READ_VECTORS, ReadVectorsFormat, WrittenVectorsFormat
from nmtalign.settings import VectorFileSettings
from nmtalign.state import is_model
from nmtalign.text.tokenization import TextSettings
from nmtalign.validation import check_choice, check_number, check_type
from nmtalign.vectors.embeddings import Embeddings, Vocabulary, is_word_frame
from nmtalign.vectors.pickles import (
    has_vectors,
    is_pickle,
    read_gensim,
    read_pickle,
    read_pickled_vectors,
    vectors_of_dictionary,
)
from nmtalign.vectors.subword_vectors import STATIC_FILES, CharacterNgrams, is_static_model, read_static_model
from nmtalign.vectors.word2vec_files import (
    detect_layout,
    is_fasttext,
    looks_like_text,
    open_vectors_file,
    read_fasttext_binary,
    read_header,
    read_text_vectors,
    read_word2vec_binary,
    write_word2vec,
)

_FILE_NAMES = {
    "folder": "{}",
    "word2int": "word2int_{}.pkl",
    "word2vec": "vectors_{}.vec",
    "word2vec-binary": "vectors_{}.bin",
}
# patterns of the files that saved vectors consist of; with `overwrite` they may be replaced
_FOLDER_FILES = ("meta.json", "vocab.txt", "vectors.npy", "subwords.npy", "sentencepiece-?.model")
_PAIR_FILES = (
    "pair.json",
    "word2int_*.pkl",
    "embeddings_*.npz",
    "vectors_*.vec",
    "vectors_*.bin",
    "sentencepiece-?.model",
    "bahdanau.npz",
    "scaled-dot.npz",
)
# a language in front of each word, as in ConceptNet's files, and as files of several languages have it
_LANGUAGE_PREFIX = re.compile(r"/c/[a-z]{2,3}/|[a-z]{2}[_:](?=.)")
_MIN_PREFIXED_WORDS = 4  # fewer words may begin so by accident
_MAX_SHOWN_PREFIXES = 4
_DETECTION_BYTES = 1 << 20  # the format is detected from the beginning of a file
MAX_ENTRY = 1e15  # sums of squares of larger entries would overflow in single precision
_ADVICE_ON_OTHER_FILES = (
    "in Python, nmtalign.Embeddings.of(words, matrix) takes words and vectors from any file; a matrix X.npy"
    " or X.npz needs its words beside it, in word2int_X.pkl or X.json; a static model is named by its folder"
)
_PICKLE_HEAD_BYTES = 200  # contain the name of the class of the pickled object
_FOLDER_FORMAT = {"format": "nmtalign-vectors", "version": 1}


def load_embeddings(
    path: str | Path,
    *,
    format: Literal["auto"] | ReadVectorsFormat = "auto",
    limit: int | None = None,
    unsafe_pickle: bool = False,
    encoding: str = "utf-8",
    errors: str | None = None,
    strip_prefix: str | None = None,
) -> Embeddings:
    """Load the word vectors of one language.

    Parameters
    ----------
    path : path
        A file or folder; for ``word2int`` either of the two files.
    format : str
        ``folder``, ``word2int``, ``word2vec``, ``word2vec-binary``, ``fasttext``, ``gensim``, ``pickle`` or
        ``static``; with ``auto`` the content decides.
    limit : int, optional
        Load only the first words, usually the most frequent ones.
    unsafe_pickle : bool
        Read pickles with Python's own reader, which runs any code that they contain. Warns.
    encoding, errors : str
        How to decode the words of text and binary files, as for :meth:`bytes.decode`. A byte order mark of
        UTF-8, UTF-16 or UTF-32 takes precedence.
    strip_prefix : str, optional
        Keep only the words that begin so, such as ``/c/en/``, without this beginning: the words of one
        language, in a file of several.

    Returns
    -------
    Embeddings
        With sub-words where the file has them. Unknown words get a vector of zeros.

    Raises
    ------
    DataError
        If the file cannot be read safely and completely.
    """
    path = as_path(path)
    if resolve_path(path) != path:
        raise UsageError(f"{path} are bundled vectors of two languages; `load` makes an aligner over them")
    if unsafe_pickle:
        warn_caller(f"{path}: pickles are read without the allow-list and can run any code")
    if limit is not None:
        check_number(limit, "a limit of at least 1 word", minimum=1, integer=True)
    check_encoding(encoding)
    try:
        codecs.lookup_error(errors or "strict")
    except LookupError as error:
        raise UsageError(f"words cannot be decoded with `errors` ({error})") from None
    check_choice(format, ("auto", *READ_VECTORS), "formats of vectors")
    format = detect_format(path, encoding=encoding) if format == "auto" else format
    if format == "static" and limit is not None:
        raise UsageError("`limit` does not apply to a static model, which composes all words; remove it")
    if strip_prefix is not None:
        check_type(strip_prefix, str, "the prefix of words")
    if format == "static" and strip_prefix:
        raise UsageError("`strip_prefix` does not apply to a static model, which has no list of words")
    decoding = limit, encoding, errors or "strict"
    max_rows = None if strip_prefix else limit  # a limit counts the words that are kept
    readers: dict[str, Callable[[], Embeddings]] = {
        "folder": lambda: _read_folder(path, max_rows),
        "word2int": lambda: _read_word2int(path, unsafe_pickle),
        "word2vec": lambda: read_text_vectors(path, *decoding, strip_prefix or ""),
        "word2vec-binary": lambda: read_word2vec_binary(path, max_rows, encoding, errors or "strict"),
        "fasttext": lambda: read_fasttext_binary(path, max_rows, encoding, errors or "backslashreplace"),
        "gensim": lambda: read_gensim(path, max_rows, unsafe_pickle),
        "pickle": lambda: read_pickled_vectors(path, unsafe_pickle),
        "static": lambda: Embeddings.of_static_model(
            read_static_model(path if path.is_dir() else path.parent)
        ),
    }
    with (
        reraise_as_data_error(path),
        np.errstate(over="ignore", invalid="ignore"),
    ):  # entries that are not finite are refused
        embeddings = readers[format]()
        if strip_prefix and format != "word2vec":
            embeddings = embeddings.without_prefix(strip_prefix)
    for matrix in (embeddings.matrix, *([embeddings.subwords.matrix] if embeddings.subwords else [])):
        _check_entries(matrix, path)
    if strip_prefix is None:
        embeddings = _without_language(embeddings, path)
    return embeddings if limit is None else embeddings.first(limit)


def _without_language(embeddings: Embeddings, path: Path) -> Embeddings:
    """Return vectors whose words lack the language that all of them begin with, as ConceptNet's /c/en/cat.

    If the language cannot be known, or may be a part of the words of the text, a warning says what to do.
    """
    words = embeddings.vocabulary.words
    if len(words) < _MIN_PREFIXED_WORDS:
        return embeddings
    prefixes: Counter[str] = Counter()
    for word in words:
        found = _LANGUAGE_PREFIX.match(word)
        if found is None:
            return embeddings
        prefixes[found[0]] += 1
    names = [prefix for prefix, _ in prefixes.most_common(_MAX_SHOWN_PREFIXES)]
    if len(prefixes) == 1 and names[0].startswith("/"):
        warn_caller(f"{path}: words are read without their common prefix {names[0]}")
        return embeddings.without_prefix(names[0])
    shown = ", ".join(names) + (", ..." if len(prefixes) > len(names) else "")
    advice = f"to keep those of one language, without it, use `strip_prefix={names[0]}`"
    warn_caller(f"{path}: all words begin with a language ({shown}); {advice}")
    return embeddings


def _check_entries(matrix: Reals, path: str | Path) -> None:
    """Raise DataError if a matrix (V, D) has entries that are not finite, or too large to compute with."""
    if not matrix.size:
        return
    extremes = np.array([matrix.min(), matrix.max()], np.float64)  # float16 has no such bound
    if not np.isfinite(extremes).all():
        row = int(np.isfinite(matrix).all(axis=1).argmin())
        found = f"the vectors contain NaN or infinity, first in row {row + 1}"
        raise DataError(found).at(_described_side(path))
    if np.abs(extremes).max() > MAX_ENTRY:
        row = int(np.abs(matrix).max(axis=1).argmax())
        expected = f"expected entries from -{MAX_ENTRY:g} to {MAX_ENTRY:g}"
        raise DataError(f"{expected}, found larger ones, the largest in row {row + 1}").at(
            _described_side(path)
        )


def detect_format(path: str | Path, *, encoding: str = "utf-8") -> ReadVectorsFormat:
    """Return the format of a file or folder, from its content; DataError if it has none of the formats.

    `encoding` is that of the file if it is text, as for :func:`load_embeddings`.
    """
    path = as_path(path)
    if (path / "meta.json").is_file():
        return "folder"
    if is_static_model(path) or (path.name in STATIC_FILES and is_static_model(path.parent)):
        return "static"
    if path.is_dir():
        languages = languages_of(path)
        if languages:
            found = f"expected vectors of one language, found a folder with those of {', '.join(languages)}"
            one = str(next(iter(languages.values())))
            raise DataError(f"{found}; pass one of them, such as {one!r}").at(path)
        raise DataError(
            "expected word2int_XX.pkl and embeddings_XX.npz of each language XX, a folder that `vectors"
            f" convert` wrote, or {' and '.join(STATIC_FILES)} of a static model; found none of these"
        ).at(path)
    if not path.is_file():
        raise DataError("no such file or folder of vectors").at(path)
    if is_word2int_path(path):
        return "word2int"
    with open_vectors_file(path) as file:
        return _detect_content(file.read(_DETECTION_BYTES), encoding)


def _detect_content(start: bytes, encoding: str) -> ReadVectorsFormat:
    """Return the format of a file from its first bytes."""
    check_readable(
        start, expected="word vectors", readable=(PICKLE, FASTTEXT), advice_on_data=_ADVICE_ON_OTHER_FILES
    )
    if is_pickle(start):
        return "gensim" if b"gensim" in start[:_PICKLE_HEAD_BYTES] else "pickle"
    if is_fasttext(start):
        return "fasttext"
    if detect_encoding(start, encoding) in WIDE_ENCODINGS:
        return "word2vec"
    lines = start.removeprefix(BOM_UTF8).split(b"\n", 2)[:2]
    if looks_like_text(start) or _is_row(lines):
        return "word2vec"
    if read_header(lines[0]):
        return "word2vec-binary"
    expected = "expected vectors as text, or in a binary form of word2vec, fastText or gensim"
    raise DataError(f"{expected}; found a file that begins with {start[:16]!r}")


def _is_row(lines: list[bytes]) -> bool:
    """Return whether the first line of a file, or the one after a header, is a word and its numbers."""
    try:
        detect_layout(lines).split(lines[-1])
    except DataError:
        return False
    return True


def save_embeddings(
    embeddings: Embeddings,
    path: str | Path,
    *,
    format: WrittenVectorsFormat = "folder",
    overwrite: bool = False,
) -> None:
    """Save the word vectors of one language.

    Parameters
    ----------
    embeddings : Embeddings
        Rows of the matrix without a word are omitted. Only ``folder`` keeps sub-words and settings.
    path : path
        A folder for ``folder``; ``word2int_XX.pkl`` or ``embeddings_XX.npz`` for ``word2int`` (both are
        written); otherwise a file, which is compressed if its name ends in .gz.
    format : {"folder", "word2int", "word2vec", "word2vec-binary"}
    overwrite : bool
        Replace existing vectors once the new ones are complete.

    Raises
    ------
    UsageError
        If the path exists, or the format cannot be written. For gensim, write ``word2vec-binary``, which it
        reads with ``KeyedVectors.load_word2vec_format(path, binary=True)``.
    """
    check_type(embeddings, Embeddings, "Embeddings")
    if embeddings.are_static:
        raise UsageError("a static model has no list of words to save; copy its folder instead")
    path, whole = as_path(path), embeddings.compact()
    check_vectors_replaceable(path, format, overwrite=overwrite)
    whole = replace(whole, matrix=np.ascontiguousarray(whole.matrix))
    writers: dict[str, Callable[[], Any]] = {
        "folder": lambda: _write_folder(whole, path),
        "word2int": lambda: _write_word2int(whole, path),
        "word2vec": lambda: write_word2vec(whole, path, binary=False),
        "word2vec-binary": lambda: write_word2vec(whole, path, binary=True),
    }
    if format not in writers:
        raise UsageError(
            f"vectors are written as {', '.join(writers)}, not as {format!r}"
            " (for gensim write word2vec-binary; it is read by KeyedVectors.load_word2vec_format)"
        )
    writers[format]()


def check_vectors_replaceable(path: str | Path, format: str, *, overwrite: bool) -> None:
    """Raise UsageError if saving vectors of one language would overwrite existing files.

    With `overwrite`, existing vector files may be replaced, but a folder that contains anything else is still
    rejected.
    """
    path = as_path(path)
    if format == "folder":
        check_replaceable(path, _names(path, *_FOLDER_FILES), "vectors", overwrite=overwrite)
        return
    for written in _written_files(path) if format == "word2int" else (path,):
        check_overwrite(written, overwrite=overwrite)


def check_both_replaceable(folder: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError if saving vectors of two languages would overwrite existing files, as above."""
    older = _names(as_path(folder), *_PAIR_FILES, *(f"*/{name}" for name in _FOLDER_FILES))
    check_replaceable(folder, older, "vectors", overwrite=overwrite)


def _names(folder: Path, *patterns: str) -> list[str]:
    """Return the names of the files in a folder that match any of the patterns."""
    names = []
    for pattern in patterns:
        names += [path.relative_to(folder).as_posix() for path in folder.glob(pattern)]
    return names


# --- nmtalign's own format -----------------------------------------------------------------------


def _read_folder(folder: Path, limit: int | None) -> Embeddings:
    """Read nmtalign's own format; only the first `limit` rows are read."""
    meta = _read_settings(folder / "meta.json")
    found_format = {key: meta.get(key) for key in _FOLDER_FORMAT}
    if found_format != _FOLDER_FORMAT:
        raise DataError(f"expected format {_FOLDER_FORMAT['format']} version 1").at(folder / "meta.json")
    words = read_utf8(file_inside(folder, "vocab.txt")).split("\n")[:-1]
    rows = NpyRowReader(file_inside(folder, "vectors.npy"))
    if len(words) != rows.shape[0]:
        raise DataError(f"vocab.txt has {len(words)} words, vectors.npy {rows.shape[0]} rows").at(folder)
    words = words[:limit]
    matrix = rows.read(0, len(words))
    pieces = None
    if lengths := meta.get("subwords"):
        if not isinstance(lengths, dict):
            raise DataError("expected an object as `subwords`").at(folder / "meta.json")
        table = read_array(file_inside(folder, "subwords.npy"))
        pieces = CharacterNgrams(table, lengths.get("shortest", -1), lengths.get("longest", -1))
    return Embeddings(Vocabulary.from_words(words), matrix, pieces, settings=meta["settings"])


def _write_folder(embeddings: Embeddings, folder: Path) -> None:
    meta: dict[str, Any] = {**_FOLDER_FORMAT, "words": len(embeddings), "dimension": embeddings.dimension}
    pieces = embeddings.subwords
    if isinstance(pieces, CharacterNgrams):
        meta["subwords"] = {"shortest": pieces.shortest, "longest": pieces.longest}
    with atomic_folder(folder) as new:
        embeddings.state().write(new)  # vectors.npy, vocab.txt, subwords.npy
        _write_indented_json({**meta, "settings": _keep_files(embeddings.settings, new)}, new / "meta.json")


def _keep_files(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Copy the files that settings name into a folder, and return settings with the new names."""
    if "text" not in settings:
        return {**settings}
    return {**settings, "text": TextSettings.from_dict(settings["text"]).kept_in(folder).as_dict()}


def _read_settings(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; its settings name the files as before :func:`_keep_files`."""
    meta = read_json(path)
    with reraise_as_data_error(path):
        settings = {**meta.get("settings", {})}
        if "text" in settings:
            opened = TextSettings.opened(settings["text"], partial(file_inside, path.parent))
            settings["text"] = opened.as_dict()
    return meta | {"settings": settings}


def _write_indented_json(content: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


# --- word2int ------------------------------------------------------------------------------------
#
# The matrix is an .npz or .npy file. The dictionary from words to rows is a pickle (.pkl) or a JSON object
# (.json) in the same folder. embeddings_en.npz belongs to word2int_en.pkl; en.npy belongs to word2int_en.pkl
# or en.pkl.


def _partner(path: Path) -> Path:
    """Return the companion of a file; DataError unless exactly one exists."""
    paths = companion_paths(path)
    names = [partner.name for partner in paths if partner.is_file()]
    if len(names) != 1:
        first, *others = (partner.name for partner in paths)
        expected = f"expected {first} beside it, or {', or '.join(others)} instead"
        raise DataError(f"{expected}; found {' and '.join(names) or 'none'}").at(path)
    return file_inside(path.parent, names[0])


def _matrix_of(path: Path) -> Path:
    """Return the file of the matrix, given either of the two files."""
    return path if path.suffix in MATRIX_SUFFIXES else _partner(path)


def _read_word2int(path: Path, unsafe_pickle: bool) -> Embeddings:
    """Read word vectors, given either of the two files, or a dictionary that contains vectors."""
    dictionary_path = _partner(path) if path.suffix in MATRIX_SUFFIXES else path
    with reraise_as_data_error(dictionary_path):
        rows = _read_dictionary(dictionary_path, unsafe_pickle)
        if has_vectors(rows):
            return _vectors_beside(rows, dictionary_path)
        vocabulary = Vocabulary(rows)
    matrix_path = _matrix_of(path)
    with reraise_as_data_error(matrix_path):
        matrix = read_array(matrix_path)
        if matrix.ndim and vocabulary.size > len(matrix):
            expected = f"expected {vocabulary.size} rows for the words of {dictionary_path.name}"
            raise DataError(f"{expected}, found {len(matrix)}")
        return Embeddings(vocabulary, matrix.astype(np.float64) if matrix.dtype.kind in "iu" else matrix)


def _read_dictionary(path: Path, unsafe_pickle: bool) -> dict[Any, Any]:
    if path.suffix == ".json":
        rows = parse_json(read_utf8(path))
    elif unsafe_pickle:
        rows = pickle.loads(path.read_bytes())
    else:
        rows = read_pickle(path.read_bytes(), encoding="utf-8")
    if not isinstance(rows, dict):
        raise DataError(f"expected a dictionary word -> row, found {type(rows).__name__}")
    return rows


def _vectors_beside(entries: dict[Any, Any], path: Path) -> Embeddings:
    """Return the vectors of a dictionary named word2int; a matrix in the same folder is not read."""
    for matrix in companion_paths(path):
        if matrix.is_file():
            reason = f"it contains a vector for each word, so {matrix.name} is not read"
            warn_caller(f"{path}: {reason}")
    return vectors_of_dictionary(entries)


def _written_files(path: Path) -> tuple[Path, Path]:
    """Return the names under which dictionary and matrix are written, given either."""
    if path.name.startswith("word2int") and path.suffix == ".pkl":
        return path, companion_paths(path)[0]
    if path.name.startswith("embeddings") and path.suffix == ".npz":
        return companion_paths(path)[0], path
    raise UsageError(f"{path}: expected a name like word2int_en.pkl or embeddings_en.npz")


def _write_word2int(embeddings: Embeddings, path: Path) -> None:
    """Write both files; equal vectors produce equal bytes."""
    dictionary_path, matrix_path = _written_files(path)
    word2int = {word: row for row, word in enumerate(embeddings.vocabulary)}
    with AtomicFiles() as files:
        files.binary(dictionary_path).write(pickle.dumps(word2int, protocol=2))
        np.savez_compressed(files.binary(matrix_path), allow_pickle=False, embeddings=embeddings.matrix)


# --- two languages in one folder -----------------------------------------------------------------


def load_both_languages(
    folder: str | Path,
    *,
    languages: tuple[str, str] | None = None,
    files: VectorFileSettings = VectorFileSettings(),
) -> tuple[Embeddings, Embeddings]:
    """Load source and target vectors from one folder.

    For each of two languages XX, the folder contains ``word2int_XX.pkl`` and ``embeddings_XX.npz``, a
    sub-folder ``XX`` in nmtalign's own format, or a file such as ``XX.vec`` or ``wiki.XX.vec.gz``. The
    vectors of a static model are those of both sides. By default, the languages are those of ``pair.json``,
    or the only two in the folder in alphabetical order. The vectors have the same dimension, and the
    settings of ``pair.json``.
    """
    folder = as_path(folder)
    if is_static_model(folder):
        return both_embeddings((folder, folder), files=files)
    paths = languages_of(folder)
    names = languages or pair_languages(folder)
    if not isinstance(names, tuple | list) or len(names) != 2:
        raise UsageError(
            f"expected a source and a target language, like ('en', 'fr'), found {short_repr(names)}"
        )
    for name in names:
        if name not in paths:
            found = f"found {', '.join(paths) or 'none'}"
            raise DataError(f"expected vectors of the language {name!r}, {found}; {_TWO_FILES}").at(folder)
    noted = _pair_note(folder).get("settings", {})
    with reraise_as_data_error(folder):
        sides = both_embeddings([paths[name] for name in names], files=files)
    source, target = (replace(side, settings=side.settings or noted) for side in sides)
    return source, target


def both_embeddings(
    vectors: Sequence[Any], *, files: VectorFileSettings = VectorFileSettings()
) -> tuple[Embeddings, Embeddings]:
    """Return source and target vectors.

    Each side is Embeddings, gensim's KeyedVectors, a path, a dictionary word -> vector, a DataFrame indexed
    by words, or (words, matrix).
    """
    if len(vectors) != 2:
        raise UsageError(f"expected source and target vectors, found {len(vectors)}: {short_repr(vectors)}")
    strip_prefix = files.strip_prefix
    prefixes = (strip_prefix,) * 2 if isinstance(strip_prefix, str) else strip_prefix or (None, None)
    if len(prefixes) != 2:
        raise UsageError(f"`strip_prefix` must be a prefix, or one for each side; found {strip_prefix!r}")
    source = _as_embeddings(vectors[0], files, prefixes[0])
    if source.are_static and isinstance(vectors[0], str | Path) and vectors[0] == vectors[1]:
        return source, source  # the table may be large
    target = _as_embeddings(vectors[1], files, prefixes[1])
    if source.dimension != target.dimension:
        source_name, target_name = _described_side(vectors[0]), _described_side(vectors[1])
        found = f"{source_name} has {source.dimension} dimensions, {target_name} has {target.dimension}"
        raise DataError(f"{found}; vectors in one space have the same dimension")
    return source, target


def _described_side(side: Any) -> str:
    """Return the file of the vectors of a side, or a short form of the object."""
    if not isinstance(side, str | Path):
        return short_repr(side)
    path = as_path(side)
    return str(_matrix_of(path) if is_word2int_path(path) else path)


def _as_embeddings(side: Any, files: VectorFileSettings, prefix: str | None) -> Embeddings:
    """Return the vectors of a side, in any form of :func:`both_embeddings`; `prefix` is one of its words."""
    if isinstance(side, str | Path):
        return load_embeddings(
            side, limit=files.limit, unsafe_pickle=files.unsafe_pickle, strip_prefix=prefix
        )
    embeddings = _from_object(side)
    return embeddings.without_prefix(prefix) if prefix else embeddings


def _from_object(side: Any) -> Embeddings:
    """Return the vectors of one side, from any object that has words and their vectors."""
    if isinstance(side, Embeddings):
        return side
    if isinstance(side, Mapping) or is_word_frame(side):
        return Embeddings.of(side)
    if isinstance(side, tuple | list):
        if len(side) != 2:
            raise UsageError(f"expected (words, matrix) as the vectors of a side, found {short_repr(side)}")
        return Embeddings.of(*side)
    if not hasattr(getattr(side, "wv", side), "index_to_key"):
        raise UsageError(
            "expected Embeddings, a path, gensim's KeyedVectors, a dictionary word -> vector, a DataFrame"
            f" indexed by words, or (words, matrix); found {short_repr(side)}"
        )
    return Embeddings.from_gensim(side)


def save_pair(
    source: Embeddings,
    target: Embeddings,
    folder: str | Path,
    *,
    languages: tuple[str, str],
    format: WrittenVectorsFormat = "folder",
    overwrite: bool = False,
) -> None:
    """Save source and target vectors in one folder, which is new or empty.

    :func:`load_both_languages` opens ``folder`` and ``word2int`` again, with the order of the languages and
    the settings from ``pair.json``; other formats become files ``vectors_XX.vec`` or ``.bin``. With
    `overwrite`, the vectors replace older ones once both are complete; a folder that contains other files is
    still rejected.
    """
    check_both_replaceable(folder, overwrite=overwrite)
    with atomic_folder(folder) as new:
        for language, embeddings in zip(languages, (source, target), strict=True):
            save_embeddings(embeddings, new / _FILE_NAMES[format].format(language), format=format)
        settings = _keep_files(source.settings, new)
        _write_indented_json({"languages": list(languages), "settings": settings}, new / "pair.json")


def with_text_settings(embeddings: Embeddings, text_settings: TextSettings) -> Embeddings:
    """Return the vectors with the settings by which lines became words."""
    return replace(embeddings, settings={**embeddings.settings, "text": text_settings.as_dict()})


_TWO_FILES = "name two files by --source-vectors and --target-vectors, in Python as (source, target)"
# The language in names such as en.vec and wiki.de.vec.gz.
_LANGUAGE_OF_FILE = re.compile(r"(?:.*[._-])?([a-z]{2,3})\.(?:vec|bin|kv)(?:\.gz|\.bz2|\.xz)?")


def languages_of(folder: str | Path) -> dict[str, Path]:
    """Return the path of each language in a folder of several languages; empty for any other folder."""
    folder = as_path(folder)
    dictionaries = (path for path in folder.glob("word2int_*") if is_word2int_path(path))
    paths = {path.stem.removeprefix("word2int_"): path for path in dictionaries}
    subfolders = (path.parent for path in folder.glob("*/meta.json"))
    paths |= {path.name: path for path in subfolders if not is_model(path)}
    if not paths:
        paths = _files_of_languages(folder)
    for path in paths.values():
        name = path.relative_to(folder)
        file_inside(folder, str(name / "meta.json" if path.is_dir() else name))
    return dict(sorted(paths.items()))


def _files_of_languages(folder: Path) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for path in sorted(folder.glob("*")):
        match = _LANGUAGE_OF_FILE.fullmatch(path.name)
        if match is None:
            continue
        other = paths.setdefault(match[1], path)
        if other != path:
            found = f"found {other.name} and {path.name}, both of {match[1]!r}"
            raise DataError(f"expected one file of vectors for each language, {found}; {_TWO_FILES}").at(
                folder
            )
    return paths


def _pair_note(folder: Path) -> dict[str, Any]:
    path = folder / "pair.json"
    return _read_settings(path) if path.exists() else {}


def pair_languages(folder: str | Path) -> tuple[str, str]:
    """Return source and target language of a folder: those of ``pair.json``, or else the only two in it."""
    folder = as_path(folder)
    if not folder.is_dir():
        raise DataError("expected a folder with word vectors of two languages; there is none").at(folder)
    names = list(languages_of(folder))
    if not names:
        expected = "expected a model (meta.json) or vectors of two languages (word2int_XX.pkl, XX.vec or XX)"
        raise DataError(f"{expected}; {_TWO_FILES}").at(folder)
    note = _pair_note(folder)
    if "languages" in note:
        return _noted_languages(note["languages"], folder / "pair.json")
    if len(names) != 2:
        raise UsageError(
            f"{folder}: expected vectors of two languages, found {names or 'none'}; name them (`languages`)"
        )
    return names[0], names[1]


def _noted_languages(languages: Any, path: Path) -> tuple[str, str]:
    if not (isinstance(languages, list) and all(isinstance(name, str) for name in languages)):
        raise DataError("expected a list of names as `languages`").at(path)
    if len(languages) != 2:
        raise DataError(f"expected a source and a target language, found {languages!r:.60}").at(path)
    return languages[0], languages[1]
