"""A file that changes while it is followed: what happens to it in each pause of the reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lazysketch.sources import RowBatch, Source, open_source


class StreamEndedError(Exception):
    """Nothing more will happen to the file."""


class Acts:
    """What happens to the file, one act in each pause, and the end behind the last one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
        self._acts = iter([*acts, lambda: None, lambda: None])
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        assert 0.01 <= seconds <= 0.5
        act = next(self._acts, None)
        if act is None:
            raise StreamEndedError
        act()


def followed(path: Path, **asked: Any) -> Source:
    return open_source(path, follow=True, **asked)


def until_the_end(batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
    with suppress(StreamEndedError):
        yield from batches
        pytest.fail("following ended by itself")


def batches_of(source: Source) -> list[RowBatch]:
    return list(until_the_end(source))


def items_of(source: Source) -> list[Any]:
    items: list[Any] = []
    for batch in batches_of(source):
        items += batch.item_list
    return items


def append(path: Path, text: str) -> Callable[[], object]:
    def act() -> None:
        with path.open("a") as file:
            file.write(text)

    return act


def replace(path: Path, text: str) -> Callable[[], object]:
    def act() -> None:
        path.rename(path.with_name(f"{path.name}.{time.monotonic_ns()}"))
        path.write_text(text)

    return act
