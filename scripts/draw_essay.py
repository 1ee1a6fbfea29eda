"""For README.md: the first figure of the essay (docs/essay.md) as an animation.

    python scripts/draw_essay.py

Writes docs/essay/essay.gif: one picture for each step of the slider, taken by Chromium (Debian's packages
chromium and chromium-driver, and the package selenium).
"""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "essay"
SHEET = FOLDER.parents[1] / "nmtalign" / "report" / "assets" / "card.css"
WIDTH = 800
COLORS = 96
MILLISECONDS = 1300
LAST_MILLISECONDS = 3000


def page_of_figures(folder: Path, theme: str = "light") -> Path:
    """Write a page with the figures alone in a theme of the docs, and return its path."""
    colors = ";".join(re.findall(r"--\w+: light-dark\(.*?\)(?=;)", SHEET.read_text(encoding="utf-8")))
    scripts = "".join(
        f'<script src="{(FOLDER / name).as_uri()}"></script>' for name in ("recorded.js", "essay.js")
    )
    page = folder / "essay.html"
    page.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Essay</title>'
        f"<style>.essay {{{colors}}} body {{margin: 8px; font-family: sans-serif}}</style>"
        f'<link rel="stylesheet" href="{(FOLDER / "essay.css").as_uri()}">'
        f'<body data-theme="{theme}"><main><figure class="essay" id="learning"></figure>'
        '<p><a href="#learning" data-step="9">step 9</a></p>'
        f'<figure class="essay" id="attention"></figure></main>{scripts}',
        encoding="utf-8",
    )
    return page


def main() -> None:
    from PIL import Image
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-prefers-reduced-motion",
    ):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.set_window_size(WIDTH, 900)
    frames = []
    with tempfile.TemporaryDirectory() as folder:
        browser.get(page_of_figures(Path(folder)).as_uri())
        slider = browser.find_element(By.CSS_SELECTOR, "#learning input")
        browser.execute_script("document.querySelector('#learning button').remove()")
        for step in range(int(str(slider.get_attribute("max"))) + 1):
            set_step = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
            browser.execute_script(set_step, slider, step)
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            bottom = browser.find_element(By.CSS_SELECTOR, "#learning .words").rect
            frames.append(picture.crop((0, 0, WIDTH, round(bottom["y"] + bottom["height"]) + 10)))
    browser.quit()
    # the colors of thin curves are in the palette as if they filled a frame
    height = frames[0].height
    light = [
        pair.split(",")[0] for pair in re.findall(r"light-dark\((.*?)\)", SHEET.read_text(encoding="utf-8"))
    ]
    to_keep = [*frames, *[Image.new("RGB", (WIDTH, height), color) for color in dict.fromkeys(light)]]
    all_frames = Image.new("RGB", (WIDTH, height * len(to_keep)))
    for n, frame in enumerate(to_keep):
        all_frames.paste(frame, (0, n * height))
    palette = all_frames.quantize(COLORS)
    first, *others = [frame.quantize(COLORS, palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MILLISECONDS] * len(others) + [LAST_MILLISECONDS]
    file = FOLDER / "essay.gif"
    first.save(file, save_all=True, append_images=others, duration=times, loop=0, optimize=True)
    print(f"{file}: {file.stat().st_size:,} bytes, {len(frames)} pictures")


if __name__ == "__main__":
    main()
