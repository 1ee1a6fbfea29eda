"""A learned model on disk: a folder of text, JSON and plain NumPy arrays; no pickle.

meta.json                    format, settings, tokeniser, what it was learned from, size of every array
source.txt, target.txt       one word a line, the most frequent first
arrays.npz                   word counts, counts of forms, jumps
view-K.targets.npy, .counts.npy  word pairs of view K, sorted by source form, memory-mapped
(arrays.npz says how many of them each source form has)
source.spectral.npy, ...     vectors of the spectral head, one byte an entry, memory-mapped
bahdanau/                    of an additive rescorer over words: weights.npz for --bahdanau, and the vectors
sentencepiece-1.model        copies of the files of the tokeniser, where it has any
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.models.hmm import Jumps
from nmtalign.models.learned import Model
from nmtalign.models.lexicon import FormCounts, LearnedView, Lexicon, Smoothing
from nmtalign.models.settings import Settings
from nmtalign.models.spectral import SpectralHead
from nmtalign.rescoring.features import on_grid
from nmtalign.rescoring.rescorer import rescorer_from
from nmtalign.text.tokenization import TextSettings
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.storage import save_pair, with_text_settings

FORMAT = "nmtalign model"
VERSION = 3

Arrays = dict[str, NDArray[Any]]


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
    if model.spectral is not None:
        for side in ("source", "target"):
            arrays[f"{side}_spectral_norms"] = getattr(model.spectral, f"{side}_norms")
            np.save(folder / f"{side}.spectral.npy", getattr(model.spectral, side), allow_pickle=False)
    if model.rescorer is not None:
        arrays |= model.rescorer.as_arrays()
        _write_bahdanau(model, folder / "bahdanau")
    np.savez_compressed(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
    model = model._replace(text=model.text.kept_in(folder))
    meta = json.dumps(_meta(model), ensure_ascii=False, indent=1) + "\n"
    (folder / "meta.json").write_text(meta, encoding="utf-8", newline="\n")


def _write_bahdanau(model: Model, folder: Path) -> None:
    """Write what ``align --vectors DIR --score bahdanau --bahdanau DIR/weights.npz`` reads, if it can be."""
    weights = model.rescorer and model.rescorer.bahdanau()
    if not weights or model.spectral is None:
        return
    lexicon = model.lexicon
    words = lexicon.source_words, lexicon.target_words
    rows = model.spectral.word_vectors(*(np.arange(len(own)) for own in words))
    sides = [
        with_text_settings(Embeddings(Vocabulary.from_words(own[1:]), on_grid(side)[1:]), model.text)
        for own, side in zip(words, rows, strict=True)
    ]
    save_pair(sides[0], sides[1], folder, languages=("source", "target"))
    np.savez(folder / "weights.npz", **weights)  # type: ignore[arg-type]


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
        "spectral": None if model.spectral is None else {"weight": model.spectral.weight},
        "rescorer": None if model.rescorer is None else model.rescorer.as_meta(),
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
        If the folder is not a model, is of a newer format, or a part is missing or cut short.
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    try:
        return _open(folder, meta)
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
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


def _open(folder: Path, meta: dict[str, Any]) -> Model:
    with np.load(folder / "arrays.npz", allow_pickle=False) as file:
        arrays = dict(file)
    sides = [_read_words(folder / f"{side}.txt", meta[f"{side}_words"]) for side in ("source", "target")]
    lexicon = Lexicon(
        sides[0],
        sides[1],
        arrays["source_counts"],
        arrays["target_counts"],
        [_read_view(folder, k, view, arrays) for k, view in enumerate(meta["views"])],
        Smoothing(**meta["smoothing"]),
        meta["settings"]["spelling"],
    )
    _check_sizes(folder, lexicon, arrays)
    settings = Settings(**(meta["settings"] | {"views": tuple(meta["settings"]["views"])}))
    jumps = [Jumps(arrays[f"{side}_jumps"], arrays[f"{side}_classes"]) for side in ("source", "target")]
    languages = meta["languages"][0], meta["languages"][1]
    return Model(
        lexicon,
        (jumps[0], jumps[1]),
        settings,
        TextSettings.from_dict(meta["text"]).opened_in(folder),
        languages,
        meta["corpus"],
        spectral=_read_spectral(folder, meta["spectral"]["weight"], lexicon, arrays)
        if meta.get("spectral")
        else None,
        rescorer=rescorer_from(meta["rescorer"], arrays) if meta.get("rescorer") else None,
    )


def _read_spectral(folder: Path, weight: float, lexicon: Lexicon, arrays: Arrays) -> SpectralHead:
    codes, norms = [], []
    for side, words in (("source", lexicon.source_words), ("target", lexicon.target_words)):
        codes.append(np.load(folder / f"{side}.spectral.npy", mmap_mode="r", allow_pickle=False))
        norms.append(arrays[f"{side}_spectral_norms"])
        for name, found in (("spectral", codes[-1]), ("spectral_norms", norms[-1])):
            _check_length(folder, f"{side}.{name}", found, len(words))
    return SpectralHead(codes[0], codes[1], norms[0], norms[1], weight)


def _read_words(path: Path, count: int) -> list[str]:
    words = _lines(path)
    if len(words) != count:
        raise DataError(f"expected {count} words, found {len(words)}").at(path)
    return ["", *words]


def _lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def _read_view(folder: Path, k: int, meta: dict[str, Any], arrays: Arrays) -> LearnedView:
    targets, counts = (
        np.load(folder / f"view-{k}.{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in ("targets", "counts")
    )
    of_source = arrays[f"{k}_pairs"]
    if not len(targets) == len(counts) == int(of_source.sum()) == meta["pairs"]:
        found = f"{len(targets)} targets and {len(counts)} counts"
        raise DataError(f"expected {meta['pairs']} word pairs, found {found}").at(
            folder / f"view-{k}.targets.npy"
        )
    source, target = (
        FormCounts(
            arrays[f"{k}_{side}_linked"].astype(np.float64),
            arrays[f"{k}_{side}_null"].astype(np.float64),
            meta[f"{side}_null"],
        )
        for side in ("source", "target")
    )
    keys = np.repeat(np.arange(len(of_source)) * len(target.linked), of_source) + targets
    return LearnedView(meta["letters"], keys, counts, source, target)


def _check_sizes(folder: Path, lexicon: Lexicon, arrays: Arrays) -> None:
    """Refuse arrays that do not fit the vocabularies."""
    for side, words in (("source", lexicon.source_words), ("target", lexicon.target_words)):
        for name in (f"{side}_counts", f"{side}_classes"):
            _check_length(folder, name, arrays[name], len(words))


def _check_length(folder: Path, name: str, values: NDArray[Any], expected: int) -> None:
    if len(values) != expected:
        found = f"expected {expected} entries of {name}, found {len(values)}"
        raise DataError(f"{found}; the folder is damaged").at(folder)
