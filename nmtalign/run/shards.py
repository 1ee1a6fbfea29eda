"""A long run in shards of a fixed number of pairs: finished shards survive an interruption.

The folder of a run contains ``manifest.json`` (what the links depend on), and for shard n the files
``00000n.links`` and so on, with their sizes and hashes in ``00000n.json``. Each file is written under a name
of its own, flushed to the disk, and then renamed; the record is written last. A shard whose files differ from
its record is made again. Several jobs may fill one folder, each with its own shards: they
share the lock of the folder, ``.lock``, and each holds that of its part. A run of all shards holds the folder
alone.
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

from nmtalign.errors import TRANSIENT_ERRNOS, DataError, StoppedError, UsageError, WorkerError, error_text
from nmtalign.files.atomic_output import atomic_file, create_partial_file
from nmtalign.files.compressed import open_binary
from nmtalign.files.paths import file_inside, fingerprint
from nmtalign.files.text_files import open_text, read_json
from nmtalign.run.stream import AlignedChunk
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import Chunk, chunk_pairs

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MANIFEST_FILE = "manifest.json"
_CHARS_PER_COPY = 1 << 20

ChunkFormatter = Callable[[AlignedChunk], str]


class ShardRun(ExitStack):
    """The shards of one run, or of one job of several that share a folder; a context that holds its locks.

    `formatters` maps the ending of the files of an output to the function that formats a chunk of it. A shard
    has `pairs` pairs, the last one may have fewer. A `part` (i, n) is every n-th shard, starting with the
    i-th. The `inputs` may not change during the run.
    """

    def __init__(
        self,
        folder: Path,
        formatters: Mapping[str, ChunkFormatter],
        inputs: Sequence[Path],
        *,
        pairs: int,
        part: tuple[int, int],
    ) -> None:
        super().__init__()
        self.folder = folder
        self.pairs = pairs
        self.shards = self.kept = 0  # shards of the text as far as it is read; those found done
        self._formatters = dict(formatters)
        self._inputs = list(inputs)
        self._part = part
        self._stamps = self._stamp()
        self._shard: _Shard | None = None

    def start(self, description: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a run, or `resume` the one in the folder if its description, in JSON, is the same.

        A UsageError says that the folder contains another run or other files, or that another process fills
        it.
        """
        described = {**description, "pairs_of_a_shard": self.pairs, "outputs": sorted(self._formatters)}
        manifest = self.folder / MANIFEST_FILE
        self._take_folder(manifest)
        if not manifest.exists():
            _write_json(manifest, described)
            return
        if not resume:
            advice = "continue it with `resume=True`, or choose another folder"
            raise UsageError(f"{self.folder} already contains a run; {advice}")
        older = read_json(manifest)
        for name in sorted({*older, *described}):
            if older.get(name) != described.get(name):
                setting = name.replace("_", " ")
                change = f"it was {older.get(name)}, now it is {described.get(name)}"
                problem = f"{self.folder} contains a run with a different {setting}: {change}"
                raise UsageError(f"{problem}; choose another folder")

    def _take_folder(self, manifest: Path) -> None:
        """Make the folder if need be and lock it, or this part of it."""
        files = self.folder.iterdir() if self.folder.is_dir() and not manifest.exists() else ()
        if any(file.name[0] != "." for file in files):
            advice = "choose a new or empty folder for the shards"
            raise UsageError(f"{self.folder} contains other files; {advice}")
        self.folder.mkdir(parents=True, exist_ok=True)
        i, n = self._part
        alone = self._lock(".lock", shared=n > 1)
        if n > 1:
            self._lock(f".lock-{i}-of-{n}")
        elif alone:
            for left in self.folder.glob(".partial-*"):  # by a run that was killed
                left.unlink()
        self.callback(self._discard)

    def _lock(self, name: str, *, shared: bool = False) -> bool:
        """Lock a file in the folder; the file is made if need be and stays, as others may have it open.

        Others may hold a `shared` lock at the same time; a UsageError says that another run holds the lock.
        False where there are no locks: on Windows, in some network folders, in a folder that is only read.
        """
        if fcntl is None:
            return False
        try:
            file = self.enter_context((self.folder / name).open("ab"))
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run is writing to {self.folder}; wait until it ends and add `resume=True`,"
                " or choose another folder"
            ) from None
        except OSError:
            return False
        return True

    def missing(self, pairs: Iterable[SentencePair]) -> Iterator[Chunk]:
        """Yield chunks of those shards that are of this part and are not done; no chunk is in two shards."""
        pairs = iter(pairs)
        for number in count():
            shard = islice(pairs, self.pairs)
            head = list(islice(shard, 1))
            if not head:
                return
            self.shards = number + 1
            if self._wanted(number):
                yield from chunk_pairs(chain(head, shard), first=number * self.pairs)
            else:
                deque(shard, maxlen=0)

    def _wanted(self, number: int) -> bool:
        i, n = self._part
        if number % n != i - 1:
            return False
        done = is_shard_complete(self.folder, number, self._formatters)
        self.kept += done
        return not done

    def write(self, chunk: AlignedChunk) -> None:
        """Write the next aligned chunk; the last one of a shard finishes it."""
        if self._shard is None:
            self._shard = _Shard(self.folder, chunk.first // self.pairs, self._formatters)
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
        """Copy all shards of one kind of output into an open file, in order; they must be as recorded."""
        for number in range(self.shards):
            path = self.folder / _shard_file_name(number, kind)
            if not is_shard_complete(self.folder, number, [kind]):
                record = _shard_file_name(number, "json")
                problem = f"the file does not match its hash in {record}"
                raise DataError(f"{problem}; `resume=True` writes the shard again").at(path)
            with open_text(path) as shard:
                shutil.copyfileobj(shard, file, _CHARS_PER_COPY)

    def _stamp(self) -> list[tuple[int, int]]:
        return [(stat.st_size, stat.st_mtime_ns) for stat in map(os.stat, self._inputs)]

    def _discard(self) -> None:
        if self._shard is not None:
            self._shard.discard()


class _Shard:
    """The files of one shard while they are written."""

    def __init__(self, folder: Path, number: int, formatters: Mapping[str, ChunkFormatter]) -> None:
        self.pairs = self._links = 0
        self._folder = folder
        self._number = number
        self._formatters = formatters
        self._paths = {
            kind: create_partial_file(folder / _shard_file_name(number, kind)) for kind in formatters
        }
        self._files = {kind: open_binary(path, "w") for kind, path in self._paths.items()}  # until close()

    def write(self, chunk: AlignedChunk) -> None:
        for kind, formatter in self._formatters.items():
            encoded = formatter(chunk).encode()
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
            os.replace(self._paths[kind], self._folder / _shard_file_name(self._number, kind))
        _write_json(self._folder / _shard_file_name(self._number, "json"), record)

    @contextmanager
    def _errors_of(self, kind: str) -> Iterator[None]:
        """Let errors of the block name a file as it is called when it is complete."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._folder / _shard_file_name(self._number, kind))
            raise

    def discard(self) -> None:
        """Remove the files of an unfinished shard."""
        for kind, file in self._files.items():
            with suppress(OSError):  # the disk is full, or the folder is gone
                file.close()
            with suppress(OSError):
                self._paths[kind].unlink(missing_ok=True)


def is_shard_complete(folder: Path, number: int, kinds: Iterable[str]) -> bool:
    """Return whether the files of a shard are those of its record."""
    try:
        record = read_json(folder / _shard_file_name(number, "json"))
        return all(
            fingerprint(file_inside(folder, _shard_file_name(number, kind))) == record["files"][kind]
            for kind in kinds
        )
    except (ValueError, KeyError, TypeError):
        return False


@contextmanager
def stopped_as_resumable(
    folder: Path,
    *,
    by: tuple[type[BaseException], ...] = (KeyboardInterrupt, OSError, WorkerError),
    kept: str | None = None,
    again: str = "the same command with `resume=True`",
) -> Iterator[None]:
    """Turn errors that stop a run from outside into a StoppedError, which says how to resume the run.

    `kept` says what is kept, if that is more than the work in the folder. Errors that would occur again, such
    as a missing file, are not changed.
    """
    try:
        yield
    except by as error:
        if isinstance(error, OSError) and error.errno not in TRANSIENT_ERRNOS:
            raise
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else error_text(error)
        kept = kept or f"finished work is kept in {folder}"
        raise StoppedError(f"{why}\nnmtalign: {kept}; {again} resumes the run") from None


def _shard_file_name(number: int, kind: str) -> str:
    return f"{number:06d}.{kind}"


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file that gets its name when it is on the disk."""
    with atomic_file(path) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
