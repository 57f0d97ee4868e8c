"""``python -m tools.accuracy estimators|coverage|planner``: print a table of the documents."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.accuracy import coverage, estimators, planner

__all__: list[str] = []

_KINDS = ("count-min", "count-sketch")
_SCHEDULES = ("geometric", "round robin")


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("table", choices=["coverage", "estimators", "planner"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    if asked.table == "planner":
        print(planner.table(planner.measured_streams(data=asked.data, seeds=asked.seeds)))
        return
    if asked.table == "estimators":
        measured = (
            cells
            for name in estimators.STREAMS
            for cells in estimators.measure(name, data=asked.data, seeds=asked.seeds)
        )
        print(estimators.table(list(measured)))
        return
    cells = [
        cell
        for name in coverage.STREAMS
        for kind in _KINDS
        for schedule in _SCHEDULES
        for cell in coverage.measure(name, kind, schedule, data=asked.data, seeds=asked.seeds)
    ]
    print(coverage.table(cells))


if __name__ == "__main__":
    main()
