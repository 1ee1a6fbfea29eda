"""A real browser for the HTML report: Debian's chromium, driven by Selenium, without a network.

Where something is missing the tests are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

HERE = Path(__file__).parent
FLAGS = (
    "--headless",
    "--no-sandbox",  # chromium refuses its sandbox to root
    "--disable-gpu",
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


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, fetched once into node_modules beside this file."""
    script = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            give_up("no npm to fetch axe-core with")
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300)
        if done.returncode:
            give_up(f"axe-core could not be fetched: {done.stderr[-300:]}")
    return script.read_text(encoding="utf-8")
