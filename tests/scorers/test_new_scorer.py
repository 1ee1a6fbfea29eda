"""A new scorer is one file and one line: this file, and the entry of PART_CLASSES."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from nmtalign.aligner.aligner import PART_CLASSES, Aligner, load_aligner
from nmtalign.aligner.opening import fit_to
from nmtalign.corpus.buckets import PADDING_SCORE
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.position_model import SoftmaxPositions, TextScores
from nmtalign.report.chosen_pairs import CorpusRecord, align_for_report
from nmtalign.report.html import report_page
from nmtalign.report.page_content import SamplePair
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import LogRatios, Scorer
from nmtalign.state import State, Stored
from nmtalign.text.bitext import SentencePair
from tests.report.sample_pairs import data_of

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem)")  # made-up words


@dataclass(frozen=True)
class Mirror:
    """Words that are each other's mirror image are translations; nothing is known of other words."""

    log_ratio: float
    weight: float
    name: str = "mirror"

    def log_ratios(self, text: EncodedText) -> LogRatios:
        mirrored = np.array([word[::-1] for word in text.source.words])[text.word_pairs.source]
        indices = np.flatnonzero(mirrored == np.array(text.target.words)[text.word_pairs.target])
        return LogRatios(indices, np.full(len(indices), self.log_ratio, np.float32))

    def state(self) -> State:
        return State("mirror", {"weight": self.weight, "log_ratio": self.log_ratio})

    @classmethod
    def from_state(cls, stored: Stored, lexicon: Lexicon) -> Mirror:
        return cls(stored.number("log_ratio"), stored.number("weight", minimum=0, maximum=1))


class MirrorScorer(Scorer):
    """The same as a scorer of its own."""

    names = ("mirror",)

    def score_text(self, text: EncodedText) -> MirrorScores:
        return MirrorScores(text)

    def state(self) -> State:
        return State("mirror")

    @classmethod
    def from_state(cls, stored: Stored) -> MirrorScorer:
        return cls()


class MirrorScores(TextScores):
    def __init__(self, text: EncodedText) -> None:
        self.text = text

    def scores(self, k: int) -> np.ndarray:
        bucket, source = self.text.buckets[k], np.array([word[::-1] for word in self.text.source.words])
        equal = source[bucket.source] == np.array(self.text.target.words)[bucket.target][:, None]
        return np.where(bucket.inside, 16.0 * equal - 4, PADDING_SCORE)


SOURCE, TARGET = ["qwe", "asd", "yxc"], ["dsa", "ewq", "cxy"]
MIRRORED = [(0, 1), (1, 0), (2, 2)]


def test_a_new_scorer_is_mixed_saved_opened_drawn_and_explained(learned, tmp_path, monkeypatch):
    assert learned.align(SOURCE, TARGET).links != MIRRORED
    mixed = replace(learned, scorer=learned.scorer.with_scorer(Mirror(16.0, weight=0.5)))
    assert mixed.scorer.names == ("lexicon", "spectral", "mirror")
    assert mixed.align(SOURCE, TARGET).links == MIRRORED
    assert mixed.align_batch([(SOURCE, TARGET)]).links(0) == MIRRORED
    assert "scorers=lexicon,spectral,mirror" in mixed.description
    for name in ("mirror", "lexicon"):
        with pytest.raises(UsageError, match=f"has a scorer {name}; give the new one another name"):
            mixed.scorer.with_scorer(Mirror(1.0, weight=0.5, name=name))
    monkeypatch.setitem(PART_CLASSES, "mirror", (__name__, "Mirror"))  # the one line
    mixed.save(tmp_path / "model")
    opened = load_aligner(tmp_path / "model")
    assert opened.scorer.others[-1] == Mirror(16.0, weight=0.5)
    assert opened.align(SOURCE, TARGET).links == MIRRORED
    record = CorpusRecord(1, SentencePair(" ".join(SOURCE), " ".join(TARGET)), None, {})
    [shown] = align_for_report([record], opened)
    assert list(shown.parts) == ["lexicon", "spectral", "mirror"]  # drawn by itself, too
    assert set(zip(*np.nonzero(shown.parts["mirror"] > 0.9), strict=True)) == {(t, s) for s, t in MIRRORED}
    assert "scorers=lexicon,spectral,mirror" in str(data_of(report_page([shown])))
    alone = opened.with_scorers(["mirror"])
    assert alone.scorer.names == ("mirror",)
    assert alone.align(SOURCE, TARGET).links == MIRRORED
    with pytest.raises(UsageError, match="has the scorers lexicon,spectral, not mirror"):
        learned.with_scorers(["mirror"])


@pytest.mark.parametrize("positions", [SoftmaxPositions(), unfitted_hmm()])
def test_a_scorer_alone_is_two_short_classes(positions, tmp_path, monkeypatch):
    """It is fitted, saved, opened, drawn and explained as every other."""
    aligner = fit_to(Aligner(MirrorScorer(), positions), [(SOURCE, TARGET)] * 3)
    monkeypatch.setitem(PART_CLASSES, "mirror", (__name__, "MirrorScorer"))
    aligner.save(tmp_path / "model")
    opened = load_aligner(tmp_path / "model")
    batch = opened.align_batch([(SOURCE, TARGET), (SOURCE[:1], [])])
    assert opened.align(SOURCE, TARGET).links == batch.links(0) == MIRRORED
    assert batch.links(1) == []
    assert "scorers=mirror" in str(data_of(report_page([SamplePair(1, batch[0])])))
    assert repr(opened).startswith("Aligner, scorers mirror")
    with pytest.raises(UsageError, match="this aligner has the scorers mirror, not lexicon"):
        opened.with_scorers("lexicon")
