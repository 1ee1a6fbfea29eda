"""Readers of text take time in proportion to a run of one character, wherever it is."""

from __future__ import annotations

import contextlib
import time
import warnings
from pathlib import Path

import pytest

from nmtalign.errors import NmtalignError
from tests.hostile.readers import READERS

SHORT, LONG = 500, 5_000
ENOUGH_SECONDS = 0.025  # of processor time; whoever takes less for a long run is quick enough
MAX_RATIO = 30  # of the time of a long run to that of a short one; ten if it is linear, a hundred if not
PARTS = (
    *("'", '"', ",", ";", ".", ":", "|", "(", ")", "[", "]", "{", "}", "\\", "/", "-", "#", "&", "<", ">"),
    *("\t", "1", "a", " ", "\u0301", "\u00a0", "1,", "<a", "<a>", "<!--", "&#1", "a ", "a\t", '",', "[{"),
)
TEXT_READERS = (
    *("two texts", "fast-align", "tsv", "csv", "jsonl", "tmx", "xliff", "po", "conllu", "subtitles"),
    *("substation", "pharaoh", "talp", "naacl", "giza", "links in tsv", "links in jsonl"),
    *("marian", "fairseq", "opennmt", "nematus", "tags", "annotations in CoNLL-U"),
    *("word2vec", "seed dictionary", "word list", "cedict", "edict", "tabfile", "json words", "wiktionary"),
    *("record", "configuration"),
)


def seconds(name: str, data: bytes, folder: Path) -> float:
    start = time.process_time()
    with warnings.catch_warnings(), contextlib.suppress(NmtalignError):
        warnings.simplefilter("ignore")
        READERS[name](data, folder)
    return time.process_time() - start


@pytest.mark.parametrize("name", TEXT_READERS)
def test_a_run_of_a_character_is_read_in_linear_time(name: str, tmp_path: Path) -> None:
    READERS[name].beside(tmp_path)
    sample = READERS[name].samples[0]
    places = {0, len(sample) // 2, len(sample) * 4 // 5}
    for part in PARTS:
        for place in places:

            def data(count: int, part: str = part, place: int = place) -> bytes:
                return sample[:place] + (part * count).encode() + b"x" + sample[place:]

            first = seconds(name, data(LONG), tmp_path)
            is_long = first > ENOUGH_SECONDS
            if is_long and first > MAX_RATIO * seconds(name, data(SHORT), tmp_path):
                long = min(first, seconds(name, data(LONG), tmp_path))
                short = min(seconds(name, data(SHORT), tmp_path) for _ in range(2))
                assert long < max(ENOUGH_SECONDS, MAX_RATIO * short), f"{part!r} at {place}: {long} s"
