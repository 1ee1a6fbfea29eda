"""Forms of words: the parts under which a word is counted, so that rare words share the counts of relatives.

The forms are the word itself, its first letters and perhaps its lemma. The first three letters of a short
word are the whole word again, so a side of short words has other forms, among them the first and the last
letter.

Forms that are spelled alike, such as *president* and *presidente* or *президент*, are likely translations and
get prior counts.

Axes: P word pairs of a bitext, Q pairs of forms, F forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Bits, Floats, Ints, Longs, block_slices
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import PairIndex, rank_distinct, split_keys
from nmtalign.text.lemmas import lemmatizer
from nmtalign.text.tokenization import normal_form

MAX_SHORT_LETTERS = 3.0  # words are short if their mean length is below this
HASH_BITS = 127  # of the set of hashed letter pairs of a form
MIN_DICE = 0.4  # two forms are similar if their Dice coefficient is above this
EVERY = slice(None)
FormKind = int | str  # a number of letters, or the language whose lemmas are the forms
FORM_PAIRS_PER_BLOCK = 1 << 16  # take one megabyte
_ROMAN = {"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sh", "ю": "yu", "я": "ya", "ъ": "", "ь": ""}
ROMAN = str.maketrans(
    {**_ROMAN, **dict(zip("абвгдезийклмнопрстуфхыэё", "abvgdeziyklmnoprstufhyee", strict=True))}
)


def short_words(words: Sequence[str]) -> bool:
    """Return whether the words of a side are as short as in scripts without spaces.

    The mean over distinct words is about 2 in Chinese and Japanese, 6 to 11 in European languages.
    """
    lengths = [len(word) for word in words if any(map(str.isalpha, word))]
    return sum(lengths) < MAX_SHORT_LETTERS * len(lengths)


def prefix_slice(letters: int) -> slice:
    """Return the slice of the first `letters` characters (the last ones if negative); 0 is the whole word."""
    return slice(letters, None) if letters < 0 else slice(0, letters or None)


def form_function(kind: FormKind) -> Callable[[str], str]:
    """Return the function from a word to its form: letters by :func:`prefix_slice`, or the lemma."""
    return lemmatizer(kind) if isinstance(kind, str) else itemgetter(prefix_slice(kind))


def number_forms(words: Sequence[str], kind: FormKind) -> tuple[Ints, list[str]]:
    """Return the number of the form of each word, shape (len(words),), and the distinct forms.

    ``forms[numbers[k]]`` is the form of ``words[k]`` by :func:`form_function`; form 0 is the padding "".
    """
    shortened = [*map(form_function(kind), words)]
    number = number_words(dict.fromkeys(["", *shortened]))
    return np.fromiter(map(number.__getitem__, shortened), np.int32, len(words)), [*number]


@dataclass(frozen=True, eq=False, repr=False)
class Forms:
    """The distinct forms of one kind on one side."""

    forms: list[str]

    @cached_property
    def letter_pairs(self) -> Bits:
        """Hashed letter pairs, as in :func:`letter_pairs`."""
        return letter_pairs(self.forms)

    @cached_property
    def sizes(self) -> Floats:
        """Number of letter pairs of each form."""
        return _ones([*self.letter_pairs])

    @cached_property
    def _same(self) -> dict[Forms, Longs]:
        return {}

    def same(self, other: Forms) -> Longs:
        """Return the number of the identical form on the other side if likely a translation, else -1."""
        if other not in self._same:
            comparable = [form if len(form) > 2 or any(map(str.isdigit, form)) else "" for form in self.forms]
            numbers = look_up(number_words(other.forms), comparable)
            numbers[numbers == 0] = -1
            self._same[other] = numbers
        return self._same[other]


def forms_of(side: EncodedSide, letters: FormKind) -> tuple[Ints, Forms]:
    """Return the number of the form of each word of a side, and the distinct forms."""

    def shortened() -> tuple[Ints, Forms]:
        number, forms = number_forms(side.words, letters)
        return number, Forms(forms)

    return side.memo(("forms", letters), shortened)


@dataclass(frozen=True, eq=False, repr=False)
class FormPairs:
    """The pairs of forms of one kind that the word pairs of a bitext have."""

    letters: tuple[FormKind, FormKind]
    # of both sides: the forms, and the form of each word
    forms: tuple[list[str], list[str]]
    numbers: tuple[Ints, Ints]
    pair: Ints | None  # (P,): pair of forms of each word pair; None if the numbers are the same
    # (Q,): both forms of each pair
    source: Ints
    target: Ints
    # prior counts of pairs with similar spellings: distinct pairs, and their counts
    alike: Longs
    prior: Floats

    def by_word_pair(self, values: Floats, part: slice = EVERY) -> Floats:
        """Return the values of pairs of forms (Q,) by word pair (P,), or for a `part` of them."""
        return values[part] if self.pair is None else values.take(self.pair[part])


def make_form_pairs(
    source: EncodedSide,
    target: EncodedSide,
    pairs: PairIndex,
    letters: tuple[FormKind, FormKind],
    *,
    spelling: float,
    merge_equal: bool = True,
) -> FormPairs:
    """Return the pairs of forms, with `letters`, of word pairs.

    `spelling` is the prior count of two identical forms; similar forms have less. Counts can be summed by
    form only if equal pairs of forms have one number (`merge_equal`); otherwise each word pair has an entry.
    """
    (s, s_forms), (t, t_forms) = forms_of(source, letters[0]), forms_of(target, letters[1])
    S, T, of_pair = len(s_forms.forms), len(t_forms.forms), None
    # if no words share a form, the numbers are the same
    at_source = pairs.source if len(s) == S else s[pairs.source]
    at_target = pairs.target if len(t) == T else t[pairs.target]
    if merge_equal and any(letters):
        keys, of_pair = rank_distinct(at_source.astype(np.int64) * T + at_target)
        at_source, at_target = split_keys(keys, T)
    prior = np.float32(spelling) * spelled_alike(s_forms, t_forms, at_source, at_target)
    alike = np.flatnonzero(prior)
    forms = s_forms.forms, t_forms.forms
    return FormPairs(letters, forms, (s, t), of_pair, at_source, at_target, alike, prior[alike])


def spelled_alike(source: Forms, target: Forms, at_source: Ints, at_target: Ints) -> Floats:
    """Return the similarity of the spellings of pairs of forms, from 0 to 1, shape (Q,).

    The similarity is 1 for identical forms that have three letters or a digit. For other forms of at least
    three Latin or Cyrillic letters, the similarity grows with the Dice coefficient of the letter pairs (Brew
    and McKelvie 1996) above `MIN_DICE`, if at least two letter pairs are shared. Accents are ignored.
    """
    same = source.same(target)
    s, t = source.letter_pairs, target.letter_pairs
    result = np.asarray(same[at_source] == at_target, dtype=np.float32)
    for block in block_slices(len(result), FORM_PAIRS_PER_BLOCK):
        e, f = at_source[block], at_target[block]
        common = _ones([a.take(e) & b.take(f) for a, b in zip(s, t, strict=True)])
        some = np.flatnonzero(common > 1)  # most pairs share none or one
        dice = 2 * common[some] / (source.sizes[e[some]] + target.sizes[f[some]])
        result[block][some] = np.maximum(result[block][some], (dice - MIN_DICE) / (1 - MIN_DICE))
    return result


def _ones(bits: Sequence[Bits]) -> Floats:
    """Count the 1 bits of each column of two rows."""
    first, second = map(_bit_count, bits)
    return np.asarray(first + second, dtype=np.float32)


def _bit_count(bits: Bits) -> NDArray[np.unsignedinteger]:
    if hasattr(np, "bitwise_count"):  # NumPy 2
        return np.asarray(np.bitwise_count(bits))
    twos = bits - ((bits >> 1) & 0x5555555555555555)
    fours = (twos & 0x3333333333333333) + ((twos >> 2) & 0x3333333333333333)
    return np.asarray((((fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56)


def letter_pairs(forms: Sequence[str]) -> Bits:
    """Return the pairs of neighboring letters of each form as a set of hashed bits, shape (2, F).

    The ends of a form count as letters. A form with fewer than three letters, or with characters that are
    neither Latin nor Cyrillic letters, has an empty set.
    """
    text = normal_form("NFD", "\n".join(["", *forms, ""]).lower().translate(ROMAN))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    codes = codes[(codes < 0x300) | (codes > 0x36F)]  # without accents
    end = codes == ord("\n")
    form = np.cumsum(end)[:-1] - 1
    letter = ((codes >= ord("a")) & (codes <= ord("z"))) | ((codes >= 0xC0) & (codes < 0x250))
    letters, others = (np.bincount(form, kind[:-1], len(forms)) for kind in (letter, ~(letter | end)))
    bits = np.zeros((len(forms), HASH_BITS + 1), dtype=bool)
    bits[form, (31 * codes[:-1] + 7 * codes[1:]) % HASH_BITS] = True
    bits[(letters < 3) | (others > 0)] = False
    return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)
