"""What reads the lines of others takes time in proportion to a line, whatever the line repeats."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from nmtalign.applications.markup import parse_markup
from nmtalign.checks.checking import find_all
from nmtalign.dictionaries.entries import phrases_of
from nmtalign.dictionaries.line_dictionaries import _glosses
from nmtalign.errors import NmtalignError
from nmtalign.text.punctuation import edge_marks, unescape_moses
from nmtalign.text.tokenization import load_tokenizer, normal_form

SHORT, LONG = 1_000, 10_000
MIN_SECONDS = 0.02  # what takes less for a long line is not measured
MAX_RATIO = 30  # of the times; 10 is linear, 100 quadratic
REPEATED = [
    *" \t\x00\x85\xa0!\"'()*-./09:;<>@[\\]{|}aA_&#=~",
    *"\xad\xc3\xe9\u0301\u05b0\u0e34\u200d\u2028\u3042\u4e00\ufe0f\ufffd\U0001f1e6\U0001f600\U000e0020",
    *("www.", "http://a", "&amp;", "&#", "a\u0301", "a'", "a-", "1,", "<a", "<a>", "</a>", "(a", "[a]", "a="),
    *("a@b", "\u00c3\u00a9", "1) ", "to ", "|||", "\\n", "a ", "''"),
]
ENTRANCES: dict[str, Callable[[str], object]] = {
    "check": lambda line: find_all([line, "the cat"], ["le chat", line]),
    "tokenizer": load_tokenizer("simple", None).spans,
    "Italian tokenizer": load_tokenizer("simple", "it").spans,
    "normal form": lambda line: normal_form("NFKC", line),
    "escapes": unescape_moses,
    "edges of words": edge_marks,
    "glosses": lambda line: list(phrases_of(f"1. {line} x; y")),
    "glosses in HTML": lambda line: _glosses(f"a\t<b>{line}", ["a"]),
    "HTML": lambda line: parse_markup(line, "html"),
    "XLIFF": lambda line: parse_markup(line, "xliff"),
}


def seconds(run: Callable[[str], object], line: str) -> float:
    start = time.process_time()
    with contextlib.suppress(NmtalignError):
        run(line)
    return time.process_time() - start


@pytest.mark.parametrize("name", ENTRANCES)
def test_time_is_in_proportion_to_the_line(name: str) -> None:
    run = ENTRANCES[name]
    slow = {}
    for repeated in REPEATED:
        short, long = (f"l'a{repeated * (count // len(repeated))} b" for count in (SHORT, LONG))
        run_time = seconds(run, long)
        if run_time > MIN_SECONDS and run_time > MAX_RATIO * seconds(run, short):
            ratio = min(seconds(run, long) for _ in range(3)) / min(seconds(run, short) for _ in range(3))
            if ratio > MAX_RATIO:
                slow[repeated] = ratio
    assert slow == {}
