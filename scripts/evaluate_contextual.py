"""Print what context and a lexicon are worth on a synthetic pair of languages in which both are needed.

    python scripts/evaluate_contextual.py

Then, for each head of a tiny translation model: how alignment error, the gain by which a head is chosen, and
the agreement of its rows with its own columns go together.

Tiny models are trained in seconds (tests/encoders/tiny.py, which describes the languages); torch and
transformers are needed. The lexicon is learned from the very pairs that are aligned.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np

import nmtalign
from nmtalign.encoders.choice import rank
from nmtalign.encoders.translator import Translator
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.bitext import SentencePair
from tests.encoders.tiny import (
    LAYERS,
    ambiguous_bitext,
    reversed_bitext,
    train_encoder,
    train_translator,
)


def show_heads() -> None:
    """Print gain, agreement and error of each head of a translation model, the largest gain first."""
    toy = reversed_bitext(100, seed=5)
    with tempfile.TemporaryDirectory() as folder:
        found = list(Translator(str(train_translator(Path(folder)))).attention(toy.words))
    print("layer  head  shift   gain  agreement  error")
    for choice in rank(toy.words, found):
        heads = slice(None) if choice.head is None else slice(choice.head, choice.head + 1)
        right, agreed, words = 0, 0, 0
        for own, links in zip(found, toy.links, strict=True):
            weights = own.of_words(len(links), choice.shift)[choice.layer, heads, :, :-1].mean(axis=0)
            best = weights.argmax(axis=1)
            right += len({(int(s), t) for t, s in enumerate(best)} & links)
            agreed += int((weights[:, best].argmax(axis=0) == np.arange(len(best))).sum())
            words += len(best)
        head = "mean" if choice.head is None else choice.head
        share, error = 100 * agreed / words, 100 * (1 - right / words)
        name = f"{choice.layer:5}  {head!s:>4}  {choice.shift:5}"
        print(f"{name}  {choice.gain:5.2f}  {share:7.1f} %  {error:.1f} %")


def main() -> None:
    toy = ambiguous_bitext(600, seed=5)
    pairs = [SentencePair(*pair) for pair in toy.pairs]
    gold = {(n, *link) for n, links in enumerate(toy.links) for link in links}

    def show(name: str, batch: AlignedBatch) -> None:
        found = {(n, *link) for n in range(len(pairs)) for link in batch.links(n)}
        error = 100 * (1 - 2 * len(found & gold) / (len(found) + len(gold)))
        print(f"{name:44} {error:5.1f} %", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        tiny = train_encoder(Path(folder))
        lexicon = nmtalign.train(pairs)
        show("lexicon", lexicon.align_batch(pairs))
        for layer, name in ((0, "static vectors (layer 0)"), (LAYERS, "contextual vectors")):
            for method in ("simalign-argmax", "simalign-itermax"):
                links = nmtalign.links_from(pairs, encoder=tiny, layer=layer, method=method)
                show(f"{name}, {method}", links)
        for name, base, layer in (
            ("contextual vectors, ours", None, LAYERS),
            ("mixture with static vectors", lexicon, 0),
            ("mixture with contextual vectors", lexicon, LAYERS),
        ):
            aligner = nmtalign.fit_to(nmtalign.with_context(base, encoder=tiny, layer=layer), pairs)
            show(name, aligner.align_batch(pairs))
    show_heads()


if __name__ == "__main__":
    main()
