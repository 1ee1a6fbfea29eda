"""The choices that the command line and the library share, as types and as tuples.

A choice is defined once, as a `Literal`; click and the checks of the library take its values from there.
The module imports nothing heavy, so that ``nmtalign --help`` does not load NumPy.
"""

from typing import Literal, get_args

Side = Literal["source", "target"]
SIDES: tuple[Side, ...] = get_args(Side)
BUNDLED_MODEL = "en_fr_model"  # the default model of commands
MULTILINGUAL_MODEL = "multilingual"  # needs the extra of that name
BUNDLED_VECTORS = "en_fr_vectors"

ScoreName = Literal["dot", "scaled-dot", "cosine", "bahdanau"]
LearnedScoreName = Literal["bahdanau", "scaled-dot"]  # a folder of vectors can contain their parameters
PositionsName = Literal["none", "diagonal", "hmm"]
ExtractionName = Literal[
    "posterior",
    "every-word",
    "one-to-one",
    "argmax",
    "argmax-reverse",
    "mutual",
    "threshold",
    "itermax",
    "match",
    "transport",
]
Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
CellValues = Literal["scores", "forward", "reverse", "combined"]  # the values in the cells of a matrix
MethodName = Literal[
    "simalign-argmax",
    "simalign-itermax",
    "simalign-match",
    "awesome-align",
    "awesome-align-entmax",
    "transport",
]
MethodUnit = Literal["subwords", "words"]  # the units that a published method links
PresetName = Literal["fast", "default"]
DeviceName = Literal["cpu", "cuda", "mps"]

SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)
CELL_VALUES: tuple[CellValues, ...] = get_args(CellValues)

PairFormat = Literal["fast-align", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "po-fuzzy", "parquet"]
UnicodeForm = Literal["nfc", "nfkc", "strip-accents", "none"]
SubwordMarks = Literal["bpe", "sentencepiece"]
LinkUnitName = Literal["words", "tokens", "pieces"]  # the unit of the positions in links
UNICODE_FORMS: tuple[UnicodeForm, ...] = get_args(UnicodeForm)
SUBWORD_MARKS: tuple[SubwordMarks, ...] = get_args(SubwordMarks)
LINK_UNITS: tuple[LinkUnitName, ...] = get_args(LinkUnitName)
TOKENIZERS = ("space", "simple", "moses", "icu", "sentencepiece:FILE[,FILE]")

ReadLinksFormat = Literal["pharaoh", "talp", "naacl", "giza", "tsv", "jsonl"]
LinkedFileFormat = Literal["tmx", "xliff"]  # files of translators' tools, with links in them
WrittenLinksFormat = Literal["pharaoh", "talp", "naacl", "giza", "tsv", "jsonl", "words"]
MarkupFormat = Literal["xml", "html", "xliff"]
LabelFormat = Literal["bio", "bioes", "iob1"]
SpanFormat = Literal["spans", "char-spans"]
TagFormat = Literal["xml", "html", "xliff", "bio", "bioes", "iob1", "labels", "spans", "char-spans", "conllu"]
READ_LINKS: tuple[ReadLinksFormat, ...] = get_args(ReadLinksFormat)
LINKED_FILES: tuple[LinkedFileFormat, ...] = get_args(LinkedFileFormat)
WRITTEN_LINKS: tuple[WrittenLinksFormat, ...] = get_args(WrittenLinksFormat)
MARKUP_FORMATS: tuple[MarkupFormat, ...] = get_args(MarkupFormat)
LABEL_FORMATS: tuple[LabelFormat, ...] = get_args(LabelFormat)
TAG_FORMATS: tuple[TagFormat, ...] = get_args(TagFormat)

ReadVectorsFormat = Literal[
    "folder", "word2int", "word2vec", "word2vec-binary", "fasttext", "gensim", "pickle", "static"
]
WrittenVectorsFormat = Literal["folder", "word2int", "word2vec", "word2vec-binary"]
UnknownPolicy = Literal["zero", "subword", "backoff"]
READ_VECTORS: tuple[ReadVectorsFormat, ...] = get_args(ReadVectorsFormat)
UNKNOWN_POLICIES: tuple[UnknownPolicy, ...] = get_args(UnknownPolicy)
