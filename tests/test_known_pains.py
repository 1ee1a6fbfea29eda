"""What users of other aligners trip over, one test for each; the issues are named.

Some are tested beside the code that keeps them away:

a full disk (eflomal#15)                    tests/cli/test_faults.py, tests/run/test_shards.py
train once, align new text (fast_align#33)  tests/cli/test_train.py
a Python API (awesome-align PR 63)          tests/test_public_interface.py
matching is slow (simalign#18)              tests/links/test_extraction.py
batches (simalign#43)                       tests/aligner/test_learned.py, test_vector_aligner.py
why is this word not aligned (simalign#33)  tests/report/test_heatmap.py, test_html.py
SVG, PDF, no CDN (bertviz#13, #33, #63)     tests/report/test_heatmap.py, test_html.py
CJK labels are boxes (matplotlib#15820)     tests/report/test_heatmap.py
old gensim files, limit (gensim#2266, ...)  tests/vectors/test_loader_samples.py, test_pickles.py
no header, no shared space (MUSE#28, ...)   tests/vectors/test_storage.py, test_vectors_cli.py
the same bytes for any number of workers    tests/run/test_workers.py, tests/cli/test_train.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from nmtalign.cli import main
from nmtalign.errors import DataError
from nmtalign.files.text_files import open_text
from nmtalign.links.alignments import AlignedBatch, Alignment, GoldAlignment
from nmtalign.links.formats import (
    LinkRecord,
    format_pair_scores_batch,
    format_pharaoh_batch,
    format_probabilities_batch,
    parse_pharaoh,
)
from nmtalign.text.bitext import read_bitext
from nmtalign.text.subwords import join_marked
from nmtalign.text.tokenization import TextSettings, words_containing

NO_LINKS = AlignedBatch(np.zeros(4, int), *[np.zeros(0, int)] * 2, np.zeros(0), np.zeros(3))


def write(path, text):
    path.write_bytes(text.encode())
    return path


def align(*arguments):
    with pytest.raises(SystemExit) as caught:
        main(["align", *map(str, arguments), "--workers", "1"])
    return int(caught.value.code or 0)


@pytest.fixture
def made(tmp_path):
    """What ``align`` makes of two texts with the shipped model: lines of links, scores and pair scores."""

    def run(source, target):
        files = write(tmp_path / "en", source), write(tmp_path / "fr", target)
        outputs = {"-o": "links", "--probabilities": "scores", "--pair-scores": "pair-scores"}
        options = [part for option, name in outputs.items() for part in (option, tmp_path / name)]
        assert align(*files, *options) == 0
        return [(tmp_path / name).read_text().split("\n")[:-1] for name in outputs.values()]

    return run


def test_empty_lines_leave_the_others_as_they_are(made):
    """clab/fast_align#62, #47: NaN, or all output empty, exit code 0."""
    alone = made("the black cat\n", "le chat noir\n")
    among = made("\nthe black cat\n  \nthe cat\n", "\nle chat noir\nle chat\n\n")
    assert [column[1] for column in among] == [column[0] for column in alone]
    empty = [[column[n] for n in (0, 2, 3)] for column in among]
    assert empty == [[""] * 3, [""] * 3, ["0.000000"] * 3]
    assert "0-0" in alone[0][0]


def test_a_long_line_is_aligned_to_its_end(made):
    """robertostling/eflomal#12: 1,100 words give an empty line; SimAlign fails past 512 (#46)."""
    years = range(1700, 2000)
    forms = "in {} a cat ", "en {} un chat "
    source, target = ("".join(form.format(year) for year in years) for form in forms)
    links = parse_pharaoh(made(f"{source}\n", f"{target}\n")[0][0])
    assert sum((4 * n + 1, 4 * n + 1) in links for n in range(len(years))) > 0.95 * len(years)


def test_links_come_before_the_text_ends(tmp_path):
    """clab/fast_align#9, #41: 10 to 23 GB for 10 to 20 million pairs."""
    program = [sys.executable, "-m", "nmtalign", "align", "--pairs", "-", "--workers", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, text=True, **pipes) as run:
        run.stdin.write("the cat ||| le chat\n" * 10_500)  # more than a chunk, and more is to come
        run.stdin.flush()
        first = run.stdout.readline()
        run.stdin.close()
        rest = run.stdout.read()
    assert first == "0-0 1-1\n"
    assert rest.count("\n") == 10_499


def test_links_scores_and_pair_scores_have_a_place_for_each_other(made):
    """clab/fast_align#43; robertostling/efmaral#6; cisnlp/simalign#9: how sure is it?"""
    links, scores, pairs = made("the black cat\n\na house\n", "le chat noir\n\nune maison\n")
    assert [len(line.split()) for line in links] == [len(line.split()) for line in scores]
    assert all(0 < float(score) <= 1 for line in scores for score in line.split())
    assert len(pairs) == 3
    assert all(0 <= float(score) < 1 for score in pairs)


def test_unknown_words_are_no_error(made):
    """piskvorky/gensim#2266, #310: KeyError for a word that is not in the vocabulary."""
    links = made("the zzyzx 2031 cat\n漢字 ∀\n", "le zzyzx 2031 chat\n漢字 ∀\n")[0]
    assert {(1, 1), (2, 2)} <= parse_pharaoh(links[0])
    assert len(links) == 2


def test_two_runs_give_the_same_bytes(made):
    """eflomal: 334 of 447 lines differ from one run to the next, and there is no seed."""
    text = "the black cat sleeps\na house\n" * 50, "le chat noir dort\nune maison\n" * 50
    assert made(*text) == made(*text)


def test_an_empty_line_stays_an_empty_line(tmp_path):
    """clab/fast_align#62, #47: NaN, or all output empty."""
    path = write(tmp_path / "pairs", "a ||| b\n\n ||| \n")
    assert list(read_bitext(path)) == [("a", "b"), ("", ""), ("", "")]
    assert format_pharaoh_batch(NO_LINKS) == format_probabilities_batch(NO_LINKS) == "\n\n\n"


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
        numbers = words_containing([token.start for token in TextSettings("simple").tokens(line)], line)
        assert set(numbers) == set(range(len([word for word in line.split(" ") if word])))


def test_links_outside_the_sentences_are_refused():
    """hplt-project/OpusTrainer#56."""
    with pytest.raises(DataError, match="link 3-0 is outside a pair of 3 source and 2 target words"):
        Alignment({(3, 0)}, 3, 2)
    with pytest.raises(DataError, match="link 3-0 is outside a pair of 3 source and 2 target words"):
        LinkRecord(GoldAlignment({(3, 0)}, {(3, 0)}), ("a", "b", "c"), ("d", "e"))


def test_subwords_are_mapped_to_their_own_words():
    """cisnlp/simalign#29; neulab/awesome-align#3: off by one, the error goes from 26 to 64 %."""
    source, target = ["un@@", "happ@@", "y", "cats"], ["▁chats", "▁mal", "heureux"]
    lines = join_marked(source, "bpe")[1], join_marked(target, "sentencepiece")[1]
    numbers = [
        [word for word in range(len(line.first)) for _ in range(line.first[word], line.stop[word])]
        for line in lines
    ]
    assert {(numbers[0][s], numbers[1][t]) for s, t in {(0, 1), (2, 2), (3, 0)}} == {(0, 1), (1, 0)}


def test_typographic_apostrophes_are_looked_up_as_plain_ones_and_kept_in_the_text():
    settings = TextSettings("simple")
    assert settings.words("L’eau") == settings.words("L'eau") == ["l'", "eau"]
    assert [token.text for token in settings.tokens("L’eau")] == ["L’", "eau"]


def test_scores_stand_in_a_parallel_file_in_fixed_point():
    """Score suffixes on links crash other tools; ``1e-05`` breaks parsing (atools, Marian)."""
    batch = AlignedBatch(
        np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), np.array([1e-5, 1]), np.array([1e-5])
    )
    links, scores = format_pharaoh_batch(batch), format_probabilities_batch(batch)
    assert (links, scores) == ("0-0 1-1\n", "0.0000 1.0000\n")
    assert parse_pharaoh(links.rstrip("\n")) == {(0, 0), (1, 1)}
    assert "e" not in format_pair_scores_batch(batch)


def test_the_same_links_give_the_same_bytes_under_any_name(tmp_path):
    """Two runs give different files: gzip keeps a time and a name."""
    for name in ("first.gz", "second.gz"):
        with open_text(tmp_path / name, "w") as file:
            file.write("0-0 1-1\n")
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()
