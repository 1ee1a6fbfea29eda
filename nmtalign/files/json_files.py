"""JSON that others have written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmtalign.errors import DataError
from nmtalign.files import limits
from nmtalign.files.paths import file_inside
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.files.text_files import is_encodable, read_utf8

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


ObjectHook = Callable[[list[tuple[str, Any]]], Any]  # makes an object of its keys and values


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raise DataError if a key occurs twice, of which a dictionary would keep one value."""
    value = dict(pairs)
    if len(value) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise DataError(f"expected JSON with each key once in an object, found {key[:40]!r} again")
    return value


def parse_json(text: str, *, make_object: ObjectHook = _with_unique_keys) -> Any:
    """Return the value of JSON, whose objects `make_object` makes.

    Raises DataError if it is invalid, too deep, or has an unpaired surrogate; by default, also if an object
    has a key twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=make_object)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON ({error}), found {text[:60]!r}") from None
    if text.count("[") + text.count("{") > limits.MAX_JSON_DEPTH and is_nested_too_deep(value):
        raise DataError(f"expected JSON nested at most {limits.MAX_JSON_DEPTH} deep")
    if _SURROGATE.search(text) and not is_encodable(json.dumps(value, ensure_ascii=False)):
        raise DataError("expected JSON, found an unpaired surrogate, such as \\ud83d alone")
    return value


def is_nested_too_deep(value: Any) -> bool:
    """Return whether lists and objects are nested more than `limits.MAX_JSON_DEPTH` levels deep."""
    level = [value]  # all values at one depth
    for _ in range(limits.MAX_JSON_DEPTH + 1):
        containers = [part for part in level if isinstance(part, dict | list)]
        level = []
        for container in containers:
            level += container.values() if isinstance(container, dict) else container
    return bool(containers)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a small JSON file; raise DataError if it contains anything else."""
    with reraise_as_data_error(path, "expected JSON"):
        value = parse_json(read_utf8(file_inside(path.parent, path.name)))
        if not isinstance(value, dict):
            raise DataError(f"expected a JSON object, found {type(value).__name__}")
    return value
