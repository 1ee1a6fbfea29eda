"""Heatmaps in axes of the caller, their size, and curves as a string."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import nmtalign as na

WORDS = ("the", "black", "cat"), ("le", "chat", "noir")


@pytest.fixture(scope="module")
def pair() -> na.AlignedPair:
    return na.load().align(" ".join(WORDS[0]), " ".join(WORDS[1]))


def texts_of(labels: Any) -> tuple[str, ...]:
    return tuple(label.get_text() for label in labels)


def test_a_pair_is_drawn_into_given_axes(pair: na.AlignedPair) -> None:
    left, right = Figure(figsize=(8, 4)).subplots(1, 2)
    axes = pair.heatmap(ax=left, cmap="viridis", title="a pair", values="forward")
    assert axes is left
    assert axes.get_title() == "a pair"
    assert texts_of(axes.get_xticklabels()) == WORDS[0]
    assert texts_of(axes.get_yticklabels()) == WORDS[1]
    image = axes.collections[0]
    assert image.get_cmap().name == "viridis"
    np.testing.assert_array_equal(image.get_array().reshape(3, 3), pair.forward)
    assert not right.collections


def test_a_bare_matrix_is_drawn_with_its_words() -> None:
    axes = Figure().subplots()
    assert na.heatmap(np.eye(2), ["a", "b"], ["x", "y"], ax=axes, numbers=False) is axes
    assert texts_of(axes.get_yticklabels()) == ("x", "y")
    figure = na.heatmap([[1, 0, 0], [0, 1, 0]], links=[(0, 0)], figsize=(5, 3))
    assert texts_of(figure.axes[0].get_xticklabels()) == ("0", "1", "2")
    assert tuple(figure.get_size_inches()) == (5, 3)


def test_numbers_are_written_where_they_fit(pair: na.AlignedPair) -> None:
    large, small = Figure(figsize=(4, 4)).subplots(), Figure(figsize=(0.8, 0.8)).subplots()
    assert pair.heatmap(ax=large).texts
    assert not pair.heatmap(ax=small).texts
    assert pair.heatmap(ax=Figure(figsize=(0.8, 0.8)).subplots(), numbers=True).texts


def test_pictures_have_the_size_and_the_dots_that_are_asked_for(pair: na.AlignedPair, tmp_path: Path) -> None:
    assert tuple(pair.heatmap(figsize=(6, 2)).get_size_inches()) == (6, 2)
    assert tuple(pair.heatmap(curves=True, figsize=(6, 2)).get_size_inches()) == (6, 2)
    pair.save(tmp_path / "small.png", dpi=40)
    pair.save(tmp_path / "large.png", dpi=160)
    assert (tmp_path / "small.png").stat().st_size < (tmp_path / "large.png").stat().st_size


def test_curves_are_a_string_of_svg(pair: na.AlignedPair) -> None:
    svg = pair.svg(title="links")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert all(f">{word}<" in svg for side in WORDS for word in side)
    assert svg == pair.svg(title="links")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ax": Figure().subplots(), "values": "all"}, "`ax` takes one matrix; set `values` to one of"),
        ({"ax": Figure().subplots(), "figsize": (1, 1)}, "with `ax`, the size is that of your figure"),
        ({"ax": Figure().subplots(), "columns": 2}, "`columns` does not apply to axes of your own"),
        ({"figsize": 3}, r"inches as `figsize`, such as \(6, 4\), found 3"),
        ({"figsize": (1, 2, 3)}, "inches as `figsize`"),
        ({"figsize": ("a", 1)}, "inches as `figsize`.*found 'a'"),
    ],
)
def test_wrong_options_are_refused(pair: na.AlignedPair, options: Any, message: str) -> None:
    with pytest.raises(na.UsageError, match=message):
        pair.heatmap(**options)


def test_the_labels_of_a_dataframe_are_its_words() -> None:
    frame = pd.DataFrame([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], index=["le", "chat"], columns=["the", "cat", 3])
    axes = na.heatmap(frame).axes[0]
    assert texts_of(axes.get_yticklabels()) == ("le", "chat")
    assert texts_of(axes.get_xticklabels()) == ("the", "cat", "3")


def test_a_matrix_that_is_none_is_refused(pair: na.AlignedPair) -> None:
    with pytest.raises(na.DataError, match=r"weights of shape \(T, S\), found \(2,\)"):
        na.heatmap([1, 2])
    with pytest.raises(na.UsageError, match="has its own"):
        na.heatmap(pair, ["a"], ["b"])


def test_pairs_of_a_batch_are_drawn_side_by_side() -> None:
    batch = na.load().align_batch(
        [("the cat", "le chat"), ("a dog", "un chien"), ("a", "un"), ("cat", "chat")]
    )
    figure = batch.heatmap(cmap="Greys", figsize=(9, 6))
    assert tuple(figure.get_size_inches()) == (9, 6)
    assert [axes.get_title() for axes in figure.axes] == ["0", "1", "2", "3", "", ""]
    assert texts_of(figure.axes[1].get_yticklabels()) == ("un", "chien")
    with pytest.raises(na.UsageError, match=r"1 to 30 pairs to draw, found 0; choose some: batch\[:6\]"):
        batch[:0].heatmap()
    with pytest.raises(na.UsageError, match="`columns` as an integer of at least 1, found 0"):
        batch.heatmap(columns=0)


@pytest.mark.parametrize("figsize", [(6, 4), (2, 2), (9, 3), (3, 12), (12, 12)])
@pytest.mark.parametrize("curves", [False, True])
def test_all_texts_are_inside_and_apart_at_any_size(figsize: tuple[float, float], curves: bool) -> None:
    words = ["the", "lighthouse", "keeper", "sees", "the", "lighthouse"]
    matrix = na.AlignmentMatrix(np.eye(6), words, words)
    about = {} if curves else {"gold": [(0, 0)]}
    pair = na.AlignedPair(na.Alignment([(n, n) for n in range(6)], 6, 6), replace(matrix, caption="a score"))
    figure = pair.heatmap(figsize=figsize, curves=curves, title="a title", **about)
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert {*words, "a title"} <= {text.get_text() for text in texts}
    boxes = [text.get_window_extent() for text in texts]
    for box in boxes:
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1
        assert box.y1 <= figure.bbox.height + 1
    if not curves:
        legend = next(text for text in texts if text.get_text() == "right link").get_window_extent()
        note = next(text for text in texts if text.get_text() == "score: a score").get_window_extent()
        assert note.y1 <= legend.y0
