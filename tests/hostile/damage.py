"""Ways to damage a good file: blind ones, words out of all proportion, and wrong values in JSON."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmtalign.errors import NmtalignError
from tests.hostile.readers import Reader

# What is put in the place of a number, or of any byte.
STRANGE = (
    *(b"-1", b"9" * 25, b"9" * 5000, b"1e999", b"NaN", b"\xff", b"\0", b"\xed\xa0\x80", b"\xe2\x80\xa8"),
    *(b"\x1b[2J", b"\\ud800", b'"', b"[" * 3000, b"{" * 3000, b"../../x", b" ", b"\r", b"|||"),
)
WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**6, 2**63, 10**400, 0.5, -1e308, float("inf"), float("nan")),
    *("", "../../x", "/dev/zero", "\x1b[2J", [], [[]], {}, {"a": []}),
)


def damaged(data: bytes, seed: int) -> bytes:
    """Return a file with one to three of the damages that a seed chooses."""
    chosen = random.Random(seed)
    for _ in range(chosen.randint(1, 3)):
        place, size = chosen.randrange(len(data) + 1), chosen.choice((1, 2, 4, 8, 64))
        numbers = [match.span() for match in re.finditer(rb"\d+", data[:4096])]
        kind = chosen.randrange(7)
        if kind == 0:
            data = data[:place]
        elif kind == 1:
            data = data[:place] + bytes([chosen.randrange(256)]) + data[place + 1 :]
        elif kind == 2:
            data = data[:place] + chosen.choice((b"\xff", b"\0", b"\x7f")) * size + data[place + size :]
        elif kind == 3:
            data = data[:place] + data[place + size :]
        elif kind == 4:
            data = data[:place] + data[max(0, place - size) :]
        elif kind == 5 and numbers:
            start, end = chosen.choice(numbers)
            data = data[:start] + chosen.choice(STRANGE) + data[end:]
        else:
            data = data[:place] + chosen.choice(STRANGE) + data[place:]
    return data


def wrong_values(data: bytes) -> Iterator[bytes]:
    """Yield a JSON file with each value taken out, and with something else in its place."""
    content = json.loads(data)
    for holder, key in list(_places(content)):
        right = holder[key]
        for value in WRONG:
            if repr(value) != repr(right):
                holder[key] = value
                yield json.dumps(content).encode()
        holder[key] = right
        if isinstance(holder, dict):
            del holder[key]
            yield json.dumps(content).encode()
            holder[key] = right


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(min(len(value), 2)):
            yield value, key
            yield from _places(value[key])


def check(reader: Reader, data: bytes, folder: Path) -> str:
    """Read a file that may be damaged; return its error, which has to be one of ours that names the place."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            reader(data, folder)
        except NmtalignError as error:
            text = str(error)
            assert str(folder) in text or not reader.named, f"no place: {text[:300]}"
            return text
        except FileNotFoundError as error:
            return error.filename
    return ""
