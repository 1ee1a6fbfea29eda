"""The JavaScript of the report is modules: read by a linter, with types, and run by a browser as they are."""

from __future__ import annotations

import re
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from threading import Thread
from typing import Any

from nmtalign.report.html import REPORT_MODULE, TYPING_MODULE, report_page
from tests.browser.conftest import HERE, wait_until_drawn, wait_until_still
from tests.browser.test_report_page import Open
from tests.report.sample_pairs import corpus
from tests.report.test_modules import ASSETS


def told_by_node(*command: str | Path) -> str:
    done = subprocess.run(["node", *command], cwd=ASSETS, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def test_a_linter_finds_nothing(node_modules: Path) -> None:
    """Among others: every name that a module uses is its own, is imported, or is one of the browser's."""
    program = node_modules / "eslint" / "bin" / "eslint.js"
    assert told_by_node(program, "--max-warnings=0", "--config", HERE / "eslint.config.mjs", ".") == ""


def test_the_modules_have_types(node_modules: Path) -> None:
    """Among others: every name that is imported is exported by the module that is named, and used."""
    options = "--checkJs --allowJs --noEmit --skipLibCheck --noUnusedLocals --target es2022 --module es2022"
    program = node_modules / "typescript" / "bin" / "tsc"
    files = REPORT_MODULE, TYPING_MODULE, HERE / "dom.d.ts"
    assert told_by_node(program, *options.split(), "--moduleResolution", "bundler", *files) == ""


def test_a_browser_runs_the_modules_as_the_page_runs_them_joined(open_report: Open, tmp_path: Path) -> None:
    pairs = corpus(3, 8)
    drawn = "return ['aside', 'main'].map((css) => document.querySelector(css).outerHTML)"
    page = open_report(pairs, beside=True)
    wait_until_still(page)
    joined = page.execute_script(drawn)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", report_page(pairs))
    start, end = text.rindex('<script type="text/plain" id="packed">'), text.rindex("</body>")
    tag = f'<script type="module" src="/{REPORT_MODULE}"></script>'
    site = copytree(ASSETS, tmp_path / "site")
    (site / "index.html").write_text(text[:start] + tag + text[end:], encoding="utf-8")
    assert apart(page, site, drawn) == joined


def apart(page: Any, folder: Path, drawn: str) -> Any:
    """Return what is drawn by the modules when each is fetched from a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        page.get(f"http://127.0.0.1:{server.server_port}/")
        wait_until_drawn(page)
        wait_until_still(page)
        found = page.execute_script(drawn)
        page.get("about:blank")
        server.shutdown()
    return found


class Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # asked for by the browser alone
            self.send_response(204)
            return self.end_headers()
        return super().do_GET()

    def log_message(self, *_: Any) -> None:
        pass
