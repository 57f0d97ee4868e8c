"""Bounds of values for sums: those with the least predicted error, from a public sample.

Wide bounds need much noise, narrow ones leave out what values have beyond them. Both errors of the
sum of an item have closed forms for all pairs of candidates. It reads no stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_integer, checked_number, checked_share
from lazysketch.errors import ArgumentValueError
from lazysketch.planning.noise_over_time import mean_noise_variance
from lazysketch.planning.sums_plan import SHARE, SKEW, collisions_of, workload_of
from lazysketch.privacy.relations import Relation
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.value_grid import plain_values
from lazysketch.sums.sums_spec import DEPTH, WIDTH, best_share, sums_spec

__all__ = ["ClipBounds", "clip_bounds"]

Array: TypeAlias = npt.NDArray[np.float64]

_LARGEST: Final = 2**48  # steps
_FEWEST: Final = 2  # values of a sample
_OUTERMOST: Final = 1e-5  # share of the sample beyond a candidate
_CANDIDATES: Final = 96  # for each bound
_USUAL: Final = (0.16, 0.84)  # quantiles a deviation apart from the median of normal errors


@dataclass(frozen=True, kw_only=True)
class ClipBounds:
    """Bounds of values, and the predicted error of a sum with them; of :func:`clip_bounds`.

    Attributes:
        low: smaller values count as this one.
        high: larger values count as this one.
        error: root of the mean square of the error of the sum of the item, in units of the values.
        left_out: how far clipping moves the values of the item, in all: the error of its sum, if
            they are all beyond one bound, and more than it otherwise.
        deviation: standard deviation of noise and collisions.
        clipped: share of the sample beyond the bounds.
    """

    low: float
    high: float
    error: float
    left_out: float
    deviation: float
    clipped: float


def clip_bounds(
    sample: object,
    *,
    steps: int,
    epsilon: float,
    delta: float,
    low: float | None = None,
    high: float | None = None,
    share: float = SHARE,
    relation: Relation = "substitution",
    horizon: int | None = None,
    schedule: Schedule | None = None,
    depth: int = DEPTH,
    width: int = WIDTH,
    max_events_per_user: int = 1,
    skew: float = SKEW,
    distinct: int | None = None,
) -> ClipBounds:
    """Return the bounds of values for which the predicted error of a sum is least.

    Guarantee: it reads the sample alone, which must be PUBLIC: bounds that are chosen by private
    values reveal them, and void the guarantee of the sums.

    Args:
        sample: values of a public sample, at least two different ones.
        steps: number of steps after which sums are read, one event each, 1 to 2^48.
        epsilon: privacy parameter of the sums.
        delta: privacy parameter of the sums.
        low: the lower bound, if it is known, such as 0; below some of the sample.
        high: the upper bound, likewise.
        share: share of the item in the events, above 0 and below 1: the larger, the wider bounds.
        relation: as for :class:`lazysketch.Sums`, like the following ones.
        horizon: number of steps, or None.
        schedule: when tables are published.
        depth: rows.
        width: columns.
        max_events_per_user: events protected together.
        skew: skew of a Zipf distribution of the items, 0 to 10.
        distinct: number of items of that distribution, 1 to 2^22; 2^20 or ``steps`` if None.

    Returns:
        The bounds, values of the sample, or 0 if all of it is on one side of it.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or a sample of one value.

    Source: docs/planning.md, "Sums by item".

    Example:
        >>> import numpy as np
        >>> public = np.random.default_rng(1).lognormal(3.0, 1.0, 10_000)
        >>> found = clip_bounds(public, steps=100_000, epsilon=1.0, delta=1e-6)
        >>> found.low, bool(found.high < public.max()), found.clipped < 0.1
        (0.0, True, True)
    """
    length = checked_integer("steps", steps, most=_LARGEST)
    events = checked_share("share", share) * length
    workload = workload_of(length, skew, distinct)
    values = np.sort(plain_values(sample))
    if len(values) < _FEWEST or not math.isfinite(values[-1] - values[0]):
        raise ArgumentValueError("sample: expected at least two finite values, got others")
    lows, highs = _candidates(values, low, "low"), _candidates(values, high, "high")
    pairs = lows[:, None] < highs[None, :]
    if values[0] == values[-1] or not pairs.any():
        raise ArgumentValueError("sample: expected values on both sides of a bound, got others")
    spec = sums_spec(
        low=-1.0,
        high=1.0,
        step=1.0,  # one table of the two has the noise of counts then
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        horizon=horizon,
        schedule=schedule,
        depth=depth,
        width=width,
        max_events_per_user=max_events_per_user,
        count_share=0.5,
    )
    signed, plain = collisions_of(spec, workload, steps=length, seed=1)
    below, above = np.quantile(signed, _USUAL)
    of_counts = ((above - below) / 2.0) ** 2
    mean, square = _moments(values, lows, highs)
    noise = 0.5 * mean_noise_variance(spec.counts, length) * _of_budget(lows, highs)
    spread = np.maximum(square - mean**2, 0.0) * float(np.median(plain))
    variance = (noise + mean**2 * of_counts + spread) / depth
    left_out = events * _beyond(values, lows, highs)
    error = np.where(pairs, np.sqrt(left_out**2 + variance), np.inf)
    row, column = np.unravel_index(int(np.argmin(error)), error.shape)
    at = int(row), int(column)
    least, most = float(lows[at[0]]), float(highs[at[1]])
    return ClipBounds(
        low=least,
        high=most,
        error=float(error[at]),
        left_out=float(left_out[at]),
        deviation=float(np.sqrt(variance[at])),
        clipped=float(np.mean((values < least) | (values > most))),
    )


def _candidates(values: Array, given: object, name: str) -> Array:
    """Return values of a sample from its middle to its end, or the bound that is given."""
    if given is not None:
        bound = checked_number(name, given, wanted="a finite number")
        if not math.isfinite(bound):
            raise ArgumentValueError(f"{name}: expected a finite number, got {bound:g}")
        return np.array([bound])
    shares = np.concatenate([[0.0], np.geomspace(_OUTERMOST, 0.5, _CANDIDATES)])
    if name == "high":
        least_first = np.quantile(values, 1.0 - shares[::-1])
        return np.array([0.0]) if values[-1] <= 0.0 else np.unique(least_first)
    return np.array([0.0]) if values[0] >= 0.0 else np.unique(np.quantile(values, shares))


def _moments(values: Array, lows: Array, highs: Array) -> tuple[Array, Array]:
    """Return the means of the clipped values and of their squares, for all pairs of bounds."""
    number = len(values)
    found = []
    for power in (1, 2):
        before = np.concatenate([[0.0], np.cumsum(values**power)])
        first = np.searchsorted(values, lows, side="left")
        last = np.searchsorted(values, highs, side="right")
        inside = before[last][None, :] - before[first][:, None]
        beyond = (first * lows**power)[:, None] + ((number - last) * highs**power)[None, :]
        found.append((inside + beyond) / number)
    return found[0], found[1]


def _beyond(values: Array, lows: Array, highs: Array) -> Array:
    """Return the mean distance of values to what they are clipped to.

    Not the difference of the means: an item may have values beyond one bound alone.
    """
    below = np.maximum(lows[:, None] - values[None, :], 0.0).mean(axis=1)
    above = np.maximum(values[None, :] - highs[:, None], 0.0).mean(axis=1)
    found: Array = below[:, None] + above[None, :]
    return found


def _of_budget(lows: Array, highs: Array) -> Array:
    """Return the variances of a sum, in that of a count that has the whole budget."""
    middle = np.abs(lows[:, None] + highs[None, :]) / 2.0
    half = (highs[None, :] - lows[:, None]) / 2.0
    half = np.where(half > 0.0, half, 1.0)  # of pairs that are no bounds
    share = best_share(middle, half)
    found: Array = middle**2 / share + half**2 / (1.0 - share)
    return found
