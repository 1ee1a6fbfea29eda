"""Print what context and a lexicon are worth on a synthetic pair of languages in which both are needed.

    python scripts/evaluate_contextual.py

A tiny encoder is trained in seconds (tests/contextual/tiny.py, which describes the languages); torch and
transformers are needed. The lexicon is learned from the very pairs that are aligned.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["HF_HUB_OFFLINE"] = "1"

import nmtalign
from nmtalign.aligner.aligner import Aligner
from nmtalign.batch.stream import align_stream
from nmtalign.text.bitext import SentencePair
from tests.contextual.tiny import LAYERS, ambiguous_bitext, train_encoder


def main() -> None:
    toy = ambiguous_bitext(600, seed=5)
    pairs = [SentencePair(*pair) for pair in toy.pairs]
    gold = {(n, *link) for n, links in enumerate(toy.links) for link in links}

    def show(name: str, aligner: Aligner) -> None:
        aligner = nmtalign.fit_to(aligner, pairs)
        [chunk] = align_stream(aligner, pairs)
        found = {(n, *link) for n in range(len(pairs)) for link in chunk.batch.links(n)}
        error = 100 * (1 - 2 * len(found & gold) / (len(found) + len(gold)))
        print(f"{name:44} {error:5.1f} %", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        tiny = train_encoder(Path(folder))
        lexicon = nmtalign.train(pairs)
        show("lexicon", lexicon)
        for layer, name in ((0, "static vectors (layer 0)"), (LAYERS, "contextual vectors")):
            for method in ("simalign-argmax", "simalign-itermax"):
                show(f"{name}, {method}", nmtalign.with_context(encoder=tiny, layer=layer, method=method))
        show("contextual vectors, ours", nmtalign.with_context(encoder=tiny, layer=LAYERS))
        show("mixture with static vectors", nmtalign.with_context(lexicon, encoder=tiny, layer=0))
        show("mixture with contextual vectors", nmtalign.with_context(lexicon, encoder=tiny, layer=LAYERS))


if __name__ == "__main__":
    main()
