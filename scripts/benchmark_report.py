"""Measure the HTML report: size, time to write, time to open, and how many pairs are drawn at once.

Needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver) and selenium.

    python scripts/benchmark_report.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from nmtalign.report.html import write_report
from tests.browser.conftest import FLAGS
from tests.report.sample_pairs import corpus

SCROLL = """
const done = arguments[0], gaps = [], end = performance.now() + 3000;
let before = performance.now();
function step(now) {
  gaps.push(now - before);
  before = now;
  window.scrollBy(0, 60);
  if (now < end) requestAnimationFrame(step);
  else done([Math.max(...gaps.slice(1)), gaps.slice(1).reduce((a, b) => a + b) / (gaps.length - 1)]);
}
requestAnimationFrame(step);
"""


def open_browser() -> object:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp()}", "--window-size=1400,900"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def measure(browser: object, folder: str, count: int, length: int) -> str:
    pairs = corpus(count, length, compared=False)
    path = Path(folder, f"{count}x{length}.html")
    start = time.perf_counter()
    write_report(path, pairs)
    written = time.perf_counter() - start
    opened = []
    for _ in range(3):
        browser.get(f"file://{path}")
        opened.append(
            browser.execute_script(
                "const t = performance.timing; return t.domContentLoadedEventEnd - t.navigationStart"
            )
        )
    longest, mean = browser.execute_async_script(SCROLL)
    drawn = browser.execute_script("return document.querySelectorAll('.sentences').length")
    size = path.stat().st_size / 1000
    return (
        f"{count:>6} {length:>6} {size:>9,.0f} kB {written:>7.2f} s {min(opened):>8.0f} ms"
        f" {mean:>8.1f} ms {longest:>8.0f} ms {drawn:>6}"
    )


def main() -> None:
    browser = open_browser()
    print(" pairs  words         size     write       open    frame, mean and longest  drawn")
    with tempfile.TemporaryDirectory() as folder:
        for count, length in ((50, 25), (200, 25), (1000, 25), (1000, 10), (50, 80)):
            print(measure(browser, folder, count, length))
    browser.quit()


if __name__ == "__main__":
    main()
