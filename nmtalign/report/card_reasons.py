"""The texts on the card of a sentence pair: while no word is pinned, and for a word; as in `reasons.js`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import abbreviate, is_right_to_left, visible, with_plural
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedPair, AlignmentMatrix, BothWords, GoldAlignment, Link
from nmtalign.names import SIDES, Side
from nmtalign.report.page_content import best_sources, best_targets, min_posterior, names_of_sides
from nmtalign.report.page_data import HALF_LEVEL, THOUSAND, as_on_page, in_thousandths, nulls_on_page

MAX_NAME_CHARS = 16  # longer words keep both ends
MAX_CLOSE_CALLS = 6
MIN_CLOSE_CALL = 0.05  # less likely cells are not close
MAX_DISTANCE_OF_CALL = 0.3  # cells that are farther from what a link needs are not close
SURE_PROBABILITY = 0.9
LEFT_TO_RIGHT_MARK = "\u200e"  # invisible
SUBSCRIPT_ZERO = 0x2080
MAX_SHOWN_PARTNERS = 2  # words of a group of bars, next to the partner and "no partner"
MIN_SHOWN_SHARE = 0.005  # of a bar that is seen
NO_PARTNER = "no partner"
_PLACE_OF_WORD = re.compile(r"([st])(\d{1,9})", re.ASCII)

Part = tuple[str, str]  # a piece of a sentence, and its style: "", "bold", or a kind of links


@dataclass(frozen=True, kw_only=True)
class CardContent:
    """The words, weights and judged links of one card.

    Each cell has one number, which the card shows everywhere: of a link its probability, which is
    calibrated and not compared with what a link needs; of another cell the posterior.
    """

    matrix: AlignmentMatrix  # weights[t, s]: the number of each cell
    kinds: Mapping[Link, str]  # the links to draw, with keys of CURVE_STYLES
    gold: GoldAlignment | None
    threshold: float | None  # what a link needs
    has_second_words: bool  # links of second words, which need less

    @property
    def tokens(self) -> BothWords:
        """The source words and the target words."""
        return self.matrix.source_tokens, self.matrix.target_tokens

    @property
    def links(self) -> list[Link]:
        """The links of the card, without the missed ones."""
        return sorted(link for link, kind in self.kinds.items() if kind != "missed")

    def links_of_kind(self, kind: str) -> list[Link]:
        """Return the links that are judged so, in their order."""
        return sorted(link for link, judged in self.kinds.items() if judged == kind)

    def probability(self, link: Link) -> float:
        """Return the number of a cell."""
        return float(self.matrix.weights[link.target, link.source])

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
    """A name with a share of the length of a bar."""

    name: str
    share: float
    kind: str
    limit: float | None = None  # where the bar has a tick


def shown_word(word: str) -> str:
    """Return a word as a card shows it: nothing invisible, and of a long one both ends."""
    return abbreviate(visible(word), MAX_NAME_CHARS) or "␣"


def quoted(word: str) -> str:
    """Return a word in quotes, which are double where an apostrophe at its edge would look like one.

    >>> quoted("chat"), quoted("l’")
    ('‘chat’', '“l’”')
    """
    has_apostrophe = bool(set(word[:1] + word[-1:]) & set("'’‘"))
    return f"“{word}”" if has_apostrophe else f"‘{word}’"


def whole_percent(share: float) -> str:
    """Return a share in whole percents, rounded as in JavaScript; it says where 0 or 1 would be untrue.

    >>> whole_percent(0.25), whole_percent(0.125), whole_percent(0.001), whole_percent(0.999)
    ('25\\xa0%', '13\\xa0%', '<\\xa01\\xa0%', '>\\xa099\\xa0%')
    """
    if 0 < share < 0.005:
        return "<\u00a01\u00a0%"
    if 0.995 <= share < 1:
        return ">\u00a099\u00a0%"
    return f"{math.floor(100 * share + 0.5)}\u00a0%"


def title_of_card(title: str, languages: Sequence[str | None]) -> str:
    """Return a title with the languages behind it, if they are known.

    >>> title_of_card("Pair 7", ("en", "fr")), title_of_card("Pair 7", ("en", None))
    ('Pair 7 · English → French', 'Pair 7')
    """
    told = " → ".join(names_of_sides(languages)) if all(languages) else ""
    return " · ".join(filter(None, (title, told)))


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
    return f"{quoted(source)} – {quoted(target)}"


def _explain_errors(content: CardContent, gold: GoldAlignment) -> tuple[str, str]:
    wrong = content.links_of_kind("wrong")
    missed = content.links_of_kind("missed")
    sure_count = len(gold.sure)
    found_count = sure_count - len(missed)
    found = f"{found_count} of the {with_plural(sure_count, 'link')} that people made"
    errors = (
        f"{len(wrong)} that {'is' if len(wrong) == 1 else 'are'} wrong" if wrong else "none that is wrong"
    )
    sentence = f"The model makes {found}, and {errors}."
    if len(wrong) > 1:
        most_probable = max(wrong, key=content.probability)
        sentence += f" The most probable wrong link is {_quoted_names(content, most_probable)}."
    if wrong:
        return _error_headline(content, "wrong", wrong), sentence
    if missed:
        told = f"{sentence} {_explain_missed(content, gold, missed[0])}"
        return _error_headline(content, "missing", missed), told
    return f"All {with_plural(len(content.links), 'link')} are right", sentence


def _explain_missed(content: CardContent, gold: GoldAlignment, missed: Link) -> str:
    """Return what people made of the word of a missed link, and what the model did.

    For example "‘was’ is ‘a été’ here; it finds ‘été’ and leaves ‘a’ without a partner."
    """
    sources = sorted(source for source, target in gold.sure if target == missed.target)
    targets = sorted(target for source, target in gold.sure if source == missed.source)
    links = set(content.links)
    words = content.tokens
    if len(sources) > len(targets):
        partners, others = sources, words[0]
        word, lost = words[1][missed.target], missed.source
        found = [source for source in sources if Link(source, missed.target) in links]
        is_alone = all(link.source != lost for link in links)
    else:
        partners, others = targets, words[1]
        word, lost = words[0][missed.source], missed.target
        found = [target for target in targets if Link(missed.source, target) in links]
        is_alone = all(link.target != lost for link in links)
    phrase = " ".join(
        f"{'… ' if n and partners[n - 1] != partner - 1 else ''}{shown_word(others[partner])}"
        for n, partner in enumerate(partners)
    )
    finds = (
        f"finds {_listed([quoted(shown_word(others[partner])) for partner in found])} and " if found else ""
    )
    lost_word = quoted(shown_word(others[lost]))
    does = f"leaves {lost_word} without a partner" if is_alone else f"links {lost_word} to another word"
    return f"{quoted(shown_word(word))} is {quoted(phrase)} here; it {finds}{does}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
    """Return what a link needs, as a note; empty without a threshold."""
    if content.threshold is None:
        return ""
    needs = f"a link needs {whole_percent(content.threshold)}"
    return f"{needs}, a second word less" if content.has_second_words else needs


def closest_calls(content: CardContent) -> list[Bar]:
    """Return the errors, then the other cells whose number is near to what a link needs; as bars.

    Only cells without a link are compared with what a link needs, as the limits of their bars. Without a
    threshold there are none, nor where people made all of the links.
    """
    threshold = content.threshold
    has_errors = bool(content.links_of_kind("wrong") or content.links_of_kind("missed"))
    if threshold is None or (content.gold is not None and not has_errors):
        return []
    links = set(content.links)
    calls: list[tuple[bool, float, Link]] = []
    for target, row in enumerate(content.matrix.weights.tolist()):
        for source, weight in enumerate(row):
            link = Link(source, target)
            is_error = content.kinds.get(link) in ("wrong", "missed")
            distance = abs(weight - threshold)
            is_close = distance <= MAX_DISTANCE_OF_CALL and (link in links or weight >= MIN_CLOSE_CALL)
            if is_error or is_close:
                calls.append((not is_error, distance, link))
    bars: list[Bar] = []
    for _, _, link in sorted(calls)[:MAX_CLOSE_CALLS]:
        # the mark keeps the source word first, in whatever direction it is written
        numbers = (_occurrence(side, position) for side, position in zip(content.tokens, link, strict=True))
        numbered = map(str.__add__, content.names(link), numbers)
        name = LEFT_TO_RIGHT_MARK + " – ".join(map(_isolated, numbered))
        limit = None if link in links else threshold
        bars.append(Bar(name, content.probability(link), content.kinds.get(link, ""), limit))
    return bars


def _occurrence(words: Sequence[str], position: int) -> str:
    """Return the number of a word that occurs several times, as subscripts, else nothing.

    >>> _occurrence(("le", "chat", "le"), 2), _occurrence(("le", "chat", "le"), 1)
    ('₂', '')
    """
    if words.count(words[position]) == 1:
        return ""
    number = words[: position + 1].count(words[position])
    return "".join(chr(SUBSCRIPT_ZERO + int(digit)) for digit in str(number))


def _isolated(word: str) -> str:
    """Return a word with marks around it if it is written from right to left, so that it keeps its place."""
    return f"{LEFT_TO_RIGHT_MARK}{word}{LEFT_TO_RIGHT_MARK}" if is_right_to_left([word]) else word


def matrix_with_probabilities(pair: AlignedPair) -> AlignmentMatrix:
    """Return the matrix of a pair, in which cells of links have the calibrated probability of the link.

    All numbers are rounded as on a page.
    """
    weights = as_on_page(pair.matrix.weights).astype(float)
    for link, probability in pair.probabilities.items():
        weights[link.target, link.source] = in_thousandths(probability) / THOUSAND
    return replace(pair.matrix, weights=weights)


# --- a pinned word -------------------------------------------------------------------------------


class PinnedWord(NamedTuple):
    """A word of a pair whose reasons a card shows."""

    pair: AlignedPair
    side: Side
    position: int

    @property
    def is_source(self) -> bool:
        """Whether the word is a source word."""
        return self.side == "source"

    def cell(self, partner: int) -> Link:
        """Return the link of the word and a word of the other side."""
        return Link(self.position, partner) if self.is_source else Link(partner, self.position)


class BarGroup(NamedTuple):
    """The words that one word looks at, as bars."""

    head: str
    note: str
    bars: list[Bar]


class PinnedReasons(NamedTuple):
    """What the inspector of a card says about a pinned word."""

    headline: str
    sentence: list[Part]
    groups: list[BarGroup]
    together: Bar | None  # the number of the link; None if there is no word to link with
    together_head: str
    notes: list[str]


def pinned_word(pair: AlignedPair, pin: str) -> PinnedWord:
    """Return the word of a pair that `pin` names: the word itself, or its place, such as s0 or t7.

    Raises DataError if the pair does not have the word, or has it several times.

    >>> from nmtalign import load
    >>> pair = load().align("the black cat", "le chat noir")
    >>> pinned_word(pair, "noir")[1:], pinned_word(pair, "s0")[1:]
    (('target', 2), ('source', 0))
    """
    places: list[tuple[Side, int]] = []
    for side, words in zip(SIDES, pair.tokens, strict=True):
        places += [(side, position) for position, word in enumerate(words) if word == pin]
    if len(places) > 1:
        names = [f"{side[0]}{position}" for side, position in places]
        more = ", ..." if len(names) > 5 else ""
        advice = f"choose one of its places, such as `pin={names[0]}`"
        raise DataError(f"`pin`: {pin!r} occurs at {', '.join(names[:5])}{more}; {advice}")
    if places:
        side, position = places[0]
        return PinnedWord(pair, side, position)
    place = _PLACE_OF_WORD.fullmatch(pin)
    if place is None:
        advice = (
            "write it as in the pair, or as a place: s0 is the first source word, t0 the first target word"
        )
        raise DataError(f"`pin`: the pair has no word {pin!r}; {advice}")
    number = "st".index(place[1])
    count = len(pair.tokens[number])
    if int(place[2]) >= count:
        raise DataError(
            f"`pin`: {pin} is out of range for {count:,} {SIDES[number]} words, which count from 0"
        )
    return PinnedWord(pair, SIDES[number], int(place[2]))


def attention_of(pin: PinnedWord) -> tuple[NDArray[np.floating], float | None]:
    """Return how much the word looks at each word of the other side, and at none, which may be unknown."""
    return _attention(pin.pair, pin.side, pin.position)


def _attention(pair: AlignedPair, side: Side, position: int) -> tuple[NDArray[np.floating], float | None]:
    is_source = side == "source"
    of_direction = pair.reverse if is_source else pair.forward
    weights = matrix_with_probabilities(pair).weights if of_direction is None else as_on_page(of_direction)
    null = nulls_on_page(pair.source_null if is_source else pair.target_null)
    row = weights[:, position] if is_source else weights[position]
    return np.clip(row.astype(float), 0.0, 1.0), None if null is None else float(null[position])


def words_in_view(pin: PinnedWord, links: Iterable[Link]) -> tuple[set[int], set[int]]:
    """Return the source and the target positions of the pinned word and of those that it is linked to."""
    own = set(links_of_word(pin, links))
    sources = {link.source for link in own}
    targets = {link.target for link in own}
    (sources if pin.is_source else targets).add(pin.position)
    return sources, targets


def links_of_word(pin: PinnedWord, links: Iterable[Link]) -> list[Link]:
    """Return the links of the pinned word."""
    return [link for link in links if link[SIDES.index(pin.side)] == pin.position]


def explain_word(content: CardContent, pin: PinnedWord) -> PinnedReasons:
    """Return what the inspector says about a word: its best partner, and why they are linked or not."""
    word = _quoted(pin.pair, pin.side, pin.position)
    partners = _partners(content, pin, content.links)
    gold_links = () if content.gold is None else content.gold.possible
    missed = _partners(content, pin, gold_links)
    weights, _ = attention_of(pin)
    if not len(weights):
        return PinnedReasons(
            f"{word} has no link", [("There is no word to link it with.", "")], [], None, "", []
        )
    partner = [*partners, *missed, int(weights.argmax())][0]
    link = pin.cell(partner)
    groups = [
        _looks_at(pin.pair, "target", link.target, link.source),
        _looks_at(pin.pair, "source", link.source, link.target),
    ]
    if pin.is_source:
        groups.reverse()
    is_linked = link in set(content.links)
    unlinked_head = "Both together" if _has_both_directions(pin.pair) else "Weight"
    limit = None if is_linked else content.threshold
    return PinnedReasons(
        headline=_headline(content, pin, word, partners),
        sentence=_sentence(content, pin.pair, link),
        groups=groups,
        together=Bar("", content.probability(link), content.kinds.get(link, ""), limit),
        together_head="Probability of the link" if is_linked else unlinked_head,
        notes=_notes(pin.pair),
    )


def _partners(content: CardContent, pin: PinnedWord, links: Iterable[Link]) -> list[int]:
    """Return the positions of the other side that the word is linked to, the likeliest first."""
    other = 1 - SIDES.index(pin.side)
    ranked = sorted(sorted(links_of_word(pin, links)), key=content.probability, reverse=True)
    return [link[other] for link in ranked]


def _quoted(pair: AlignedPair, side: Side, position: int) -> str:
    word = pair.tokens[SIDES.index(side)][position]
    # the marks keep a word that is written from right to left at its place in the sentence
    mark = LEFT_TO_RIGHT_MARK if is_right_to_left([word]) else ""
    return f"{mark}{quoted(shown_word(word))}{mark}"


def _headline(content: CardContent, pin: PinnedWord, word: str, partners: Sequence[int]) -> str:
    if not partners:
        return f"{word} has no link"
    other: Side = "target" if pin.is_source else "source"
    names = [_quoted(pin.pair, other, partner) for partner in partners]
    wrong = sum(content.kinds.get(pin.cell(partner)) == "wrong" for partner in partners)
    judged = "" if not wrong else ": wrong" if wrong == len(partners) else ", not all of them right"
    return f"{word} is linked to {_listed(names)}{judged}"


def _looks_at(pair: AlignedPair, side: Side, position: int, partner: int) -> BarGroup:
    """Return the bars of the words that a word looks at most, and of `partner`.

    They are drawn without numbers: the number of a link is that of both directions together.
    """
    weights, none = _attention(pair, side, position)
    has_direction = (pair.reverse if side == "source" else pair.forward) is not None
    other: Side = "target" if side == "source" else "source"
    words = pair.tokens[SIDES.index(other)]
    shown = np.argsort(-weights, kind="stable")[:MAX_SHOWN_PARTNERS].tolist()
    if partner not in shown:
        shown.append(partner)
    bars = [Bar(shown_word(words[n]), float(weights[n]), "") for n in shown]
    if has_direction and none is not None:
        bars.append(Bar(NO_PARTNER, none, ""))
    bars = sorted((bar for bar in bars if bar.share >= MIN_SHOWN_SHARE), key=lambda bar: -bar.share)
    languages = names_of_sides(pair.languages)
    if side == "target":
        languages.reverse()
    return BarGroup(f"{_quoted(pair, side, position)} looks at", " → ".join(languages), bars)


def _sentence(content: CardContent, pair: AlignedPair, link: Link) -> list[Part]:
    """Return the reason as one sentence, whose clauses are separated by semicolons."""
    second = _second_word(content, pair, link) if link in set(content.links) else None
    why = _choice_clause(pair, link) if second is None else _second_word_clause(pair, link, *second)
    clauses: list[list[Part]] = [[(_vectors_clause(pair, link), "")], [(why, "")]]
    clauses += [_together_clause(content, pair, link), _gold_clause(content, link)]
    parts: list[Part] = []
    for clause in clauses:
        if clause and clause[0][0]:
            parts += [("; ", ""), *clause] if parts else clause
    (first, style), *others = parts
    return [(first[:1].upper() + first[1:], style), *others, (".", "")]


def _vectors_clause(pair: AlignedPair, link: Link) -> str:
    unknown = pair.matrix.unknown
    is_known = unknown is None or not (link.source in unknown[0] and link.target in unknown[1])
    return "" if is_known else "neither word has a vector"


def _choice_clause(pair: AlignedPair, link: Link) -> str:
    of_target = best_sources(pair)[link.target]
    of_source = best_targets(pair)[link.source]
    preferences = []
    if of_target != link.source:
        preferences.append(_preference(pair, "target", link.target, of_target, link.source))
    if of_source != link.target:
        preferences.append(_preference(pair, "source", link.source, of_source, link.target))
    return ", and ".join(preferences) or "each is the other’s first choice"


def _preference(pair: AlignedPair, side: Side, position: int, best: int, partner: int) -> str:
    """Return a clause such as "seen from ‘le’, ‘the’ is likelier than ‘black’"."""
    other: Side = "target" if side == "source" else "source"
    likelier = "no partner" if best < 0 else _quoted(pair, other, best)
    than = _quoted(pair, other, partner)
    return f"seen from {_quoted(pair, side, position)}, {likelier} is likelier than {than}"


def _second_word(content: CardContent, pair: AlignedPair, link: Link) -> tuple[Side, int] | None:
    """Return the side whose word is a second word, and the position of its neighbor; None for other links."""
    posterior = pair.matrix.weights
    if pair.second is None or pair.threshold is None:
        return None
    least = pair.threshold
    links = set(content.links)

    def is_likely(source: int, target: int) -> bool:
        return Link(source, target) in links and bool(posterior[target, source] >= least)

    words = pair.tokens[0][link.source], pair.tokens[1][link.target]
    has_sign = not all(any(map(str.isalnum, word)) for word in words)
    if has_sign or is_likely(*link):
        return None
    T, S = posterior.shape
    for neighbor in (link.target - 1, link.target + 1):
        if is_likely(link.source, neighbor) and not any(is_likely(s, link.target) for s in range(S)):
            return "target", neighbor
    for neighbor in (link.source - 1, link.source + 1):
        if is_likely(neighbor, link.target) and not any(is_likely(link.source, t) for t in range(T)):
            return "source", neighbor
    return None


def _second_word_clause(pair: AlignedPair, link: Link, side: Side, neighbor: int) -> str:
    assert pair.second is not None
    position, partner = (link.source, link.target) if side == "source" else (link.target, link.source)
    weights, _ = _attention(pair, side, position)
    weight = float(weights[partner])
    word, beside = _quoted(pair, side, position), _quoted(pair, side, neighbor)
    if weight < pair.second - HALF_LEVEL:
        return f"{word} is next to {beside}, with which it is an expression in a dictionary"
    return f"{word} is a second word next to {beside}, which needs less"


def _together_clause(content: CardContent, pair: AlignedPair, link: Link) -> list[Part]:
    number = content.probability(link)
    told: Part = (whole_percent(number), "bold")
    if link in set(content.links):
        return [("the probability of the link is ", ""), told]
    start: Part = ("both together make " if _has_both_directions(pair) else "its weight is ", "")
    threshold = min_posterior(pair)
    if threshold is None:
        return [start, told]
    needs = f", and a link needs {whole_percent(threshold)}"
    if number >= threshold:
        needs += ", but other links were chosen"
    return [start, told, (needs, "")]


def _has_both_directions(pair: AlignedPair) -> bool:
    return pair.forward is not None and pair.reverse is not None


def _gold_clause(content: CardContent, link: Link) -> list[Part]:
    if content.gold is None:
        return []
    is_linked = link in set(content.links)
    if link not in content.gold.possible:
        if is_linked:
            return [("people did not link the two: ", ""), ("wrong", "wrong")]
        return [("people did not link the two, either", "")]
    possible = "" if link in content.gold.sure else ", as a possible one"
    if is_linked:
        return [(f"people made this link, too{possible}: ", ""), ("right", "hit")]
    if possible:
        return [("people made this link as a possible one", "")]
    return [("people linked the two: ", ""), ("a missed link", "missed")]


def _notes(pair: AlignedPair) -> list[str]:
    is_usual = pair.extraction in (None, "posterior")
    return [] if is_usual else [f"Links are chosen by the rule “{pair.extraction}”."]
