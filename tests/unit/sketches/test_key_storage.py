"""Keys come from a file that its owner alone can use, from the environment, or from a function."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

SECRET = bytes(range(100, 132))
WRONG = ["", "00" * 31, "00" * 33, "0x" + "00" * 31, "zz" * 32, "\u0660" * 64, " " + "00" * 32]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "key"


def test_a_key_is_read_as_it_was_written(path: Path) -> None:
    ls.Key.from_bytes(SECRET).to_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ls.Key.from_file(path).to_bytes() == SECRET
    assert ls.Key.from_file(str(path)).to_bytes() == SECRET
    path.chmod(0o400)
    assert ls.Key.from_file(path).to_bytes() == SECRET


def test_the_mask_of_the_process_does_not_matter(path: Path) -> None:
    before = os.umask(0)
    try:
        ls.Key.generate().to_file(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_never_overwritten(path: Path) -> None:
    ls.Key.from_bytes(SECRET).to_file(path)
    with pytest.raises(FileExistsError):
        ls.Key.generate().to_file(path)
    assert ls.Key.from_file(path).to_bytes() == SECRET
    with pytest.raises(ArgumentValueError):
        seeded_key(1).to_file(path.with_name("other"))
    assert not path.with_name("other").exists()


@pytest.mark.parametrize("right", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
def test_a_file_that_others_can_use_is_refused(path: Path, right: int) -> None:
    ls.Key.from_bytes(SECRET).to_file(path)
    path.chmod(0o600 | right)
    message = f"path: expected a file that its owner alone can use .* got mode {0o600 | right:04o}"
    with pytest.raises(ArgumentValueError, match=message):
        ls.Key.from_file(path)


def test_other_kinds_of_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ArgumentValueError, match="path: expected a regular file"):
        ls.Key.from_file(tmp_path / "pipe")
    with pytest.raises(OSError):
        ls.Key.from_file(tmp_path / "missing")
    for value in (3, None, b"key"):
        with pytest.raises(ArgumentTypeError, match="path: expected a path"):
            ls.Key.from_file(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", WRONG)
def test_other_contents_are_refused_and_not_shown(
    path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(content)
    path.chmod(0o600)
    monkeypatch.setenv("KEY_OF_A_TEST", content)
    for read in (
        lambda: ls.Key.from_file(path),
        lambda: ls.Key.from_environment("KEY_OF_A_TEST"),
    ):
        with pytest.raises(ArgumentValueError, match="64 hexadecimal digits") as raised:
            read()
        assert len(content) < 8 or content.strip() not in str(raised.value)


def test_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_A_TEST", SECRET.hex().upper() + "\n")
    assert ls.Key.from_environment("KEY_OF_A_TEST").to_bytes() == SECRET
    monkeypatch.delenv("KEY_OF_A_TEST")
    with pytest.raises(ArgumentValueError, match="not set"):
        ls.Key.from_environment("KEY_OF_A_TEST")
    with pytest.raises(ArgumentValueError, match="not set"):
        ls.Key.from_environment("a\0b")
    with pytest.raises(ArgumentTypeError, match="variable: expected a str"):
        ls.Key.from_environment(3)  # type: ignore[arg-type]


def test_a_store_asks_a_function_once(tmp_path: Path) -> None:
    asked = []

    def ask() -> ls.Key:
        asked.append(True)
        return ls.Key.from_bytes(SECRET)

    for _ in range(2):
        ls.open_store(tmp_path / "store", key=ask, anchor=tmp_path / "anchor").close()
    assert asked == [True, True]

    def refuse() -> ls.Key:
        raise PermissionError("the service refuses")

    with pytest.raises(PermissionError, match="the service refuses"):
        ls.open_store(tmp_path / "new", key=refuse, anchor=tmp_path / "other")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ArgumentTypeError, match="key: expected a Key, got bytes"):
        ls.open_store(tmp_path / "new", key=lambda: SECRET, anchor=tmp_path / "other")  # type: ignore[arg-type, return-value]
