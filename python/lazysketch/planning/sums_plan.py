"""Plan of sums by item: the errors to expect of a sum, of a number of events and of a mean.

A public table is simulated: the collisions of a workload, whose events have values of a given mean
and deviation, and noise of the variance of both tables. Its intervals are those of a release. It
reads no stream. Costs some tens of milliseconds, besides the calibration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_integer, checked_number, checked_share
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.error_model import level_of
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.estimation.signed_table import SignedTable
from lazysketch.planning.noise_over_time import mean_noise_variance
from lazysketch.planning.workload import LARGEST_DISTINCT, Workload
from lazysketch.releases.sums_queries import means_of
from lazysketch.sketches.keys import Key
from lazysketch.specification.value_grid import ValueGrid
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsOptions, SumsSpec, sums_spec

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "SHARE",
    "SKEW",
    "SumsPlan",
    "collisions_of",
    "plan_sums",
    "workload_of",
]

Array: TypeAlias = npt.NDArray[np.float64]

_LARGEST: Final = 2**48  # steps
SKEW: Final = 1.1
_DISTINCT: Final = 2**20
SHARE: Final = 0.01
_MOST_COLUMNS: Final = 2**12  # that are simulated
_MOST_SKEW: Final = 10.0
_ITEMS: Final = 256  # per table
_TABLES: Final = 4


@dataclass(frozen=True, kw_only=True)
class SumsPlan:
    """Sums to make, and their predicted errors; made by :func:`plan_sums`.

    Guarantee: :meth:`sums` makes the sums that the plan describes.

    Attributes:
        spec: description of the sums.
        steps: number of steps after which the errors are predicted.
        events: number of events of the item whose errors are predicted.
        memory: size of both tables, in bytes.
        confidence: of the intervals.
        sum_error: half of the width of the interval of its sum, in units of the values.
        sum_deviation: standard deviation of the error of its sum.
        count_error: half of the width of the interval of its number of events.
        count_deviation: standard deviation of the error of its number.
        mean_error: half of the width of the interval of its mean; at most half of the range.
        mean_deviation: standard deviation of the error of its mean.
    """

    spec: SumsSpec
    steps: int
    events: float
    memory: int
    confidence: float
    sum_error: float
    sum_deviation: float
    count_error: float
    count_deviation: float
    mean_error: float
    mean_deviation: float

    def sums(self, *, key: Key | None = None) -> Sums:
        """Return the sums.

        Args:
            key: master key; a fresh one when None.

        Returns:
            Empty live sums.

        Raises:
            ArgumentTypeError: not a key.
        """
        return Sums.from_spec(self.spec, key=key)


def plan_sums(
    *,
    steps: int,
    share: float = SHARE,
    mean: float | None = None,
    deviation: float | None = None,
    skew: float = SKEW,
    distinct: int | None = None,
    confidence: float = 0.95,
    **options: Unpack[SumsOptions],
) -> SumsPlan:
    """Return sums to make, and the errors of a sum, of a number of events and of a mean.

    Guarantee: it reads no data: if its arguments are public, so is the plan.

    Args:
        steps: number of steps after which the errors are predicted, one event each, 1 to 2^48.
        share: share of the item in the events, above 0 and below 1.
        mean: mean of the values, between the bounds; the middle of the bounds when None.
        deviation: standard deviation of the values; that of evenly spread ones when None.
        skew: skew of a Zipf distribution of the items, 0 to 10.
        distinct: number of items of that distribution, 1 to 2^22; 2^20 or ``steps`` if None.
        confidence: of the intervals, above 0 and below 1.
        **options: as for :class:`lazysketch.Sums`: bounds, guarantee and size.

    Returns:
        The plan.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Source: docs/planning.md.

    Example:
        >>> found = plan_sums(steps=1_000_000, low=0, high=1500, epsilon=1.0, delta=1e-6)
        >>> found.sum_error < 0.1 * found.events * 750
        True
        >>> found.sums().spec.grid == found.spec.grid
        True
    """
    length = checked_integer("steps", steps, most=_LARGEST)
    part = checked_share("share", share)
    certain = checked_confidence(confidence)
    workload = workload_of(length, skew, distinct)
    spec = sums_spec(**options)
    spread = _Spread.of(spec.grid, mean, deviation)
    found = _simulated(spec, workload, spread, steps=length, events=part * length, level=certain)
    return SumsPlan(
        spec=spec,
        steps=length,
        events=part * length,
        memory=2 * 8 * spec.counts.depth * spec.counts.width,
        confidence=certain,
        **found,
    )


@dataclass(frozen=True)
class _Spread:
    """The mean and the standard deviation of values."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, grid: ValueGrid, mean: object, deviation: object) -> _Spread:
        wanted = f"a number from low = {grid.low:g} to high = {grid.high:g}"
        middle = grid.middle if mean is None else checked_number("mean", mean, wanted=wanted)
        if not grid.low <= middle <= grid.high:
            raise ArgumentValueError(f"mean: expected {wanted}, got {middle:g}")
        span = grid.high - grid.low
        spread = span / math.sqrt(12.0)
        if deviation is not None:
            wanted = f"a number from 0 to half of the range, {span / 2.0:g}"
            spread = checked_number("deviation", deviation, wanted=wanted)
            if not 0.0 <= spread <= span / 2.0:
                raise ArgumentValueError(f"deviation: expected {wanted}, got {spread:g}")
        return cls(middle, spread)


def collisions_of(
    spec: SumsSpec, workload: Workload, *, steps: int, seed: int
) -> tuple[Array, Array]:
    """Return the events in some cells of the tables, with random signs and without.

    Args:
        spec: the sums.
        workload: the other items.
        steps: number of events.
        seed: of the fixed stream of random numbers.

    Returns:
        Two arrays of shape (depth, columns), in events.
    """
    depth, width = spec.counts.depth, spec.counts.width
    columns = min(width, _MOST_COLUMNS)
    plain, signed = workload.cells(width, rows=depth, columns=columns, seed=seed)
    return signed * steps, np.maximum(plain, 0.0) * steps


def _simulated(
    spec: SumsSpec,
    workload: Workload,
    spread: _Spread,
    *,
    steps: int,
    events: float,
    level: float,
) -> dict[str, float]:
    """Return the mean half widths of intervals, and the deviations of errors."""
    errors: dict[str, list[Array]] = {"sum": [], "count": [], "mean": []}
    halves: dict[str, list[Array]] = {"sum": [], "count": [], "mean": []}
    truth = {"sum": events * spread.mean, "count": events, "mean": spread.mean}
    for seed in range(1, _TABLES + 1):
        tables = _Tables(spec, workload, spread, steps=steps, seed=seed)
        for of, (estimate, low, high) in tables.answers(events, level=level).items():
            errors[of].append(estimate - truth[of])
            halves[of].append((high - low) / 2.0)
    found = {}
    for of, parts in errors.items():
        found[f"{of}_error"] = float(np.mean(np.concatenate(halves[of])))
        found[f"{of}_deviation"] = float(np.sqrt(np.nanmean(np.concatenate(parts) ** 2)))
    return found


class _Tables:
    """Simulated public tables of events and of sums from the middle of the bounds."""

    def __init__(
        self, spec: SumsSpec, workload: Workload, spread: _Spread, *, steps: int, seed: int
    ) -> None:
        self._chance = np.random.default_rng([seed, 5])
        self._grid, self._spread, self._step = spec.grid, spread, steps
        signed, plain = collisions_of(spec, workload, steps=steps, seed=seed)
        unit = spec.grid.unit
        fluctuation = spread.deviation / unit * np.sqrt(plain) * self._normal(plain.shape)
        self._counts, self._variance_of_counts = self._with_noise(
            signed, mean_noise_variance(spec.counts, steps)
        )
        self._values, self._variance_of_values = self._with_noise(
            signed * (spread.mean - spec.grid.middle) / unit + fluctuation,
            mean_noise_variance(spec.values, steps),
        )

    def answers(self, events: float, *, level: float) -> dict[str, tuple[Array, Array, Array]]:
        """Return estimates and ends for items with so many events, in random cells."""
        grid = self._grid
        side = level_of(level, among=None)
        ratio = grid.middle / grid.unit
        of_item = events * (self._spread.mean - grid.middle) / grid.unit
        sums = self._values + ratio * self._counts
        variance = self._variance_of_values + ratio**2 * self._variance_of_counts
        shape = (_ITEMS, len(self._counts))
        columns = self._chance.integers(0, self._counts.shape[1], shape).astype(np.uint32)
        cells = columns, self._chance.integers(0, 2, shape).astype(bool)

        def ends(table: Array, variance: float, own: float, level: float) -> tuple[Array, ...]:
            """Return the answers of a table for an item that it has not, and then has."""
            whole = np.rint(table).astype(np.int64)
            found = SignedTable(whole, variance, step=self._step).intervals(cells, level=level)
            return tuple(part + own for part in found)

        estimate, low, high = ends(sums, variance, of_item + ratio * events, side)
        count, fewest, most = ends(self._counts, self._variance_of_counts, events, side)
        fewest = np.maximum(fewest, 0.0)
        half = side / 2.0
        number = ends(self._counts, self._variance_of_counts, events, half)
        total = ends(self._values, self._variance_of_values, of_item, half)
        rounding = most * grid.rounding
        return {
            "sum": (grid.unit * estimate, grid.unit * low - rounding, grid.unit * high + rounding),
            "count": (np.maximum(count, fewest), fewest, np.maximum(most, fewest)),
            "mean": means_of(
                (number[0], np.maximum(number[1], 0.0), np.maximum(number[2], 0.0)),
                (total[0], total[1], total[2]),
                grid,
            ),
        }

    def _with_noise(self, cells: Array, variance: float) -> tuple[Array, float]:
        return cells + math.sqrt(variance) * self._normal(cells.shape), variance

    def _normal(self, shape: tuple[int, ...]) -> Array:
        return self._chance.standard_normal(shape)


def workload_of(steps: int, skew: object, distinct: object) -> Workload:
    """Return the items that collide.

    Args:
        steps: number of events.
        skew: of a Zipf distribution, 0 to 10.
        distinct: number of items, 1 to 2^22, or None.

    Raises:
        ArgumentTypeError: not numbers.
        ArgumentValueError: outside their ranges.
    """
    items = min(_DISTINCT, steps)
    if distinct is not None:
        items = checked_integer("distinct", distinct, most=LARGEST_DISTINCT)
    wanted = "a number from 0 to 10"
    chosen = checked_number("skew", skew, wanted=wanted)
    if not 0.0 <= chosen <= _MOST_SKEW:
        raise ArgumentValueError(f"skew: expected {wanted}, got {chosen:g}")
    return Workload.zipf(chosen, distinct=items, events=float(steps))
