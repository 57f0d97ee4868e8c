"""``python -m tools.accuracy TABLE``: print a table of the documents."""

from __future__ import annotations

import argparse
from pathlib import Path

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


def _decoded_lists(data: Path, seeds: int) -> str:
    names = decoded_lists.STREAMS
    cells = [cell for name in names for cell in decoded_lists.measure(name, data=data, seeds=seeds)]
    return decoded_lists.table(cells)


def _estimators(data: Path, seeds: int) -> str:
    names = estimators.STREAMS
    cells = [cell for name in names for cell in estimators.measure(name, data=data, seeds=seeds)]
    return estimators.table(cells)


def _heavy_hitters(data: Path, seeds: int) -> str:
    names = heavy_hitters.STREAMS
    cells = [cell for name in names for cell in heavy_hitters.measure(name, data=data, seeds=seeds)]
    return heavy_hitters.table(cells)


def _known_names(data: Path, seeds: int) -> str:
    names = known_names.STREAMS
    cells = [cell for name in names for cell in known_names.measure(name, data=data, seeds=seeds)]
    return known_names.table(cells)


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


def _weighted_names(data: Path, seeds: int) -> str:
    names = weighted_names.STREAMS
    cells = [
        cell for name in names for cell in weighted_names.measure(name, data=data, seeds=seeds)
    ]
    return weighted_names.table(cells)


_TABLES = {
    "coverage": _coverage,
    "decoded-lists": _decoded_lists,
    "estimators": _estimators,
    "heavy-hitters": _heavy_hitters,
    "known-names": _known_names,
    "planner": _planner,
    "schedules": _schedules,
    "simultaneous": _simultaneous,
    "weighted-names": _weighted_names,
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
