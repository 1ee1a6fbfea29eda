"""The essay of the docs: its figures in Chromium, and that they show what a training computes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.draw_essay import FOLDER, page_of_figures
from scripts.record_essay import record

PAGE = FOLDER.parent / "essay.md"


def recorded() -> dict[str, Any]:
    text = (FOLDER / "recorded.js").read_text(encoding="utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_the_recorded_numbers_are_those_of_a_training() -> None:
    """A change of the training changes them: run scripts/record_essay.py and scripts/draw_essay.py then."""
    shown, computed = recorded(), record()
    assert shown.keys() == computed.keys()
    for name in ("source", "target", "sure", "links", "pairs", "dimension"):
        assert shown[name] == computed[name]
    assert [step["model"] for step in shown["steps"]] == [step["model"] for step in computed["steps"]]
    weights = [[step["weights"] for step in both["steps"]] for both in (shown, computed)]
    np.testing.assert_allclose(*weights, atol=0.002)
    for name in ("forward", "reverse", "joint"):
        np.testing.assert_allclose(shown[name], computed[name], atol=0.002)
    for score in ("dot", "bahdanau"):
        np.testing.assert_allclose(shown["scores"][score], computed["scores"][score], atol=0.01)
    assert f"error rate* of the default is {100 * computed['aer']:.1f} %" in PAGE.read_text(encoding="utf-8")


@pytest.fixture
def open_essay(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    def open_page(*, width: int = 1200, dark: bool = False, still: bool = False) -> Any:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if still else "no-preference",
        }
        media = [{"name": name, "value": value} for name, value in features.items()]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        chromium.get(page_of_figures(tmp_path, theme="auto").as_uri())
        return chromium

    yield open_page
    assert not chromium.get_log("browser")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def text_of(page: Any, css: str) -> str:
    text: str = page.execute_script("return document.querySelector(arguments[0]).innerText", css)
    return text.replace("\u00a0", " ").strip()


def test_the_slider_goes_through_all_steps_by_keyboard(open_essay: Callable[..., Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    page = open_essay(width=390)
    slider = page.find_element("css selector", "#learning input")
    told, stories, heights = [], [], set()
    for _ in range(11):
        told.append((text_of(page, "#learning .title"), text_of(page, "#learning .verdict")))
        stories.append(text_of(page, "#learning .who"))
        heights.add(page.find_element("css selector", "#learning .below").rect["height"])
        slider.send_keys(Keys.ARROW_RIGHT)
    assert len(set(stories)) == 11
    assert "zone still prefers signed" in stories[3]
    assert len(heights) == 1  # the matrix stays where it is
    assert told[0] == ("0. Nothing is known", "0 right · × 0 wrong · + 14 missed")
    assert told[3] == ("3. Which words occur together: round 3", "10 right · × 1 wrong · + 4 missed")
    assert told[4] == ("4. Where they are: round 1", "13 right · × 0 wrong · + 1 missed")
    assert told[9] == ("9. Both together: links of at least 55 %", "13 right · × 0 wrong · + 1 missed")
    assert told[10] == ("10. Both together: links of at least 5 %", "14 right · × 1 wrong · + 0 missed")
    assert slider.get_attribute("aria-valuetext") == "10: Both together: links of at least 5 %"
    page.find_element("css selector", "a[data-step='9']").click()
    assert text_of(page, "#learning .title") == told[9][0]


def test_the_stories_of_the_steps_are_true() -> None:
    words = recorded()
    steps = [np.array(step["weights"]) for step in words["steps"]]

    def best(step: int, word: str) -> str:
        return str(words["source"][steps[step][words["target"].index(word)].argmax()])

    assert [best(step, "zone") for step in (1, 2, 3, 4)] == ["signed", "signed", "signed", "Area"]
    assert (best(1, "sur"), best(2, "sur"), best(4, "L'"), best(4, "la")) == ("on", "on", "The", "the")
    article = steps[3][words["target"].index("la")][[0, 3]]  # The, the
    assert article[0] == article[1]
    joint = np.array(words["joint"])
    links = {(words["source"][s], words["target"][t]) for t, s in np.argwhere(joint >= 0.05)}
    people = {(words["source"][s], words["target"][t]) for s, t in words["sure"]}
    assert links - people == {("Area", "a")}
    surer = {(words["source"][s], words["target"][t]) for t, s in np.argwhere(joint >= 0.95)}
    assert people - surer == {("the", "la"), ("was", "a")}


def test_the_steps_that_the_text_names_exist() -> None:
    steps = [int(step) for step in re.findall(r'data-step="(\d+)"', PAGE.read_text(encoding="utf-8"))]
    assert steps == sorted(steps)
    assert max(steps) == len(recorded()["steps"]) + 3


def test_the_default_threshold_gives_the_links_of_the_aligner() -> None:
    joint = np.array(recorded()["joint"])
    assert sorted(map(list, np.argwhere(joint.T >= 0.55).tolist())) == recorded()["links"]


def test_attention_follows_score_and_temperature(open_essay: Callable[..., Any]) -> None:
    page = open_essay()
    set_to = (
        "const s = document.querySelector('#attention [type=range]');"
        "s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
    )
    scores = recorded()["scores"]
    for name, choice in (("dot", 0), ("bahdanau", 1)):
        page.find_elements("css selector", "#attention [type=radio]")[choice].click()
        for place in (-40, 0, 20):
            page.execute_script(set_to, place)
            rows = np.array(scores[name]) / 10 ** (place / 20)
            powers = np.exp(rows - rows.max(axis=1, keepdims=True))
            largest = (powers / powers.sum(axis=1, keepdims=True)).max(axis=1).mean()
            assert f"has {100 * largest:.0f} % on average" in text_of(page, "#attention .who")
            assert text_of(page, "#attention .verdict") == "12 right · × 0 wrong · + 2 missed"


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, False), (320, True)])
def test_the_figures_fit_into_the_page(open_essay: Callable[..., Any], width: int, dark: bool) -> None:
    page = open_essay(width=width, dark=dark)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    ground = page.execute_script(
        "return getComputedStyle(document.getElementById('learning')).backgroundColor"
    )
    assert ground == ("rgb(27, 29, 34)" if dark else "rgb(255, 255, 255)")
    words = page.find_elements("css selector", "#learning .words text[lang]")
    places = [word.rect["y"] for word in words]
    assert len(set(places)) == (2 if width > 700 else 14)  # two lines, or two columns
    edges = page.find_element("id", "learning").rect
    assert all(word.rect["x"] >= edges["x"] for word in words)
    assert all(word.rect["x"] + word.rect["width"] <= edges["x"] + edges["width"] for word in words)


@pytest.mark.parametrize("still", [False, True])
def test_nothing_moves_slowly_where_that_is_not_wanted(open_essay: Callable[..., Any], still: bool) -> None:
    page = open_essay(still=still)
    times = page.execute_script(
        "return [...document.querySelectorAll('.essay *')].map((e) => getComputedStyle(e).transitionDuration)"
    )
    assert any(time != "0s" for time in times) != still


def test_play_goes_to_the_last_step_and_stops(open_essay: Callable[..., Any]) -> None:
    page = open_essay()
    page.execute_script("window.setInterval = (run) => { window.tick = run; return 7; }")
    play = page.find_element("css selector", "#learning button")
    play.click()
    assert play.text == "Stop"
    page.execute_script("for (let n = 0; n < 10; n++) window.tick()")
    assert text_of(page, "#learning .title").startswith("10.")
    assert play.text == "Play"
