"""Several systems in the report: panels with links of their own, the table of systems, filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign import Alignment, Link
from nmtalign.links.evaluation import compare_evaluations
from nmtalign.links.scoring import Counts
from nmtalign.report.html import write_report
from nmtalign.report.page_content import SamplePair, evaluate_systems
from tests.browser.conftest import SHOW_ONE_PANEL, wait, wait_until_drawn
from tests.browser.test_report_page import (
    assert_no_violation,
    find,
    go_to_pairs,
    order,
    plain,
    point_at,
    texts,
    type_query,
    word,
)
from tests.browser.test_report_tools import choose
from tests.report.sample_pairs import CAT, corpus

Open = Callable[..., Any]
Links = set[tuple[int, int]]


def three_systems(count: int, length: int) -> list[SamplePair]:
    """Return pairs with gold and two other systems, one of which has some pairs right."""
    found = []
    for pair in corpus(count, length):
        assert pair.gold is not None
        links = sorted(pair.gold.sure)[pair.line % 3 :]
        good = Alignment(frozenset(links), length, length)
        found.append(replace(pair, others={**pair.others, "good <b>": good}))
    return found


def with_few_words(pair: SamplePair) -> SamplePair:
    """Return a pair of six words, which are linked here and there."""
    matrix = pair.aligned.matrix
    sides = [tuple(f"w{len(word) % 6}" for word in words) for words in pair.aligned.tokens]
    named = replace(matrix, source_tokens=sides[0], target_tokens=sides[1])
    return replace(pair, aligned=replace(pair.aligned, matrix=named))


def drawn(page: Any, panel: int) -> dict[tuple[int, int], tuple[str, str]]:
    """Return kind and mark of each curve of a panel; a kind with a star is faint, for both panels have it."""
    curves = page.execute_script(
        "const box = document.querySelectorAll('.sentences')[arguments[0]];"
        "return [...box.querySelectorAll('.link')].map((link) => [link.dataset.link, link.classList[1] +"
        "  (link.classList.contains('shared') ? '*' : ''),"
        "  box.querySelector(`.tag[data-link='${link.dataset.link}']`)?.textContent ?? ''])",
        panel,
    )
    return {tuple(map(int, key.split("-"))): (kind, tag) for key, kind, tag in curves}


def links(pairs: Iterable[Link]) -> Links:
    return {(s, t) for s, t in pairs}


def expected(own: Links, other: Links, letter: str, sure: Links) -> dict[tuple[int, int], tuple[str, str]]:
    """Return what a panel draws where all is compared with gold links, all of which are sure."""
    found = {}
    for link in own | sure:
        kind, sign = ("hit", "") if link in own & sure else ("wrong", "×") if link in own else ("missed", "+")
        same = (link in own) == (link in other)
        found[link] = kind + "*" * same, (letter if link in own and not same else "") + sign
    return found


OURS, THEIRS, SURE = (
    links(one) for one in (CAT.aligned.alignment.links, CAT.others["other"].links, CAT.gold.sure)
)
BEST = {
    "forward": {(0, 0), (2, 1), (1, 2)},  # "dort" prefers no partner
    "reverse": {(0, 0), (1, 2), (2, 1)},
    "first": {(s, t) for t, s in enumerate(np.eye(4)[::-1].argmax(axis=1).tolist())},
}


def test_each_panel_draws_its_own_links_and_marks_the_difference(open_report: Open) -> None:
    page = open_report([replace(CAT, parts={"first": np.eye(4)[::-1]})])
    dots = (
        "return [...document.querySelectorAll('.matrix')].map((m) => m.querySelectorAll('.pan .dot').length)"
    )
    for views, own in (
        (("combined", "other"), (OURS, THEIRS)),
        (("other", "combined"), (THEIRS, OURS)),
        (("combined", "gold"), (OURS, SURE)),
        (("first", "other"), (BEST["first"], THEIRS)),
        (("forward", "first"), (BEST["forward"], BEST["first"])),
    ):
        choose(page, "beside", "nothing")
        choose(page, "view", views[0])
        choose(page, "beside", views[1])
        assert drawn(page, 0) == expected(*own, "A", SURE)
        assert drawn(page, 1) == expected(*own[::-1], "B", SURE)
        told = [f"{len(one)} links, {len(one - two)} only here" for one, two in (own, own[::-1])]
        seen = zip(texts(page, ".view small"), told, strict=True)
        assert [text.startswith(start) for text, start in seen] == [True, True]
        # the last is the difference
        assert page.execute_script(dots) == [len(own[0]), len(own[1]), len(own[0])]
        diamonds = dots.replace(".dot", ".diamond")
        assert page.execute_script(diamonds) == [0, 0, 2 * len(own[1])]


def test_possible_links_of_the_gold_are_no_difference(open_report: Open) -> None:
    gold = replace(CAT.gold, possible=frozenset({*CAT.gold.possible, Link(3, 0)}))
    page = open_report([replace(CAT, gold=gold)])
    choose(page, "beside", "gold")
    assert drawn(page, 1)[3, 0] == ("maybe*", "")


def test_without_gold_panels_are_compared_with_each_other(open_report: Open) -> None:
    page = open_report([replace(CAT, others={**CAT.others, "third": Alignment(frozenset(), 4, 4)})])
    for against in ("nothing", "other", "third"):
        choose(page, "beside", "nothing")
        choose(page, "compare", against)
        choose(page, "beside", "other")
        for panel, (own, other, mark) in enumerate(((OURS, THEIRS, "only A"), (THEIRS, OURS, "theirs B"))):
            assert drawn(page, panel) == {
                link: ("both*", "") if link in other else tuple(mark.split()) for link in own
            }
        assert texts(page, ".pair .key li")[:3] == ["in both", "Aonly in A", "Bonly in B"]


def test_words_are_lit_and_underlined_by_the_links_of_their_panel(open_report: Open) -> None:
    page = open_report([CAT])
    choose(page, "beside", "other")
    go_to_pairs(page)
    alone = "return [...document.querySelectorAll('.sentences')].map((box) =>" + (
        " [...box.querySelectorAll('.alone')].map((word) => word.dataset.side + word.dataset.at))"
    )
    assert page.execute_script(alone) == [["s3", "t3"], ["s1", "t2"]]
    point_at(page, word(page, "sleeps"))
    on = alone.replace(".alone", ".token.on")
    assert page.execute_script(on) == [["s3", "t3"], ["s3", "t3"]]  # on the left a missing link
    point_at(page, word(page, "black"))
    assert page.execute_script(on) == [["s1", "t2"], ["s1", "t2"]]
    choose(page, "compare", "nothing")
    point_at(page, word(page, "black"))
    assert page.execute_script(on) == [["s1", "t2"], ["s1"]]


def test_the_table_of_systems_says_what_evaluate_says(open_report: Open) -> None:
    pairs = three_systems(24, 8)
    page = open_report(pairs)
    results = evaluate_systems(pairs)
    best, *others = sorted(results, key=lambda name: results[name].aer)
    rows = "return [...document.querySelectorAll('#systems tbody tr')].map((tr) =>" + (
        " [...tr.cells].map((cell) => cell.innerText))"
    )
    for base in (best, others[-1]):
        next(b for b in find(page, "#systems [aria-pressed]") if b.text == base).click()
        found = {name: cells for name, *cells in page.execute_script(rows)}
        assert list(found) == [best, *others]
        for name, result in results.items():
            counts = result.counts
            assert found[name][0] == f"{counts.links:,}"
            numbers = [float(text.split()[0]) for text in found[name][1:4]]
            assert numbers == pytest.approx(
                [100 * result.score(m) for m in ("precision", "recall", "aer")], abs=0.051
            )
            if name != base:
                value = compare_evaluations(results[base], result)["aer"].value
                assert float(found[name][4].split()[0].replace("−", "-")) == pytest.approx(
                    100 * value, abs=0.051
                )
        assert found[base][4:6] == ["–", "–"]
    assert texts(page, "#systems > summary span")[0].startswith(f"Fewer errors in {best} (AER ")
    find(page, "#systems .show")[0].click()
    assert texts(page, ".view figcaption")[1].startswith(f"B: {best}")


def test_a_report_of_one_system_has_no_table(open_report: Open) -> None:
    page = open_report(corpus(4, 6, compared=False))
    assert not find(page, "#systems")[0].is_displayed()


def won(pair: SamplePair, ours: Links, theirs: Links) -> bool:
    """Tell whether there is a cell that one system has right and the other wrong, cell by cell."""

    def right(own: Links, s: int, t: int) -> bool:
        return Link(s, t) in pair.gold.possible if (s, t) in own else Link(s, t) not in pair.gold.sure

    T, S = pair.aligned.matrix.weights.shape
    return any(right(ours, s, t) and not right(theirs, s, t) for s in range(S) for t in range(T))


def test_filters_find_what_a_slow_search_finds(open_report: Open) -> None:
    pairs = [
        with_few_words(replace(pair, line=n))
        for n, pair in enumerate([*three_systems(9, 5), *three_systems(4, 32), *three_systems(3, 4)], 1)
    ]
    page = open_report(pairs)
    choose(page, "beside", "good <b>")
    a = {pair.line: links(pair.aligned.alignment.links) for pair in pairs}
    b = {pair.line: links(pair.others["good <b>"].links) for pair in pairs}
    words = {pair.line: pair.aligned.tokens for pair in pairs}

    def linked(cells: dict[int, Links], source: str, target: str) -> set[int]:
        return {
            n
            for n, found in cells.items()
            if any(source in ("", words[n][0][s]) and target in ("", words[n][1][t]) for s, t in found)
        }

    only_a = {n: a[n] - b[n] for n in a}
    only_b = {n: b[n] - a[n] for n in a}
    named = [(f"w{k}", f"w{m}") for k in range(6) for m in range(6)]
    mine = next(one for one in named if linked(only_a, *one) not in (set(), linked(a, *one)))
    others = next(one for one in named if linked(only_b, *one) not in (set(), linked(b, *one)))
    new = next(one for one in named if linked(b, *one) - linked(a, *one))
    by_either = linked(a, *mine) | linked(b, *mine)
    searches = {
        "is:won": {p.line for p in pairs if won(p, a[p.line], b[p.line])},
        "is:lost": {p.line for p in pairs if won(p, b[p.line], a[p.line])},
        "words:>30": {n for n in a if len(words[n][0]) > 30},
        "words:<5": {n for n in a if len(words[n][0]) < 5},
        f"link:{mine[0].upper()}={mine[1]}": by_either,
        f"link:{new[0]}={new[1]}": linked(a, *new) | linked(b, *new),
        f"link:{mine[0]}=": linked(a, mine[0], "") | linked(b, mine[0], ""),
        f"a:{mine[0]}={mine[1]}": linked(only_a, *mine),
        f"b:{others[0]}={others[1]}": linked(only_b, *others),
        f"link:{mine[0]}={mine[1]} words:>30": {n for n in by_either if len(words[n][0]) > 30},
        "a:nosuch=word": set(),
    }
    for query, wanted in searches.items():
        type_query(page, query)
        assert set(order(page)) == wanted, query
    assert len({frozenset(found) for found in searches.values()}) > 6
    type_query(page, f"a:{mine[0]}={mine[1]}")
    assert {word.split()[0] for word in texts(page, ".found")} == set(mine)


def test_filters_are_chosen_into_the_search_and_the_address(open_report: Open) -> None:
    from selenium.webdriver.support.ui import Select

    page = open_report([CAT, replace(CAT, line=3, others={"other": CAT.aligned.alignment})])
    shown = Select(find(page, "#conditions")[0])
    names = ["these links right, other wrong", "other right, these links wrong"]
    assert [plain(option.text) for option in shown.options] == [
        "all pairs",
        "pairs that differ",
        *names,
        "over 30 words",
        "under 10 words",
        "not under 10 words",
        "a link of ‘the’ to ‘le’",
        "a link of ‘the’ to ‘le’ by A alone",
        "a link of ‘the’ to ‘le’ by B alone",
        "without ‘the’",
    ]
    type_query(page, "cat")
    shown.select_by_visible_text(names[1])
    assert order(page) == [17]
    assert page.execute_script("return decodeURIComponent(location.hash)") == "#find=cat+is:lost"
    shown.select_by_visible_text("over 30 words")
    assert page.execute_script("return document.getElementById('search').value") == "cat words:>30"
    find(page, "#nothing button")[0].click()
    assert order(page) == [17, 3]
    assert shown.first_selected_option.text == "all pairs"
    choose(page, "view", "other")
    choose(page, "beside", "gold")
    assert [option.text for option in shown.options][2] == "other right, gold wrong"


def test_a_row_of_the_lexicon_leads_to_the_pairs_with_its_link(open_report: Open) -> None:
    pairs = three_systems(12, 6)
    page = open_report(pairs)
    source, target = texts(page, "#lexicon tbody tr:first-child .lookup")
    page.execute_script("document.querySelector('#lexicon tbody a').click()")
    wait(page, "return document.getElementById('search').value !== ''")
    assert page.execute_script("return document.getElementById('search').value") == f"link:{source}={target}"
    found = [
        pair.line
        for pair in pairs
        if any(
            (pair.aligned.tokens[0][s], pair.aligned.tokens[1][t]) == (source, target)
            for own in (pair.aligned.alignment, pair.others["other"])
            for s, t in own.links
        )
    ]
    wait(page, "return document.getElementById('found').textContent !== '12 pairs'")
    assert order(page) == found


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1100, False), (1600, False)])
def test_two_panels_and_the_table_fit_and_can_be_read(
    open_report: Open, axe: str, width: int, dark: bool
) -> None:
    page = open_report(three_systems(4, 9), width=width, dark=dark)
    page.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true")
    choose(page, "beside", "good <b>")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    go_to_pairs(page)
    assert_no_violation(page, axe)


def test_the_list_says_the_error_of_each_system(open_report: Open) -> None:
    pairs = three_systems(6, 8)
    page = open_report(pairs)
    heads = texts(page, "#index th")
    column = heads.index("AER other") + 1
    shown = dict(zip(order(page), texts(page, f"#index td:nth-child({column})"), strict=False))
    for pair in pairs:
        aer = Counts.from_links(pair.others["other"], pair.gold).aer
        assert float(shown[pair.line].removesuffix(" %")) == pytest.approx(100 * aer, abs=0.051)


def test_a_saved_card_has_both_panels(open_report: Open) -> None:
    page = open_report([CAT])
    choose(page, "beside", "other")
    page.execute_script(
        "URL.createObjectURL = (blob) => { window.saved = blob; return '#'; };"
        "document.querySelector('.save-svg').click();"
    )
    saved = page.execute_async_script("const done = arguments[0]; window.saved.text().then(done)")
    assert saved.count(">sleeps</text>") == 2 + 3  # of two panels, and of three matrices
    assert [name in saved for name in ("A: these links", "B: other")] == [True, True]


def test_words_have_the_language_of_their_side(chromium: Any, tmp_path: Path) -> None:
    aligned = replace(CAT.aligned, languages=("zh", "ja"))
    write_report(tmp_path / "report.html", [replace(CAT, aligned=aligned)])
    chromium.get(f"file://{tmp_path}/report.html")
    wait_until_drawn(chromium)
    chromium.execute_script(SHOW_ONE_PANEL)
    langs = 'return [...document.querySelectorAll(".pair [lang]")].map((node) => node.getAttribute("lang"))'
    assert sorted(chromium.execute_script(langs)) == ["ja", "ja", "zh", "zh"]
