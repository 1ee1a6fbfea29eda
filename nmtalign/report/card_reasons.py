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
from nmtalign.names import SIDES
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
    kinds: Mapping[Link, str]  # the links to draw, with keys of NAMES_OF_KINDS
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

    def is_linked(self, link: Link) -> bool:
        """Return whether a cell has one of :attr:`links`."""
        return self.kinds.get(link, "missed") != "missed"

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
    side = 0 if len(sources) > len(targets) else 1  # of the partners
    if side == 0:
        partners = sources
        found = [source for source in sources if content.is_linked(Link(source, missed.target))]
    else:
        partners = targets
        found = [target for target in targets if content.is_linked(Link(missed.source, target))]
    others = content.tokens[side]
    word = content.tokens[1 - side][missed[1 - side]]
    is_alone = missed[side] in content.alone()[side]
    phrase = " ".join(
        f"{'… ' if n and partners[n - 1] != partner - 1 else ''}{shown_word(others[partner])}"
        for n, partner in enumerate(partners)
    )
    finds = (
        f"finds {_listed([quoted(shown_word(others[partner])) for partner in found])} and " if found else ""
    )
    lost_word = quoted(shown_word(others[missed[side]]))
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
    calls: list[tuple[bool, float, Link]] = []
    for target, row in enumerate(content.matrix.weights.tolist()):
        for source, weight in enumerate(row):
            link = Link(source, target)
            is_error = content.kinds.get(link) in ("wrong", "missed")
            distance = abs(weight - threshold)
            is_close = distance <= MAX_DISTANCE_OF_CALL and (
                content.is_linked(link) or weight >= MIN_CLOSE_CALL
            )
            if is_error or is_close:
                calls.append((not is_error, distance, link))
    bars: list[Bar] = []
    for _, _, link in sorted(calls)[:MAX_CLOSE_CALLS]:
        # the mark keeps the source word first, in whatever direction it is written
        numbers = (_occurrence(side, position) for side, position in zip(content.tokens, link, strict=True))
        numbered = map(str.__add__, content.names(link), numbers)
        name = LEFT_TO_RIGHT_MARK + " – ".join(map(_isolated, numbered))
        limit = None if content.is_linked(link) else threshold
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


class PairWord(NamedTuple):
    """A word of a pair: its side, 0 for source and 1 for target, and its position."""

    pair: AlignedPair
    side: int
    position: int

    @property
    def is_source(self) -> bool:
        """Whether the word is a source word."""
        return self.side == 0

    @property
    def quoted(self) -> str:
        """The word in quotes, with marks that keep a right-to-left word at its place in the sentence."""
        word = self.pair.tokens[self.side][self.position]
        mark = LEFT_TO_RIGHT_MARK if is_right_to_left([word]) else ""
        return f"{mark}{quoted(shown_word(word))}{mark}"

    def partner(self, position: int) -> PairWord:
        """Return a word of the other side."""
        return PairWord(self.pair, 1 - self.side, position)

    def link(self, partner: int) -> Link:
        """Return the link of the word and a word of the other side."""
        return Link(self.position, partner) if self.is_source else Link(partner, self.position)

    def links_among(self, links: Iterable[Link]) -> list[Link]:
        """Return those of some links that the word has."""
        return [link for link in links if link[self.side] == self.position]


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


def pinned_word(pair: AlignedPair, pin: str) -> PairWord:
    """Return the word of a pair that `pin` names: the word itself, or its place, such as s0 or t7.

    Raises DataError if the pair does not have the word, or has it several times.

    >>> from nmtalign import load
    >>> pair = load().align("the black cat", "le chat noir")
    >>> pinned_word(pair, "noir")[1:], pinned_word(pair, "s0")[1:]
    ((1, 2), (0, 0))
    """
    places = [
        PairWord(pair, side, position)
        for side, words in enumerate(pair.tokens)
        for position, word in enumerate(words)
        if word == pin
    ]
    if len(places) > 1:
        names = [f"{SIDES[place.side][0]}{place.position}" for place in places]
        more = ", ..." if len(names) > 5 else ""
        advice = f"choose one of its places, such as `pin={names[0]}`"
        raise DataError(f"`pin`: {pin!r} occurs at {', '.join(names[:5])}{more}; {advice}")
    if places:
        return places[0]
    place = _PLACE_OF_WORD.fullmatch(pin)
    if place is None:
        advice = (
            "write it as in the pair, or as a place: s0 is the first source word, t0 the first target word"
        )
        raise DataError(f"`pin`: the pair has no word {pin!r}; {advice}")
    side = "st".index(place[1])
    count = len(pair.tokens[side])
    if int(place[2]) >= count:
        raise DataError(f"`pin`: {pin} is out of range for {count:,} {SIDES[side]} words, which count from 0")
    return PairWord(pair, side, int(place[2]))


def attention_of(word: PairWord) -> tuple[NDArray[np.floating], float | None]:
    """Return how much a word looks at each word of the other side, and at none, which may be unknown."""
    pair = word.pair
    of_direction = pair.reverse if word.is_source else pair.forward
    weights = matrix_with_probabilities(pair).weights if of_direction is None else as_on_page(of_direction)
    null = nulls_on_page(pair.source_null if word.is_source else pair.target_null)
    row = weights[:, word.position] if word.is_source else weights[word.position]
    return np.clip(row.astype(float), 0.0, 1.0), None if null is None else float(null[word.position])


def words_in_view(pin: PairWord, links: Iterable[Link]) -> tuple[set[int], set[int]]:
    """Return the source and the target positions of the pinned word and of those that it is linked to."""
    own = pin.links_among(links)
    positions = {link.source for link in own}, {link.target for link in own}
    positions[pin.side].add(pin.position)
    return positions


def explain_word(content: CardContent, pin: PairWord) -> PinnedReasons:
    """Return what the inspector says about a word: its best partner, and why they are linked or not."""
    partners = _partners(content, pin, content.links)
    gold_links = () if content.gold is None else content.gold.possible
    missed = _partners(content, pin, gold_links)
    weights, _ = attention_of(pin)
    if not len(weights):
        return PinnedReasons(
            f"{pin.quoted} has no link", [("There is no word to link it with.", "")], [], None, "", []
        )
    partner = [*partners, *missed, int(weights.argmax())][0]
    link = pin.link(partner)
    is_linked = content.is_linked(link)
    unlinked_head = "Both together" if _has_both_directions(pin.pair) else "Weight"
    limit = None if is_linked else content.threshold
    return PinnedReasons(
        headline=_headline(content, pin, partners),
        sentence=_sentence(content, pin.pair, link),
        groups=[_looks_at(pin, partner), _looks_at(pin.partner(partner), pin.position)],
        together=Bar("", content.probability(link), content.kinds.get(link, ""), limit),
        together_head="Probability of the link" if is_linked else unlinked_head,
        notes=_notes(pin.pair),
    )


def _partners(content: CardContent, pin: PairWord, links: Iterable[Link]) -> list[int]:
    """Return the positions of the other side that the word is linked to, the likeliest first."""
    ranked = sorted(sorted(pin.links_among(links)), key=content.probability, reverse=True)
    return [link[1 - pin.side] for link in ranked]


def _headline(content: CardContent, pin: PairWord, partners: Sequence[int]) -> str:
    if not partners:
        return f"{pin.quoted} has no link"
    names = [pin.partner(partner).quoted for partner in partners]
    wrong = sum(content.kinds.get(pin.link(partner)) == "wrong" for partner in partners)
    judged = "" if not wrong else ": wrong" if wrong == len(partners) else ", not all of them right"
    return f"{pin.quoted} is linked to {_listed(names)}{judged}"


def _looks_at(word: PairWord, partner: int) -> BarGroup:
    """Return the bars of the words that a word looks at most, and of `partner`.

    They are drawn without numbers: the number of a link is that of both directions together.
    """
    pair = word.pair
    weights, none = attention_of(word)
    has_direction = (pair.reverse if word.is_source else pair.forward) is not None
    words = pair.tokens[1 - word.side]
    shown = np.argsort(-weights, kind="stable")[:MAX_SHOWN_PARTNERS].tolist()
    if partner not in shown:
        shown.append(partner)
    bars = [Bar(shown_word(words[n]), float(weights[n]), "") for n in shown]
    if has_direction and none is not None:
        bars.append(Bar(NO_PARTNER, none, ""))
    bars = sorted((bar for bar in bars if bar.share >= MIN_SHOWN_SHARE), key=lambda bar: -bar.share)
    languages = names_of_sides(pair.languages)
    if not word.is_source:
        languages.reverse()
    return BarGroup(f"{word.quoted} looks at", " → ".join(languages), bars)


def _sentence(content: CardContent, pair: AlignedPair, link: Link) -> list[Part]:
    """Return the reason as one sentence, whose clauses are separated by semicolons."""
    second = _second_word(content, pair, link) if content.is_linked(link) else None
    why = _choice_clause(pair, link) if second is None else _second_word_clause(*second, link)
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
    best = best_targets(pair), best_sources(pair)  # of each source word, of each target word
    preferences: list[str] = []
    for side in (1, 0):
        word = PairWord(pair, side, link[side])
        if best[side][word.position] != link[1 - side]:
            preferences.append(_preference(word, best[side][word.position], link[1 - side]))
    return ", and ".join(preferences) or "each is the other’s first choice"


def _preference(word: PairWord, best: int, partner: int) -> str:
    """Return a clause such as "seen from ‘le’, ‘the’ is likelier than ‘black’"."""
    likelier = "no partner" if best < 0 else word.partner(best).quoted
    return f"seen from {word.quoted}, {likelier} is likelier than {word.partner(partner).quoted}"


def _second_word(content: CardContent, pair: AlignedPair, link: Link) -> tuple[PairWord, int] | None:
    """Return the second word of a link, and the position of the word it is next to; None for other links."""
    least = pair.threshold
    if pair.second is None or least is None:
        return None

    def is_likely(other: Link) -> bool:
        return content.is_linked(other) and bool(pair.matrix.weights[other.target, other.source] >= least)

    words = pair.tokens[0][link.source], pair.tokens[1][link.target]
    has_sign = not all(any(map(str.isalnum, word)) for word in words)
    if has_sign or is_likely(link):
        return None
    for side in (1, 0):
        word = PairWord(pair, side, link[side])
        others = range(len(pair.tokens[1 - side]))
        for neighbor in (word.position - 1, word.position + 1):
            next_to_it = word._replace(position=neighbor).link(link[1 - side])
            if is_likely(next_to_it) and not any(is_likely(word.link(other)) for other in others):
                return word, neighbor
    return None


def _second_word_clause(word: PairWord, neighbor: int, link: Link) -> str:
    assert word.pair.second is not None
    weights, _ = attention_of(word)
    beside = word._replace(position=neighbor).quoted
    if float(weights[link[1 - word.side]]) < word.pair.second - HALF_LEVEL:
        return f"{word.quoted} is next to {beside}, with which it is an expression in a dictionary"
    return f"{word.quoted} is a second word next to {beside}, which needs less"


def _together_clause(content: CardContent, pair: AlignedPair, link: Link) -> list[Part]:
    number = content.probability(link)
    told: Part = (whole_percent(number), "bold")
    if content.is_linked(link):
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
    is_linked = content.is_linked(link)
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
