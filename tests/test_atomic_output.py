"""Files appear under their name only when they are whole."""

from __future__ import annotations

import errno
import os
import shutil
import stat
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


def test_a_signal_while_the_new_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "links.txt"
    path.write_text("old")

    def stop(*_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "copymode", stop)
    with pytest.raises(KeyboardInterrupt), atomic_file(path):
        pass
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


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o664, 0o755])
def test_an_older_file_gives_its_permissions_to_the_new_one_from_the_beginning(tmp_path, wanted):
    path = tmp_path / "links.txt"
    path.write_text("old")
    path.chmod(wanted)
    with atomic_file(path) as partial:
        assert mode(Path(partial)) == wanted
        Path(partial).write_text("new")
    assert (path.read_text(), mode(path)) == ("new", wanted)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").write_text("")
    with atomic_file(tmp_path / "links.txt"):
        pass
    assert mode(tmp_path / "links.txt") == mode(tmp_path / "other")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_an_older_folder_and_its_files_give_their_permissions(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "meta.json").write_text("old")
    (folder / "meta.json").chmod(0o600)
    folder.chmod(0o700)
    with atomic_folder(folder) as new:
        (new / "meta.json").write_text("new")
        (new / "other").write_text("new")
    assert mode(folder) == 0o700
    assert mode(folder / "meta.json") == 0o600
    assert (folder / "other").read_text() == "new"


def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "disk").mkdir()
    file, link, new = tmp_path / "disk" / "file", tmp_path / "links.gz", tmp_path / "new.csv"
    file.write_text("old", encoding="utf-8")
    link.symlink_to(file)
    new.symlink_to(tmp_path / "disk" / "new")
    for path in (link, new):
        with atomic_file(path) as partial:
            assert str(partial).endswith(path.name)  # the ending names the format
            Path(partial).write_text("complete", encoding="utf-8")
        assert path.is_symlink()
        assert path.resolve().read_text("utf-8") == "complete"
    assert sorted(os.listdir(tmp_path / "disk")) == ["file", "new"]


def test_a_symbolic_link_to_a_folder_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "model"
    link.symlink_to(tmp_path / "disk")
    with atomic_folder(link) as new:
        (new / "meta.json").write_text("{}", encoding="utf-8")
    assert link.is_symlink()
    assert os.listdir(tmp_path / "disk") == ["meta.json"]
