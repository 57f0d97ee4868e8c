"""Release files: atomic writing, and early rejection of other files."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

import lazysketch as ls
from lazysketch.cli.run import files as saving
from lazysketch.errors import (
    ArgumentTypeError,
    OverwriteError,
    ReleaseFormatError,
    SourceError,
)
from lazysketch.releases.files import MAGIC, read_release, write_whole


def test_written_bytes_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "r.lzs"
    for data in (MAGIC + b"one", MAGIC + b"two" * 1_000):
        write_whole(path, data)
        assert read_release(str(path)) == data
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.lzs"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "r.lzs"
    write_whole(path, MAGIC)

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_whole(path, MAGIC + b"new")
    assert read_release(path) == MAGIC
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.lzs"]


def test_the_content_and_then_the_name_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.lzs"
    flushed: list[tuple[bool, bool]] = []
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(path, MAGIC)
    assert flushed == [(False, False), (True, True)]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_directory_without_fsync_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """EINVAL: the file system has none. EIO is a failure; the new file is complete by then."""
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if number == errno.EIO:
        with pytest.raises(OSError, match="Input/output error"):
            write_whole(tmp_path / "r.lzs", MAGIC)
    else:
        write_whole(tmp_path / "r.lzs", MAGIC)
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.lzs"]
    assert read_release(tmp_path / "r.lzs") == MAGIC


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_an_endless_file_is_refused_after_its_first_bytes() -> None:
    with pytest.raises(ReleaseFormatError, match="got other data"):
        read_release("/dev/zero")


def test_paths_only() -> None:
    for path in (3, None, b"r.lzs"):
        with pytest.raises(ArgumentTypeError, match="path: expected a path, got "):
            read_release(path)
        with pytest.raises(ArgumentTypeError, match="path: expected a path, got "):
            write_whole(path, MAGIC)


def release() -> ls.Release:
    return ls.CountMin(depth=2, width=4).release()


@pytest.mark.parametrize("content", [b"", b"name,count\n", MAGIC[:-1], b"LAZYSKCX" + bytes(99)])
def test_other_files_are_replaced_only_if_asked(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(OverwriteError, match=r"^path: .*\(overwrite=True") as raised:
        release().save(path)
    assert isinstance(raised.value, FileExistsError)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]
    release().save(path, overwrite=True)
    assert path.read_bytes().startswith(MAGIC)
    release().save(path)


def test_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OverwriteError):
            release().save(tmp_path / name)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "pipe"]
    for wrong in (1, None, "yes"):
        with pytest.raises(ArgumentTypeError, match="^overwrite: expected a bool"):
            release().save(tmp_path / "new", overwrite=wrong)


def test_a_file_that_appears_before_the_replacement_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.lzs"
    monkeypatch.setattr(os, "fsync", lambda _: path.write_text("another program's file"))
    with pytest.raises(OverwriteError):
        release().save(path)
    assert path.read_text() == "another program's file"
    # The command line checks the target before; skip that check to reach the error of save().
    monkeypatch.setattr(saving, "check_release_target", lambda path, *, option: None)
    with pytest.raises(SourceError) as raised:
        saving.save(release(), str(path), option="--save-release")
    assert re.fullmatch(
        "--save-release: expected to write .*, got .*a release.*", str(raised.value)
    )
