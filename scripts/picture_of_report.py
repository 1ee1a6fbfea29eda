"""Take the picture of the README: curves and attention weights of one pair, as a report shows them.

Needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver) and selenium.

    python scripts/picture_of_report.py docs/card.png --line 105
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from nmtalign.cli.commands.look import report
from nmtalign.files.paths import bundled_path
from tests.browser.conftest import FLAGS

WINDOW = "--window-size=1400,1000", "--force-device-scale-factor=2", "--hide-scrollbars"


def take(page: Path, picture: Path) -> None:
    """Take the first card of a report."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, *WINDOW, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.get(page.as_uri())
    picture.write_bytes(browser.find_element(By.CSS_SELECTOR, "article").screenshot_as_png)
    browser.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--line", default="105", help="of the shipped sample")
    options = parser.parse_args()
    sample = bundled_path("en_fr_sample")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        texts = [str(sample / f"text.tok.{language}") for language in ("en", "fr")]
        gold = ["--gold", str(sample / "gold.pharaoh"), "--lines", options.line, "-o", str(page)]
        report.main([*texts, *gold], standalone_mode=False)
        take(page, options.picture)


if __name__ == "__main__":
    main()
