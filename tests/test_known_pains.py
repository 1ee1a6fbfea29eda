"""What users of other aligners trip over in files and formats, one test for each; the issues are named.

Pains of the aligners themselves are tested with them.
"""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.alignment.formats import (
    LinkRecord,
    format_pair_scores_batch,
    format_pharaoh_batch,
    format_record,
    format_scores_batch,
    parse_pharaoh,
)
from nmtalign.alignment.links import AlignedBatch, Alignment, GoldAlignment
from nmtalign.errors import DataError
from nmtalign.files import open_text
from nmtalign.text.bitext import read_bitext
from nmtalign.text.subwords import links_of_words, word_numbers
from nmtalign.text.tokenization import TextSettings, remap

NO_LINKS = AlignedBatch(np.zeros(4, int), *[np.zeros(0, int)] * 2, np.zeros(0), np.zeros(3))


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_an_empty_line_stays_an_empty_line(tmp_path):
    """clab/fast_align#62, #47: NaN, or all output empty."""
    path = write(tmp_path / "pairs", "a ||| b\n\n ||| \n")
    assert list(read_bitext(path)) == [("a", "b"), ("", ""), ("", "")]
    assert format_pharaoh_batch(NO_LINKS) == format_scores_batch(NO_LINKS) == "\n\n\n"


@pytest.mark.parametrize("line", ["a ||| b ||| c", "a b", "12\ta ||| b"])
def test_a_line_of_another_format_is_an_error_with_its_number(tmp_path, line):
    """cisnlp/simalign#23: index and tab; a stray bar raises no error."""
    path = write(tmp_path / "pairs", f"x ||| y\n{line}\n")
    with pytest.raises(DataError, match="pairs, line 2: expected"):
        list(read_bitext(path))


def test_spaces_round_the_bars_do_not_matter(tmp_path):
    """clab/fast_align PR 6."""
    assert list(read_bitext(write(tmp_path / "pairs", "a|||b\n a  ||| b \n"))) == [("a", "b")] * 2


def test_one_line_too_few_names_both_counts(tmp_path):
    """A shifted bitext is aligned without a word of warning."""
    with pytest.raises(DataError, match=r"found 2 in .*en and 1 in .*fr"):
        list(read_bitext(write(tmp_path / "en", "a\nb\n"), write(tmp_path / "fr", "c\n")))


def test_characters_that_only_look_like_line_ends_shift_nothing(tmp_path):
    """``splitlines`` and plain ``split`` cut at these."""
    line = "a\rb\x0bc\x0cd\x1ce\x85f\u2028g\u2029h\u00a0i"
    files = write(tmp_path / "en", f"{line}\nnext\n"), write(tmp_path / "fr", "1\n2\n")
    assert list(read_bitext(*files)) == [(line, "1"), ("next", "2")]
    assert TextSettings(lowercase=False).words(line) == [line]


def test_links_can_be_given_between_the_words_of_the_original_line():
    """mozilla/translations#507, PR 718: double spaces, ``@-@``, links out of range."""
    for line in ("l’eau  est-elle   froide?", " 10 @-@ 12 ", "don't  stop..."):
        numbers = remap(TextSettings("simple").tokens(line), line)
        assert set(numbers) == set(range(len([word for word in line.split(" ") if word])))


def test_links_outside_the_sentences_are_refused():
    """hplt-project/OpusTrainer#56."""
    with pytest.raises(DataError, match="link 3-0 is outside a pair of 3 source and 2 target words"):
        Alignment({(3, 0)}, 3, 2)
    record = LinkRecord(GoldAlignment({(3, 0)}, {(3, 0)}), ("a", "b", "c"), ("d", "e"))
    with pytest.raises(DataError, match="pair 4: link 3-0 is outside"):
        format_record(record, format="tsv", number=4)


def test_subwords_are_mapped_to_their_own_words():
    """cisnlp/simalign#29; neulab/awesome-align#3: off by one, the error goes from 26 to 64 %."""
    source, target = ["un@@", "happ@@", "y", "cats"], ["▁chats", "▁mal", "heureux"]
    numbers = word_numbers(source, "bpe"), word_numbers(target, "sentencepiece")
    assert links_of_words({(0, 1), (2, 2), (3, 0)}, *numbers) == {(0, 1), (1, 0)}


def test_typographic_apostrophes_are_looked_up_as_plain_ones_and_kept_in_the_text():
    settings = TextSettings("simple")
    assert settings.words("L’eau") == settings.words("L'eau") == ["l'", "eau"]
    assert [token.text for token in settings.tokens("L’eau")] == ["L’", "eau"]


def test_scores_stand_in_a_parallel_file_in_fixed_point():
    """Score suffixes on links crash other tools; ``1e-05`` breaks parsing (atools, Marian)."""
    batch = AlignedBatch(
        np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), np.array([1e-5, 1]), np.array([1e-5])
    )
    links, scores = format_pharaoh_batch(batch), format_scores_batch(batch)
    assert (links, scores) == ("0-0 1-1\n", "0.0000 1.0000\n")
    assert parse_pharaoh(links.rstrip("\n")) == {(0, 0), (1, 1)}
    assert "e" not in format_pair_scores_batch(batch)


def test_the_same_links_give_the_same_bytes_under_any_name(tmp_path):
    """Two runs give different files: gzip keeps a time and a name."""
    for name in ("first.gz", "second.gz"):
        with open_text(tmp_path / name, "w") as file:
            file.write("0-0 1-1\n")
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()
