"""The card as a picture: what it says and shows, in light and dark, and that command and Python agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch

from nmtalign import (
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    DataError,
    GoldAlignment,
    Link,
    UsageError,
    load,
)
from nmtalign.report.card_picture import draw_card
from nmtalign.report.card_reasons import pinned_word, whole_percent
from nmtalign.report.curves import cut_into_rows
from nmtalign.report.page_data import as_on_page
from nmtalign.report.style import theme_of
from nmtalign.settings import PictureSettings
from tests.cli.running import run
from tests.report.sample_pairs import GOLD_TO_EXPLAIN, pair_to_explain

SVG = "{http://www.w3.org/2000/svg}"
MATRIX_WORDS = ("the", "black", "cat"), ("le", "chat", "noir")
MATRIX = AlignmentMatrix([[0.9, 0.1, 0.0], [0.04, 0.25, 0.95], [0.0, 0.7, 0.02]], *MATRIX_WORDS)
LINKS = [Link(0, 0), Link(1, 2), Link(2, 1)]
LIGHT = theme_of(dark=False)


def card_of(
    matrix: AlignmentMatrix,
    links: Iterable[tuple[int, int]] = (),
    threshold: float | None = None,
    **settings: Any,
) -> Figure:
    """Draw the card of a pair with these weights and links."""
    T, S = matrix.weights.shape
    pair = AlignedPair(Alignment(links, S, T), matrix, threshold=threshold)
    return draw_card(pair, PictureSettings(**settings))


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def place_of(figure: Figure, word: str, nth: int = 0) -> tuple[float, float]:
    texts = [text for text in figure.axes[0].texts if text.get_text() == word]
    return texts[nth].get_position()


def closest_calls_of(figure: Figure) -> list[tuple[str, str]]:
    """The closest calls of a card: their words, and their numbers with a no-break space."""
    texts = texts_of(figure)
    rows = [n for n, text in enumerate(texts) if text.startswith("\u200e")]
    return [(texts[n].replace("\u200e", ""), texts[n + 1]) for n in rows]


def test_a_card_without_gold_names_the_least_sure_link() -> None:
    figure = card_of(MATRIX, links=LINKS, threshold=0.5, title="Pair 7")
    texts = texts_of(figure)
    assert {"Pair 7", "3 links", "The least sure link is ‘black’ – ‘noir’"} <= {*texts}
    assert "Its probability is 70\u00a0%. The pair has 3 links." in texts
    assert "a link needs 50\u00a0%" in texts
    assert closest_calls_of(figure) == [("black – noir", "70\u00a0%"), ("black – chat", "25\u00a0%")]
    surer = AlignmentMatrix(np.where(MATRIX.weights > 0.5, 0.95, 0.0), *MATRIX_WORDS)
    assert "Closest calls" not in texts_of(card_of(surer, links=LINKS, threshold=0.5))


def test_a_link_has_one_number_which_is_not_compared_with_what_a_link_needs(tmp_path: Path) -> None:
    matrix = AlignmentMatrix([[0.6, 0.3]], ("a", "c"), ("b",))
    alignment = Alignment([(0, 0)], 2, 1)
    about = {"threshold": 0.55, "extraction": "posterior"}
    pair = AlignedPair(alignment, matrix, probabilities={Link(0, 0): 0.4}, **about)
    for pin in (None, "a", "b"):
        pair.save(tmp_path / "card.svg", card=True, pin=pin)
        root = ElementTree.parse(tmp_path / "card.svg").getroot()
        written = " ".join(root.itertext()).replace("\u00a0", " ")
        assert "40 %" in written
        assert "60 %" not in written
        assert "posterior" not in written
        assert ("a link needs 55 %" in written) == (pin is None)  # that of c and b
    pair.save(tmp_path / "card.svg", card=True, pin="c")
    written = " ".join(ElementTree.parse(tmp_path / "card.svg").getroot().itertext()).replace("\u00a0", " ")
    assert "its weight is 30 %, and a link needs 55 %." in re.sub(r"\s+", " ", written)


def test_the_closest_calls_begin_with_the_errors() -> None:
    gold = GoldAlignment({(0, 0), (2, 1), (0, 2)}, {(0, 0), (2, 1), (0, 2)})
    figure = card_of(MATRIX, links=LINKS, gold=gold, threshold=0.5)
    expected = [("black – noir", "70\u00a0%"), ("the – noir", "0\u00a0%"), ("black – chat", "25\u00a0%")]
    assert closest_calls_of(figure) == expected


def test_a_card_names_the_languages_in_words(tmp_path: Path) -> None:
    pair = load().align("the cat", "le chat")
    pair.save(tmp_path / "card.svg", title="Pair 3")
    assert "Pair 3 · English → French" in (tmp_path / "card.svg").read_text(encoding="utf-8")
    pair.save(tmp_path / "card.svg", pin="chat")
    written = (tmp_path / "card.svg").read_text(encoding="utf-8")
    assert "French → English" in written
    assert "fr → en" not in written


def test_a_card_with_gold_judges_the_links() -> None:
    gold = GoldAlignment({(0, 0), (2, 1), (1, 1)}, {(0, 0), (2, 1), (1, 1)})
    figure = card_of(MATRIX, links=LINKS, gold=gold)
    texts = texts_of(figure)
    # AER = 1 - (2 + 2) / (3 + 3)
    assert {"1 wrong", "1 missed", "AER 33.3\u00a0%", "One link is wrong: ‘black’ – ‘noir’"} <= {*texts}
    assert "The model makes 2 of the 3 links that people made, and 1 that is wrong." in texts
    assert texts.count("×") == texts.count("+") == 2  # on the curve, and in the key
    assert "a word without a link" not in texts
    colors = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    judged = {name: colors[name] for name in ("1 wrong", "×", "1 missed", "+", "3 links", "cat")}
    assert judged == {
        "1 wrong": LIGHT.wrong,
        "×": LIGHT.wrong,
        "1 missed": LIGHT.missed,
        "+": LIGHT.missed,
        "3 links": LIGHT.soft,
        "cat": LIGHT.ink,
    }


def test_a_card_marks_words_without_a_link() -> None:
    assert "a word without a link" in texts_of(card_of(MATRIX, links=LINKS[:2]))
    alone = texts_of(card_of(MATRIX))
    assert "There are no links" in alone
    assert "a cell: stronger is likelier" in alone  # no dot, and none in the key
    one_side = AlignmentMatrix(np.zeros((0, 1)), ("word",), ())
    assert "no words" in texts_of(card_of(one_side))


@pytest.mark.parametrize(("dark", "theme"), [(False, LIGHT), (True, theme_of(dark=True))])
def test_cells_have_the_square_root_of_their_weight_as_opacity(dark: bool, theme: object) -> None:
    figure = card_of(MATRIX, links=LINKS, dark=dark)
    assert to_hex(figure.get_facecolor()) == theme.card
    matrix = next(
        artist
        for artist in figure.axes[0].collections
        if isinstance(artist, PatchCollection) and len(artist.get_facecolors()) == 7
    )
    colors = matrix.get_facecolors()
    np.testing.assert_allclose(colors[:, :3], [to_rgb(theme.weight)] * 7)
    shown = as_on_page(MATRIX.weights)
    np.testing.assert_allclose(colors[:, 3] ** 2, shown[shown > 0], rtol=1e-5)


def test_columns_of_a_right_to_left_sentence_run_from_right_to_left() -> None:
    source = ("بيت", "كبير", "جميل")
    figure = card_of(AlignmentMatrix(np.eye(3), source, ("a", "big", "house")), links=[(0, 2)])
    columns = [place_of(figure, word)[0] for word in source]  # the labels of the matrix come first
    assert columns == sorted(columns, reverse=True)
    assert {"← columns run from right to left,", "opposite directions: both are read from the top"} <= {
        *texts_of(figure)
    }
    latin = card_of(MATRIX, links=LINKS)
    assert not any("right to left" in text for text in texts_of(latin))


def test_a_long_word_keeps_both_ends() -> None:
    word = "Donaudampfschiffahrtsgesellschaft"
    texts = texts_of(card_of(AlignmentMatrix([[1.0]], (word,), ("a",)), links=[(0, 0)]))
    assert texts.count("Donaudam…llschaft") == 2  # at the curve and at the matrix
    assert word not in "".join(texts)


def test_a_long_pair_has_rows_of_words_and_an_overview() -> None:
    words = [f"word{n}" for n in range(90)]
    figure = card_of(AlignmentMatrix(np.eye(90), words, words), links=[(n, n) for n in range(90)])
    texts = texts_of(figure)
    assert texts.count("word7") == 2  # no labels at the matrix
    assert any(text.startswith("an overview: 90 columns") for text in texts)
    assert all(0 < place_of(figure, word)[0] < 1100 for word in words)
    assert place_of(figure, "word89")[1] > place_of(figure, "word0")[1] + 200


def test_rows_are_cut_where_no_link_crosses() -> None:
    widths = [[10.0] * 12, [10.0] * 12]
    links = [(0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 6), (6, 5), (7, 7), (8, 9), (9, 8), (10, 10)]
    cuts = cut_into_rows(widths, links, room=60.0, gap=2.0)
    assert cuts[0] == (0, 0)
    assert cuts[-1] == (12, 12)
    for (s, t), (next_s, next_t) in pairwise(cuts):
        assert max(next_s - s, next_t - t) <= 5
        assert all((a < next_s) == (b < next_t) for a, b in links)
    wide = cut_into_rows([[500.0, 500.0], [1.0]], [], room=60.0, gap=2.0)
    assert wide == [(0, 0), (1, 1), (2, 1)]


@given(st.data())
def test_a_row_ends_where_the_fewest_links_lead_out(data: st.DataObject) -> None:
    """Count all links for each end of a row; of equal ends the last one is chosen."""
    sizes = data.draw(st.tuples(st.integers(1, 12), st.integers(1, 12)))
    word_pairs = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    links = data.draw(st.lists(word_pairs, max_size=20))
    words_per_row = data.draw(st.integers(1, 6))
    cuts = cut_into_rows([[10.0] * size for size in sizes], links, room=10.0 * words_per_row, gap=0.0)
    assert cuts[-1] == sizes
    for before, after in pairwise(cuts):
        longest = [min(start + words_per_row, size) for start, size in zip(before, sizes, strict=True)]
        ends = product(
            *(
                range(stop, start + math.ceil(0.6 * (stop - start)) - 1, -1)
                for start, stop in zip(before, longest, strict=True)
            )
        )
        fewest = min(ends, key=lambda end: sum((s < end[0]) != (t < end[1]) for s, t in links))
        assert after == (sizes if longest == [*sizes] else fewest)


def test_percents_are_whole_and_do_not_round_to_certainty() -> None:
    told = [whole_percent(share) for share in (0, 0.004, 0.125, 0.5, 0.996, 1)]
    expected = ["0 %", "< 1 %", "13 %", "50 %", "> 99 %", "100 %"]
    assert [text.replace("\u00a0", " ") for text in told] == expected


def test_the_svg_has_a_title_and_a_description(tmp_path: Path) -> None:
    pair = AlignedPair(Alignment([(0, 0)], 1, 1), AlignmentMatrix([[0.8]], ("<b>",), ("&",)))
    pair.save(tmp_path / "card.svg")
    root = ElementTree.parse(tmp_path / "card.svg").getroot()
    assert root.find(f"{SVG}title").text == "The least sure link is ‘<b>’ – ‘&’"
    assert root.find(f"{SVG}desc").text == "Its probability is 80\u00a0%. The pair has 1 link."
    written = [text.text for text in root.iter(f"{SVG}text")]
    assert written.count("<b>") == 2


def test_command_and_python_give_the_same_card(tmp_path: Path) -> None:
    sentences = "The black cat sleeps .", "Le chat noir dort ."
    assert run("heatmap", "--card", "--dark", *sentences, "-o", tmp_path / "command.svg") == 0
    pair = load().align(*sentences)
    pair.save(tmp_path / "python.svg", dark=True)
    assert (tmp_path / "command.svg").read_bytes() == (tmp_path / "python.svg").read_bytes()
    # of a cropped pair, too
    arguments = ["--rows", "1-3", "--columns", "2-3", "-o", tmp_path / "cropped.svg"]
    assert run("heatmap", "--card", *sentences, *arguments) == 0
    root = ElementTree.parse(tmp_path / "cropped.svg").getroot()
    [description] = [text for text in root.iter(f"{SVG}desc") if text.text]
    assert "The least sure is ‘cat’ – ‘chat’." in description.text or "probability" in description.text


def test_what_a_link_needs_is_said_only_where_the_threshold_applies_to_what_is_shown(
    tmp_path: Path,
) -> None:
    sentences = "the black cat sat", "le chat noir"
    # the threshold of the others applies to a plan, and to the joint posterior, which is not shown
    methods = {"threshold": True, "transport": False, "argmax": False, "argmax-reverse": False}
    for method, is_said in methods.items():
        pair = load(extract=method, threshold=0.5).align(*sentences)
        assert pair.threshold == 0.5
        pair.save(tmp_path / "card.svg", card=True, pin="sat")
        drawn = (tmp_path / "card.svg").read_text(encoding="utf-8")
        assert ("a link needs" in drawn) == is_said
        options = (
            "--extract",
            method,
            "--threshold",
            "0.5",
            "-o",
            str(tmp_path / "command.svg"),
            "--card",
            "--pin",
            "sat",
        )
        assert run("heatmap", *sentences, *options) == 0
        drawn = (tmp_path / "command.svg").read_text(encoding="utf-8")
        assert ("a link needs" in drawn) == is_said


def test_a_text_begins_where_the_bold_text_before_it_ends() -> None:
    pair = pair_to_explain()
    figure = draw_card(pair, PictureSettings(pin="a"))
    gaps = []
    for bold, following in pairwise(figure.axes[0].texts):
        if bold.get_weight() == "bold" and following.get_text().startswith((";", ",", ".")):
            gaps.append(following.get_window_extent().x0 - bold.get_window_extent().x1)
    assert gaps
    assert max(map(abs, gaps)) < 1.5  # pixels


def test_a_pinned_word_shows_what_it_looks_at_and_why() -> None:
    pair = pair_to_explain()
    figure = draw_card(pair, PictureSettings(gold=GOLD_TO_EXPLAIN, pin="a"))
    texts = texts_of(figure)
    assert {"‘a’ has no link", "‘a’ looks at", "French → English", "‘was’ looks at", "Both together"} <= {
        *texts
    }
    assert {"no partner 80\u00a0%", "a link needs 60\u00a0%, a second word less", "missed"} <= {*texts}
    assert "How to read it" not in texts
    weights = {text.get_text(): text.get_weight() for text in figure.axes[0].texts}
    colors = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert [weights[word] for word in ("a", "was", "chat")] == ["bold", "bold", "normal"]
    expected = [LIGHT.ink, LIGHT.soft, LIGHT.missed]
    assert [colors[word] for word in ("a", "chat", "missed")] == expected
    other = draw_card(pair, PictureSettings(gold=GOLD_TO_EXPLAIN))
    assert "Both together" not in texts_of(other)


def test_a_word_is_pinned_by_its_text_or_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = "the black cat the", "le chat noir le"
    pair = load().align(*sentences)
    assert pinned_word(pair, "noir")[1:] == (1, 2)
    assert pinned_word(pair, "s3")[1:] == (0, 3)
    for pin, problem in (
        ("le", "'le' occurs at t0, t3; choose one of its places, such as `pin=t0`"),
        ("dog", "the pair has no word 'dog'; write it as in the pair, or as a place: s0"),
        ("t4", "t4 is out of range for 4 target words, which count from 0"),
    ):
        with pytest.raises(DataError, match=re.escape(problem)):
            pair.save(tmp_path / "card.svg", pin=pin)
    pair.save(tmp_path / "python.svg", pin="noir")
    command = "heatmap", "--card", *sentences, "-o", tmp_path / "command.svg", "--pin"
    assert run(*command, "t2") == 0
    assert (tmp_path / "command.svg").read_bytes() == (tmp_path / "python.svg").read_bytes()
    assert "‘noir’ is linked to ‘black’" in (tmp_path / "python.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(*command, "le") == 3
    problem = "--pin: 'le' occurs at t0, t3; choose one of its places, such as --pin t0"
    assert f"error: {problem}" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:only 0.0 % of the target words are known")
@pytest.mark.parametrize("opposite", [False, True])
def test_each_word_of_a_pair_can_be_pinned(opposite: bool) -> None:
    pair = load().align(
        "the black cat ( 1992 )" + " of the house" * 10, "بيت كبير" if opposite else "le chat noir"
    )
    for pin in ("s1", "s5", "s35", "t0"):
        figure = draw_card(pair, PictureSettings(pin=pin))
        assert any(text.endswith("looks at") for text in texts_of(figure))
    without = AlignedPair(Alignment((), 1, 0), AlignmentMatrix(np.zeros((0, 1)), ("word",), ()))
    figure = draw_card(without, PictureSettings(pin="word"))
    assert {"‘word’ has no link", "There is no word to link it with."} <= {*texts_of(figure)}


def test_an_aligned_pair_is_saved_as_its_card_by_default(tmp_path: Path) -> None:
    pair = AlignedPair(Alignment([(0, 0)], 1, 1), AlignmentMatrix([[0.8]], ("a",), ("b",)))
    pair.save(tmp_path / "card.svg")
    pair.save(tmp_path / "same.svg", card=True)
    card = (tmp_path / "card.svg").read_bytes()
    assert card == (tmp_path / "same.svg").read_bytes()
    pair.save(tmp_path / "heatmap.svg", card=False)
    pair.save(tmp_path / "linear.svg", linear=True)
    pair.save(tmp_path / "curves.svg", curves=True, card=False)
    pair.matrix.save(tmp_path / "matrix.svg")  # there are no links
    for name in ("heatmap", "linear", "curves", "matrix"):
        assert b"The pair has 1 link" not in (tmp_path / f"{name}.svg").read_bytes()
    assert b"The pair has 1 link" in card
    with pytest.raises(UsageError, match="`dark` does not apply to numbers"):
        pair.save(tmp_path / "card.tsv", dark=True)


def test_several_cards_are_the_pages_of_a_pdf(tmp_path: Path) -> None:
    text = tmp_path / "pairs.tsv"
    text.write_text("the cat\tle chat\nthe dog\tle chien\n", encoding="utf-8")
    assert run("heatmap", "--card", "--pairs", text, "-o", tmp_path / "cards.pdf") == 0
    pdf = (tmp_path / "cards.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 2


def test_options_of_other_pictures_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = "the cat", "le chat"
    output = ["-o", tmp_path / "card.svg"]
    for options, told in (
        (["--card", "--numbers", "--curves"], "--curves and --numbers do not apply to a card; remove"),
        (["--card", "--values", "all"], "--values does not apply to a card"),
        (["--card", "--values", "parts"], "--values parts: curves and cards show one matrix"),
        (["--card", "--no-mark-links"], "--no-mark-links does not apply to a card"),
        (["--pin", "cat", "--curves"], "--curves does not apply to a card"),
        (["--pin", "cat", "--rows", "0"], "--pin shows a word in the whole pair; remove --rows"),
        (["--curves", "--values", "all"], "--values all: curves and cards show one matrix"),
    ):
        assert run("heatmap", *options, *sentences, *output) == 2
        assert told in capsys.readouterr().err
    pair = AlignedPair(Alignment([(0, 0)], 1, 1), AlignmentMatrix([[0.8]], ("a",), ("b",)))
    with pytest.raises(UsageError, match="`linear` does not apply to a card"):
        pair.save(tmp_path / "card.svg", pin="a", linear=True)
    with pytest.raises(UsageError, match="`pin` is shown on a card only"):
        pair.save(tmp_path / "card.svg", pin="a", card=False)
    with pytest.raises(UsageError, match="`linear` does not apply to a card"):
        pair.save(tmp_path / "card.svg", card=True, linear=True)
    with pytest.raises(UsageError, match="`dark` and `cmap` both choose colors"):
        pair.save(tmp_path / "card.svg", dark=True, cmap="Blues")
    with pytest.raises(UsageError, match="`card` does not apply to numbers"):
        pair.save(tmp_path / "card.tsv", card=True)


def test_a_pinned_word_is_shown_on_a_card_and_a_heatmap_is_dark_or_light(tmp_path: Path) -> None:
    sentences = "the black cat", "le chat noir"
    assert run("heatmap", *sentences, "--pin", "cat", "-o", tmp_path / "pinned.svg") == 0
    assert run("heatmap", *sentences, "--card", "--pin", "cat", "-o", tmp_path / "card.svg") == 0
    assert (tmp_path / "pinned.svg").read_bytes() == (tmp_path / "card.svg").read_bytes()
    pair = load().align(*sentences)
    for dark, option in ((False, ["--light"]), (True, ["--dark"]), (None, [])):
        pair.save(tmp_path / "python.svg", dark=dark, card=False)
        assert run("heatmap", *sentences, *option, "-o", tmp_path / "command.svg") == 0
        assert (tmp_path / "python.svg").read_bytes() == (tmp_path / "command.svg").read_bytes()


def rings_of(figure: Figure) -> list[tuple[float, float]]:
    """The middles of the rings of a card, without that of its key."""
    soft = to_rgb(LIGHT.soft)
    circles = [patch for patch in figure.axes[0].patches if isinstance(patch, Circle)]
    return [circle.center for circle in circles if to_rgb(circle.get_edgecolor()) == soft][:-1]


def test_rings_touch_no_word_in_lines_and_in_columns() -> None:
    arabic = AlignmentMatrix(np.eye(3), ("بيت", "كبير", "جميل"), ("a", "big", "house"))
    for matrix, alone in ((arabic, 4), (MATRIX, 4), (long_matrix(90), 178)):
        figure = card_of(matrix, links=[(0, 0)])
        figure.draw_without_rendering()
        rings = rings_of(figure)
        assert len(rings) == alone
        height = figure.bbox.height
        words = {*matrix.source_tokens, *matrix.target_tokens}
        boxes = [t.get_window_extent() for t in figure.axes[0].texts if t.get_text() in words]
        for x, y in rings:
            for box in boxes:
                beside = box.x0 - x, x - box.x1, box.y0 - (height - y), height - y - box.y1
                assert max(beside) >= 4


def long_matrix(count: int) -> AlignmentMatrix:
    words = [f"yg{n}" for n in range(count)]  # with letters that reach below the line
    return AlignmentMatrix(np.eye(count), words, words)


def test_links_between_rows_run_through_no_words() -> None:
    figure = card_of(long_matrix(90), links=[(0, 89), (1, 1)])
    link = to_rgb(LIGHT.link)
    heights = [
        np.ptp(patch.get_path().vertices[:, 1])
        for patch in figure.axes[0].patches
        if isinstance(patch, PathPatch) and to_rgb(patch.get_edgecolor()) == link
    ]
    assert sorted(np.round(heights)) == [12, 15, 15, 54]  # that of the key, two stubs, a curve


def test_signs_of_crossing_curves_are_apart_and_flat_crossings_have_no_halo() -> None:
    matrix = AlignmentMatrix(np.zeros((2, 2)), ("about", "it"), ("en", "parler"))
    gold = GoldAlignment({(1, 0)}, {(1, 0)})
    figure = card_of(matrix, links=[(0, 1)], gold=gold)
    [cross], [plus] = (
        [text for text in figure.axes[0].texts if text.get_text() == sign][:1] for sign in "×+"
    )
    assert np.hypot(*np.subtract(cross.get_position(), plus.get_position())) >= 16
    words = [f"w{n}" for n in range(16)]
    # which cross steeply, and at flat angles
    near, far, less_far = [(0, 1), (1, 0)], [(0, 15), (1, 14)], [(0, 3), (1, 2)]
    halos = [
        sum(
            to_rgb(patch.get_edgecolor()) == to_rgb(LIGHT.card) and patch.get_linewidth() == 7
            for patch in card_of(AlignmentMatrix(np.zeros((16, 16)), words, words), links=links)
            .axes[0]
            .patches
        )
        for links in (near, far, less_far)
    ]
    assert halos == [2, 1, 1]


def test_signs_are_as_far_apart_as_their_curves_allow() -> None:
    """A short curve that a long one crosses in the middle; and three links to another row of one word."""
    words = [f"w{n}" for n in range(16)]
    gold = GoldAlignment({(5, 5)}, {(5, 5)})
    figure = card_of(AlignmentMatrix(np.zeros((16, 16)), words, words), links=[(8, 2)], gold=gold)
    assert nearest_signs(figure) >= 16
    long = long_matrix(90)
    assert nearest_signs(card_of(long, links=[], gold={(0, 80), (0, 84), (0, 88)})) >= 14


def nearest_signs(figure: Figure) -> float:
    """The distance of the two signs on curves that are nearest to each other."""
    signs = [text for text in figure.axes[0].texts if text.get_text() in "×+" and text.get_bbox_patch()]
    places = [sign.get_position() for sign in signs]
    return min(np.hypot(*np.subtract(one, other)) for one, other in combinations(places, 2))
