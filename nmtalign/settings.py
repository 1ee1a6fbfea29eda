"""The settings of each activity, each declared once (:mod:`nmtalign.declarations`).

A public function lists its settings once more, for editors and ``help``; `tests/test_settings.py` compares
both. The command line makes its options from the fields (:mod:`nmtalign.cli.declare`). The functions inside
pass the object on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmtalign.declarations import OTHER_COMMANDS, RUNNING, Settings, setting, settings_group
from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.names import (
    BUNDLED_VECTORS,
    SYMMETRIZATIONS,
    CellValues,
    DeviceName,
    ExtractionName,
    LearnedScoreName,
    MethodName,
    MethodUnit,
    PositionsName,
    PresetName,
    ScoreName,
    Side,
    SubwordMarks,
    Symmetrization,
    UnicodeForm,
    UnknownPolicy,
)
from nmtalign.validation import check_number, check_type, quote_parameter, refuse_settings

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from numpy.typing import ArrayLike

    from nmtalign.arrays import AnyArray
    from nmtalign.dictionaries.reading import GivenDictionaries
    from nmtalign.external.word_encoders import WordEncoderInput
    from nmtalign.links.alignments import Alignment, GoldAlignment
    from nmtalign.links.inputs import GoldInput, LinksInput, LinksOfPair
    from nmtalign.scorers.vector_scores import VectorScore
    from nmtalign.text.tokenization import Languages

# --- text ----------------------------------------------------------------------------------------


def _default_of_words(default: str) -> dict[str, str]:
    """Return what commands with a model show as the default of a setting of words, and the others."""
    without_model = ("train", "check", "learn", "attention")
    return {**dict.fromkeys(without_model, default), OTHER_COMMANDS: f"the model's, else {default}"}


@dataclass(frozen=True)
class WordSettings(Settings):
    """How lines become words that are looked up; the model decides what is None."""

    section = "Input"

    tokenizer: str | None = setting(
        None,
        "--tokenizer",
        "Tokenizer that splits lines into tokens.",
        kind="tokenizer",
        shown_defaults=_default_of_words("space"),
    )
    lowercase: bool | None = setting(
        None,
        "--lowercase/--no-lowercase",
        "Look up words in lower case.",
        shown_defaults=_default_of_words("yes"),
    )
    unicode: UnicodeForm | None = setting(
        None,
        "--unicode",
        "Unicode normalization of the words.",
        shown_defaults=_default_of_words("nfc"),
    )


# --- links ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinkSettings(Settings):
    """How links are chosen from posteriors; the model decides what is None."""

    section = "Links"

    extract: ExtractionName | None = setting(
        None,
        "--extract METHOD",
        "Method that chooses the links: `posterior` takes the cells whose posterior (the probability of a"
        " link, from both directions) is at least --threshold, and second words, which join the link of a"
        " neighbor; `every-word` also links each remaining word; `one-to-one` gives a word at most one link;"
        ' `mutual` takes the cells that are the best of their row and of their column. The page "Ways to'
        ' choose links" describes the others.',
        shown_defaults={
            "links-from": "mutual; with --method: the rule of the method",
            **dict.fromkeys(("train", "convert"), "posterior"),
            OTHER_COMMANDS: "posterior; with --positions none or diagonal: mutual",
        },
    )
    threshold: float | None = setting(
        None,
        "--threshold P",
        "Keep only links whose posterior (`transport`: share of the transport plan) is at least P; turns off"
        " second words and phrases of dictionaries.",
        above=0,
        maximum=1,
    )
    symmetrize: Symmetrization | None = setting(
        None,
        "--symmetrize",
        "Instead of --extract, join the best links of both directions by this method.",
    )

    def __post_init__(self) -> None:
        if str(self.extract) in SYMMETRIZATIONS:
            joins = f"{self.extract!r} joins the links of both directions"
            raise UsageError(f"{joins}; write `symmetrize={self.extract}`")
        super().__post_init__()
        if self.extract is not None and self.symmetrize is not None:
            raise UsageError("`symmetrize` and `extract` cannot be combined; remove one")


# --- given vectors and encoders ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VectorFileSettings(Settings):
    """How files of word vectors are read; on the command line, only `vectors` commands have these options."""

    section = "Vectors"

    limit: int | None = setting(None, minimum=1)
    unsafe_pickle: bool = setting(False)
    strip_prefix: str | tuple[str, str] | None = setting(None)


@dataclass(frozen=True, kw_only=True)
class GivenVectorsSettings(VectorFileSettings):
    """How word vectors of two languages align a text in place of a learned model."""

    section = "Vectors, instead of a model"

    languages: tuple[str, str] | None = setting(
        None,
        "--langs XX,YY",
        "Source and target language of --vectors, if the folder does not say which is which.",
        kind="languages",
    )
    unknown: UnknownPolicy | None = setting(
        None,
        "--unknown",
        "Treatment of words without a vector: `zero` (no links), `subword` (composed of its n-grams, fastText"
        " only), `backoff` (a similarly spelled word, else a hash of the spelling).",
        shown_defaults={OTHER_COMMANDS: "backoff; with --positions none or diagonal: zero"},
    )
    score: ScoreName | VectorScore | None = setting(
        None,
        "--score",
        "Attention score of two vectors; --vectors DIR contains the parameters of bahdanau and scaled-dot in"
        " files of these names.  [cosine]",
    )
    temperature: float | None = setting(
        None,
        "--temperature",
        "Divide the scores by this number.  [cosine: 1/sqrt(D), but from 1/20 to 1/8; others: 1]",
        above=0,
    )
    parameters: str | Path | Mapping[str, ArrayLike] | None = setting(None)
    positions: PositionsName | None = setting(
        None,
        "--positions",
        "Where attention may go: `none` (anywhere), `diagonal` (near the diagonal), `hmm` (a hidden Markov"
        " model, fitted to the text).",
        shown_defaults={OTHER_COMMANDS: "hmm"},
    )
    diagonal: float | None = setting(None)

    def refuse_for(self, found: str) -> None:
        """Raise UsageError if a setting is given for something else than word vectors, which was `found`."""
        given = [quote_parameter(name) for name in self.given]
        if given:
            names = ", ".join(given)
            applies = "applies" if len(given) == 1 else "apply"
            problem = f"{names} {applies} to word vectors only, and {found}"
            raise UsageError(
                f"{problem}; remove {names}, or open word vectors, such as {BUNDLED_VECTORS} (--vectors)"
            )


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Settings):
    """An encoder whose links are those of an expert."""

    section = "Expert, an additional source of links"

    encoder: str | Path | None = setting(
        None,
        "--encoder NAME",
        "Link words that this Hugging Face encoder finds similar: its name or folder.",
        kind="Hugging Face model",
    )
    layer: int | None = setting(
        None, "--layer N", "Layer of --encoder whose hidden states are compared.  [8]", minimum=0
    )
    device: DeviceName | None = setting(None)
    cache: str | Path | None = setting(None)


@dataclass(frozen=True, kw_only=True)
class AttentionSettings(Settings):
    """The attention score over word vectors whose parameters are learned."""

    section = "Learning"

    score: LearnedScoreName = setting("bahdanau", "--score", "Attention score whose parameters are learned.")
    units: int = setting(128, "--size N", "Size of the attention layer.", minimum=1)


# --- training ------------------------------------------------------------------------------------


_MIXED_VECTORS = "Vectors, mixed with the lexicon"


def expert_setting() -> Any:
    """Declare the links of an expert."""
    return setting(
        None,
        "--expert LINKS",
        "Add links of this text from another source, such as a person or an encoder; they shift the"
        " posteriors but do not force links. Pharaoh format, one line per pair, or posteriors; an empty"
        " line means no opinion.",
        kind="input",
        section=EncoderSettings.section,
    )


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """What an aligner is learned with, besides its text."""

    section = "Model"

    words: WordSettings = settings_group(WordSettings)
    languages: Languages = setting(
        (None, None),
        "--langs XX,YY",
        "Source and target language, such as en,fr.",
        kind="languages",
        section="Input",
    )
    gold: GoldInput | None = setting(
        None,
        "--gold FILE",
        "Also train a rescorer on gold links: one line for each pair of the bitext, or for its last pairs"
        " only.",
        kind="input",
        section="Input",
    )
    sample: int | None = setting(
        None, "--sample N", "Learn from N pairs, drawn at random.  [all]", minimum=1, section="Input"
    )
    preset: PresetName = setting(
        "default",
        "--preset",
        "`fast` takes less time than `default` and has a slightly higher error rate.",
    )
    prior: GivenDictionaries | None = setting(
        None,
        "--prior FILE",
        "Use a bilingual dictionary or word list; may be repeated. The format is detected from the content.",
        kind="input",
        is_repeated=True,
    )
    bridge: GivenDictionaries | None = setting(None)
    headwords: Side | None = setting(None)
    lemmas: bool = setting(
        False,
        "--lemmas",
        "Count words under their lemmas as well; needs --langs and the package simplemma.",
    )
    word_encoder: WordEncoderInput | None = setting(
        None,
        "--word-encoder NAME",
        "Use words that this multilingual encoder finds similar, as entries of a dictionary: `use` (16"
        " languages, extra multilingual), a folder of model2vec, or a model of sentence-transformers.",
        kind="Hugging Face model",
    )
    init: str | Path | None = setting(
        None,
        "--init DIR",
        "Start from a model and its tokenizer, or from word vectors.",
        kind="older model",
    )
    vectors: str | Path | tuple[Any, Any] | None = setting(None)
    vector_files: VectorFileSettings = settings_group(
        VectorFileSettings, section="Vectors, mixed with the lexicon"
    )
    vectors_weight: float | None = setting(
        None,
        "--vectors-weight",
        "Weight of the vectors, from 0 to 1.  [fitted to the text]",
        minimum=0,
        maximum=1,
        section=_MIXED_VECTORS,
    )
    expert: LinksInput | None = expert_setting()
    encoder: EncoderSettings = settings_group(EncoderSettings)
    workers: int | None = setting(None, minimum=1)
    memory: int | str | None = setting(
        None,
        "--memory SIZE",
        "Use at most SIZE of memory, such as 4G; the rest goes to temporary files.  [half of the machine's]",
        section=RUNNING,
    )


# --- attention or similarities of another program ------------------------------------------------

_SOURCE_SECTION = "Attention or similarities of another program"


@dataclass(frozen=True, kw_only=True)
class SourceEncoderSettings(EncoderSettings):
    """An encoder, or a translation model, that is the source itself."""

    section = _SOURCE_SECTION

    device: DeviceName | None = setting(
        None, "--device", "Device on which the Hugging Face model runs.  [cpu]"
    )
    cache: str | Path | None = setting(
        None,
        "--cache FILE",
        "Keep the encoder's similarities in FILE and reuse them in the next run.",
        kind="output",
    )


@dataclass(frozen=True, kw_only=True)
class SourceSettings(Settings):
    """One source of matrices of another program, and how its matrices become links."""

    section = _SOURCE_SECTION

    links: LinkSettings = settings_group(LinkSettings)
    languages: tuple[str, str] | None = setting(
        None,
        "--langs XX,YY",
        "Source and target language in the model's own codes, such as eng_Latn,fra_Latn; for --translator,"
        " and for an --encoder that requires languages.",
        kind="languages",
    )
    encoder: SourceEncoderSettings = settings_group(SourceEncoderSettings)
    download: bool | None = setting(None)
    matrices: str | Path | Iterable[AnyArray] | None = setting(
        None,
        "--matrices FILE",
        "File of attention matrices whose rows sum to 1: npz, npy, or text of Marian, fairseq or OpenNMT-py.",
        kind="input",
    )
    encoding: str | None = setting(None)
    translator: str | Path | None = setting(
        None,
        "--translator NAME",
        "Use the attention of this Hugging Face translation model. Without --layers, --attention-heads and"
        " --shift, the head is chosen on the first pairs of the text.",
        kind="Hugging Face model",
    )
    layers: Sequence[int] | None = setting(
        None,
        "--layers",
        "Attention layers to average, such as 0,2-3.  [all, or see --translator]",
        kind="numbers",
    )
    attention_heads: Sequence[int] | None = setting(
        None,
        "--attention-heads",
        "Attention heads to average.  [all, or see --translator]",
        kind="numbers",
    )
    shift: int | None = setting(
        None,
        "--shift N",
        "Use row t + N as the attention of target word t.  [0, or see --translator]",
        minimum=-1,
        maximum=1,
    )
    pieces: SubwordMarks | None = setting(None, "--pieces", "Join sub-words with these marks into words.")
    normalize: bool | None = setting(None, "--normalize", "Divide each row of --matrices by its sum.")
    token_vectors: str | Path | None = setting(
        None,
        "--token-vectors FILE",
        "Vectors of the words of each line: an npz file or a folder.",
        kind="input",
    )
    similarities: str | Path | Iterable[AnyArray] | None = setting(
        None,
        "--similarities NPZ",
        "Similarities: an npz file with one matrix (target by source words) per pair.",
        kind="input",
    )
    method: MethodName | None = setting(
        None, "--method", "Published method that creates links from similarities.  [simalign-itermax]"
    )
    units: MethodUnit | None = setting(
        None,
        "--units",
        "Units that --method links; links of sub-words are converted to links of words.  [subwords]",
    )

    @property
    def has_head(self) -> bool:
        """Whether layers, heads or the shift of attention are passed; otherwise the text chooses them."""
        return any(value is not None for value in (self.layers, self.attention_heads, self.shift))


# --- pictures ------------------------------------------------------------------------------------

# what is declared for the kinds of pictures that show less than a heatmap does
_SETTINGS_OF_ALL = ("card", "dark", "links", "gold", "title", "width", "dpi")
_SETTINGS_OF_CARDS = (*_SETTINGS_OF_ALL, "pin")
_SETTINGS_OF_CURVES = (*_SETTINGS_OF_ALL, "curves", "values", "numbers", "figsize")


@dataclass(frozen=True, kw_only=True)
class PictureSettings(Settings):
    """What a picture of a result shows: a heatmap, curves, or the card of the report."""

    section = "Output"

    values: CellValues | Literal["all"] | None = setting(None)
    curves: bool = setting(
        False, "--curves", "Draw the links as curves between the words instead of a matrix."
    )
    card: bool | None = setting(
        None, "--card", "Draw the card of the report: curves, an explanation, and the matrix."
    )
    dark: bool | None = setting(
        None,
        "--dark/--light",
        "Use dark colors, or light ones, as for paper.  [light]",
    )
    pin: str | None = setting(
        None,
        "--pin WORD",
        "Show on a card what a word attends to, and why it is linked: a word of the pair, or its place, such"
        " as s0 (the first source word) or t7.",
    )
    links: Alignment | Iterable[tuple[int, int]] | None = setting(None)
    gold: GoldAlignment | LinksOfPair | None = setting(None)
    title: str = setting("")
    numbers: bool | None = setting(
        None,
        "--numbers/--no-numbers",
        "Write the weight into each cell; with --curves, the position of each word.  [if they fit]",
    )
    linear: bool | None = setting(None)
    cmap: str | Colormap | None = setting(None)
    columns: int | None = setting(None, minimum=1)
    width: float | None = setting(
        None,
        "--width LENGTH",
        "Width of the picture, such as 3.3in or 84mm for a column of a paper; no text is below 7 points."
        "  [as the words need]",
        minimum=1,
        maximum=100,
        kind="length",
    )
    figsize: tuple[float, float] | None = setting(None)
    dpi: int = setting(150, "--dpi N", "Dots per inch of a .png picture.", minimum=1, maximum=2400)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pin is not None and self.card is False:
            raise UsageError("`pin` is shown on a card only; remove it, or `card=False`")
        if self.is_card:
            self.refuse_others(_SETTINGS_OF_CARDS, "a card")
        elif self.curves:
            self.refuse_others(_SETTINGS_OF_CURVES, "curves")
        if self.dark is not None and self.cmap is not None:
            raise UsageError("`dark` and `cmap` both choose colors; remove one")
        if self.figsize is not None:
            self._check_size(self.figsize)
            if self.width is not None:
                raise UsageError("`figsize` and `width` both choose the size; remove one")

    @staticmethod
    def _check_size(size: tuple[float, float]) -> None:
        expected = "width and height in inches as `figsize`, such as (6, 4)"
        check_type(size, (tuple, list), expected)
        if len(size) != 2:
            raise UsageError(f"expected {expected}, found {short_repr(size)}")
        for inches in size:
            check_number(inches, expected, minimum=0.1, maximum=1000)

    @property
    def is_card(self) -> bool:
        """Whether a card is asked for: by itself, or by a word that it explains."""
        return bool(self.card) or self.pin is not None

    @property
    def suit_a_card(self) -> bool:
        """Whether a card can show all that is asked for, unless another picture is asked for."""
        return self.card is not False and set(self.given) <= set(_SETTINGS_OF_CARDS)

    def refuse_others(self, known: Iterable[str], what: str) -> None:
        """Raise UsageError if a setting is given that does not apply to `what`."""
        others = [name for name in self.given if name not in known]
        refuse_settings([f"{name}=False" if getattr(self, name) is False else name for name in others], what)
