"""The concordance in the report: a click on a word shows what it is linked to in all pairs."""

from __future__ import annotations

from typing import Any

import pytest

from nmtalign import AlignedPair, Alignment, AlignmentMatrix
from nmtalign.applications.concordance import search
from nmtalign.corpus.bitext_index import build_index
from nmtalign.names import SIDES
from nmtalign.report.page_content import SamplePair
from nmtalign.text.tokenization import TextSettings
from tests.browser.conftest import actions, prefer, wait
from tests.browser.test_report_page import Open, find, press, texts
from tests.report.sample_pairs import HOSTILE_WORDS, corpus

NOT = [
    ("the House sits", "la Chambre siège", {(0, 0), (1, 1), (2, 2)}),
    ("this is not a house", "ce n' est pas une maison", {(0, 0), (1, 2), (2, 1), (2, 3), (3, 4), (4, 5)}),
    (
        "do not go into the house",
        "ne va pas dans la maison",
        {(1, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5)},
    ),
    ("not the house", "", set()),
]


def pairs_of(lines: list[tuple[str, str, set[tuple[int, int]]]]) -> list[SamplePair]:
    found = []
    for number, (source, target, links) in enumerate(lines, 1):
        alignment = Alignment(frozenset(links), len(source.split()), len(target.split()))
        matrix = AlignmentMatrix(alignment.to_matrix().astype("f4"), source.split(), target.split())
        found.append(SamplePair(number, AlignedPair(alignment, matrix)))
    return found


def click(page: Any, text: str, number: int = 0, *, shift: bool = False) -> None:
    from selenium.webdriver import Keys

    wait(page, "return document.querySelector('.token')")
    token = page.execute_script(
        "return [...document.querySelectorAll('.token')]"
        ".filter((word) => word.innerText.split('\\n')[0].trim() === arguments[0])[arguments[1]]",
        text,
        number,
    )
    clicking = actions(page)
    if shift:
        clicking.key_down(Keys.SHIFT)
    clicking.click(token).key_up(Keys.SHIFT).perform()


def shown(page: Any) -> tuple[str, list[str]]:
    """Return the words that were sought, and their translations with counts."""
    wait(page, "return !document.getElementById('concordance').hidden")
    words = page.execute_script("return document.getElementById('concordance-words').value")
    units = page.execute_script(
        "return [...document.querySelectorAll('.unit')].map((b) => [...b.children].map((c) => c.textContent))"
    )
    return words, [f"{unit}: {count.split(' ')[0]}" for unit, count in units]


def marked(page: Any) -> list[list[str]]:
    return page.execute_script(
        "return [...document.querySelectorAll('#concordance-places li')]"
        ".map((li) => [...li.querySelectorAll('mark')].map((m) => m.textContent))"
    )


def test_a_click_on_a_word_shows_its_translations_and_lines(open_report: Open) -> None:
    page = open_report(pairs_of(NOT))
    click(page, "house")
    assert shown(page) == ("house", ["maison: 2", "(no link): 1", "chambre: 1"])
    assert texts(page, "#concordance-told") == ["4 occurrences, 3 translations"]
    assert marked(page) == [["House", "Chambre"], ["house", "maison"], ["house", "maison"], ["house"]]
    find(page, ".unit")[0].click()
    assert texts(page, "#concordance-told") == ["4 occurrences, 3 translations; 2 with the one chosen"]
    assert marked(page) == [["house", "maison"]] * 2
    assert page.execute_script("return document.activeElement.ariaPressed") == "true"
    press(page, "ENTER")
    assert len(marked(page)) == 4
    find(page, "#concordance-places a")[2].click()
    wait(page, "return document.querySelector('.sought')?.id === 'pair-3'")
    press(page, "ESCAPE")
    assert not find(page, "#concordance")[0].is_displayed()


def test_the_address_keeps_the_words(open_report: Open) -> None:
    page = open_report(pairs_of(NOT), hash="#pair-2&concordance-t=Maison%20%3Cb%3E&find=house")
    assert shown(page) == ("maison <b>", [])
    click(page, "house")
    assert page.execute_script("return location.hash") == "#pair-2&find=house&concordance-s=house"
    find(page, "#concordance-places a")[2].click()
    wait(page, "return location.hash === '#pair-3&find=house&concordance-s=house'")
    page.execute_script("location.hash = 'concordance-t=pas'")
    wait(page, "return document.getElementById('concordance-words').value === 'pas'")
    assert shown(page) == ("pas", ["not: 2"])
    find(page, "#concordance [aria-label=Close]")[0].click()
    assert "concordance" not in page.execute_script("return location.hash")


def test_gaps_and_the_target_side(open_report: Open) -> None:
    page = open_report(pairs_of(NOT))
    click(page, "not")
    assert shown(page) == ("not", ["(no link): 1", "n' … pas: 1", "ne … pas: 1"])
    click(page, "pas")
    assert shown(page) == ("pas", ["not: 2"])
    assert page.execute_script("return document.getElementById('concordance-side').value") == "t"


def test_words_side_by_side_by_click_key_and_typing(open_report: Open) -> None:
    from selenium.webdriver import Keys

    page = open_report(pairs_of(NOT))
    click(page, "the")
    click(page, "House", shift=True)
    assert shown(page) == ("the house", ["(no link): 1", "la chambre: 1", "la maison: 1"])
    assert page.execute_script("return getSelection().isCollapsed")
    box = find(page, "#concordance-words")[0]
    box.clear()
    box.send_keys("A House", Keys.ENTER)
    assert shown(page) == ("a house", ["une maison: 1"])
    box.clear()
    box.send_keys("zebra", Keys.ENTER)
    assert texts(page, "#concordance-told") == ["These pairs do not have it."]
    page.execute_script("document.querySelectorAll('.token')[1].focus()")
    press(page, "ENTER")
    assert shown(page)[0] == "house"


def test_a_click_in_the_lexicon(open_report: Open) -> None:
    page = open_report(pairs_of(NOT))
    (word,) = (cell for cell in find(page, "#lexicon .lookup") if cell.text == "maison")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", word)
    word.click()
    assert shown(page) == ("maison", ["house: 2"])


def test_the_page_finds_what_the_index_finds(open_report: Open) -> None:
    pairs = corpus(30, 12, compared=False)
    linked = [
        (p.aligned.matrix.source_tokens, p.aligned.matrix.target_tokens, list(p.aligned.alignment))
        for p in pairs
    ]
    index, page = build_index(linked, TextSettings()), open_report(pairs)
    for number, side in enumerate(SIDES):
        for word in linked[0][number][:5]:
            page.execute_script(
                "const w = document.getElementById('concordance-words');"
                "const s = document.getElementById('concordance-side');"
                "w.value = arguments[0]; s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
                word,
                side[0],
            )
            translations = search(index, word, side).translations
            found = [f"{unit or '(no link)'}: {count}" for unit, count in translations]
            assert sorted(shown(page)[1]) == sorted(found)


def test_hostile_words_are_text(open_report: Open) -> None:
    words = " ".join(word for word in HOSTILE_WORDS if word.isprintable() and word and " " not in word)
    size = len(words.split())
    page = open_report(pairs_of([(words, words, {(n, n) for n in range(size)})]))
    for n in range(size):
        page.execute_script("document.querySelectorAll('.source .token')[arguments[0]].click()", n)
        assert shown(page)[1] == [f"{words.split()[n].lower()}: 1"]


@pytest.mark.parametrize("width", [1400, 390])
def test_the_concordance_is_accessible_and_in_the_window(open_report: Open, axe: str, width: int) -> None:
    page = open_report(pairs_of(NOT), width=width)
    click(page, "not")
    shown(page)
    box = find(page, "#concordance")[0].rect
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.execute_script(axe)
    for scheme in ("light", "dark"):
        prefer(page, scheme)
        result = page.execute_async_script("axe.run('#concordance').then(arguments[0])")
        assert [entry["id"] for entry in result["violations"]] == []
        assert len(result["passes"]) > 10
