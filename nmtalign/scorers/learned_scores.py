"""Attention scores whose parameters were learned for the vectors of a folder, and lie there beside them.

Axes: N words, T target words, S source words, D dimension, A units of attention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import read_arrays
from nmtalign.attention.scores import dot
from nmtalign.checks import expect_array
from nmtalign.errors import DataError, UsageError
from nmtalign.files import file_in, foreign
from nmtalign.scorers.scoring import (
    LARGEST,
    VectorScore,
    _projected,
    exact_rows,
    load_bahdanau,
    null_probability,
)
from nmtalign.state import State, Stored

Floats = NDArray[np.floating]

FILES = {"bahdanau": "bahdanau.npz", "scaled-dot": "scaled-dot.npz"}  # in the folder of the vectors


@dataclass(frozen=True, eq=False)
class ProjectedDot:
    """Scaled dot-product attention with projections, ``(q W_q) . (k W_k) / sqrt(A)``.

    References
    ----------
    Vaswani et al. (2017), equation 1.
    """

    # (D, A): for target and source words; vectors are rows, so a projection is ``q @ W_q``
    W_q: Floats
    W_k: Floats
    scale: float = 1.0  # the scores are multiplied by it
    origin: str = ""  # the file of the projections
    null: float | None = None  # probability of the null word of the aligner that they were learned from
    costly: ClassVar[bool] = False

    @property
    def settings(self) -> str:
        return f"score=scaled-dot({self.origin}) scale={self.scale:.4g}"

    def state(self) -> State:
        """Return the projections and the scale."""
        weights = {"W_q": self.W_q, "W_k": self.W_k}
        return State("projected-dot", {"scale": self.scale, "origin": self.origin}, weights)

    @classmethod
    def from_state(cls, stored: Stored, dimension: int) -> ProjectedDot:
        """Return what :meth:`state` was made of, for vectors of a dimension."""
        W_q = stored.array("W_q", "f", (dimension, None))
        W_k = stored.array("W_k", "f", W_q.shape)
        return cls(W_q, W_k, stored.number("scale", low=0), stored.text("origin"))

    def queries(self, vectors: Floats) -> Floats:
        """Project the vectors of target words, (N, D) to (N, A), to rows whose products are exact."""
        return exact_rows(_projected(vectors, self.W_q))

    def keys(self, vectors: Floats) -> Floats:
        """Do the same for source words."""
        return exact_rows(_projected(vectors, self.W_k))

    def score(self, queries: Floats, keys: Floats) -> Floats:
        """Return the scores (..., T, S) of queries (..., T, A) and keys (..., S, A)."""
        return np.asarray(dot(queries, keys)) * (self.scale / math.sqrt(self.W_q.shape[1]))


def load_projections(path: str | Path, dimension: int) -> ProjectedDot:
    """Read the projections W_q and W_k, each (D, A), from an npz file.

    A DataError says what is missing, is no finite number, or does not fit vectors of `dimension`.
    """
    with foreign(path):
        arrays = {name: np.asarray(array, np.float64) for name, array in read_arrays(path).items()}
    if not {"W_q", "W_k"} <= set(arrays):
        raise DataError(f"expected the arrays W_q and W_k; found {sorted(arrays)}").at(path)
    W_q, W_k = arrays["W_q"], arrays["W_k"]
    units = W_q.shape[1] if W_q.ndim == 2 else None
    for name, array in (("W_q", W_q), ("W_k", W_k)):
        expect_array(array, "f", (dimension, units), -LARGEST, LARGEST, name=f"{path}, {name}")
    return ProjectedDot(W_q, W_k, origin=Path(path).name, null=null_probability(arrays, path))


def score_in(folder: Path, name: str, dimension: int) -> VectorScore | str:
    """Return the score with the parameters of a folder, or the name where it needs none there.

    Raises
    ------
    UsageError
        If the score needs parameters, and there are none.
    """
    if name not in FILES or not (folder / FILES[name]).exists():
        if name == "bahdanau":
            learn = f"nmtalign vectors attention SOURCE TARGET --vectors {folder} --score bahdanau"
            raise UsageError(f"{folder} holds no {FILES[name]}; learn it: {learn}; or give --bahdanau FILE")
        return name
    path = file_in(folder, FILES[name])
    return load_bahdanau(path, dimension) if name == "bahdanau" else load_projections(path, dimension)
