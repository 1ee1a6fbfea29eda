"""The content of a report: pairs of a sample, distributions, lexicon, statistics and other systems.

Axes: T target words, S source words.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import as_real_array
from nmtalign.display import short_repr, visible
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, Link
from nmtalign.links.evaluation import Difference, Evaluation, compare_evaluations, evaluate
from nmtalign.links.gold import known_gold, outside_link_error
from nmtalign.links.scoring import MIN_ESTIMATED_PAIRS, evaluate_pairs
from nmtalign.links.selection import best_cells
from nmtalign.names import SIDES
from nmtalign.text.chunks import MAX_MATRIX_CELLS
from nmtalign.text.languages import language_name
from nmtalign.validation import check_choice, reject_exhausted

MAX_READABLE_WORDS = 20  # in a longer sentence, an error is not seen at a glance
# lengths of the longer sentence of the pair that a report shows first
MIN_EXAMPLE_WORDS = 5
MAX_EXAMPLE_WORDS = 14
MAX_EXAMPLE_CHARACTERS = 72  # a longer sentence would not fit on one line of a card
MAX_LEXICON_ROWS = 1000
OWN_LINKS = "these links"  # the name of the links that a report is made with
JUMP_NOTE = "source words from one linked target word to the next"
EMPTY_PAIR = AlignedPair(Alignment((), 0, 0), AlignmentMatrix(np.zeros((0, 0), np.float32), (), ()))
SIGNIFICANCE_LEVEL = 0.05  # shared among all pairs of systems
# Methods whose threshold does not apply to the posteriors that are shown: it applies to a plan, or to the
# joint posterior where that of one direction is shown.
METHODS_WITH_OTHER_THRESHOLD = ("transport", "argmax", "argmax-reverse")
_METRIC_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1", "aer": "AER"}


def alignment_inside(
    links: frozenset[Link], S: int, T: int, number: int, file: str | Path | None = None
) -> Alignment:
    """Return links as an Alignment; raise DataError with the place of the pair if a link is outside."""
    try:
        return Alignment(links, S, T)
    except DataError as error:
        raise outside_link_error(error, number, file) from None


@dataclass(frozen=True, eq=False, repr=False)
class SamplePair:
    """One sentence pair of a report.

    Parameters
    ----------
    line : int
        Line in the corpus, from 1.
    aligned : AlignedPair
        Links and attention.
    gold : GoldAlignment, optional
        Hand-made links.
    others : dict of str to Alignment
        Links of other systems by their name.
    parts : dict of str to array of shape (T, S)
        Weights of each scorer or attention head by itself, where there are several.
    choices : dict of str to Alignment
        Links that a scorer would choose alone, for those of `parts` where that is known.
    weights : dict of str to array of shape (T, S)
        Weights of other systems by their name, if they are known.

    Raises
    ------
    DataError
        If gold or other links lie outside the pair.
    """

    line: int
    aligned: AlignedPair
    gold: GoldAlignment | None = None
    others: Mapping[str, Alignment] = field(default_factory=dict)
    parts: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    choices: Mapping[str, Alignment] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        T, S = self.aligned.matrix.weights.shape
        if self.gold is not None:
            alignment_inside(self.gold.possible, S, T, self.line)
        for alignment in (*self.others.values(), *self.choices.values()):
            alignment_inside(alignment.links, S, T, self.line)
        for part, weights in (*self.parts.items(), *self.weights.items()):
            shape = as_real_array(weights, f"the weights of {part}").shape
            if shape != (T, S):
                raise DataError(f"expected the weights of {part} of shape (T, S) = {T, S}, found {shape}")

    def __repr__(self) -> str:
        return f"SamplePair of line {self.line}: {self.aligned}"

    def beside(self, name: str, other: AlignedPair) -> SamplePair:
        """Return the pair with what another system makes of the same words."""
        others = {**self.others, name: other.alignment}
        return replace(self, others=others, weights={**self.weights, name: other.matrix.weights})

    def chosen_by(self, part: str) -> list[tuple[int, int]]:
        """Return the links of one of `parts` alone; of a head the best source of each target word."""
        if part in self.choices:
            return sorted(self.choices[part].links)
        check_choice(part, self.parts, "parts")
        return [(s, t) for t, s in enumerate(_best_columns(self.parts[part], None)) if s >= 0]


def as_sample_pairs(
    pairs: Iterable[AlignedPair] | Iterable[SamplePair], gold: Sequence[GoldAlignment] | None = None
) -> list[SamplePair]:
    """Return aligned pairs as a report shows them, counted from 1; those of SamplePair stay as they are."""
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        advice = "; a single pair goes in a list: [pair]" if hasattr(pairs, "alignment") else ""
        raise UsageError(f"expected aligned pairs, found {short_repr(pairs)}{advice}")
    aligned: list[Any] = list(
        reject_exhausted(pairs, "aligned pairs") if isinstance(pairs, Iterator) else pairs
    )
    kind = SamplePair if any(hasattr(pair, "aligned") for pair in aligned) else AlignedPair
    for pair in aligned:
        if not isinstance(pair, kind):
            advice = "pairs of text need an aligner, as in write_report(path, pairs, aligner=aligner)"
            raise UsageError(f"expected aligned pairs alone, found {short_repr(pair)}; {advice}")
    if kind is SamplePair:
        return aligned
    if gold is not None and len(gold) != len(aligned):
        raise DataError(f"expected gold links for each of {len(aligned):,} pairs, found {len(gold):,}")
    if sum(math.prod(map(len, pair.tokens)) for pair in aligned) > MAX_MATRIX_CELLS:
        raise UsageError(
            f"expected at most {MAX_MATRIX_CELLS:,} weights for a page; choose pairs, such as batch[:200]"
        )
    golds = [known_gold(gold, n) if gold else None for n in range(len(aligned))]
    return list(map(SamplePair, count(1), aligned, golds))


def min_posterior(pair: AlignedPair) -> float | None:
    """Return the posterior that a link needs; None if no number is compared with the posteriors of `pair`."""
    return None if pair.extraction in METHODS_WITH_OTHER_THRESHOLD else pair.threshold


def names_of_sides(languages: Sequence[str | None]) -> list[str]:
    """Return the names of both languages, or "source" and "target" where they are unknown.

    >>> names_of_sides(("fr", None))
    ['French', 'target']
    """
    return [language_name(code) if code else side for code, side in zip(languages, SIDES, strict=True)]


def best_sources(pair: AlignedPair) -> list[int]:
    """Return the best source position of each target word, -1 where the null word is likelier; length T."""
    weights = pair.matrix.weights if pair.forward is None else pair.forward  # (T, S)
    return _best_columns(weights, pair.target_null)


def best_targets(pair: AlignedPair) -> list[int]:
    """Return the best target position of each source word, -1 where the null word is likelier; length S."""
    weights = pair.matrix.weights if pair.reverse is None else pair.reverse  # (T, S)
    return _best_columns(weights.T, pair.source_null)


def _best_columns(weights: NDArray[np.floating], null: NDArray[np.floating] | None) -> list[int]:
    """Return the best column of each row, -1 where null has more weight."""
    T, S = weights.shape
    if T == 0 or S == 0:
        return [-1] * T
    largest = weights.max(axis=1)
    if np.count_nonzero(weights == largest[:, None]) == T:  # no ties, so that no rule is needed
        best = weights.argmax(axis=1)
    else:  # best_cells resolves ties as the extractions do; it takes buckets, here of one pair: (T, S, 1)
        is_best = best_cells(weights[..., None], 1, np.array([S]), np.array([T]))[..., 0]
        best = is_best.argmax(axis=1)
    if null is not None:
        best[null > largest] = -1
    return list(best.tolist())


def probabilities_in_order(pair: AlignedPair) -> list[tuple[Link, float]]:
    """Return the links of a pair in order, each with its probability."""
    known = pair.probabilities
    return [(link, known[link] if link in known else pair.probability(link)) for link in pair.alignment]


def most_instructive(pairs: Iterable[SamplePair]) -> tuple[int, Link] | None:
    """Return the error that a reader should look at first: the number of its pair, and the link.

    Only sentences of at most `MAX_READABLE_WORDS` words are considered. The first choice is the most probable
    wrong link of a word that also lacks a sure link; then the most probable wrong link; then the missing sure
    link that is least likely. Ties are resolved by the shortest pair, then by the first pair.
    """
    errors: list[tuple[tuple[int, float, int], int, Link]] = []
    for pair in pairs:
        weights = pair.aligned.matrix.weights
        T, S = weights.shape
        if pair.gold is None or max(S, T) > MAX_READABLE_WORDS:
            continue
        links = pair.aligned.alignment.links
        missing = pair.gold.sure - links
        wrong = links - pair.gold.possible
        for link in sorted(missing | wrong):
            rank, certainty = 0, -float(weights[link.target, link.source])
            if link in wrong:
                lacks_another = any(s == link.source or t == link.target for s, t in missing)
                rank, certainty = 2 if lacks_another else 1, pair.aligned.probability(link)
            errors.append(((rank, round(certainty, 3), -S - T), pair.line, link))
    return max(errors, key=itemgetter(0))[1:] if errors else None  # the first of equals


def example_with_crossing(pairs: Iterable[SamplePair]) -> int | None:
    """Return the number of the pair that best shows how a card is read, or None if no pair shows it.

    It has gold links, and its curves cross: neighboring words are in reverse order. A missing sure link is
    preferred; then the pair with the fewest errors and words without a link, then the longest crossing.
    """
    examples: list[tuple[tuple[bool, int, int], int]] = []
    for pair in pairs:
        sides = pair.aligned.tokens
        longest = max(map(len, sides))
        characters = max(len(" ".join(words)) for words in sides)
        is_readable = MIN_EXAMPLE_WORDS <= longest <= MAX_EXAMPLE_WORDS
        if pair.gold is None or not is_readable or characters > MAX_EXAMPLE_CHARACTERS:
            continue
        crossing = _longest_reversal(pair.aligned.alignment)
        if crossing < 2:
            continue
        links = pair.aligned.alignment.links
        missing = pair.gold.sure - links
        wrong = links - pair.gold.possible
        linked = len({s for s, _ in links}) + len({t for _, t in links})
        alone = sum(map(len, sides)) - linked
        examples.append(((bool(missing), -len(missing) - len(wrong) - alone, crossing), pair.line))
    return max(examples, key=itemgetter(0))[1] if examples else None  # the first of equals


def _longest_reversal(alignment: Alignment) -> int:
    """Return how many neighboring source words have only links to neighboring words in reverse order."""
    partners: dict[int, list[int]] = defaultdict(list)
    for s, t in alignment.links:
        partners[s].append(t)
    longest = length = 0
    before: int | None = None
    for s in sorted(partners):
        partner = partners[s][0] if len(partners[s]) == 1 else None
        goes_on = before is not None and s - 1 in partners and partner == before - 1
        length = length + 1 if goes_on else 1
        longest = max(longest, length)
        before = partner
    return longest


class Distribution(NamedTuple):
    """A histogram: `counts[i]` belongs to `labels[i]`."""

    title: str
    note: str
    labels: list[str]
    counts: list[int]


def distributions(pairs: Sequence[SamplePair]) -> list[Distribution]:
    """Return distributions of pair scores, probabilities, jump widths, fertility and unknown words."""
    scores: list[float] = []
    probabilities: list[float] = []
    unknown: list[float] = []  # the share of words without a vector, per pair
    for pair in pairs:
        if pair.aligned.score is not None:
            scores.append(pair.aligned.score)
        probabilities.extend(pair.aligned.probabilities.values())
        matrix = pair.aligned.matrix
        if matrix.unknown is not None:
            unknown_words = sum(map(len, matrix.unknown))
            unknown.append(unknown_words / max(1, sum(matrix.weights.shape)))
    histograms = [
        _score_histogram("Pair scores", np.array(scores, dtype=float)),
        _share_histogram("Link probabilities", "of the chosen links", np.array(probabilities, dtype=float)),
        _integer_histogram("Jump widths", JUMP_NOTE, jump_widths(pairs), -5, 5),
        _fertility_histogram(pairs, 0),
        _fertility_histogram(pairs, 1),
        _share_histogram("Unknown words", "share of a pair's words without a vector", np.array(unknown)),
    ]
    return [histogram for histogram in histograms if sum(histogram.counts)]


def jump_widths(pairs: Iterable[SamplePair]) -> NDArray[np.int64]:
    """Return the widths of jumps (1 is word by word) between the first partners of linked target words."""
    steps: list[int] = []
    for pair in pairs:
        first: dict[int, int] = {}
        for s, t in pair.aligned.alignment:
            first.setdefault(t, s)
        positions = [first[t] for t in sorted(first)]
        steps.extend(after - before for before, after in pairwise(positions))
    return np.array(steps, dtype=np.int64)


def _fertility_histogram(pairs: Iterable[SamplePair], side: int) -> Distribution:
    """Return how many links the words of a side have: 0 for source, 1 for target words."""
    counts = [pair.aligned.alignment.to_matrix().sum(axis=side) for pair in pairs]
    fertility = np.concatenate([np.zeros(0, np.int64), *counts])
    unlinked = f"{np.mean(fertility == 0):.1%} have none" if fertility.size else ""
    return _integer_histogram(f"Links of a {SIDES[side]} word", unlinked, fertility, 0, 5)


def _share_histogram(title: str, note: str, values: NDArray[np.floating]) -> Distribution:
    """Return ten bins from 0 to 1; values outside go to the ends."""
    counts = np.bincount(np.clip((values * 10).astype(int), 0, 9), minlength=10)
    middle = f"{note}; median {np.median(values):.2f}" if values.size else note
    return Distribution(title, middle, [f".{n}" for n in range(10)], counts.tolist())


def _score_histogram(title: str, values: NDArray[np.floating]) -> Distribution:
    """Return ten bins: from 0 to 1 where all values lie there, else from the smallest to the largest."""
    if not values.size or (values.min() >= 0 and values.max() <= 1):
        return _share_histogram(title, "from unlike to parallel", values)
    counts, edges = np.histogram(values, 10)
    note = f"from unlike to parallel; median {np.median(values):.2f}"
    return Distribution(title, note, [f"{edge:.1f}" for edge in edges[:-1]], counts.tolist())


def _integer_histogram(title: str, note: str, values: NDArray[np.int64], low: int, high: int) -> Distribution:
    """Return one bin for each integer; those beyond `low` and `high` go to the ends."""
    counts = np.bincount(np.clip(values, low, high) - low, minlength=high - low + 1)
    labels = [str(n) for n in range(low, high + 1)]
    labels[0], labels[-1] = f"≤{low}" if low else "0", f"≥{high}"
    return Distribution(title, note, labels, counts.tolist())


def lexicon_rows(pairs: Iterable[SamplePair]) -> list[tuple[str | int, ...]]:
    """Return the linked words in lower case: most frequent first, then those of the likeliest links.

    A row is a source and a target word, their number of links, and the mean probability of these in
    thousandths.
    """
    probabilities: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in pairs:
        matrix = pair.aligned.matrix
        source = [word.lower() for word in matrix.source_tokens]
        target = [word.lower() for word in matrix.target_tokens]
        for link, probability in probabilities_in_order(pair.aligned):
            probabilities[source[link.source], target[link.target]].append(probability)
    entries = [(*words, len(each), math.fsum(each) / len(each)) for words, each in probabilities.items()]
    entries.sort(key=lambda entry: (-entry[2], -entry[3], *entry[:2]))
    return [
        (visible(source), visible(target), links, round(1000 * mean))
        for source, target, links, mean in entries[:MAX_LEXICON_ROWS]
    ]


# --- statistics and other systems ----------------------------------------------------------------


class Statistic(NamedTuple):
    """A number to show: its name, its value, a note, and half of its interval where it has one."""

    name: str
    value: str
    note: str = ""
    margin: str = ""


def headline(statistics: Sequence[Statistic]) -> str:
    """Return a report in one line: its size and the error, else the agreement, else the score.

    >>> aer = Statistic("AER", "6.6 %", "95 % interval 5.8 to 7.4", "± 0.8")
    >>> headline([Statistic("Pairs shown", "200"), aer])
    '200 pairs, AER 6.6 % ± 0.8'
    """
    known = {statistic.name: statistic for statistic in statistics}
    size = known["Pairs shown"].value
    line = f"{size} pair{'s' * (size != '1')}"
    if error := error_of(statistics):
        return f"{line}, {error}"
    agreement = [f"{name} {known[name].value}" for name in known if name.startswith("F1 with ")]
    score = [f"mean pair score {known[name].value}" for name in known if name == "Mean pair score"]
    return ", ".join([line, *(agreement or score)])


def error_of(statistics: Sequence[Statistic]) -> str:
    """Return the measured error rate of the links in a few words; empty without gold links.

    >>> error_of([Statistic("Links", "9"), Statistic("AER", "6.6 %", "95 % interval 5.8 to 7.4", "± 0.8")])
    'AER 6.6 % ± 0.8'
    """
    measured = [statistic for statistic in statistics if statistic.name == "AER"]
    return " ".join(filter(None, ("AER", measured[0].value, measured[0].margin))) if measured else ""


def expected_error(pairs: Sequence[SamplePair]) -> str:
    """Return the error rate that is expected without gold; empty for few pairs, or without probabilities."""
    aligned = [pair.aligned for pair in pairs]
    if len(aligned) < MIN_ESTIMATED_PAIRS or not any(pair.probabilities for pair in aligned):
        return ""
    return evaluate_pairs(aligned).sentence


def summarize(pairs: Sequence[SamplePair], evaluation: Evaluation | None = None) -> list[Statistic]:
    """Return sizes and mean scores of the pairs of a report, an evaluation, F1 with other systems."""
    scores = [] if evaluation is None else evaluation_statistics(evaluation)
    others = pairs[0].others if pairs else ()
    shared = [
        _agreement_statistic(name, [(p.aligned.alignment, p.others[name]) for p in pairs]) for name in others
    ]
    return [*_size_statistics(pairs), *scores, *shared]


def evaluation_statistics(evaluation: Evaluation, *, where: str = "") -> list[Statistic]:
    """Return the four scores of an evaluation in per cent, with their 95 % bootstrap intervals.

    >>> evaluation_statistics(evaluate(["0-0"] * 3, ["0-0"] * 3))[-1]
    Statistic(name='AER', value='0.0 %', note='95 % interval 0.0 to 0.0', margin='± 0.0')
    """
    statistics = []
    for metric, name in _METRIC_NAMES.items():
        if math.isnan(evaluation.score(metric)):
            statistics.append(
                Statistic(f"{name}{where}", "undefined", "there are no links, or no sure gold links")
            )
            continue
        low, high = evaluation.intervals[metric]
        note = f"95 % interval {100 * low:.1f} to {100 * high:.1f}"
        value, margin = f"{100 * getattr(evaluation, metric):.1f} %", f"± {50 * (high - low):.1f}"
        statistics.append(Statistic(f"{name}{where}", value, note, margin))
    return statistics


def _size_statistics(pairs: Sequence[SamplePair]) -> list[Statistic]:
    """Return the numbers of pairs, words and links, and the mean score."""
    alignments = [pair.aligned.alignment for pair in pairs]
    source = sum(len(pair.aligned.tokens[0]) for pair in pairs)
    target = sum(len(pair.aligned.tokens[1]) for pair in pairs)
    scores = [pair.aligned.score for pair in pairs if pair.aligned.score is not None]
    statistics = [
        Statistic("Pairs shown", f"{len(pairs):,}"),
        Statistic("Words", f"{source + target:,}", f"{source:,} source, {target:,} target"),
        Statistic("Links", f"{sum(map(len, alignments)):,}"),
    ]
    if scores:
        spread = f"{min(scores):.2f} to {max(scores):.2f}"
        statistics.append(Statistic("Mean pair score", f"{np.mean(scores):.2f}", spread))
    return statistics


def _agreement_statistic(name: str, links: Sequence[tuple[Alignment, Alignment]]) -> Statistic:
    """Return the F1 of the links with those of another system; `links` are both alignments of each pair."""
    both = sum(len(first.links & second.links) for first, second in links)
    ours = sum(len(first) for first, _ in links)
    theirs = sum(len(second) for _, second in links)
    value = f"{200 * both / (ours + theirs):.1f} %" if ours + theirs else "–"
    note = f"{both:,} both, {ours - both:,} only here, {theirs - both:,} only there"
    return Statistic(f"F1 with {name}", value, note)


def verdict(systems: Mapping[str, Evaluation], differences: Mapping[tuple[str, str], Difference]) -> str:
    """Return a sentence that says which system makes the fewest errors, and whether that may be chance.

    Systems come best first; a difference is by how much the AER of the second is above that of the first.

    >>> half, whole = (evaluate([links] * 9, ["0-0 1-1"] * 9) for links in ("0-0", "0-0 1-1"))
    >>> verdict({"B": whole, "A": half}, {("B", "A"): compare_evaluations(whole, half)["aer"]})
    'Fewer errors in B than in A: AER 0.0 for 33.3 %, p = .001'
    >>> verdict({"A": half, "B": half}, {("A", "B"): compare_evaluations(half, half)["aer"]})
    'The difference is within chance: AER of A 33.3 %, of B (33.3 %, p = 1)'
    """
    best, *others = systems
    rates = {name: f"{100 * evaluation.aer:.1f}" for name, evaluation in systems.items()}
    level = SIGNIFICANCE_LEVEL / len(differences)  # Bonferroni: all differences share the level
    p_values: dict[str, str] = {}
    worse: list[str] = []  # systems with significantly more errors
    within_chance: list[str] = []
    for name in others:
        p = differences[best, name].p
        p_values[name] = format_p_value(p)
        described = f"{name} ({rates[name]} %, p = {p_values[name]})"
        if p < level:
            worse.append(described)
        else:
            within_chance.append(described)
    chance = " and ".join(within_chance)
    if len(others) == 1 and worse:
        [other] = others
        errors = f"AER {rates[best]} for {rates[other]} %, p = {p_values[other]}"
        return f"Fewer errors in {best} than in {other}: {errors}"
    if worse:
        sentence = f"Fewer errors in {best} (AER {rates[best]} %) than in {' and '.join(worse)}"
        return f"{sentence}; the difference to {chance} is within chance" if chance else sentence
    are = "difference is" if len(others) == 1 else "differences are"
    return f"The {are} within chance: AER of {best} {rates[best]} %, of {chance}"


def format_p_value(p: float) -> str:
    """Return a p-value as papers write it.

    >>> [format_p_value(p) for p in (0.000999, 0.0123, 0.3, 1.0)]
    ['.001', '.01', '.30', '1']
    """
    if p > 0.995:
        return "1"
    digits = 3 if p < 0.0095 else 2
    return f"{p:.{digits}f}".lstrip("0")


def evaluate_systems(pairs: Sequence[SamplePair]) -> dict[str, Evaluation]:
    """Evaluate the links, and those of each other system, over the pairs that have gold."""
    golds = [pair.gold for pair in pairs if pair.gold is not None]
    if not golds:
        return {}
    with_gold = [pair for pair in pairs if pair.gold is not None]
    systems = {OWN_LINKS: [pair.aligned.alignment for pair in with_gold]}
    for name in pairs[0].others:
        systems[name] = [pair.others[name] for pair in with_gold]
    return {name: evaluate(links, golds) for name, links in systems.items()}


def comparison_data(systems: Mapping[str, Evaluation]) -> dict[str, Any] | None:
    """Return the data of the page's table of systems; None unless the AER of two systems is known.

    A row is a name, the number of links, precision, recall, AER and half of its interval. The differences,
    by the numbers of two rows, say how much the AER of the second row is above that of the first, with its
    interval and p-value.
    """
    known = {name: evaluation for name, evaluation in systems.items() if not math.isnan(evaluation.aer)}
    if len(known) < 2:
        return None
    best_first = sorted(known, key=lambda name: known[name].aer)  # stable: equals keep their order
    rows: list[tuple[Any, ...]] = []
    for name in best_first:
        evaluation = known[name]
        low, high = evaluation.intervals["aer"]
        scores = [evaluation.score(metric) for metric in ("precision", "recall", "aer")]
        half_interval = (high - low) / 2
        percents = [_percent_or_none(value) for value in (*scores, half_interval)]
        rows.append((visible(name), evaluation.counts.links, *percents))
    compared: dict[tuple[str, str], Difference] = {}
    differences: dict[str, tuple[Any, ...]] = {}
    for (i, first), (j, second) in combinations(enumerate(best_first), 2):
        difference = compare_evaluations(known[first], known[second])["aer"]
        compared[first, second] = difference
        percents = [round(100 * value, 4) for value in (difference.value, *difference.interval)]
        differences[f"{i}-{j}"] = (*percents, format_p_value(difference.p))
    ordered = {name: known[name] for name in best_first}
    return {
        "verdict": visible(verdict(ordered, compared)),
        "pairs": len(next(iter(known.values())).sentences),
        "rows": rows,
        "differences": differences,
    }


def _percent_or_none(value: float) -> float | None:
    """Return a share in percent; None if it is undefined."""
    return None if math.isnan(value) else round(100 * value, 4)
