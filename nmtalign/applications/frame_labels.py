"""The index of a DataFrame as labels that an index of a bitext keeps, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nmtalign.corpus.bitext_index import VALUE_LABELS, BitextIndex, Label, LabelLevel
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.text_files import is_encodable

if TYPE_CHECKING:
    import pandas as pd

_TIMES = re.compile(r"datetime64\[(s|ms|us|ns)(?:, ([A-Za-z0-9_+:/-]+))?\]")  # unit and time zone


def label_levels(frame_index: pd.Index | None) -> list[LabelLevel]:
    """Return the levels of the index of a DataFrame; none if its labels are the numbers of the pairs.

    Raises UsageError for labels that are not numbers, text or times.
    """
    import pandas as pd

    if frame_index is None or frame_index.equals(pd.RangeIndex(len(frame_index))):
        return []
    levels: list[LabelLevel] = []
    for number, name in enumerate(frame_index.names):
        values = frame_index.get_level_values(number)
        shown_name = name if name is None else str(name)
        if isinstance(values, pd.DatetimeIndex):
            levels.append(LabelLevel(shown_name, str(values.dtype), values.asi8.tolist()))
        else:
            labels = [_as_label(value) for value in values.tolist()]
            levels.append(LabelLevel(shown_name, VALUE_LABELS, labels))
    return levels


def _as_label(value: Any) -> Label:
    """Return a label of an index as it is kept; None stands for a missing one."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, str) and is_encodable(value):
        return value
    advice = "number the rows: frame.reset_index(drop=True)"
    raise UsageError(f"expected an index of numbers, text or times, found {short_repr(value)}; {advice}")


def frame_index_of_pairs(index: BitextIndex, pairs: Sequence[int]) -> pd.Index:
    """Return the labels of pairs of an index; their numbers, from 0, if it keeps no labels."""
    import pandas as pd

    kinds = index.label_kinds()
    if not kinds:
        return pd.Index(np.array(pairs, np.int64))
    levels = [_as_pandas_index(kind, index.labels(number, pairs)) for number, (_, kind) in enumerate(kinds)]
    names = [name for name, _ in kinds]
    if len(levels) == 1:
        return levels[0].rename(names[0])
    return pd.MultiIndex.from_arrays(levels, names=names)


def _as_pandas_index(kind: str, labels: Sequence[Label]) -> pd.Index:
    """Return labels of one level as an index of pandas."""
    import pandas as pd

    if kind == VALUE_LABELS:
        return pd.Index(labels)
    times = _TIMES.fullmatch(kind)
    if times is None:
        raise DataError(f"expected labels of a known kind, found {kind!r:.60}")
    unit, zone = times.groups()
    index = pd.DatetimeIndex(np.array(labels, np.int64).view(f"datetime64[{unit}]"))
    return index if zone is None else index.tz_localize("UTC").tz_convert(zone)
