"""The model folder: a learned aligner as text, JSON and plain NumPy arrays; no pickle.

meta.json                    format, settings, tokeniser, corpus, heads, encoder, hashes of the files
source.txt, target.txt       one word a line, the most frequent first
arrays.npz                   word counts, counts of forms, transitions, log norms, weights of a rescorer
view-K.targets.npy, .counts.npy  word pairs of view K of the lexicon, sorted by source form, memory-mapped
(arrays.npz says how many of them each source form has)
NAME.source.npy, NAME.target.npy  vectors of the dense head NAME, one byte an entry, memory-mapped
bahdanau/                    of an additive rescorer over words: weights.npz for --bahdanau, and the vectors
sentencepiece-1.model        copies of the files of the tokeniser, where it has any
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.checks import StoredArrays, expect_files, expect_rising, fingerprints
from nmtalign.contextual.head import Calibration, ContextualHead
from nmtalign.errors import DataError, UsageError
from nmtalign.files import file_in, foreign, read_json, read_utf8
from nmtalign.heads.counts import FormCounts, Smoothing
from nmtalign.heads.lexicon import Lexicon, StoredView
from nmtalign.heads.mixture import HEADS, Mixture
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.transitions import MAX_JUMP, TransitionModel
from nmtalign.rescoring.features import on_grid
from nmtalign.rescoring.rescorer import Rescorer, rescorer_from
from nmtalign.text.tokenization import TextSettings
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.storage import save_pair, with_text_settings

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner

FORMAT = "nmtalign model"
VERSION = 5

Arrays = dict[str, NDArray[Any]]

_SIDES = ("source", "target")
_RANGES: dict[str, dict[str, float]] = {  # of the constants of smoothing, in their order
    "words": {"low": 1, "high": 1e12},
    "discount": {"low": 1e-6, "high": 1e6},
    "floor": {"low": 0, "high": 1},
}
# of the numbers of an encoder
_FITTED = {"layer": {"low": 0, "high": 1000}, "scale": {"low": 0}, "weight": {"low": 0, "high": 1}}
_KINDS = {  # of the entries of meta.json
    **dict.fromkeys(("settings", "corpus", "text", "heads", "positions", "smoothing", "files"), dict),
    **dict.fromkeys(("languages", "views"), list),
}


def is_model(folder: str | Path) -> bool:
    """Tell whether a folder holds a learned model, of whatever version."""
    if not Path(folder, "meta.json").exists():
        return False
    file = file_in(Path(folder), "meta.json")
    try:
        return read_json(file).get("format") == FORMAT
    except (OSError, DataError):
        return False


def save_aligner(aligner: Aligner, folder: str | Path) -> None:
    """Write a learned aligner into a folder; an older one there is replaced when the new one is whole.

    UsageError if the aligner was not learned from a bitext, or looks at anything but an encoder beside it.
    """
    base = aligner.base
    if not isinstance(base.heads, Mixture) or not isinstance(base.positions, HiddenMarkov):
        raise UsageError("only an aligner that was learned from a bitext can be saved")
    training = {name: own for name, own in base.training.items() if name != "encoder"} | _encoder(aligner)
    final = Path(folder)
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=final.parent) as partial_folder:
        new = Path(partial_folder) / "model"
        new.mkdir()
        meta = _write_parts(base, base.heads, base.positions, new) | training
        text = json.dumps(meta | {"files": fingerprints(new)}, ensure_ascii=False, indent=1) + "\n"
        (new / "meta.json").write_text(text, encoding="utf-8", newline="\n")
        if final.exists():
            final.rename(Path(partial_folder) / "older")
        new.rename(final)


def _encoder(aligner: Aligner) -> dict[str, Any]:
    """Return the entry of an encoder that is mixed with a learned aligner, and of what was fitted."""
    if not isinstance(aligner.heads, ContextualHead):
        return {}
    source, calibration = aligner.encoder, aligner.heads.calibration
    if source is None:
        raise UsageError("given vectors and similarities are of one text; only an encoder can be saved")
    if calibration is None:
        raise UsageError("the encoder is to be fitted before it is saved: aligner = fit_to(aligner, text)")
    name = source.encoder.name
    name = str(Path(name).resolve()) if Path(name).is_dir() else name
    return {"encoder": {"name": name, "layer": source.encoder.layer, **calibration._asdict()}}


def _write_parts(aligner: Aligner, heads: Mixture, positions: HiddenMarkov, folder: Path) -> dict[str, Any]:
    """Write all files but meta.json; return what that says."""
    lexicon = heads.lexicon
    arrays: Arrays = {"source_counts": lexicon.source_counts, "target_counts": lexicon.target_counts}
    for side, words in zip(_SIDES, (lexicon.source_words, lexicon.target_words), strict=True):
        text = "".join(word + "\n" for word in words[1:])
        (folder / f"{side}.txt").write_text(text, encoding="utf-8", newline="\n")
    for side, model in zip(_SIDES, positions.transitions, strict=True):
        arrays[f"{side}_transitions"], arrays[f"{side}_classes"] = model.tables, model.classes
    for k, view in enumerate(lexicon.views):
        arrays |= _write_view(k, view, folder)
    stored = {head.name: head.stored() for head in heads.others}
    for name, parts in stored.items():
        arrays |= {f"{name}_{part}": values for part, values in parts.arrays.items()}
        for part, values in parts.mapped.items():
            np.save(folder / f"{name}.{part}.npy", values, allow_pickle=False)
    if aligner.rescorer is not None:
        arrays |= aligner.rescorer.as_arrays()
        _write_bahdanau(aligner.rescorer, heads, aligner.text, folder / "bahdanau")
    np.savez_compressed(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
    return {
        "format": FORMAT,
        "version": VERSION,
        "text": aligner.text.kept_in(folder).as_dict(),
        "languages": list(aligner.languages),
        "heads": {name: parts.meta for name, parts in stored.items()},
        "rescorer": None if aligner.rescorer is None else aligner.rescorer.as_meta(),
        "positions": {"null": positions.null, "agree": int(positions.agree)},
        "source_words": len(lexicon.source_words) - 1,
        "target_words": len(lexicon.target_words) - 1,
        "smoothing": lexicon.smoothing._asdict(),
        "spelling": lexicon.spelling,
        "views": [
            {
                "letters": list(view.letters),
                "pairs": len(view.keys),
                "source_null": view.source.all_null,
                "target_null": view.target.all_null,
            }
            for view in lexicon.views
        ],
    }


def _write_bahdanau(rescorer: Rescorer, heads: Mixture, text: TextSettings, folder: Path) -> None:
    """Write what ``align --vectors DIR --score bahdanau --bahdanau DIR/weights.npz`` reads, if it can be."""
    weights = rescorer.bahdanau()
    if weights is None:
        return
    words = heads.lexicon.source_words, heads.lexicon.target_words
    vectors = heads.word_vectors(*words)
    assert vectors is not None  # of a rescorer over words
    sides = [
        with_text_settings(Embeddings(Vocabulary.from_words(own[1:]), on_grid(side)[1:]), text)
        for own, side in zip(words, vectors, strict=True)
    ]
    save_pair(sides[0], sides[1], folder, languages=("source", "target"))
    np.savez(folder / "weights.npz", **weights)  # type: ignore[arg-type]


def _write_view(k: int, view: StoredView, folder: Path) -> Arrays:
    """Write the word pairs of a view; return its small arrays."""
    arrays: Arrays = {}
    for side, counts in zip(_SIDES, (view.source, view.target), strict=True):
        arrays[f"{k}_{side}_linked"] = counts.linked.astype(np.float32)
        arrays[f"{k}_{side}_null"] = counts.null.astype(np.float32)
    rows, targets = np.divmod(view.keys, len(view.target.linked))
    arrays[f"{k}_pairs"] = np.bincount(rows, minlength=len(view.source.linked)).astype(np.int32)
    np.save(folder / f"view-{k}.targets.npy", targets.astype(np.int32), allow_pickle=False)
    np.save(folder / f"view-{k}.counts.npy", view.counts, allow_pickle=False)
    return arrays


def read_model(folder: str | Path) -> dict[str, Any]:
    """Return what a model folder holds, as arguments of an aligner; the word pairs are memory-mapped.

    Raises
    ------
    DataError
        If the folder is not a model or is of another format, a part is missing or not the one that was saved,
        or an array is not of the type, shape and range that it should be.
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    with foreign(folder, "this model is damaged or incomplete; copy the folder again, or learn it again"):
        return _open(folder, meta)


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
    for name, kind in _KINDS.items():
        if not isinstance(meta.get(name), kind):
            found = type(meta.get(name)).__name__
            raise DataError(f"expected {kind.__name__} as {name!r}, found {found}").at(path)
    languages = meta["languages"]
    if not meta["views"] or len(languages) != 2 or not all(isinstance(n, str | None) for n in languages):
        raise DataError("expected at least one view, and two languages").at(path)
    return meta


def _open(folder: Path, meta: dict[str, Any]) -> dict[str, Any]:
    expect_files(folder, meta["files"])
    place = partial(file_in, folder, listed=meta["files"])
    arrays = StoredArrays(folder, place)
    source, target = (_read_words(place(f"{side}.txt"), meta[f"{side}_words"]) for side in _SIDES)
    V = len(source), len(target)
    lexicon = Lexicon(
        source,
        target,
        arrays.take("source_counts", "i", (V[0],), low=0),
        arrays.take("target_counts", "i", (V[1],), low=0),
        [_read_view(k, view, V, arrays) for k, view in enumerate(meta["views"])],
        Smoothing(*(arrays.number(meta["smoothing"][name], **bounds) for name, bounds in _RANGES.items())),
        arrays.number(meta["spelling"], low=0, high=1000),
    )
    heads = [HEADS[name].opened(name, (source, target), own, arrays) for name, own in meta["heads"].items()]
    transitions = _read_transitions("source", V[0], arrays), _read_transitions("target", V[1], arrays)
    null = arrays.number(meta["positions"]["null"], low=1e-9, high=0.999)
    agree = bool(arrays.number(meta["positions"]["agree"], low=0, high=1))
    return {
        "heads": Mixture(lexicon, tuple(heads)),
        "positions": HiddenMarkov(transitions, lexicon.numbers, null, agree),
        "text": TextSettings.opened(meta["text"], place),
        "languages": (meta["languages"][0], meta["languages"][1]),
        "training": {
            **{name: meta[name] for name in ("settings", "corpus")},
            **_read_encoder(meta.get("encoder"), arrays),
        },
        "rescorer": _read_rescorer(meta["rescorer"], arrays),
    }


def _read_transitions(side: str, words: int, arrays: StoredArrays) -> TransitionModel:
    tables = arrays.take(f"{side}_transitions", "f", (None, 2 * MAX_JUMP + 1), low=0, high=1)
    classes = arrays.take(f"{side}_classes", "i", (words,), low=0, high=len(tables) - 1)
    return TransitionModel(tables, classes)


def _read_rescorer(meta: dict[str, Any] | None, arrays: StoredArrays) -> Rescorer | None:
    if meta is None:
        return None
    first = rescorer_from(meta, arrays.packed)
    for name, values in first.as_arrays().items():
        arrays.take(name, "f", values.shape)
    return first


def _read_encoder(meta: dict[str, Any] | None, arrays: StoredArrays) -> dict[str, Any]:
    if meta is None:
        return {}
    if not isinstance(meta["name"], str):
        raise DataError(f"expected the name of an encoder, found {meta['name']!r}")
    names = "layer", *Calibration._fields
    fitted = {name: arrays.number(meta[name], **_FITTED.get(name, {})) for name in names}
    return {"encoder": {"name": meta["name"], **fitted}}


def _read_words(path: Path, count: int) -> list[str]:
    words = read_utf8(path).split("\n")
    if len(words) - 1 != count:
        raise DataError(f"expected {count} words, found {len(words) - 1}").at(path)
    return ["", *words[:-1]]


def _read_view(k: int, meta: dict[str, Any], V: tuple[int, int], arrays: StoredArrays) -> StoredView:
    source, target = (
        _read_forms(k, side, meta, None if letters else words, arrays)
        for side, words, letters in zip(_SIDES, V, meta["letters"], strict=True)
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
    first, second = (int(arrays.number(letters)) for letters in meta["letters"])
    return StoredView((first, second), keys, counts, source, target)


def _read_forms(
    k: int, side: str, meta: dict[str, Any], forms: int | None, arrays: StoredArrays
) -> FormCounts:
    linked = arrays.take(f"{k}_{side}_linked", "f", (forms,), low=0).astype(np.float64)
    null = arrays.take(f"{k}_{side}_null", "f", (len(linked),), low=0).astype(np.float64)
    return FormCounts(linked, null, arrays.number(meta[f"{side}_null"], low=0))
