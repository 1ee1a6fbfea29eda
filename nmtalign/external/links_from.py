"""Links from attention or similarities of another program or model.

A source yields one matrix per pair, of words or of sub-words. A published method, or attention in both
directions, turns the matrix into posteriors, an extraction chooses links, and links of sub-words become links
of words.

Axes: B pairs of a bucket, T target, S source words or sub-words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Flags, Floats, Integers, Reals
from nmtalign.corpus.buckets import PADDING_SCORE, Bucket, make_buckets
from nmtalign.corpus.regrouping import (
    BothRegroupings,
    Regrouping,
    of_sentence,
    regroup_batch,
    regroup_pair,
)
from nmtalign.corpus.sections import whole_pairs
from nmtalign.corpus.sides import encode_both_sides
from nmtalign.corpus.text import EncodedText, encode_lines
from nmtalign.corpus.units import TOKENS, LinkUnit, link_unit
from nmtalign.decoding.decoder import Decoder
from nmtalign.decoding.extraction_methods import (
    DEFAULT_METHOD,
    DEFAULT_UNITS,
    PUBLISHED_METHODS,
    Extraction,
    Method,
    attention_posteriors,
    make_extraction,
)
from nmtalign.display import with_plural
from nmtalign.errors import UsageError
from nmtalign.external.cross_attention import (
    AttentionReduction,
    Translator,
    best_reduction,
    read_attention,
    translator_attention,
)
from nmtalign.external.hf_encoder import Encoder, EncoderSimilarities, check_device, import_packages
from nmtalign.external.matrix_files import (
    GivenPair,
    PairMatrix,
    TokenizedPair,
    read_similarities,
    read_vectors,
)
from nmtalign.files.paths import as_path, expand_home
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothTexts,
    BothWords,
    concatenate_batches,
)
from nmtalign.links.selection import ANY_LINKS, OneLink
from nmtalign.names import (
    CellValues,
    DeviceName,
    ExtractionName,
    LinkUnitName,
    MethodName,
    MethodUnit,
    SubwordMarks,
    Symmetrization,
)
from nmtalign.positions.position_model import Posteriors, PosteriorsAndRatios
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.settings import LinkSettings, SourceEncoderSettings, SourceSettings
from nmtalign.text.bitext import (
    ColumnName,
    Pair,
    Pairs,
    SentencePair,
    Sentences,
    is_line_pair,
    read_pairs,
    words_between_spaces,
)
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import (
    check_number,
    check_same_pairs,
    check_type,
    is_iterable,
    quote_parameter,
    refuse_settings,
)

PAIRS_IN_MEMORY = 256  # bounds the memory of the matrices

_ATTENTION_SETTINGS = ("layers", "attention_heads", "shift", "extract", "threshold", "symmetrize")
_SETTINGS_OF_SOURCE = {
    "matrices": (*_ATTENTION_SETTINGS, "pieces", "normalize", "encoding"),
    "translator": (*_ATTENTION_SETTINGS, "languages", "device"),
    "encoder": ("method", "units", "layer", "languages", "device", "cache", "download"),
    "token_vectors": ("method", "units"),
    "similarities": ("method",),
}


def _check_source(settings: SourceSettings) -> None:
    """Raise UsageError if there is not one source, or if a setting does not apply to it."""
    own = [name for name in settings.given if name not in ("encoder", "links")]
    passed = [*own, *settings.encoder.given, *settings.links.given]
    sources = [name for name in _SETTINGS_OF_SOURCE if name in passed]
    if len(sources) != 1:
        found = " and ".join(map(quote_parameter, sources)) or "none; pass one by its name"
        raise UsageError(
            f"expected one of {', '.join(map(quote_parameter, _SETTINGS_OF_SOURCE))}, found {found}"
        )
    [source] = sources
    unsuitable = [name for name in passed if name not in (source, *_SETTINGS_OF_SOURCE[source])]
    refuse_settings(unsuitable, quote_parameter(source))
    models = {"encoder": settings.encoder.encoder, "translator": settings.translator}
    if source in models:
        check_type(models[source], (str, Path), f"the name or folder of the {source}")


@dataclass(frozen=True)
class Linker:
    """Reads one matrix per sentence pair and extracts links from it."""

    name: str  # the name of the source, with its settings
    read: Callable[[Iterable[TokenizedPair]], Iterator[PairMatrix]]
    posteriors: Callable[[Reals, Flags], Posteriors]
    extraction: Extraction
    reduction: AttentionReduction | None = None  # how heads and pieces were reduced; None for similarities
    chosen_by_text: bool = False  # whether the text chose the attention head
    # what the extraction promises of words; published methods link words if any of their sub-words are linked
    one_link: OneLink = ANY_LINKS

    @property
    def description(self) -> str:
        """The source and the extraction, in one line."""
        return f"{self.name} {self.extraction}"

    @property
    def default_values(self) -> CellValues:
        """Which values a picture shows by default: attention itself, of similarities what links are from."""
        return "combined" if self.reduction is None else "forward"

    def choosing_by(self, links: LinkSettings) -> Linker:
        """Return a linker with another extraction; a published method keeps its own unless one is named."""
        is_named = links.extract is not None or links.symmetrize is not None
        if self.reduction is None and not is_named:
            return replace(self, extraction=replace(self.extraction, threshold=links.threshold))
        extraction = make_extraction(links, null=False)
        # without a name, words are linked if any of their sub-words are, as by published methods
        return replace(self, extraction=extraction, one_link=extraction.one_link if is_named else ANY_LINKS)

    def read_in_batches(self, pairs: Iterable[TokenizedPair]) -> Iterator[list[PairMatrix]]:
        """Yield the matrices of pairs of words as they are read, `PAIRS_IN_MEMORY` pairs at a time."""
        matrices = self.read(pairs)
        while matrices_of_batch := list(islice(matrices, PAIRS_IN_MEMORY)):
            yield matrices_of_batch

    def batches(self, pairs: Iterable[TokenizedPair]) -> Iterator[AlignedBatch]:
        """Yield the links of pairs of words as they are read, `PAIRS_IN_MEMORY` pairs at a time."""
        return map(self.align, self.read_in_batches(pairs))

    def align(self, matrices: Sequence[PairMatrix]) -> AlignedBatch:
        """Return the links of the words of some pairs."""
        batch = self._decoder(matrices).all_links(1)
        to_words = _into_words(matrices, 0), _into_words(matrices, 1)
        return regroup_batch(batch, to_words, one_link=self.one_link)

    def pair(self, matrix: PairMatrix) -> AlignedPair:
        """Return the links of one pair with its attention."""
        source_units, target_units = _linked_units(matrix)
        [pair] = self._decoder([matrix]).pairs_with_attention(
            [(tuple(source_units), tuple(target_units))],
            self.description,
            unknown=[matrix.unlinked],
            default_values=self.default_values,
        )
        if matrix.word_of_piece is None:
            return pair
        source, target = matrix.words
        to_words = _into_words([matrix], 0), _into_words([matrix], 1)
        words = tuple(source), tuple(target)
        return regroup_pair(pair, to_words, words, one_link=self.one_link)

    def _decoder(self, matrices: Sequence[PairMatrix]) -> Decoder:
        """Return a decoder of the matrices, in buckets like those of any text."""
        source, target = encode_both_sides(map(_linked_units, matrices))
        text = EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))

        def matrices_of(bucket: Bucket) -> Reals:
            stack = np.full(bucket.shape, PADDING_SCORE)  # (T, S, B)
            for b in bucket.filled_columns:
                matrix = matrices[bucket.sections[b]].matrix
                stack[: matrix.shape[0], : matrix.shape[1], b] = matrix
            return stack

        def bucket_posteriors(k: int) -> PosteriorsAndRatios:
            bucket = text.buckets[k]
            return PosteriorsAndRatios(self.posteriors(matrices_of(bucket), bucket.inside), None)

        def linkable(k: int, ratios: Floats | None) -> Flags:
            bucket = text.buckets[k]
            stack = np.ones(bucket.shape, bool)
            for b in bucket.filled_columns:
                cells = matrices[bucket.sections[b]].linkable
                if cells is not None:
                    stack[: cells.shape[0], : cells.shape[1], b] = cells
            return stack

        return Decoder(text, bucket_posteriors, self.extraction, linkable)


def _linked_units(matrix: PairMatrix) -> TokenizedPair:
    """Return the words that the matrix is of, or its sub-words; these are empty, as no method reads them."""
    if matrix.word_of_piece is None:
        return matrix.words
    source, target = matrix.word_of_piece
    return [""] * len(source), [""] * len(target)


def _into_words(matrices: Sequence[PairMatrix], side: int) -> Regrouping:
    """Return the regrouping from the linked units of one side to words."""
    word_numbers: list[Integers] = []
    for matrix in matrices:
        if matrix.word_of_piece is None:
            word_numbers.append(np.arange(len(matrix.words[side])))
        else:
            word_numbers.append(matrix.word_of_piece[side])
    offsets = np.cumsum([0, *map(len, word_numbers)])
    return Regrouping.into_words(np.concatenate([np.zeros(0, np.int64), *word_numbers]), offsets)


def links_from(
    pairs: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    encoder: str | Path | None = None,
    translator: str | Path | None = None,
    matrices: str | Path | Iterable[AnyArray] | None = None,
    token_vectors: str | Path | None = None,
    similarities: str | Path | Iterable[AnyArray] | None = None,
    method: MethodName | None = None,
    units: MethodUnit | None = None,
    layer: int | None = None,
    languages: tuple[str, str] | None = None,
    device: DeviceName | None = None,
    cache: str | Path | None = None,
    download: bool | None = None,
    layers: Sequence[int] | None = None,
    attention_heads: Sequence[int] | None = None,
    shift: int | None = None,
    pieces: SubwordMarks | None = None,
    normalize: bool | None = None,
    encoding: str | None = None,
    extract: ExtractionName | None = None,
    threshold: float | None = None,
    symmetrize: Symmetrization | None = None,
    tokenizer: str = "space",
    count: LinkUnitName | None = None,
    spm: str | Path | Sequence[str | Path] | None = None,
    spaces: str | None = None,
    progress: ProgressInput = False,
) -> AlignedBatch:
    """Return links from attention or similarities of another program or model.

    The source of the links is one of `encoder`, `token_vectors`, `similarities`, `matrices` and `translator`.
    Each has settings of its own; those of another source are a UsageError.

    Parameters
    ----------
    pairs : Bitext, iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words, as for :func:`train`; if the attention is that of sub-words, lists
        of these.
    targets : sequence, optional
        The target sentences, if `pairs` are the source sentences.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    encoder, translator : str or path, optional
        Name or folder of an encoder, or of a translation model, of the package transformers.
    matrices : path, or iterable of arrays of shape (T, S) or (layers, heads, T, S), optional
        A file of attention (npz, npy, or text of Marian, fairseq or OpenNMT-py), or one array for each pair.
    token_vectors : path, optional
        An npz file or a folder with the vectors of the words of each line.
    similarities : path or sequence of arrays, optional
        One matrix for each pair, of shape (target words, source words).
    method : {"simalign-itermax", "simalign-argmax", "simalign-match", "awesome-align", \
            "awesome-align-entmax", "transport"}, optional
        The published method that chooses links from similarities. Default: ``simalign-itermax``.
    units : {"subwords", "words"}, optional
        What the method links, for `encoder` and `token_vectors`. Links of sub-words become links of words.
    layer : int, optional
        The layer of the encoder whose vectors are compared. Default: 8.
    languages : (str, str), optional
        Source and target language as a multilingual model calls them.
    device : {"cpu", "cuda", "mps"}, optional
        Where the encoder or the translation model runs.
    cache : path, optional
        A file that keeps the similarities of the encoder for the next call.
    download : bool, optional
        Whether the encoder may be downloaded. Default: True.
    layers, attention_heads : sequence of int, optional
        Layers and heads of attention to average, from 0. Default: all of `matrices`, and for a translation
        model the head that suits the text.
    shift : {-1, 0, 1}, optional
        The weights of target piece t are in row t + shift.
    pieces : {"bpe", "sentencepiece"}, optional
        The marks of sub-words, which are joined into words.
    normalize : bool, optional
        Divide each row of `matrices` by its sum.
    encoding : str, optional
        Encoding of a text file of `matrices`.
    extract, threshold, symmetrize : optional
        How links are chosen from attention, as in :func:`load`.
    tokenizer : str
        How lines become the tokens of the source. Positions count the space-separated words of the lines.
    count : {"words", "tokens", "pieces"}, optional
        What positions count: words, the tokens of `tokenizer`, or sub-words, which are those of lines with
        `pieces` or of the models `spm`. A link of two words becomes a link of all their pieces.
    spm : path, or two of them, optional
        Sub-word models (sentencepiece, or ``tokenizer.json``) that split raw lines into pieces.
    spaces : str, optional
        A mark such as ``▁``: positions count tokens among which each space is a token of this mark.
    progress : bool or callable
        Show how many pairs are done, as a bar of tqdm in a notebook or on stderr. A function is called with
        a :class:`Progress` instead.

    Returns
    -------
    AlignedBatch
        The links, with the weights that were given: attention is ``batch[n].forward``, and what links were
        chosen from ``batch[n].posterior``. All matrices stay in memory; the command writes as it reads.

    Raises
    ------
    UsageError
        If there are several sources or none, or a setting does not apply to the source.
    DataError
        If a file does not have the expected format, or does not fit the pairs.

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
    settings = SourceSettings(
        links=LinkSettings(extract, threshold, symmetrize),
        languages=languages,
        encoder=SourceEncoderSettings(encoder=encoder, layer=layer, device=device, cache=cache),
        download=download,
        matrices=matrices,
        encoding=encoding,
        translator=translator,
        layers=layers,
        attention_heads=attention_heads,
        shift=shift,
        pieces=pieces,
        normalize=normalize,
        token_vectors=token_vectors,
        similarities=similarities,
        method=method,
        units=units,
    )
    _check_source(settings)
    reporter = open_reporter(progress, stage="linking")
    text_settings = TextSettings(tokenizer, lowercase=False, unicode="none")
    checked = read_pairs(pairs, targets, source=source, target=target)
    listed = list(checked.pairs)
    for name, arrays in (("matrices", matrices), ("similarities", similarities)):
        check_same_pairs(checked, arrays, f"pairs and `{name}`")
    check_not_layers(matrices, len(listed))
    unit = link_unit(count=count, pieces=pieces, spm=spm, spaces=spaces)
    check_source_unit(unit)
    lines = [pair for pair in listed if is_line_pair(pair)]
    if unit.expands and pieces is None and len(lines) < len(listed):
        raise UsageError("`spm` and `spaces` are for lines of text, found lists of words; pass lines")
    reporter.expect(len(listed))
    words_of_pairs = (_words_of_pair(pair, text_settings) for pair in listed)
    linker, words = open_linker(words_of_pairs, settings)
    prepared = list(unit.prepare_pairs(listed, text_settings))
    given: list[PairMatrix] = []
    batches = []
    for matrices_of_batch in linker.read_in_batches(words):
        given += [matrix.without_heads() for matrix in matrices_of_batch]
        batches.append(linker.align(matrices_of_batch))
        reporter.advance(len(matrices_of_batch))
    reporter.finish(f"{with_plural(len(given), 'pair')} linked")
    kept_linker = replace(linker, read=matrices_were_read)  # the source may be large, such as a model
    origin = LinkedTextOrigin(kept_linker, given, prepared, text_settings, unit)
    return replace(origin.linked(batches), frame_index=checked.frame_index)


def check_not_layers(matrices: Any, pair_count: int) -> None:
    """Raise UsageError for the attention that a model returns: an array of all pairs for each layer."""
    arrays = matrices if isinstance(matrices, tuple | list) else ()
    has_one_per_pair = isinstance(matrices, list) and len(arrays) == pair_count
    if len(arrays) < 2 or has_one_per_pair:
        return
    shapes = {tuple(getattr(array, "shape", ())) for array in arrays}
    if len(shapes) > 1 or len(next(iter(shapes))) != 4:
        return
    found = f"found {len(arrays)} arrays of shape {shapes.pop()}, which look like the layers of a model"
    expected = "expected a list with one array (T, S) or (layers, heads, T, S) for each pair as `matrices`"
    raise UsageError(f"{expected}, {found}; for a single pair, pass [numpy.concatenate(layers)]")


def matrices_were_read(pairs: Iterable[TokenizedPair]) -> Iterator[PairMatrix]:
    """Stand in for a source whose matrices were read."""
    raise AssertionError("the matrices were read before")


def check_source_unit(unit: LinkUnit) -> None:
    """Raise UsageError if positions are to count tokens, but sub-words are joined into words."""
    if unit.marks is not None and unit.aligned_unit == "tokens":
        advice = "with `pieces`, pass `count=words` or `count=pieces`"
        raise UsageError(f"`count=tokens`: the matrices are of sub-words, which become words; {advice}")


def words_of_linked_tokens(
    pairs: Sequence[Pair], text_settings: TextSettings, unit: LinkUnit
) -> BothRegroupings | None:
    """Return the regroupings from the linked tokens to words; None if these are what links are converted to.

    The source has joined sub-words into words; lists of words are not split.
    """
    lines = [pair for pair in pairs if is_line_pair(pair)]
    if unit.marks is not None or unit.aligned_unit == "tokens" or not lines:
        return None
    return encode_lines(lines, text_settings).line_words


class LinkedTextOrigin(NamedTuple):
    """Sentence pairs, and the matrices from which their links were chosen."""

    linker: Linker
    given: Sequence[PairMatrix]
    pairs: Sequence[Pair]
    text_settings: TextSettings  # settings that split lines into the tokens that the source linked
    unit: LinkUnit

    def tokens(self, n: int) -> BothWords:
        """Return the words, tokens or pieces of pair n that positions count."""
        return self.unit.words_of(self.pairs[n], self.text_settings)

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n, and where its words are in them."""
        return self.unit.texts(self.pairs[n], self.text_settings)

    @property
    def splitting(self) -> tuple[TextSettings, Languages] | None:
        """The settings that split lines into tokens; None if links count something else."""
        return (self.text_settings, (None, None)) if self.unit == TOKENS else None

    @property
    def has_probabilities(self) -> bool:
        """Whether the numbers of links are probabilities: weights of another program are not."""
        return False

    def aligned(self, n: int) -> AlignedPair:
        """Return pair n with the weights that were given, and those that follow from them."""
        pair = self.linker.pair(self.given[n])
        one_link = self.linker.one_link
        return pair_of_unit(pair, self.pairs[n], self.text_settings, self.unit, one_link=one_link)

    def matrices(self, values: CellValues | None) -> Iterator[Reals]:
        """Yield one kind of weights of each pair; attention and similarities of others have no scores."""
        if values == "scores":
            raise UsageError("links from another program have no `scores`; choose other values")
        name = values or self.linker.default_values
        pairs = map(self.aligned, range(len(self.pairs)))
        return (pair.posterior if name == "combined" else getattr(pair, name) for pair in pairs)

    def linked(self, batches: Sequence[AlignedBatch]) -> AlignedBatch:
        """Return the links of the unit, from those of the words that the linker has linked."""
        batch = concatenate_batches(batches or [self.linker.align([])])
        line_words = words_of_linked_tokens(self.pairs, self.text_settings, self.unit)
        expanded: Sequence[Any] = self.pairs if self.unit.expands else []
        piece_lines = [self.unit.piece_lines(pair, self.text_settings) for pair in expanded]
        batch = self.unit.convert(batch, line_words, piece_lines, one_link=self.linker.one_link)
        return replace(batch, origin=self, unit=self.unit.name)

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen."""
        return self.linker.extraction.settings

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose from the same matrices."""
        origin = self._replace(linker=self.linker.choosing_by(links)) if links.given else self
        matrices = iter(self.given)
        batches = []
        while of_batch := list(islice(matrices, PAIRS_IN_MEMORY)):
            batches.append(origin.linker.align(of_batch))
        return origin.linked(batches)

    def chosen(self, numbers: Sequence[int]) -> LinkedTextOrigin:
        """Return the origin of the pairs with these numbers, in this order."""
        return self._replace(given=[self.given[n] for n in numbers], pairs=[self.pairs[n] for n in numbers])


def given_pair(
    linker: Linker, matrix: PairMatrix, lines: SentencePair, text_settings: TextSettings, unit: LinkUnit
) -> GivenPair:
    """Return a pair of lines with its attention, and that of each head, between what positions count."""
    one_link = linker.one_link
    pair = pair_of_unit(linker.pair(matrix), lines, text_settings, unit, one_link=one_link)
    heads = {}
    for name, weights in matrix.by_head().items():
        alone = linker.pair(matrix._replace(matrix=weights))
        heads[name] = pair_of_unit(alone, lines, text_settings, unit, one_link=one_link).forward
    source, target = unit.given_lines(lines)
    return GivenPair((source, target), pair, heads, unit.marks)


def pair_of_unit(
    pair: AlignedPair, words: Pair, text_settings: TextSettings, unit: LinkUnit, *, one_link: OneLink
) -> AlignedPair:
    """Return an aligned pair of the tokens of a source as the pair of what positions count.

    `words` are the lines, or the lists of words, of the pair, and `text_settings` splits lines into tokens.
    """
    line_words = words_of_linked_tokens([words], text_settings, unit)
    if line_words is not None:
        to_words = of_sentence(line_words, 0)
        pair = regroup_pair(pair, to_words, words_between_spaces(words), one_link=one_link)
    return unit.expanded(pair, words, text_settings)


def _words_of_pair(pair: Pair, text_settings: TextSettings) -> TokenizedPair:
    """Return the words of both sides; `text_settings` splits lines."""
    if is_line_pair(pair):
        return text_settings.words_of_pair(pair, (None, None))
    return list(pair[0]), list(pair[1])


def open_linker(
    pairs: Iterator[TokenizedPair], source: SourceSettings
) -> tuple[Linker, Iterator[TokenizedPair]]:
    """Return a Linker and the pairs of words to link; choosing an attention head reads some pairs ahead."""
    _check_source(source)
    if source.matrices is not None:
        return _matrices_linker(source, source.matrices), pairs
    if source.translator is not None:
        return _translator_linker(pairs, source, expand_home(source.translator))
    if source.encoder.encoder is not None:
        return encoder_linker(source), pairs
    return _similarity_linker(source), pairs


def _reduction_of(source: SourceSettings) -> AttentionReduction:
    """Return how attention is reduced."""
    return AttentionReduction(
        layers=_layer_numbers(source.layers, "layers"),
        heads=_layer_numbers(source.attention_heads, "attention_heads"),
        shift=source.shift or 0,
        pieces=source.pieces,
        normalize=bool(source.normalize),
    )


def _layer_numbers(value: Any, name: str) -> tuple[int, ...] | None:
    """Return the numbers of layers or heads, from 0; a single number may be passed without a list."""
    if value is None:
        return None
    is_listed = is_iterable(value) and not isinstance(value, str | bytes)
    listed = list(value) if is_listed else [value]
    expected = f"`{name}` as numbers from 0, such as [0, 1]"
    if not listed:
        raise UsageError(f"expected {expected}, found none; remove it to use all")
    for number in listed:
        check_number(number, expected, minimum=0, integer=True)
    return tuple(map(int, listed))


def _attention_linker(
    name: str,
    reduction: AttentionReduction,
    read: Callable[[Iterable[TokenizedPair]], Iterator[PairMatrix]],
    source: SourceSettings,
    *,
    chosen_by_text: bool = False,
) -> Linker:
    """Return a Linker of attention, whose links an extraction chooses."""
    linker = Linker(
        name=f"{name} {reduction}",
        read=read,
        posteriors=attention_posteriors,
        extraction=make_extraction(null=False),
        reduction=reduction,
        chosen_by_text=chosen_by_text,
    )
    return linker.choosing_by(source.links)


def _matrices_linker(source: SourceSettings, matrices: str | Path | Iterable[AnyArray]) -> Linker:
    """Return a Linker of attention in a file, or of one array for each pair."""
    name = "matrices=arrays"
    if isinstance(matrices, str | Path):
        name = f"matrices={matrices}"
        matrices = as_path(matrices)
    reduction = _reduction_of(source)
    read = partial(read_attention, matrices, reduction, encoding=source.encoding or "utf-8")
    return _attention_linker(name, reduction, read, source)


def _translator_linker(
    pairs: Iterator[TokenizedPair], source: SourceSettings, translator_name: str
) -> tuple[Linker, Iterator[TokenizedPair]]:
    """Return a Linker of the attention of a translation model, and all the pairs."""
    import_packages()  # raises an error before the text is read if they are missing
    device = source.encoder.device or "cpu"
    check_device(device)
    translator = Translator(translator_name, source.languages, device)
    reduction = _reduction_of(source)
    if reduction.shift < 0:
        raise UsageError("`shift` of a translation model must be 0 (a word is predicted) or 1 (it is read)")
    if not source.has_head:
        reduction, pairs = best_reduction(translator, pairs)
    reduction = replace(reduction, normalize=True)
    read = partial(translator_attention, translator, reduction)
    name = f"translator={translator_name}"
    linker = _attention_linker(name, reduction, read, source, chosen_by_text=not source.has_head)
    return linker, pairs


def encoder_linker(source: SourceSettings) -> Linker:
    """Return a Linker of the similarities of an encoder; without `download` it must be on this machine.

    Raises UsageError if a package or the device is missing. When links are read, a layer that does not exist
    and languages that the model does not support also raise UsageError.
    """
    settings = source.encoder
    assert settings.encoder is not None  # the caller has found one
    device = settings.device or "cpu"
    check_device(device)
    encoder = Encoder(
        name=expand_home(settings.encoder),
        layer=Encoder.layer if settings.layer is None else settings.layer,
        device=device,
        download=source.download is not False,
        languages=source.languages,
    )
    units = source.units or DEFAULT_UNITS
    similarities = EncoderSimilarities(
        encoder=encoder,
        product=_published_method(source).product,
        cache=None if settings.cache is None else expand_home(settings.cache),
        units=units,
    )
    return _method_linker(similarities.description, similarities.read, source, f" units={units}")


def _similarity_linker(source: SourceSettings) -> Linker:
    """Return a Linker of the vectors of words, or of similarities, of another program."""
    published = _published_method(source)
    if source.token_vectors is not None:
        units = source.units or DEFAULT_UNITS
        path = expand_home(source.token_vectors)
        read = partial(read_vectors, path, published.product, units)
        return _method_linker(f"token-vectors={path}", read, source, f" units={units}")
    similarities = source.similarities
    assert similarities is not None  # _check_source has found one source
    name = "arrays"
    if isinstance(similarities, str | Path):
        similarities = name = expand_home(similarities)
    read = partial(read_similarities, similarities, published.min_similarity)
    return _method_linker(f"similarities={name}", read, source)


def _published_method(source: SourceSettings) -> Method:
    return PUBLISHED_METHODS[source.method or DEFAULT_METHOD]


def _method_linker(
    name: str,
    read: Callable[[Iterable[TokenizedPair]], Iterator[PairMatrix]],
    source: SourceSettings,
    units: str = "",
) -> Linker:
    """Return a Linker whose links a published method chooses."""
    published = _published_method(source)
    return Linker(
        name=f"{name} method={source.method or DEFAULT_METHOD}{units}",
        read=read,
        posteriors=published.posteriors,
        extraction=make_extraction(LinkSettings(published.extract, published.threshold)),
    )
