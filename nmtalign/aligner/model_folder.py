"""A learned model on disk: a folder of text, JSON and plain NumPy arrays; no pickle.

meta.json                    format, settings, tokeniser, what it was learned from, hashes of the files
source.txt, target.txt       one word a line, the most frequent first
arrays.npz                   word counts, counts of forms, jumps, second opinion
view-K.targets.npy, .counts.npy  word pairs of view K, sorted by source form, memory-mapped
(arrays.npz says how many of them each source form has)
source.vectors.npy, ...      attention vectors in half precision, where it has any
source.spectral.npy, ...     vectors of the spectral head, one byte an entry, memory-mapped
sentencepiece-1.model        copies of the files of the tokeniser, where it has any
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.heads.log_ratios import AttentionVectors, WordRows, lay_out
from nmtalign.aligner.checks import (
    Shape,
    expect_array,
    expect_files,
    expect_number,
    expect_rising,
    fingerprints,
)
from nmtalign.models.heads import VectorHead
from nmtalign.positions.forward_backward import REACH, Jumps
from nmtalign.aligner.learned import Model
from nmtalign.heads.lexicon import RAREST, FormCounts, LearnedView, Lexicon, Smoothing
from nmtalign.models.opinion import SecondOpinion
from nmtalign.training.settings import Settings
from nmtalign.heads.spectral import TOP, SpectralHead
from nmtalign.models.teaching import opinion_of, untaught
from nmtalign.text.tokenization import TextSettings

FORMAT = "nmtalign model"
VERSION = 3  # 2 had no checksums

Arrays = dict[str, NDArray[Any]]

_SIDES = ("source", "target")
# What opening a folder whose parts do not fit raises.
_DAMAGE = OSError, LookupError, TypeError, AttributeError, ValueError, EOFError, zipfile.BadZipFile


def is_model(folder: str | Path) -> bool:
    """Tell whether a folder holds a learned model, of whatever version."""
    try:
        meta = json.loads((Path(folder) / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("format") == FORMAT


def save_model(model: Model, folder: str | Path) -> None:
    """Write a model into a folder; an older model there is replaced when the new one is whole."""
    final = Path(folder)
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=final.parent) as partial:
        _write(model, Path(partial) / "model")
        if final.exists():
            final.rename(Path(partial) / "older")
        (Path(partial) / "model").rename(final)


def _write(model: Model, folder: Path) -> None:
    folder.mkdir()
    lexicon = model.lexicon
    for side, words in (("source", lexicon.source_words), ("target", lexicon.target_words)):
        (folder / f"{side}.txt").write_text(
            "".join(w + "\n" for w in words[1:]), encoding="utf-8", newline="\n"
        )
    arrays: Arrays = {"source_counts": lexicon.source_counts, "target_counts": lexicon.target_counts}
    for side, jumps in zip(("source", "target"), model.jumps, strict=True):
        arrays[f"{side}_jumps"], arrays[f"{side}_classes"] = jumps.tables, jumps.classes
    for k, view in enumerate(lexicon.views):
        for side in ("source", "target"):
            counts: FormCounts = getattr(view, side)
            arrays[f"{k}_{side}_linked"] = counts.linked.astype(np.float32)
            arrays[f"{k}_{side}_null"] = counts.null.astype(np.float32)
        rows, targets = np.divmod(view.keys, len(view.target.linked))
        arrays[f"{k}_pairs"] = np.bincount(rows, minlength=len(view.source.linked)).astype(np.int32)
        np.save(folder / f"view-{k}.targets.npy", targets.astype(np.int32), allow_pickle=False)
        np.save(folder / f"view-{k}.counts.npy", view.counts, allow_pickle=False)
    if model.vectors is not None:
        for side in ("source", "target"):
            for name in ("norms", "share"):
                arrays[f"{side}_{name}"] = getattr(model.vectors.vectors, f"{side}_{name}")
            table: WordRows = getattr(model.vectors.vectors, f"{side}_rows")
            half = table.rows.astype(np.float16)
            np.save(folder / f"{side}.vectors.npy", half, allow_pickle=False)
    if model.spectral is not None:
        for side in ("source", "target"):
            arrays[f"{side}_spectral_norms"] = getattr(model.spectral, f"{side}_norms")
            np.save(folder / f"{side}.spectral.npy", getattr(model.spectral, side), allow_pickle=False)
    if model.opinion is not None:
        for name, values in model.opinion.network.weights._asdict().items():
            arrays[f"opinion_{name}"] = values
        for side, given in _given_rows(model).items():
            np.save(folder / f"{side}.given.npy", given.rows.astype(np.float16), allow_pickle=False)
    np.savez_compressed(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
    model = model._replace(text=model.text.kept_in(folder))
    meta = json.dumps(_meta(model) | {"files": fingerprints(folder)}, ensure_ascii=False, indent=1) + "\n"
    (folder / "meta.json").write_text(meta, encoding="utf-8", newline="\n")


def _meta(model: Model) -> dict[str, Any]:
    """Return what meta.json says."""
    lexicon = model.lexicon
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": model.settings.as_dict(),
        "text": model.text.as_dict(),
        "languages": list(model.languages),
        "corpus": model.corpus,
        "vectors": None
        if model.vectors is None
        else {"weight": model.vectors.weight, "cuts": list(model.vectors.vectors.source_rows.cuts)},
        "spectral": None if model.spectral is None else {"weight": model.spectral.weight},
        "opinion": None
        if model.opinion is None
        else {"share": model.opinion.share, "given": bool(_given_rows(model))},
        "source_words": len(lexicon.source_words) - 1,
        "target_words": len(lexicon.target_words) - 1,
        "smoothing": lexicon.smoothing._asdict(),
        "views": [
            {
                "letters": view.letters,
                "pairs": len(view.keys),
                "source_null": view.source.all_null,
                "target_null": view.target.all_null,
            }
            for view in lexicon.views
        ],
    }


def load_model(folder: str | Path) -> Model:
    """Open a model folder; the word pairs are memory-mapped.

    Raises
    ------
    DataError
        If the folder is not a model or is of a newer format, a part is missing or not the one that was saved,
        or an array is not of the type, shape and range that it should be.
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    try:
        return _open(folder, meta)
    except _DAMAGE as error:
        if isinstance(error, DataError):
            raise
        what = f"missing entry {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"this model folder is damaged or incomplete: {what}; learn it again").at(
            folder
        ) from error


def _read_meta(folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError("expected a model folder with a meta.json; there is none").at(folder) from error
    except ValueError as error:
        raise DataError(f"this is not JSON ({error}); the model folder is damaged").at(path) from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise DataError(f"expected a folder of the format {FORMAT!r}; this is something else").at(path)
    if not isinstance(meta.get("version"), int) or meta["version"] > VERSION:
        found = meta.get("version")
        raise DataError(f"format version {found} is newer than this program reads ({VERSION}); update it").at(
            path
        )
    return meta


class _Arrays:
    """The arrays of a model folder; each is checked as it is taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with np.load(folder / "arrays.npz", allow_pickle=False) as file:
            self._packed: Arrays = dict(file)

    def take(
        self, name: str, kind: str, shape: Shape, low: float | None = None, high: float | None = None
    ) -> NDArray[Any]:
        """Return an array of arrays.npz, checked as by :func:`expect_array`."""
        place = f"{self.folder / 'arrays.npz'}, {name}"
        return expect_array(self._packed[name], kind, shape, low, high, name=place)

    def file(
        self, name: str, kind: str, shape: Shape, low: float | None = None, high: float | None = None
    ) -> NDArray[Any]:
        """Return an array that has a file of its own, memory-mapped."""
        path = self.folder / f"{name}.npy"
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return expect_array(array, kind, shape, low, high, name=path)


def _open(folder: Path, meta: dict[str, Any]) -> Model:
    expect_files(folder, meta["files"])
    arrays = _Arrays(folder)
    sides = [_read_words(folder / f"{side}.txt", meta[f"{side}_words"]) for side in ("source", "target")]
    V = len(sides[0]), len(sides[1])
    number = partial(expect_number, low=0, name=folder / "meta.json")
    lexicon = Lexicon(
        sides[0],
        sides[1],
        arrays.take("source_counts", "i", (V[0],), low=0),
        arrays.take("target_counts", "i", (V[1],), low=0),
        [_read_view(k, view, V, arrays) for k, view in enumerate(meta["views"])],
        Smoothing(**{name: number(value) for name, value in meta["smoothing"].items()}),
        number(meta["settings"]["spelling"]),
    )
    settings = Settings(**(meta["settings"] | {"views": tuple(meta["settings"]["views"])}))
    languages = meta["languages"][0], meta["languages"][1]
    model = Model(
        lexicon,
        (_read_jumps("source", V[0], arrays), _read_jumps("target", V[1], arrays)),
        settings,
        TextSettings.from_dict(meta["text"]).opened_in(folder),
        languages,
        meta["corpus"],
        _read_head(meta["vectors"], lexicon, arrays) if meta["vectors"] else None,
        spectral=_read_spectral(meta["spectral"], V, arrays) if meta.get("spectral") else None,
    )
    if not meta.get("opinion"):
        return model
    return model._replace(opinion=_read_opinion(meta["opinion"], model, arrays))


def _read_jumps(side: str, words: int, arrays: _Arrays) -> Jumps:
    tables = arrays.take(f"{side}_jumps", "f", (None, 2 * REACH + 1), low=0)
    return Jumps(tables, arrays.take(f"{side}_classes", "i", (words,), low=0, high=len(tables) - 1))


def _read_spectral(meta: dict[str, Any], V: tuple[int, int], arrays: _Arrays) -> SpectralHead:
    source = arrays.file("source.spectral", "i", (V[0], None), low=-TOP, high=TOP)
    target = arrays.file("target.spectral", "i", (V[1], source.shape[1]), low=-TOP, high=TOP)
    norms = [arrays.take(f"{side}_spectral_norms", "f", (n,)) for side, n in zip(_SIDES, V, strict=True)]
    return SpectralHead(source, target, norms[0], norms[1], _share(meta["weight"], arrays))


def _share(value: Any, arrays: _Arrays) -> float:
    """Return the weight of a head."""
    return expect_number(value, 0, 1, name=arrays.folder / "meta.json")


def _read_words(path: Path, count: int) -> list[str]:
    words = _lines(path)
    if len(words) != count:
        raise DataError(f"expected {count} words, found {len(words)}").at(path)
    return ["", *words]


def _lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def _given_rows(model: Model) -> dict[str, WordRows]:
    """Return the vectors that the second opinion does not share with the vector head, by side."""
    if model.opinion is None or model.settings.opinion_inputs == "clues":
        return {}
    rows = {side: getattr(model.opinion.network, f"{side}_rows") for side in ("source", "target")}
    own = model.vectors and model.vectors.vectors.source_rows
    return {} if rows["source"] is own else rows


def _read_opinion(meta: dict[str, Any], model: Model, arrays: _Arrays) -> SecondOpinion:
    rows = None
    if meta.get("given"):
        rows = (
            _read_rows("source.given", model.lexicon.source_words, (), None, arrays),
            _read_rows("target.given", model.lexicon.target_words, (), None, arrays),
        )
    network = untaught(model, rows)
    values = [
        arrays.take(f"opinion_{name}", "f", expected.shape)
        for name, expected in network.weights._asdict().items()
    ]
    return opinion_of(network.replace(values), _share(meta["share"], arrays))


def _read_rows(
    name: str, words: list[str], prefixes: Sequence[int], width: int | None, arrays: _Arrays
) -> WordRows:
    """Return vectors of the words of one side and of their prefixes."""
    table = lay_out(words, prefixes, 0)
    rows = arrays.file(name, "f", (len(table.rows), width))
    return replace(table, rows=rows.astype(np.float32))


def _read_head(meta: dict[str, Any], lexicon: Lexicon, arrays: _Arrays) -> VectorHead:
    cuts, V = meta["cuts"][1:], (len(lexicon.source_words), len(lexicon.target_words))
    source = _read_rows("source.vectors", lexicon.source_words, cuts, None, arrays)
    target = _read_rows("target.vectors", lexicon.target_words, cuts, source.rows.shape[1], arrays)
    norms = [arrays.take(f"{side}_norms", "f", (n,)) for side, n in zip(_SIDES, V, strict=True)]
    shares = [arrays.take(f"{side}_share", "f", (n,), 0, 1) for side, n in zip(_SIDES, V, strict=True)]
    vectors = AttentionVectors(
        source.vectors, target.vectors, norms[0], norms[1], source, target, shares[0], shares[1]
    )
    return VectorHead(vectors, _share(meta["weight"], arrays))


def _read_view(k: int, meta: dict[str, Any], V: tuple[int, int], arrays: _Arrays) -> LearnedView:
    source, target = (
        _read_forms(k, side, meta, words if meta["letters"] == 0 else None, arrays)
        for side, words in zip(_SIDES, V, strict=True)
    )
    pairs, forms = meta["pairs"], len(target.linked)
    of_source = arrays.take(f"{k}_pairs", "i", (len(source.linked),), low=0, high=forms)
    if of_source.sum() != pairs:
        found = f"expected {pairs:,} word pairs of all forms, found {of_source.sum():,}"
        raise DataError(found).at(f"{arrays.folder / 'arrays.npz'}, {k}_pairs")
    targets = arrays.file(f"view-{k}.targets", "i", (pairs,), low=0, high=forms - 1)
    keys = np.repeat(np.arange(len(of_source)) * forms, of_source) + targets
    expect_rising(keys, name=arrays.folder / f"view-{k}.targets.npy")
    counts = arrays.file(f"view-{k}.counts", "f", (pairs,), low=0)
    return LearnedView(meta["letters"], keys, counts, source, target)


def _read_forms(k: int, side: str, meta: dict[str, Any], forms: int | None, arrays: _Arrays) -> FormCounts:
    linked = arrays.take(f"{k}_{side}_linked", "f", (forms,), low=0).astype(np.float64)
    # Rounding leaves some counts of null a little below 0; RAREST is added to each, and 1 to their sum.
    null = arrays.take(f"{k}_{side}_null", "f", (len(linked),), low=-RAREST).astype(np.float64)
    all_null = expect_number(meta[f"{side}_null"], -0.5, name=arrays.folder / "meta.json")
    return FormCounts(linked, null, all_null)
