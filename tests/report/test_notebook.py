"""Results in a notebook: what is shown, that it is safe, and that nothing heavy is loaded before."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import nmtalign
from nmtalign import Alignment, AlignmentMatrix, GoldAlignment, UsageError
from nmtalign.aligner.opening import vector_aligner
from nmtalign.links.evaluation import evaluate
from nmtalign.report.html import cards_page
from nmtalign.report.page_content import SamplePair
from nmtalign.report.style import theme_of
from nmtalign.report.tables import as_pair
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.report.sample_pairs import CAT, HOSTILE_WORDS, aligned_pair, data_of, inflated

PAIR = CAT.aligned


class Frames(HTMLParser):
    """The tags of a page, the attributes of its frames, and text that stands in no tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.styles = ""
        self.frames: list[dict[str, str | None]] = []
        self.loose = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "iframe":
            self.frames.append(dict(attributes))

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["style"] and not self.frames:
            self.styles += data
        else:
            self.loose += data


@pytest.mark.parametrize("result", [PAIR, PAIR.matrix, PAIR.alignment])
def test_a_card_is_the_page_of_the_report_in_a_frame(result: Any) -> None:
    shown = Frames(result.show()._repr_html_())
    assert (shown.tags, shown.loose) == (["style", "iframe"], "")
    (frame,) = shown.frames
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    page = frame["srcdoc"]
    for dark_notebook in ("[data-jp-theme-light=false]", ".vscode-dark", "[theme=dark]"):
        assert dark_notebook in shown.styles  # the frame follows the theme of Jupyter, VS Code and Colab
    assert page == cards_page([SamplePair(1, as_pair(result))])
    assert "default-src 'none'" in page
    assert 'data-kind="cards"' in page


def test_a_card_shows_links_and_weights() -> None:
    (pair,) = data_of(PAIR.show().html)["pairs"]
    assert (pair["s"], pair["l"]) == (["the", "black", "cat", "sleeps"], [0, 0, 900, 1, 2, 748, 2, 1, 825])
    (numbered,) = data_of(PAIR.alignment.show().html)["pairs"]
    assert (numbered["t"], numbered["l"][:3]) == (["0", "1", "2", "3"], [0, 0, 1000])


def test_words_are_text() -> None:
    page = aligned_pair(HOSTILE_WORDS, HOSTILE_WORDS).show()
    shown = Frames(page._repr_html_())
    assert (shown.tags, shown.loose) == (["style", "iframe"], "")
    assert shown.frames[0]["srcdoc"] == page.html
    assert page.html.count("<script") == 4  # data, weights, what is packed, and what unpacks it
    assert page.html.count("<style") == 0


def test_the_card_of_eight_words_is_small() -> None:
    pair = nmtalign.load().align("The black cat sleeps in my bed .", "Le chat noir dort dans mon lit .")
    assert len(pair.show()._repr_html_().encode()) < 64_000  # with its frame, as a notebook stores it


def test_the_policy_of_a_card_allows_what_is_packed_and_what_unpacks_it() -> None:
    page = PAIR.show().html
    packed = json.loads(inflated(re.search(r'id="packed">([^<]*)<', page)[1]))
    unpacking = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = set(re.findall(r"'sha256-([^']+)'", page))
    allowed = {packed["script"], packed["style"], *unpacking}
    assert hashes == {base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in allowed}
    assert len(hashes) == 3


def test_some_pairs_are_a_report() -> None:
    page = nmtalign.show([PAIR, aligned_pair(["a"], ["b"])], title="Cats & dogs")
    assert [pair["n"] for pair in data_of(page.html)["pairs"]] == [1, 2]
    assert "<title>Cats &amp; dogs</title>" in page.html
    assert 'data-kind="report"' in page.html
    assert data_of(nmtalign.show([]).html)["pairs"] == []


@pytest.mark.parametrize("result", [PAIR, PAIR.matrix, PAIR.alignment])
def test_a_notebook_shows_a_picture_that_needs_no_script(result: Any) -> None:
    assert result._repr_png_()[0].startswith(b"\x89PNG")
    assert not hasattr(result, "_repr_html_")


def test_a_matrix_without_words_is_a_picture_too() -> None:
    assert AlignmentMatrix(np.zeros((0, 2)), ("a", "b"), ())._repr_png_()[0].startswith(b"\x89PNG")


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
    assert figure.axes[0].get_xticklabels()[0].get_color() == theme_of(dark=False).ink  # as it is saved
    assert "link" in [text.get_text() for text in figure.texts]
    assert [len(axes.collections) > 0 for axes in PAIR.heatmap(values="all").axes[:3]] == [True] * 3
    with pytest.raises(UsageError, match="values of `values`: scores, forward, reverse, combined, all"):
        PAIR.heatmap(values="both")
    assert "link" not in [text.get_text() for text in PAIR.heatmap(links=[]).texts]


def test_two_results_side_by_side() -> None:
    table = PAIR.compare(CAT.others["other"])
    assert table["found"].tolist() == ["both", "first", "both", "second"]
    assert table["target_word"].tolist() == ["le", "noir", "chat", "dort"]
    assert len(PAIR.matrix.compare(PAIR.matrix).axes) == 4  # two panels, color bar, key of hatched words
    with pytest.raises(UsageError, match=r"expected two results of one sentence pair"):
        PAIR.compare(Alignment(frozenset(), 1, 1))
    with pytest.raises(UsageError, match="expected one sentence pair, found"):
        PAIR.compare("0-0")
    with pytest.raises(UsageError, match="expected an AlignmentMatrix, found"):
        PAIR.matrix.compare(PAIR)


def test_every_page_says_the_languages_of_its_sides(tmp_path: Path) -> None:
    aligner = nmtalign.load()
    batch = aligner.align_batch([("the cat", "le chat"), ("a dog", "un chien")])
    nmtalign.write_report(tmp_path / "report.html", batch)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    card = aligner.align(["the", "cat"], ["le", "chat"]).show().html
    for page in (card, batch[1].show().html, nmtalign.show(batch).html, report):
        assert data_of(page)["languages"] == ["en", "fr"]
    assert data_of(PAIR.show().html)["languages"] == [None, None]  # made by hand


def test_scores_are_tables_and_their_differences_too() -> None:
    gold = [GoldAlignment({(0, 0)}, {(0, 0)})] * 4
    right, wrong = evaluate([{(0, 0)}] * 4, gold), evaluate([{(0, 1)}] * 4, gold)
    assert right.table().loc["precision"].tolist() == [1, 1, 1]
    assert "<table" in right._repr_html_()
    assert right.compare(wrong).loc["aer", "difference"] == 1
    with pytest.raises(UsageError, match="expected another evaluation, found"):
        right.compare(PAIR)


def test_aligners_show_their_settings() -> None:
    sides = [Embeddings(Vocabulary.from_words(["a"]), np.ones((1, 1))) for _ in range(2)]
    cosine, dot = (vector_aligner(*sides, score=score) for score in ("cosine", "dot"))
    assert "<td>score=cosine " in cosine._repr_html_()
    assert cosine.table().loc["extraction", "setting"] == "extract=mutual"
    scorers = cosine.compare(dot).loc["scorer"].tolist()
    assert [scorer.split(" ")[0] for scorer in scorers] == ["score=cosine", "score=dot"]


def test_results_do_not_load_what_draws_them() -> None:
    program = (
        "import sys, numpy as np\n"
        "from nmtalign import AlignmentMatrix\n"
        "m = AlignmentMatrix(np.eye(1), ('a',), ('b',))\n"
        "heavy = ('nmtalign.report', 'matplotlib', 'pandas')\n"
        "assert not [name for name in sys.modules if name.startswith(heavy)]\n"
        "m._repr_png_()\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(("source", "target", "pixels"), [(4, 5, 754), (13, 15, 870), (44, 53, 1939)])
def test_the_frame_of_a_card_is_about_as_high_as_the_card_in_chromium(
    source: int, target: int, pixels: int
) -> None:
    words = ["words"] * source, ["wordss"] * target
    assert aligned_pair(*words).show().height == pytest.approx(pixels, rel=0.1)


def test_the_frame_of_a_card_has_room_for_words_in_columns() -> None:
    card = aligned_pair(["القط", "الأسود", "الحصيرة"] * 4, ["cat"] * 12)
    assert card.show().height == pytest.approx(1093, rel=0.1)
