"""A real browser for the HTML report: Debian's chromium, driven by Selenium, without a network.

Where something is missing the tests are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pytest

from nmtalign.report.html import write_report
from nmtalign.report.page_content import SamplePair

HERE = Path(__file__).parent
# Empties the page if the window is to change, which would lay it out anew. Returns whether nothing is kept,
# and whether size and colors of the window are those that are asked for.
FORGET = """
    const [width, height, scheme] = arguments;
    const sized = innerWidth === width && innerHeight === height;
    const colored = matchMedia(`(prefers-color-scheme: ${scheme}) and (forced-colors: none)`).matches;
    if (!sized || !colored) {
      document.open();
      document.close();
    }
    let clean = false;
    try {
      clean = location.protocol === "file:" && localStorage.length === 0;
      localStorage.clear();
    } catch {}
    return [clean, sized, colored];
"""
FLAGS = (
    "--headless",
    "--no-sandbox",  # chromium refuses its sandbox to root
    "--disable-gpu",
    "--in-process-gpu",  # one process less to pass pictures on to: .9 of the CPU time
    "--app=data:,",  # a window without tabs and buttons, which are drawn even headless: .85
    "--disable-features=RenderDocument,BackForwardCache",  # reuse the frame of the last page: .85
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def give_up(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        give_up("no chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    selenium = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = selenium.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = selenium.Chrome(options=options, service=Service(driver))
    page.set_script_timeout(120)
    yield page
    page.quit()


@pytest.fixture
def open_report(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Write a report, open it in a window of a given size, and check that nothing was complained about."""
    numbers = count()

    def prepare(width: int, height: int, scheme: str) -> None:
        """Forget what earlier pages have kept, and change the window if it is another one."""
        is_clean, is_sized, is_colored = chromium.execute_script(FORGET, width, height, scheme)
        if not is_clean:
            stored = {"origin": "file://", "storageTypes": "local_storage"}
            chromium.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
        if not is_sized:
            resize(chromium, width, height)
        if not is_colored:
            prefer(chromium, scheme)

    def show(
        pairs: list[SamplePair],
        *,
        width: int = 1400,
        height: int = 900,
        hash: str = "",
        dark: bool = False,
        gold: list[str] | None = None,
        corrections: Path | None = None,
        text: str | None = None,
        beside: bool = False,
    ) -> Any:
        write_report(tmp_path / "report.html", pairs, gold=gold, corrections=corrections, text=text)
        prepare(width, height, "dark" if dark else "light")
        # with a number of its own, or the browser would only go to another place of the page that it shows
        chromium.get(f"file://{tmp_path}/report.html?{next(numbers)}{hash}")
        wait_until_drawn(
            chromium,
            # the tools can be clicked
            "document.getElementById('bar').open = true;" * (width > 1080)
            + SHOW_ONE_PANEL * (not beside and any(pair.others for pair in pairs)),
        )
        return chromium

    yield show
    assert chromium.get_log("browser") == []  # no error, no violation of the page's policy
    assert chromium.execute_script("return window.hacked") is None


def resize(page: Any, width: int, height: int = 900) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def at_widths(page: Any, *widths: int, height: int = 900) -> Iterator[int]:
    """Yield each width after the page has been drawn in a window that is so wide."""
    for width in widths:
        resize(page, width, height)
        wait_until_still(page)
        yield width


def prefer(page: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def actions(page: Any) -> Any:
    """Return actions of mouse and keys whose moves take no time; by default each takes 250 ms."""
    from selenium.webdriver import ActionChains

    return ActionChains(page, duration=0)


# Shows nothing beside the links of a report, which begins beside another system if it has one.
SHOW_ONE_PANEL = """
    const select = document.querySelector("[data-key=beside]");
    select.value = "none";
    select.dispatchEvent(new Event("change"));
"""


def wait(page: Any, condition: str, *arguments: Any) -> Any:
    """Wait until a script returns something true, and return it."""
    end = time.monotonic() + 60
    while not (found := page.execute_script(condition, *arguments)):
        assert time.monotonic() < end, f"still not: {condition}"
        time.sleep(0.03)
    return found


def wait_until_drawn(page: Any, then: str = "") -> None:
    """Wait until the script of a report has drawn its page; the page tells it, as asking often takes time."""
    page.execute_async_script(
        "const done = arguments[0], root = document.documentElement;"
        f"const look = () => {{ if (root.dataset.ready === '') {{ {then} done(); }} }};"
        "new MutationObserver(look).observe(root, { attributeFilter: ['data-ready'] });"
        "look();"
    )


def wait_until_still(page: Any) -> None:
    """Wait until nothing has moved or been drawn for eight frames, however long a frame takes.

    The page itself needs up to six to bring a pair to its place (`settle`).
    """
    page.execute_async_script(
        "const done = arguments[0]; let before = '', same = 0;"
        "const look = () => {"
        "  const drawn = document.querySelectorAll('.sentences').length;"
        "  const now = `${scrollY} ${document.body.scrollHeight} ${drawn}`;"
        "  same = now === before ? same + 1 : 0;"
        "  before = now;"
        "  if (same < 8) requestAnimationFrame(look); else done();"
        "};"
        "look();"
    )


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The packages of package.json, fetched once into node_modules beside this file."""
    folder = HERE / "node_modules"
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    if not all((folder / name).exists() for name in wanted):
        if not shutil.which("npm"):
            give_up(f"no npm to fetch {', '.join(wanted)} with")
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300)
        if done.returncode:
            give_up(f"{', '.join(wanted)} could not be fetched: {done.stderr[-300:]}")
    return folder


@pytest.fixture(scope="session")
def axe(node_modules: Path) -> str:
    """The script of axe-core."""
    return (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
