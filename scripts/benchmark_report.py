"""For docs/tutorials/reading_a_report.md: a report of many pairs: CPU seconds, bytes, and its readers.

The pairs are those of Hansard, laws and talks, aligned by the shipped model. With --europarl they are German
and English pairs of Europarl, aligned by a model that is learned from them before. Needs chromium and
chromedriver (Debian: apt-get install chromium chromium-driver) and selenium, but not with --only-write.

    python scripts/benchmark_report.py --pairs 10000
    python scripts/benchmark_report.py --pairs 10000 --europarl --only-write
    python scripts/benchmark_report.py --pairs 200 --pages
"""

from __future__ import annotations

import argparse
import base64
import re
import shutil
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from _corpora import TEXTS, Pairs, normalized, read_pairs, sampled, write_text

from nmtalign.cli.commands.report_command import report_command
from nmtalign.cli.commands.train_command import train_command
from tests.browser.conftest import FLAGS

BY_VALUE = "const node = document.querySelector('{}'); node.value = '{}'; node.dispatchEvent(new Event('{}'))"
KEY = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'KEY', bubbles: true }))"
ACTIONS = {
    "sort by score": "document.querySelector('#index th[data-key=score] button').click()",
    "sort by sentence": "document.querySelector('#index th[data-key=text] button').click()",
    "search for the first time": BY_VALUE.format("#search", "people", "input"),
    "search again": BY_VALUE.format("#search", "the", "input"),
    "show all": BY_VALUE.format("#search", "", "input"),
    "translations of a word": BY_VALUE.format("#concordance-words", "people", "change"),
    "other weights": BY_VALUE.format("[data-key=view]", "forward", "change"),
    "without matrices": "document.querySelector('[data-key=matrices]').click()",
    "edit links": "document.querySelector('.edit').click()",
    "dark": "document.getElementById('theme').click()",
    "go to the last pair": "location.hash = 'pair-LAST'",
    "End": KEY.replace("KEY", "End"),
    "Home": KEY.replace("KEY", "Home"),
}
A4_INCHES = {"paperWidth": 8.27, "paperHeight": 11.69}
TIMED = """
    const done = arguments[0], paused = window.setTimeout;
    window.setTimeout = (act, pause) => paused(act, 0);  // typing is not waited for
    const start = performance.now();
    ACTION;
    window.setTimeout = paused;
    setTimeout(() => requestAnimationFrame(() => setTimeout(() => {
      const { scrollY: y, innerHeight: h } = window;
      done([(performance.now() - start) / 1000, y, document.documentElement.scrollHeight - h - y]);
    })));"""


def browser() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, "--window-size=1600,1000", f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def use(page: Path, last: int) -> None:
    """Do in a browser what readers do, and print how long the browser is busy with each."""
    driver = browser()
    start = time.perf_counter()
    driver.get(page.as_uri())
    while not driver.execute_script("return document.documentElement.dataset.ready === ''"):
        time.sleep(0.02)
    print(f"open: {time.perf_counter() - start:.2f} s")
    for name, act in ACTIONS.items():
        script = TIMED.replace("ACTION", act).replace("LAST", str(last))
        seconds, above, below = driver.execute_async_script(script)
        told = f", {above:,.0f} pixels above, {below:,.0f} below" if name in ("End", "Home") else ""
        print(f"{name}: {seconds:.2f} s{told}")
    driver.quit()


def english_french(data: Path) -> Pairs:
    texts = [read_pairs(data / "bitext" / name, "train", ("en", "fr")) for name in TEXTS]
    return normalized(list(chain(*texts)))


def write(folder: Path, pairs: Pairs, *, learn: bool) -> Path:
    """Write a report of all pairs, and print what it takes; with `learn`, by a model of their own."""
    write_text(folder, pairs)
    page = folder / "report.html"
    sides = [str(folder / "src"), str(folder / "tgt")]
    model: list[str] = []
    if learn:
        model = ["--model", str(folder / "model")]
        train_command.main([*sides, "-o", model[1]], standalone_mode=False)
    start = time.process_time()
    report_command.main([*sides, *model, "--sample", str(len(pairs)), "-o", str(page)], standalone_mode=False)
    seconds = time.process_time() - start
    print(f"write: {len(pairs):,} pairs, {seconds:.1f} CPU s, {page.stat().st_size / 1e6:.1f} MB")
    return page


def count_pages(page: Path) -> int:
    """Print a report to a PDF file of A4 pages, and return how many it has; print what this takes."""
    driver = browser()
    driver.get(page.as_uri())
    while not driver.execute_script("return document.documentElement.dataset.ready === ''"):
        time.sleep(0.02)
    start = time.perf_counter()
    printed = driver.execute_cdp_cmd("Page.printToPDF", A4_INCHES)
    seconds = time.perf_counter() - start
    driver.quit()
    pdf = base64.b64decode(printed["data"])
    print(f"print: {seconds:.0f} s, {len(pdf) / 1e6:.1f} MB")
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--europarl", action="store_true", help="German and English pairs")
    parser.add_argument("--only-write", action="store_true", help="without a browser")
    parser.add_argument("--pages", action="store_true", help="count the pages of a print instead")
    options = parser.parse_args()
    if options.europarl:
        pairs = normalized(read_pairs(options.data / "bitext" / "europarl_deen", "train", ("de", "en")))
    else:
        pairs = english_french(options.data)
    with tempfile.TemporaryDirectory() as folder:
        page = write(Path(folder), sampled(pairs, options.pairs), learn=options.europarl)
        if options.pages:
            print(f"print: {count_pages(page)} pages")
        elif not options.only_write:
            use(page, options.pairs)


if __name__ == "__main__":
    main()
