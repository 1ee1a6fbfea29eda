"""The tags of source segments in files of translators' tools, and the targets that get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from nmtalign.errors import DataError, OnError
from nmtalign.files.compressed import open_binary
from nmtalign.files.file_signatures import HEAD_BYTES
from nmtalign.files.xml_files import XmlPart, declared_encoding, split_at_elements
from nmtalign.text.xml_bitexts import (
    UNITS,
    ElementPair,
    Unit,
    pairs_of_memory,
    pairs_of_segments,
    texts_of_pair,
    unit_limits,
)


class TaggedSegments:
    """The segments of a TMX or XLIFF file, whose targets can be written with the tags of their sources.

    Read :meth:`pairs` to their end, and call :meth:`set_target` after some of them: `write` gets the parts of
    the file, in which the contents of these targets alone are replaced.
    """

    def __init__(
        self,
        path: str | Path,
        format: str,
        select: tuple[str, str] | None,
        write: Callable[[bytes], object],
    ) -> None:
        self._path, self._format, self._select = path, format, select
        self._encoding = _encoding_of(path)
        self._write = write
        self._part: XmlPart | None = None  # whose targets may be replaced
        self._targets: list[tuple[slice, str]] = []
        self._pair: ElementPair | None = None

    def pairs(self, on_error: OnError) -> Iterator[tuple[str, str]]:
        """Yield the texts of each pair, as `read_bitext` does; damage of the file is raised."""
        read = pairs_of_memory if self._format == "tmx" else pairs_of_segments
        for pair in read(self._units(), self._path, self._select):
            if isinstance(pair, DataError):  # a unit without a source
                self._pair = None
                on_error(pair)
                yield "", ""
            else:
                self._pair = pair
                yield texts_of_pair(pair)

    def _units(self) -> Iterator[Unit]:
        names, head = UNITS[self._format]
        parts = split_at_elements(self._path, names, unit_limits(), root=self._format, head=head)
        for part in parts:
            self._finish_part()
            self._part = part
            if part.element is not None:
                yield part.line, part.element
        self._finish_part()

    def _finish_part(self) -> None:
        if self._part is None:
            return
        parts = [self._part.before]
        position = 0
        for content, target in sorted(self._targets, key=lambda replaced: replaced[0].start):
            parts += self._part.text[position : content.start], target.encode()
            position = content.stop
        parts.append(self._part.text[position:])
        text = b"".join(parts).decode()
        self._write(text.encode(self._encoding, "xmlcharrefreplace"))
        self._part = None
        self._targets.clear()

    @property
    def tagged_source(self) -> str | None:
        """The source of the pair with its tags; None without tags, also if it has comments or CDATA."""
        source = None if self._pair is None else _inside_of_marker(self._pair[0])
        return self._content(0) if source is not None and len(source) else None

    @property
    def plain_target(self) -> str | None:
        """The target of the pair with its line breaks; None if it has tags, or no text."""
        content = self._content(1)
        if content is None or "<" in content or self._pair is None:
            return None
        target = _inside_of_marker(self._pair[1])
        return target.text if target is not None and (target.text or "").strip() else None

    def set_target(self, text: str) -> None:
        """Replace the content of the target of the pair, which is XML."""
        assert self._part is not None
        assert self._pair is not None
        target = _inside_of_marker(self._pair[1])
        assert target is not None
        content = self._part.contents[target]
        if b"\r\n" in self._part.text:  # the parser of XML reads these line ends as plain ones
            text = text.replace("\n", "\r\n")
        self._targets.append((content, text))

    def _content(self, side: int) -> str | None:
        """Return the XML inside of a side of the pair; None without one."""
        element = None if self._pair is None else _inside_of_marker(self._pair[side])
        if element is None or element.tag == "tuv" or self._part is None:
            return None
        return self._part.text[self._part.contents[element]].decode().replace("\r\n", "\n")


def _encoding_of(path: str | Path) -> str:
    with open_binary(path) as file:
        head = file.read(HEAD_BYTES)
    try:
        return declared_encoding(head)
    except DataError as error:
        raise error.at(path, line=1) from None


def _inside_of_marker(side: Element | None) -> Element | None:
    """Return the marked segment that is all of a side, or the side."""
    if side is None or len(side) != 1 or (side.text or "").strip() or (side[0].tail or "").strip():
        return side
    return side[0] if side[0].tag == "mrk" and side[0].get("mtype") == "seg" else side
