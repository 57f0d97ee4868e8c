"""Plan of a count of distinct items: its size for an error or a memory, and the error to expect.

The error is that of the likelihood (docs/theory.md, "Distinct items"): sampling, collisions of bits
and noise. It reads no stream and makes no bitmap. Costs some milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lazysketch.arguments import checked_integer, checked_share
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.error_model import deviations_of, level_of
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.estimation.occupancy import Occupancy
from lazysketch.planning.noise_over_time import mean_noise_variance
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.keys import Key
from lazysketch.specification.distinct import BIT_WEIGHT, FEWEST_BITS, MOST_BITS, MOST_LEVELS
from lazysketch.specification.distinct_spec import distinct_spec
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

__all__ = ["DistinctPlan", "plan_distinct"]

_LARGEST: Final = 2**48  # items, and steps
_WORSE: Final = 1.1  # than the least possible error, if no target is given


@dataclass(frozen=True, kw_only=True)
class DistinctPlan:
    """A count of distinct items to make, and its predicted error; made by :func:`plan_distinct`.

    Guarantee: :meth:`count` makes the count that the plan describes.

    Attributes:
        spec: description of the count.
        items: number of distinct items for which the error is predicted.
        steps: number of steps up to which noise is averaged.
        memory: size of the bitmaps, in bytes.
        confidence: of the interval.
        standard_error: standard deviation of the estimate, in items.
        relative_error: half of the width of the interval, relative to the number of items.
    """

    spec: TableSpec
    items: int
    steps: int
    memory: int
    confidence: float
    standard_error: float
    relative_error: float

    @property
    def bits(self) -> int:
        """Bits of each level."""
        return self.spec.bits

    @property
    def levels(self) -> int:
        """Number of sampling levels."""
        return self.spec.width

    def count(self, *, key: Key | None = None) -> DistinctCount:
        """Return the count.

        Args:
            key: master key; a fresh one when None.

        Returns:
            An empty live count.

        Raises:
            ArgumentTypeError: not a key.
        """
        return DistinctCount.from_spec(self.spec, key=key)


def plan_distinct(
    *,
    items: int,
    epsilon: float,
    delta: float,
    steps: int | None = None,
    horizon: int | None = None,
    schedule: Schedule | None = None,
    relation: Relation = "substitution",
    relative_error: float | None = None,
    memory: int | None = None,
    confidence: float = 0.95,
) -> DistinctPlan:
    """Return a count of distinct items to make: the smallest for an error, or the best in a memory.

    With neither ``relative_error`` nor ``memory``, it is the smallest whose error exceeds the least
    possible one by at most a tenth. The error is half of the width of ``release.interval()``.

    Guarantee: it reads no data: if its arguments are public, so is the plan.

    Args:
        items: number of distinct items that are expected, 1 to 2^48.
        epsilon: privacy parameter, above 0 and at most 100.
        delta: privacy parameter, above 0 and below 1.
        steps: number of steps, 1 to 2^48; by default the horizon, else ``items``.
        horizon: largest number of steps, if known.
        schedule: as for :class:`lazysketch.DistinctCount`, instead of a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        relative_error: half of the width of the interval, relative to ``items``; above 0, below 1.
        memory: bytes of the bitmaps, instead of ``relative_error``.
        confidence: of the interval, above 0 and below 1.

    Returns:
        The plan.

    Raises:
        ArgumentTypeError: a wrong type, or an error and a memory.
        ArgumentValueError: a value outside its range, or a target that no count reaches; the
            message has the least error.

    Source: docs/planning.md; docs/theory.md, "Distinct items".

    Example:
        >>> found = plan_distinct(
        ...     items=1_000_000, relative_error=0.02, epsilon=1.0, delta=1e-6, relation="zero-out"
        ... )
        >>> found.relative_error <= 0.02, found.memory < 2**16
        (True, True)
        >>> found.count().bits == found.bits
        True
    """
    expected = checked_integer("items", items, most=_LARGEST)
    level = checked_confidence(confidence)
    if relative_error is not None and memory is not None:
        raise ArgumentTypeError("memory: expected none with a relative_error, got one")
    spec = distinct_spec(
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        horizon=horizon,
        schedule=schedule,
        levels=MOST_LEVELS,
    )
    length = spec.schedule.horizon or expected
    if steps is not None:
        length = checked_integer("steps", steps, most=_LARGEST)
    noise = _noise_variance(spec, length)
    sizes = [_Size(bits, levels, expected, noise=noise) for bits, levels in _sizes(expected)]
    deviations = deviations_of(level_of(level, among=None))
    target = None
    if relative_error is not None:
        target = checked_share("relative_error", relative_error) / deviations
    chosen = _chosen(sizes, target, memory, deviations=deviations)
    return DistinctPlan(
        spec=replace(spec, width=chosen.levels, bits=chosen.bits),
        items=expected,
        steps=length,
        memory=chosen.memory,
        confidence=level,
        standard_error=chosen.error * expected,
        relative_error=deviations * chosen.error,
    )


class _Size:
    """A size of the bitmaps, and the standard error with it, relative to the number of items."""

    def __init__(self, bits: int, levels: int, items: int, *, noise: float) -> None:
        self.bits, self.levels, self.memory = bits, levels, bits * levels // 8
        occupancy = Occupancy([0.0] * levels, [noise] * levels, bits)
        self.error = occupancy.standard_error(float(items)) / items


def _sizes(items: int) -> Iterator[tuple[int, int]]:
    """Yield all sizes that can tell twice as many items from more."""
    bits = FEWEST_BITS
    while bits <= MOST_BITS:
        for levels in range(1, MOST_LEVELS + 1):
            if bits * 4 ** (levels - 1) >= 2 * items or levels == MOST_LEVELS:
                yield bits, levels
                break
        bits *= 2


def _noise_variance(spec: TableSpec, steps: int) -> float:
    """Return the mean variance of the noise in a number of set bits, in squared bits."""
    return mean_noise_variance(spec, steps) / BIT_WEIGHT**2


def _chosen(
    sizes: list[_Size], target: float | None, memory: int | None, *, deviations: float
) -> _Size:
    """Return the smallest size with a relative standard error, or the best within a memory."""
    best = min(sizes, key=lambda size: (size.error, size.memory))
    if memory is not None:
        room = checked_integer("memory", memory)
        fitting = [size for size in sizes if size.memory <= room]
        if not fitting:
            least = min(size.memory for size in sizes)
            raise ArgumentValueError(f"memory: expected at least {least} bytes, got {room}")
        return min(fitting, key=lambda size: (size.error, size.memory))
    most = _WORSE * best.error if target is None else target
    reached = [size for size in sizes if size.error <= most]
    if not reached:
        raise ArgumentValueError(
            f"relative_error: expected at least {deviations * best.error:.2g}, the least for so "
            f"many items at this guarantee, got {deviations * most:g}"
        )
    return min(reached, key=lambda size: (size.memory, size.error))
