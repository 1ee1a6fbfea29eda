"""Checksums of files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size of a file and the SHA-256 of its bytes."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}
