"""A long run in shards of a fixed number of pairs: finished shards survive an interruption.

The folder of a run holds ``manifest.json`` (what the links depend on), and for shard n the files
``00000n.links`` and so on, with their sizes and hashes in ``00000n.json``. Each file is written under a name
of its own, flushed to the disk, and then renamed; the record is written last. A shard whose files differ from
its record is made again.

Several jobs may fill one folder, each with its own shards: job i of n makes every n-th shard, from the i-th
on. These jobs hold a shared lock of the folder, ``.lock``, and each an exclusive lock of its part,
``.lock-i-of-n``. A run of all shards holds an exclusive lock of the folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, TextIO

from nmtalign.batch.stream import AlignedChunk
from nmtalign.errors import TRANSIENT_ERRNOS, DataError, StoppedError, UsageError, WorkerError, error_text
from nmtalign.files.atomic_output import atomic_file, create_partial_file
from nmtalign.files.checksums import fingerprint
from nmtalign.files.compressed import open_binary
from nmtalign.files.json_files import read_json
from nmtalign.files.paths import file_inside
from nmtalign.files.text_files import open_text
from nmtalign.text.bitext import Chunk, SentencePair, chunk_pairs

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST = "manifest.json"
COPIED_CHARS = 1 << 20  # copied at a time

Text = Callable[[AlignedChunk], str]


class ShardRun(ExitStack):
    """The shards of one run, or of one job of several that share a folder; a context that holds its locks.

    `texts` has a function for each kind of output, by the ending of its files: it returns the text of a
    chunk. A shard has `pairs` pairs, the last one may have fewer; a `part` (i, n) is every n-th shard, from
    the i-th on. The `inputs` must not change during the run.
    """

    def __init__(
        self,
        folder: Path,
        texts: Mapping[str, Text],
        inputs: Sequence[Path],
        *,
        pairs: int,
        part: tuple[int, int],
    ) -> None:
        super().__init__()
        self.folder, self.pairs = folder, pairs
        self.shards = 0  # of the text, as far as it has been read
        self.kept = 0  # those of them that were complete before the run
        self._texts = dict(texts)
        self._inputs = list(inputs)
        self._part = part
        self._stamps = self._stamp()
        self._shard: _Shard | None = None

    def start(self, description: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a run, or `resume` the one in the folder if its description, in JSON, is the same.

        A UsageError says that the folder holds another run or other files, or that another process fills it.
        """
        described = {**description, "pairs_of_a_shard": self.pairs, "outputs": sorted(self._texts)}
        manifest = self.folder / MANIFEST
        self._take_folder(manifest)
        if not manifest.exists():
            _write_json(manifest, described)
            return
        if not resume:
            raise UsageError(f"{self.folder} holds a run; go on with `resume=True` or give another folder")
        recorded = read_json(manifest)
        for name in sorted({*recorded, *described}):
            before, now = recorded.get(name), described.get(name)
            if before != now:
                setting = name.replace("_", " ")
                change = f"{before} there, {now} now"
                raise UsageError(
                    f"{self.folder} holds a run with another {setting}: {change}; give another folder"
                )

    def _take_folder(self, manifest: Path) -> None:
        """Make the folder if need be and lock it, or this part of it."""
        if self.folder.is_dir() and not manifest.exists():
            visible_files = [file for file in self.folder.iterdir() if not file.name.startswith(".")]
            if visible_files:
                raise UsageError(f"{self.folder} holds other files; give a new or an empty folder for shards")
        self.folder.mkdir(parents=True, exist_ok=True)
        i, n = self._part
        is_locked = self._lock(".lock", shared=n > 1)
        if n > 1:
            self._lock(f".lock-{i}-of-{n}")
        elif is_locked:  # no other run writes here
            for partial_file in self.folder.glob(".partial-*"):  # of a run that was killed
                partial_file.unlink()
        self.callback(self._discard)

    def _lock(self, name: str, *, shared: bool = False) -> bool:
        """Lock a file in the folder, and return whether that was possible; raise UsageError if it is locked.

        Other processes may hold a `shared` lock at the same time. The file is made if need be, and stays, as
        other processes may have it open. There are no locks on Windows, in some network folders, and in
        read-only folders.
        """
        if fcntl is None:
            return False
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            file = self.enter_context((self.folder / name).open("ab"))
            fcntl.flock(file, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run is writing into {self.folder}; wait for its end and resume with `resume=True`,"
                " or give another folder"
            ) from None
        except OSError:
            return False
        return True

    def missing(self, pairs: Iterable[SentencePair]) -> Iterator[Chunk]:
        """Yield chunks of the shards of this part that are not complete; no chunk is in two shards."""
        i, n = self._part
        pairs = iter(pairs)
        for number in count():
            shard = islice(pairs, self.pairs)
            first_pair = list(islice(shard, 1))
            if not first_pair:
                return
            self.shards = number + 1
            is_of_this_part = number % n == i - 1
            is_complete = is_of_this_part and is_whole(self.folder, number, self._texts)
            self.kept += is_complete
            if is_of_this_part and not is_complete:
                yield from chunk_pairs(chain(first_pair, shard), first=number * self.pairs + 1)
            else:
                deque(shard, maxlen=0)  # skips the pairs of the shard

    def write(self, chunk: AlignedChunk) -> None:
        """Write the next aligned chunk; the last one of a shard finishes it."""
        if self._shard is None:
            self._shard = _Shard(self.folder, (chunk.first - 1) // self.pairs, self._texts)
        self._shard.write(chunk)
        if self._shard.pairs == self.pairs:
            self.finish()

    def finish(self) -> None:
        """Finish the shard that is being written; call it after the last chunk."""
        if self._shard is not None:
            if self._stamp() != self._stamps:
                raise DataError("the bitext changed while it was being read; start again in another folder")
            self._shard.close()
            self._shard = None

    def assemble(self, kind: str, file: TextIO) -> None:
        """Copy all shards of one kind of output into an open file, in order.

        Raises DataError if the bytes of a shard are not those of its record.
        """
        for number in range(self.shards):
            path = self.folder / _name(number, kind)
            if not is_whole(self.folder, number, [kind]):
                record = _name(number, "json")
                raise DataError(
                    f"expected the bytes that {record} records, found others;"
                    " `resume=True` makes the shard again"
                ).at(path)
            with open_text(path) as shard:
                shutil.copyfileobj(shard, file, COPIED_CHARS)

    def _stamp(self) -> list[tuple[int, int]]:
        """Return size and time of the inputs, which show whether they have changed."""
        return [(stat.st_size, stat.st_mtime_ns) for stat in map(os.stat, self._inputs)]

    def _discard(self) -> None:
        if self._shard is not None:
            self._shard.discard()


class _Shard:
    """The files of one shard while they are written."""

    def __init__(self, folder: Path, number: int, texts: Mapping[str, Text]) -> None:
        self.pairs = 0
        self._links = 0
        self._folder = folder
        self._number = number
        self._texts = texts
        self._paths = {kind: create_partial_file(folder / _name(number, kind)) for kind in texts}
        self._files = {kind: open_binary(path, "w") for kind, path in self._paths.items()}

    def write(self, chunk: AlignedChunk) -> None:
        for kind, text in self._texts.items():
            encoded = text(chunk).encode()
            with self._errors_of(kind):
                self._files[kind].write(encoded)
        self.pairs += len(chunk.batch)
        self._links += len(chunk.batch.source)

    def close(self) -> None:
        """Rename the files, then write the record with their hashes."""
        record: dict[str, Any] = {"pairs": self.pairs, "links": self._links, "files": {}}
        for kind, file in self._files.items():
            with self._errors_of(kind):
                file.flush()
                os.fsync(file.fileno())
                file.close()
            record["files"][kind] = fingerprint(self._paths[kind])
            os.replace(self._paths[kind], self._folder / _name(self._number, kind))
        _write_json(self._folder / _name(self._number, "json"), record)

    @contextmanager
    def _errors_of(self, kind: str) -> Iterator[None]:
        """Let errors of the block name a file as it is called when it is complete."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._folder / _name(self._number, kind))
            raise

    def discard(self) -> None:
        """Remove the files of an unfinished shard."""
        for kind, file in self._files.items():
            with suppress(OSError):  # the disk may be full, or the folder gone
                file.close()
            with suppress(OSError):
                self._paths[kind].unlink(missing_ok=True)


def is_whole(folder: Path, number: int, kinds: Iterable[str]) -> bool:
    """Return whether the files of a shard have the sizes and hashes of its record."""
    try:
        recorded = read_json(folder / _name(number, "json"))["files"]
        for kind in kinds:
            path = file_inside(folder, _name(number, kind))
            if fingerprint(path) != recorded[kind]:
                return False
        return True
    except (ValueError, KeyError, TypeError):
        return False


@contextmanager
def resumable(
    folder: Path,
    *,
    by: tuple[type[BaseException], ...] = (KeyboardInterrupt, OSError, WorkerError),
    again: str = "the same command with `resume=True`",
) -> Iterator[None]:
    """Raise a StoppedError for errors that stop a run from outside; it says what is kept and what goes on.

    Errors of the system that the same command would meet again, such as a missing file, stay as they are.
    """
    try:
        yield
    except by as error:
        if isinstance(error, OSError) and error.errno not in TRANSIENT_ERRNOS:
            raise
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else error_text(error)
        raise StoppedError(f"{why}\nnmtalign: what is done is kept in {folder}; {again} goes on") from None


def _name(number: int, kind: str) -> str:
    return f"{number:06d}.{kind}"


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file that gets its name when it is on the disk."""
    with atomic_file(path) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
