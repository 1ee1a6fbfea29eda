"""An aligner over the token vectors of sentences, by an encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.extraction import make_extraction
from nmtalign.encoders.encoder import EncoderSimilarities
from nmtalign.encoders.scorer import LAYER, NAME, EncoderScorer
from nmtalign.encoders.transformer import Encoder, check_device
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.text.tokenization import TextSettings


def with_context(
    base: Aligner | None = None,
    *,
    encoder: str | Path,
    layer: int = LAYER,
    device: str = "cpu",
    cache: str | Path | None = None,
    **settings: Any,
) -> Aligner:
    """Return an aligner with the scorer of an encoder: similarities of tokens in their own sentence pair.

    It is to be fitted to a text (:func:`nmtalign.fit_to`). An encoder that was fitted beside a learned
    aligner is saved with it. Links by a published method: :func:`nmtalign.links_from`.

    Parameters
    ----------
    base : Aligner, optional
        Whose scorer is mixed with it, and whose positions are kept; left out, the encoder is alone.
    encoder : str or Path
        Name or folder of an encoder of the package transformers.
    layer, device
        As of :class:`nmtalign.encoders.transformer.Encoder`.
    cache : str or Path, optional
        File that keeps similarities, so that a second run need not encode.
    **settings
        Without `base`: those of the text and of the extraction, as of :func:`nmtalign.load`.
    """
    check_device(device)
    source = EncoderSimilarities(Encoder(str(encoder), layer, device), "cosine", cache)
    if base is None:
        of_links = [settings.pop(name, None) for name in ("extract", "threshold", "symmetrize")]
        text = TextSettings(**settings)
        aligner = Aligner(EncoderScorer(source), unfitted_hmm(), make_extraction(*of_links))
    else:
        positions = base.positions if base.positions.has_null else unfitted_hmm()
        names = [name for name in base.scorer.names if name != NAME]
        base = base.with_scorers(names)  # another encoder takes the place of the one that was stored
        text = base.text
        aligner = replace(base, scorer=EncoderScorer(source, base.scorer, text), positions=positions)
    return replace(aligner, text=replace(text, lowercase=False, unicode="none"))
