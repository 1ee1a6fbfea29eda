"""The names of choices that options and library share. The module stays small: NumPy is not loaded yet."""

SIDES = ("source", "target")
MODEL, VECTORS = "en_fr_model", "en_fr_vectors"  # that come with nmtalign; without a name it is the model

SCORES = ("dot", "scaled-dot", "cosine", "bahdanau")  # of vectors
LEARNED_SCORES = ("bahdanau", "scaled-dot")  # whose parameters lie beside vectors
POSITIONS = ("none", "diagonal", "hmm")
EXTRACTIONS = (
    *("posterior", "one-to-one", "argmax", "argmax-reverse"),
    *("mutual", "threshold", "itermax", "match", "transport"),
)
SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
VALUES = ("scores", "forward", "reverse", "combined")  # of the cells of a pair
METHODS = (  # published, from similarities to links
    *("simalign-argmax", "simalign-itermax", "simalign-match"),
    *("awesome-align", "awesome-align-entmax", "transport"),
)
UNITS = ("subwords", "words")  # that published methods link
PRESETS = ("fast", "default")
DEVICES = ("cpu", "cuda", "mps")

PAIR_FORMATS = ("fast-align", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "po-fuzzy", "parquet")
TOKENIZERS = ("space", "simple", "moses", "icu", "sentencepiece:FILE[,FILE]")
UNICODE_FORMS = ("nfc", "nfkc", "strip-accents", "none")
MARKS = ("bpe", "sentencepiece")  # of sub-words

READ_LINKS = ("pharaoh", "talp", "naacl", "giza", "tsv", "jsonl")
WRITTEN_LINKS = (*READ_LINKS, "words")
TAG_FORMATS = ("xml", "bio", "spans")

READ_VECTORS = ("folder", "word2int", "word2vec", "word2vec-binary", "fasttext", "gensim", "pickle")
WRITTEN_VECTORS = ("folder", "word2int", "word2vec", "word2vec-binary")
UNKNOWN_POLICIES = ("zero", "subword", "backoff")
RETRIEVAL_SCORES = ("csls", "cosine")
