"""Forms of words: the parts under which a word is counted, so that rare words share the counts of relatives.

The forms are the word itself, its first letters and perhaps its lemma. The first three letters of a short
word are the whole word again, so a side of short words has other forms, among them the first and the last
letter.

Forms that are spelled alike, such as *president* and *presidente* or *президент*, are likely translations and
get prior counts.

Axes: P word pairs of a bitext, Q pairs of forms, V words of a vocabulary, with the padding
as word 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Bits, Doubles, Floats, Integers, Ints, Longs, block_slices
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import WordPairIndex, join_keys, rank_distinct, split_keys
from nmtalign.state import Stored
from nmtalign.text.languages import lemmatizer
from nmtalign.text.tokenization import normal_form

MAX_SHORT_LETTERS = 3.0  # words are short if their mean length is below this
HASH_BITS = 127  # size of the set of hashed letter pairs of a form
MIN_DICE = 0.4  # two forms are similar if their Dice coefficient is above this
# the forms of a side: n > 0 is the first n letters of a word, n < 0 its last -n letters, 0 the whole word,
# and a string the language whose lemmas are the forms
FormKind = int | str
WHOLE_WORD = 0
FORM_PAIRS_PER_BLOCK = 1 << 16  # take one megabyte
_ROMAN = {"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sh", "ю": "yu", "я": "ya", "ъ": "", "ь": ""}
ROMAN = str.maketrans(
    {**_ROMAN, **dict(zip("абвгдезийклмнопрстуфхыэё", "abvgdeziyklmnoprstufhyee", strict=True))}
)
_find_cyrillic = re.compile("[\u0430-\u0451]").search


def short_words(words: Sequence[str]) -> bool:
    """Return whether the words of a side are as short as in scripts without spaces.

    The mean over distinct words is about 2 in Chinese and Japanese, 6 to 11 in European languages.
    """
    lengths = [len(word) for word in words if any(map(str.isalpha, word))]
    return sum(lengths) < MAX_SHORT_LETTERS * len(lengths)


def prefix_slice(letters: int) -> slice:
    """Return the slice of the first `letters` characters (the last ones if negative); 0 is the whole word."""
    return slice(letters, None) if letters < 0 else slice(0, letters or None)


def form_function(form_kind: FormKind) -> Callable[[str], str]:
    """Return the function from a word to its form: letters by :func:`prefix_slice`, or the lemma."""
    return lemmatizer(form_kind) if isinstance(form_kind, str) else itemgetter(prefix_slice(form_kind))


def number_forms(words: Sequence[str], form_kind: FormKind) -> tuple[Ints, list[str]]:
    """Return the number of the form of each word, shape (len(words),), and the distinct forms.

    ``forms[numbers[k]]`` is the form of ``words[k]`` by :func:`form_function`; form 0 is the padding "".
    """
    forms = list(map(form_function(form_kind), words))
    number = number_words(dict.fromkeys(["", *forms]))
    return np.fromiter(map(number.__getitem__, forms), np.int32, len(words)), list(number)


def forms_of(side: EncodedSide, form_kind: FormKind) -> tuple[Ints, list[str]]:
    """Return the number of the form of each word of a side, and the distinct forms."""
    if form_kind == WHOLE_WORD:
        return np.arange(len(side.words), dtype=np.int32), side.words
    return side.memo(("forms", form_kind), lambda: number_forms(side.words, form_kind))


@dataclass(frozen=True, eq=False, repr=False)
class FormPairs:
    """The pairs of forms of one kind that the word pairs of a bitext have."""

    form_kinds: tuple[FormKind, FormKind]  # kinds of the source forms and of the target forms
    strings: tuple[list[str], list[str]]  # distinct source forms and target forms
    form_numbers: tuple[Ints, Ints]  # (V,): number of the form of each source word and of each target word
    pair_numbers: Ints | None  # (P,): pair of forms of each word pair; None if the numbers are the same
    source: Ints  # (Q,): number of the source form of each pair
    target: Ints  # (Q,): number of the target form of each pair
    similar_pairs: Longs  # the pairs of forms with similar spellings, distinct
    spelling_counts: Floats  # prior counts of the similar pairs


def make_form_pairs(
    source: EncodedSide,
    target: EncodedSide,
    word_pairs: WordPairIndex,
    form_kinds: tuple[FormKind, FormKind],
    *,
    spelling: float,
    merge_equal: bool = True,
) -> FormPairs:
    """Return the pairs of forms, of some kinds, of word pairs.

    `spelling` is the prior count of two identical forms; similar forms have less. Counts can be summed by
    form only if equal pairs of forms have one number (`merge_equal`); otherwise each word pair has an entry.
    """
    source_numbers, source_forms = forms_of(source, form_kinds[0])
    target_numbers, target_forms = forms_of(target, form_kinds[1])
    target_count = len(target_forms)
    # if no words share a form, forms have the numbers of their words
    at_source = word_pairs.source
    if len(source_forms) < len(source_numbers):
        at_source = source_numbers.take(word_pairs.source)
    at_target = word_pairs.target
    if target_count < len(target_numbers):
        at_target = target_numbers.take(word_pairs.target)
    pair_numbers = None
    if merge_equal and form_kinds != (WHOLE_WORD, WHOLE_WORD):
        all_keys = join_keys(at_source, at_target, target_count)
        keys, pair_numbers = rank_distinct(all_keys)
        at_source, at_target = split_keys(keys, target_count)
    spelling_counts = np.float32(spelling) * spelled_alike(
        spellings_of(source, target, form_kinds), at_source, at_target
    )
    similar_pairs = np.flatnonzero(spelling_counts)
    return FormPairs(
        form_kinds=form_kinds,
        strings=(source_forms, target_forms),
        form_numbers=(source_numbers, target_numbers),
        pair_numbers=pair_numbers,
        source=at_source,
        target=at_target,
        similar_pairs=similar_pairs,
        spelling_counts=spelling_counts[similar_pairs],
    )


class Spellings(NamedTuple):
    """What is known of the spellings of the source forms and of the target forms of one kind."""

    # (source forms,): number of the identical target form if that is likely a translation, else -1
    same: Longs
    letter_pairs: tuple[Bits, Bits]  # hashed, as in :func:`letter_pairs`
    sizes: tuple[Floats, Floats]  # number of letter pairs of each form

    @classmethod
    def of(cls, source: Sequence[str], target: Sequence[str]) -> Spellings:
        """Return the spellings of source forms and of target forms."""
        comparable = [form if len(form) > 2 or any(map(str.isdigit, form)) else "" for form in source]
        same = look_up(number_words(target), comparable)
        same[same == 0] = -1
        source_pairs, target_pairs = letter_pairs(source), letter_pairs(target)
        sizes = _count_ones(*source_pairs), _count_ones(*target_pairs)
        return cls(same, (source_pairs, target_pairs), sizes)


def spellings_of(
    source: EncodedSide, target: EncodedSide, form_kinds: tuple[FormKind, FormKind]
) -> Spellings:
    """Return the spellings of the forms of both sides of a text."""
    forms = [forms_of(side, kind)[1] for side, kind in zip((source, target), form_kinds, strict=True)]
    return source.memo(("spellings", target, form_kinds), lambda: Spellings.of(*forms))


def spelled_alike(spellings: Spellings, at_source: Ints, at_target: Ints) -> Floats:
    """Return the similarity of the spellings of pairs of forms, from 0 to 1, shape (Q,).

    The similarity is 1 for identical forms that have three letters or a digit. For other forms of at least
    three Latin or Cyrillic letters, the similarity grows with the Dice coefficient of the letter pairs (Brew
    and McKelvie 1996) above `MIN_DICE`, if at least two letter pairs are shared. Accents are ignored.
    """
    source_pairs, target_pairs = spellings.letter_pairs
    source_sizes, target_sizes = spellings.sizes
    similarity = np.asarray(spellings.same.take(at_source) == at_target, dtype=np.float32)
    for block in block_slices(len(similarity), FORM_PAIRS_PER_BLOCK):
        e = at_source[block]
        f = at_target[block]
        first_common = source_pairs[0].take(e) & target_pairs[0].take(f)
        second_common = source_pairs[1].take(e) & target_pairs[1].take(f)
        common = _count_ones(first_common, second_common)
        some = np.flatnonzero(common > 1)  # most pairs of forms share no letter pair, or one
        dice = 2 * common[some] / (source_sizes[e[some]] + target_sizes[f[some]])
        in_block = similarity[block]  # a view
        in_block[some] = np.maximum(in_block[some], (dice - MIN_DICE) / (1 - MIN_DICE))
    return similarity


def _count_ones(first_row: Bits, second_row: Bits) -> Floats:
    """Count the 1 bits of each column of two rows of bits."""
    return np.asarray(_bit_count(first_row) + _bit_count(second_row), dtype=np.float32)


def _bit_count(bits: Bits) -> NDArray[np.unsignedinteger]:
    """Count the 1 bits of each number."""
    if hasattr(np, "bitwise_count"):  # NumPy 2
        return np.asarray(np.bitwise_count(bits))
    twos = bits - ((bits >> 1) & 0x5555555555555555)
    fours = (twos & 0x3333333333333333) + ((twos >> 2) & 0x3333333333333333)
    return np.asarray((((fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56)


def letter_pairs(forms: Sequence[str]) -> Bits:
    """Return the pairs of neighboring letters of each form as a set of hashed bits, shape (2, forms).

    The ends of a form count as letters. A form with fewer than three letters, or with characters that are
    neither Latin nor Cyrillic letters, has an empty set.
    """
    text = "\n".join(["", *forms, ""]).lower()
    if _find_cyrillic(text):
        text = text.translate(ROMAN)
    text = normal_form("NFD", text)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    codes = codes[(codes < 0x300) | (codes > 0x36F)]  # without accents
    end = codes == ord("\n")
    form = np.cumsum(end)[:-1] - 1
    letter = ((codes >= ord("a")) & (codes <= ord("z"))) | ((codes >= 0xC0) & (codes < 0x250))
    other = ~(letter | end)
    letters = np.bincount(form, letter[:-1], len(forms))  # number of letters of each form
    others = np.bincount(form, other[:-1], len(forms))  # number of other characters
    bits = np.zeros((len(forms), HASH_BITS + 1), dtype=bool)
    hashes = (31 * codes[:-1] + 7 * codes[1:]) % HASH_BITS
    bits[form, hashes] = True
    bits[(letters < 3) | (others > 0)] = False
    return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)


# --- sums by form --------------------------------------------------------------------------------
# The expected counts of word pairs and of unaligned words are added up for their forms. `FormPairs` are the
# pairs of forms of a text, `FormPairCounts` their counts of one kind of form, with the `FormCounts` of both
# sides.


MAX_COUNT = 10**12  # no training text has more words or links


class FormCounts(NamedTuple):
    """Expected counts of the forms of one kind on one side."""

    linked: Doubles  # joint counts of each form
    null: Doubles  # how often each form was aligned to null
    all_null: float  # sum of `null` over all forms of the model

    @classmethod
    def of_words(cls, linked: Doubles, null: Doubles) -> FormCounts:
        """Return the counts of whole words."""
        return cls(linked, null, float(null.sum()))

    def apply(self, function: Callable[[Doubles], Doubles]) -> FormCounts:
        """Return the counts with a function applied to `linked` and to `null`."""
        return self._replace(linked=function(self.linked), null=function(self.null))

    @classmethod
    def from_state(cls, stored: Stored, side: str, forms: int | None) -> FormCounts:
        """Return the counts of the forms of a side, shape (forms,); None accepts any number of forms."""
        linked = stored.array(f"{side}_linked", "f", (forms,), minimum=0, maximum=MAX_COUNT)
        null = stored.array(f"{side}_null", "f", (len(linked),), minimum=0, maximum=MAX_COUNT)
        all_null = stored.number(f"{side}_null", minimum=0, maximum=MAX_COUNT)
        return cls(linked.astype(np.float64), null.astype(np.float64), all_null)


class FormPairCounts(NamedTuple):
    """Expected counts of one kind of form: links of pairs of forms, and counts of the forms of both sides."""

    links: Floats  # (Q,)
    sides: tuple[FormCounts, FormCounts]


def form_pair_counts(
    form_pairs_of_kinds: Sequence[FormPairs],
    word_pairs: WordPairIndex,
    links: Doubles,
    source_null: Doubles,
    target_null: Doubles,
) -> list[FormPairCounts]:
    """Sum expected counts by form, for each kind of form.

    `links` (P,) are the expected links of each word pair, the others (V,) how often each word is unaligned.
    """
    counted = np.flatnonzero(links)  # late in training, at most one word pair in ten
    # if most word pairs have a count, adding all of them is faster than picking these
    linked = counted if 4 * len(counted) < 3 * len(links) else slice(None)
    source_linked = sum_at(word_pairs.source[linked], len(source_null), links[linked])
    target_linked = sum_at(word_pairs.target[linked], len(target_null), links[linked])
    words = FormCounts.of_words(source_linked, source_null), FormCounts.of_words(target_linked, target_null)
    counts = []
    for form_pairs in form_pairs_of_kinds:
        sides = counts_of_forms(form_pairs, words)
        if form_pairs.pair_numbers is None:
            form_pair_sums = links
        else:
            form_pair_sums = sum_at(form_pairs.pair_numbers[linked], len(form_pairs.source), links[linked])
        counts.append(FormPairCounts(form_pair_sums.astype(np.float32), sides))
    return counts


def counts_of_forms(
    form_pairs: FormPairs, words: tuple[FormCounts, FormCounts]
) -> tuple[FormCounts, FormCounts]:
    """Return the counts of the forms of one kind on both sides, from those of the words."""
    source, target = (
        of_words.apply(partial(sum_at, numbers, len(forms)))
        for of_words, numbers, forms in zip(words, form_pairs.form_numbers, form_pairs.strings, strict=True)
    )
    return source, target


def sum_at(indices: Integers, size: int, values: Doubles) -> Doubles:
    """Sum the values at each index, shape (size,)."""
    return np.asarray(np.bincount(indices, values, size), dtype=np.float64)
