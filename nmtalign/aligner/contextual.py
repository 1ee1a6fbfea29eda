"""An aligner over the token vectors of sentences, by an encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.extraction import Extraction
from nmtalign.aligner.fitting import ContextualFit, unfitted_hmm, with_fit
from nmtalign.contextual.encoder import EncoderSimilarities
from nmtalign.contextual.head import Calibration, ContextualHead
from nmtalign.contextual.transformer import Encoder, check_device
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.text.tokenization import TextSettings

LAYER = 8  # of the encoder; the best of mBERT and XLM-R (Jalili Sabet et al. 2020)


def with_context(
    base: Aligner | None = None,
    *,
    encoder: str | Path,
    layer: int = LAYER,
    device: str = "cpu",
    cache: str | Path | None = None,
    **settings: Any,
) -> Aligner:
    """Return an aligner with the contextual head: similarities of tokens in their own sentence pair.

    It is to be fitted to a text (:func:`nmtalign.fit_to`). An encoder that was fitted beside a learned
    aligner is saved with it. Links by a published method: :func:`nmtalign.links_from`.

    Parameters
    ----------
    base : Aligner, optional
        Whose head is mixed with it, and whose positions are kept; left out, the encoder is alone.
    encoder : str or Path
        Name or folder of an encoder of the package transformers.
    layer, device
        As of :class:`nmtalign.contextual.transformer.Encoder`.
    cache : str or Path, optional
        File that keeps similarities, so that a second run need not encode.
    **settings
        Without `base`: those of the text and of the extraction, as of :func:`nmtalign.load`.
    """
    check_device(device)
    source = EncoderSimilarities(Encoder(str(encoder), layer, device), "cosine", cache)
    if base is None:
        of_links = {name: settings.pop(name, None) for name in ("extract", "threshold", "symmetrize")}
        text = TextSettings(**settings)
        extraction = Extraction(of_links["extract"], of_links["threshold"], of_links["symmetrize"])
        aligner = Aligner(ContextualHead(source), unfitted_hmm(), extraction)
    else:
        base = base.base  # another encoder takes the place of the one that was stored
        text = base.text
        positions = base.positions if isinstance(base.positions, HiddenMarkov) else unfitted_hmm()
        aligner = replace(base, heads=ContextualHead(source, base.heads, text), positions=positions)
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
