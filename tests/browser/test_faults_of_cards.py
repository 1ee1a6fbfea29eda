"""What readers have stumbled over: marks on top of each other, cards that move, numbers that disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nmtalign import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, Link
from nmtalign.report.page_content import SamplePair
from tests.browser.conftest import wait
from tests.browser.test_report_page import find, go_to_pairs, mouse_away, plain, press, texts, word
from tests.report.sample_pairs import CAT, aligned_pair, corpus

Open = Callable[..., Any]

# The boxes of the texts that are drawn on curves.
BOXES = (
    "return [...document.querySelectorAll('.curves :is(.tag, .attention text, .note)')]"
    ".filter((node) => getComputedStyle(node.closest('g') ?? node).display !== 'none')"
    ".map((node) => { const { left, right, top, bottom } = node.getBoundingClientRect();"
    "  return [node.textContent, left, right, top + 4, bottom - 4] })"
)
# The labels that lie on a curve of a link.
ON_CURVES = (
    "return [...document.querySelectorAll('.attention text')].filter((label) => {"
    "  const { left, right, top, bottom } = label.getBoundingClientRect();"
    "  return [...document.querySelectorAll('path.link')].some((path) =>"
    "    Array.from({ length: 60 }, (_, n) => path.getPointAtLength((n / 59) * path.getTotalLength())"
    "      .matrixTransform(path.getScreenCTM()))"
    "      .some(({ x, y }) => x > left + 1 && x < right - 1 && y > top + 4 && y < bottom - 4)) })"
    ".map((label) => label.textContent)"
)
TOPS = "return [...document.querySelectorAll('.sentences')].map((box) => box.getBoundingClientRect().top)"
FAMILY = "👩\u200d👩\u200d👧\u200d👦"


def of_links(links: dict[tuple[int, int], float], S: int, T: int, **about: Any) -> AlignedPair:
    """Return a pair whose cells have the posterior 0.9 where they are linked, and 0.05 elsewhere."""
    weights = np.full((T, S), 0.05)
    for s, t in links:
        weights[t, s] = 0.9
    words = tuple(f"word{n}" for n in range(S)), tuple(f"wort{n}" for n in range(T))
    probabilities = {Link(*link): probability for link, probability in links.items()}
    matrix = AlignmentMatrix(weights, *words)
    settings = {"forward": weights, "reverse": weights, "threshold": 0.55, "extraction": "posterior"} | about
    return AlignedPair(Alignment(links, S, T), matrix, probabilities=probabilities, **settings)


def overlaps(page: Any) -> list[tuple[str, str]]:
    boxes = page.execute_script(BOXES)
    found = []
    for n, (text, left, right, top, bottom) in enumerate(boxes):
        for other, start, end, above, below in boxes[:n]:
            if left < end - 1 and right > start + 1 and top < below and bottom > above:
                found.append((text, other))
    return found


def test_a_link_has_one_number_and_close_calls_begin_with_the_errors(open_report: Open) -> None:
    pair = of_links({(0, 0): 0.6, (1, 1): 0.99}, 3, 3)
    missed = GoldAlignment({(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1), (2, 2)})
    sure = of_links({(0, 0): 0.99, (1, 1): 0.99}, 2, 2)
    page = open_report([SamplePair(1, pair), SamplePair(2, pair, missed), SamplePair(3, sure)], height=1400)
    said = {n: plain(texts(page, f"#pair-{n} .why")[0]) for n in (1, 2, 3)}
    assert "Its probability is 60 %." in said[1]
    assert "90 %" not in said[1] + said[2]
    assert "posterior" not in " ".join(said.values())
    names = [plain(name) for name in texts(page, "#pair-2 .group .share .name")]
    assert names == ["word2 – wort2", "word0 – wort0"]
    numbers = [plain(number) for number in texts(page, "#pair-2 .group .share > :last-child")]
    assert numbers == ["5 %", "60 %"]
    assert [len(find(bar, ".tick")) for bar in find(page, "#pair-2 .group .share")] == [1, 0]
    assert "Closest calls" not in said[3]  # nothing is close
    go_to_pairs(page)
    page.execute_script("location.hash = '#pair-1&pin=0-0'")
    wait(page, "return document.querySelector('#pair-1.lit .verdict')")
    verdict = plain(texts(page, "#pair-1 .verdict")[0])
    assert verdict.replace("\n", "") == "Probability of the link60 %"
    assert "a link needs" not in texts(page, "#pair-1 .why")[0]


def test_marks_and_labels_are_apart(open_report: Open) -> None:
    gold = GoldAlignment({(1, 0), (2, 3)}, {(1, 0), (2, 3)})
    pair = of_links({(0, 1): 0.9, (3, 2): 0.9}, 4, 4)
    page = open_report([SamplePair(1, pair, gold)])
    assert sorted(texts(page, ".curves .tag")) == ["+", "+", "×", "×"]
    assert overlaps(page) == []
    for side in ("s0", "t2"):
        page.execute_script("location.hash = arguments[0]", f"#pair-1&pin={side}")
        wait(page, f"return document.querySelector('[data-side={side[0]}][aria-pressed=true]')")
        assert len(find(page, ".attention text")) >= 2
        assert overlaps(page) == []
    for size, layout in ((4, "across"), (9, "down")):  # few words stand in lines on a phone, more in columns
        pair = replace(of_links({(0, 1): 0.9, (3, 2): 0.9}, size, size), forward=np.full((size, size), 0.1))
        page = open_report([SamplePair(1, pair, gold)], width=390)
        page.execute_script("location.hash = '#pair-1&pin=t0'")
        wait(page, "return document.querySelector('.pair.lit')")
        assert find(page, f".sentences.{layout}")
        told = {4: "no partner 60 %", 9: "no partner 10 %"}[size]
        assert told in map(plain, texts(page, ".attention text"))
        assert told not in map(plain, page.execute_script(ON_CURVES))
        room = find(page, ".pair")[0].rect
        for text, left, right, *_ in page.execute_script(BOXES):
            assert room["x"] < left < right < room["x"] + room["width"], text
        assert overlaps(page) == []


def test_the_mark_of_a_short_curve_leaves_that_of_a_long_one_in_sight(open_report: Open) -> None:
    """In a row of a long pair, a wrong link crosses the middle of a missed one that is vertical."""
    words = [f"word{n}" for n in range(80)]
    pair = AlignedPair(Alignment([(7, 3)], 80, 80), AlignmentMatrix(np.eye(80), words, words))
    page = open_report([SamplePair(1, pair, GoldAlignment({(5, 5)}))], width=1200)
    assert sorted(texts(page, ".curves .tag")) == ["+", "×"]
    assert overlaps(page) == []


def test_a_weight_is_beside_its_own_curve(open_report: Open) -> None:
    pair = of_links({(1, 1): 0.9}, 30, 30)  # so many words that the two curves are close together
    reverse = np.zeros((30, 30))
    reverse[:2, 1] = 0.03, 0.97
    both = GoldAlignment({(1, 0), (1, 1)}, {(1, 0), (1, 1)})
    page = open_report([SamplePair(1, replace(pair, reverse=reverse), both)], width=1700)
    page.execute_script("location.hash = '#pair-1&pin=s1'")
    wait(page, "return document.querySelector('.pair.lit')")
    nearest = page.execute_script(
        "const away = (path, x, y) => Math.min(...Array.from({ length: 60 }, (_, n) => {"
        "  const at = path.getPointAtLength((n / 59) * path.getTotalLength())"
        "    .matrixTransform(path.getScreenCTM());"
        "  return Math.hypot(at.x - x, at.y - y) }));"
        "return [...document.querySelectorAll('.attention text')].map((label) => {"
        "  const { left, right, top, bottom } = label.getBoundingClientRect();"
        "  const [x, y] = [(left + right) / 2, (top + bottom) / 2];"
        "  const [path] = [...document.querySelectorAll('.link.on')]"
        "    .sort((a, b) => away(a, x, y) - away(b, x, y));"
        "  return [label.textContent, path.dataset.link] })"
    )
    assert {plain(text): link for text, link in nearest} == {"5 %": "1-0", "90 %": "1-1"}
    assert page.execute_script(ON_CURVES) == []


def test_an_edit_moves_nothing_and_explains_the_link_that_it_made(open_report: Open) -> None:
    page = open_report(
        [replace(CAT, others={}), SamplePair(2, of_links({(0, 0): 0.9, (1, 1): 0.9}, 3, 3))], width=1400
    )
    for button in find(page, ".edit"):
        button.click()
    assert texts(page, ".pair .fact") == ["3 gold links", "2 links"]
    assert "makes the link a possible one" in plain(texts(page, ".hint")[0])
    page.execute_script("document.querySelector('#pair-2').scrollIntoView({ block: 'center' })")
    word(page, "word2").click()
    before = page.execute_script(TOPS)
    word(page, "wort0").click()
    assert abs(page.execute_script(TOPS)[1] - before[1]) <= 1
    told = plain(texts(page, "#pair-2 .why")[0])
    assert told.startswith("‘word2’ – ‘wort0’ is your link")
    assert "you made this link." in told
    assert plain(texts(page, "#pair-2 .changes strong")[0]) == "+ word2 – wort0"
    assert "added by you; the model gives it" in plain(texts(page, "#pair-2 .changes span")[0])
    mouse_away(page)
    press(page, "ESCAPE")
    find(page, "#pair-2 .edit")[0].click()
    told = plain(texts(page, "#pair-2 .why")[0])
    assert told.startswith("You have added ‘word2’ – ‘wort0’")  # not: all links are right
    assert "2 of the 2 links of the model stay." in told
    assert not any("AER" in text for text in texts(page, "#pair-2 .fact"))


def test_pairs_that_differ_are_those_whose_two_panels_differ(open_report: Open) -> None:
    from selenium.webdriver.support.ui import Select

    same = replace(CAT, line=18, others={"other": CAT.aligned.alignment})
    page = open_report([CAT, same])
    Select(find(page, "[data-key=beside]")[0]).select_by_visible_text("other")
    page.execute_script(
        "const box = document.getElementById('conditions'); box.value = 'is:differ';"
        "box.dispatchEvent(new Event('change'))"
    )
    assert [card.get_attribute("id") for card in find(page, ".pair")] == ["pair-17"]
    Select(find(page, "[data-key=beside]")[0]).select_by_visible_text("nothing")
    assert len(find(page, ".pair")) == 2  # both have errors
    Select(find(page, "[data-key=compare]")[0]).select_by_visible_text("other")
    assert [card.get_attribute("id") for card in find(page, ".pair")] == ["pair-17"]
    ink = page.execute_script("return getComputedStyle(document.querySelector('.token')).color")
    colors = page.execute_script(
        "return [...document.querySelectorAll('.link:is(.only, .other), .tag')]"
        ".map((node) => getComputedStyle(node)[node.matches('.tag') ? 'fill' : 'stroke'])"
    )
    assert {*colors} == {ink}  # green, blue and orange judge by the gold alone


def test_a_tap_leaves_the_explanation_in_sight(open_report: Open) -> None:
    page = open_report([CAT], width=390, height=844)
    word(page, "black").click()
    wait(page, "return !document.getElementById('concordance').hidden")
    height = "return document.getElementById('concordance').getBoundingClientRect().height"
    assert page.execute_script(height) < 70
    assert not find(page, "#concordance-units")[0].is_displayed()
    find(page, "#concordance-fold")[0].click()
    assert find(page, "#concordance-units")[0].is_displayed()
    assert find(page, "#concordance-fold")[0].get_attribute("aria-expanded") == "true"


def test_links_between_rows_end_beside_their_words_and_flat_crossings_have_no_halo(open_report: Open) -> None:
    words = [f"word{n}" for n in range(80)], [f"wort{n}" for n in range(80)]
    links = Alignment([(0, 79), *((n, n) for n in range(1, 40))], 80, 80)
    long = AlignedPair(links, AlignmentMatrix(np.eye(80), *words))
    page = open_report([SamplePair(1, long)], width=1200)
    heights = page.execute_script(
        "const d = document.querySelector('.link.far').getAttribute('d');"
        "return [...d.matchAll(/v(-?[0-9]+)/g)].map(([, length]) => Number(length))"
    )
    assert heights == [15, 15]
    gold = GoldAlignment({(10, 79)}, {(10, 79)})
    page = open_report([SamplePair(1, long, gold)], width=1200)
    signs = [sign for sign, *_ in page.execute_script(BOXES) if sign in "+×"]
    assert (signs.count("+"), signs.count("×")) == (1, 40)
    assert overlaps(page) == []  # the sign of a stub, too, leaves that of another link in sight
    halos = "return document.querySelectorAll('.halo').length"
    for far, count in ((1, 2), (12, 1)):
        crossing = of_links({(0, far): 0.9, (1, far - 1): 0.9}, 13, 13)
        page = open_report([SamplePair(1, crossing)], width=1400)
        assert page.execute_script(halos) == count


def test_emoji_are_whole_and_forced_colors_keep_the_bars(open_report: Open) -> None:
    names = (f"{FAMILY * 12}", "a"), ("jusqu'", "y")
    pair = AlignedPair(
        Alignment([(0, 0)], 2, 2),
        AlignmentMatrix([[0.6, 0.4], [0.3, 0.5]], *names),
        threshold=0.55,
        extraction="posterior",
    )
    page = open_report([SamplePair(1, pair)])
    name = plain(texts(page, ".group .share .name")[0])
    assert name == f"{FAMILY * 4}…{FAMILY * 4} – jusqu'"
    assert plain(texts(page, ".headline")[0]).endswith("– “jusqu'”")  # no ’ after an apostrophe
    assert texts(page, "#found") == ["1 pair"]
    assert "�" not in page.execute_script("return document.body.textContent")
    features = [{"name": "forced-colors", "value": "active"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    image = page.execute_script("return getComputedStyle(document.querySelector('.track')).backgroundImage")
    assert "gradient" in image


def test_the_note_on_columns_from_right_to_left_is_off_the_line(open_report: Open) -> None:
    words = [f"word{n}" for n in range(9)]
    pair = aligned_pair(["وقع", "الوزير", "الاتفاق", *["الجديد"] * 6], words)
    page = open_report([SamplePair(1, pair)], width=1600)
    assert texts(page, ".matrix > .caption") == ["← columns run from right to left, as their sentence does"]
    room = page.execute_script(
        "const edge = (css) => document.querySelector(css).getBoundingClientRect();"
        "return edge('.low').top - edge('.matrix > .caption').bottom"
    )
    assert room >= 8


def test_paper_says_which_pairs_are_missing(open_report: Open) -> None:
    page = open_report(corpus(230, 3))
    printed = "const told = document.getElementById('printed'); return told.hidden ? '' : told.textContent"
    assert page.execute_script(printed) == ""
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(printed).startswith("Only the first 200 of 230 pairs are printed; ")
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(printed) == ""


def test_a_page_without_scripts_has_a_summary(open_report: Open) -> None:
    pair = aligned_pair(["a", "b"], ["c", "d"])
    page = open_report([SamplePair(1, pair)])
    assert not find(page, "#static")  # the script removes it
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.refresh()
        assert "Pairs shown: 1" in texts(page, "#static")[0]
        assert find(page, "#static")[0].rect["width"] > 900  # not in the column of the list
        assert not any(part.is_displayed() for part in find(page, "#lexicon, #terms, nav, #theme, aside"))
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
