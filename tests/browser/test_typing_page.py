"""The page of ``nmtalign serve`` and the card of a notebook, in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nmtalign.cli.commands.serve_command import Server
from tests.aligner.toy_language import toy_bitext, toy_training
from tests.browser.conftest import wait, wait_until_drawn, wait_until_still
from tests.browser.test_report_page import assert_no_violation, find, point_at, texts
from tests.report.sample_pairs import CAT, HOSTILE_WORDS, aligned_pair

WINDOW = {"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": False}
EXAMPLE = toy_bitext(1, seed=5).pairs[0]
SAYS = "return document.querySelector('#typing [role=status]').textContent.startsWith(arguments[0])"


@pytest.fixture
def typing_page(chromium: Any) -> Iterator[Any]:
    """The page of a server with two models, when it has aligned its example."""
    models = {name: toy_training(name).aligner for name in ("default", "fast")}
    with Server(models, EXAMPLE, 0) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WINDOW)
        chromium.get(server.address)
        wait(chromium, "return document.querySelector('.source .token')")
        yield chromium
        chromium.get("about:blank")
        server.shutdown()
        thread.join()
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return window.hacked") is None


def fill(page: Any, source: str, target: str) -> None:
    """Paste two texts, as one event each."""
    page.execute_script(
        "document.querySelectorAll('#typing textarea').forEach((box, i) => { box.value = arguments[i];"
        "  box.dispatchEvent(new Event('input', { bubbles: true })) })",
        source,
        target,
    )


def choose_models(page: Any, *names: str) -> None:
    page.execute_script(
        "document.querySelectorAll('#typing select').forEach((box, i) => { box.value = arguments[i];"
        "  box.dispatchEvent(new Event('change', { bubbles: true })) })",
        *names,
    )


def links(page: Any) -> set[tuple[int, ...]]:
    keys = page.execute_script(
        "return [...document.querySelectorAll('.link[data-link]')].map((l) => l.dataset.link)"
    )
    return {tuple(map(int, key.split("-"))) for key in keys}


def unless_redrawn(read: Callable[[], Any]) -> Any:
    """Return what is read from the page, and read it again if the page was redrawn meanwhile."""
    from selenium.common.exceptions import StaleElementReferenceException

    for _ in range(30):
        try:
            return read()
        except StaleElementReferenceException:
            time.sleep(0.1)
    return read()


def test_typed_pairs_are_drawn_at_once(typing_page: Any) -> None:
    page = typing_page
    choose_models(page, "default", "")
    wait(page, "return document.querySelectorAll('.view').length === 0")
    wait(page, "return document.querySelectorAll('.source .token').length > 0")
    made = toy_training("default").aligner.align(*EXAMPLE)
    keys = sorted(
        f"{s}-{t}" for s, t in made.links
    )  # the page may still draw the pair for the models of before
    wait(
        page,
        "const drawn = [...document.querySelectorAll('.link[data-link]')].map((l) => l.dataset.link);"
        "return [...new Set(drawn)].sort().join() === arguments[0]",
        ",".join(keys),
    )
    drawn = unless_redrawn(lambda: [text.split(" ")[0] for text in texts(page, ".source .token")])
    assert drawn == EXAMPLE[0].split()
    assert unless_redrawn(lambda: links(page)) == {tuple(link) for link in made.links}
    width = "return document.querySelector('{}')?.getBoundingClientRect().width ?? 0"
    assert page.execute_script(width.format(".matrix svg")) > 0
    assert page.execute_script(width.format("aside")) == 0
    boxes = find(page, "#typing textarea")
    boxes[0].send_keys(" new")
    wait(page, "return [...document.querySelectorAll('.source .token')].at(-1).textContent.startsWith('new')")
    assert page.switch_to.active_element == boxes[0]


def test_lines_are_pairs_and_a_wrong_number_is_told(typing_page: Any, axe: str) -> None:
    page = typing_page
    fill(page, f"{EXAMPLE[0]}\nx", f"{EXAMPLE[1]}\ny")
    wait(page, "return document.querySelectorAll('.pair').length === 2")
    fill(page, f"{EXAMPLE[0]}\nb", EXAMPLE[1])  # the complete line is aligned, the last one waits
    told = "2 source lines, 1 target: the last one waits for its partner. "
    wait(page, SAYS, told)
    assert len(find(page, ".pair")) == 1
    fill(page, EXAMPLE[0], f"{EXAMPLE[1]}\nb\nc")
    told = "3 target lines, 1 source: the last 2 wait for their partners. "
    wait(page, SAYS, told)
    dimmed = "return document.getElementById('list').classList.contains('old')"
    assert not page.execute_script(dimmed)
    for emptied in ((EXAMPLE[0], ""), ("", "")):  # the card is not the answer to them
        fill(page, *EXAMPLE)
        wait(page, f"{dimmed} === false")
        fill(page, *emptied)
        wait(page, SAYS, "Type a sentence")
        assert page.execute_script(dimmed)
        opacity = "return Number(getComputedStyle(document.getElementById('list')).opacity)"
        assert page.execute_script(opacity) < 1
    assert_no_violation(page, axe)


def test_what_is_typed_survives_a_reload_and_a_cut_is_told(typing_page: Any) -> None:
    page = typing_page
    fill(page, "one two", "eins zwei")
    wait(page, "return document.querySelector('.token').textContent.startsWith('one')")
    page.refresh()
    wait(page, "return document.querySelector('.token')?.textContent.startsWith('one')")
    values = "return [...document.querySelectorAll('#typing textarea')].map((box) => box.value)"
    assert page.execute_script(values) == ["one two", "eins zwei"]
    fill(page, "one " + 5000 * "\n", "eins " + 12000 * "\n")
    told = "The target text was truncated to 10,000 characters. "
    wait(page, SAYS, told)


def test_the_address_has_the_sentences_and_a_server_that_is_back_answers(typing_page: Any) -> None:
    page = typing_page
    address = page.current_url.split("#")[0]
    page.get("about:blank")
    page.get(f"{address}#source=one+two&target=eins%0A")
    wait(page, "return document.querySelector('.token')?.textContent.startsWith('one')")
    fetched = "window.kept = window.fetch; window.fetch = () => Promise.reject(new Error('no server'))"
    page.execute_script(fetched)
    fill(page, "three", "drei")
    wait(page, "return document.querySelector('#typing .wrong')?.textContent.includes('asks again')")
    page.execute_script("window.fetch = window.kept")
    wait(page, "return document.querySelector('.token').textContent.startsWith('three')")


def test_an_old_result_is_marked_under_an_error(typing_page: Any) -> None:
    old = "return document.getElementById('list').classList.contains('old')"
    assert not typing_page.execute_script(old)
    fill(typing_page, "one " * 401, "eins")
    wait(typing_page, old)
    fill(typing_page, *EXAMPLE)
    wait(typing_page, "return !document.getElementById('list').classList.contains('old')")


def test_another_model_aligns_the_same_pair(typing_page: Any) -> None:
    page = typing_page
    made = toy_training("fast").aligner.align(*EXAMPLE)
    choose_models(page, "fast", "")
    said = "return document.querySelector('#typing [role=status]').textContent.endsWith(arguments[0])"
    wait(page, said, "by the model ‘\u2068fast\u2069’.")
    assert texts(page, "#typing details p") == [made.description]
    assert links(page) == {tuple(link) for link in made.links}


def test_two_models_are_shown_at_once_and_their_differences_are_marked(typing_page: Any) -> None:
    page = typing_page
    pair = toy_bitext(5, seed=5).pairs[4]
    own, other = (set(toy_training(name).aligner.align(*pair).links) for name in ("default", "fast"))
    assert own != other
    assert page.execute_script("return document.querySelectorAll('.view').length") == 2  # from the first
    fill(page, *pair)
    wait(page, "return document.querySelector('.token').textContent === arguments[0]", pair[0].split()[0])
    assert "F1 with fast" in texts(page, ".pair header")[0]
    marks = page.execute_script(
        "return [...document.querySelectorAll('.view .tag')].map((tag) => tag.dataset.link)"
    )
    assert {tuple(map(int, key.split("-"))) for key in marks} == own ^ other
    assert texts(page, ".view figcaption")[0].startswith("A: default")
    assert len(find(page, ".matrix figcaption .scale")) == len(find(page, ".matrix"))  # each has its scale
    choose_models(page, "default", "default")
    wait(page, "return document.querySelectorAll('.view').length === 0")
    assert links(page) == own
    choose_models(page, "fast", "default")
    wait(page, "return document.querySelectorAll('.view').length === 2")
    assert "F1 with default" in texts(page, ".pair header")[0]


def test_hostile_words_are_text(typing_page: Any) -> None:
    words = [word for word in HOSTILE_WORDS if word.isprintable() and word and " " not in word]
    choose_models(typing_page, "fast", "")
    fill(typing_page, " ".join(words), "x")
    wait(
        typing_page, "return document.querySelectorAll('.source .token').length === arguments[0]", len(words)
    )
    assert [text.split(" (")[0] for text in texts(typing_page, ".source .token")] == words


def test_the_typing_page_is_accessible(typing_page: Any, axe: str) -> None:
    typing_page.execute_script(axe)
    result = typing_page.execute_async_script("axe.run(document).then(arguments[0])")
    assert [entry["id"] for entry in result["violations"]] == []
    assert len(result["passes"]) > 20


@pytest.mark.parametrize("dark", [False, True])
def test_a_card_in_a_notebook_is_interactive(chromium: Any, tmp_path: Path, dark: bool) -> None:
    """In a frame that may not touch the notebook, offline, light and dark."""
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WINDOW)
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    cards = CAT.aligned.show()._repr_html_() + aligned_pair(HOSTILE_WORDS, ["a"]).show()._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{cards}", encoding="utf-8")
    chromium.get(f"file://{tmp_path}/notebook.html")
    chromium.switch_to.frame(0)
    # the frame has the height of its card, after which nothing is drawn anew
    wait_until_drawn(chromium)
    wait(chromium, "return document.documentElement.scrollHeight <= innerHeight")
    wait_until_still(chromium)
    point_at(chromium, find(chromium, ".token")[2])
    wait(chromium, "return document.querySelector('.pair.lit .why')")
    assert "is linked to" in texts(chromium, ".why .headline")[0]
    assert find(chromium, ".matrix svg")[0].is_displayed()
    assert not any(part.is_displayed() for part in find(chromium, "aside, .top, #lexicon, #summary"))
    style = "return getComputedStyle(document.querySelector('.pair')).backgroundColor"
    ground = chromium.execute_script(style)
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == dark
    chromium.switch_to.default_content()
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return window.hacked") is None
