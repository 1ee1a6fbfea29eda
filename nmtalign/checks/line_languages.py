"""Findings about languages: swapped sides, a third language, files in the wrong order.

The languages of lines are learned from the text itself. A word speaks for the side on which it occurs in more
lines. A line in a different language from the rest of its side has words that are rare there, and sequences
of letters that are rare, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from nmtalign.arrays import Doubles, Flags
from nmtalign.checks.findings import Finding
from nmtalign.checks.lines import MIN_COPIED_WORDS, STANDARD_PER_MEDIAN_DEVIATION, find_words, plain_words
from nmtalign.names import SIDES
from nmtalign.text.languages import known_language
from nmtalign.text.tokenization import Languages

MIN_LINES_FOR_LANGUAGES = 200  # fewer lines say too little about a language
_MAX_WORD_LOG_ODDS = 3.0  # one word alone cannot decide
_MIN_LINE_LOG_ODDS = 3.0  # a line with more belongs to the other side
_MIN_WORDS = 3  # the language of a shorter line is not judged
_MIN_COPIED_SHARE = 0.5  # of the words of both lines
_MIN_ERROR_WORDS = 5  # a shorter line is never an error for being unlike its side
_MAX_SEEN_LINES = 50  # words that occur in more lines count as equally well known
_TRIGRAM_BUCKETS = 1 << 18
# a line with a lower score is in another language, or may be
_MAX_ERROR_SCORE = -4.5
_MAX_HINT_SCORE = -2.5
_LONG_LINE_QUANTILE = 0.75  # lines that are at least as long show how much means vary at any length
_MIN_DEVIATION_SHARE = 0.5  # a line has at least this share of the deviation of long lines


class LanguageEvidence:
    """The evidence of the words of lines about the languages of the lines."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        self.words = tuple([find_words(line.casefold()) for line in side] for side in (source, target))
        counts = tuple(_line_counts(lines) for lines in self.words)
        # log-odds for the source, from the lines of both sides that have the word
        self.source_odds = _sums_of_words(self.words[0], counts, is_source=True)
        self.target_odds = _sums_of_words(self.words[1], counts, is_source=False)
        self.outlying = tuple(
            _outlying(lines, words, count)
            for lines, words, count in zip((source, target), self.words, counts, strict=True)
        )

    @property
    def is_swapped(self) -> Flags:
        """Which pairs (N,) have sides that both belong to the other side."""
        both = (self.source_odds < 0) & (self.target_odds > 0)
        return np.asarray(both & (self.target_odds - self.source_odds > 2 * _MIN_LINE_LOG_ODDS))

    def of_other_side(self, side: int) -> Flags:
        """Return which lines (N,) of a side are in the language of the other side."""
        odds = -self.source_odds if side == 0 else self.target_odds
        return np.asarray((odds > _MIN_LINE_LOG_ODDS) & self.has_words(side, _MIN_WORDS))

    def has_words(self, side: int, count: int) -> Flags:
        """Return which lines (N,) of a side have at least `count` words."""
        return np.array([len(words) >= count for words in self.words[side]], bool)


def _line_counts(words_of_lines: Sequence[Sequence[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for words in words_of_lines:
        counts.update(set(words))
    return counts


def _sums_of_words(
    words_of_lines: Sequence[Sequence[str]], counts: tuple[Counter[str], ...], *, is_source: bool
) -> Doubles:
    """Return the log-odds (N,) of lines for the source side; a line does not count for itself."""
    source_counts, target_counts = counts
    odds: dict[str, float] = {}
    for word in source_counts.keys() | target_counts.keys():
        of_source = max(source_counts[word] - is_source, 0)
        of_target = max(target_counts[word] - (not is_source), 0)
        ratio = float(np.log((of_source + 0.5) / (of_target + 0.5))) if of_source + of_target > 1 else 0.0
        odds[word] = min(max(ratio, -_MAX_WORD_LOG_ODDS), _MAX_WORD_LOG_ODDS)
    return np.array([sum(odds[word] for word in set(words)) for words in words_of_lines])


# --- lines unlike the rest of their side ---------------------------------------------------------


def _outlying(lines: Sequence[str], words_of_lines: Sequence[Sequence[str]], counts: Counter[str]) -> Doubles:
    """Return how much each line (N,) is unlike the others: below 0 if its words and letters are rarer."""
    letters, letter_counts = _trigram_scores(lines)
    known = np.zeros(len(lines))
    for number, words in enumerate(words_of_lines):
        if words:
            seen = [min(counts[word] - 1, _MAX_SEEN_LINES) for word in words]
            known[number] = sum(seen) / (_MAX_SEEN_LINES * len(words))
    word_counts = np.array([len(words) for words in words_of_lines], float)
    scores = _standard_scores(letters, letter_counts) + _standard_scores(known, word_counts)
    scores[word_counts < _MIN_WORDS] = 0
    return np.asarray(scores / np.sqrt(2))


def _standard_scores(means: Doubles, counts: Doubles) -> Doubles:
    """Return the differences from the usual mean in deviations; the mean of few items varies more."""
    is_usable = counts >= _MIN_WORDS
    if not is_usable.any():
        return np.zeros(len(means))
    difference = means - np.median(means[is_usable])
    sizes = np.abs(difference) * np.sqrt(np.maximum(counts, 1))
    unit = STANDARD_PER_MEDIAN_DEVIATION * float(np.median(sizes[is_usable]))
    long_lines = counts >= np.quantile(counts[is_usable], _LONG_LINE_QUANTILE)
    median_of_long_lines = float(np.median(np.abs(difference[long_lines])))
    floor = _MIN_DEVIATION_SHARE * STANDARD_PER_MEDIAN_DEVIATION * median_of_long_lines
    deviation = np.sqrt(unit**2 / np.maximum(counts, 1) + floor**2)
    return np.asarray(difference / np.maximum(deviation, 1e-9))


def _trigram_scores(lines: Sequence[str]) -> tuple[Doubles, Doubles]:
    """Return the mean log-probability (N,) of the trigrams of letters in each line, and their number (N,)."""
    text = "\n".join(lines).lower() + "\n"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    line_of_code = np.cumsum(codes == ord("\n")) - (codes == ord("\n"))
    if len(codes) < 3:
        return np.zeros(len(lines)), np.zeros(len(lines))
    mixed = codes[:-2] * np.uint64(0x9E3779B1)
    mixed += codes[1:-1] * np.uint64(0x85EBCA77)
    mixed += codes[2:] * np.uint64(0xC2B2AE3D)
    buckets = ((mixed >> np.uint64(7)) % np.uint64(_TRIGRAM_BUCKETS)).astype(np.int64)
    is_inside = line_of_code[:-2] == line_of_code[2:]
    buckets = buckets[is_inside]
    numbers = line_of_code[:-2][is_inside]
    counts = np.bincount(buckets, minlength=_TRIGRAM_BUCKETS)
    log_probabilities = np.log(np.maximum(counts[buckets] - 1, 0) + 0.1)
    totals = np.bincount(numbers, minlength=len(lines)).astype(float)
    sums = np.bincount(numbers, log_probabilities, minlength=len(lines))
    return sums / np.maximum(totals, 1), totals


# --- findings ------------------------------------------------------------------------------------


def _is_mostly_copied(source: str, target: str) -> bool:
    """Return whether two lines have most of their plain words in common; names do not count."""
    source_words, target_words = (
        Counter(word for word in plain_words(line) if not word[0].isupper()) for line in (source, target)
    )
    shared = (source_words & target_words).total()
    longest = max(source_words.total(), target_words.total())
    return shared >= MIN_COPIED_WORDS and shared >= _MIN_COPIED_SHARE * longest


def find_languages(
    source: Sequence[str], target: Sequence[str], translated: Doubles, is_copy: Flags
) -> Iterator[Finding]:
    """Yield swapped pairs, and lines in a different language from the rest of their side.

    `translated` (N,) is the evidence that the pairs are translations; a line that has a good partner is not
    in another language, unless most of its words are those of its partner. Copies (N,) are found elsewhere.
    """
    if len(source) < MIN_LINES_FOR_LANGUAGES:
        return
    evidence = LanguageEvidence(source, target)
    is_swapped = evidence.is_swapped & ~is_copy
    for number in np.flatnonzero(is_swapped).tolist():
        strength = evidence.target_odds[number] - evidence.source_odds[number]
        yield Finding(number, "pair", "swapped", f"log-odds {strength:.0f}")
    for index, side in enumerate(SIDES):
        of_other = evidence.of_other_side(index) & ~is_swapped & ~is_copy
        outlying = evidence.outlying[index]
        is_foreign = of_other | ((outlying < _MAX_ERROR_SCORE) & evidence.has_words(index, _MIN_ERROR_WORDS))
        may_be_foreign = (outlying < _MAX_HINT_SCORE) & ~is_copy & ~is_swapped
        has_no_partner = translated < 0
        may_be_foreign &= has_no_partner
        for number in np.flatnonzero(of_other).tolist():
            has_no_partner[number] |= _is_mostly_copied(source[number], target[number])
        is_foreign &= has_no_partner
        for number in np.flatnonzero(is_foreign | may_be_foreign).tolist():
            is_error = is_foreign[number] and not is_copy[number] and not is_swapped[number]
            value = "the other side's language" if of_other[number] else f"score {outlying[number]:.1f}"
            yield Finding(number, side, "language" if is_error else "maybe-language", value)


# --- languages of files --------------------------------------------------------------------------
# The likely languages of the two sides, by their most frequent function words. This needs neither a model nor
# much text. It decides only between languages of the table, and only where one side is clearly in a language
# and clearly not in the other.

MAX_COUNTED_LINES = 2_000  # more lines from the start of a text do not change the result
_MIN_FUNCTION_WORD_SHARE = 0.05
_MIN_FUNCTION_WORDS = 8
_MIN_SHARE_RATIO = 3.0  # a language needs so many times the share of the other languages
LANGUAGES_OF_BUNDLED_MODEL = ("en", "fr")

_FUNCTION_WORDS = """
bg: на и да се от за не че са по като ще към които си му този или но как има беше
ca: de la i el que els les un una per amb és del als no en va són ha aquest seva més
cs: a se na v je že to s z do o k by jsem ale jako jsou jsme si tak které bude při
da: og i at det er en til på som for med af den ikke der de jeg har vi et var men
de: der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es ich wir
el: και το να του της η των την με που για είναι τα ο από στο οι δεν θα τον ότι
en: the of and to in is that for it on with was as are be this by you not have at we from
es: de la que el en y los se del las un por con no una para es al lo como más pero su
et: ja on ei et see oli ka kui ta ma ning mis aga oma seda või kes välja mida nii
fi: ja on ei että se hän oli ovat kun myös mutta tai niin mitä joka ole tämä minä kuin sen
fr: de la le et les des en un du une que est pour qui dans il ne pas sur ce au plus par je nous vous avec
hr: i u je se na da za su od s kao što koji ne bi iz će ili sam smo ali biti ima
hu: a az és hogy nem is egy de meg ez volt ha csak már el azt mint vagy van én lehet
it: di e il la che in un per è una del non si le dei da con sono al della più come ma lo gli
lt: ir kad į yra iš su buvo kaip tai bet o ne už ar per jis savo apie nuo taip
lv: un ir ar no par ka lai kas tas uz bija kā nav vai es bet pie to tiek arī
nl: de van het een en in is dat op te zijn met voor niet die aan er maar om ook als ik je
no: og i det er på som en til for av med at den har ikke de jeg vi et var han men
pl: w i na z do nie się to że jest o a po jak za przez ale są od jego dla
pt: de a o que e do da em um para não uma os no se na por as com mais dos são foi
ro: și de în a la cu că nu un o pe se din care este mai sunt pentru au fi dar
ru: и в не на что с я как это по он но к из у за от так же вы был для мы
sk: a v na sa je že to s z do o aby by ako sú som ale si pri tak ktoré bude
sl: in je v na se da za so ki z ne pa s po kot bi tudi ali iz bo sem
sv: och i att det är som en på för av med den inte till om har de ett jag vi var men
tr: ve bir bu da de için ne ile çok daha olarak gibi var o ben mi olan kadar sonra
uk: і в не на що з та як це до я але за у він від так для ми про або
"""


_ROWS = [line.split(": ") for line in _FUNCTION_WORDS.strip().split("\n")]
FUNCTION_WORDS = {language: frozenset(words.split(" ")) for language, words in _ROWS}


def find_swapped_files(
    source: Sequence[str], target: Sequence[str], languages: Languages
) -> Iterator[Finding]:
    """Yield a finding if the sides are in the languages of each other, or seem to be.

    Without `languages`, nothing says which side is which. Then the sides are compared with those of the
    bundled model, which is only a hint.

    >>> sides = ["the cat is on the table and in the house"] * 9, ["le chat est dans la maison"] * 9
    >>> [finding.value for finding in find_swapped_files(*sides, ("fr", "en"))]
    ['source looks like en, target like fr']
    >>> list(find_swapped_files(*sides, ("en", "fr")))
    []
    """
    codes = _language_code(languages[0]), _language_code(languages[1])
    is_hint = codes == (None, None)
    first, second = LANGUAGES_OF_BUNDLED_MODEL if is_hint else codes
    if first not in FUNCTION_WORDS or second not in FUNCTION_WORDS or first == second:
        return
    source_counts = _count_first_words(source)
    target_counts = _count_first_words(target)
    if not (_is_rather(source_counts, second, first) and _is_rather(target_counts, first, second)):
        return
    likeliest = _likeliest_language(source_counts), _likeliest_language(target_counts)
    if is_hint and likeliest != (second, first):
        return
    kind = "maybe-swapped-files" if is_hint else "swapped-files"
    yield Finding(0, "pair", kind, f"source looks like {second}, target like {first}")


def _language_code(name: str | None) -> str | None:
    """Return the code of a language without its variant; None if the name is that of no language."""
    tag = None if name is None else known_language(name)
    return None if tag is None else tag.partition("-")[0]


def _is_rather(counts: Counter[str], language: str, other: str) -> bool:
    """Return whether a text has many function words of a language, and few of another one."""
    count = sum(counts[word] for word in FUNCTION_WORDS[language] - FUNCTION_WORDS[other])
    other_count = sum(counts[word] for word in FUNCTION_WORDS[other] - FUNCTION_WORDS[language])
    least = max(
        _MIN_FUNCTION_WORDS, _MIN_FUNCTION_WORD_SHARE * counts.total(), _MIN_SHARE_RATIO * other_count
    )
    return count >= least


def _likeliest_language(counts: Counter[str]) -> str:
    return max(FUNCTION_WORDS, key=lambda code: sum(counts[word] for word in FUNCTION_WORDS[code]))


def _count_first_words(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word occurs at the start of a text."""
    counts: Counter[str] = Counter()
    for line in islice(lines, MAX_COUNTED_LINES):
        counts.update(find_words(line.casefold()))
    return counts
