"""``nmtalign evaluate --curve``: precision against recall over the thresholds of kept posteriors."""

from __future__ import annotations

from collections.abc import Sequence

import nmtalign as na
from nmtalign.cli.messages import log
from nmtalign.errors import DataError, UsageError


def check_curve(path: str, links: str) -> None:
    """Raise UsageError if a curve cannot be written to `path`, or the file `links` has no posteriors."""
    from nmtalign.decoding.saved_batches import is_batch_file
    from nmtalign.report.curve_picture import check_curve_path

    check_curve_path(path)
    if not is_batch_file(links):
        advice = "write them with align --posteriors FILE, and pass this file as LINKS"
        raise UsageError(f"--curve needs posteriors, and {links} has links; {advice}")


def write_curve(path: str, posteriors: str, golds: Sequence[na.GoldAlignment]) -> None:
    """Write the curve of a file of posteriors, and log the best threshold."""
    try:
        curve = na.evaluate(na.open_batch(posteriors), golds, curve=True)
    except (UsageError, DataError) as error:
        raise DataError(str(error)).at(posteriors) from None
    curve.save(path)
    best, present = curve.best, curve.present
    log(
        f"the best F1 is {100 * best.f1:.2f} %, at --threshold {best.threshold:g};"
        f" the links of {posteriors} have {100 * present.f1:.2f} %; the curve is in {path}",
        event="curve",
        threshold=best.threshold,
        f1=best.f1,
        present_f1=present.f1,
    )
