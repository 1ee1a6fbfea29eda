"""Records that do not parse: an empty pair replaces each, and a report lists them with the error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from nmtalign.errors import DataError
from nmtalign.text.bitext import SentencePair


class BadRecords:
    """Writes one line for each bad record: the number of the pair, a tab, and what is wrong where.

    Parameters
    ----------
    write : callable
        Takes a line of the report.

    Examples
    --------
    >>> from nmtalign.text.bitext import read_bitext
    >>> import pathlib, tempfile
    >>> report = []
    >>> bad = BadRecords(report.append)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.txt"
    ...     _ = path.write_text("a ||| b\\nno sides\\n", encoding="utf-8")
    ...     list(bad.counted(read_bitext(path, on_error=bad.add)))[1]
    SentencePair(source='', target='')
    >>> report[0].split("\\t")[0], bad.count
    ('2', 1)
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self.count = 0
        self._write = write
        self._read = 0

    def add(self, error: DataError) -> None:
        """Report the record that is being read; give this to ``read_bitext(on_error=...)``."""
        self.count += 1
        self._write(f"{self._read + 1}\t{error}\n")

    def counted(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield the pairs and count them, to know the number of a bad one."""
        for pair in pairs:
            yield pair
            self._read += 1
