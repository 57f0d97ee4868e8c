"""``python -m tools.accuracy TABLE``: print a table of the documents."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tools.accuracy import (
    coverage,
    decoded_lists,
    estimators,
    heavy_hitters,
    known_names,
    planner,
    schedules,
    simultaneous,
    weighted_names,
)

__all__: list[str] = []

_KINDS = ("count-min", "count-sketch")
_SCHEDULES = ("geometric", "round robin")


def _coverage(data: Path, seeds: int) -> str:
    cells = [
        cell
        for name in coverage.STREAMS
        for kind in _KINDS
        for schedule in _SCHEDULES
        for cell in coverage.measure(name, kind, schedule, data=data, seeds=seeds)
    ]
    return coverage.table(cells)


class _ByStream(Protocol):
    """A module that measures one stream after the other."""

    @property
    def STREAMS(self) -> Sequence[str]: ...  # noqa: N802 -- a constant of the module

    def measure(self, name: str, *, data: Path, seeds: int) -> Iterator[Any]: ...

    def table(self, cells: list[Any]) -> str: ...


def _by_stream(of: _ByStream, data: Path, seeds: int) -> str:
    return of.table(
        [cell for name in of.STREAMS for cell in of.measure(name, data=data, seeds=seeds)]
    )


def _schedules(data: Path, seeds: int) -> str:
    return schedules.table(schedules.measured_schedules(data=data, seeds=seeds))


def _planner(data: Path, seeds: int) -> str:
    return planner.table(planner.measured_streams(data=data, seeds=seeds))


def _simultaneous(data: Path, seeds: int) -> str:
    cells = [
        cell
        for name in simultaneous.STREAMS
        for schedule in simultaneous.SCHEDULES
        for cell in simultaneous.measure(
            name, schedule, seeds=seeds, long_seeds=min(seeds, 10), data=data
        )
    ]
    return simultaneous.table(cells)


_TABLES: dict[str, Callable[[Path, int], str]] = {
    "coverage": _coverage,
    "decoded-lists": partial(_by_stream, decoded_lists),
    "estimators": partial(_by_stream, estimators),
    "heavy-hitters": partial(_by_stream, heavy_hitters),
    "known-names": partial(_by_stream, known_names),
    "planner": _planner,
    "schedules": _schedules,
    "simultaneous": _simultaneous,
    "weighted-names": partial(_by_stream, weighted_names),
}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("table", choices=list(_TABLES))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    print(_TABLES[asked.table](asked.data, asked.seeds))


if __name__ == "__main__":
    main()
