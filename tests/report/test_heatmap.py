"""The picture: where things stand, that labels can be read, and that the bytes repeat."""

from __future__ import annotations

import itertools
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import nmtalign as na
from nmtalign import AlignedPair, Alignment, AlignmentMatrix, DataError, GoldAlignment, Link, UsageError
from nmtalign.display import abbreviate, single_line
from nmtalign.report import curves, style
from nmtalign.report.drawing import draw
from nmtalign.report.heatmap import crop_pair, draw_heatmap
from nmtalign.report.style import save_heatmaps, theme_of
from nmtalign.settings import PictureSettings

SOURCE = ("the", "white", "house", "is", "small")
TARGET = ("la", "maison", "blanche", "est", "petite", ".")


def matrix(T: int = 6, S: int = 5, seed: int = 0) -> AlignmentMatrix:
    weights = np.random.default_rng(seed).dirichlet(np.ones(S) * 0.3, size=T)  # (T, S)
    source = SOURCE if S == 5 else [f"source{s}" for s in range(S)]
    target = TARGET if T == 6 else [f"target{t}" for t in range(T)]
    return AlignmentMatrix(weights, tuple(source), tuple(target))


def draw_curves(matrix: AlignmentMatrix, **settings: Any) -> Figure:
    return curves.draw_curves(matrix, PictureSettings(**settings))


def texts(labels: list) -> list[str]:
    return [label.get_text() for label in labels]


def test_target_words_are_rows_and_source_words_stand_on_top_turned_by_90_degrees() -> None:
    axes = draw_heatmap(matrix()).axes[0]
    assert texts(axes.get_xticklabels()) == list(SOURCE)
    assert texts(axes.get_yticklabels()) == list(TARGET)
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {90.0}
    assert axes.xaxis.get_ticks_position() == "top"
    assert axes.yaxis_inverted()  # the first target word is the highest row
    image = axes.collections[0]
    assert to_hex(image.get_cmap()(1.0)) == theme_of(dark=False).weight
    np.testing.assert_array_equal(image.get_array(), matrix().weights)


def bar(figure: Figure) -> tuple[str, list[str]]:
    """Return the name of the color bar, and the weights that it names."""
    figure.draw_without_rendering()
    return figure.texts[0].get_text(), texts(figure.axes[1].get_xticklabels())


def test_small_weights_are_seen_on_a_square_root_scale_from_0_to_1() -> None:
    figure = draw_heatmap(matrix())
    norm = figure.axes[0].collections[0].norm
    np.testing.assert_allclose(norm([0, 0.01, 0.25, 1]), [0, 0.1, 0.5, 1])
    assert bar(figure) == ("weight, √ scale", ["0", "0.25", "1"])


@pytest.mark.parametrize("shift", [0.0, -1.0, 1.0])
def test_linear_colors_span_the_weights(shift: float) -> None:
    shifted = AlignmentMatrix(matrix().weights + shift, SOURCE, TARGET)  # shares are linear when told
    figure = draw_heatmap(shifted, linear=None if shift else True)
    norm, weights = figure.axes[0].collections[0].norm, shifted.weights
    np.testing.assert_allclose(norm(weights), (weights - weights.min()) / np.ptp(weights), atol=1e-12)
    assert bar(figure)[0] == "weight"
    same = AlignmentMatrix(np.full((6, 5), 0.2), SOURCE, TARGET)
    assert draw_heatmap(same, linear=True).axes[0].collections[0].get_clim() == (0, 1)


def notes(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def test_nearly_uniform_weights_have_their_own_range_and_say_so() -> None:
    weights = np.full((6, 5), 0.2)
    weights[:, 0], weights[:, 1] = 0.39, 0.01  # none above 2/5
    flat = AlignmentMatrix(weights, SOURCE, TARGET)
    figure = draw_heatmap(flat)
    np.testing.assert_allclose(figure.axes[0].collections[0].norm([0.01, 0.2, 0.39]), [0, 0.5, 1])
    assert "weight, own range" in notes(figure)
    assert "nearly uniform, all from .010 to .390" in notes(figure)
    weights[0] = 0.41, 0.0, 0.2, 0.2, 0.19
    sharp = draw_heatmap(AlignmentMatrix(weights, SOURCE, TARGET))
    assert sharp.axes[0].collections[0].get_clim() == (0, 1)
    both = draw_heatmap({"flat": flat, "sharp": AlignmentMatrix(weights, SOURCE, TARGET)})
    assert both.axes[0].collections[0].get_clim() == (0, 1)  # one scale for both
    assert "flat: nearly uniform, all from .010 to .390" in notes(both)


def test_numbers_of_nearly_uniform_weights_tell_them_apart() -> None:
    flat = np.full((6, 5), 0.2)
    flat[0, :2] = 0.207, 0.193  # differ by .014
    figure = draw_heatmap(AlignmentMatrix(flat, SOURCE, TARGET), numbers=True)
    assert [text.get_text() for text in figure.axes[0].texts[:3]] == [".207", ".193", ".200"]
    flat[0, :2] = 0.2003, 0.1997
    figure = draw_heatmap(AlignmentMatrix(flat, SOURCE, TARGET), numbers=True)
    assert [text.get_text() for text in figure.axes[0].texts[:3]] == [".2003", ".1997", ".2000"]
    assert "nearly uniform, all from .1997 to .2003" in notes(figure)


@pytest.mark.parametrize(("share", "uniform"), [(0.75, True), (0.76, False), (1.0, False)])
def test_of_two_words_weights_halfway_to_1_are_no_longer_uniform(share: float, uniform: bool) -> None:
    two = AlignmentMatrix([[share, 1 - share]], ("a", "b"), ("x",))
    assert ("weight, own range" in notes(draw_heatmap(two))) is uniform
    one = AlignmentMatrix([[1.0], [1.0]], ("a",), ("x", "y"))
    assert "weight, √ scale" in notes(draw_heatmap(one))


def test_the_caption_says_which_direction_sums_to_1() -> None:
    rows = matrix()
    columns = AlignmentMatrix(rows.weights / rows.weights.sum(axis=0), SOURCE, TARGET)
    said = notes(draw_heatmap({"forward": rows, "reverse": columns}))
    assert "forward: each row sums to 1, attention of a target word" in said
    assert "reverse: each column sums to 1, attention of a source word" in said
    less = AlignmentMatrix(rows.weights * 0.9, SOURCE, TARGET)  # null has the rest
    said = notes(draw_heatmap({"forward": less}))
    assert (
        "forward: attention of a target word, each row sums to 1 with the share that has no partner" in said
    )
    figure = draw_heatmap({"scores": AlignmentMatrix(rows.weights * 30 - 9, SOURCE, TARGET)})
    assert "score" in notes(figure)
    assert "scores: before positions and softmax" in notes(figure)


def test_pictures_name_the_score() -> None:
    """One sentence where all panels show one score, else one for each panel that shows a score."""
    cosine, dot = (AlignmentMatrix(matrix().weights, SOURCE, TARGET, None, own) for own in ("cosine", "dot"))
    assert "score: cosine" in notes(draw_heatmap({"forward": cosine, "reverse": cosine}))
    two = notes(draw_heatmap({"first": cosine, "second": dot, "third": matrix()}))
    assert {"first: cosine", "second: dot"} < set(two)
    assert not any(note.startswith(("score:", "third:")) for note in two)
    pair = AlignedPair(Alignment((), len(SOURCE), len(TARGET)), cosine)
    cut, _ = crop_pair(pair, None, [0], [1, 0])
    assert (cosine.T.caption, cut.matrix.caption) == ("cosine", "cosine")


def test_words_without_a_vector_are_hatched_and_named() -> None:
    hidden = AlignmentMatrix(np.full((6, 5), 0.2), SOURCE, TARGET, (frozenset({1}), frozenset({0, 5})))
    figure = draw_heatmap(hidden, numbers=True)
    places = {patch.get_bbox().bounds for patch in figure.axes[0].patches if patch.get_hatch()}
    assert places == {(0.5, -0.5, 1, 6), (-0.5, -0.5, 5, 1), (-0.5, 4.5, 5, 1)}
    assert len(figure.axes[0].texts) == 4 * 4  # no numbers in them
    assert {
        "no vector",
        "without a vector in the source: white",
        "without a vector in the target: la, .",
    } <= {*notes(figure)}
    said = notes(draw_heatmap({"forward": hidden, "reverse": replace(hidden, unknown=None)}))
    assert "forward: each row sums to 1, attention of a target word, hatched cells included" in said
    assert not any("reverse" in note and "hatched" in note for note in said)
    cut, _ = crop_pair(AlignedPair(Alignment((), len(SOURCE), len(TARGET)), hidden), None, [5, 2], [3, 1])
    assert cut.matrix.unknown == ({1}, {0})
    assert hidden.T.unknown == ({0, 5}, {1})


@pytest.mark.parametrize("colors", [{"dark": False}, {"dark": True}, {"cmap": "inferno"}])
def test_numbers_can_be_read_on_every_color(colors: dict[str, Any]) -> None:
    levels = AlignmentMatrix(np.linspace(0.005, 1, 30).reshape(6, 5), SOURCE, TARGET)
    axes = draw_heatmap(levels, numbers=True, **colors).axes[0]
    image = axes.collections[0]
    grounds = [image.cmap(image.norm(weight)) for weight in levels.weights.ravel()]
    for ground, text in zip(grounds, axes.texts, strict=True):
        darker, lighter = sorted(luminance(color) for color in (ground, to_rgb(text.get_color())))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(color: Sequence[float]) -> float:
    """As WCAG 2 defines it."""
    parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in color[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def marks_of(axes: Axes) -> dict[str, list[tuple[float, ...]]]:
    """Return the cells with boxes, by their color and whether they are dashed, and those with other marks."""
    theme = theme_of(dark=False)
    names = {value: name for name, value in theme._asdict().items()}
    marks: dict[str, list[tuple[float, ...]]] = {}
    for shapes in axes.collections:
        if isinstance(shapes, PatchCollection):
            color = names[to_hex(shapes.get_edgecolor()[0])]
            kind = "solid" if shapes.get_linestyle()[0][1] is None else "dashed"
            centers = [tuple(path.vertices[:4].mean(axis=0).round(6)) for path in shapes.get_paths()]
            marks[f"{color} {kind}"] = centers
        elif isinstance(shapes, PathCollection):
            sign = f"sign of {len(shapes.get_paths()[0].vertices)}"  # points: 4 of a cross, more of a dot
            marks[f"{names[to_hex(shapes.get_facecolor()[0])]} {sign}"] = shapes.get_offsets().tolist()
    return {name: cells for name, cells in marks.items() if not name.startswith("card s")} | {
        "dots": marks.get("card sign of 26", [])
    }


def test_links_have_the_verdict_marks_of_a_card() -> None:
    """The verdict is not told by color alone: a dot; a box and a cross; a dashed box and a plus."""
    gold = GoldAlignment(frozenset({(2, 1), (3, 3)}), frozenset({(2, 1), (3, 3), (1, 2), (4, 5)}))
    figure = draw_heatmap(matrix(), links=[(0, 0), (2, 1), (1, 2)], gold=gold, numbers=False)
    assert marks_of(figure.axes[0]) == {
        "dots": [[1, 2], [2, 1]],
        "wrong solid": [(0, 0)],
        "wrong sign of 4": [[0, 0]],
        "missed dashed": [(3, 3)],
        "missed sign of 4": [[3, 3]],
        "soft dashed": [(4, 5)],
    }
    legend = ["right link", "wrong link", "missed link", "possible, not linked"]
    assert texts(figure.texts)[-4:] == legend
    alone = draw_heatmap(matrix(), gold=gold)
    assert marks_of(alone.axes[0]) == {
        "dots": [],
        "accent solid": [(2, 1), (3, 3)],
        "accent dashed": [(1, 2), (4, 5)],
    }


def test_the_colors_are_those_of_the_card_on_a_light_ground_or_a_dark_one() -> None:
    for dark in (False, True):
        theme = theme_of(dark=dark)
        figure = draw_heatmap(matrix(), dark=dark)
        colors = figure.axes[0].collections[0].get_cmap()
        assert [to_hex(colors(share)) for share in (0.0, 1.0)] == [theme.card, theme.weight]
        assert to_hex(figure.get_facecolor()) == theme.card
        assert {to_hex(label.get_color()) for label in figure.axes[0].get_xticklabels()} == {theme.ink}
        curves = draw_curves(matrix(), links=[(0, 0)], dark=dark)
        assert to_hex(curves.get_facecolor()) == theme.card
        assert [color for color, _ in curves_of(curves)] == [theme.link]


FIVE_WORDS = ["a", "lighthouse", "keepers", "of", "acknowledgements"]
LONG_WORDS = [f"{word}{n}" for n, word in enumerate(FIVE_WORDS * 8)]
PICTURES: dict[str, dict[str, Any]] = {
    "heatmap": {"card": False},
    "all": {"values": "all"},
    "curves": {"curves": True},
    "card": {},
}


@pytest.mark.parametrize(("width", "count"), [(3.3, 1), (3.3, 13), (3.3, 25), (7.0, 20)])
@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.filterwarnings("ignore:.* do not fit into")
def test_no_text_of_a_picture_of_a_given_width_is_below_7_points(
    tmp_path: Path, width: float, count: int, kind: str
) -> None:
    """Measured in the file, and no text leaves the picture or touches another label of its side."""
    words = LONG_WORDS[:count]
    links = [(n, n) for n in range(0, count, 2)]
    weights = np.eye(count) * 0.9
    matrix = AlignmentMatrix(weights, words, words)
    pair = AlignedPair(Alignment(links, count, count), matrix, forward=weights, reverse=weights)
    settings = PictureSettings(width=width, title="A title of some words", gold=links[:3], **PICTURES[kind])
    figure = draw(pair, settings)
    save_heatmaps([figure], tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert re.search(rf'<svg [^>]*width="{width * 72:g}pt"', svg)
    sizes = {float(size) for size in re.findall(r"font: [^\"]*?([\d.]+)px|", svg) if size}
    sizes |= {float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)}
    assert min(sizes) >= 7
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.findobj(Text) if text.get_text()]
    assert all(box.x0 >= -1 and box.x1 <= figure.bbox.width + 1 for box in boxes)
    for labels in (figure.axes[0].get_xticklabels(), figure.axes[0].get_yticklabels()):
        extents = [label.get_window_extent() for label in labels]
        assert not any(one.overlaps(other) for one, other in itertools.pairwise(extents))


def test_words_that_do_not_fit_into_a_width_are_told() -> None:
    words = LONG_WORDS[:30]
    matrix = AlignmentMatrix(np.eye(30), words, words)
    with pytest.warns(UserWarning, match=r"30 source words of 7 points do not fit into 3.3 inches") as caught:
        figure = draw_heatmap(matrix, width=3.3)
    assert texts(figure.axes[0].get_xticklabels()) == [abbreviate(word, 16) for word in words[::2]]
    [needed] = re.findall(r"width of ([\d.]+) inches", str(caught[0].message))
    draw_heatmap(matrix, width=float(needed))  # without a warning
    with pytest.warns(UserWarning, match=r"numbers of 7 points do not fit into cells of 0.1\d inches"):
        draw_heatmap(AlignmentMatrix(np.eye(15), words[:15], words[:15]), width=3.3, numbers=True)
    hebrew = ["שלום" * 4] * 3
    with pytest.raises(UsageError, match=r"words in two columns need a width of [\d.]+ inches, found 1.5"):
        draw_curves(AlignmentMatrix(np.eye(3), hebrew, words[:3]), links=[(0, 0)], width=1.5)


@pytest.mark.parametrize("curves", [False, True])
def test_an_svg_has_a_title_and_tells_its_links(tmp_path: Path, curves: bool) -> None:
    pair = AlignedPair(Alignment([(0, 0)], 2, 2), AlignmentMatrix(np.eye(2), ("a", "<b>"), ("x", "y")))
    pair.save(tmp_path / "picture.svg", curves=curves, card=False, gold=[(0, 0), (1, 1)])
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    told = "a &lt;b&gt; – x y. Links: a – x, &lt;b&gt; – y (missed)."
    assert f"<title>Word alignment</title>\n <desc>{told}</desc>" in svg
    assert pair.svg(title="Links").count("<title>Links</title>") == 1


def test_the_legend_names_the_marks_that_are_there() -> None:
    figure = draw_heatmap(matrix(), links=[(0, 0)])
    assert [text.get_text() for text in figure.texts] == ["weight, √ scale", "link"]


def test_links_outside_the_matrix_are_refused() -> None:
    with pytest.raises(DataError, match=r"link 5-0 is outside a pair of 5 source and 6 target words"):
        draw_heatmap(matrix(), links=[(5, 0)])
    with pytest.raises(DataError, match="expected links of 5 source and 6 target words"):
        draw_heatmap(matrix(), links=Alignment(frozenset(), 6, 5))
    with pytest.raises(DataError, match="link 0-6"):
        draw_heatmap(matrix(), gold=GoldAlignment(frozenset(), frozenset({(0, 6)})))


@pytest.mark.parametrize("size", [3, 5, 14, 25, 60, 80])
def test_labels_can_be_read_and_neither_overlap_nor_leave_the_picture(size: int) -> None:
    figure = draw_heatmap(matrix(size, size))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for labels, side in ((axes.get_xticklabels(), "x"), (axes.get_yticklabels(), "y")):
        boxes = [label.get_window_extent() for label in labels]
        assert len(boxes) == size
        assert all(label.get_size() >= 7.5 for label in labels)
        starts = sorted((getattr(box, side + "0"), getattr(box, side + "1")) for box in boxes)
        assert all(end <= start + 1 for (_, end), (start, _) in itertools.pairwise(starts))
        inside = figure.bbox
        assert all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= inside.x1 and b.y1 <= inside.y1 for b in boxes)


def test_weights_are_written_when_they_fit() -> None:
    written = [text.get_text() for text in draw_heatmap(matrix()).axes[0].texts]
    assert len(written) == (matrix().weights >= 0.005).sum()
    assert not draw_heatmap(matrix(40, 40)).axes[0].texts
    assert not draw_heatmap(matrix(), numbers=False).axes[0].texts


def test_long_words_are_shortened_in_the_middle_and_spelled_out_below() -> None:
    word = "Donaudampfschifffahrtsgesellschaft"
    figure = draw_heatmap(AlignmentMatrix(np.ones((1, 1)), ("boat",), (word,)))
    assert texts(figure.axes[0].get_yticklabels()) == ["Donaudampfsc…gesellschaft"]
    assert f"Donaudampfsc…gesellschaft = {word}" in [text.get_text() for text in figure.texts]


def test_words_are_text_and_never_formulas_or_markup(tmp_path: Path) -> None:
    words = ("$x^2$", "<script>", "a&b", "nul\0", "\u202eright", "")
    figure = draw_heatmap(AlignmentMatrix(np.eye(6), words, words), title="$\\frac$")
    save_heatmaps([figure], tmp_path / "words.svg")
    from xml.etree import ElementTree

    drawn = [
        e.text for e in ElementTree.parse(tmp_path / "words.svg").iter("{http://www.w3.org/2000/svg}text")
    ]
    for word in ("$x^2$", "<script>", "a&b", "nul⟨U+0000⟩", "⟨U+202E⟩right", "$\\frac$"):
        assert word in drawn


def test_an_empty_sentence_and_a_single_word_have_pictures(tmp_path: Path) -> None:
    for T, S in ((0, 5), (6, 0), (0, 0), (1, 1)):
        save_heatmaps([draw_heatmap(matrix(T, S) if T and S else AlignmentMatrix(
            np.zeros((T, S)), SOURCE[:S], TARGET[:T]))], tmp_path / "small.png")  # fmt: skip


def test_panels_share_words_and_colors() -> None:
    panels = {name: matrix(seed=seed) for seed, name in enumerate(["forward", "reverse", "combined"])}
    figure = draw_heatmap(panels, title="three")
    images = [axes.collections[0] for axes in figure.axes[:3]]
    assert len({image.get_clim() for image in images}) == 1
    for image, panel in zip(images, panels.values(), strict=True):
        np.testing.assert_array_equal(image.get_array(), panel.weights)
    with pytest.raises(UsageError, match="different words"):
        draw_heatmap({"a": matrix(), "b": matrix(5, 5)})
    with pytest.raises(UsageError, match="found none"):
        draw_heatmap({})


def test_several_pictures_become_the_pages_of_a_pdf(tmp_path: Path) -> None:
    path = tmp_path / "pages.pdf"
    save_heatmaps((draw_heatmap(matrix(seed=n)) for n in range(3)), path)
    assert path.read_bytes().count(b"/Type /Page ") == 3
    with pytest.raises(UsageError, match=r"file has one picture, found 2"):
        save_heatmaps([draw_heatmap(matrix())] * 2, tmp_path / "two.png")
    with pytest.raises(UsageError, match="found none"):
        save_heatmaps([], path)
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        save_heatmaps([draw_heatmap(matrix())], tmp_path / "picture.jpg")


def embedded(path: Path) -> set[bytes]:
    """Return the types of the fonts in a PDF."""
    return set(re.findall(rb"/Subtype /(Type3|TrueType|CIDFontType\d|Type1)", path.read_bytes()))


def test_fonts_of_a_pdf_are_of_type_42(tmp_path: Path) -> None:
    """However it is saved; type 3, which publishers refuse, is matplotlib's default."""
    from matplotlib.backends.backend_pdf import PdfPages

    for name, figure in (("heat", draw_heatmap(matrix())), ("curves", draw_curves(matrix(), links=[(0, 0)]))):
        ours, theirs, pages = (tmp_path / f"{name}{n}.pdf" for n in range(3))
        save_heatmaps([figure], ours)
        figure.savefig(theirs)
        with PdfPages(pages) as file:  # its fonts are of the type that is set when it is closed
            file.savefig(figure)
        assert embedded(ours) == embedded(theirs) == {b"CIDFontType2"}
        assert len(embedded(pages)) == 1


def write_font(path: Path, family: str, letter: str, *, postscript: bool, weight: int = 400) -> None:
    """Write a font of one letter, a square."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.t2CharStringPen import T2CharStringPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    font = FontBuilder(1000, isTTF=not postscript)
    names = [".notdef", "square"]
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(letter): "square"})
    pen = T2CharStringPen(800, None) if postscript else TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((700, 0), (700, 700), (0, 700)):
        pen.lineTo(corner)
    pen.closePath()
    if postscript:
        square = pen.getCharString()
        font.setupCFF(family, {}, dict.fromkeys(names, square), {})
    else:
        font.setupGlyf(dict.fromkeys(names, pen.glyph()))
    font.setupHorizontalMetrics(dict.fromkeys(names, (800, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable(
        {"familyName": family, "styleName": "Regular" if weight == 400 else "Medium", "psName": family}
    )
    font.setupOS2(usWeightClass=weight)
    font.setupPost()
    font.save(path)


def test_a_font_of_any_weight_is_used_and_the_regular_one_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from matplotlib.font_manager import fontManager

    letters = {"MediumOfTest": "\U00020001", "BothOfTest": "\U00020002"}
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist])
    for family, weights in (("MediumOfTest", [500]), ("BothOfTest", [700, 400])):
        for weight in weights:
            file = tmp_path / f"{family}{weight}.otf"
            write_font(file, family, letters[family], postscript=False, weight=weight)
            fontManager.addfont(file)
    style._font_paths.cache_clear()
    try:
        families, missing = style.choose_fonts(letters.values())
        paths = style._font_paths()
    finally:
        style._font_paths.cache_clear()
    assert set(letters) <= set(families)
    assert missing == []
    assert Path(paths["BothOfTest"]).name == "BothOfTest400.otf"


@pytest.mark.parametrize("postscript", [True, False])
def test_words_of_a_font_with_postscript_outlines_are_drawn_as_outlines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postscript: bool
) -> None:
    """Viewers show nothing of such a font that matplotlib has embedded as type 42."""
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    file, family = tmp_path / "square.otf", "SquareOfTest"
    write_font(file, family, "\U00020000", postscript=postscript)
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist])
    fontManager.addfont(file)
    known = {style.DEFAULT_FONT: style._font_paths()[style.DEFAULT_FONT], family: str(file)}
    monkeypatch.setattr(style, "_font_paths", lambda: known)
    figure = draw_heatmap(AlignmentMatrix(np.eye(1), ("\U00020000",), ("cat",)))
    save_heatmaps([figure], tmp_path / "picture.pdf")
    content = (tmp_path / "picture.pdf").read_bytes()
    assert (family.encode() in content) == (not postscript)
    assert b"DejaVuSans" in content
    assert embedded(tmp_path / "picture.pdf") == {b"CIDFontType2"}
    assert not any(text.get_path_effects() for text in figure.findobj(Text))
    save_heatmaps([figure], tmp_path / "picture.svg")
    assert ">\U00020000</text>" in (tmp_path / "picture.svg").read_text(encoding="utf-8")


def test_svg_keeps_text_as_text(tmp_path: Path) -> None:
    save_heatmaps([draw_heatmap(matrix())], tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert all(f">{word}</text>" in svg for word in (*SOURCE, *TARGET))


PROGRAM = """
import sys, numpy as np
from nmtalign import AlignmentMatrix, draw_heatmap, save_heatmaps
m = AlignmentMatrix(np.eye(3), ('a', 'b', 'c'), ('d', 'e', 'f'))
for path in sys.argv[1:]:
    save_heatmaps([draw_heatmap(m, links=[(0, 0)])], path)
"""


def test_another_process_gives_the_same_bytes_and_makes_no_global_figure(tmp_path: Path) -> None:
    ours, theirs = ([tmp_path / f"{n}.{ending}" for ending in ("png", "svg", "pdf")] for n in range(2))
    drawn = AlignmentMatrix(np.eye(3), ("a", "b", "c"), ("d", "e", "f"))
    for path in ours:
        save_heatmaps([draw_heatmap(drawn, links=[(0, 0)])], path)
    program = PROGRAM + "assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, *map(str, theirs)], check=True)
    for one, other in zip(ours, theirs, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_neither_layout_nor_file_depends_on_the_backend_that_is_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """As in a notebook, or under a matplotlibrc that names another format."""
    from matplotlib import backend_bases, rcParams

    usual, other = tmp_path / f"usual.{ending}", tmp_path / f"other.{ending}"
    save_heatmaps([draw_heatmap(matrix())], usual)
    for format in ("png", "svg", "pdf"):
        monkeypatch.setitem(backend_bases._default_backends, format, "package_of_a_notebook.backend")
    monkeypatch.setitem(rcParams, "savefig.format", "pdf")
    figure = draw_heatmap(matrix())
    save_heatmaps([figure], other)
    assert other.read_bytes() == usual.read_bytes()


@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support Devanagari")  # below 3.11
def test_a_script_that_no_font_has_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only = {style.DEFAULT_FONT: style._font_paths()[style.DEFAULT_FONT]}
    monkeypatch.setattr(style, "_font_paths", lambda: only)
    with pytest.warns(UserWarning, match="no installed font has the Devanagari letters"):
        figure = draw_heatmap(AlignmentMatrix(np.eye(1), ("नमस्ते",), ("bonjour",)))
    save_heatmaps([figure], tmp_path / "boxes.png")  # no further warning for each letter
    assert style.choose_fonts(["été Привет καλημέρα"]) == ([style.DEFAULT_FONT], [])


def test_symbols_that_no_font_has_are_named_and_no_script_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    only = {style.DEFAULT_FONT: style._font_paths()[style.DEFAULT_FONT]}
    monkeypatch.setattr(style, "_font_paths", lambda: only)
    with pytest.warns(UserWarning, match="no installed font") as caught:
        draw_heatmap(AlignmentMatrix(np.eye(1), ("👧👨ภาษา",), ("🜨",)))
    told = [str(warning.message) for warning in caught]
    assert len(told) == 2
    assert "has the Thai letters, so they are drawn as boxes; install Noto" in told[0]
    assert "has the symbols 👧 👨 🜨, so they are drawn as boxes" in told[1]


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", "Latin"),
        ("ª", "Latin"),  # FEMININE ORDINAL INDICATOR
        ("ʰ", "Latin"),  # MODIFIER LETTER SMALL H
        ("\uff76", "Katakana"),  # HALFWIDTH KATAKANA LETTER KA
        ("⼀", "CJK"),  # KANGXI RADICAL ONE
        ("𐌀", "Old Italic"),
        ("ک", "Arabic"),
        ("👧", ""),  # GIRL
        ("🙂", ""),  # SLIGHTLY SMILING FACE
        ("𝒳", ""),  # MATHEMATICAL SCRIPT CAPITAL X
        ("①", ""),  # CIRCLED DIGIT ONE
        ("\ue000", ""),
    ],
)
def test_a_script_is_that_of_unicode(character: str, script: str) -> None:
    assert style.script_of(character) == script


@pytest.mark.parametrize(("word", "script"), [("中文", "CJK"), ("नमस्ते", "Devanagari"), ("ภาษา", "Thai")])
def test_an_installed_font_is_found_or_the_script_is_named(word: str, script: str) -> None:
    families, missing = style.choose_fonts([word])
    assert (missing == [script]) == (len(families) == 1)
    if not missing:
        paths = [style._font_paths()[family] for family in families]
        letters = frozenset().union(*map(style._letters_of_font, paths))
        assert {ord(c) for c in word} <= letters


def test_a_large_matrix_stays_a_picture_of_bounded_size() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_heatmap(matrix(300, 400))
    assert isinstance(figure, Figure)
    assert max(figure.get_size_inches()) < 45


def test_a_font_that_was_installed_after_the_list_was_made_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from matplotlib import font_manager

    new = tmp_path / "New.ttf"
    shutil.copy(font_manager.findfont("DejaVu Sans Mono"), new)
    (tmp_path / "damaged.ttf").write_bytes(b"no font")
    listed = [e for e in font_manager.fontManager.ttflist if e.name != "DejaVu Sans Mono"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", listed)
    monkeypatch.setattr(
        font_manager, "findSystemFonts", lambda: [str(new), str(tmp_path / "damaged.ttf"), listed[0].fname]
    )
    style._font_paths.cache_clear()
    assert style._font_paths()["DejaVu Sans Mono"] == str(new)
    new.unlink()
    style._font_paths.cache_clear()
    assert "DejaVu Sans Mono" not in style._font_paths()  # nor is one that was uninstalled
    style._font_paths.cache_clear()


def test_only_fonts_that_exist_are_recommended() -> None:
    assert [style.suggest_font(name) for name in ("CJK", "Hiragana", "Tibetan", "Thai", "Cuneiform")] == [
        "Noto Sans CJK SC",
        "Noto Sans CJK JP",
        "Noto Serif Tibetan",
        "Noto Sans Thai",
        "",
    ]


# ---- curves ----


def curves_of(figure: Figure) -> list[tuple[str, list[list[float]]]]:
    """Return color and course of every curve but those of the legend, which are straight."""
    found = [
        (to_hex(own.get_edgecolor()), own.get_path().vertices.tolist()) for own in figure.axes[0].patches
    ]
    return [(color, course) for color, course in found if course[1] != course[2]]


def test_curves_have_the_colors_of_right_wrong_and_missing_links() -> None:
    gold = GoldAlignment(frozenset({Link(0, 0), Link(2, 0)}), frozenset({Link(0, 0), Link(2, 0), Link(1, 1)}))
    matrix = AlignmentMatrix(np.full((2, 3), 0.5), ("a", "b", "c"), ("d", "e"))
    links = [(0, 0), (1, 1), (2, 1)]
    figure = draw_curves(matrix, links=links, gold=gold)
    assert [color for color, _ in curves_of(figure)] == ["#00735a", "#00735a", "#0063b1", "#b54708"]
    written = [text.get_text() for text in figure.axes[0].texts]
    assert {"right link", "wrong link", "missed link", "×", "+"} < set(written)
    assert [color for color, _ in curves_of(draw_curves(matrix, links=links))] == ["#00735a"] * 3
    assert [color for color, _ in curves_of(draw_curves(matrix, gold=gold))] == ["#1f5fa8"] * 3
    with pytest.raises(DataError, match="outside"):
        draw_curves(matrix, links=[(3, 0)])


@pytest.mark.parametrize("count", [3, 40])
def test_curves_end_at_their_words(count: int) -> None:
    """In two lines, and in rows of two lines where these are too long."""
    words = [f"word{n}" for n in range(count)], [f"Wort{n}" for n in range(count)]
    links = sorted((n, (n + 1) % count) for n in range(count))
    figure = draw_curves(AlignmentMatrix(np.eye(count), *map(tuple, words)), links=links)
    figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in figure.axes[0].texts}
    courses = [curve.get_path().vertices.tolist() for curve in figure.axes[0].patches]
    assert len(courses) == count
    to_pixels = figure.axes[0].transData.transform
    for (s, t), course in zip(links, map(to_pixels, courses), strict=True):
        for name, end in ((f"word{s}", course[0]), (f"Wort{t}", course[-1])):
            box = boxes[name]
            assert abs(end[0] - (box.x0 + box.x1) / 2) < 3
            assert not box.contains(*end)


def test_a_long_pair_has_rows_and_links_between_them_are_stubs() -> None:
    words = tuple(f"word{n}" for n in range(40))
    links = [(n, n) for n in range(40)] + [(0, 39)]
    figure = draw_curves(AlignmentMatrix(np.eye(40), words, words), links=links)
    assert figure.get_figwidth() < 11
    heights = {text.get_position()[1] for text in figure.axes[0].texts if text.get_text()}
    assert len(heights) >= 2 * 3  # how many words a row has depends on the fonts
    [stubs] = [curve for curve in figure.axes[0].patches if curve.get_alpha() < 1]
    (_, top), (_, below), (_, above), (_, bottom) = stubs.get_path().vertices
    assert (below - top, bottom - above) == (10, 10)
    assert stubs.get_path().codes.tolist() == [1, 2, 1, 2]  # two straight lines


def test_columns_run_from_right_to_left_as_their_sentence_and_the_picture_says_so() -> None:
    hebrew, english = ("שלום", "עולם"), ("hello", "world")
    figure = draw_heatmap(AlignmentMatrix(np.eye(2), hebrew, english), links=[(0, 0)])
    axes = figure.axes[0]
    first, second = (axes.transData.transform((s, 0))[0] for s in (0, 1))
    assert first > second
    assert axes.get_xticks().tolist() == [0, 1]
    assert texts(axes.get_xticklabels()) == list(hebrew)
    assert "← columns run from right to left, as their sentence does" in notes(figure)
    latin = draw_heatmap(AlignmentMatrix(np.eye(2), english, hebrew))
    assert not latin.axes[0].xaxis_inverted()
    assert not any("right to left" in note for note in notes(latin))
    written = texts(draw_curves(AlignmentMatrix(np.eye(2), hebrew, english), links=[(0, 0)]).axes[0].texts)
    assert "opposite directions: both are read from the top" in written


def test_the_words_of_a_line_run_from_right_to_left_in_hebrew() -> None:
    words = ("שלום", "עולם")
    figure = draw_curves(AlignmentMatrix(np.eye(2), words, words), links=[(0, 0)])
    places = [text.get_position()[0] for text in figure.axes[0].texts if text.get_text()]
    assert places[0] > places[1]
    assert places[2] > places[3]


def test_brackets_of_a_sentence_from_right_to_left_face_their_words() -> None:
    """By right-to-left marks around words with a bracket, as a bracket alone has no direction."""
    hebrew = ("הגן", "(", "(ירוק)", "HTML(", "12", ")")
    english = ("The", "(", "(green)", "HTML(", "12", ")")
    matrix = AlignmentMatrix(np.eye(6), english, hebrew)
    expected = ["הגן", "\u200f(\u200f", "\u200f(ירוק)\u200f", "HTML(", "12", "\u200f)\u200f"]
    axes = draw_heatmap(matrix).axes[0]
    assert texts(axes.get_yticklabels()) == expected
    assert texts(axes.get_xticklabels()) == list(english)
    written = texts(draw_curves(matrix, links=[(0, 0)]).axes[0].texts)
    assert [text for text in written if text][:12] == [*english, *expected]


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_pair_is_saved_as_curves(tmp_path: Path, suffix: str) -> None:
    pair = AlignedPair(
        Alignment(frozenset({(0, 1), (1, 0)}), 2, 2),
        AlignmentMatrix(np.eye(2)[::-1], ("<black>", "$cat$"), ("chat", "noir")),
    )
    pair.save(tmp_path / f"cat.{suffix}", curves=True)
    content = (tmp_path / f"cat.{suffix}").read_bytes()
    assert content.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[suffix])
    if suffix == "svg":
        assert all(
            f">{word}</text>".encode() in content for word in ("&lt;black&gt;", "$cat$", "chat", "noir")
        )
    with pytest.raises(UsageError, match="`curves` does not apply to numbers"):
        pair.save(tmp_path / "cat.tsv", curves=True)


def test_a_figure_can_be_sent_to_another_process_and_shown():
    figure = pickle.loads(pickle.dumps(draw_heatmap(AlignmentMatrix(np.eye(2), ["a", "b"], ["c", "d"]))))
    picture, size = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert size["width"] > 0


def test_words_of_a_heatmap_are_a_list():
    """A text would be taken apart into letters."""
    for words in (("the cat", ["le", "chat"]), (["the", "cat"], "le chat")):
        with pytest.raises(UsageError, match=r"_words` as a list of words, found .*\.split\(\)"):
            na.heatmap(np.eye(2), *words)
    with pytest.raises(DataError, match="two lists of words, found 'ab'"):
        AlignmentMatrix(np.eye(2), "ab", ["c", "d"])


def test_a_long_word_is_abbreviated_between_characters():
    """Emoji, flags and letters with marks are not cut in half."""
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert abbreviate(family * 3, 3) == family * 3
    assert abbreviate(family * 20, 4) == f"{family * 2}…{family * 2}"
    assert abbreviate("e\u0301" * 9 + "\U0001f1eb\U0001f1f7", 2) == "e\u0301…\U0001f1eb\U0001f1f7"
    shown = single_line("x" * 179 + family)
    assert shown == "x" * 179 + " ..."
