"""Files appear under their name only when they are whole."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles, atomic_file, atomic_folder


def test_a_failed_block_leaves_the_older_file_and_nothing_else(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_file(path) as partial:
            Path(partial).write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_name_keeps_the_ending(tmp_path):
    with atomic_file(tmp_path / "links.tsv.gz") as partial:
        assert str(partial).endswith("links.tsv.gz")
        assert Path(partial).parent == tmp_path
        Path(partial).write_bytes(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["links.tsv.gz"]


@pytest.mark.parametrize("path", ["-", "/dev/null"])
def test_streams_and_devices_are_given_as_they_are(path):
    with atomic_file(path) as partial:
        assert str(partial) == path


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match="does not exist"), atomic_file(tmp_path / "no" / "links"):
        pass


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    wanted = tmp_path / "links.txt"
    with pytest.raises(PermissionError) as caught, atomic_file(wanted) as partial:
        raise PermissionError(13, "Permission denied", str(partial))
    assert caught.value.filename == str(wanted)


def test_a_full_disk_names_the_one_file_of_a_block(tmp_path):
    with pytest.raises(OSError, match="full") as caught, atomic_file(tmp_path / "one"):
        raise OSError(errno.ENOSPC, "full")
    assert caught.value.filename == str(tmp_path / "one")


def test_a_full_disk_without_a_name_is_not_said_of_one_of_several_files(tmp_path):
    files = AtomicFiles()
    files.text(tmp_path / "several")
    with pytest.raises(OSError, match="full") as caught, files:
        raise OSError(errno.ENOSPC, "full")  # of standard output, perhaps
    assert caught.value.filename is None


def test_a_full_disk_names_the_folder_into_which_a_file_is_copied(tmp_path):
    with pytest.raises(OSError, match="full") as caught, atomic_folder(tmp_path / "folder"):
        raise OSError(errno.ENOSPC, "full", "source", None, "copy")
    assert (caught.value.filename, caught.value.filename2) == (str(tmp_path / "folder"), None)
    assert not list(tmp_path.iterdir())
