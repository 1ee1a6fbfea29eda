"""The scorer of an encoder: likelihood ratios from the similarities of the tokens of one sentence pair.

    log r(t, s) = slope (log p(s|t) + log S + log p(t|s) + log T) / 2 + bias

where p(s|t) and p(t|s) are softmaxes of the similarities over each side at a fitted temperature. Another
scorer is mixed with it log-linearly:

    log r = ((1 - weight) log r_base + weight log r) / (weight² + (1 - weight)²)

The divisor is 1 for one scorer and 1/2 for two of one weight: each adds evidence of its own.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.encoders.calibration import Calibration, EncoderScores, Fitting
from nmtalign.encoders.encoder import EncoderSimilarities
from nmtalign.encoders.transformer import Encoder, check_device
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import NULL, HiddenMarkov, unfitted_hmm
from nmtalign.positions.model import PositionModel
from nmtalign.scorers.scorer import Pairs, Scorer
from nmtalign.state import State, Stored
from nmtalign.text.tokenization import TextSettings

NAME = "contextual"
LAYER = 8  # of the encoder; the best of mBERT and XLM-R (Jalili Sabet et al. 2020)
_RANGES = {"scale": {"low": 0}, "slope": {}, "bias": {}, "weight": {"low": 0, "high": 1}}


@dataclass(frozen=True)
class _Words:
    """The words that a scorer knows; an encoder alone knows all."""

    known: Container[str] | None
    text: TextSettings

    def __contains__(self, word: object) -> bool:
        return self.known is None or self.text.normalized([str(word)])[0] in self.known


@dataclass(frozen=True, eq=False, repr=False)
class EncoderScorer(Scorer):
    """Similarities of tokens in their sentence pair, by themselves or mixed with another scorer."""

    source: EncoderSimilarities
    base: Any = None  # the other scorer
    # how words are looked up in `base`
    looked_up: TextSettings = field(default_factory=TextSettings)
    calibration: Calibration | None = None  # None before it is fitted

    fit_pairs: ClassVar[int] = 2_000  # three numbers are fitted
    parallel: ClassVar[bool] = False  # the encoder takes all cores

    @property
    def settings(self) -> str:
        """What makes the scores."""
        parts = ["scorers=" + ",".join(self.names) if self.base is None else self.base.settings]
        parts.append(self.source.settings)
        if self.calibration is not None:
            scale, slope, bias, weight = self.calibration
            parts.append(f"scale={scale:.4g} slope={slope:.3g} bias={bias:.3g} weight={weight:.3g}")
        return " ".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scorers."""
        return (NAME,) if self.base is None else (*self.base.names, NAME)

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that are known, before normalization."""
        known = (None, None) if self.base is None else self.base.vocabularies
        return _Words(known[0], self.looked_up), _Words(known[1], self.looked_up)

    @property
    def lexicon(self) -> Any:
        """That of the other scorer."""
        return None if self.base is None else self.base.lexicon

    @property
    def unfitted(self) -> bool:
        """Whether it has no calibration yet."""
        return self.calibration is None

    def read(self, text: EncodedText) -> EncoderScores:
        """Ask for the similarities of a text."""
        pieces = sorted(k for bucket in text.buckets for k in bucket.pairs.tolist() if k >= 0)
        words = [(text.source.sentence(piece), text.target.sentence(piece)) for piece in pieces]
        found = dict(zip(pieces, self.source.of(words), strict=True))
        looked_up = replace(text, source=self._folded(text.source), target=self._folded(text.target))
        base = None if self.base is None else self.base.read(looked_up)
        return EncoderScores(looked_up, found, base, self.calibration)

    def _folded(self, side: EncodedSide) -> EncodedSide:
        """Return a side with its words as they are looked up."""
        return replace(side, words=["", *self.looked_up.normalized(side.words[1:])])

    def only(self, names: Iterable[str]) -> Scorer:
        """Return the encoder alone, or some of the other scorers, with it or without."""
        wanted = set(names)
        if wanted == {NAME}:
            calibration = self.calibration and self.calibration._replace(weight=1.0)
            return replace(self, base=None, calibration=calibration)
        if self.base is None:
            raise UsageError(f"this aligner has the scorer {NAME}, not {','.join(sorted(wanted)) or 'none'}")
        base = self.base.only(wanted - {NAME})
        return replace(self, base=base) if NAME in wanted else base

    def fitted(self, pairs: Pairs, positions: PositionModel, workers: int) -> tuple[Scorer, PositionModel]:
        """Fit the calibration to pairs of words, and the weight beside the other scorer."""
        text, scorer = encode_text(pairs), self
        if not text.buckets:
            return self, positions
        if self.base is not None:
            words = [tuple(self.looked_up.normalized(side) for side in pair) for pair in pairs]
            base, positions = self.base.fitted(words, positions, workers)
            scorer = replace(self, base=base)
        scores = scorer.read(text)
        scores.prepare(ratios=True)
        sides = scores.text.source, scores.text.target
        alone = Fitting(replace(scores, base=None), unfitted_hmm().transitions_of(*sides), NULL, workers)
        calibration, plain = alone.calibrate(), positions.plain
        if not isinstance(plain, HiddenMarkov) or plain.fitted is not None:
            plain = positions = HiddenMarkov(alone.transitions, ({}, {}), NULL, fitted=sum(map(all, pairs)))
        if scores.base is not None:
            calibration = calibration._replace(weight=alone.weight(calibration, scores.base, plain))
        return replace(scorer, calibration=calibration), positions

    def running(self, **settings: Any) -> EncoderScorer:
        """Return the scorer whose encoder runs on a `device`, or keeps what it found in a file, `cache`."""
        encoder = self.source.encoder
        if device := settings.get("device"):
            check_device(device)
            encoder = replace(encoder, device=device)
        source = EncoderSimilarities(encoder, self.source.product, settings.get("cache"))
        return replace(self, source=source)

    def state(self) -> State:
        """Return the name of the encoder, the calibration, and the other scorer."""
        assert self.calibration is not None  # as a fitted aligner has
        encoder = self.source.encoder
        name = str(Path(encoder.name).resolve()) if Path(encoder.name).is_dir() else encoder.name
        values = {"name": name, "layer": encoder.layer, "looked_up": self.looked_up.as_dict()}
        parts = {} if self.base is None else {"base": self.base.state()}
        return State("contextual", values | self.calibration._asdict(), parts=parts)

    @classmethod
    def from_state(cls, stored: Stored) -> EncoderScorer:
        """Return what :meth:`state` was made of; the encoder is opened when needed, never downloaded."""
        layer = stored.whole("layer", low=0, high=1000)
        encoder = Encoder(stored.text("name"), layer, download=False)  # the folder may be a stranger's
        calibration = Calibration(*(stored.number(name, **own) for name, own in _RANGES.items()))
        base = stored.open("base") if "base" in stored.parts() else None
        looked_up = TextSettings.from_dict(stored.value("looked_up", dict))
        return cls(EncoderSimilarities(encoder), base, looked_up, calibration)
