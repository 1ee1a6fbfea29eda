"""A card in a notebook: its frame has the height of its content, at every width, whatever is pointed at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmtalign as na
from tests.browser.conftest import actions


@pytest.fixture
def notebook(chromium: Any, tmp_path: Path) -> Any:
    pair = na.load().align("The black cat did not sleep .", "Le chat noir ne dormait pas .")
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><body>{pair.show()._repr_html_()}<p>next cell</p>", encoding="utf-8")
    yield lambda: chromium.get(page.as_uri())
    assert not chromium.get_log("browser")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [1000, 700, 390])
def test_the_frame_of_a_card_has_the_height_of_its_content(chromium: Any, notebook: Any, width: int) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    notebook()
    frame = chromium.find_element("css selector", "iframe")
    chromium.switch_to.frame(frame)

    def heights() -> tuple[float, float]:
        of_card = (
            "const box = document.documentElement; return [box.getBoundingClientRect().height, innerHeight]"
        )
        return tuple(chromium.execute_script(of_card))

    def fits(_: Any) -> bool:
        of_card, of_frame = heights()
        return of_card > 100 and 0 < of_frame - of_card <= 2

    WebDriverWait(chromium, 10).until(fits)
    assert chromium.execute_script("return document.documentElement.scrollHeight <= innerHeight")
    before = heights()
    for word in chromium.find_elements("css selector", ".token"):
        actions(chromium).move_to_element(word).perform()
        assert heights() == before
    chromium.switch_to.default_content()
