"""A new scorer is one file and one line: this file, and the entry of KINDS."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.model_folder import KINDS
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.report.corpus import Record, show
from nmtalign.report.html import html_report
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import LogRatios
from nmtalign.state import State, Stored
from nmtalign.text.bitext import SentencePair

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides are swapped)")  # made-up words


@dataclass(frozen=True)
class Mirror:
    """Words that are each other's mirror image are translations; nothing is known of other words."""

    log_ratio: float
    weight: float
    name: str = "mirror"

    def log_ratios(self, text: EncodedText) -> LogRatios:
        mirrored = np.array([word[::-1] for word in text.source.words])[text.index.source]
        place = np.flatnonzero(mirrored == np.array(text.target.words)[text.index.target])
        return LogRatios(place, np.full(len(place), self.log_ratio, np.float32))

    def state(self) -> State:
        return State("mirror", {"weight": self.weight, "log_ratio": self.log_ratio})

    @classmethod
    def from_state(cls, stored: Stored, lexicon: Lexicon) -> Mirror:
        return cls(stored.number("log_ratio"), stored.number("weight", low=0, high=1))


SOURCE, TARGET = ["qwe", "asd", "yxc"], ["dsa", "ewq", "cxy"]
MIRRORED = [(0, 1), (1, 0), (2, 2)]


def test_a_new_scorer_is_mixed_saved_opened_drawn_and_explained(learned, tmp_path, monkeypatch):
    assert learned.align(SOURCE, TARGET).links != MIRRORED
    mixed = replace(learned, scorer=learned.scorer.with_scorer(Mirror(16.0, weight=0.5)))
    assert mixed.scorer.names == ("lexicon", "spectral", "mirror")
    assert mixed.align(SOURCE, TARGET).links == MIRRORED
    assert mixed.align_batch([(SOURCE, TARGET)]).links(0) == MIRRORED
    assert "scorers=lexicon,spectral,mirror" in mixed.settings
    for name in ("mirror", "lexicon"):
        with pytest.raises(UsageError, match=f"has a scorer {name}; give the new one another name"):
            mixed.scorer.with_scorer(Mirror(1.0, weight=0.5, name=name))
    monkeypatch.setitem(KINDS, "mirror", (__name__, "Mirror"))  # the one line
    mixed.save(tmp_path / "model")
    opened = load_aligner(tmp_path / "model")
    assert opened.scorer.others[-1] == Mirror(16.0, weight=0.5)
    assert opened.align(SOURCE, TARGET).links == MIRRORED
    [shown] = show([Record(1, SentencePair(" ".join(SOURCE), " ".join(TARGET)), None, {})], opened)
    assert list(shown.parts) == ["lexicon", "spectral", "mirror"]  # drawn by itself, too
    assert set(zip(*np.nonzero(shown.parts["mirror"] > 0.9), strict=True)) == {(t, s) for s, t in MIRRORED}
    page = html_report([shown])
    assert "mirror" in page
    assert "scorers=lexicon,spectral,mirror" in page
    alone = opened.with_scorers(["mirror"])
    assert alone.scorer.names == ("mirror",)
    assert alone.align(SOURCE, TARGET).links == MIRRORED
    with pytest.raises(UsageError, match="has the scorers lexicon,spectral, not mirror"):
        learned.with_scorers(["mirror"])
