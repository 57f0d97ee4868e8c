"""Means over trials with standard errors, and the record that is kept in the repository.

A record is one small JSON file per experiment: the moments over trials for every series, value and
metric, with the date, the machine in general terms, and versions. The report is made from it, and
a quick run is compared with it.
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypedDict

import numpy as np

import lazysketch
from experiments.cell import Finished
from experiments.definition import Definition, Value

__all__ = ["RECORD", "Estimate", "Result", "result_of"]

RECORD = Path(__file__).parent / "record"
_DIGITS = 6

Key = tuple[str, str]


@dataclass(frozen=True)
class Estimate:
    """One number over its trials.

    Args:
        mean: over trials.
        deviation: standard deviation of one trial, 0 for a single one.
        median: over trials; timings are compared by it.
        low: lower quartile.
        high: upper quartile.
        log_mean: mean of the logarithm, NaN unless all are positive.
        log_deviation: its standard deviation.
        trials: number of trials.
    """

    mean: float
    deviation: float
    median: float
    low: float
    high: float
    log_mean: float
    log_deviation: float
    trials: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Summarise the trials."""
        taken = np.array(list(values), dtype=np.float64)
        many = len(taken) > 1
        positive = bool((taken > 0).all())
        logs = np.log(taken) if positive else np.array([math.nan])
        low, median, high = (float(each) for each in np.quantile(taken, [0.25, 0.5, 0.75]))
        return cls(
            mean=float(taken.mean()),
            deviation=float(taken.std(ddof=1)) if many else 0.0,
            median=median,
            low=low,
            high=high,
            log_mean=float(logs.mean()),
            log_deviation=float(logs.std(ddof=1)) if many and positive else math.nan,
            trials=len(taken),
        )

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.trials)


class Made(TypedDict):
    """Circumstances of a run: date, machine in general terms, versions, and duration."""

    date: str
    machine: str
    versions: str
    seconds: float


@dataclass(frozen=True)
class Result:
    """All numbers of an experiment.

    Args:
        name: name of the experiment.
        digest: digest of its definition.
        numbers: by series and metric, then by value.
        made: circumstances of the run.
    """

    name: str
    digest: str
    numbers: Mapping[Key, Mapping[Value, Estimate]]
    made: Made

    def line(self, series: str, metric: str) -> Mapping[Value, Estimate]:
        """Return one line of a plot, empty if nothing was measured."""
        return self.numbers.get((series, metric), {})

    @property
    def series(self) -> list[str]:
        """All series in order."""
        return list(dict.fromkeys(series for series, _ in self.numbers))

    @property
    def metrics(self) -> list[str]:
        """All metrics in order."""
        return list(dict.fromkeys(metric for _, metric in self.numbers))

    @property
    def trials(self) -> int:
        """Largest number of trials."""
        return max(each.trials for line in self.numbers.values() for each in line.values())

    def save(self, folder: Path) -> Path:
        """Write the record into a folder.

        Args:
            folder: created if missing.

        Returns:
            The file.
        """
        rows = [
            [series, metric, x, *_rounded(estimate)]
            for (series, metric), line in self.numbers.items()
            for x, estimate in line.items()
        ]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        head = json.dumps({"name": self.name, "digest": self.digest, **self.made}, indent=1)
        columns = json.dumps(["series", "metric", "x", *Estimate.__dataclass_fields__])
        path.write_text(
            f'{head[:-2]},\n "columns": {columns},\n "rows": [\n{lines}\n]}}\n', encoding="utf-8"
        )
        return path

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read a record."""
        read = json.loads(path.read_text(encoding="utf-8"))
        numbers: dict[Key, dict[Value, Estimate]] = defaultdict(dict)
        names = read.pop("columns")[3:]
        for series, metric, x, *values in read.pop("rows"):
            known = (math.nan if value is None else value for value in values)
            numbers[series, metric][x] = Estimate(**dict(zip(names, known, strict=True)))
        return cls(read.pop("name"), read.pop("digest"), numbers, read)


def _rounded(estimate: Estimate) -> list[float | int | None]:
    values = vars(estimate).values()
    return [value if isinstance(value, int) else _digits(value) for value in values]


def _digits(value: float) -> float | None:
    """Round to six significant digits; NaN, which JSON lacks, becomes None."""
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")


def result_of(definition: Definition, cells: Iterable[Finished], *, quick: bool) -> Result | None:
    """Summarise the finished cells of an experiment.

    Args:
        definition: the experiment.
        cells: cells of any experiments; those of others are ignored.
        quick: the kind of run that is summarised.

    Returns:
        The result, or None if no cell belongs to it.
    """
    values: dict[Key, dict[Value, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds = 0.0
    for finished in cells:
        cell = finished.cell
        named = (cell.experiment, cell.digest, cell.quick)
        if named != (definition.name, definition.digest, quick):
            continue
        seconds += finished.seconds
        for each in finished.observations:
            values[each.series, each.metric][each.x].append(each.value)
    if not values:
        return None
    numbers = {
        key: {x: Estimate.of(trials) for x, trials in sorted(line.items(), key=_position)}
        for key, line in values.items()
    }
    return Result(definition.name, definition.digest, numbers, _made(round(seconds, 1)))


def _position(pair: tuple[Value, object]) -> tuple[int, float, str]:
    x = pair[0]
    return (1, 0.0, x) if isinstance(x, str) else (0, float(x), "")


def _made(seconds: float) -> Made:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    versions = (
        f"lazysketch {lazysketch.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}"
    )
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return {"date": date, "machine": machine, "versions": versions, "seconds": seconds}
