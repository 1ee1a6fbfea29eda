"""Locks between processes, held as long as a file is open: the end of a process releases its locks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nmtalign.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[bool]:
    """Lock a file in the folder of a run; it is made if need be and stays, as others may hold it open.

    Parameters
    ----------
    path : Path
    shared : bool
        Others may hold a shared lock at the same time.

    Yields
    ------
    bool
        False where there are no locks: on Windows, in some network folders, in a folder that is only read.

    Raises
    ------
    UsageError
        If another run holds the lock.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / ".lock"):
    ...     with locked(Path(folder) / ".lock"):  # doctest: +ELLIPSIS
    ...         pass
    Traceback (most recent call last):
    nmtalign.errors.UsageError: another run is writing into ...
    """
    with ExitStack() as stack:
        yield _lock(path, shared, stack)


def _lock(path: Path, shared: bool, stack: ExitStack) -> bool:
    if fcntl is None:
        return False
    try:
        file = stack.enter_context(path.open("ab"))
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"another run is writing into {path.parent}; wait for its end and resume with --resume, or give"
            " another folder"
        ) from None
    except OSError:
        return False
    return True
