"""How the predicted error of a part grows when it has less than the whole privacy.

The squared error of a part is nearly ``own + noise / share``: what it would be without noise, from
collisions or sampling, and its noise, whose variance is inverse to the share. Both follow from two
predictions, with the noise of the whole privacy and with noise of twice the deviation:

=====================================  =============================================================
sketches, heavy hitters, hierarchies   half width of an interval, for items of the Zipf distribution
                                       that :func:`lazysketch.plan` assumes
distinct items                         standard error, for as many distinct items as rows
distributions                          noise alone: nothing else is random in a count of bins
ranges                                 deviation of a range between two random keys, of even keys
sums                                   half width of an interval of a sum, for items of the Zipf
                                       distribution, with values spread evenly over their bounds
=====================================  =============================================================

Costs some milliseconds per part; reads no data.

Source: docs/pipelines.md, "Shares of the privacy".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from lazysketch.estimation.occupancy import Occupancy
from lazysketch.heavy_hitters import HeavyHitters, HierarchicalHeavyHitters
from lazysketch.pipelines.part import Live
from lazysketch.planning.prediction import CellErrors, half_width
from lazysketch.planning.ranges_plan import CellsOfRanges
from lazysketch.planning.request import SKEW
from lazysketch.planning.workload import Workload
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.ranges import Ranges
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.sizing import checked_sketch_kind
from lazysketch.specification.table_spec import TableSpec
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsSpec

__all__ = ["Growth", "growth_of"]

_CONFIDENCE: Final = 0.95
_DISTINCT: Final = 2**20
_CELLS: Final = 4096  # simulated for the errors of a cell
_PUSHES: Final = 257  # over which the variance of noise is averaged


@dataclass(frozen=True)
class Growth:
    """The predicted error of a part at a share of the privacy, relative to that at all of it.

    Attributes:
        own: what is left of the squared error without noise, 0 to 1.
    """

    own: float

    def at(self, share: float) -> float:
        """Return how many times the error is that with the whole privacy.

        Args:
            share: above 0 and at most 1.

        Returns:
            1 or more.

        Example:
            >>> Growth(0.0).at(0.25), Growth(0.75).at(0.25)
            (2.0, 1.3228756555322954)
        """
        return math.sqrt(self.own + (1.0 - self.own) / share)


def growth_of(live: Live, rows: int) -> Growth:
    """Return the growth of the error of a statistic, from its description alone.

    Args:
        live: made with the whole privacy.
        rows: number of rows of the stream after which it is read.

    Returns:
        The growth.
    """
    if isinstance(live, Distribution):
        return Growth(0.0)
    if isinstance(live, Ranges):
        return _from(_error_of_ranges(live.spec, rows))
    if isinstance(live, Sums):
        return _from(_error_of_sums(live.spec, rows))
    if isinstance(live, DistinctCount):
        return _from(_error_of_distinct(live.spec, rows))
    if isinstance(live, HeavyHitters):
        return _from(_error_of_sketch(live.spec.table, rows))
    if isinstance(live, HierarchicalHeavyHitters):
        return _from(_error_of_sketch(live._specs[-1].table, rows))
    return _from(_error_of_sketch(live.spec, rows))


def _from(error: Callable[[float], float]) -> Growth:
    """Return the growth from the error at a factor of the deviation of the noise."""
    whole, twice = error(1.0), error(2.0)
    if not (math.isfinite(twice) and whole > 0.0):
        return Growth(0.0)
    noise = ((twice / whole) ** 2 - 1.0) / 3.0
    return Growth(min(max(1.0 - noise, 0.0), 1.0))


def _error_of_distinct(spec: TableSpec, rows: int) -> Callable[[float], float]:
    variance = _noise_variance(spec, rows) / BIT_WEIGHT**2
    levels = [0.0] * spec.width

    def error(factor: float) -> float:
        occupancy = Occupancy(levels, [factor**2 * variance] * spec.width, spec.bits)
        return occupancy.standard_error(min(float(rows), occupancy.largest))

    return error


def _error_of_ranges(spec: TableSpec, rows: int) -> Callable[[float], float]:
    variance = _noise_variance(spec, rows)

    def error(factor: float) -> float:
        return CellsOfRanges(spec, factor**2 * variance, rows).error_between_keys()

    return error


def _error_of_sums(spec: SumsSpec, rows: int) -> Callable[[float], float]:
    """Return the error of a sum in half steps of the grid, of the table that sums are read from."""
    grid = spec.grid
    ratio = grid.middle / grid.unit
    variance = _noise_variance(spec.values, rows) + ratio**2 * _noise_variance(spec.counts, rows)
    of_an_event = math.hypot(ratio, (grid.high - grid.low) / grid.unit / math.sqrt(12.0))
    return _half_width(spec.counts, rows, of_an_event=of_an_event, deviation=math.sqrt(variance))


def _error_of_sketch(spec: TableSpec, rows: int) -> Callable[[float], float]:
    return _half_width(spec, rows, deviation=math.sqrt(_noise_variance(spec, rows)))


def _half_width(
    spec: TableSpec, rows: int, *, deviation: float, of_an_event: float = 1.0
) -> Callable[[float], float]:
    """Return the half width of an interval, where an event adds so much to a cell."""
    kind = checked_sketch_kind(spec.kind)
    columns = min(spec.width, _CELLS)
    plain, signed = _workload(rows).cells(spec.width, rows=_CELLS // columns, columns=columns)
    collisions = (plain if kind == "count-min" else signed).ravel() * rows * of_an_event

    def error(factor: float) -> float:
        errors = CellErrors(collisions, factor * deviation, spec.depth * spec.width)
        return half_width(errors, kind, spec.depth, confidence=_CONFIDENCE)

    return error


@lru_cache(maxsize=4)
def _workload(rows: int) -> Workload:
    return Workload.zipf(SKEW, distinct=max(1, min(rows, _DISTINCT)), events=float(rows))


def _noise_variance(spec: TableSpec, rows: int) -> float:
    """Return the mean variance of the noise of a cell over the second half of the stream."""
    schedule, mechanism = spec.schedule, spec.chosen_mechanism
    last = rows if schedule.horizon is None else min(rows, schedule.horizon)
    pushes = [int(schedule.pushes(spec.width, step).max()) for step in (last - last // 2, last)]
    spread = np.linspace(max(pushes[0], 1), max(pushes[1], 1), _PUSHES).astype(np.int64)
    return spec.sigma**2 * float(mechanism.variances(np.unique(spread)).mean())
