"""For bundled data: build the multilingual model, and measure it.

    python scripts/build_multilingual.py --data DATA -o data/multilingual
    python scripts/build_multilingual.py --data DATA

The model has no words: the encoder `use` (extra ``[multilingual]``) makes their vectors. It has what does not
depend on the language, learned without gold links from the texts of LANGUAGES in both directions:

* the center, of which CENTERED is subtracted from the vector of each word: the mean of the vectors of all
  running words, each text with the same weight;
* the background, whose product with the vector of a word is log Z of the word: BACKGROUND times the mean of
  the vectors that are centered;
* the transitions of the hidden Markov model: the mean of those that are fitted to each text.

Without ``-o``, each text is aligned by a model of the other texts, sentence by sentence and fitted to the
text, and the script prints a markdown table of the alignment error, with precision and recall.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _corpora import Pairs, Score, corpora, lines_of, markdown, score

import nmtalign as na
from nmtalign.aligner.aligner import Aligner
from nmtalign.arrays import Floats
from nmtalign.external.word_encoders import encoded_embeddings
from nmtalign.positions.hmm import DEFAULT_NULL, OF_OTHER_TEXTS, HiddenMarkov
from nmtalign.positions.jumps import JumpModel
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.vector_scores import DotScore
from nmtalign.text.tokenization import TextSettings

ENCODER = "use"
DIMENSION = 512
CENTERED = 0.5
SCALE = 16.0  # of cosines
BACKGROUND = 2.0
TEXTS = {  # whose languages the encoder knows, by name of the corpus
    "a0": "En-Fr, ALIBI",
    "golden_enfr_100": "En-Fr, golden",
    "europarl_enes_200": "En-Es, Europarl",
    "golden_enes_100": "En-Es, golden",
    "golden_enpt_100": "En-Pt",
    "bicici_deen_100": "De-En",
    "xlwa_enit_dev+1k": "En-It",
    "xlwa_enru_dev+1k": "En-Ru",
    "zhen_225": "Zh-En",
    "jaen_291": "Ja-En",
}
PAIRS_PER_TEXT = 200  # at most so many pairs teach


def read_texts(data: Path) -> dict[str, tuple[Pairs, list[str]]]:
    """Return the pairs and the gold lines of each text."""
    return {one.name: (one.gold_text, lines_of(one.gold)) for _, one in corpora(data, TEXTS)}


def mean_vector(texts: Sequence[Pairs], embeddings: na.Embeddings) -> Floats:
    """Return the mean of the vectors of all running words of texts, each side with the same weight."""
    means = []
    for pairs in texts:
        for side in zip(*pairs, strict=True):
            words = [word for line in side for word in line.split()]
            means.append(embeddings.vectors(words).mean(axis=0))
    return np.mean(means, axis=0)


def jump_tables(pairs: Pairs, embeddings: na.Embeddings) -> tuple[Floats, Floats]:
    """Return the transitions over both sides that are fitted to a text, the means of both directions."""
    turned = [(target, source) for source, target in pairs]
    fitted = []
    for text in (pairs, turned):
        aligner = na.load((embeddings, embeddings), positions="hmm", temperature=1 / SCALE, tokenizer="space")
        fitted.append(na.fit_to(aligner, text).positions.jump_models)
    of_source, of_target = (np.mean([one[side].tables for one in fitted], axis=0) for side in (0, 1))
    return of_source, of_target


def learn(texts: Sequence[Pairs]) -> Aligner:
    """Return the model that texts teach."""
    texts = [pairs[:PAIRS_PER_TEXT] for pairs in texts]
    plain = encoded_embeddings(ENCODER, np.zeros(DIMENSION, np.float32))
    embeddings = encoded_embeddings(ENCODER, np.float32(CENTERED * mean_vector(texts, plain)))
    background = np.float32(BACKGROUND * mean_vector(texts, embeddings))
    tables = [jump_tables(pairs, embeddings) for pairs in texts]
    jump_models = []
    for side in (0, 1):
        mean_table = np.float32(np.mean([one[side] for one in tables], axis=0))
        of_all_words = np.array([len(mean_table) - 1], np.int32)
        jump_models.append(JumpModel(mean_table, of_all_words))
    cosine = DotScore("cosine", SCALE, unit_length=True)
    scorer = VectorScorer(embeddings, embeddings, cosine, background=background)
    positions = HiddenMarkov(tuple(jump_models), ({}, {}), DEFAULT_NULL, fitted_pairs=OF_OTHER_TEXTS)
    return Aligner(scorer, positions, text_settings=TextSettings("simple"))


def score_links(aligner: Aligner, pairs: Pairs, gold: Sequence[str]) -> Score:
    aligner = na.load(aligner, tokenizer="space")
    batch = aligner.align_batch(pairs)
    return score([" ".join(f"{s}-{t}" for s, t in pair.links) for pair in batch], gold)


def evaluate(data: Path) -> None:
    """Print the errors of each text by a model of the other texts."""
    texts = read_texts(data)
    rows = [["text", "pairs", "sentence by sentence", "precision", "recall", "fitted", "precision", "recall"]]
    errors = []
    for name, (pairs, gold) in texts.items():
        model = learn([other_pairs for other, (other_pairs, _) in texts.items() if other != name])
        alone = score_links(model, pairs, gold)
        fitted = score_links(na.fit_to(model, pairs), pairs, gold)
        errors.append((alone.aer, fitted.aer))
        figures = [alone.aer, alone.precision, alone.recall, fitted.aer, fitted.precision, fitted.recall]
        rows.append([TEXTS[name], str(len(pairs)), *(f"{figure:.1f}" for figure in figures)])
    means = np.mean(errors, axis=0)
    rows.append(["mean", "", f"{means[0]:.1f}", "", "", f"{means[1]:.1f}", "", ""])
    print(markdown(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.output is None:
        evaluate(options.data)
    else:
        texts = [pairs for pairs, _ in read_texts(options.data).values()]
        learn(texts).save(options.output, overwrite=True)


if __name__ == "__main__":
    main()
