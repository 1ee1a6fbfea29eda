"""An aligner over the token vectors of sentences: of an encoder, or from a file."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.extraction import Extraction
from nmtalign.aligner.fitting import ContextualFit, unfitted_hmm, with_fit
from nmtalign.contextual.encoder import EncoderSimilarities
from nmtalign.contextual.files import GivenSimilarities, GivenVectors
from nmtalign.contextual.head import Calibration, ContextualHead, Similarities
from nmtalign.contextual.published import METHODS, Published
from nmtalign.contextual.transformer import Encoder, check_device
from nmtalign.errors import DataError, UsageError
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import TextSettings

LAYER = 8  # of the encoder; the best of mBERT and XLM-R (Jalili Sabet et al. 2020)


def with_context(
    base: Aligner | None = None,
    *,
    encoder: str | Path | None = None,
    layer: int = LAYER,
    device: str = "cpu",
    cache: str | Path | None = None,
    token_vectors: str | Path | None = None,
    similarities: str | Path | None = None,
    weight: float | None = None,
    method: str | None = None,
    **settings: Any,
) -> Aligner:
    """Return an aligner with the contextual head: similarities of tokens in their own sentence pair.

    It is to be fitted to a text (:func:`nmtalign.fit_to`), unless a published method is named. An encoder
    that was fitted beside a learned aligner is saved with it.

    Parameters
    ----------
    base : Aligner, optional
        Whose head is mixed with it, and whose positions are kept; left out, the encoder is alone.
    encoder : str or Path, optional
        Name or folder of an encoder of the package transformers.
    layer, device
        As of :class:`nmtalign.contextual.transformer.Encoder`.
    cache : str or Path, optional
        File that keeps similarities, so that a second run need not encode.
    token_vectors, similarities : str or Path, optional
        Instead of an encoder: files of :class:`~nmtalign.contextual.files.GivenVectors` and
        :class:`~nmtalign.contextual.files.GivenSimilarities`.
    weight : float, optional
        Of the contextual head in the log-linear interpolation, from 0 to 1; left out, learned from the text
        (:meth:`nmtalign.contextual.calibration.Fitting.weight`).
    method : str, optional
        A published one instead: a key of :data:`nmtalign.contextual.published.METHODS`; without `base`.
    **settings
        Without `base`: those of the text and of the extraction, as of :func:`nmtalign.load`.

    Raises
    ------
    UsageError
        If there are several sources of similarities or none, or settings contradict each other.
    DataError
        If a file is no such.

    References
    ----------
    Jalili Sabet et al. (2020); Dou and Neubig (2021).
    """
    given = [value for value in (encoder, token_vectors, similarities) if value is not None]
    if len(given) != 1:
        raise UsageError("expected one of an encoder, token vectors and similarities")
    if method is not None and method not in METHODS:
        raise UsageError(f"expected one of the methods {', '.join(METHODS)}, found {method!r}")
    product = "cosine" if method is None else METHODS[method].product
    source: Similarities
    if encoder is not None:
        check_device(device)
        source = EncoderSimilarities(Encoder(str(encoder), layer, device), product, cache)
    else:
        source = GivenVectors(given[0], product) if token_vectors is not None else GivenSimilarities(given[0])
    if method is not None:
        return _published(source, method, base, weight, **settings)
    return _mixed(source, base, weight, **settings)


def _published(
    source: Similarities, method: str, base: Aligner | None, weight: float | None, **settings: Any
) -> Aligner:
    if base is not None or weight is not None:
        raise UsageError(f"the method {method} is of similarities alone; leave model, vectors and weight out")
    aligner = _mixed(source, None, None, **settings)
    if aligner.extraction != Extraction():
        raise UsageError(f"the method {method} says how links are chosen; leave the extraction out")
    extraction = Extraction(METHODS[method].extract, METHODS[method].threshold)
    return replace(aligner, positions=Published(method), extraction=extraction)


def _mixed(source: Similarities, base: Aligner | None, weight: float | None, **settings: Any) -> Aligner:
    if base is None:
        if weight not in (None, 1.0):
            raise UsageError("a weight is that beside a model or vectors; name one to mix with")
        of_links = {name: settings.pop(name, None) for name in ("extract", "threshold", "symmetrize")}
        text = TextSettings(**settings)
        extraction = Extraction(of_links["extract"], of_links["threshold"], of_links["symmetrize"])
        aligner = Aligner(ContextualHead(source, weight=1.0), unfitted_hmm(), extraction)
    else:
        base = base.base  # another encoder takes the place of the one that was stored
        text = base.text
        positions = base.positions if isinstance(base.positions, HiddenMarkov) else unfitted_hmm()
        head = ContextualHead(source, base.heads, text, weight=weight)
        aligner = replace(base, heads=head, positions=positions)
    return replace(aligner, text=replace(text, lowercase=False, unicode="none"))


def with_stored_encoder(aligner: Aligner, **running: Any) -> Aligner:
    """Return a learned aligner with the encoder that its folder names, fitted as it was; `running` as above.

    UsageError if `running` (device, cache) is given, and there is no encoder.
    """
    stored = aligner.training.get("encoder")
    if stored is None:
        if running:
            raise UsageError(f"{', '.join(running)}: only for a model that was learned with an encoder")
        return aligner
    mixed = with_context(aligner, encoder=stored["name"], layer=int(stored["layer"]), **running)
    source = mixed.encoder
    assert source is not None
    source.encoder.download = False  # the folder may be a stranger's
    calibration = Calibration(*(stored[name] for name in Calibration._fields))
    return with_fit(mixed, ContextualFit(0, calibration, None, None))


def counted(aligner: Aligner, pairs: Iterable[SentencePair]) -> Generator[SentencePair]:
    """Yield pairs; a DataError at their end if a file of similarities or vectors has more."""
    source = getattr(aligner.heads, "source", None)
    count = 0
    for pair in pairs:
        count += 1
        yield pair
    if isinstance(source, GivenSimilarities | GivenVectors) and len(source) > count:
        found = f"expected arrays for {count} pairs, as the text has, found {len(source)}"
        raise DataError(found).at(source.path)
