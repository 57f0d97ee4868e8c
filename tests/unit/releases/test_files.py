"""Files of releases: whole or not at all, and nothing read in vain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lazysketch.errors import ArgumentTypeError, ReleaseFormatError
from lazysketch.releases.files import MAGIC, read_release, write_whole


def test_what_is_written_is_read(tmp_path: Path) -> None:
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


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_an_endless_file_that_is_no_release_ends() -> None:
    with pytest.raises(ReleaseFormatError, match="got other data"):
        read_release("/dev/zero")


def test_paths_only() -> None:
    for path in (3, None, b"r.lzs"):
        with pytest.raises(ArgumentTypeError, match="path: expected a path, got "):
            read_release(path)
        with pytest.raises(ArgumentTypeError, match="path: expected a path, got "):
            write_whole(path, MAGIC)
