"""Open a bilingual dictionary of any known format, which is detected from its content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmtalign.dictionaries.entries import Entry, JumpCount, Record, Unused, Wanted, check_size, every_headword
from nmtalign.dictionaries.indexed_dictionaries import indexed_files, read_indexed
from nmtalign.dictionaries.line_dictionaries import read_lines_of
from nmtalign.dictionaries.xml_dictionaries import read_xml, xml_format
from nmtalign.display import with_plural
from nmtalign.errors import DataError, error_text, warn_caller
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.paths import as_path
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.files.text_files import check_encoding

if TYPE_CHECKING:
    import pandas

_HEAD_BYTES = 1 << 20  # the DTD of JMdict comes before its first element
_STARDICT_INFO = b"StarDict's dict ifo file"


@dataclass(frozen=True)
class DictionaryFile:
    """A dictionary in a file, or in the files of an index and its texts."""

    path: str | Path
    encoding: str = "utf-8"  # the encoding of word lists; other formats have their own

    def check(self) -> None:
        """Raise an error now if there is no such file, before a long text is read."""
        check_encoding(self.encoding)
        path = as_path(self.path)
        if str(path) != "-" and indexed_files(path) is None:
            open_binary(path).close()

    def entries(
        self, wanted: Wanted = every_headword, jumps: list[JumpCount] | None = None
    ) -> Iterator[Entry]:
        """Yield the well-formed entries of wanted headwords; a warning counts the malformed ones.

        The jumps of eflomal's priors are added to `jumps`; a warning counts them if that is None.

        Raises DataError if there are no entries, or half of them or more are malformed: then the file is not
        a dictionary.
        """
        total = malformed = skipped_jumps = 0
        first: DataError | None = None
        with reraise_as_data_error(self.path):
            for record in self._records(wanted):
                if isinstance(record, Unused):
                    total += record.entries
                    continue
                total += 1
                if isinstance(record, JumpCount):
                    skipped_jumps += jumps is None
                    if jumps is not None:
                        jumps.append(record)
                    continue
                if isinstance(record, Entry):
                    record = check_size(record)
                if isinstance(record, Entry):
                    yield record
                elif isinstance(record, DataError):
                    malformed += 1
                    first = record if first is None else first
        if first is not None and 2 * malformed >= total:
            raise first
        if skipped_jumps:
            lines = f"{with_plural(skipped_jumps, 'line')} of jumps (HMMF, HMMR)"
            warn_caller(f"{self.path}: skipped {lines}, which are not word pairs")
        if not total:
            raise DataError("expected a dictionary, found no entries").at(self.path)
        if first is not None:
            found = f"{malformed:,} of {total:,} entries are malformed and were skipped"
            warn_caller(f"{self.path}: {found}, the first: {first}")

    def _records(self, wanted: Wanted) -> Iterator[Record]:
        path = as_path(self.path)
        if str(path) != "-" and (path.is_file() or not path.exists()):
            if (files := indexed_files(path)) is not None:
                return read_indexed(files, wanted)
            head = _head_of(path)
            if head.startswith(_STARDICT_INFO):
                advice = "expected the files .idx and .dict (or .dict.dz) of this dictionary next to it"
                raise DataError(advice)
            if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                chosen = xml_format(head)
                if chosen is not None:
                    return read_xml(path, chosen, wanted)
        return read_lines_of(path, self.encoding, wanted)


def _head_of(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with open_binary(path) as stream:
            return stream.read(_HEAD_BYTES)
    except DECOMPRESSION_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"the compressed file is damaged or truncated ({error_text(error)})") from None


def read_dictionary(path: str | Path, *, encoding: str = "utf-8") -> pandas.DataFrame:
    """Read a bilingual dictionary as ``nmtalign train --prior`` does.

    The format is detected from the content: CC-CEDICT, EDICT and EDICT2, JMdict, dictd, FreeDict's TEI,
    StarDict, Wiktionary extracts in JSON lines, bilingual dictionaries of Apertium, word lists (word,
    translation, and perhaps a weight, between tabs or spaces), and eflomal's priors. Dictionaries of several
    files are named by any of these files.

    Parameters
    ----------
    path : path
        The dictionary; it may be compressed.
    encoding : str
        The encoding of a word list. Other formats have their own.

    Returns
    -------
    pandas.DataFrame
        The columns ``headword``, ``translation`` and ``weight``, with one row for each translation. Glosses
        are split into their translations, without remarks in brackets.

    Raises
    ------
    DataError
        If the file is not a dictionary, or at least half of its entries are malformed.

    Warns
    -----
    NmtalignWarning
        If some entries are malformed: how many, and where the first one is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "cedict.u8"
    >>> _ = path.write_text("貓 猫 [mao1] /cat/to hide (oneself)/", encoding="utf-8")
    >>> print(read_dictionary(path).to_string(index=False))
    headword translation  weight
           貓         cat     1.0
           貓        hide     1.0
           猫         cat     1.0
           猫        hide     1.0
    """
    import pandas

    rows = []
    for entry in DictionaryFile(path, encoding).entries():
        translations = entry.translations
        for headword in entry.headwords:
            rows += [(headword, translation, entry.weight) for translation in translations]
    return pandas.DataFrame(rows, columns=["headword", "translation", "weight"])
