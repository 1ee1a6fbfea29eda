"""Attention scores between the word vectors of two languages.

A score projects the vectors of distinct words once (`queries` of target words, `keys` of source words), and
compares the projections in stacks of sentence pairs.

Axes: N distinct words, B sentence pairs, T target words, S source words, D dimension, A units of
attention. A vector may be given in parts whose dot products are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.arrays import Reals, Shape, as_real_array, check_stored_array
from nmtalign.attention.scores import additive_projected, dot, l2_normalize
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import read_arrays
from nmtalign.files.paths import as_path, file_inside, reraise_as_data_error
from nmtalign.names import ScoreName
from nmtalign.state import State, Stored

ParametersInput = str | Path | Mapping[str, ArrayLike]  # an npz file, or arrays by their names
NAME_IN_MEMORY = "parameters"  # takes the place of the file name in messages and in the origin of the score

PARTS_OF_DOUBLES = 3  # so many parts keep all bits of double precision; single precision has one part
BITS_PER_ENTRY = 26  # the product of two entries then has 52 bits, and a double has 53
MAX_LEARNED_WEIGHT = 1e9  # sums of products of larger weights may be infinite
MIN_STORED_NULL = 1e-9  # bounds of the probability of null in a file of weights
MAX_STORED_NULL = 0.999
# what `learn_attention` stores with the weights
NAMES_BESIDE_WEIGHTS = {"null", "null_probability", "about"}
PARAMETER_FILES = {"bahdanau": "bahdanau.npz", "scaled-dot": "scaled-dot.npz"}  # files in a folder of vectors
PICTURE_TITLES = {"dot": "dot product", "scaled-dot": "plain scaled dot-product", "cosine": "cosine"}
MIN_COSINE_SCALE, MAX_COSINE_SCALE = 8.0, 20.0  # bounds of the scale sqrt(D) of Vaswani et al. (2017)


@dataclass(frozen=True)
class DotScore:
    """Dot products of word vectors, times a scale: ``dot``, ``scaled-dot`` and ``cosine``."""

    name: str
    scale: float  # ``scaled-dot`` has 1/sqrt(D), so its softmax is Vaswani et al. (2017), equation 1
    unit_length: bool = False  # whether to scale vectors to norm 1; a zero vector stays zero
    is_costly: ClassVar[bool] = False  # whether a score takes much longer than a dot product
    null: ClassVar[None] = None

    @property
    def grows_with_length(self) -> bool:
        """Whether scores grow with the norms of the vectors."""
        return not self.unit_length

    @property
    def description(self) -> str:
        return f"score={self.name} scale={self.scale:.4g}"

    @property
    def caption(self) -> str:
        """The name of the score for pictures."""
        return f"{PICTURE_TITLES[self.name]}, scale {self.scale:.3g}"

    def state(self) -> State:
        return State("dot", {"name": self.name, "scale": self.scale, "unit_length": self.unit_length})

    @classmethod
    def from_state(cls, stored: Stored, dimension: int) -> DotScore:
        return cls(stored.text("name"), stored.number("scale", minimum=0), stored.value("unit_length", bool))

    def keys(self, vectors: Reals) -> Reals:
        """Return the vectors of source words (N, D) as exact parts (N, parts, D), of norm 1 for cosines."""
        doubles = np.asarray(vectors, dtype=np.float64)
        if self.unit_length:
            doubles = np.asarray(l2_normalize(doubles))
        return exact_parts(doubles, parts_for(vectors))

    queries = keys  # target words are treated as source words are

    def __call__(self, queries: Reals, keys: Reals) -> Reals:
        """Return the scores (..., T, S) of queries (..., T, parts, D) and keys (..., S, parts, D)."""
        return products_of_parts(queries, keys) * self.scale


def parts_for(vectors: Reals) -> int:
    """Return the number of parts in which vectors are compared: double precision needs more than one."""
    return PARTS_OF_DOUBLES if np.asarray(vectors).dtype.itemsize > np.float32().itemsize else 1


def exact_parts(vectors: Reals, count: int) -> Reals:
    """Split vectors (N, D) into parts of falling size, each rounded by :func:`exact_rows`, (N, parts, D).

    What remains after a part is computed without error. Three parts keep 53 bits of the length of a vector.
    """
    parts = []
    remainder = vectors
    for _ in range(count):
        part = exact_rows(remainder)
        parts.append(part)
        remainder = remainder - part
    return np.stack(parts, axis=1)  # (N, parts, D)


def products_of_parts(queries: Reals, keys: Reals) -> Reals:
    """Return the dot products (..., T, S) of vectors in parts, (..., T, parts, D) and (..., S, parts, D).

    Each product of two parts is exact. They are added in a fixed order, the smallest first. Products below
    the precision of the sum are omitted.
    """
    parts = queries.shape[-2]
    products = []
    # the products of parts i and j have about the size of those of parts 0 and i + j; later parts are smaller
    for sum_of_numbers in range(parts - 1, -1, -1):
        for query_number in range(sum_of_numbers + 1):
            key_number = sum_of_numbers - query_number
            query_part = queries[..., query_number, :]  # (..., T, D)
            key_part = keys[..., key_number, :]  # (..., S, D)
            products.append(dot(query_part, key_part))  # (..., T, S)
    total = products[0]
    for product in products[1:]:
        total = total + product
    return np.asarray(total)


def exact_rows(vectors: Reals) -> Reals:
    """Round vectors (N, D) to a grid on which dot products are exact, whatever the order of the sum.

    The grid of a row has the step 2^-26 p, where p is the power of two above the length of the row. Sums of
    products of two rows are multiples of 2^-52 p p', and at most p p' by Cauchy-Schwarz.
    """
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))  # (N,)
    _, length_exponents = np.frexp(lengths)  # p = 2^length_exponent
    shifts = BITS_PER_ENTRY - length_exponents[:, None]  # (N, 1): the step of the grid is 2^-shift
    integers = np.rint(np.ldexp(vectors, shifts))
    return np.asarray(np.ldexp(integers, -shifts))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LearnedScore:
    """A score with learned weights."""

    scale: float = 1.0  # factor of the scores
    origin: str = ""  # file of the weights, or "untrained"
    null: float | None = None  # probability of null of the aligner whose posteriors were learned
    name: ClassVar[str]
    title: ClassVar[str]  # name for pictures
    kind: ClassVar[str]  # kind of the state
    axes: ClassVar[dict[str, int]]  # axes of each array: 2 is (D, A), 1 is (A,); the first determines A
    wanted: ClassVar[str]  # names of the arrays that a file must contain
    is_costly: ClassVar[bool] = False
    grows_with_length: ClassVar[bool] = False

    @property
    def weights(self) -> dict[str, Reals]:
        """The learned arrays by name, in the order of the fields: first one of shape (D, A)."""
        names = [field.name for field in fields(self) if field.name in self.axes]
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        units = next(iter(self.weights.values())).shape[1]
        return f"{type(self).__name__} of {units} units, {self.description}"

    @property
    def description(self) -> str:
        return f"score={self.name}({self.origin}) scale={self.scale:.4g}"

    @property
    def caption(self) -> str:
        """The name of the score for pictures; scores that nmtalign learned have a null probability."""
        learned = "" if self.null is None else "learned "
        scale = "" if self.scale == 1 else f", scale {self.scale:.3g}"
        return f"{self.title}, {learned}parameters of {self.origin}{scale}"

    def state(self) -> State:
        return State(self.kind, {"scale": self.scale, "origin": self.origin}, self.weights)

    @classmethod
    def from_state(cls, stored: Stored, dimension: int) -> Self:
        weights = cls._checked(lambda name, shape: stored.array(name, "f", shape), dimension)
        return cls(**weights, scale=stored.number("scale", minimum=0), origin=stored.text("origin"))

    @classmethod
    def load(cls, parameters: ParametersInput, dimension: int) -> Self:
        """Return the score with the weights of an npz file or a dictionary.

        DataError says what is missing or does not fit.
        """
        path = Path(NAME_IN_MEMORY) if isinstance(parameters, Mapping) else as_path(parameters)
        with reraise_as_data_error(path):
            if isinstance(parameters, Mapping):
                stored_arrays = {name: as_real_array(array, name) for name, array in parameters.items()}
            else:
                stored_arrays = read_arrays(path)
            arrays = cls._completed(stored_arrays, dimension)
        unknown = sorted(stored_arrays.keys() - cls._names_beside(stored_arrays) - NAMES_BESIDE_WEIGHTS)
        if unknown:
            found = f"found {', '.join(map(short_repr, unknown[:3]))}"
            advice = "remove it" if len(unknown) == 1 else "remove them"
            raise DataError(f"expected the arrays {cls.wanted}; {found}; rename or {advice}").at(path)
        if not cls.axes.keys() <= arrays.keys():
            raise DataError(f"expected the arrays {cls.wanted}; found {sorted(stored_arrays)}").at(path)

        def read(name: str, shape: Shape, low: float, high: float) -> Reals:
            """Return an array in double precision, if it has the shape, and entries from `low` to `high`."""
            doubles = arrays[name].astype(np.float64)
            return check_stored_array(doubles, "f", shape, low, high, name=f"{path}, {name}")

        def read_weights(name: str, shape: Shape) -> Reals:
            return read(name, shape, -MAX_LEARNED_WEIGHT, MAX_LEARNED_WEIGHT)

        null = None
        if "null_probability" in arrays:
            null = float(read("null_probability", (), MIN_STORED_NULL, MAX_STORED_NULL))
        return cls(**cls._checked(read_weights, dimension), origin=path.name, null=null)

    @classmethod
    def _names_beside(cls, arrays: Mapping[str, Reals]) -> set[str]:
        """Return the names that belong to the form that arrays have."""
        return set(cls.axes)

    @staticmethod
    def _completed(arrays: dict[str, Reals], dimension: int) -> dict[str, Reals]:
        """Return the arrays of a file, completed by those that may be omitted or have another form."""
        return arrays

    @classmethod
    def _checked(cls, read: Callable[[str, Shape], Reals], dimension: int) -> dict[str, Any]:
        """Return the arrays that `read` returns for a name and a shape."""
        weights: dict[str, Reals] = {}
        size = None  # A; any for the first array
        for name, axes in cls.axes.items():
            shape = (dimension, size) if axes == 2 else (size,)
            weights[name] = read(name, shape)
            size = weights[name].shape[-1]
        return weights


@dataclass(frozen=True, eq=False, repr=False)
class BahdanauScore(LearnedScore):
    """Bahdanau's alignment model ``v . tanh(q W + k U + b)`` over word vectors (Bahdanau et al. 2014, A.1.2).

    The vectors q and k (D,) are rows, W and U are (D, A), v and b (A,).
    A file may omit `b`, or contain two layers over concatenated vectors ``[key; query]``, as in
    :func:`nmtalign.attention.additive_concatenated`: layer_1 (2 D, A), layer_2 (A, 1), and optionally b.
    """

    # (D, A): for target and source words; vectors are rows, so a projection is ``q @ W``
    W: Reals
    U: Reals
    # (A,)
    v: Reals
    b: Reals
    name: ClassVar[str] = "bahdanau"
    title: ClassVar[str] = "Bahdanau"
    kind: ClassVar[str] = "bahdanau"
    axes: ClassVar[dict[str, int]] = {"v": 1, "W": 2, "U": 2, "b": 1}
    wanted: ClassVar[str] = "W, U and v, or layer_1 and layer_2, and in both forms optionally b"
    is_costly: ClassVar[bool] = True

    @classmethod
    def _names_beside(cls, arrays: Mapping[str, Reals]) -> set[str]:
        has_layers = "layer_1" in arrays or "layer_2" in arrays
        return {"layer_1", "layer_2", "b"} if has_layers else set(cls.axes)

    @staticmethod
    def _completed(arrays: dict[str, Reals], dimension: int) -> dict[str, Reals]:
        completed = dict(arrays)
        if {"layer_1", "layer_2"} <= arrays.keys():
            first_layer = arrays["layer_1"]  # (2 D, A), for [key; query]
            completed = {
                "W": first_layer[dimension:],
                "U": first_layer[:dimension],
                "v": arrays["layer_2"].reshape(-1),
            }
            if "b" in arrays:
                completed["b"] = arrays["b"]
        if "v" in completed and "b" not in completed:
            completed["b"] = np.zeros_like(completed["v"])
        return completed

    def queries(self, vectors: Reals) -> Reals:
        """Project the vectors of target words, (N, D) to (N, A)."""
        return _project_rows(vectors, self.W) + self.b

    def keys(self, vectors: Reals) -> Reals:
        """Project the vectors of source words, (N, D) to (N, A)."""
        return _project_rows(vectors, self.U)

    def __call__(self, queries: Reals, keys: Reals) -> Reals:
        """Return the scores (..., T, S) of queries (..., T, A) and keys (..., S, A)."""
        return np.asarray(additive_projected(queries, keys, self.v * self.scale))


@dataclass(frozen=True, eq=False, repr=False)
class ProjectedDot(LearnedScore):
    """Projected scaled dot product, ``(q W_q) . (k W_k) / sqrt(A)`` (Vaswani et al. 2017, equation 1).

    The vectors q and k (D,) are rows, and both matrices are (D, A).
    """

    # (D, A): for target and for source words; vectors are rows, so a projection is ``q @ W_q``
    W_q: Reals
    W_k: Reals
    name: ClassVar[str] = "scaled-dot"
    title: ClassVar[str] = "scaled dot-product"
    kind: ClassVar[str] = "projected-dot"
    axes: ClassVar[dict[str, int]] = {"W_q": 2, "W_k": 2}
    wanted: ClassVar[str] = "W_q and W_k"

    def queries(self, vectors: Reals) -> Reals:
        """Project the vectors of target words, (N, D) to (N, A), and return exact parts (N, parts, A)."""
        return exact_parts(_project_rows(vectors, self.W_q), parts_for(vectors))

    def keys(self, vectors: Reals) -> Reals:
        """Project the vectors of source words, (N, D) to (N, A), and return exact parts (N, parts, A)."""
        return exact_parts(_project_rows(vectors, self.W_k), parts_for(vectors))

    def __call__(self, queries: Reals, keys: Reals) -> Reals:
        """Return the scores (..., T, S) of queries (..., T, parts, A) and keys (..., S, parts, A)."""
        return products_of_parts(queries, keys) * (self.scale / math.sqrt(self.W_q.shape[1]))


def _project_rows(vectors: Reals, weights: Reals) -> Reals:
    """Return vectors @ weights (D, A); the bits of a row do not depend on the other rows."""
    # a product of one matrix (1, D) for each row, whose bits are those of the row alone
    rows = np.asarray(vectors, dtype=np.float64)[:, None, :]  # (N, 1, D)
    projected = rows @ weights  # (N, 1, A)
    return np.asarray(projected[:, 0, :])


def cosine_scale(dimension: int) -> float:
    """Return the default inverse temperature of cosines in D dimensions."""
    return min(max(math.sqrt(dimension), MIN_COSINE_SCALE), MAX_COSINE_SCALE)


VectorScore = DotScore | BahdanauScore | ProjectedDot


def make_score(
    name: ScoreName | VectorScore,
    dimension: int,
    *,
    temperature: float | None = None,
    parameters: ParametersInput | None = None,
) -> VectorScore:
    """Return the score with a name, or a score that was made, for word vectors of dimension D.

    `temperature` divides the scores. Its default is 1; for ``cosine`` it is 1/sqrt(D), from 1/20 to 1/8.
    `parameters` is an npz file, or a dictionary of arrays, for ``bahdanau`` and ``scaled-dot``. Raises
    UsageError if ``bahdanau`` lacks parameters, or the score takes none.
    """
    if not isinstance(name, str) and not hasattr(name, "queries"):
        expected = "expected the name of a score, or a score such as learned.score"
        raise UsageError(f"{expected}, found {short_repr(name)}")
    if parameters is not None:
        name = load_parameters(name, parameters, dimension)
    if not isinstance(name, str):
        return name if temperature is None else replace(name, scale=1 / temperature)
    if name == "bahdanau":
        raise UsageError(f"the score bahdanau needs parameters; {how_to_learn('DIR')}")
    scale = cosine_scale(dimension) if name == "cosine" else 1.0
    if temperature is not None:
        scale = 1 / temperature
    if name == "scaled-dot":
        scale /= math.sqrt(dimension)
    return DotScore(name, scale, unit_length=name == "cosine")


def load_parameters(name: str | VectorScore, parameters: ParametersInput, dimension: int) -> VectorScore:
    """Return the score of a name with the parameters of an npz file, or of a dictionary of arrays.

    UsageError is raised if the score takes none.
    """
    if name not in PARAMETER_FILES:
        found = name if isinstance(name, str) else "a score object"
        wanted = f"parameters belong to the scores {' and '.join(PARAMETER_FILES)}; choose one by `score`"
        raise UsageError(f"{wanted}, not {found}")
    if name == "bahdanau":
        return BahdanauScore.load(parameters, dimension)
    return ProjectedDot.load(parameters, dimension)


def how_to_learn(folder: str | Path) -> str:
    """Return how to get the parameters of Bahdanau's score over the vectors of a folder."""
    command = f"nmtalign vectors attention SOURCE TARGET --vectors {folder} --score bahdanau"
    own = "copy your own to bahdanau.npz in that folder"
    return f"learn them from a bitext (`{command}`), or {own}; in Python, pass `parameters=FILE`"


def score_in(folder: Path, name: ScoreName, dimension: int) -> VectorScore | ScoreName:
    """Return the score with the parameters of a folder, or its name if the folder has no parameters.

    Raises UsageError if the score needs parameters.
    """
    file_name = PARAMETER_FILES.get(name)
    if file_name is not None and (folder / file_name).exists():
        return load_parameters(name, file_inside(folder, file_name), dimension)
    if name == "bahdanau":
        advice = how_to_learn(folder)
        raise UsageError(f"{folder} contains no {file_name}; {advice}")
    return name
