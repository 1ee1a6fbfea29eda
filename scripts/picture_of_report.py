"""Take the pictures of the README: the card of one pair with a word that is kept, light and dark.

Needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver) and selenium.

    python scripts/picture_of_report.py docs/card.png docs/card_dark.png
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from nmtalign.cli.commands.report_command import report_command
from nmtalign.files.paths import bundled_path
from tests.browser.conftest import FLAGS

WINDOW = "--window-size=1560,1400", "--force-device-scale-factor=2", "--hide-scrollbars"
KEEP_WORD = "document.querySelector('.target .token[data-at=\"{}\"]').click()"
NO_POINTER = "document.querySelector('.sentences').dispatchEvent(new PointerEvent('pointerleave'))"


def take(page: Path, picture: Path, *, theme: str, word: int) -> None:
    """Take the first card of a report, in which a target word is kept."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, *WINDOW, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.get(f"{page.as_uri()}#theme={theme}")
    browser.execute_script(KEEP_WORD.format(word))
    browser.execute_script(NO_POINTER)
    picture.write_bytes(browser.find_element(By.CSS_SELECTOR, "article").screenshot_as_png)
    browser.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("light", type=Path)
    parser.add_argument("dark", type=Path)
    parser.add_argument("--line", default="1", help="of the bundled sample")
    parser.add_argument("--word", type=int, default=7, help="position of the target word that is kept")
    options = parser.parse_args()
    sample = bundled_path("en_fr_sample")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        texts = [str(sample / f"text.tok.{language}") for language in ("en", "fr")]
        gold = ["--gold", str(sample / "gold.pharaoh"), "--lines", options.line, "-o", str(page)]
        report_command.main([*texts, *gold], standalone_mode=False)
        take(page, options.light, theme="light", word=options.word)
        take(page, options.dark, theme="dark", word=options.word)


if __name__ == "__main__":
    main()
