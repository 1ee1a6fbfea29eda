"""Sentence pairs for the tests of the report, with weights that look like those of an aligner."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, Link
from nmtalign.report.page_content import SamplePair

DESCRIPTION = "score=cosine extract=mutual threshold=0.2"


def pair_to_explain() -> AlignedPair:
    """Return a pair with all kinds of links, whose weights a page stores exactly."""
    source, target = ("the", "cat", "was", "black"), ("le", "chat", "noir", "a", "été", ".")
    posterior = [[1, 0, 0, 0], [0, 0.6, 0, 0], [0, 0.4, 0, 0], [0, 0, 0.2, 0], [0, 0, 1, 0], [0.2, 0, 0, 0.6]]
    forward = [[1, 0, 0, 0], [0.2, 0.6, 0, 0], [0, 0.6, 0, 0.2], [0, 0, 0.2, 0], [0, 0, 1, 0], [0, 0, 0, 0.6]]
    reverse = [[1, 0, 0, 0], [0, 0.4, 0, 0], [0, 0.2, 0, 0], [0, 0, 0, 0], [0, 0.2, 1, 0.2], [0, 0, 0, 0.8]]
    links = {(0, 0): 1.0, (1, 1): 0.7, (1, 2): 0.5, (2, 4): 0.95, (3, 5): 0.6}
    return AlignedPair(
        alignment=Alignment(links, len(source), len(target)),
        matrix=AlignmentMatrix(np.array(posterior), source, target),
        forward=np.array(forward),
        reverse=np.array(reverse),
        probabilities={Link(s, t): probability for (s, t), probability in links.items()},
        extraction="posterior",
        threshold=0.6,
        second=0.6,
        languages=("en", "fr"),
    )


_SURE = {(0, 0), (1, 1), (2, 3), (2, 4), (3, 2)}
GOLD_TO_EXPLAIN = GoldAlignment(_SURE, {*_SURE, (1, 2)})


def inflated(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def data_of(page: str) -> dict[str, Any]:
    """Return what the script of a page draws, with the pairs in rows as `report_data` returns them."""
    data: dict[str, Any] = json.loads(inflated(_text_of(page, "data")))
    levels = inflated(_text_of(page, "weights"))
    return data | {"pairs": rows_of(data["pairs"], levels), "levels": levels}


def _text_of(page: str, name: str) -> str:
    found = re.search(rf'<script type="text/plain" id="{name}">([A-Za-z0-9+/=]*)</script>', page)
    assert found
    return found[1]


def words_of(text: str | None) -> list[str]:
    return [] if text is None else text.split("\n")


def rows_of(columns: dict[str, list[Any]], levels: bytes) -> list[dict[str, Any]]:
    """Make rows of columns the way the script does."""
    rows: list[dict[str, Any]] = []
    for values in zip(*columns.values(), strict=True):
        column = dict(zip(columns, values, strict=True))
        row = {"s": words_of(column["s"]), "t": words_of(column["t"])}
        row["l"] = np.transpose([column.pop("ls"), column.pop("lt"), column.pop("lp")]).ravel().tolist()
        rows.append(row | {key: value for key, value in column.items() if key not in row})
    at = 0
    for view in dict.fromkeys(view for row in rows for view in row["m"]):
        for row in rows:
            if view in row["m"]:
                row["m"][view].append(at)
                at += len(row["s"]) * len(row["t"])
    for key, side in (("nt", "t"), ("ns", "s")):
        for row in rows:
            size = len(row[side])
            known = row[key]
            row[key] = [1000 * level / 255 for level in levels[at : at + size]] if known else None
            at += size if known else 0
    assert at == len(levels)
    for row in rows:
        for key, view, nulls in (("bf", "forward", row["nt"]), ("br", "reverse", row["ns"])):
            low, high, start = row["m"].get(view, row["m"]["combined"])
            shape = len(row["t"]), len(row["s"])
            cells = np.array(list(levels[start : start + np.prod(shape)]), float).reshape(shape)
            words = cells if key == "bf" else cells.T
            best = [int(word.argmax()) if word.size else -1 for word in words]
            for n, null in enumerate(nulls or ()):
                if null / 1000 > low + (high - low) * words[n].max(initial=-1) / 255:
                    best[n] = -1
            hidden = row[key]
            for n, partner in zip(hidden[::2], hidden[1::2], strict=True):
                best[n] = partner
            row[key] = best
    return rows


def content_of(page: Path) -> str:
    """Return what the script of a written page draws, as JSON."""
    data = data_of(page.read_text(encoding="utf-8"))
    del data["levels"]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def aligned_pair(source: list[str], target: list[str], *, seed: int = 0) -> AlignedPair:
    """Return a pair that is aligned about word by word, with a null word in both directions."""
    random = np.random.default_rng(seed)
    S, T = len(source), len(target)
    scores = random.gumbel(size=(T, S)) - 30 * np.abs(np.subtract.outer(np.arange(T) / T, np.arange(S) / S))
    weights = np.exp(scores - scores.max(initial=0))  # (T, S)
    forward = weights / (weights.sum(axis=1, keepdims=True) + 0.02)
    reverse = weights / (weights.sum(axis=0, keepdims=True) + 0.02)
    joint = np.sqrt(forward * reverse)
    chosen = (
        (forward == forward.max(axis=1, keepdims=True)) & (reverse == reverse.max(axis=0)) & (joint > 0.2)
    )
    alignment = Alignment.from_matrix(chosen)
    return AlignedPair(
        alignment,
        AlignmentMatrix(joint, tuple(source), tuple(target)),
        forward=forward,
        reverse=reverse,
        probabilities={link: float(joint[link.target, link.source]) for link in alignment.links},
        score=float(2 * joint[chosen].sum() / (S + T)),
        description=DESCRIPTION,
        extraction="mutual",
        threshold=0.2,
    )


def corpus(count: int, length: int, *, seed: int = 0, compared: bool = True) -> list[SamplePair]:
    """Return `count` pairs of `length` made-up words with gold and, if asked for, another system."""
    random = np.random.default_rng(seed)
    syllables = ["ka", "lo", "mi", "ren", "tu", "sol", "va", "ne"]
    words = ["".join(random.choice(syllables, 1 + n % 3)) for n in range(400)]
    pairs = []
    for number in range(1, count + 1):
        source, target = ([words[i] for i in random.integers(0, 400, length)] for _ in range(2))
        aligned = aligned_pair(source, target, seed=number)
        links = sorted(aligned.alignment.links)
        sure = frozenset({*links[1:], Link(0, length - 1)})
        gold = GoldAlignment(sure, sure | {Link(length - 1, 0)})
        other = Alignment(frozenset(links[:-1]) | {Link(0, 0)}, length, length)
        pairs.append(SamplePair(number, aligned, gold, {"other": other} if compared else {}))
    return pairs


CAT = SamplePair(
    17,
    AlignedPair(
        Alignment(frozenset({(0, 0), (1, 2), (2, 1)}), 4, 4),
        AlignmentMatrix(
            np.array([[0.9, 0, 0, 0.05], [0, 0.04, 0.8, 0.1], [0, 0.7, 0.1, 0], [0.1, 0.2, 0, 0.15]]),
            ("the", "black", "cat", "sleeps"),
            ("le", "chat", "noir", "dort"),
            (frozenset({3}), frozenset()),
        ),
        forward=np.array([[0.9, 0, 0, 0.1], [0, 0.05, 0.85, 0.1], [0, 0.8, 0.1, 0], [0.05, 0.25, 0, 0.2]]),
        reverse=np.array([[0.9, 0, 0, 0.02], [0, 0.03, 0.8, 0.1], [0, 0.7, 0.1, 0], [0.1, 0.2, 0, 0.1]]),
        probabilities={Link(0, 0): 0.9, Link(1, 2): 0.748, Link(2, 1): 0.825},
        score=0.618,
        description=DESCRIPTION,
        extraction="mutual",
        threshold=0.2,
    ),
    GoldAlignment(frozenset({(0, 0), (1, 2), (3, 3)}), frozenset({(0, 0), (1, 2), (3, 3)})),
    {"other": Alignment(frozenset({(0, 0), (2, 1), (3, 3)}), 4, 4)},
)

CAT_ALONE = replace(CAT, others={})  # its page draws one panel, where that of CAT begins with two

HOSTILE_WORDS = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img/src=x/onerror=window.hacked=3>",
    "<!--",
    "-->",
    "]]>",
    '"onmouseover="window.hacked=4',
    "'",
    "&lt;b&gt;",
    "javascript:window.hacked=5",
    "${window.hacked=6}",
    "{{window.hacked=7}}",
    "\\u003c",
    "nul\0nul",
    "\u202eright-to-left\u202c",
    "\u2066isolate",
    "line\u2028end",
    "\u0085",
    "__proto__",
    "constructor",
    "\ufeffmark",
    "bell\x07",
    "",
]
