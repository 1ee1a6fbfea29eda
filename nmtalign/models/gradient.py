"""Learn attention vectors by gradient: attention whose keys and queries come from a bitext alone.

The score of a word pair is the dot product ``k_e . q_f`` of two vectors, each the sum of a row for the word
and rows for its prefixes, so that rare and unseen words share what is known of their relatives. The model is

    p(f | e) = p(f) exp(k_e . q_f) / Z_e        Z_e = sum over f of p(f) exp(k_e . q_f)

and the same the other way round, with p(f) the share of f in the text; a word made by null is drawn from
p(f). Positions follow the jumps of :mod:`nmtalign.models.hmm`. Training is generalised
expectation-maximisation: the expected links of a small batch, agreed upon by both directions (Liang, Taskar
and Klein 2006), give the exact gradient of the expected log-likelihood of its words, and Adam (Kingma and Ba
2015) takes one step.

Axes: B sentence pairs, S source words, T target words, D dimension, V vocabulary, E and F distinct words of a
batch (number 0 is padding), P rows that make up a word, R rows of one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.models.attention_vectors import HIGHEST, AttentionVectors, WordRows, joined, lay_out
from nmtalign.models.checkpoint import Arrays, Checkpoint, training_key
from nmtalign.models.corpus import EncodedSide, encode_pairs
from nmtalign.models.vector_batches import Batch, Batches, distinct
from nmtalign.models.vector_links import Expected, Positions, diagonal_links
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

ROWS = 512  # that take a step at a time and stay in the cache
LEAST = 1e-5  # links less likely than this are left out of the gradient
BETAS = (np.float32(0.9), np.float32(0.98))  # of Adam
LAST_RATE = 0.05  # learning rate of the last step, as a share of the first
COUNT_STEPS, JUMP_STEPS = 10, 20  # steps between two counts and two estimates of jumps


@dataclass(frozen=True)
class VectorSettings:
    """Settings of :func:`learn_vectors`.

    Attributes
    ----------
    dimension : int
        D.
    prefixes : tuple of int
        Lengths of the prefixes that have rows.
    steps : int, optional
        Gradient steps. Left out: 200 for 2,500 sentence pairs or fewer, growing with their cube root, and no
        fewer than it takes to see every pair.
    batch : int, optional
        Sentence pairs of a step. Left out: a sixteenth of all, between 64 and 512.
    rate : float
        Learning rate of the first step; it falls linearly.
    decay : float
        Weight decay of the vectors of a batch.
    null : float
        Probability of null.
    seed : int
    """

    dimension: int = 48
    prefixes: tuple[int, ...] = (3, 4, 5, 6)
    steps: int | None = None
    batch: int | None = None
    rate: float = 0.02
    decay: float = 0.02
    null: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimension < 1 or min(self.prefixes, default=1) < 1:
            raise UsageError(
                f"dimension and prefixes must be positive, found {self.dimension}, {self.prefixes}"
            )
        if not (self.rate > 0 and self.decay >= 0 and 0 < self.null < 1):
            found = f"rate {self.rate}, decay {self.decay}, null {self.null}"
            raise UsageError(f"expected rate > 0, decay >= 0 and null between 0 and 1, found {found}")

    def schedule(self, pairs: int) -> tuple[int, int]:
        """Return (sentence pairs of a batch, steps) for a bitext of `pairs` sentence pairs.

        >>> VectorSettings().schedule(100_000)
        (512, 684)
        """
        batch = self.batch or min(512, max(64, pairs // 16))
        return batch, self.steps or max(round(200 * max(1.0, pairs / 2500) ** (1 / 3)), -(-pairs // batch))


def initial_rows(words: list[str], settings: VectorSettings, random: np.random.Generator) -> WordRows:
    """Return small random rows for the forms of `words`, the first of which is the padding."""
    table = lay_out(words, settings.prefixes, settings.dimension)
    spread = 0.3 / settings.dimension**0.25 / len(table.cuts) ** 0.5
    random.standard_normal(dtype=np.float32, out=table.rows)
    table.rows[:] *= np.float32(spread)
    table.rows[table.parts[0]] = 0
    return table


class _Adam:
    """Adam for the rows of one side: only the rows of a batch are looked at, each counting its own steps."""

    def __init__(self, table: WordRows) -> None:
        self.table = table
        self.mean = np.zeros_like(table.rows)
        self.square = np.zeros_like(table.rows)
        self.steps = np.zeros(len(table.rows), dtype=np.float32)

    def ascend(self, words: Longs, gradient: Floats, rate: float) -> None:
        """Take a step along the gradient (N, D) of the vectors of `words`."""
        touched, g = self._row_gradient(words, gradient)
        self.steps[touched] += 1
        n = self.steps[touched][:, None]
        b1, b2 = BETAS
        unbiased = np.sqrt(1 - b2**n)
        length, epsilon = np.float32(rate) * unbiased / (1 - b1**n), np.float32(1e-6) * unbiased
        for at in range(0, len(touched), ROWS):
            some = slice(at, at + ROWS)
            rows = touched[some]
            mean, square = self.mean.take(rows, axis=0), self.square.take(rows, axis=0)
            step = g[some] - mean
            step *= 1 - b1
            mean += step
            self.mean[rows] = mean
            np.multiply(g[some], g[some], out=step)
            step -= square
            step *= 1 - b2
            square += step
            self.square[rows] = square
            np.sqrt(square, out=step)
            step += epsilon[some]
            mean /= step
            mean *= length[some]
            mean += self.table.rows.take(rows, axis=0)
            self.table.rows[rows] = mean

    def _row_gradient(self, words: Longs, gradient: Floats) -> tuple[Longs, Floats]:
        """Return the rows that make up the words and the gradient of each."""
        from scipy.sparse import csr_matrix

        parts = self.table.parts[words]  # (N, P)
        touched, columns = distinct(parts, len(self.table.rows))
        ends = np.arange(0, parts.size + 1, parts.shape[1])
        member = csr_matrix(
            (np.ones(parts.size, np.float32), columns.ravel(), ends), (len(words), len(touched))
        )
        return touched, np.asarray(member.T @ gradient, dtype=np.float32)


class _Scores:
    """exp of the scores of all pairs of words of a batch and what belongs to it; its memory is used again."""

    def __init__(self) -> None:
        self._memory = np.empty((2, 0), dtype=np.float32)

    def fill(self, keys: Floats, queries: Floats, batch: Batch) -> None:
        """Score keys (E, D) against queries (F, D)."""
        E, F = len(keys), len(queries)
        if self._memory.shape[1] < E * F:
            self._memory = np.empty((2, E * F * 5 // 4), dtype=np.float32)  # fresh memory is slow to touch
        self.exp, self.gradient = (memory[: E * F].reshape(E, F) for memory in self._memory)
        np.matmul(keys, queries.T, out=self.exp)
        np.clip(self.exp, -HIGHEST, HIGHEST, out=self.exp)
        np.exp(self.exp, out=self.exp)
        self.exp[0] = 0
        self.exp[:, 0] = 0
        self.per_source = _inverse(self.exp @ batch.target_share)  # 1 / Z_e, (E,)
        self.per_target = _inverse(batch.source_share @ self.exp)  # 1 / Z_f, (F,)

    def ratios(self, cells: Longs, source: Longs, target: Longs) -> tuple[Floats, Floats]:
        """Return p(f|e)/p(f) and p(e|f)/p(e) of the cells of a stack, shapes (T, S, B)."""
        exp = self.exp.ravel()[cells]
        return exp * self.per_source[source], exp * self.per_target[target][:, None]


def _inverse(sums: Floats) -> Floats:
    return np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)


class _Links:
    """Expected links of a batch: the gradient with respect to the scores is made from them."""

    def __init__(self, batch: Batch) -> None:
        self.cells: list[Longs] = []
        self.weights: list[Floats] = []
        self.per_source = np.zeros(len(batch.source))  # links forward, (E,)
        self.per_target = np.zeros(len(batch.target))  # links in reverse, (F,)

    def add(self, links: Expected, cells: Longs, source: Longs, target: Longs) -> None:
        """Add the links of a stack, its words given by place in the batch."""
        weights = links.forward + links.reverse
        kept = weights > LEAST
        self.cells.append(cells[kept])
        self.weights.append(weights[kept])
        self.per_source += np.bincount(
            source.ravel(), links.forward.sum(axis=0).ravel(), len(self.per_source)
        )
        self.per_target += np.bincount(
            target.ravel(), links.reverse.sum(axis=1).ravel(), len(self.per_target)
        )


def _score_gradient(scores: _Scores, links: _Links, batch: Batch) -> Floats:
    """Return the gradient of the expected log-likelihood with respect to the scores, shape (E, F).

    The likelihood of the links is sum c(e, f) (s(e, f) - log Z_e) + sum c'(e, f) (s(e, f) - log Z_f), so its
    gradient is ``c + c' - exp(s) (c(e) p(f) / Z_e + c'(f) p(e) / Z_f)``.
    """
    of_source = np.stack([links.per_source * scores.per_source, batch.source_share], axis=1)  # (E, 2)
    of_target = -np.stack([batch.target_share, links.per_target * scores.per_target])  # (2, F)
    left, right = of_source.astype(np.float32), of_target.astype(np.float32)
    for at in range(0, len(left), 64):  # rows that stay in the cache
        rows = slice(at, at + 64)
        np.matmul(left[rows], right, out=scores.gradient[rows])
        scores.gradient[rows] *= scores.exp[rows]
    flat = scores.gradient.ravel()
    for cells, weights in zip(links.cells, links.weights, strict=True):
        np.add.at(flat, cells, weights)
    scores.gradient[0] = 0
    scores.gradient[:, 0] = 0
    return scores.gradient


class _Trainer:
    """Both sides' rows with their optimisers, and the positions."""

    def __init__(self, source: EncodedSide, target: EncodedSide, settings: VectorSettings) -> None:
        self.settings = settings
        self.random = np.random.default_rng(settings.seed)
        self.keys = _Adam(initial_rows(source.words, settings, self.random))
        self.queries = _Adam(initial_rows(target.words, settings, self.random))
        self.positions = Positions(source, target, settings.null)
        self.scores = _Scores()
        self.size, self.steps = settings.schedule(len(source.lengths))
        self.diagonal = min(-(-len(source.lengths) // self.size), self.steps // 4)  # steps without jumps
        self.batches = Batches(source, target, self.size, self.random)
        self.done = 0  # steps

    @property
    def state(self) -> Arrays:
        """All that a step changes, but for the random numbers, which are drawn again."""
        named = {"done": np.array(self.done)}
        for name, side in (("key", self.keys), ("query", self.queries)):
            named |= {f"{name}_rows": side.table.rows, f"{name}_mean": side.mean}
            named |= {f"{name}_square": side.square, f"{name}_steps": side.steps}
        for k, jumps in enumerate(self.positions.jumps):
            named |= {f"jumps_{k}": jumps.tables, f"jump_counts_{k}": self.positions.counts[k]}
        return named

    def restore(self, state: Arrays) -> None:
        """Go on from a state of the same training; only before the first step."""
        own = self.state
        for name in own.keys() - {"done"}:
            own[name][...] = state[name]
        self.done = int(state["done"])
        self.batches.skip(self.done)

    def step(self) -> None:
        """Take one gradient step."""
        number = self.done
        batch = self.batches.take()
        keys, queries = self.keys.table.of(batch.source), self.queries.table.of(batch.target)
        self.scores.fill(keys, queries, batch)
        links = self._expected_links(batch, number)
        gradient = _score_gradient(self.scores, links, batch)
        decay = np.float32(self.settings.decay)
        rate = self.settings.rate * (1 - (1 - LAST_RATE) * number / self.steps)
        key_gradient, query_gradient = gradient @ queries, gradient.T @ keys
        self.keys.ascend(batch.source[1:], (key_gradient - decay * keys)[1:], rate)
        self.queries.ascend(batch.target[1:], (query_gradient - decay * queries)[1:], rate)
        if number >= self.diagonal and number % JUMP_STEPS == JUMP_STEPS - 1:
            self.positions.update()
        self.done += 1

    def _expected_links(self, batch: Batch, number: int) -> _Links:
        links = _Links(batch)
        for stack, source, target in zip(batch.stacks, batch.source_place, batch.target_place, strict=True):
            cells = source * len(batch.target) + target[:, None]  # (T, S, B)
            ratios = self.scores.ratios(cells, source, target)
            if number < self.diagonal:
                found = diagonal_links(stack, *ratios, self.settings.null)
            else:
                found = self.positions.expect(stack, *ratios, count=number % COUNT_STEPS == COUNT_STEPS - 1)
            if number >= self.diagonal // 4:  # at first the directions know too little to agree on anything
                agreed = found.forward * found.reverse
                found = Expected(agreed, agreed)
            links.add(found, cells, source, target)
        return links


def learn_vectors(
    source: EncodedSide,
    target: EncodedSide,
    settings: VectorSettings | None = None,
    *,
    report: Callable[[str], None] | None = None,
    reached: Callable[[int, int], None] | None = None,
    state: str | Path | None = None,
) -> AttentionVectors:
    """Learn attention vectors from an encoded bitext.

    Parameters
    ----------
    source, target : EncodedSide
        Pairs with an empty side or more than 256 words are left out.
    settings : VectorSettings, optional
    report : callable, optional
        Called with a line of text now and then.
    reached : callable, optional
        Called with the number of steps done and of all steps: first of all, and after each step.
    state : str or Path, optional
        File that keeps the state of training. The same call goes on from there and returns the same bytes as
        if it had never stopped; after the last step it returns at once, until the caller removes the file.
        That of other text or settings is written over.

    Returns
    -------
    AttentionVectors
        All finite, their rows in half precision, as models keep them; the same bytes for the same text and
        settings with one BLAS thread.

    Raises
    ------
    DataError
        If no sentence pair can be learned from, or training diverges.

    References
    ----------
    Vaswani et al. (2017), equation 1, for the scores; Liang, Taskar and Klein (2006) for agreement.

    Examples
    --------
    >>> from nmtalign.models.corpus import encode
    >>> source = encode([["the", "cat"], ["the", "dog"]] * 20)
    >>> target = encode([["le", "chat"], ["le", "chien"]] * 20)
    >>> vectors = learn_vectors(source, target)
    >>> source.words[2], target.words[2:]
    ('cat', ['chat', 'chien'])
    >>> translation, other = vectors.log_ratio(np.array([2, 2]), np.array([2, 3]))
    >>> bool(translation > 0 > other)
    True
    """
    settings = settings or VectorSettings()
    trainer = _Trainer(source, target, settings)
    report, reached = report or (lambda line: None), reached or (lambda done, steps: None)
    kept = None if state is None else Checkpoint(state, training_key(source, target, "vectors", settings))
    if kept is not None and (found := kept.read()) is not None:
        trainer.restore(found)
        report(f"vectors: going on after step {trainer.done} of {trainer.steps}")
    reached(trainer.done, trainer.steps)
    while trainer.done < trainer.steps:
        trainer.step()
        reached(trainer.done, trainer.steps)
        if trainer.done % 100 == 0:
            report(f"vectors: step {trainer.done} of {trainer.steps}")
        if kept is not None and trainer.done < trainer.steps:
            kept.write_if_due(lambda: trainer.state)
    if kept is not None:
        kept.write(trainer.state)
    keys, queries = trainer.keys.table, trainer.queries.table
    for table in (keys, queries):
        table.rows[:] = table.rows.astype(np.float16)
        if not np.isfinite(table.rows).all():
            raise DataError("training of the vectors diverged; lower the rate or raise the decay")
    shares = [(side.counts / side.counts.sum()).astype(np.float32) for side in (source, target)]
    return joined(keys, queries, *shares)


def learn_embeddings(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]],
    *,
    dimension: int = 50,
    minimum: int = 1,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    reached: Callable[[int, int], None] | None = None,
    state: str | Path | None = None,
) -> tuple[Embeddings, Embeddings]:
    """Learn attention vectors and return them as ordinary word vectors of two languages.

    The first columns are keys and queries; two more hold log Z, as
    :meth:`~nmtalign.models.attention_vectors.AttentionVectors.folded` says: the dot product of a source
    and a target vector is the log ratio of the two words to chance.

    Parameters
    ----------
    pairs : iterable of (source words, target words)
        Normalised words; read once.
    dimension : int
        Columns, at least 3.
    minimum : int
        Rarer words are learned from, but get no vector of their own.
    seed : int
    report, reached, state
        As of :func:`learn_vectors`.

    Returns
    -------
    (source, target) : Embeddings
        In float32, the most frequent words first.

    Raises
    ------
    UsageError
        If there are fewer than 3 columns.
    DataError
        As of :func:`learn_vectors`.

    Examples
    --------
    >>> pairs = [("the cat".split(), "le chat".split()), ("the dog".split(), "le chien".split())] * 20
    >>> english, french = learn_embeddings(pairs, dimension=18)
    >>> scores = english.vectors(["cat", "dog"]) @ french.vectors(["chat", "chien"]).T
    >>> (scores > 0).tolist()
    [[True, False], [False, True]]
    """
    if dimension < 3 or minimum < 1:
        raise UsageError(
            f"expected 3 columns or more and a minimum of 1 or more, found {dimension}, {minimum}"
        )
    source, target = encode_pairs(pairs)
    chosen = VectorSettings(dimension=dimension - 2, seed=seed)
    learned = learn_vectors(source, target, chosen, report=report, reached=reached, state=state)
    settings = {"method": "gradient", "dimension": dimension, "minimum": minimum, "seed": seed}
    settings["pairs"] = len(source.lengths)
    found = []
    for side, matrix in zip((source, target), learned.folded(), strict=True):
        size = int((side.counts >= minimum).sum())  # words are numbered by falling frequency
        vocabulary = Vocabulary.from_words(side.words[1 : size + 1])
        found.append(Embeddings(vocabulary, matrix[1 : size + 1], settings=settings))
    return found[0], found[1]
