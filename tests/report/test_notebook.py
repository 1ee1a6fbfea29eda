"""Results in a notebook: what is shown, that it is safe, and that nothing heavy is loaded before."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.image import imread

from nmtalign import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, UsageError
from nmtalign.aligner.opening import vector_aligner
from nmtalign.links.evaluation import evaluate
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from tests.report.sample_pairs import CAT, HOSTILE_WORDS, aligned_pair

PAIR = CAT.aligned


def cells(page: str) -> list[list[str]]:
    """Return the texts of a table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_a_pair_is_a_table_with_marks_that_need_no_colour() -> None:
    head, *rows = cells(PAIR._repr_html_())
    assert head == ["", "the", "black", "cat", "sleeps"]
    assert rows[0] == ["le", "●.90", "", "", ".05"]
    assert rows[1] == ["chat", "", ".04", "●.80", ".10"]
    assert "3 links · score 0.618 · score=cosine" in PAIR._repr_html_()


def test_a_matrix_and_plain_links_are_tables_too() -> None:
    assert cells(PAIR.matrix._repr_html_())[1] == ["le", ".90", "", "", ".05"]
    assert cells(Alignment({(1, 0)}, 2, 1)._repr_html_()) == [["", "0", "1"], ["0", "", "●1.0"]]
    assert "no words" not in AlignmentMatrix(np.zeros((0, 2)), ("a", "b"), ())._repr_html_()


def test_words_are_text() -> None:
    page = aligned_pair(HOSTILE_WORDS, HOSTILE_WORDS)._repr_html_()
    tags: set[str] = set()

    class Collect(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            assert {name for name, _ in attributes} <= {"style", "title"}

    Collect().feed(page)
    assert tags == {"figure", "table", "thead", "tbody", "tr", "th", "td", "div", "figcaption"}


def test_a_large_matrix_is_a_picture_of_bounded_size() -> None:
    words = [f"word{n}" for n in range(60)]
    page = aligned_pair(words, words)._repr_html_()
    assert "<img alt='attention weights of 60 target and 60 source words'" in page
    assert len(page) < 200_000


def test_tables_of_results() -> None:
    assert list(PAIR.table().columns)[:2] == ["source_position", "source_word"]
    np.testing.assert_allclose(PAIR.table()["probability"], [0.9, 0.748, 0.825])
    assert PAIR.matrix.table().loc["chat", "cat"] == 0.8
    assert PAIR.alignment.table().values.tolist() == [[0, 0], [1, 2], [2, 1]]


def test_a_heatmap_shows_itself_and_marks_the_links() -> None:
    figure = PAIR.heatmap(title="cats")
    png, size = figure._repr_png_()
    pixels = imread(io.BytesIO(png))
    np.testing.assert_allclose(pixels.shape[:2], [2 * size["height"], 2 * size["width"]], atol=2)
    assert pixels[0, 0, 3] == 0  # no background
    assert figure.axes[0].get_xticklabels()[0].get_color() == "black"  # as it is saved
    assert "chosen link" in [text.get_text() for text in figure.texts]
    assert [len(axes.collections) > 0 for axes in PAIR.heatmap(view="all").axes[:3]] == [True] * 3
    with pytest.raises(UsageError, match="expected one of the views forward, reverse, combined or all"):
        PAIR.heatmap(view="both")
    assert "chosen link" not in [text.get_text() for text in PAIR.heatmap(links=None).texts]


def test_two_results_side_by_side() -> None:
    table = PAIR.compare(CAT.others["other"])
    assert table["found"].tolist() == ["both", "first", "both", "second"]
    assert table["target_word"].tolist() == ["le", "noir", "chat", "dort"]
    assert len(PAIR.matrix.compare(PAIR.matrix).axes) == 3
    with pytest.raises(UsageError, match=r"expected two results of one sentence pair"):
        PAIR.compare(Alignment(frozenset(), 1, 1))
    with pytest.raises(UsageError, match="no picture of a str"):
        PAIR.compare("0-0")


def test_scores_are_tables_and_their_differences_too() -> None:
    gold = [GoldAlignment({(0, 0)}, {(0, 0)})] * 4
    right, wrong = evaluate([{(0, 0)}] * 4, gold), evaluate([{(0, 1)}] * 4, gold)
    assert right.table().loc["precision"].tolist() == [1, 1, 1]
    assert "<table" in right._repr_html_()
    assert right.compare(wrong).loc["aer", "difference"] == 1


def test_aligners_show_their_settings() -> None:
    sides = [Embeddings(Vocabulary.from_words(["a"]), np.ones((1, 1))) for _ in range(2)]
    cosine, dot = (vector_aligner(*sides, score=score) for score in ("cosine", "dot"))
    assert "<td>score=cosine " in cosine._repr_html_()
    assert cosine.table().loc["extraction", "setting"] == "extract=mutual"
    heads = cosine.compare(dot).loc["heads"].tolist()
    assert [head.split(" ")[0] for head in heads] == ["score=cosine", "score=dot"]


def test_results_do_not_load_what_draws_them() -> None:
    program = (
        "import sys, numpy as np\n"
        "from nmtalign import AlignmentMatrix\n"
        "m = AlignmentMatrix(np.eye(1), ('a',), ('b',))\n"
        "heavy = ('nmtalign.report', 'matplotlib', 'pandas')\n"
        "assert not [name for name in sys.modules if name.startswith(heavy)]\n"
        "m._repr_html_()\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_settings_are_not_needed() -> None:
    plain = AlignedPair(Alignment(frozenset(), 1, 1), AlignmentMatrix(np.ones((1, 1)), ("a",), ("b",)))
    assert "0 links</figcaption>" in plain._repr_html_()
