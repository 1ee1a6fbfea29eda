"""An archive of aligned pairs with their attention, as ``links-from`` writes it and pictures show it.

For pair N there are the arrays ``pair-N`` (forward), ``reverse-N`` and ``combined-N`` (T, S), ``links-N``
(L, 2) and ``probabilities-N`` (L), with several heads ``heads-N`` (H, T, S), and ``about-N``, the bytes of a
JSON object with lines, words and settings.

Axes: T target words, S source words, H heads, L links.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Reals, check_stored_array, check_stored_number
from nmtalign.display import short_repr
from nmtalign.errors import DataError
from nmtalign.files.array_files import NpzReader, NpzWriter, is_npz_file, sort_by_trailing_number
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.files.text_files import parse_json
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, Link
from nmtalign.names import SUBWORD_MARKS, SubwordMarks
from nmtalign.validation import check_choice

ABOUT = "about"
_SETTINGS = ("score", "description", "extraction", "threshold", "second", "default_values")


class GivenPair(NamedTuple):
    """A sentence pair with the attention of another program."""

    lines: tuple[str, str]
    pair: AlignedPair
    heads: Mapping[str, Reals]  # the attention (T, S) of each head by its name; none if there is one
    pieces: SubwordMarks | None = None  # the marks of sub-words that were joined into words


def write_pair(archive: NpzWriter, number: int, given: GivenPair) -> None:
    """Write a pair into an archive; pairs count from 1."""
    pair = given.pair
    links = pair.links
    about = {
        "lines": list(given.lines),
        "words": [list(side) for side in pair.tokens],
        "unknown": None if pair.matrix.unknown is None else [sorted(side) for side in pair.matrix.unknown],
        "heads": list(given.heads),
        "pieces": given.pieces,
        **{name: getattr(pair, name) for name in _SETTINGS},
    }
    text = json.dumps(about, ensure_ascii=False)
    archive.write(f"{ABOUT}-{number}", np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8))
    archive.write(f"pair-{number}", pair.forward)
    archive.write(f"reverse-{number}", pair.reverse)
    archive.write(f"combined-{number}", pair.posterior)
    archive.write(f"links-{number}", np.array(links, np.int64).reshape(-1, 2))
    archive.write(f"probabilities-{number}", np.array([pair.probability(link) for link in links], np.float64))
    if given.heads:
        archive.write(f"heads-{number}", np.stack([np.asarray(head) for head in given.heads.values()]))


def is_attention_archive(path: str | Path) -> bool:
    """Return whether a file is an archive of pairs with their attention."""
    if not is_npz_file(path):
        return False
    with NpzReader(path) as archive:
        return any(name.startswith(f"{ABOUT}-") for name in archive.names)


def read_pairs_with_attention(path: str | Path) -> Generator[GivenPair]:
    """Yield the pairs of an archive; DataError if a file is not what ``links-from --attention`` writes."""
    with NpzReader(path) as archive:
        names = [name for name in archive.names if name.startswith(f"{ABOUT}-")]
        if archive.names and not names:
            expected = "expected an archive that `nmtalign links-from --attention FILE` has written"
            raise DataError(f"{expected}, found arrays without words and links").at(path)
        for name in sort_by_trailing_number(names, path):
            number = name.rpartition("-")[2]
            with reraise_as_data_error(f"{path}, pair {number}"):
                yield _read_pair(archive, number)


def _read_pair(archive: NpzReader, number: str) -> GivenPair:
    about = parse_json(archive.read(f"{ABOUT}-{number}").tobytes().decode("utf-8"))
    if not isinstance(about, dict):
        raise DataError(f"expected an object as {ABOUT}-{number}, found {short_repr(about)}")
    source, target = (tuple(side) for side in about["words"])
    lines = about["lines"]
    unknown: Any = about["unknown"]
    if unknown is not None:
        unknown = frozenset(unknown[0]), frozenset(unknown[1])
    links = [Link(s, t) for s, t in archive.read(f"links-{number}").tolist()]
    probabilities = check_stored_array(
        archive.read(f"probabilities-{number}"), "f", (len(links),), name=f"probabilities-{number}"
    )
    if about["score"] is not None:
        check_stored_number(about["score"], name="score")
    heads = archive.read(f"heads-{number}") if about["heads"] else ()
    shape = len(target), len(source)
    forward = archive.read(f"pair-{number}")
    reverse = archive.read(f"reverse-{number}")
    if any(weights.shape != shape for weights in (forward, reverse, *heads)):
        raise DataError(f"expected attention of shape (T, S) = {shape}")
    pair = AlignedPair(
        Alignment(links, len(source), len(target)),
        AlignmentMatrix(archive.read(f"combined-{number}"), source, target, unknown),
        forward=forward,
        reverse=reverse,
        probabilities=dict(zip(links, probabilities.tolist(), strict=True)),
        **{name: about[name] for name in _SETTINGS},
    )
    if about["pieces"] is not None:
        check_choice(about["pieces"], SUBWORD_MARKS, "marks of sub-words")
    return GivenPair(
        (lines[0], lines[1]), pair, dict(zip(about["heads"], heads, strict=True)), about["pieces"]
    )
