"""Find the likely languages of the two sides by their most frequent function words.

This needs neither a model nor much text. It decides only between languages of the table, and only where one
side is clearly in a language and clearly not in the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from nmtalign.checks.findings import Finding
from nmtalign.checks.pairs import find_words
from nmtalign.text.languages import known_language
from nmtalign.text.tokenization import Languages

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


def _read_frequent_words() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _FUNCTION_WORDS.strip().split("\n"):
        language, words = line.split(": ")
        table[language] = frozenset(words.split(" "))
    return table


FUNCTION_WORDS = _read_frequent_words()


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
    """Return the language whose function words are most frequent."""
    return max(FUNCTION_WORDS, key=lambda code: sum(counts[word] for word in FUNCTION_WORDS[code]))


def _count_first_words(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word occurs at the start of a text."""
    counts: Counter[str] = Counter()
    for line in islice(lines, MAX_COUNTED_LINES):
        counts.update(find_words(line.casefold()))
    return counts
