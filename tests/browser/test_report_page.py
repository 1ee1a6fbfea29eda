"""The HTML report in a real browser: look, point, type, sort, read aloud, print."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nmtalign import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, Link, load
from nmtalign.decoding.extraction_methods import DEFAULT_THRESHOLD, MIN_SECOND_POSTERIOR
from nmtalign.display import visible
from nmtalign.report.card_reasons import (
    CardContent,
    closest_calls,
    explain_word,
    matrix_with_probabilities,
    pinned_word,
    whole_percent,
)
from nmtalign.report.curves import kinds_of_links
from nmtalign.report.page_content import SamplePair, most_instructive
from tests.browser.conftest import (
    SHOW_ONE_PANEL,
    actions,
    at_widths,
    prefer,
    wait,
    wait_until_drawn,
    wait_until_still,
)
from tests.report.sample_pairs import (
    CAT,
    CAT_ALONE,
    GOLD_TO_EXPLAIN,
    HOSTILE_WORDS,
    aligned_pair,
    corpus,
    pair_to_explain,
)

Open = Callable[..., Any]


def task_seconds(page: Any) -> float:
    """Return the time that the processor has worked for the page; other work may share the machine."""
    metrics = page.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    (seconds,) = (one["value"] for one in metrics if one["name"] == "TaskDuration")
    return seconds


def find(page: Any, selector: str) -> list[Any]:
    return page.find_elements("css selector", selector)


def texts(page: Any, selector: str) -> list[str]:
    return page.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector
    )


def point_at(page: Any, element: Any, x: int = 0, y: int = 0) -> None:
    actions(page).move_to_element_with_offset(element, x, y).perform()


def press(page: Any, *names: str) -> None:
    from selenium.webdriver import Keys

    for name in names:
        actions(page).send_keys(getattr(Keys, name)).perform()


def reason(page: Any) -> str:
    """Return what the inspector of the card says that is lit, once it is."""
    wait(page, "return document.querySelector('.pair.lit .why')")
    said = plain(page.execute_script("return document.querySelector('.pair.lit .why').innerText"))
    return re.sub(r"\n+", "\n", said)


def wait_for_reason(page: Any, text: str) -> None:
    """Wait until the inspector says something: on a busy machine a pointer is heard late."""
    said = (
        "[...document.querySelectorAll('.why')].map((why) => why.innerText).join()"
        r".replace(/[\u2068\u2069]/g, '').replace(/\u00a0/g, ' ').replace(/\n+/g, '\n')"
    )
    wait(page, f"return {said}.includes(arguments[0])", text)


def mouse_away(page: Any) -> None:
    """Put the mouse where nothing is under it: scrolling moves words under a mouse that rests."""
    move_to(page, 0, 0)


def plain(text: str) -> str:
    """Return a text of the page without the isolates in its quotes and with plain spaces."""
    return text.replace("\u2068", "").replace("\u2069", "").replace("\u00a0", " ")


def word(page: Any, text: str) -> Any:
    """Return the first word of the cards that begins so."""
    return page.execute_script(
        "return [...document.querySelectorAll('.token')]"
        ".find((word) => word.checkVisibility() && word.innerText.trim().startsWith(arguments[0]))",
        text,
    )


def go_to_pairs(page: Any) -> None:
    page.execute_script("document.querySelector('#pairs').scrollIntoView()")


def test_pointing_at_a_word_lights_its_links_and_says_what_it_is_linked_to(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    go_to_pairs(page)
    assert texts(page, ".source .token")[:3] == ["the", "black", "cat"]
    assert texts(page, ".target .token") == ["le", "chat", "noir", "dort (not linked)"]
    assert len(find(page, ".pair .link.hit")) == 2
    assert len(find(page, ".pair .link.wrong")) == 1
    assert len(find(page, ".pair .link.missed")) == 1
    point_at(page, word(page, "cat"))
    wait_for_reason(page, "‘cat’ is linked to ‘chat’: wrong")
    told = reason(page)
    assert "the probability of the link is 83 %; people did not link the two: wrong." in told
    assert [e.get_attribute("data-link") for e in find(page, ".link.on")] == ["2-1"]
    assert {e.text for e in find(page, ".token.on")} == {"cat", "chat"}
    point_at(page, word(page, "sleeps"))
    wait_for_reason(page, "‘sleeps’ has no link")
    assert "‘sleeps’ has no vector." in reason(page)


def test_a_refused_link_says_why(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    go_to_pairs(page)
    point_at(page, word(page, "dort"))
    wait_for_reason(page, "‘dort’ has no link")
    told = reason(page)
    assert "Seen from ‘dort’, no partner is likelier than ‘sleeps’" in told
    assert "; people linked the two: a missed link." in told
    assert "no partner\nblack\nsleeps\n" in told
    matrix = find(page, ".matrix svg")[0]
    wait(page, "return document.querySelectorAll('.matrix svg text[data-side]').length === 8")
    matrix.click()
    page.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerleave'))", matrix)
    point_at_cell(page, "1", "0")  # black, le
    wait_for_reason(page, "‘black’ – ‘le’ is no link")
    told = reason(page)
    assert (
        "Seen from ‘le’, ‘the’ is likelier than ‘black’, and seen from ‘black’, ‘noir’ is likelier than "
        "‘le’; both together make 0 %, and a link needs 20 %; people did not link the two, either." in told
    )
    assert "“mutual”" in told


def point_at_cell(page: Any, s: str, t: str) -> None:
    """Point at a cell, where the column of a source word and the row of a target word meet."""
    middle = "(box) => [box.x + box.width / 2, box.y + box.height / 2]"
    label = "document.querySelector(`.matrix text[data-side=${arguments[%d]}][data-at='${arguments[%d]}']`)"
    script = f"const middle = {middle};" + "".join(
        f"const {name} = middle({label % (k, k + 1)}.getBoundingClientRect());"
        for name, k in (("column", 0), ("row", 2))
    )
    x, y = page.execute_script(f"{script} return [column[0], row[1]]", "s", s, "t", t)
    move_to(page, x, y)


def move_to(page: Any, x: float, y: float) -> None:
    at = actions(page).w3c_actions
    at.pointer_action.move_to_location(int(x), int(y))
    at.perform()


def test_a_link_says_how_likely_it_is_and_which_rule_made_it(open_report: Open) -> None:
    page = open_report([CAT])
    go_to_pairs(page)
    curve = find(page, '.hit-area[data-link="0-0"]')[0]
    point_at(page, curve)
    wait_for_reason(page, "‘the’ – ‘le’ is a link")
    told = reason(page)
    assert "Each is the other’s first choice; the probability of the link is 90 %; people made " in told
    assert "this link, too: right." in told
    assert "Probability of the link\n90 %" in told
    assert "a link needs" not in told
    assert "other: linked." in told
    assert texts(page, ".of-link text") == ["90\u00a0%"]  # the same number on the curve


def test_nothing_moves_and_nothing_is_covered_when_a_word_is_explained(open_report: Open) -> None:
    page = open_report(corpus(3, 9), width=390, height=1000)
    assert_words_are_explained_in_place(page)
    for _ in at_widths(page, 1100, 1600, height=1000):
        assert_words_are_explained_in_place(page)


def assert_words_are_explained_in_place(page: Any) -> None:
    go_to_pairs(page)
    places = (
        "const nodes = document.querySelectorAll('#list article .token, #list article .pan');"
        "return [...nodes]"
        ".map((node) => node.getBoundingClientRect()).map(({ x, y, width }) => [x, y, width])"
    )
    find(page, ".token")[2].click()  # the inspector has its height from the first reason on
    page.execute_script("document.getElementById('concordance').hidden = true")
    press(page, "ESCAPE")
    mouse_away(page)
    before = page.execute_script(places)
    for node in find(page, ".token")[1:4]:
        page.execute_script(
            "arguments[0].dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", node
        )
        assert page.execute_script("return document.querySelector('.pair.lit .headline').textContent")
        assert page.execute_script(places) == before


def test_a_second_word_says_beside_which_it_stands(open_report: Open) -> None:
    weights = np.array([[0.9, 0.0, 0.0], [0.0, 0.4, 0.1], [0.1, 0.8, 0.0]])
    pair = AlignedPair(
        Alignment(frozenset({(0, 0), (1, 1), (1, 2)}), 3, 3),
        AlignmentMatrix(weights, ("it", "was", "not"), ("cela", "a", "été")),
        forward=weights,
        reverse=weights,
        probabilities={Link(0, 0): 0.5, Link(1, 1): 0.4, Link(1, 2): 0.45},  # of which no rule knows
        extraction="posterior",
        threshold=DEFAULT_THRESHOLD,
        second=MIN_SECOND_POSTERIOR,
    )
    page = open_report([SamplePair(1, pair)])
    go_to_pairs(page)
    point_at(page, find(page, '.hit-area[data-link="1-1"]')[0])
    wait_for_reason(page, "‘was’ – ‘a’ is a link")
    told = reason(page)
    assert "‘a’ is a second word next to ‘été’, which needs less;" in told
    point_at(page, find(page, '.hit-area[data-link="0-0"]')[0])
    wait_for_reason(page, "Each is the other’s first choice;")


def test_scores_over_vectors_are_told_with_the_next_best(open_report: Open) -> None:
    scores = np.array([[1.0, 2.3], [0.5, 8.1], [9.0, 9.0]])
    forward = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    unknown = frozenset[int](), frozenset({2})  # whose score is no rival
    pair = AlignedPair(
        Alignment(frozenset({(1, 1)}), 2, 3),
        AlignmentMatrix(forward, ("the", "cat"), ("noir", "chat", "xyzzy"), unknown),
        forward=forward,
        reverse=forward,
        extraction="mutual",
        default_values="forward",
        scores=scores,
    )
    page = open_report([SamplePair(1, pair)])
    go_to_pairs(page)
    assert find(page, 'select[data-key="view"]')[0].get_attribute("value") == "forward"
    point_at(page, find(page, '.hit-area[data-link="1-1"]')[0])
    wait_for_reason(page, "Score 8.10; next best is ‘cat’ – ‘noir’ with 2.30.")
    point_at(page, word(page, "xyzzy"))
    wait_for_reason(page, "‘xyzzy’ has no vector")


def test_signs_are_told_nothing_of_second_words(open_report: Open) -> None:
    weights = np.array([[0.9, 0.0, 0.0], [0.0, 0.52, 0.1], [0.1, 0.8, 0.0]])
    pairs = [
        AlignedPair(
            Alignment(frozenset({(0, 0), (1, 1), (1, 2)}), 3, 3),
            AlignmentMatrix(weights, ("it", "was", "not"), ("cela", sign, "été")),
            forward=weights,
            reverse=weights,
            probabilities={Link(0, 0): 0.9, Link(1, 1): 0.5, Link(1, 2): 0.8},
            extraction="posterior",
            threshold=DEFAULT_THRESHOLD,
            second=MIN_SECOND_POSTERIOR,
        )
        for sign in (",", "q")
    ]
    page = open_report([SamplePair(n, pair) for n, pair in enumerate(pairs, 1)])
    for sign in (",", "q"):
        page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", word(page, sign))
        point_at(page, word(page, sign))
        wait_for_reason(page, f"‘{sign}’ is linked to ‘was’")
        assert ("is a second word" in reason(page)) is (sign == "q")


def test_keys_walk_through_words_and_cells(open_report: Open) -> None:
    page = open_report([CAT])
    mouse_away(page)
    go_to_pairs(page)
    page.execute_script("document.querySelector('.token').focus()")
    active = "return document.activeElement.textContent"
    press(page, "ARROW_RIGHT", "ARROW_RIGHT")
    assert page.execute_script(active) == "cat"
    described = "return document.activeElement.getAttribute('aria-describedby').split(' ').map((id) =>"
    told = page.execute_script(described + " document.getElementById(id).textContent)")
    assert plain(told[0]) == "‘cat’ is linked to ‘chat’: wrong"  # a screen reader hears headline and sentence
    assert "people did not link the two" in told[1]
    press(page, "ARROW_DOWN")
    assert page.execute_script(active) == "chat"
    press(page, "END")
    assert page.execute_script(active).startswith("dort")
    press(page, "HOME", "ARROW_UP")
    assert page.execute_script(active) == "the"
    press(page, "TAB")
    assert (
        page.execute_script("return document.activeElement.getAttribute('aria-roledescription')") == "matrix"
    )
    press(page, "ARROW_RIGHT", "ARROW_DOWN", "ARROW_DOWN")
    told = plain(texts(page, "#live")[0])
    assert told.startswith("‘black’ – ‘noir’ is a link. Each is the other’s first choice;")
    page.execute_script("document.body.style.paddingBottom = '2000px'; window.scrollBy(0, 20)")
    wait_until_still(page)
    assert "‘black’ – ‘noir’ is a link" in reason(page)  # what the keys chose stays explained
    press(page, "ENTER")
    mouse_away(page)
    page.execute_script("document.activeElement.blur()")
    assert "‘black’ – ‘noir’ is a link" in reason(page)  # and is kept
    page.execute_script("document.querySelector('.matrix svg').focus()")
    press(page, "ESCAPE")
    assert not find(page, ".pair.lit")
    assert "How to read it" in texts(page, ".why")[0]


def test_the_direction_of_the_weights_can_be_switched(open_report: Open) -> None:
    page = open_report([CAT])
    from selenium.webdriver.support.ui import Select

    select = Select(find(page, "[data-key=view]")[0])
    assert [option.text for option in select.options] == ["combined", "forward", "reverse", "gold", "other"]
    pictures = []
    for name in ("combined", "forward", "reverse"):
        select.select_by_visible_text(name)
        pictures.append(page.execute_script("return document.querySelector('.matrix svg').innerHTML"))
    assert len(set(pictures)) == 3


def test_another_system_can_be_laid_over(open_report: Open) -> None:
    page = open_report([CAT])
    from selenium.webdriver.support.ui import Select

    against = Select(find(page, "[data-key=compare]")[0])
    assert [option.text for option in against.options] == ["nothing", "gold", "other"]
    against.select_by_visible_text("other")
    kinds = {kind: len(find(page, f".pair .link.{kind}")) for kind in ("both", "only", "other")}
    assert kinds == {"both": 2, "only": 1, "other": 1}
    assert texts(page, ".pair .tag") == ["A", "B"]  # the kinds differ by more than color
    assert len(find(page, ".pan .diamond:not(.under)")) == 3
    against.select_by_visible_text("nothing")
    assert len(find(page, ".pair .link.both")) == 3


def order(page: Any) -> list[int]:
    return [int(text) for text in texts(page, "#index tbody tr:not([hidden]) a")]


@pytest.mark.parametrize(("systems", "widths"), [(1, (1024, 1100, 700)), (3, (1100, 1600))])
def test_the_columns_of_the_list_fit(open_report: Open, systems: int, widths: tuple[int, ...]) -> None:
    others = {f"system {n}": CAT.others["other"] for n in range(systems)}
    page = open_report([replace(CAT, others=others)], width=widths[0])
    for _ in at_widths(page, *widths):
        page.execute_script("document.querySelector('aside .fold').open = true")
        wide, room, seen, sentence = page.execute_script(
            "const box = document.getElementById('index'), heads = [...box.querySelectorAll('th')];"
            "return [box.scrollWidth, box.clientWidth,"
            "  heads.filter((head) => head.checkVisibility()).map((head) => head.innerText),"
            "  heads[1].getBoundingClientRect().width]"
        )
        assert wide <= room
        assert [head.strip() for head in seen[:3]] == ["Pair", "Sentence", "AER"]
        assert "".join(seen[3].split()) == "AERsystem0"
        assert sentence > 60


def test_the_table_sorts_the_pairs_and_searches_them(open_report: Open) -> None:
    pairs = [*corpus(8, 6), CAT]
    page = open_report(pairs)
    first = most_instructive(pairs)
    assert first
    differences = [len(set(pair.aligned.links) ^ set(pair.others["other"].links)) for pair in pairs]
    differs_most = pairs[differences.index(max(differences))].line
    begun = dict.fromkeys([differs_most, first[0]])
    assert order(page) == [*begun, *(pair.line for pair in pairs if pair.line not in begun)]
    heads = {head.text.strip(" ▲▼"): head for head in find(page, "#index th button")}
    assert list(heads) == ["Pair", "Sentence", "AER", "AER other", "Errors", "Score", ""]  # no room for words
    heads["Score"].click()
    by_score = [p.line for p in sorted(pairs, key=lambda p: p.aligned.score or 0)]
    assert order(page) == by_score
    below = [int(text[5:]) for text in texts(page, ".pair h3")]  # the pairs below follow
    assert len(below) > 1
    assert below == by_score[: len(below)]
    assert find(page, "#index th:nth-child(6)")[0].get_attribute("aria-sort") == "ascending"
    heads["Score"].click()
    assert order(page) == by_score[::-1]
    find(page, "#search")[0].send_keys("CAT dort")
    wait(page, "return document.querySelectorAll('.pair:not([hidden])').length === 1")
    assert order(page) == [17]
    assert texts(page, "#found") == ["1 of 9 pairs"]


def test_only_pairs_that_differ(open_report: Open) -> None:
    same = SamplePair(3, CAT.aligned, None, {"other": CAT.aligned.alignment})
    page = open_report([CAT, same])
    from selenium.webdriver.support.ui import Select

    Select(find(page, "[data-key=compare]")[0]).select_by_visible_text("other")
    Select(find(page, "#conditions")[0]).select_by_visible_text("pairs that differ")
    assert order(page) == [17]
    assert page.execute_script("return document.getElementById('search').value") == "is:differ"


def test_a_link_to_a_pair_leads_to_it_among_many_that_are_not_all_drawn(
    chromium: Any, open_report: Open
) -> None:
    chromium.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    page = open_report(corpus(400, 12, compared=False), hash="#pair-217")
    assert 0.05 < task_seconds(chromium) < 3
    chromium.execute_cdp_cmd("Performance.disable", {})
    wait(
        page,
        "const { y } = document.getElementById('pair-217').getBoundingClientRect(); return y >= 0 && y < 200",
    )
    assert find(page, "#pair-217 .token")
    drawn = "return document.querySelectorAll('.sentences').length"
    assert 1 <= page.execute_script(drawn) < 30
    page.execute_script("window.scrollTo(0, document.body.scrollHeight / 4)")
    wait_until_still(page)
    assert 1 <= page.execute_script(drawn) < 40


def test_end_and_home_go_to_the_ends_of_pairs_of_any_height_in_one_press(open_report: Open) -> None:
    pairs = [
        replace(pair, line=n)
        for n, pair in enumerate(corpus(60, 40, compared=False) + corpus(60, 4, compared=False), 1)
    ]
    page = open_report(pairs[::2] + pairs[1::2])
    below = "return document.documentElement.scrollHeight - window.innerHeight - window.scrollY"
    press(page, "END")
    wait_until_still(page)
    assert page.execute_script(below) < 2
    assert find(page, "#pair-120 .link")
    assert not find(page, "#pair-1")
    press(page, "HOME")
    wait_until_still(page)
    assert page.execute_script("return window.scrollY") == 0
    assert find(page, "#pair-1 .link")


def test_only_what_is_seen_is_in_the_page(open_report: Open) -> None:
    """Of many pairs, while their list and index are scrolled and sorted, nodes stay few."""
    page = open_report(corpus(500, 6, compared=False))
    most = 0
    for act in (
        "scrollTo(0, document.body.scrollHeight / 3)",
        "document.querySelector('#index').scrollTop = 8000",
        "document.querySelectorAll('#index th button')[4].click()",
        "scrollTo(0, document.body.scrollHeight / 2)",
    ):
        page.execute_script(act)
        wait_until_still(page)
        most = max(most, len(find(page, ".pair")))
        assert 20 < len(order(page)) < 120
    assert most < 25
    row = page.execute_script(
        "const box = document.querySelector('#index').getBoundingClientRect();"
        "return document.elementFromPoint(box.left + 30, box.bottom - 60).closest('tr').className"
    )
    assert row != "space"


def test_what_is_read_stays_where_it_is_when_cards_change(open_report: Open) -> None:
    page = open_report(corpus(30, 8))
    jump(page, "link", 20)
    top = "return document.getElementById('pair-20').getBoundingClientRect().top"
    before = page.execute_script(top)
    for key in ("down", "matrices", "linear"):
        find(page, f"[data-key={key}]")[0].click()
        wait_until_still(page)
        assert abs(page.execute_script(top) - before) < 3


def test_searching_for_a_pair_that_is_hidden_shows_it_again(open_report: Open) -> None:
    page = open_report([*corpus(5, 6), CAT])
    find(page, "#search")[0].send_keys("dort")
    wait(page, "return document.getElementById('found').textContent.startsWith('1 of')")
    page.execute_script("location.hash = '#pair-2'")
    wait(page, "return document.getElementById('pair-2')")
    assert len(order(page)) == 6


def type_query(page: Any, text: str) -> None:
    box = find(page, "#search")[0]
    box.clear()
    box.send_keys(text)
    found = "return (new URLSearchParams(location.hash.slice(1)).get('find') ?? '') === arguments[0]"
    wait(page, found, text)


def words(number: int, source: str, target: str) -> SamplePair:
    return SamplePair(number, aligned_pair(source.split(), target.split()))


def test_search_by_side_whole_words_and_without_accents(open_report: Open) -> None:
    from selenium.webdriver.support.ui import Select

    pairs = [
        words(1, "the été case", "der Fall"),
        words(2, "a casement", "ein case"),
        words(3, "no", "Straße"),
    ]
    page = open_report(pairs)
    side, whole = Select(find(page, "#scope select")[0]), find(page, "#scope input")[0]
    type_query(page, "CASE")
    assert order(page) == [1, 2]
    assert [text.split()[0] for text in texts(page, ".found")] == ["case", "casement", "case"]
    side.select_by_visible_text("source")
    whole.click()
    assert order(page) == [1]
    assert [text.split()[0] for text in texts(page, ".found")] == ["case"]
    side.select_by_visible_text("target")
    assert order(page) == [2]
    type_query(page, "strasse")
    assert order(page) == [3]
    side.select_by_visible_text("both sentences")
    type_query(page, "ete fall")
    assert order(page) == [1]


def test_a_phrase_in_quotes_is_found_where_its_words_stand_side_by_side(open_report: Open) -> None:
    page = open_report([CAT, *corpus(4, 6)])
    for query, count, found in (
        ('"black cat"', 1, {"black", "cat"}),
        ('"cat black"', 0, set()),
        ("cat black", 1, {"black", "cat"}),
        ('"black cat" noir', 1, {"black", "cat", "noir"}),
        ('"the bl', 1, {"the", "black"}),
    ):
        page.execute_script(
            "const box = document.getElementById('search'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('input'))",
            query,
        )
        told = "1 of 5 pairs" if count else "No pair is found"
        wait(page, "return document.getElementById('found').textContent === arguments[0]", told)
        marked = "[...document.querySelectorAll('.token.found')].map((token) => token.innerText.trim())"
        wait(page, f"return {marked}.sort().join() === arguments[0]", ",".join(sorted(found)))


def test_slash_goes_to_the_search_and_j_and_k_from_pair_to_pair(open_report: Open) -> None:
    page = open_report([replace(pair, gold=None) for pair in corpus(8, 6, compared=False)])
    read = "return document.querySelector('.sought h3').textContent"
    for keys, pair in (("j", 1), ("j", 2), ("j", 3), ("k", 2)):
        page.execute_script(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))",
            keys,
        )
        wait(page, f"{read} === 'Pair {pair}'")
        wait_until_still(page)
    page.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))"
    )
    assert page.execute_script("return document.activeElement.id") == "search"


def test_the_address_keeps_the_search(open_report: Open) -> None:
    pairs = [words(n, f"word{n} <b> &", "ein Wort") for n in range(1, 6)]
    page = open_report(pairs, hash="#pair-3&find=word%20%3Cb%3E&in=source&nothing=%3Ci%3E")
    assert page.execute_script("return document.getElementById('search').value") == "word <b>"
    assert len(order(page)) == 5
    assert texts(page, ".sought h3") == ["Pair 3"]
    type_query(page, "word4")
    assert page.execute_script("return location.hash") == "#pair-3&find=word4&in=source"
    find(page, "#index tr:not([hidden]) a")[0].click()
    wait(page, "return location.hash === '#pair-4&find=word4&in=source'")
    assert order(page) == [4]
    address = page.current_url
    page.get("about:blank")
    page.get(address)
    wait_until_drawn(page)
    assert order(page) == [4]


@pytest.mark.parametrize(
    ("pin", "headline"),
    [("t3", "‘dort’ has no link"), ("2-1", "‘cat’ – ‘chat’ is a link: wrong"), ("t9", "")],
)
def test_the_address_keeps_a_pin_and_the_theme(open_report: Open, pin: str, headline: str) -> None:
    page = open_report([CAT], hash=f"#pair-17&pin={pin}&theme=dark")
    assert plain("".join(texts(page, ".pair.lit .headline"))) == headline
    assert sum(map(int, background(page)[4:-1].split(","))) < 150
    find(page, ".copy-link")[0].click()  # a page of a file may not use the clipboard, and says so
    wait(page, "return document.querySelector('.done').textContent.startsWith('The ')")


@pytest.mark.parametrize("gold", [None, GOLD_TO_EXPLAIN])
def test_the_picture_of_a_pinned_word_says_the_same_as_the_page(
    open_report: Open, gold: GoldAlignment | None
) -> None:
    said = compare_reasons(open_report, pair_to_explain(), gold)
    for clause in ("no partner is likelier", "is a second word", "first choice"):
        assert any(clause in say for say in said)


def test_the_picture_rounds_the_numbers_of_a_real_pair_as_the_page_does(open_report: Open) -> None:
    lines = (
        "The agreement on the European Economic Area was signed in August 1992 .",
        "L' accord sur la zone économique européenne a été signé en août 1992 .",
    )
    compare_reasons(open_report, load().align(*lines), None)


def compare_reasons(open_report: Open, pair: AlignedPair, gold: GoldAlignment | None) -> list[str]:
    """Compare what picture and page say of each word; return the reasons."""
    page = open_report([SamplePair(1, pair, gold)])
    content = CardContent(
        matrix=matrix_with_probabilities(pair),
        kinds=kinds_of_links(pair.matrix, pair.links, gold),
        gold=gold,
        threshold=pair.threshold,
        has_second_words=pair.second is not None,
    )
    shown = (
        "const word = document.querySelector('.token[aria-pressed=true]');"
        "if (!word || word.dataset.side + word.dataset.at !== arguments[0]) return null;"
        "const texts = (css) => [...document.querySelectorAll(css)].map((node) => node.textContent);"
        "const groups = [...document.querySelectorAll('.why .group')];"
        "const bar = (node) => [node.textContent, parseFloat(node.lastChild.style.getPropertyValue('--v'))];"
        "return [texts('.why :is(.headline, .say)'),"
        "  groups.map((group) => [...group.querySelectorAll('.share')].map(bar)),"
        "  texts('.attention text:not(.none)'), texts('.verdict .share'), texts('.why > .caption')]"
    )
    said = []
    for side, words in zip("st", pair.tokens, strict=True):
        for position in range(len(words)):
            page.execute_script("location.hash = arguments[0]", f"pair-1&pin={side}{position}")
            seen, bars, labels, together, notes = wait(page, shown, f"{side}{position}")
            reasons = explain_word(content, pinned_word(pair, f"{side}{position}"))
            say = "".join(text for text, _ in reasons.sentence)
            assert len(re.findall(r"\d+\u00a0%", say)) <= 3
            assert say.count(".") == 1
            assert [plain(text) for text in seen] == [plain(reasons.headline), plain(say)]
            groups = [
                [[bar.name, pytest.approx(100 * bar.share, abs=0.051)] for bar in group.bars]
                for group in reasons.groups
            ]
            assert bars == groups  # their texts are names, without numbers
            cells = content.matrix.weights[:, position] if side == "s" else content.matrix.weights[position]
            assert set(labels) <= {whole_percent(cell) for cell in cells.tolist()}
            assert together == [whole_percent(reasons.together.share)]
            assert notes == reasons.notes
            said.append(say)
    return said


def test_the_list_is_one_tab_stop_that_arrows_walk_through(open_report: Open) -> None:
    page = open_report([replace(pair, gold=None) for pair in corpus(80, 6, compared=False)], height=800)
    stops = "return document.querySelectorAll('#index tbody a[tabindex=\"0\"]').length"
    assert page.execute_script(stops) == 1
    page.execute_script("document.querySelector('#index tbody a[tabindex=\"0\"]').focus()")
    press(page, "ARROW_DOWN", "ARROW_DOWN")
    active = "return document.activeElement.textContent"
    assert page.execute_script(active) == "3"
    assert page.execute_script(stops) == 1
    press(page, "END")
    assert page.execute_script(active) == "80"
    press(page, "HOME", "ARROW_DOWN", "ENTER")
    wait(page, "return document.querySelector('.sought')?.id === 'pair-2'")
    assert page.execute_script("return document.activeElement.closest('.pair')?.id") == "pair-2"


def test_a_question_mark_lists_the_keys(open_report: Open, axe: str) -> None:
    page = open_report([CAT_ALONE])
    page.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true}))"
    )
    assert find(page, "dialog")[0].is_displayed()
    assert {"/", "j, k", "Enter", "Esc"} <= set(texts(page, "dialog kbd"))
    page.execute_script(axe)
    result = page.execute_async_script("axe.run('dialog').then(arguments[0])")
    assert [entry["id"] for entry in result["violations"]] == []
    press(page, "ESCAPE")
    assert not find(page, "dialog")[0].is_displayed()


def test_the_search_says_what_it_understood(open_report: Open) -> None:
    cat = replace(CAT, gold=None, others={})
    page = open_report([cat, words(1, "one two", "eins zwei"), words(2, "one", "eins")])
    for query, count, told in (
        ("words:>3", 1, "1 of 3 pairs (over 3 words)"),
        ("-words:>3", 2, "2 of 3 pairs (not over 3 words)"),
        ("one -two", 1, "1 of 3 pairs (without two)"),
        ("words:many", 0, "No pair is found (words:many is read as a word; words: takes > or < and a number"),
        ("link:cat=", 1, "1 of 3 pairs (a link of cat to any word)"),
    ):
        type_query(page, query)
        wait(page, "return document.getElementById('found').textContent.startsWith(arguments[0])", told)
        assert len(order(page)) == count
    assert find(page, "#found")[0].get_attribute("role") == "status"  # is read aloud


def test_systems_with_long_names_are_letters_with_a_legend(open_report: Open, axe: str) -> None:
    names = [f"a system with a rather long name, number {n:07}" for n in range(3)]
    assert {len(name) for name in names} == {48}
    others = dict.fromkeys(names, CAT.others["other"])
    page = open_report([replace(CAT, others=others)], width=1100, height=800)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 1100
    assert texts(page, "#legend .badge") == ["A", "B", "C", "D"]
    assert texts(page, "#index th")[3:6] == ["AER B", "AER C", "AER D"]
    assert all(name in texts(page, "#legend")[0] for name in names)
    assert_no_violation(page, axe)
    without_spaces = {name.replace(" ", "_"): links for name, links in others.items()}
    page = open_report([replace(CAT, others=without_spaces)], width=390, height=844)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390


def test_the_list_stays_usable_when_a_word_is_looked_up(open_report: Open) -> None:
    page = open_report(corpus(40, 6), width=1100, height=800)
    word(page, texts(page, ".token")[1].split(" ")[0]).click()
    wait(page, "return !document.getElementById('concordance').hidden")
    rows = page.execute_script(
        "const box = document.getElementById('index').getBoundingClientRect();"
        "return [...document.querySelectorAll('#index tbody tr:not(.space)')]"
        ".map((row) => row.getBoundingClientRect())"
        ".filter(({ top, bottom }) => top >= box.top && bottom <= box.bottom).length"
    )
    assert rows >= 8
    bottom = page.execute_script(
        "return document.getElementById('concordance').getBoundingClientRect().bottom"
    )
    assert bottom <= 800


def test_a_made_up_address_is_harmless(open_report: Open) -> None:
    address = "#{0}&in={0}&find=cat&only={0}&whole&spot-s={0}&spot-t"
    page = open_report([CAT, *corpus(1, 5)], hash=address.format("constructor"))
    assert order(page) == [17]
    for of in ("__proto__", "%00", "either"):
        page.execute_script("location.hash = 'find=zzz'")
        wait(page, "return document.getElementById('found').textContent.startsWith('No pair is found')")
        page.execute_script("location.hash = arguments[0]", address.format(of))
        wait(page, "return document.getElementById('found').textContent.startsWith('1 of 2 pairs')")
        assert order(page) == [17]


def test_a_word_when_nothing_is_found(open_report: Open) -> None:
    page = open_report([CAT, *corpus(3, 5)])
    type_query(page, "<b>zzz</b>")
    assert order(page) == []
    assert texts(page, "#found") == ["No pair is found"]
    assert "There is no pair that has ‘\u2068<b>zzz</b>\u2069’. Show all pairs" in texts(page, "#nothing")[0]
    find(page, "#nothing button")[0].click()
    assert len(order(page)) == 4
    assert not find(page, "#nothing")[0].is_displayed()


COPIED = (
    "document.addEventListener('copy', (e) => { window.copied = e.clipboardData.getData('text/plain'); })"
)


def test_copying_a_sentence_gives_the_sentence(open_report: Open) -> None:
    from selenium.webdriver import Keys

    page = open_report([CAT_ALONE])
    page.execute_script(COPIED)

    def copied() -> str:
        actions(page).key_down(Keys.CONTROL).send_keys("c").key_up(Keys.CONTROL).perform()
        return page.execute_script("return window.copied")

    first, last = word(page, "the"), word(page, "sleeps")
    drag = actions(page).move_to_element_with_offset(first, 4 - int(first.rect["width"] / 2), 0)
    drag.click_and_hold().move_to_element(word(page, "cat")).move_to_element(last).release().perform()
    assert copied() == "the black cat sleeps"
    actions(page).move_to_element(word(page, "dort")).click().click().click().perform()
    assert copied() == "le chat noir dort"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (700, 540), (1400, 900)])
def test_the_first_pair_is_on_the_first_screen(open_report: Open, width: int, height: int) -> None:
    page = open_report(corpus(60, 8, compared=False), width=width, height=height)
    top = "return document.querySelector('.pair .sentences').getBoundingClientRect().top"
    first_lines = 180  # pixels of the words and the curves; the place of the pair depends on the fonts
    assert page.execute_script(top) + first_lines < height
    assert texts(page, "#headline")[0].startswith("60 pairs, AER ")
    find(page, "#summary > summary")[0].click()
    assert find(page, "#summary .tile")[0].is_displayed()


def now(page: Any) -> list[str]:
    return texts(page, "#index tr.now a[aria-current=true]")


def test_the_index_marks_the_pair_that_is_read_and_sorting_keeps_it(open_report: Open) -> None:
    page = open_report([replace(pair, gold=None) for pair in corpus(60, 12, compared=False)])
    assert now(page) == ["1"]
    assert texts(page, "#index .begin")[0].split() == [
        text.removesuffix(" (not linked)") for text in texts(page, "#pair-1 .source .token")
    ]
    jump(page, "link", 40)
    assert now(page) == ["40"]
    top = "return document.getElementById('pair-40').getBoundingClientRect().top"
    before = page.execute_script(top)
    score = next(head for head in find(page, "#index th button") if head.text.startswith("Score"))
    score.click()
    wait_until_still(page)
    assert now(page) == ["40"]
    assert abs(page.execute_script(top) - before) < 3
    point_at(page, find(page, "#list")[0])
    row = page.execute_script(
        "return document.querySelector('#index tr.now').getBoundingClientRect().toJSON()"
    )
    index = find(page, "#index")[0].rect
    page.execute_script("window.scrollTo(0, 0)")
    wait(page, "return document.querySelector('#index tr.now') === document.querySelector('tr.space + tr')")
    assert 0 <= row["top"] < index["y"] + index["height"]
    score.click()  # at the top of the page the new order is read from its beginning
    wait_until_still(page)
    assert page.execute_script("return scrollY") == 0
    assert now(page) == [str(order(page)[0])]


def test_the_bar_of_a_pair_is_as_long_as_its_error(open_report: Open) -> None:
    pairs = corpus(5, 6)
    page = open_report(pairs)
    shares = page.execute_script(
        "return [...document.querySelectorAll('.part')]"
        ".map((cell) => [parseFloat(cell.textContent), +cell.style.getPropertyValue('--part')])"
    )
    most = max(error for error, _ in shares)
    np.testing.assert_allclose([part for _, part in shares], [error / most for error, _ in shares], atol=0.01)


def test_heads_are_never_under_the_toolbar(open_report: Open) -> None:
    page = open_report(corpus(30, 8), width=1100)
    for _ in at_widths(page, 1100, 1400):
        for number in (12, 29, 3):
            jump(page, "link", number)
            edges = page.execute_script(
                "return [document.getElementById('bar').getBoundingClientRect().bottom,"
                f" document.querySelector('#pair-{number} h3').getBoundingClientRect().top]"
            )
            assert 0 < edges[0] <= edges[1]


def long_pair(length: int) -> SamplePair:
    (pair,) = corpus(1, length, compared=False)
    return pair


@pytest.mark.parametrize(
    ("width", "height", "length"), [(390, 844, 60), (390, 844, 300), (1100, 700, 300), (1600, 900, 60)]
)
def test_long_pairs_are_rows_of_curves(open_report: Open, width: int, height: int, length: int) -> None:
    page = open_report([long_pair(length)], width=width, height=height)
    go_to_pairs(page)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    for side in "st":  # all words, in their order
        at = "return [...document.querySelectorAll(arguments[0])].map((word) => +word.dataset.at)"
        assert page.execute_script(at, f'.row .token[data-side="{side}"]') == list(range(length))
    lines = page.execute_script(
        "const top = (node) => Math.round(node.getBoundingClientRect().top);"
        "return [...document.querySelectorAll('.row .words')].map((line) =>"
        "  new Set([...line.querySelectorAll('.token')].map(top)).size)"
    )
    assert set(lines) == {1}
    assert max(page.execute_script(SEEN + ENDS_OF_CURVES)[0][1:]) >= len(long_pair(length).aligned.alignment)
    assert page.execute_script(SEEN + ENDS_OF_CURVES)[0][2] < 2
    inside = page.execute_script("return document.querySelectorAll('.link:not(.far)').length")
    assert inside > 0.4 * len(long_pair(length).aligned.alignment)  # as many as fonts let into one row
    text, matrix = find(page, ".rows")[0].rect, find(page, ".matrix")[0].rect
    assert matrix["y"] >= text["y"] + text["height"]  # the words have the full width
    seen = page.execute_script("return document.querySelector('.pan').getBoundingClientRect().toJSON()")
    assert seen["height"] < 480  # a part of the matrix, which the overview beside it frames
    assert bool(find(page, ".overview .lens"))


def test_the_overview_of_a_long_pair_frames_what_is_seen_and_moves_it(open_report: Open) -> None:
    page = open_report([long_pair(120)], width=1600, height=900)
    place = (
        "const frame = document.querySelector('.lens').getBoundingClientRect();"
        "const all = document.querySelector('.overview').getBoundingClientRect();"
        "return [(frame.x - all.x) / all.width, (frame.y - all.y) / all.height]"
    )
    page.execute_script("document.querySelector('.pan').scrollTo(20 * 60, 20 * 30)")
    wait(page, f"return (() => {{ {place} }})()[0] > 0.4")
    x, y = page.execute_script(place)
    assert (x, y) == (pytest.approx(60 / 120, abs=0.02), pytest.approx(30 / 120, abs=0.02))
    overview = find(page, ".overview")[0]
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", overview)
    actions(page).move_to_element_with_offset(overview, 60, 60).click().perform()
    wait(page, "return document.querySelector('.pan').scrollLeft > 20 * 60")


def test_a_matrix_stays_in_sight_beside_long_columns(open_report: Open) -> None:
    arabic, english = ["كتبت", "الطالبة", "درسها"] * 27, ["she", "wrote", "it"] * 27
    page = open_report([SamplePair(1, aligned_pair(english, arabic))])
    go_to_pairs(page)
    page.execute_script("window.scrollBy(0, 900)")
    wait_until_still(page)
    box = (
        "const box = document.querySelector('.matrix').getBoundingClientRect(); return [box.top, box.bottom]"
    )
    top, bottom = page.execute_script(box)
    assert 0 < top < bottom < 900
    assert (
        page.execute_script("return document.querySelector('.sentences').getBoundingClientRect().top") < -500
    )


def test_words_stay_beside_a_matrix_that_is_moved(open_report: Open) -> None:
    page = open_report([long_pair(120)], width=1600, height=900)
    go_to_pairs(page)
    pan = "const pan = document.querySelector('.pan'), frame = pan.getBoundingClientRect();"
    heads = (
        "return ['s', 't'].map((side) => pan.querySelector(`text[data-side=${side}][data-at='90']`)"
        ".getBoundingClientRect()).map(({ x, y, right, bottom }) =>"
        "[x - frame.x, y - frame.y, right - frame.x, bottom - frame.y])"
    )
    link = sorted(long_pair(120).aligned.alignment)[-20]
    chosen = find(page, f'.token[data-side="s"][data-at="{link.source}"]')[0]
    page.execute_script("arguments[0].scrollIntoView({ block: 'center' })", chosen)
    point_at(page, chosen)
    cell = page.execute_script(
        pan + "const dots = [...pan.querySelectorAll('.dot')], [s, t, size] = arguments;"
        "const box = pan.querySelector(`text[data-side=t][data-at='${t}']`).getBoundingClientRect();"
        "const column = pan.querySelector('.band').getBoundingClientRect();"
        "return [column.x - frame.x, column.right - frame.x, box.y - frame.y, box.bottom - frame.y,"
        "  pan.clientWidth, pan.clientHeight]",
        *link,
    )
    assert 0 < cell[0] < cell[1] <= cell[4]  # the matrix moved to the link of the word
    assert 0 < cell[2] < cell[3] <= cell[5]
    page.execute_script(pan + "pan.scrollTo(900, 900)")
    wait(page, pan + "return pan.querySelector('text[data-side=t]').parentNode.getAttribute('transform')")
    above, left = page.execute_script(pan + heads)
    assert 0 <= above[1] < above[3] < 150  # at the top of what is seen, and at its left
    assert 0 <= left[0] < left[2] < 150


def test_all_weights_of_a_long_pair_leave_its_words_their_room(open_report: Open) -> None:
    page = open_report([replace(long_pair(100), parts={"first": long_pair(100).aligned.forward})], width=1600)
    select = "const node = document.querySelector('[data-key=beside]'); node.value = '=all';"
    page.execute_script(select + "node.dispatchEvent(new Event('change'))")
    room = find(page, ".pair")[0].rect["width"]
    assert find(page, ".rows")[0].rect["width"] > room - 70
    assert all(figure.rect["width"] > 300 for figure in find(page, ".matrix"))
    page.execute_script("document.querySelector('.pan').scrollTo(300, 200)")
    wait(page, "return [...document.querySelectorAll('.pan')].every((pan) => pan.scrollLeft === 300)")


def background(page: Any) -> str:
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_dark_and_light(open_report: Open) -> None:
    page = open_report([CAT_ALONE], dark=True)
    dark = background(page)
    button = find(page, "#theme")[0]
    button.click()
    light = background(page)
    assert button.text == "Theme: light"
    assert sum(map(int, dark[4:-1].split(","))) < 150 < 600 < sum(map(int, light[4:-1].split(",")))
    button.click()
    assert background(page) == dark
    button.click()
    assert button.text == "Theme: auto"
    assert background(page) == dark


def test_a_hostile_corpus_is_shown_and_runs_nothing(open_report: Open) -> None:
    aligned = aligned_pair(HOSTILE_WORDS, HOSTILE_WORDS)
    name = "<b>bold</b>"
    page = open_report([SamplePair(1, aligned, others={name: aligned.alignment})])
    go_to_pairs(page)
    shown = page.execute_script(
        "return [...document.querySelectorAll('.source .token')].map((node) => node.firstChild.data)"
    )
    assert shown == [visible(text) or "␣" for text in HOSTILE_WORDS]
    assert len(find(page, "script")) == 5
    assert not find(page, "img, b, iframe")
    assert f"F1 with {name}" in " ".join(texts(page, ".tile dt"))
    point_at(page, find(page, ".source .token")[2])
    wait_for_reason(page, HOSTILE_WORDS[2])


def test_nothing_is_fetched(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    page.execute_script(
        "window.probe = new Image(); window.probe.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='"
    )
    wait(page, "return window.probe.complete")
    (violation,) = page.get_log(
        "browser"
    )  # the policy is in force: even a picture inside the file is refused
    assert "Content Security Policy" in violation["message"]


def test_right_to_left_words_run_from_right_to_left(open_report: Open) -> None:
    arabic, hebrew = ["ذهبنا", "اليوم", "إلى", "الحديقة"], ["הלכנו", "היום", "אל", "הגן"]
    pair = aligned_pair(arabic, hebrew)
    page = open_report([SamplePair(1, pair)])
    places = {
        side: [button.rect["x"] for button in find(page, f".{side} .token")] for side in ("source", "target")
    }
    assert places["source"] == sorted(places["source"], reverse=True)
    assert places["target"] == sorted(places["target"], reverse=True)
    starts = [float(path.get_attribute("d")[1:].split(",")[0]) for path in find(page, ".pair .link")]
    assert len(starts) == len(pair.alignment)
    columns = [float(dot.get_attribute("cx")) for dot in find(page, ".pan .dot")]
    assert columns == sorted(columns, reverse=True)  # and the matrix as the curves
    assert starts == sorted(starts, reverse=True)  # the curves start where the words are
    page.execute_script("document.querySelector('.source .token').focus()")
    press(page, "ARROW_LEFT")
    assert page.execute_script("return document.activeElement.textContent").startswith(arabic[1])
    matrix = find(page, ".matrix svg")[0]
    point_at(page, matrix, int(columns[0] - matrix.rect["width"] / 2), int(20 - matrix.rect["height"] / 2))
    press(page, "TAB", "ARROW_LEFT")
    assert f"‘\u2068{arabic[1]}\u2069’" in texts(page, "#live")[0]  # quotes stand as in English


# Of the elements that have a word alone: whether its first sign stands on the right of its second one.
TURNED = """
    const [selector, word] = arguments;
    const x = (node, at) => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect().x;
    };
    return [...document.querySelectorAll(selector)]
      .map((element) => element.firstChild)
      .filter((node) => node.data === word)
      .map((node) => x(node, 0) > x(node, 1));
"""


def turned(page: Any, selector: str, word: str) -> list[bool]:
    return page.execute_script(TURNED, selector, word)


@pytest.mark.parametrize("down", [False, True])
def test_brackets_face_as_in_their_sentence(open_report: Open, down: bool) -> None:
    """A word without a letter, as "(5", is written from right to left where its sentence is."""
    arabic = ["الحديقة", "(5", "(خضراء)", "HTML(", "((", "!"]
    hebrew = ["הגן", "(5", "(ירוק)", "HTML(", "((", "!"]
    english = ["The", "(5", "(green)", "HTML(", "((", "!"]
    sides = (english, hebrew) if down else (arabic, hebrew)
    page = open_report([SamplePair(1, aligned_pair(*sides))], width=1100)
    first, second = not down, True
    for word in ("(5", "(("):
        assert turned(page, ".source .token", word) == [first]
        assert turned(page, ".target .token", word) == [second]
    assert turned(page, ".target .token", "(ירוק)") == [True]
    assert turned(page, ".target .token", "HTML(") == [False]
    ends = page.execute_script(
        "return [...document.querySelectorAll('.matrix text')]"
        ".filter((label) => label.textContent.length > 1)"
        ".map((label) => {"
        "  const at = label.textContent.search(/[^\u2067]/);"
        "  const [one, next] = [at, at + 1].map((i) => label.getStartPositionOfChar(i));"
        "  return [label.dataset.side, label.textContent.replace(/[\u2067\u2069]/g, ''), one.x > next.x];"
        "})"
    )
    assert ["s", "(5", first] in ends
    if not down:  # else the words themselves are the rows of the matrix
        assert {("t", "(5"), ("t", "(ירוק)")} <= {(side, label) for side, label, right in ends if right}
        assert ["t", "HTML(", False] in ends
    point_at(page, find(page, ".target .token")[1])
    wait(page, "return document.querySelector('.lit .headline')?.textContent.includes('\u2067(5\u2069')")
    page.execute_script("document.querySelectorAll('.target .token')[1].click()")
    wait(page, "return !document.getElementById('concordance').hidden")
    assert turned(page, "#lexicon td:nth-child(2) .lookup", "(5") == [True]


def test_lines_that_run_against_each_other_stand_in_columns(open_report: Open) -> None:
    pair = aligned_pair(["ذهبنا", "اليوم", "إلى", "الحديقة"], ["今天", "我们", "去", "公园"])
    page = open_report([SamplePair(1, pair)])
    for side in ("source", "target"):
        heights = [button.rect["y"] for button in find(page, f".{side} .token")]
        assert heights == sorted(set(heights))
    assert page.execute_script(SEEN + ENDS_OF_CURVES)[0][2] < 2


def test_a_color_means_the_same_in_all_pairs_and_the_key_says_it_once(open_report: Open) -> None:
    def pair(n: int, top: float) -> SamplePair:
        matrix = AlignmentMatrix(np.array([[0.0, top]]), ("a", "b"), ("c",))
        return SamplePair(n, AlignedPair(Alignment(frozenset(), 2, 1), matrix))

    page = open_report([pair(1, 0.25), pair(2, 1.0), pair(3, 1.0)], height=1600)
    cells = "[...document.querySelectorAll('.pan path.weight')]"
    shades = page.execute_script(f"return {cells}.map((path) => +path.getAttribute('fill-opacity'))")
    assert shades == pytest.approx([0.5, 1, 1], abs=0.02)  # square roots
    assert [plain(text) for text in texts(page, ".matrix figcaption")] == ["0  100 %"] * 3


def test_zero_has_the_color_of_the_card(open_report: Open) -> None:
    page = open_report([CAT_ALONE])
    for scheme, color in (("light", "rgb(91, 44, 145)"), ("dark", "rgb(201, 166, 255)")):
        prefer(page, scheme)
        fill = "return getComputedStyle(document.querySelector('.pan path.weight')).fill"
        assert page.execute_script(fill) == color
    cells = page.execute_script(
        "return [...document.querySelectorAll('.pan path.weight')]"
        ".reduce((sum, path) => sum + path.getAttribute('d').match(/M/g).length, 0)"
    )
    assert cells == np.count_nonzero(CAT.aligned.posterior)  # nothing is drawn where the weight is 0


def test_cells_and_labels_can_be_read(open_report: Open) -> None:
    page = open_report([*corpus(2, 6), *(replace(p, line=10 + p.line) for p in corpus(2, 24))], width=390)
    measured = (
        "return [...document.querySelectorAll('.pan svg')].map((svg) => ["
        "  svg.querySelector('.grid').getBBox().width / svg.querySelectorAll('text[data-side=s]').length,"
        "  Math.min(...[...svg.querySelectorAll('text')]"
        "    .map((text) => parseFloat(getComputedStyle(text).fontSize)))])"
    )
    for _ in at_widths(page, 390, 1100, 1600):
        sizes = page.execute_script(measured)
        assert len(sizes) >= 2
        for cell, letters in sizes:
            assert cell >= 18
            assert letters >= 11


def test_the_key_of_a_card_names_only_what_it_shows(open_report: Open) -> None:
    links = CAT.aligned.alignment.links
    right = replace(CAT, line=3, gold=GoldAlignment(links, links), others={})
    whole = aligned_pair(["a", "b"], ["c", "d"])
    full = replace(whole, alignment=Alignment({(0, 0), (1, 1)}, 2, 2))
    page = open_report([replace(CAT, others={}), right, SamplePair(4, full)])
    named = {n: " ".join(texts(page, f"#pair-{n} .key li")) for n in (17, 3, 4)}
    for n, words in {17: ("did not make", "missed", "without"), 3: ("without",), 4: ()}.items():
        shown = [word for word in ("did not make", "missed", "without") if word in named[n]]
        assert shown == list(words)
    assert len(find(page, "#pair-17 .rings .ring")) == 2  # sleeps and dort


def test_nothing_sticks_out_at_any_width(open_report: Open) -> None:
    page = open_report([CAT, *corpus(1, 30)], width=1400, height=800)
    outside = """
        const width = document.documentElement.clientWidth;
        return [...document.querySelectorAll('.token, .toolbar *, .tile, .plot, h2, h3')]
            .filter((node) => node.getBoundingClientRect().right > width + 1).map((node) => node.outerHTML)"""
    for width in at_widths(page, 1400, 800, 360, height=800):
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        go_to_pairs(page)
        wait(page, "return document.querySelectorAll('.link').length > 10")
        assert page.execute_script(outside) == []


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1400, False)])
def test_axe_finds_no_violation(open_report: Open, axe: str, width: int, dark: bool) -> None:
    short = aligned_pair(["one", "two"], ["eins", "zwei"])
    page = open_report(
        [
            replace(corpus(1, 40)[0], line=98),
            CAT,
            SamplePair(99, short, None, {"other": short.alignment}),
        ],
        width=width,
        dark=dark,
    )
    go_to_pairs(page)
    assert_no_violation(page, axe)


def test_words_at_the_edge_and_pairs_without_gold_are_explained(open_report: Open) -> None:
    words = ["a", *(f"word{n}" for n in range(1, 10))], ["b", *(f"longword{n}" for n in range(1, 10))]
    pair = aligned_pair(*words, seed=1)
    assert Link(0, 0) in pair.links
    judged = SamplePair(1, pair, GoldAlignment({(9, 9)}, {(9, 9)}))  # the first link is wrong
    page = open_report([judged, SamplePair(2, pair)], width=1600)
    wait(page, "return document.querySelector('#pair-2 .key')")
    outside = page.execute_script(
        "const { left, right } = document.querySelector('#pair-1').getBoundingClientRect();"
        "return [...document.querySelectorAll('#pair-1 .note')].map((note) => note.getBoundingClientRect())"
        ".filter((box) => box.left < left || box.right > right).length"
    )
    assert outside == 0
    assert "a link; the thicker, the surer" in texts(page, "#pair-2 .key li")
    assert "a link that both have" not in texts(page, ".key li")
    calls = page.execute_script(
        "const names = document.querySelectorAll('#pair-2 .groups .share .name');"
        "return [...names].map((name) => name.textContent)"
    )
    assert calls
    assert all(re.fullmatch(r"(a|word\d) – (b|long…ord\d)", plain(call)) for call in calls)
    assert any("…" in call for call in calls)


def test_a_note_about_a_curve_is_whole_or_omitted(open_report: Open) -> None:
    source = ("苹果", "桌子", "椅子", "房子", "月亮", "大太阳")
    target = ("apple", "tableaxxxxxx", "chairx", "housexxxx", "housxxx", "of", "moon", "sunxxxxxx")
    links = Alignment([(0, 0), (1, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 7), (5, 6)], 6, 8)
    pair = AlignedPair(links, AlignmentMatrix(np.zeros((8, 6)), source, target))
    page = open_report([SamplePair(1, pair)], width=900)
    for _ in at_widths(page, 900, 1000, 1100, 1200):
        parts = [text for text in texts(page, ".note") if text == "this curve:" or text[0] in "‘i"]
        assert len(parts) in (0, 3)


def test_weights_of_a_pinned_word_in_columns_are_apart(open_report: Open) -> None:
    weights = np.eye(12) / 2  # the other half has no partner
    words = [f"wort{n}" for n in range(12)], [f"word{n}" for n in range(12)]
    links = Alignment([(n, n) for n in range(12)], 12, 12)
    matrix = AlignmentMatrix(weights, *words)
    page = open_report([SamplePair(1, AlignedPair(links, matrix, weights, weights))], width=390, height=844)
    for word in find(page, ".sentences.down .token")[::5]:
        page.execute_script("arguments[0].click()", word)
        label, none = page.execute_script(
            "const texts = [...document.querySelectorAll('.attention text')];"
            "return texts.map((text) => text.getBoundingClientRect())"
        )
        assert none["bottom"] < label["top"] + 3  # of the space around letters


def assert_no_violation(page: Any, axe: str) -> None:
    page.execute_script(axe)
    result = page.execute_async_script(
        "const done = arguments[0]; axe.run(document).then(done, (error) => done(String(error)))"
    )
    found = [(entry["id"], [node["html"][:120] for node in entry["nodes"]]) for entry in result["violations"]]
    assert found == []
    assert len(result["passes"]) > 20


@pytest.mark.parametrize(("length", "matrices", "most"), [(20, False, 6), (8, True, 4)])
def test_many_pairs_are_printed_on_few_pages(
    open_report: Open, length: int, matrices: bool, most: int
) -> None:
    page = open_report(corpus(24, length, compared=False), width=1400)
    if not matrices:
        find(page, '[data-key="matrices"]')[0].click()
    page.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    document = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert 0.05 < task_seconds(page) < 10
    page.execute_cdp_cmd("Performance.disable", {})
    assert document.startswith(b"%PDF")
    assert 2 < document.count(b"/Type /Page\n") <= most
    wait(page, SEEN + "return seen.length && seen.every((card) => card.querySelector('.sentences'))")
    assert bool(find(page, ".matrix")) is matrices  # the screen is as it was
    assert page.execute_script("return document.documentElement.dataset.paper === undefined")


def test_paper_shows_all_curves_no_tools_and_the_matrices_that_were_ticked(open_report: Open) -> None:
    pairs = {pair.line: pair.aligned for pair in [*corpus(20, 9, compared=False), *corpus(2, 70)]}
    page = open_report([SamplePair(n, aligned) for n, aligned in pairs.items()], width=718, height=1000)
    cards = "const seen = [...document.querySelectorAll('.pair')];"
    shown = (
        "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).length"
    )
    cut = "[...card.querySelectorAll('.sentences, .pan')].some((p) => p.scrollWidth > card.clientWidth)"
    for matrices in (True, False):
        page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        for n, curves, away in page.execute_script(cards + ENDS_OF_CURVES):
            assert curves == len(pairs[n].alignment)
            assert away < 2
        assert page.execute_script(shown, ".matrix") == matrices * len(pairs)
        assert not page.execute_script(f"{cards} return seen.filter((card) => {cut}).length")
        lefts = {card.rect["x"] for card in find(page, ".pair.narrow")}
        assert len(lefts) == 2  # columns
        assert page.execute_script(shown, "aside, .toolbar, nav, #lexicon, #theme") == 0
        assert page.execute_script(shown, "#key") == 1
        assert page.execute_script("return document.documentElement.scrollWidth") <= 718
        page.execute_script("window.dispatchEvent(new Event('afterprint'))")
        page.execute_script("document.querySelector('[data-key=matrices]').click()")


def test_what_was_read_is_there_after_printing(open_report: Open) -> None:
    page = open_report(corpus(40, 8, compared=False))
    jump(page, "link", 25)
    top = "return document.getElementById('pair-25').getBoundingClientRect().top"
    before = page.execute_script(top)
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert len(find(page, ".pair")) == 40
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    wait_until_still(page)
    assert abs(page.execute_script(top) - before) < 3
    assert len(find(page, ".pair")) < 25


def test_words_of_many_printed_pairs_stand_beside_their_matrix(open_report: Open) -> None:
    tops = (
        "const at = (css) => document.querySelector(`.pair ${css}`).getBoundingClientRect();"
        "return [at('.row').bottom, at('.matrix').top]"
    )
    for count, is_beside in ((21, True), (20, False)):
        page = open_report(corpus(count, 12, compared=False), width=718, height=1000)
        page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        words, matrix = page.execute_script(tops)
        assert (matrix < words) is is_beside


def test_paper_is_white_whatever_the_theme(open_report: Open) -> None:
    page = open_report([CAT_ALONE], dark=True)
    for _ in range(2):  # auto, then light, then dark
        page.execute_script("document.getElementById('theme').click()")
    colors = (
        "const style = (css) => getComputedStyle(document.querySelector(css));"
        "return [style('.pair').backgroundColor, style('.pan path.weight').fill, style('.link').stroke]"
    )
    before = page.execute_script(colors)
    assert before[0] == "rgb(27, 29, 34)"
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(colors) == ["rgb(255, 255, 255)", "rgb(91, 44, 145)", "rgb(0, 115, 90)"]
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(colors) == before


def test_a_matrix_that_is_larger_than_its_place_is_dragged(open_report: Open) -> None:
    page = open_report([long_pair(120)], width=1600, height=900)
    mouse_away(page)
    go_to_pairs(page)
    page.execute_script("document.querySelector('.edit').click()")
    pan = find(page, ".pan.movable")[0]
    page.execute_script(
        "arguments[0].scrollIntoView({ block: 'center' }); arguments[0].scrollTo(300, 200)", pan
    )
    before = len(find(page, ".changes li"))
    drag = actions(page).move_to_element(pan).click_and_hold().move_by_offset(-20, -10)
    drag.move_by_offset(-60, -50).release().perform()
    assert page.execute_script("return [arguments[0].scrollLeft, arguments[0].scrollTop]", pan) == [380, 260]
    assert len(find(page, ".changes li")) == before == 0  # a drag corrects no link
    actions(page).move_to_element(pan).click().perform()
    assert len(find(page, ".changes li")) == 1
    assert (
        page.execute_script("return getComputedStyle(document.querySelector('.pan svg')).touchAction")
        == "pan-x pan-y"
    )  # fingers move it as they move the page


def test_the_report_begins_with_an_error(open_report: Open) -> None:
    links = CAT.aligned.alignment.links
    right = replace(CAT, line=3, gold=GoldAlignment(links, links))
    page = open_report([right, CAT])
    assert order(page) == [17, 3]
    told = "most instructive error: wrong link ‘cat’ – ‘chat’, 83 % sure"
    assert told in plain(texts(page, "#pair-17 header")[0])
    assert "error:" not in texts(page, "#pair-3 header")[0]
    page = open_report([replace(CAT, gold=None)])
    assert "error:" not in texts(page, ".pair header")[0]


def example_pair() -> SamplePair:
    """Return a pair whose curves cross, with a missed link."""
    source = ["the", "agreement", "on", "the", "economic", "area", "was", "signed"]
    target = ["l'", "accord", "sur", "la", "zone", "économique", "a", "signé"]
    weights = np.full((8, 8), 0.01)
    links = {Link(*link): 0.9 for link in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (5, 4), (7, 7)]}
    for link in links:
        weights[link.target, link.source] = 0.9
    aligned = AlignedPair(
        Alignment(frozenset(links), 8, 8),
        AlignmentMatrix(weights, tuple(source), tuple(target)),
        probabilities=links,
    )
    sure = frozenset({*links, Link(6, 6)})
    return SamplePair(5, aligned, GoldAlignment(sure, sure))


def test_the_report_opens_with_an_annotated_pair_then_its_most_instructive_error(open_report: Open) -> None:
    page = open_report([*corpus(2, 30, compared=False), replace(CAT, others={}), example_pair()])
    assert order(page)[:2] == [5, 17]
    notes = [plain(text) for text in texts(page, "#pair-5 .note")]
    assert "the word order is reversed here, so the curves cross" in notes
    assert {"missed", "no link", "this curve:"} <= set(notes)
    assert "this curve:" not in texts(page, "#pair-17 .note")


def test_terms_have_a_title_and_lead_to_their_explanation(open_report: Open) -> None:
    page = open_report([CAT])
    link = find(page, "#pair-17 .facts .term")[0]
    assert link.get_attribute("title").startswith("The alignment error rate")
    link.click()
    wait(page, "return location.hash === '#term-AER'")
    wait_until_still(page)
    assert find(page, "#term-AER")[0].is_displayed()
    top = page.execute_script("return document.getElementById('term-AER').getBoundingClientRect().top")
    assert 0 <= top < 900
    assert set(texts(page, "#terms dt")) >= {"AER", "gold", "score", "probability", "sure"}
    heads = {head.text: head.get_attribute("title") for head in find(page, "#index th button")}
    assert all((heads["AER"], heads["Score"]))
    against = find(page, "label:has([data-key=compare])")[0]
    assert against.get_attribute("title").startswith("The links that people made by hand")


def test_weights_are_read_back_as_they_were_written(open_report: Open) -> None:
    """The opacity of the cells, one by one, against a plain computation from the weights."""
    weights = np.random.default_rng(3).uniform(0.2, 0.8, (5, 7))
    matrix = AlignmentMatrix(weights, tuple("abcdefg"), tuple("hijkl"))
    page = open_report([SamplePair(1, AlignedPair(Alignment(frozenset(), 7, 5), matrix))])
    for expected in (np.sqrt(weights), weights):
        cells = page.execute_script("""
            const paths = [...document.querySelectorAll('.pan svg > path.weight')];
            const corners = (path) => [...path.getAttribute('d').matchAll(/M([\\d.]+) ([\\d.]+)/g)];
            const shade = (path) => Number(path.getAttribute('fill-opacity'));
            return paths.flatMap((path) => corners(path).map((m) => [shade(path), +m[1], +m[2]]))""")
        xs, ys = (sorted({cell[axis] for cell in cells}) for axis in (1, 2))
        assert (len(xs), len(ys), len(cells)) == (7, 5, 35)
        for shade, x, y in cells:
            assert shade == pytest.approx(expected[ys.index(y), xs.index(x)], abs=0.51 / 31 + 0.6 / 255)
        find(page, "[data-key=linear]")[0].click()


SEEN = """
    const seen = [...document.querySelectorAll(".pair")].filter((card) => {
      const { top, bottom } = card.getBoundingClientRect();
      return bottom > 0 && top < window.innerHeight;
    });"""
ENDS_OF_CURVES = """
    // of each card in the window: its number, its curves, and the pixels that they end away from their words
    const away = (card) => [...card.querySelectorAll("path.link")].flatMap((path) => {
      const frame = path.ownerSVGElement.getBoundingClientRect(), across = !card.querySelector(".down");
      return path.dataset.link.split("-").map((i, k) => {
        const button = card.querySelector(`.token[data-side="${"st"[k]}"][data-at="${i}"]`);
        const word = button.getBoundingClientRect(), end = path.getPointAtLength(k * path.getTotalLength());
        const x = frame.x + end.x - word.x, y = frame.y + end.y - word.y;
        const ahead = across ? [y - word.height, -y][k] : [x - word.width, -x][k];
        const [off, size] = across ? [x - word.width / 2, word.width] : [y - word.height / 2, word.height];
        // the ends of several links of a word stand side by side
        const links = [...card.querySelectorAll("path.link")].filter((one) =>
          one.closest("svg") === path.closest("svg") && one.dataset.link.split("-")[k] === i).length;
        const room = links > 1 ? Math.min(4 * (links - 1), size / 2) : 0;
        return Math.max(Math.abs(ahead), Math.abs(off) - room);
      });
    });
    return seen.map((card) =>
      [+card.id.slice(5), card.querySelectorAll("path.link").length, Math.max(...away(card))]);"""


def jump(page: Any, way: str, number: int) -> None:
    """Go to the beginning or the end of 120 pairs, or to one of them, and wait until the page lies still."""
    if way == "key":
        press(page, "END" if number > 100 else "HOME")
    elif way == "wheel":
        actions(page).scroll_by_amount(0, 200_000 if number > 100 else -200_000).perform()
    else:
        page.execute_script(f"location.hash = 'pair-{number}'")
    wait_until_still(page)


def test_after_a_jump_all_curves_end_at_their_words(open_report: Open) -> None:
    pairs = {pair.line: pair.aligned for pair in corpus(120, 14, compared=False)}
    page = open_report([SamplePair(n, aligned) for n, aligned in pairs.items()])
    ways = [(way, number) for way in ("key", "wheel", "link") for number in (119, 2, 118, 1)]
    for way, number in ways:
        jump(page, way, number)
        if number < 100:
            page.execute_script("document.getElementById('pair-2').scrollIntoView()")
        wait(page, SEEN + "return seen.length && seen.every((card) => card.querySelector('.sentences'))")
        seen = page.execute_script(SEEN + ENDS_OF_CURVES)
        for n, curves, away in seen:
            assert curves == len(pairs[n].alignment)
            assert away < 2, f"pair {n}: a curve ends {away:.0f} pixels from its word"


def test_pairs_without_words_do_not_stop_the_page(open_report: Open) -> None:
    pairs = []
    for n, (S, T) in enumerate([(0, 0), (2, 0), (0, 3)], 1):
        matrix = AlignmentMatrix(np.zeros((T, S)), ("a",) * S, ("b",) * T)
        pairs.append(SamplePair(n, AlignedPair(Alignment([], S, T), matrix)))
    page = open_report([*pairs, SamplePair(4, CAT.aligned)], height=2000)
    assert len(find(page, "article")) == 4
    assert len(find(page, "article:nth-of-type(4) .token")) == 8


def test_errors_of_a_pair_are_dots_and_rings_in_the_list(open_report: Open) -> None:
    page = open_report([CAT, replace(CAT, line=3, gold=None)])
    told = "document.querySelector('#index a[href=\"#pair-17\"]').closest('tr').querySelector('.errors')"
    assert page.execute_script(f"return {told}.getAttribute('aria-label')") == "1 wrong, 1 missed"
    kinds = page.execute_script(
        f"return [...{told}.querySelectorAll('circle')].map((one) => [one.className.baseVal,"
        " one.getAttribute('cx')])"
    )
    assert kinds == [["wrong", "16"], ["missed", "40"]]  # at their target words, 1 and 3 of 0 to 3


def test_a_card_keeps_its_height_whatever_is_pointed_at(open_report: Open) -> None:
    pairs = [SamplePair(99, pair_to_explain(), GOLD_TO_EXPLAIN), *corpus(3, 9, compared=False)]
    page = open_report(pairs, width=1400)
    go_to_pairs(page)
    moved = """
        const cards = [...document.querySelectorAll('.pair')];
        return cards.flatMap((card) => {
          const { height } = card.getBoundingClientRect();
          return [...card.querySelectorAll('.token, .hit-area')].map((node) => {
            node.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
            return card.getBoundingClientRect().height - height;
          });
        });"""
    for _ in at_widths(page, 1400, 1200, 700, 390):
        heights = page.execute_script(moved)
        assert len(heights) > 8
        assert set(heights) == {0}


def test_what_the_pairs_show_is_behind_a_button_unless_two_are_compared(open_report: Open) -> None:
    for others, is_open in (({}, False), (CAT.others, True)):
        page = open_report([replace(CAT, others=others)], beside=True)
        page.refresh()
        wait_until_drawn(page)
        assert find(page, "[data-key=view]")[0].is_displayed() == is_open
        assert find(page, "#bar > summary")[0].text == "View"


def test_closest_calls_number_words_that_occur_several_times(open_report: Open) -> None:
    weights = np.array([[0.6, 0.1], [0.4, 0.1], [0.1, 0.5]])
    pair = AlignedPair(
        Alignment(frozenset({(0, 0)}), 2, 3),
        AlignmentMatrix(weights, ("the", "pots"), ("les", "les", "pots")),
        probabilities={Link(0, 0): 0.6},
        extraction="posterior",
        threshold=DEFAULT_THRESHOLD,
    )
    page = open_report([SamplePair(1, pair)])
    kinds = kinds_of_links(pair.matrix, pair.links, None)
    content = CardContent(
        matrix=matrix_with_probabilities(pair),
        kinds=kinds,
        gold=None,
        threshold=pair.threshold,
        has_second_words=False,
    )
    names = [bar.name.replace("\u200e", "") for bar in closest_calls(content)]
    assert names == ["the – les₁", "pots – pots", "the – les₂"]
    assert [plain(text) for text in texts(page, ".calls .name")] == names


def test_choosing_a_view_leaves_the_pair_where_it_is(open_report: Open) -> None:
    page = open_report([CAT], hash="#pair-17&pin=t3", beside=True)
    wait_until_still(page)
    top = "return document.querySelector('.pair').getBoundingClientRect().top"
    before = page.execute_script(top)
    page.execute_script(SHOW_ONE_PANEL)
    assert abs(page.execute_script(top) - before) < 1
