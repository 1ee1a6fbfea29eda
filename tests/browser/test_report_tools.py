"""What the report does with attention, errors and corrections, in a real browser."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nmtalign as na
from nmtalign import AlignedPair, Alignment, GoldAlignment, Link, evaluate
from nmtalign.corpus.sides import encode_both_sides
from nmtalign.links.formats import format_gold
from nmtalign.links.gold import pair_fingerprint, read_corrections, read_gold
from nmtalign.links.inputs import as_gold
from nmtalign.report.html import write_report
from nmtalign.report.page_content import SamplePair
from nmtalign.rescoring.rescorer import gold_of_pairs
from tests.browser.conftest import actions, wait, wait_until_drawn, wait_until_still
from tests.browser.test_report_page import (
    assert_no_violation,
    find,
    go_to_pairs,
    mouse_away,
    plain,
    point_at,
    point_at_cell,
    press,
    texts,
    wait_for_reason,
    word,
)
from tests.report.sample_pairs import CAT, CAT_ALONE, HOSTILE_WORDS, aligned_pair, corpus

Open = Callable[..., Any]


def choose(page: Any, key: str, text: str, of: str = "key") -> None:
    from selenium.webdriver.support.ui import Select

    Select(find(page, f"[data-{of}={key}]")[0]).select_by_visible_text(text)


def attention_widths(page: Any, box: int = 0) -> list[float]:
    """Return the widths of the curves of a word's attention in the order of words."""
    return page.execute_script(
        "const box = document.querySelectorAll('.sentences')[arguments[0]];"
        "const curves = [...box.querySelectorAll('.attention path')];"
        "return curves.map((path) => +path.getAttribute('stroke-width'));",
        box,
    )


def expected(weights: np.ndarray) -> list[float]:
    shares = [w for w in weights if w >= 0.005]
    return [pytest.approx(0.7 + 6 * w, abs=0.03) for w in shares]  # weights are 255ths


def test_the_attention_of_a_word_goes_to_the_other_side_and_to_null(open_report: Open) -> None:
    page = open_report([CAT])
    go_to_pairs(page)
    aligned = CAT.aligned
    # without a choice a word looks at the other side in its own direction
    for view, weights, back in (
        ("combined", aligned.forward, aligned.reverse),
        ("forward", aligned.forward, aligned.forward),
        ("reverse", aligned.reverse, aligned.reverse),
    ):
        choose(page, "view", view)
        point_at(page, word(page, "dort"))
        wait_for_reason(page, "no partner\nblack\n")
        assert attention_widths(page) == expected(weights[3])
        none = ["no partner 50\u00a0%"]
        assert texts(page, ".attention text.none") == ([] if view == "reverse" else none)
        page.execute_script("document.querySelectorAll('.token')[1].focus()")
        assert attention_widths(page) == expected(back[:, 1])
        attended = page.execute_script(
            "return [...document.querySelectorAll('.attended')]"
            ".map((word) => word.dataset.side + word.dataset.at)"
        )
        assert attended == [f"t{t}" for t, w in enumerate(back[:, 1]) if w >= 0.005]
        mouse_away(page)
        page.execute_script("document.activeElement.blur()")


def test_a_click_pins_a_fan_and_another_or_escape_lets_it_go(open_report: Open) -> None:
    page = open_report([CAT])
    go_to_pairs(page)
    pressed = ".token[aria-pressed=true]"
    word(page, "cat").click()
    point_at(page, word(page, "le"))
    point_at(page, find(page, "#pairs-head")[0])
    assert texts(page, pressed) == ["cat"]
    assert attention_widths(page) == expected(CAT.aligned.reverse[:, 2])
    word(page, "cat").click()
    point_at(page, find(page, "#pairs-head")[0])
    assert attention_widths(page) == []
    page.execute_script("document.querySelector('.token').focus()")
    press(page, "ENTER")
    assert texts(page, pressed) == ["the"]
    press(page, "ESCAPE")
    assert texts(page, pressed) == []


def test_two_views_stand_side_by_side_with_their_difference(open_report: Open) -> None:
    other = np.random.default_rng(1).uniform(0, 0.5, (4, 4))
    wider = {"first": np.ones((4, 4)), "second": np.zeros((4, 4))}  # colors are those of all pairs
    own = replace(CAT, parts={"first": CAT.aligned.forward, "second": other})
    page = open_report([own, replace(CAT, line=3, parts=wider)])
    choose(page, "view", "first")
    choose(page, "beside", "second")
    word(page, "black").click()
    assert attention_widths(page, 0) == expected(CAT.aligned.forward[:, 1])
    assert attention_widths(page, 1) == expected(other[:, 1])
    first, second = (box.rect for box in find(page, "#pair-17 .sentences"))
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    assert "first attention less second attention" in texts(page, ".matrix figcaption")[2]
    shades = page.execute_script("""
        const picture = document.querySelectorAll('.matrix svg[tabindex]')[2];
        const grid = picture.querySelector('.grid').getAttribute('d');
        const frame = grid.match(/M([\\d.]+) ([\\d.]+)h([\\d.]+)/);
        const [left, top, wide] = frame.slice(1).map(Number);
        const found = Array(16).fill(0), at = (x) => Math.floor((4 * x) / wide);
        for (const path of picture.querySelectorAll(':scope > path.weight'))
          for (const [, x, y] of path.getAttribute('d').matchAll(/M([\\d.]+) ([\\d.]+)/g))
            found[at(y - top) * 4 + at(x - left)] =
              (path.matches('.less') ? -1 : 1) * path.getAttribute('fill-opacity');
        return found""")
    difference = CAT.aligned.forward - other
    level = np.sign(difference) * np.sqrt(np.abs(difference))
    assert np.abs(np.reshape(shades, (4, 4)) - level).max() <= 0.06
    choose(page, "beside", "other")  # links of another system are weights of 1
    assert attention_widths(page, 1) == expected(np.zeros(4))
    word(page, "the").click()
    assert attention_widths(page, 1) == expected(np.array([1.0, 0, 0, 0]))


def test_all_weights_stand_side_by_side(open_report: Open) -> None:
    page = open_report([replace(CAT, parts={"first": CAT.aligned.forward})])
    choose(page, "beside", "all weights")
    labels = [picture.get_attribute("aria-label") for picture in find(page, ".matrix svg[tabindex]")]
    shown = [label.split(",")[1].split(":")[0] for label in labels]
    directions = [f" {view} attention" for view in ("forward", "reverse", "first")]
    assert shown == [" combined probability", *directions]
    point_at(page, word(page, "cat"))
    assert len(find(page, ".matrix .band")) == 4


def test_a_pair_without_a_head_shows_what_it_has(open_report: Open) -> None:
    page = open_report([replace(CAT, line=1, parts={"first": CAT.aligned.forward}), CAT])
    choose(page, "view", "first (1 pairs)")
    labels = [picture.get_attribute("aria-label") for picture in find(page, ".matrix svg[tabindex]")]
    assert [label.split(":")[0] for label in labels] == [
        "Matrix of pair 1, first attention",
        "Matrix of pair 17, combined probability",
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_a_card_is_saved_as_a_picture_of_its_words_and_curves(open_report: Open, dark: bool) -> None:
    page = open_report([CAT_ALONE], dark=dark)
    page.execute_script(
        "URL.createObjectURL = (blob) => { blob.text().then((t) => { window.kept = t }); return '#' }"
    )
    find(page, ".menu summary")[0].click()
    find(page, ".save-svg")[0].click()
    wait(page, "return window.kept")
    assert texts(page, ".done")[0] == "pair-17.svg is saved."
    assert not find(page, ".save-svg")[0].is_displayed()  # the menu is closed
    picture = ElementTree.fromstring(page.execute_script("return window.kept"))
    written = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"×", "+", "missed", *CAT.aligned.tokens[0], *CAT.aligned.tokens[1]} <= set(written)
    text = " ".join(written)
    assert "One link is wrong: ‘cat’ – ‘chat’" in plain(text)
    assert "The model makes 2 of the 3 links that people made, and 1 that is wrong." in text
    title, told = (picture.find(f"{{http://www.w3.org/2000/svg}}{name}").text for name in ("title", "desc"))
    assert plain(title) == "One link is wrong: ‘cat’ – ‘chat’"
    assert told in text
    curves = [path.get("stroke") for path in picture.iter("{http://www.w3.org/2000/svg}path")]
    hit, wrong, missed = ("#4fc3a1", "#ff9d5c", "#6cb8f5") if dark else ("#00735a", "#b54708", "#0063b1")
    as_rgb = {
        f"rgb({', '.join(str(int(c[i : i + 2], 16)) for i in (1, 3, 5))})" for c in (hit, wrong, missed)
    }
    assert as_rgb <= set(curves)
    assert picture.get("width") == "1100"  # whatever the window
    assert not {"class", "style"} & {name for node in picture.iter() for name in node.attrib}


# The copied picture as [width, height, [red, green, blue] of the corner, how many colors it has].
COLORS = """
const done = arguments[0];
createImageBitmap(window.copied).then((image) => {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: image.width, height: image.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height);
  const pixels = new Uint32Array(data.buffer);
  done([image.width, image.height, [...data.slice(0, 3)], new Set(pixels).size]);
});
"""


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1400, True)])
def test_the_image_of_a_card_is_copied_as_png_whatever_the_window(
    open_report: Open, width: int, dark: bool
) -> None:
    page = open_report([CAT_ALONE], width=width, dark=dark)
    page.execute_script(
        "navigator.clipboard.write = async ([item]) => { window.copied = await item.getType('image/png'); }"
    )
    before = page.execute_script("return document.querySelector('.pair').outerHTML")
    find(page, ".copy-image")[0].click()
    wait(page, "return window.copied")
    assert texts(page, ".done") == ["The image is copied."]
    wide, high, corner, colors = page.execute_async_script(COLORS)
    assert (wide, corner) == (2200, [27, 29, 34] if dark else [255, 255, 255])
    assert 800 < high < 2400
    assert colors > 100  # words, curves and cells with soft edges
    page.execute_script("document.querySelector('.done').replaceChildren()")
    assert page.execute_script("return document.querySelector('.pair').outerHTML") == before


def test_an_image_that_cannot_be_copied_is_saved(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    page.execute_script(
        "navigator.clipboard.write = () => Promise.reject(new Error());"
        "const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { window.saved = blob; return make(blob) }"
    )
    find(page, ".copy-image")[0].click()
    wait(page, "return window.saved?.type === 'image/png'")
    wait(page, "return document.querySelector('.done').textContent.includes('is saved')")
    assert texts(page, ".done") == ["The browser refuses to copy; pair-17.png is saved."]


# ---- errors ----------------------------------------------------------------------------------------------


def judged(pair: SamplePair, links: Any) -> dict[Link, str]:
    assert pair.gold is not None
    wrong = {link: "wrong" for link in links if link not in pair.gold.possible}
    return wrong | dict.fromkeys(pair.gold.sure - set(links), "missed")


def rows_of(page: Any) -> dict[str, list[int]]:
    rows = page.execute_script(
        "return [...document.querySelectorAll('#errors tbody tr')]"
        ".map((tr) => [...tr.cells].map((td) => td.textContent))"
    )
    return {name: [int(count) for count in counts] for name, *counts, _ in rows}


def test_errors_are_counted_by_group(open_report: Open) -> None:
    pairs = [*corpus(8, 12), CAT]
    page = open_report(pairs)
    find(page, "#errors > summary")[0].click()
    wait(page, "return document.querySelector('#errors tbody')")
    wrong, missed, sizes = Counter(), Counter(), Counter()
    for pair in pairs:
        source, target = pair.aligned.matrix.source_tokens, pair.aligned.matrix.target_tokens
        for (s, t), kind in judged(pair, pair.aligned.alignment.links).items():
            (wrong if kind == "wrong" else missed)[f"{source[s]} – {target[t]}"] += 1
            sizes[{12: "11 to 20", 4: "1 to 10"}[len(source)]] += 1
    found = rows_of(page)
    assert {name: counts[:2] for name, counts in found.items()} == {
        name: [wrong[name], missed[name]] for name in wrong | missed
    }
    assert texts(page, "#errors summary span") == [f"{wrong.total()} wrong links, {missed.total()} missing"]
    choose(page, "group", "words of the longer side", "errors")
    assert {name: sum(counts[:2]) for name, counts in rows_of(page).items()} == sizes
    assert list(rows_of(page)) == ["1 to 10", "11 to 20"]


def test_words_have_classes_and_frequencies(open_report: Open) -> None:
    gold = CAT.gold
    pairs = [
        SamplePair(n, aligned_pair(["the", "1992", "w" * n, "x"], ["le", ".", "v" * n, "y"]), gold)
        for n in range(1, 5)
    ]
    page = open_report(pairs)
    find(page, "#errors > summary")[0].click()
    choose(page, "group", "class", "errors")
    classes = {name for row in rows_of(page) for name in row.split(" – ")}
    assert classes == {"function word", "punctuation", "number"}  # of so few words all are frequent
    choose(page, "group", "times the rarer word is seen", "errors")
    assert set(rows_of(page)) <= {"1", "3 to 5"}
    assert rows_of(page)


def test_an_error_leads_to_its_examples_and_to_the_pair(open_report: Open) -> None:
    page = open_report([*corpus(8, 12), CAT])
    find(page, "#errors > summary")[0].click()
    wait(page, "return document.querySelector('#errors tbody')")
    button = next(b for b in find(page, "#errors tbody button") if b.text == "sleeps – dort")
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", button)
    button.click()
    assert texts(page, "#examples h3") == ["sleeps – dort: 1 example"]
    assert texts(page, "#examples mark") == ["sleeps", "dort"]
    assert texts(page, "#examples .around") == ["the black cat sleeps ", "le chat noir dort "]
    find(page, "#examples a")[0].click()
    wait(
        page,
        "return document.querySelector('.sought h3')?.textContent === 'Pair 17'"
        " && document.querySelector('.sought .token')",
    )
    assert plain(texts(page, ".sought .headline")[0]) == "‘sleeps’ – ‘dort’ is a missed link"


def test_a_group_of_errors_lists_its_pairs(open_report: Open) -> None:
    page = open_report([*corpus(8, 12), CAT])
    find(page, "#errors > summary")[0].click()
    wait(page, "return document.querySelector('#errors tbody')")
    choose(page, "group", "words of the longer side", "errors")
    button = next(b for b in find(page, "#errors tbody button") if b.text == "1 to 10")
    page.execute_script("arguments[0].click()", button)
    assert texts(page, "#examples button") == ["List only 1 pair"]
    page.execute_script("document.querySelector('#examples button').click()")
    wait(page, "return document.getElementById('search').value === 'pairs:17'")
    assert texts(page, "#found") == ["1 of 9 pairs (pairs by their numbers)"]


def test_gold_links_that_may_be_wrong_are_a_group(open_report: Open) -> None:
    lines = [("the black cat sleeps", "le chat noir dort"), ("the house is red", "la maison est rouge")]
    batch = na.load().align_batch(lines)
    golds = [as_gold("0-0 1-1 2-2 3-3"), as_gold("0-0 1-1 2-2 3-3")]
    errors = batch.compare([gold.possible for gold in golds])
    doubtful = errors[errors["doubt"] >= 0.9].sort_values("doubt", ascending=False)
    page = open_report([SamplePair(n + 1, batch[n], gold) for n, gold in enumerate(golds)])
    find(page, "#errors > summary")[0].click()
    wait(page, "return document.querySelector('#errors tbody')")
    choose(page, "group", "who may be wrong", "errors")
    people = "people: the model is sure"
    kinds = doubtful["kind"].value_counts()
    assert rows_of(page)[people][:2] == [kinds["wrong"], kinds["missed"]]
    button = next(one for one in find(page, "#errors tbody button") if one.text == people)
    page.execute_script("arguments[0].click()", button)
    shown = texts(page, "#examples li")
    assert len(shown) == len(doubtful)
    assert doubtful["pair"].unique().tolist() == [0]
    assert {line.split("the black")[0] for line in shown} == {"Pair 1 wrong link", "Pair 1 missed link"}


def test_pairs_are_found_by_their_numbers(open_report: Open) -> None:
    page = open_report(corpus(12, 4))
    for query, found in (
        ("pairs:2,4-6", "4 of 12 pairs (pairs by their numbers)"),
        ("-pairs:2,4-6", "8 of 12 pairs (not pairs by their numbers)"),
    ):
        page.execute_script("location.hash = arguments[0]", f"pairs&find={query}")
        wait(page, "return document.getElementById('found').textContent === arguments[0]", found)


def test_a_bar_of_a_plot_lists_its_pairs(open_report: Open) -> None:
    pairs = corpus(16, 12)
    page = open_report(pairs)
    bars = page.execute_script(
        "return [...document.querySelectorAll('.plot')].map((plot) => [plot.querySelector('figcaption')"
        ".firstChild.data, [...plot.querySelectorAll('a')].map((a) => a.getAttribute('aria-label'))])"
    )
    assert {"Link probabilities", "Jump widths", "Links of a source word"} <= {title for title, _ in bars}
    assert all(told.endswith("; list the pairs") for _, links in bars for told in links)
    titles = [title for title, _ in bars]
    plot = titles.index("Links of a source word")
    label = bars[plot][1][-1]
    wanted = int(label.split(":")[0].removeprefix("≥"))
    page.execute_script(
        "const links = document.querySelectorAll('.plot')[arguments[0]].querySelectorAll('a');"
        "const click = new MouseEvent('click', { bubbles: true, cancelable: true });"
        "links[links.length - 1].dispatchEvent(click);",
        plot,
    )
    expected_numbers = [
        pair.line for pair in pairs if (pair.aligned.alignment.to_matrix().sum(axis=0) == wanted).any()
    ]
    assert expected_numbers
    wait(page, "return document.getElementById('search').value.startsWith('pairs:')")
    assert texts(page, "#found")[0].startswith(f"{len(expected_numbers)} ")


def test_one_system_against_another(open_report: Open) -> None:
    pairs = corpus(10, 12)
    page = open_report(pairs)
    find(page, "#errors > summary")[0].click()
    choose(page, "against", "other", "errors")
    choose(page, "group", "words of the longer side", "errors")
    count = Counter()
    for pair in pairs:
        ours, theirs = judged(pair, pair.aligned.alignment.links), judged(pair, pair.others["other"].links)
        count += Counter(
            won=len(theirs.keys() - ours), lost=len(ours.keys() - theirs), both=len(ours.keys() & theirs)
        )
    assert rows_of(page) == {"11 to 20": [count["won"], count["lost"], count["both"]]}
    assert count["won"] != count["lost"]
    choose(page, "view", "other", "errors")
    choose(page, "against", "these links", "errors")
    assert rows_of(page) == {"11 to 20": [count["lost"], count["won"], count["both"]]}


# ---- corrections -----------------------------------------------------------------------------------------


def edit(page: Any) -> None:
    """Begin to edit the cards that are drawn, and open the tools of all corrections."""
    wait_until_drawn(page)
    page.execute_script(
        "document.getElementById('editor').open = true;"
        "for (const button of document.querySelectorAll('.edit[aria-pressed=false]')) button.click();"
    )


def kinds(page: Any) -> dict[str, str]:
    """Return the links of the cards that are edited, sure or maybe; of other cards as they are drawn."""
    links = page.execute_script(
        "return [...document.querySelectorAll('.pair path.link')]"
        ".map((path) => [path.dataset.link, path.classList[1], Boolean(path.closest('.editing'))])"
    )
    edited = {"hit": "sure", "both": "sure", "missed": "sure", "sure": "sure", "maybe": "maybe"}
    found = {link: edited.get(kind) if is_edited else kind for link, kind, is_edited in links}
    return {link: kind for link, kind in found.items() if kind}


def downloaded(page: Any, folder: Path, name: str = "gold.pharaoh") -> Path:
    where = {"behavior": "allow", "downloadPath": str(folder)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    press_tool(page, f"Download {name.split('.')[0]}")
    file, end = folder / name, time.monotonic() + 60
    while not (file.exists() and file.stat().st_size):
        assert time.monotonic() < end, "nothing was downloaded"
        time.sleep(0.03)
    return file


def press_tool(page: Any, name: str) -> None:
    """Press a button of the editor, wherever the page is scrolled to."""
    page.execute_script(
        "[...document.querySelectorAll('#editor button')]"
        ".find((button) => button.innerText === arguments[0]).click()",
        name,
    )


def told(page: Any) -> str:
    return texts(page, "#editor summary span")[0]


def again(page: Any) -> None:
    page.refresh()
    wait_until_drawn(page)


def without_gold(pair: SamplePair) -> SamplePair:
    return replace(pair, gold=None, others={})


def test_two_words_go_sure_possible_none_and_back(open_report: Open) -> None:
    page = open_report([without_gold(CAT)])
    edit(page)
    assert kinds(page) == {"0-0": "sure", "1-2": "sure", "2-1": "sure"}
    word(page, "sleeps").click()
    found = []
    for letter in ("", "p", ""):
        if letter:
            press_letter(page, letter)
        else:
            word(page, "dort").click()
        found.append(kinds(page).get("3-3"))
    assert found == ["sure", "maybe", None]
    assert "0 of 1 pair reviewed" in told(page)
    undo = next(button for button in find(page, "#editor button") if button.text == "Undo")
    for kind in ("maybe", "sure", None, None):
        # else it may be scrolled below the toolbar, which sticks to the top
        page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", undo)
        undo.click()
        assert kinds(page).get("3-3") == kind
        assert f"{0 if kind is None else 1} of 1 pair reviewed" in told(page)
    assert kinds(page) == {"0-0": "sure", "1-2": "sure", "2-1": "sure"}


def press_letter(page: Any, letter: str) -> None:
    actions(page).send_keys(letter).perform()


def test_links_are_corrected_by_keys_alone(open_report: Open) -> None:
    from selenium.webdriver import Keys

    page = open_report([without_gold(CAT)])
    edit(page)
    page.execute_script("document.querySelector('.token').focus()")
    press(page, "ENTER", "ARROW_DOWN", "ARROW_RIGHT", "ENTER")  # the, le, chat
    assert kinds(page)["0-1"] == "sure"
    assert page.execute_script("return document.activeElement.textContent") == "chat"
    press_letter(page, "p")
    assert kinds(page)["0-1"] == "maybe"
    assert page.execute_script("return document.activeElement.textContent") == "chat"
    press(page, *["TAB"] * 10, "ARROW_RIGHT", "ENTER")  # over the panel to the matrix: black, le
    assert kinds(page)["1-0"] == "sure"
    assert "‘black’ – ‘le’: sure" in plain(texts(page, "#live")[0])
    for key, kind in (("p", "maybe"), ("s", "sure"), ("n", None)):
        actions(page).send_keys(key).perform()
        assert kinds(page).get("1-0") == kind
    actions(page).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    assert kinds(page)["1-0"] == "sure"


def test_several_words_are_linked_at_once_and_each_change_has_its_undo(open_report: Open) -> None:
    from selenium.webdriver import Keys

    page = open_report([without_gold(CAT), without_gold(replace(CAT, line=18))], height=1400)
    press_letter(page, "e")
    assert [node.text for node in find(page, ".edit")] == ["Done", "Edit"]
    word(page, "the").click()
    further = actions(page).key_down(Keys.SHIFT).click(word(page, "cat")).key_up(Keys.SHIFT)
    further.click(word(page, "dort")).perform()
    assert kinds_of(page, 17) == {"0-0": "both", "1-2": "both", "2-1": "both", "0-3": "sure", "2-3": "sure"}
    names = [plain(name) for name in texts(page, ".changes strong")]
    assert names == ["+ cat – dort", "+ the – dort"]
    find(page, ".changes .possible")[0].click()
    assert kinds_of(page, 17)["2-3"] == "maybe"
    find(page, ".changes .undo")[1].click()
    assert page.execute_script("return document.activeElement.className") == "undo"
    assert "0-3" not in kinds_of(page, 17)
    find(page, ".discard")[0].click()
    assert kinds_of(page, 17) == {"0-0": "both", "1-2": "both", "2-1": "both"}
    press(page, "ESCAPE")
    word(page, "the").click()
    word(page, "le").click()  # a link of the model that is removed stays in sight
    assert kinds_of(page, 17)["0-0"] == "removed"
    find(page, ".panel .next")[0].click()
    assert [node.text for node in find(page, ".edit")] == ["Edit", "Done"]
    assert texts(page, ".panel .progress") == ["1 of 2 pairs reviewed"]


def test_a_cell_is_corrected_by_a_click(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    edit(page)
    assert kinds(page) == {"0-0": "sure", "1-2": "sure", "3-3": "sure"}  # the gold, where there is one
    matrix = find(page, ".matrix svg")[0]
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", matrix)
    wait_until_still(page)
    point_at_cell(page, "0", "0")
    actions(page).click().perform()
    assert kinds(page) == {"1-2": "sure", "3-3": "sure"}
    assert len(find(page, ".pan rect.yours")) == 1  # removed


def test_what_is_corrected_is_kept_and_downloaded_as_gold_that_train_reads(
    open_report: Open, tmp_path: Path
) -> None:
    pairs = [without_gold(replace(pair, line=10 + pair.line)) for pair in corpus(60, 5, compared=False)]
    page = open_report(pairs, gold=[""] * 80)
    edit(page)
    for box in find(page, ".check input")[:2]:  # as many cards are drawn at first
        box.click()
    first, second = pairs[0].aligned.matrix.source_tokens[0], find(page, ".pair .target .token")[4]
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", second)
    word(page, first).click()
    second.click()
    again(page)
    assert texts(page, "#kept")[0].startswith("2 pairs were reviewed before, the last 20")
    edit(page)
    assert "2 of 60 pairs reviewed, kept in this browser" in told(page)
    assert len([text for text in texts(page, "#index a") if text.endswith("✓")]) == 2
    gold = list(read_gold(downloaded(page, tmp_path)))
    assert len(gold) == 80
    assert [n for n, links in enumerate(gold, 1) if links.possible] == [
        pair.line for pair in pairs[:2] if pair.aligned.alignment.links or pair.line == 11
    ]
    links = pairs[0].aligned.alignment.links
    changed = links ^ {Link(0, 4)} if Link(0, 4) not in links else links
    assert gold[10].possible == changed
    assert list(read_gold(downloaded(page, tmp_path, "corrections.jsonl"))) == gold
    empty: list[tuple[list[str], list[str]]] = [(["a"] * 5, ["b"] * 5)] * 2400
    assert len(gold_of_pairs(gold * 30, *encode_both_sides(empty))) >= 50  # as `train --gold` does


def test_all_gold_lines_travel(open_report: Open, tmp_path: Path) -> None:
    lines = ["0-0 1p1"] * 19 + ["", "2-2"]
    lines[16] = "0-0 1-2 3-3"  # that of the pair that is shown
    page = open_report([CAT, replace(CAT, line=20, gold=None)], gold=lines)
    edit(page)
    assert texts(page, ".pair .fact") == ["3 gold links", "3 links"]
    assert downloaded(page, tmp_path).read_text() == "".join(f"{line}\n" for line in lines)
    word(page, "sleeps").click()
    word(page, "dort").click()
    press_letter(page, "p")
    (tmp_path / "gold.pharaoh").unlink()
    lines[16] = "0-0 1-2 3p3"
    assert downloaded(page, tmp_path).read_text() == "".join(f"{line}\n" for line in lines)
    assert texts(page, "#live") == ["gold.pharaoh: links of 20 pairs, 1 of them corrected"]


def test_corrections_travel_to_another_report_of_the_text(open_report: Open, tmp_path: Path) -> None:
    """Of another model, with another sample and of what this browser has not kept; and back."""
    other = replace(CAT, line=3)
    page = open_report([CAT, other], gold=[""] * 20)
    edit(page)
    find(page, "#editor input")[0].send_keys("Ann <b>")
    word(page, "sleeps").click()
    word(page, "dort").click()
    press_letter(page, "p")
    find(page, "#pair-17 .note-of-pair")[0].send_keys("<i>?")
    find(page, "#pair-3 .check input")[0].click()
    assert texts(page, "#pair-17 .check")[0].startswith("reviewed by Ann <b>, 20")
    assert texts(page, "#index a") == ["17 ✓", "3 ✓"]
    file = downloaded(page, tmp_path, "corrections.jsonl")
    found = read_corrections(file)
    assert {n: (one.by, one.note, format_gold(one.gold)) for n, one in found.items()} == {
        3: ("Ann <b>", "", "0-0 1-2 3-3"),
        17: ("Ann <b>", "<i>?", "0-0 1-2 3p3"),
    }
    elsewhere = AlignedPair(Alignment(frozenset(), 4, 4), CAT.aligned.matrix)
    page = open_report([SamplePair(17, elsewhere)], gold=[""] * 20)
    assert not find(page, "#kept")[0].is_displayed()
    edit(page)
    file.write_text(file.read_text() + '{"pair": 1}\n?\n')
    find(page, "#editor input[type=file]")[0].send_keys(str(file))
    wait(page, "return document.getElementById('kept').textContent")
    assert texts(page, "#kept") == [
        "2 of 4 corrections taken; 2 skipped: not a correction, or of a different text."
    ]
    assert kinds(page) == {"0-0": "sure", "1-2": "sure", "3-3": "maybe"}
    assert "1 of 1 pair reviewed, 1 others of this text" in told(page)
    file.unlink()
    assert read_corrections(downloaded(page, tmp_path, "corrections.jsonl")) == found  # nothing is lost
    page = open_report([SamplePair(17, elsewhere)], gold=[""] * 20, corrections=file)
    assert texts(page, "#kept")[0].startswith("2 pairs were reviewed before, the last 20")
    assert kinds(page) == {"0-0": "missed", "1-2": "missed"}


def test_steps_are_undone_and_done_again(open_report: Open, tmp_path: Path) -> None:
    from selenium.webdriver import Keys

    page = open_report([CAT, replace(CAT, line=18)], gold=[""] * 18)
    edit(page)
    word(page, "sleeps").click()
    word(page, "dort").click()  # none
    press_letter(page, "p")  # possible
    word(page, "dort").click()  # none
    for key, expected in (
        ("z", "maybe"),
        ("z", None),
        ("y", "maybe"),
        ("y", None),
        ("y", None),
        ("z", "maybe"),
    ):
        actions(page).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()
        assert kinds_of(page, 17).get("3-3") == expected
    press_tool(page, "Redo")
    assert "3-3" not in kinds_of(page, 17)
    assert "1 of 2 pairs reviewed" in told(page)
    find(page, "#pair-17 .check input")[0].click()  # nobody has looked: that is kept, too, but asked first
    page.switch_to.alert.dismiss()
    assert "3-3" not in kinds_of(page, 17)
    assert "1 of 2 pairs reviewed" in told(page)
    find(page, "#pair-17 .check input")[0].click()
    page.switch_to.alert.accept()
    assert kinds_of(page, 17)["3-3"] == "missed"
    again(page)
    assert not find(page, "#kept")[0].is_displayed()


def kinds_of(page: Any, number: int) -> dict[str, str]:
    links = page.execute_script(
        "return [...document.querySelectorAll(arguments[0])]"
        ".map((one) => [one.dataset.link, one.classList[1]])",
        f"#pair-{number} path.link",
    )
    return dict(links)


def test_tabs_share_what_is_corrected(open_report: Open) -> None:
    page = open_report([CAT, replace(CAT, line=18, gold=None)])
    first, address = page.current_window_handle, page.current_url
    edit(page)
    page.switch_to.new_window("tab")
    page.get(address)
    wait_until_drawn(page)
    page.execute_script("document.getElementById('bar').open = true")  # folded in its narrower window
    edit(page)
    find(page, "#pair-17 .check input")[0].click()
    second = page.current_window_handle
    page.switch_to.window(first)
    wait(page, "return document.querySelector('#editor summary span').textContent.startsWith('1 of 2')")
    assert texts(page, "#pair-17 .check")[0].startswith("reviewed, 20")
    find(page, "#pair-18 .check input")[0].click()
    again(page)
    edit(page)
    assert "2 of 2 pairs reviewed, kept in this browser" in told(page)
    page.switch_to.window(second)
    page.close()
    page.switch_to.window(first)


# ---- corrections in two tabs -----------------------------------------------------------------------------


@contextmanager
def two_tabs(page: Any, address: str | None = None) -> Iterator[Callable[[int], None]]:
    """Open a page, or the same one, in a second tab, in which links are edited; yield what goes to a tab."""
    first, address = page.current_window_handle, address or page.current_url
    page.switch_to.new_window("tab")
    second = page.current_window_handle
    page.get(address)
    wait_until_drawn(page)
    page.execute_script("document.getElementById('bar').open = true")  # folded in its narrower window
    edit(page)
    yield lambda n: page.switch_to.window((first, second)[n])
    page.switch_to.window(second)
    page.close()
    page.switch_to.window(first)


def link(page: Any, source: str, target: str) -> None:
    word(page, source).click()
    word(page, target).click()
    press(page, "ESCAPE")


def wait_for(page: Any, links: dict[str, str]) -> None:
    """Wait until another tab has told this one how links are now."""
    end = time.monotonic() + 60
    while kinds(page) != links:
        assert time.monotonic() < end, f"still {kinds(page)}"
        time.sleep(0.03)


START = {"0-0": "sure", "1-2": "sure", "2-1": "sure"}  # the links of CAT


def test_undo_takes_back_the_change_of_its_own_tab_alone(open_report: Open) -> None:
    page = open_report([without_gold(CAT)])
    edit(page)
    link(page, "sleeps", "dort")
    with two_tabs(page) as go_to:
        assert kinds(page) == START | {"3-3": "sure"}
        link(page, "the", "chat")
        go_to(0)
        wait_for(page, START | {"3-3": "sure", "0-1": "sure"})
        press_tool(page, "Undo")
        assert kinds(page) == START | {"0-1": "sure"}
        said = "Pair 17: your change is undone, what another tab has changed stays"
        assert texts(page, "#said") == texts(page, "#live") == [said]
        assert "1 of 1 pair reviewed" in told(page)
        press_tool(page, "Redo")
        assert kinds(page) == START | {"3-3": "sure", "0-1": "sure"}
        press_tool(page, "Undo")
        assert kinds(page) == START | {"0-1": "sure"}
        go_to(1)
        wait_for(page, START | {"0-1": "sure"})
        press_tool(page, "Undo")  # that of this tab
        assert kinds(page) == START


def test_undo_leaves_a_link_that_another_tab_has_changed_since(open_report: Open) -> None:
    page = open_report([without_gold(CAT)])
    edit(page)
    link(page, "the", "chat")
    link(page, "sleeps", "dort")
    with two_tabs(page) as go_to:
        ours = START | {"0-1": "sure"}
        for decided in (ours, ours | {"3-3": "sure"}):  # none, and sure again: as another one has decided
            go_to(1)
            link(page, "sleeps", "dort")
            go_to(0)
            wait_for(page, decided)
        press_tool(page, "Undo")
        assert kinds(page) == ours | {"3-3": "sure"}
        assert "nothing is changed, another tab has changed the same links since" in texts(page, "#said")[0]
        press_tool(page, "Undo")
        assert kinds(page) == START | {"3-3": "sure"}
        go_to(1)
        wait_for(page, START | {"3-3": "sure"})
        for _ in range(3):
            press_tool(page, "Undo")
        assert "1 of 1 pair reviewed" in told(page)
        assert kinds(page) == START | {"3-3": "sure"}


def test_a_link_that_another_tab_takes_away_and_gives_back_in_the_same_second_is_its_own(
    open_report: Open,
) -> None:
    page = open_report([without_gold(CAT)])
    stop_clock = "Date.prototype.toISOString = () => '2026-01-01T00:00:00Z'"
    page.execute_script(stop_clock)
    edit(page)
    link(page, "sleeps", "dort")
    with two_tabs(page) as go_to:
        for decided in (START, START | {"3-3": "sure"}):
            go_to(1)
            page.execute_script(stop_clock)
            link(page, "sleeps", "dort")
            go_to(0)
            wait_for(page, decided)
        press_tool(page, "Undo")
        assert kinds(page) == START | {"3-3": "sure"}


def test_undoing_a_review_keeps_what_another_tab_has_corrected(open_report: Open) -> None:
    page = open_report([without_gold(CAT)])
    edit(page)
    find(page, ".check input")[0].click()
    with two_tabs(page) as go_to:
        link(page, "sleeps", "dort")
        go_to(0)
        wait_for(page, START | {"3-3": "sure"})
        press_tool(page, "Undo")
        assert kinds(page) == START | {"3-3": "sure"}
        assert "1 of 1 pair reviewed" in told(page)
        go_to(1)
        press_tool(page, "Undo")
        go_to(0)
        wait_for(page, START)
        find(page, ".check input")[0].click()
        assert "0 of 1 pair reviewed" in told(page)
        press_tool(page, "Undo")  # nobody has changed the pair since
        assert "1 of 1 pair reviewed" in told(page)


DEAF = "addEventListener('storage', (event) => event.stopImmediatePropagation(), true)"


def test_a_tab_that_hears_nothing_loses_nothing(open_report: Open, chromium: Any) -> None:
    """As one that was frozen, or that was left and is come back to."""
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": DEAF})
    page = open_report([without_gold(CAT)])
    chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    edit(page)
    with two_tabs(page) as go_to:
        link(page, "sleeps", "dort")
        go_to(0)
        assert kinds(page) == START
        link(page, "the", "chat")
        assert kinds(page) == START | {"3-3": "sure", "0-1": "sure"}
        go_to(1)
        wait_for(page, START | {"3-3": "sure", "0-1": "sure"})


def test_corrections_of_other_samples_of_the_text_are_in_the_download(
    open_report: Open, tmp_path: Path
) -> None:
    """Not those of another text of as many lines."""
    text = "a text of 20 lines"
    page = open_report([without_gold(CAT)], gold=[""] * 20, text=text)
    edit(page)
    link(page, "sleeps", "dort")
    other, foreign = tmp_path / "other.html", tmp_path / "foreign.html"
    write_report(other, [without_gold(replace(CAT, line=3))], gold=[""] * 20, text=text)
    write_report(foreign, [without_gold(replace(CAT, line=5))], gold=[""] * 20, text="another one")
    page.get(f"file://{foreign}")
    edit(page)
    find(page, ".check input")[0].click()
    assert told(page).startswith("1 of 1 pair reviewed, kept")
    with two_tabs(page, f"file://{other}") as go_to:
        assert "1 pair was reviewed before" in texts(page, "#kept")[0]
        assert "none of them is shown here" in texts(page, "#kept")[0]
        find(page, ".check input")[0].click()
        assert told(page).startswith("1 of 1 pair reviewed, 1 others of this text, kept")
        go_to(0)
        page.get(f"file://{tmp_path}/report.html")
        edit(page)
        assert told(page).startswith("1 of 1 pair reviewed, 1 others of this text, kept")
        link(page, "the", "chat")
        go_to(1)
        wait_until_drawn(page)
        found = read_corrections(downloaded(page, tmp_path, "corrections.jsonl"))
        assert {n: format_gold(one.gold) for n, one in found.items()} == {
            3: "0-0 1-2 2-1",
            17: "0-0 0-1 1-2 2-1 3-3",
        }
        said = "corrections.jsonl: corrections of 2 pairs, 1 of them of pairs that are not shown here"
        assert texts(page, "#said") == texts(page, "#live") == [said]
        gold = downloaded(page, tmp_path).read_text().split("\n")
        assert {n: line for n, line in enumerate(gold, 1) if line} == {
            3: "0-0 1-2 2-1",
            17: "0-0 0-1 1-2 2-1 3-3",
        }


def test_opened_corrections_of_pairs_that_are_not_shown_are_kept(open_report: Open, tmp_path: Path) -> None:
    """Unless the file has other words in a pair that is shown: then it is of another text."""
    page = open_report([without_gold(CAT)], gold=[""] * 20, text="a text")
    edit(page)
    key = pair_fingerprint(*CAT.aligned.tokens)
    hidden = {"pair": 3, "pairs": 20, "text": "0" * 12, "links": [[0, 0]], "at": "2026", "by": ""}
    file = tmp_path / "theirs.jsonl"
    for own, taken, reviews in (("f" * 12, "0 of 2", 0), (key, "2 of 2", 1)):
        file.write_text(f"{json.dumps(hidden)}\n{json.dumps(hidden | {'pair': 17, 'text': own})}\n")
        find(page, "#editor input[type=file]")[0].send_keys(str(file))
        wait(page, "return document.getElementById('kept').textContent.startsWith(arguments[0])", taken)
        again(page)
        edit(page)
        assert told(page).startswith(f"{reviews} of 1 pair reviewed{', 1 others' * reviews}")
        page.execute_script("document.getElementById('kept').textContent = ''")


# ---- what is counted after a correction ------------------------------------------------------------------


def error_rate(pairs: list[SamplePair], golds: list[GoldAlignment]) -> str:
    return f"{100 * evaluate([pair.aligned.alignment for pair in pairs], golds).aer:.1f} %"


def test_card_list_totals_and_errors_agree_after_a_correction(open_report: Open) -> None:
    pairs = [CAT, *corpus(3, 5)]
    page = open_report(pairs)
    reported = texts(page, "#headline")[0]
    find(page, "#errors > summary")[0].click()
    find(page, "#summary > summary")[0].click()
    wait(page, "return document.querySelector('#errors tbody')")
    find(page, "#errors th[data-key=wrong] button")[0].click()
    go_to_pairs(page)
    edit(page)
    link(page, "cat", "chat")  # which was wrong
    find(page, "#pair-17 .edit")[0].click()
    assert CAT.gold is not None
    gold = GoldAlignment(CAT.gold.sure | {Link(2, 1)}, CAT.gold.possible | {Link(2, 1)})
    golds = [gold, *(pair.gold for pair in pairs[1:] if pair.gold)]
    ours = evaluate([CAT.aligned.alignment], [gold])
    own, other = (
        f"{100 * evaluate([one], [gold]).aer:.1f} %" for one in (CAT.aligned.alignment, CAT.others["other"])
    )
    assert ours.aer != evaluate([CAT.aligned.alignment], [CAT.gold]).aer
    assert f"AER {own}, other {other}" in texts(page, "#pair-17 header .fact")
    row = page.execute_script(
        "return [...document.querySelector('#index a[href=\"#pair-17\"]').closest('tr').cells]"
        ".map((cell) => cell.textContent)"
    )
    assert row[2:4] == [own, other]
    errors = [
        judged(replace(pair, gold=one), pair.aligned.alignment.links)
        for pair, one in zip(pairs, golds, strict=True)
    ]
    counts = Counter(kind for found in errors for kind in found.values())
    assert texts(page, "#errors summary span") == [
        f"{counts['wrong']} wrong links, {counts['missed']} missing"
    ]
    rows = rows_of(page)
    assert sum(wrong for wrong, _, _ in rows.values()) == counts["wrong"]
    assert sum(missed for _, missed, _ in rows.values()) == counts["missed"]
    assert "cat – chat" not in rows
    wrongs = [wrong for wrong, _, _ in rows.values()]
    assert wrongs == sorted(wrongs, reverse=True)  # sorted as before
    rate = error_rate(pairs, golds)
    assert texts(page, "#headline") == [f"{reported}, as reported; AER {rate} after corrections"]
    assert "over the 4 shown that have gold" in texts(page, "#corrected")[0]
    assert texts(page, "#corrected")[0].endswith(f"AER {rate}.")
    labeled = texts(page, ".tile:has(.reported) dt")
    assert labeled == ["Precision", "Recall", "F1", "AER"]
    assert texts(page, "#systems summary .reported") == [" (as reported)"]
    press_tool(page, "Undo")
    assert texts(page, "#headline") == [reported]
    assert not find(page, ".reported")
    assert not find(page, "#corrected")[0].is_displayed()
    assert "cat – chat" in rows_of(page)


def test_the_error_that_is_shown_first_is_told_as_reported_once_it_is_corrected(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    first = "most instructive error: wrong link ‘cat’ – ‘chat’, 83 % sure"
    assert first in map(plain, texts(page, ".fact"))
    edit(page)
    link(page, "cat", "chat")
    find(page, ".edit")[0].click()
    assert f"{first}, as reported" in map(plain, texts(page, ".fact"))


def test_a_report_without_gold_judges_nothing_by_links_that_the_reader_made(open_report: Open) -> None:
    page = open_report([without_gold(CAT), without_gold(replace(CAT, line=18))])
    reported = texts(page, "#headline")
    edit(page)
    link(page, "sleeps", "dort")
    for kept in (False, True):  # the corrections that the browser has kept judge no more than new ones
        if kept:
            again(page)
            assert "gold" not in texts(page, "#kept")[0]
        assert not find(page, "#errors")[0].is_displayed()
        assert not find(page, "[data-key=compare]")
        assert texts(page, "#headline") == reported
        find(page, "#summary > summary")[0].click()
        told = "You have reviewed 1 pair. Your own links do not judge those that they were made from"
        assert texts(page, "#corrected")[0].startswith(told)
        for part in ("#summary", "#index", "#list"):
            assert "AER" not in find(page, part)[0].text
        mouse_away(page)
        for button in find(page, ".edit[aria-pressed=true]"):
            button.click()
        assert plain(texts(page, "#pair-17 .headline")[0]) == "You have added ‘sleeps’ – ‘dort’"


FORBIDDEN = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('forbidden'); } })"
)


def test_where_nothing_can_be_kept_the_page_says_so(open_report: Open, chromium: Any, tmp_path: Path) -> None:
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FORBIDDEN})
    page = open_report([CAT_ALONE])
    chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    edit(page)
    assert "this browser does not keep: download before you leave" in told(page)
    word(page, "sleeps").click()
    word(page, "dort").click()
    press_letter(page, "p")
    word(page, "the").click()  # on the side of the word that was held: it is held now
    for _ in range(2):
        word(page, "le").click()  # from sure over none to sure
    assert downloaded(page, tmp_path).read_text().split("\n")[16] == "0-0 1-2 3p3"


def test_what_was_kept_is_not_trusted(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    key = pair_fingerprint(*CAT.aligned.tokens)
    kept = f'{{"pair": 17, "pairs": 17, "text": "{key}", "at": "2026", "by": "", "links": '
    bad = ("[[9, 9]]", '[["<b>", 1]]', "{}", "[[0]]", "]", "[[0, 0.5]]")
    for text, count in (*((f"{kept}{links}}}", 0) for links in bad), (f"{kept}[[0, 0]]}}", 1)):
        page.execute_script("localStorage.setItem(arguments[0], arguments[1])", f"nmtalign {key} 17", text)
        again(page)
        edit(page)
        assert f"{count} of 1 pair reviewed" in told(page)


def test_the_least_certain_pairs_come_first(open_report: Open) -> None:
    pairs = [without_gold(pair) for pair in corpus(12, 8)]
    page = open_report(pairs)
    edit(page)

    def doubt(pair: SamplePair) -> float:
        shares = [round(p, 3) for p in pair.aligned.probabilities.values()]
        return 1 - sum(shares) / max(1, len(shares))

    order = [pair.line for pair in sorted(pairs, key=lambda pair: (-round(doubt(pair), 9), pair.line))]
    buttons = {button.text: button for button in find(page, "#editor button")}
    buttons["Least certain first"].click()
    below = [int(text[5:]) for text in texts(page, ".pair h3")]
    assert below == order[: len(below)]
    edit(page)
    find(page, f"#pair-{order[0]} .check input")[0].click()
    buttons["Next unreviewed"].click()
    wait(page, "return document.querySelector('.editing.sought')")
    assert find(page, ".editing.sought")[0].get_attribute("id") == f"pair-{order[1]}"


def test_hostile_words_in_errors_and_corrections_run_nothing(open_report: Open, tmp_path: Path) -> None:
    words = [word or "x" for word in HOSTILE_WORDS]
    aligned = aligned_pair(words, words)
    gold = replace(corpus(1, len(words))[0].gold)
    page = open_report(
        [
            SamplePair(
                1, aligned, gold, {"<b>": Alignment(frozenset(), 23, 23)}, parts={"<i>": aligned.forward}
            )
        ]
    )
    find(page, "#errors > summary")[0].click()
    choose(page, "view", "<b>", "errors")
    choose(page, "beside", "<i>")
    edit(page)
    for button in find(page, "#errors tbody button")[:5]:
        page.execute_script("arguments[0].click()", button)
    assert len(find(page, "script")) == 5  # the script, the pairs and their weights
    assert not find(page, "img, b, i, iframe")


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1400, False)])
def test_axe_finds_no_violation_in_the_tools(open_report: Open, axe: str, width: int, dark: bool) -> None:
    page = open_report([CAT, *corpus(1, 14)], width=width, dark=dark)
    find(page, "#errors > summary")[0].click()
    page.execute_script("document.getElementById('bar').open = true")
    edit(page)
    choose(page, "beside", "forward")
    page.execute_script("document.querySelector('#errors tbody button').click()")
    word(page, "black").click()
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert_no_violation(page, axe)


def test_the_key_e_begins_at_the_first_word_and_escape_returns_to_the_button(open_report: Open) -> None:
    page = open_report([CAT, *corpus(2, 5)], width=1200)
    focused = "return document.activeElement.dataset.at ?? document.activeElement.className"
    top = "return document.querySelector('.token').getBoundingClientRect().top + scrollY"
    before = page.execute_script(top)
    press_letter(page, "e")
    assert page.execute_script(focused) == "0"
    assert page.execute_script(top) == before  # nothing moves
    press(page, "ARROW_RIGHT", "ENTER", "ARROW_DOWN", "ARROW_RIGHT", "ENTER")  # black, noir; dort
    assert find(page, ".changes li")
    press(page, "ESCAPE", "ESCAPE")
    assert page.execute_script(focused) == "edit"
    assert find(page, ".edit")[0].get_attribute("aria-pressed") == "false"
