"""A file that changes while it is followed: one change in each pause of the reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lazysketch.sources import RowBatch, Source, open_source


class StreamEndedError(Exception):
    """No more changes follow."""


class Changes:
    """Changes of the file, one in each pause, then the end of the stream."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], object]) -> None:
        self._changes = iter([*changes, lambda: None, lambda: None])
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        assert 0.01 <= seconds <= 0.5
        change = next(self._changes, None)
        if change is None:
            raise StreamEndedError
        change()


def followed(path: Path, **asked: object) -> Source:
    return open_source(path, follow=True, **asked)


def until_the_end(batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
    with suppress(StreamEndedError):
        yield from batches
        pytest.fail("following ended without an exception")


def batches_of(source: Source) -> list[RowBatch]:
    return list(until_the_end(source))


def items_of(source: Source) -> list[object]:
    items: list[object] = []
    for batch in batches_of(source):
        items += batch.item_list
    return items


def append(path: Path, text: str) -> Callable[[], object]:
    def change() -> None:
        with path.open("a") as file:
            file.write(text)

    return change


def replace(path: Path, text: str) -> Callable[[], object]:
    def change() -> None:
        path.rename(path.with_name(f"{path.name}.{time.monotonic_ns()}"))
        path.write_text(text)

    return change
