"""Links from what another program or model says of each sentence pair: attention, or similarities.

A source gives one matrix a pair, of words or of sub-words. A published method, or attention in both
directions, makes posteriors of it, an extraction chooses links, and links of sub-words become those of words.

Axes: B pairs of a bucket, T target, S source words or sub-words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, tee
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.extraction import Extraction, make_extraction
from nmtalign.arrays import AnyArray, Flags, Floats, Reals
from nmtalign.calls import check_call
from nmtalign.corpus.buckets import PADDED, make_buckets
from nmtalign.corpus.line_words import LineWords, joined_pair, links_of_words
from nmtalign.corpus.sides import encode_pairs
from nmtalign.corpus.text import EncodedText, encode_lines, whole_pairs
from nmtalign.door import as_path, expand_home, expect_choice, expect_kind, parameter
from nmtalign.encoders.cross_attention import Reading, Translator, best_reading, read_attention, translated
from nmtalign.encoders.files import PairMatrix, WordPair, read_similarities, read_vectors
from nmtalign.encoders.published import METHODS, USUAL, attention_posteriors
from nmtalign.encoders.transformer import Encoder, EncoderSimilarities, check_device, packages
from nmtalign.errors import UsageError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    BothWords,
    joined_batches,
)
from nmtalign.names import UNITS
from nmtalign.positions.model import BucketPosteriors, Posteriors
from nmtalign.text.bitext import Pair, Pairs, Sentences, are_lines, checked_pairs, words_between_spaces
from nmtalign.text.tokenization import TextSettings

PAIRS = 256  # whose matrices are held in memory

_HEADS = ("layers", "attention_heads", "shift")
_EXTRACTION = ("extract", "threshold", "symmetrize")
SETTINGS = {  # what goes with each source
    "matrices": (*_HEADS, *_EXTRACTION, "pieces", "normalize", "encoding"),
    "translator": (*_HEADS, *_EXTRACTION, "languages", "device"),
    "encoder": ("method", "units", "layer", "languages", "device", "cache", "download"),
    "token_vectors": ("method", "units"),
    "similarities": ("method",),
}


@dataclass(frozen=True)
class Linker:
    """A source of matrices, and what makes links of them."""

    name: str  # of the source, with its settings
    read: Callable[[Iterable[WordPair]], Iterator[PairMatrix]]
    posteriors: Callable[[Reals, Flags], Posteriors]
    extraction: Extraction
    reading: Reading | None = None  # of attention

    @property
    def description(self) -> str:
        """What makes the links, in one line."""
        return f"{self.name} {self.extraction}"

    def batches(self, pairs: Iterable[WordPair]) -> Iterator[AlignedBatch]:
        """Yield the links of pairs of words, as they are read, `PAIRS` pairs in a batch."""
        matrices = self.read(pairs)
        while part := list(islice(matrices, PAIRS)):
            yield self.align(part)

    def align(self, matrices: Sequence[PairMatrix]) -> AlignedBatch:
        """Return the links of the words of some pairs."""
        batch = self._decoder(matrices).align(1)
        return links_of_words(batch, (_line_words(matrices, 0), _line_words(matrices, 1)))

    def pair(self, matrix: PairMatrix) -> AlignedPair:
        """Return the links of one pair with its attention."""
        default_values = "combined" if self.reading is None else "forward"  # of similarities, of attention
        source, target = map(tuple, _units(matrix))
        decoder, unknown = self._decoder([matrix]), [matrix.unlinked]
        [pair] = decoder.pairs(
            [(source, target)], self.description, unknown=unknown, default_values=default_values
        )
        if matrix.word_of_piece is None:
            return pair
        source, target = map(tuple, matrix.words)
        numbers = matrix.word_of_piece[0].tolist(), matrix.word_of_piece[1].tolist()
        return joined_pair(pair, (source, target), numbers)

    def _decoder(self, matrices: Sequence[PairMatrix]) -> Decoder:
        source, target = encode_pairs(map(_units, matrices))
        text = EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))

        def stacked(k: int, name: str, rest: float) -> AnyArray:
            """Return the arrays of the pairs of bucket k (T, S, B), `rest` where there is none."""
            bucket = text.buckets[k]
            stack = np.full(bucket.shape, rest)
            for column in np.flatnonzero(bucket.pieces >= 0):
                array = getattr(matrices[bucket.pieces[column]], name)
                if array is not None:
                    stack[: array.shape[0], : array.shape[1], column] = array
            return stack

        def bucket_posteriors(k: int) -> BucketPosteriors:
            posteriors = self.posteriors(stacked(k, "matrix", PADDED), text.buckets[k].inside)
            return BucketPosteriors(posteriors, None)

        def linkable(k: int, ratios: Floats | None) -> Flags:
            return stacked(k, "linkable", True)

        return Decoder(text, bucket_posteriors, self.extraction, linkable)


def _units(matrix: PairMatrix) -> WordPair:
    """Return what the matrix is of; sub-words have no text, which no method asks for."""
    if matrix.word_of_piece is None:
        return matrix.words
    source, target = matrix.word_of_piece
    return [""] * len(source), [""] * len(target)


def _line_words(matrices: Sequence[PairMatrix], side: int) -> LineWords:
    """Return the words of what the matrices are of."""
    numbers = [
        np.arange(len(pair.words[side])) if pair.word_of_piece is None else pair.word_of_piece[side]
        for pair in matrices
    ]
    offsets = np.cumsum([0, *map(len, numbers)])
    return LineWords(np.concatenate([np.zeros(0, np.int64), *numbers]), offsets)


@check_call("two sides are given as links_from(sources, targets, similarities=...)")
def links_from(
    pairs: Pairs,
    targets: Sentences | None = None,
    *,
    tokenizer: str = "space",
    encoder: str | Path | None = None,
    token_vectors: str | Path | None = None,
    similarities: str | Path | Iterable[AnyArray] | None = None,
    matrices: str | Path | None = None,
    translator: str | Path | None = None,
    method: str | None = None,
    units: str | None = None,
    layer: int | None = None,
    languages: tuple[str, str] | None = None,
    device: str | None = None,
    cache: str | Path | None = None,
    download: bool | None = None,
    layers: Sequence[int] | None = None,
    attention_heads: Sequence[int] | None = None,
    shift: int | None = None,
    extract: str | None = None,
    threshold: float | None = None,
    symmetrize: str | None = None,
    pieces: str | None = None,
    normalize: bool | None = None,
    encoding: str | None = None,
) -> AlignedBatch:
    """Return links from attention or similarities of another program or model.

    The source of the links is one of `encoder`, `token_vectors`, `similarities`, `matrices` and `translator`.
    Each has settings of its own; those of another source are a UsageError.

    Parameters
    ----------
    pairs : Bitext, iterable of (source, target), (list, list), or DataFrame
        Lines of text, or lists of words; if the attention is that of sub-words, lists of these.
    targets : sequence, optional
        The target sentences, if `pairs` are the source sentences.
    tokenizer : str
        How lines are cut into the tokens of the source. Links count the words between spaces of the lines.
    encoder : str or path, optional
        Similarities of an encoder: the name or folder of a model of the package transformers.
    token_vectors : path, optional
        Similarities of the vectors in a file.
    similarities : path, or iterable of arrays of shape (T, S), optional
        A file of similarities, or an array for each pair.
    matrices : path, optional
        A file of attention.
    translator : str or path, optional
        Attention of a translation model: its name or folder.
    method : str, optional
        How a paper chooses links from similarities: ``simalign-itermax`` (left out), ``simalign-argmax``,
        ``simalign-match``, ``awesome-align``, ``awesome-align-entmax`` or ``transport``.
    units : {"subwords", "words"}, optional
        What the method links, for `encoder` and `token_vectors`; left out, sub-words.
    layer : int, optional
        The layer of the encoder whose vectors are compared.
    languages : (str, str), optional
        Source and target language, for an `encoder` or `translator` that knows several.
    device : str, optional
        Where the encoder or translation model runs, such as ``cpu`` or ``cuda``.
    cache : path, optional
        A file that keeps the encoder's similarities for the next run.
    download : bool, optional
        Whether the encoder may be downloaded; left out, it may.
    layers, attention_heads : sequence of int, optional
        Layers and heads whose attention is averaged, of `matrices` or a `translator`; left out, all.
    shift : int, optional
        Row offset of attention: target word t is row t + `shift`.
    extract, threshold, symmetrize : optional
        How links are chosen from attention, as for :func:`nmtalign.load`.
    pieces : {"bpe", "sentencepiece"}, optional
        The marks by which the sub-words of `matrices` are joined to words.
    normalize : bool, optional
        Divide each row of `matrices` by its sum.
    encoding : str, optional
        Encoding of a text file of `matrices`.

    Raises
    ------
    UsageError
        If there are several sources or none, or a setting does not apply to the source.
    DataError
        If a file is no such, or does not fit the pairs.

    References
    ----------
    Jalili Sabet et al. (2020); Dou and Neubig (2021).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/s.npz", np.array([[0.9, 0.1], [0.2, 0.8]]))
    ...     links_from([("the cat", "le chat")], similarities=f"{folder}/s.npz").links(0)
    [Link(source=0, target=0), Link(source=1, target=1)]
    """
    settings = {
        "encoder": encoder,
        "token_vectors": token_vectors,
        "similarities": similarities,
        "matrices": matrices,
        "translator": translator,
        "method": method,
        "units": units,
        "layer": layer,
        "languages": languages,
        "device": device,
        "cache": cache,
        "download": download,
        "layers": layers,
        "attention_heads": attention_heads,
        "shift": shift,
        "extract": extract,
        "threshold": threshold,
        "symmetrize": symmetrize,
        "pieces": pieces,
        "normalize": normalize,
        "encoding": encoding,
    }
    given_settings = {name: value for name, value in settings.items() if value is not None}
    text = TextSettings(tokenizer, lowercase=False, unicode="none")
    pairs, again = tee(checked_pairs(pairs, targets))
    linker, words = open_linker((_words(pair, text) for pair in pairs), **given_settings)
    batch = joined_batches(list(linker.batches(words)) or [linker.align([])])
    if pieces:
        return batch
    given = list(again)
    lines = [pair for pair in given if are_lines(pair)]
    linked = links_of_words(batch, encode_lines(lines, text).line_words if lines else None)
    return replace(linked, origin=_Linked(linked, given))


class _Linked(NamedTuple):
    """Links, and the pairs that they were made for; the weight of a link is its probability."""

    batch: AlignedBatch
    pairs: Sequence[Pair]

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n that its links count."""
        return words_between_spaces(self.pairs[n])

    def aligned(self, n: int) -> AlignedPair:
        """Return pair n."""
        source, target = self.tokens(n)
        links, weights = self.batch.links(n), np.zeros((len(target), len(source)), np.float32)
        rows = slice(*self.batch.offsets[n : n + 2])
        weights[self.batch.target[rows], self.batch.source[rows]] = self.batch.probability[rows]
        alignment = Alignment(links, len(source), len(target))
        return AlignedPair(alignment, AlignmentMatrix(weights, source, target))

    def chosen(self, numbers: Sequence[int]) -> _Linked:
        """Return some of the pairs."""
        return _Linked(replace(self.batch, origin=None)[list(numbers)], [self.pairs[n] for n in numbers])


def _words(pair: Pair, text: TextSettings) -> WordPair:
    if are_lines(pair):
        return text.words_of_pair(pair, (None, None))
    return list(pair[0]), list(pair[1])


def source_of(given: Iterable[str]) -> str:
    """Return which of some settings is the source; a UsageError if the others do not go with the source."""
    given = list(given)
    sources = [name for name in SETTINGS if name in given]
    if len(sources) != 1:
        found = " and ".join(map(parameter, sources)) or "none"
        raise UsageError(f"expected one of {', '.join(map(parameter, SETTINGS))}, found {found}")
    [source] = sources
    if unfit := [name for name in given if name not in (source, *SETTINGS[source])]:
        raise UsageError(f"{', '.join(map(parameter, unfit))}: without meaning for {parameter(source)}")
    return source


def open_linker(pairs: Iterator[WordPair], **given: Any) -> tuple[Linker, Iterator[WordPair]]:
    """Return what makes links of pairs of words, and the pairs, some of which may choose a head.

    Parameters and errors are those of :func:`links_from`.
    """
    kind = source_of(given)
    if kind in ("encoder", "translator"):
        expect_kind(given[kind], (str, Path), f"the name or folder of the {kind}")
    if "method" in SETTINGS[kind]:
        return similarity_linker(kind, **given), pairs
    extraction = make_extraction(*(given.get(name) for name in _EXTRACTION), null=False)
    reading = Reading(
        given.get("layers"),
        given.get("attention_heads"),
        given.get("shift") or 0,
        given.get("pieces"),
        bool(given.get("normalize")),
    )
    if kind == "matrices":
        read = partial(read_attention, as_path(given[kind]), reading, encoding=given.get("encoding", "utf-8"))
    else:
        packages()  # or it says that they are missing, before the text is read
        device = given.get("device") or "cpu"
        check_device(device)
        translator = Translator(expand_home(given[kind]), given.get("languages"), device)
        if reading.shift < 0:
            raise UsageError("shift -1: a translation model has 0 (a word is predicted) or 1 (it is read)")
        if not any(name in given for name in _HEADS):
            reading, pairs = best_reading(translator, pairs)
        reading = replace(reading, normalize=True)
        read = partial(translated, translator, reading)
    return Linker(f"{kind}={given[kind]} {reading}", read, attention_posteriors, extraction, reading), pairs


def similarity_linker(kind: str, **given: Any) -> Linker:
    """Return what links pairs of words by similarities and a published method: ``linker.batches(pairs)``.

    Parameters are those of :func:`links_from`, `kind` is the source. A UsageError if a name is unknown, or a
    package or the device is missing; when links are read, if there is no such layer, or languages do not fit
    the model.
    """
    path, units, name_of_method = given[kind], given.get("units", UNITS[0]), given.get("method", USUAL)
    for name, names, what in ((name_of_method, METHODS, "methods"), (units, UNITS, "units")):
        expect_choice(name, names, what)
    method = METHODS[name_of_method]
    if kind == "encoder":
        options = {
            name: given[name] for name in ("layer", "device", "download", "languages") if name in given
        }
        check_device(options.get("device", "cpu"))
        cache = None if given.get("cache") is None else expand_home(given["cache"])
        source = EncoderSimilarities(Encoder(expand_home(path), **options), method.product, cache, units)
        description, read = source.description, source.read
    else:
        is_file = kind == "token_vectors" or isinstance(path, str | Path)
        path = expand_home(path) if is_file else path
        description = f"{kind.replace('_', '-')}={path if is_file else 'arrays'}"
        read = partial(read_similarities, path)
        if kind == "token_vectors":
            read = partial(read_vectors, path, method.product, units)
    description += f" method={name_of_method}" + ("" if kind == "similarities" else f" units={units}")
    return Linker(description, read, method.posteriors, make_extraction(method.extract, method.threshold))
