"""The shipped English-French sample, its gold links, and the vectors beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nmtalign.links.alignments import GoldAlignment, Link
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.storage import load_both_languages

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLE, VECTORS = DATA / "en_fr_sample", DATA / "en_fr_vectors"
LANGUAGES = ("en", "fr")
SIMPLE = TextSettings("simple")


def lines(name: str) -> list[str]:
    """The lines of a file of the sample, whose last one must end too."""
    text = (SAMPLE / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text.split("\n")[:-1]


def gold() -> list[GoldAlignment]:
    """The gold links, read without nmtalign's own reader."""
    alignments = []
    for line in lines("gold.pharaoh"):
        assert re.fullmatch(r"\d+[-p]\d+(?: \d+[-p]\d+)*", line)
        found = [(sign, Link(int(i), int(j))) for i, sign, j in re.findall(r"(\d+)([-p])(\d+)", line)]
        assert len({link for _, link in found}) == len(found), "a link stands twice"
        sure = frozenset(link for sign, link in found if sign == "-")
        alignments.append(GoldAlignment(sure, frozenset(link for _, link in found)))
    return alignments


def test_the_sample_is_large_and_parallel():
    counts = {
        name: len(lines(name))
        for name in ("text.en", "text.fr", "text.tok.en", "text.tok.fr", "gold.pharaoh")
    }
    assert set(counts.values()) == {265}
    assert all(line.strip() == line != "" for name in counts for line in lines(name))


def test_the_first_pair_is_the_picture_of_the_attention_paper():
    english = "The agreement on the European Economic Area was signed in August 1992 ."
    french = "L' accord sur la zone économique européenne a été signé en août 1992 ."
    assert (lines("text.tok.en")[0], lines("text.tok.fr")[0]) == (english, french)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("told", [True, False])
def test_the_tokenised_files_are_what_the_tokeniser_gives(language, told):
    cut = [
        " ".join(token.text for token in SIMPLE.tokens(line, language=language if told else None))
        for line in lines(f"text.{language}")
    ]
    assert cut == lines(f"text.tok.{language}")


def test_gold_links_lie_inside_their_sentences():
    alignments = gold()
    for number, (links, source, target) in enumerate(
        zip(alignments, lines("text.tok.en"), lines("text.tok.fr"), strict=True), 1
    ):
        assert links.sure, f"line {number} has no sure link"
        assert max(link.source for link in links.possible) < len(source.split(" ")), f"line {number}"
        assert max(link.target for link in links.possible) < len(target.split(" ")), f"line {number}"


def test_gold_of_the_first_pair_by_hand():
    sure = {(0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 5), (6, 4), (7, 7), (7, 8), (8, 9), (9, 10), (10, 11)}
    assert gold()[0].sure == sure | {(11, 12), (12, 13)}
    assert gold()[0].possible == gold()[0].sure


def test_gold_links_join_equal_final_marks():
    """Shifted numbers would break this: every pair ends in the same mark, and the gold joins the two."""
    for links, source, target in zip(gold(), lines("text.tok.en"), lines("text.tok.fr"), strict=True):
        words, mots = source.split(" "), target.split(" ")
        if words[-1] == mots[-1]:
            assert Link(len(words) - 1, len(mots) - 1) in links.sure


@pytest.mark.skipif(not VECTORS.is_dir(), reason="data/en_fr_vectors is not there yet")
def test_the_shipped_vectors_know_the_sample():
    for vectors, language in zip(load_both_languages(VECTORS, languages=LANGUAGES), LANGUAGES, strict=True):
        words = [word for line in lines(f"text.{language}") for word in SIMPLE.words(line, language=language)]
        assert len(vectors) >= 15_000
        assert vectors.coverage(words).rate >= 0.95, str(vectors.coverage(words))
