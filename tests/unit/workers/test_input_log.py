"""A tick keeps its files, a file keeps its tick, and neither changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import checked_request
from lazysketch.workers import InputLog, ListedFile

LINES = checked_request()
FILES = [ListedFile(f"/rows/{name}", size, 10 + size) for size, name in enumerate("abcdef")]


def opened(folder: Path, *, path: str = "/rows", field: str | None = None) -> InputLog:
    return InputLog(folder, path=path, request=checked_request(field=field) if field else LINES)


def test_a_file_belongs_to_one_tick(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        assert (log.last_tick, log.files(1)) == (0, [])
        first = log.begin(1, FILES[:2])
        assert log.begin(2, FILES[:4]) != first
        assert log.begin(3, FILES[:4]) != log.digest(2)  # a tick without files, of its own number
        assert [log.files(tick) for tick in (1, 2, 3)] == [FILES[:2], FILES[2:4], []]
    with opened(tmp_path) as log:
        assert (log.last_tick, log.digest(1)) == (3, first)
        assert log.files(2) == FILES[2:4]


def test_a_tick_that_is_begun_again_keeps_its_files(tmp_path: Path) -> None:
    """As after a crash between the log and the checkpoint of the engine."""
    with opened(tmp_path) as log:
        first = log.begin(1, FILES[:2])
    with opened(tmp_path) as log:
        assert log.begin(1, FILES) == first
        assert log.files(1) == FILES[:2]
        log.begin(2, FILES)
        assert log.files(2) == FILES[2:]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.begin(1, FILES[:2])
        for changed in (
            ListedFile(FILES[0].path, 7, FILES[0].modified),
            ListedFile(FILES[0].path, FILES[0].size, 7),
        ):
            with pytest.raises(SourceError, match="expected the file of tick 1 as it was"):
                log.begin(2, [changed, *FILES[1:]])
        assert log.last_tick == 1
        log.begin(2, FILES[1:])  # one that is gone changes nothing


def test_another_input_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.begin(1, FILES[:1])
        with pytest.raises(SourceError, match="expected tick 2, got 3"):
            log.begin(3, FILES)
        with pytest.raises(SourceError, match="expected the files of tick 9"):
            log.digest(9)
    with pytest.raises(SourceError, match="expected the path whose ticks it has"):
        opened(tmp_path, path="/other")
    with (
        opened(tmp_path, field="user") as log,
        pytest.raises(SourceError, match="expected the fields that tick 1 was begun with"),
    ):
        log.digest(1)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "input-log.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(SourceError, match="expected a log of inputs"):
        opened(tmp_path / "broken")
