"""Word vectors of one language, trained by gensim on text of that language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from nmtalign.errors import DataError, UsageError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.subwords import CharacterNgrams

KINDS = ("word2vec", "fasttext")
Sentences = Iterable[Sequence[str]]


def train_monolingual(
    sentences: Callable[[], Sentences],
    *,
    kind: str = "word2vec",
    dimension: int = 300,
    minimum: int = 5,
    epochs: int = 5,
    seed: int = 1,
    workers: int = 1,
) -> Embeddings:
    """Train skip-gram vectors with negative sampling, window 5.

    Parameters
    ----------
    sentences : callable
        Gives the sentences as lists of words, anew at each call: once to count, once for each epoch.
    kind : {"word2vec", "fasttext"}
        ``fasttext`` also learns character n-grams, so unknown words get vectors.
    dimension, minimum, epochs, seed
        Of gensim's models; `minimum` is the least count of a word.
    workers : int
        Threads; only one gives the same vectors twice.

    Returns
    -------
    Embeddings
        float32, the most frequent words first.

    Raises
    ------
    DataError
        If no word is frequent enough.

    References
    ----------
    Mikolov et al. (2013), "Distributed representations of words and phrases and their compositionality".
    Bojanowski et al. (2017), "Enriching word vectors with subword information".
    """
    if kind not in KINDS:
        raise UsageError(f"monolingual vectors: expected one of {', '.join(KINDS)}, found {kind!r}")
    from gensim.models import FastText, Word2Vec

    model = (FastText if kind == "fasttext" else Word2Vec)(
        vector_size=dimension, min_count=minimum, sg=1, window=5, seed=seed, workers=workers
    )
    corpus = _Again(sentences)
    model.build_vocab(corpus)
    if not len(model.wv):
        raise DataError(f"no word occurs {minimum} times in the {model.corpus_count} sentences to train on")
    model.train(corpus, total_examples=model.corpus_count, epochs=epochs)
    vectors = model.wv
    pieces = (
        CharacterNgrams(vectors.vectors_ngrams, vectors.min_n, vectors.max_n) if kind == "fasttext" else None
    )
    settings = {"method": kind, "dimension": dimension, "minimum": minimum, "epochs": epochs, "seed": seed}
    return Embeddings(Vocabulary.from_words(vectors.index_to_key), vectors.vectors, pieces, settings=settings)


class _Again:
    """Sentences that can be read any number of times; gensim wants lists."""

    def __init__(self, sentences: Callable[[], Sentences]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        return map(list, self._sentences())
