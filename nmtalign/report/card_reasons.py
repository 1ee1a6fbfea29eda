"""The texts on the card of a sentence pair while no word is chosen, the same as in `reasons.js`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nmtalign.display import with_plural
from nmtalign.links.alignments import AlignmentMatrix, GoldAlignment, Link
from nmtalign.report.style import abbreviate, visible

MAX_NAME_CHARS = 16  # longer words keep both ends
MAX_CLOSE_CALLS = 6
MIN_CLOSE_CALL = 0.05  # less likely cells are not close
SURE_PROBABILITY = 0.9
LEFT_TO_RIGHT_MARK = "\u200e"  # invisible


@dataclass(frozen=True, kw_only=True)
class CardContent:
    """The words, weights and judged links of one card.

    The posterior of a cell decides whether it is a link; what a link needs is compared with it. The
    probability of a link is calibrated, and says what the link is worth.
    """

    matrix: AlignmentMatrix  # weights[t, s]: the posterior of each cell
    probabilities: AlignmentMatrix  # weights[t, s]: of a link its probability
    kinds: Mapping[Link, str]  # the links to draw, with keys of CURVE_STYLES
    gold: GoldAlignment | None
    threshold: float | None  # the posterior that a link needs
    has_second_words: bool  # links of second words, which need less

    @property
    def links(self) -> list[Link]:
        """The links of the card, without the missed ones."""
        return sorted(link for link, kind in self.kinds.items() if kind != "missed")

    def links_of_kind(self, kind: str) -> list[Link]:
        """Return the links that are judged so, in their order."""
        return sorted(link for link, judged in self.kinds.items() if judged == kind)

    def posterior(self, link: Link) -> float:
        """Return the posterior of a cell."""
        return float(self.matrix.weights[link.target, link.source])

    def probability(self, link: Link) -> float:
        """Return the probability of a link."""
        return float(self.probabilities.weights[link.target, link.source])

    def names(self, link: Link) -> tuple[str, str]:
        """Return the two words of a link; long ones keep both ends."""
        source = shown_word(self.matrix.source_tokens[link.source])
        target = shown_word(self.matrix.target_tokens[link.target])
        return source, target

    def alone(self) -> tuple[set[int], set[int]]:
        """Return the positions of the source words and of the target words that have no link."""
        sources = {link.source for link in self.links}
        targets = {link.target for link in self.links}
        source_count = len(self.matrix.source_tokens)
        target_count = len(self.matrix.target_tokens)
        return set(range(source_count)) - sources, set(range(target_count)) - targets


class Bar(NamedTuple):
    """A cell whose posterior is near to what a link needs."""

    name: str
    share: float
    kind: str


def shown_word(word: str) -> str:
    """Return a word as a card shows it: nothing invisible, and of a long one both ends."""
    return abbreviate(visible(word), MAX_NAME_CHARS) or "␣"


def whole_percent(share: float) -> str:
    """Return a share in whole percents, which says where rounding would make it certain.

    >>> whole_percent(0.25), whole_percent(0.001), whole_percent(0.999)
    ('25\\xa0%', '<\\xa01\\xa0%', '>\\xa099\\xa0%')
    """
    if 0 < share < 0.005:
        return "<\u00a01\u00a0%"
    if 0.995 <= share < 1:
        return ">\u00a099\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def facts_of(content: CardContent) -> list[tuple[str, str]]:
    """Return what the head of a card says, each fact with the kind of links that it counts."""
    facts = [(with_plural(len(content.links), "link"), "")]
    if content.gold is None:
        return facts
    for kind in ("wrong", "missed"):
        count = len(content.links_of_kind(kind))
        if count:
            facts.append((f"{count} {kind}", kind))
    error = _alignment_error_rate(content, content.gold)
    if error is not None:
        facts.append((f"AER {100 * error:.1f}\u00a0%", ""))
    return facts


def _alignment_error_rate(content: CardContent, gold: GoldAlignment) -> float | None:
    """Return 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), or None if both are empty."""
    links = set(content.links)
    total = len(links) + len(gold.sure)
    if not total:
        return None
    return 1 - (len(links & gold.sure) + len(links & gold.possible)) / total


def explain_pair(content: CardContent) -> tuple[str, str]:
    """Return the headline of a pair and a sentence about it."""
    if content.gold is not None:
        return _explain_errors(content, content.gold)
    return _explain_certainty(content)


def _quoted_names(content: CardContent, link: Link) -> str:
    source, target = content.names(link)
    return f"‘{source}’ – ‘{target}’"


def _explain_errors(content: CardContent, gold: GoldAlignment) -> tuple[str, str]:
    wrong = content.links_of_kind("wrong")
    missed = content.links_of_kind("missed")
    sure_count = len(gold.sure)
    found_count = sure_count - len(missed)
    found = f"It finds {found_count} of the {with_plural(sure_count, 'sure gold link')}"
    errors = with_plural(len(wrong), "wrong link") if wrong else "no wrong links"
    sentence = f"{found} and makes {errors}."
    if len(wrong) > 1:
        most_probable = max(wrong, key=content.probability)
        sentence += f" The most probable wrong link is {_quoted_names(content, most_probable)}."
    if wrong:
        return _error_headline(content, "wrong", wrong), sentence
    if missed:
        return _error_headline(content, "missing", missed), sentence
    return f"All {with_plural(len(content.links), 'link')} are right", sentence


def _error_headline(content: CardContent, name: str, links: list[Link]) -> str:
    if len(links) == 1:
        return f"One link is {name}: {_quoted_names(content, links[0])}"
    return f"{len(links)} links are {name}"


def _explain_certainty(content: CardContent) -> tuple[str, str]:
    if not content.links:
        return "There are no links", "No two words are likely enough for one."
    count = with_plural(len(content.links), "link")
    weakest = min(content.links, key=content.probability)
    name = _quoted_names(content, weakest)
    probability = content.probability(weakest)
    if probability >= SURE_PROBABILITY:
        return f"All {count} are surer than 90\u00a0%", f"The least sure is {name}."
    sentence = f"Its probability is {whole_percent(probability)}. The pair has {count}."
    return f"The least sure link is {name}", sentence


def what_a_link_needs(content: CardContent) -> str:
    """Return the posterior that a link needs, as a note; empty without a threshold."""
    if content.threshold is None:
        return ""
    needs = f"a link needs a posterior of {whole_percent(content.threshold)}"
    return f"{needs}, a second word less" if content.has_second_words else needs


def closest_calls(content: CardContent) -> list[Bar]:
    """Return the cells whose posterior is nearest to what a link needs; none without a threshold."""
    threshold = content.threshold
    if threshold is None:
        return []
    links = set(content.links)
    calls: list[tuple[float, Link]] = []
    for target, row in enumerate(content.matrix.weights):
        for source, weight in enumerate(row):
            link = Link(source, target)
            if weight >= MIN_CLOSE_CALL or link in links:
                calls.append((abs(float(weight) - threshold), link))
    bars: list[Bar] = []
    for _, link in sorted(calls)[:MAX_CLOSE_CALLS]:
        # the mark keeps the source word first, in whatever direction it is written
        name = LEFT_TO_RIGHT_MARK + " – ".join(content.names(link))
        bars.append(Bar(name, content.posterior(link), content.kinds.get(link, "")))
    return bars
