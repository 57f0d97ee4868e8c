"""Plan of ranges of keys: the error of a range, of a network and of all keys to expect.

The noise follows from the description alone. What collides depends on the keys: for keys that are
spread evenly, the squares of the coefficients of a depth add up to the number of keys, and a cell
of a depth with collisions has its share of them. Keys of which some are heavy have more. It reads
no stream and makes no counts. Costs some 0.1 s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.error_model import deviations_of, level_of
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.estimation.key_ranges import KeyRanges, Located
from lazysketch.planning.noise_over_time import mean_noise_variance
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.ranges import Ranges
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.ranges import exact_coefficients
from lazysketch.specification.ranges_spec import DEFAULT_BITS, DEFAULT_WIDTH, ranges_spec
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

__all__ = ["CellsOfRanges", "RangesPlan", "plan_ranges"]

_LARGEST: Final = 2**48  # keys, and steps
_SAMPLED: Final = 256  # ranges, and networks, over which the variance is averaged


@dataclass(frozen=True, kw_only=True)
class RangesPlan:
    """Counts of ranges to make, and their predicted error; made by :func:`plan_ranges`.

    Guarantee: :meth:`ranges` makes the counts that the plan describes.

    Attributes:
        spec: description of the counts.
        keys: number of keys for which the error is predicted, spread evenly.
        steps: number of steps up to which noise is averaged.
        prefix: bits of the networks.
        memory: size of the counters, in bytes.
        confidence: of the interval.
        standard_error: root mean square error of a range between two random keys, in keys.
        prefix_error: the same of a network of ``prefix`` bits.
        total_error: the same of all keys.
        half_width: half of the width of the interval of such a range.
    """

    spec: TableSpec
    keys: int
    steps: int
    prefix: int
    memory: int
    confidence: float
    standard_error: float
    prefix_error: float
    total_error: float
    half_width: float

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return self.spec.depth

    @property
    def width(self) -> int:
        """Columns."""
        return self.spec.width

    def ranges(self, *, key: Key | None = None) -> Ranges:
        """Return the counts.

        Args:
            key: master key; a fresh one when None.

        Returns:
            Empty live counts.

        Raises:
            ArgumentTypeError: not a key.
        """
        return Ranges.from_spec(self.spec, key=key)


def plan_ranges(
    *,
    epsilon: float,
    delta: float,
    keys: int,
    bits: int = DEFAULT_BITS,
    width: int = DEFAULT_WIDTH,
    prefix: int | None = None,
    steps: int | None = None,
    horizon: int | None = None,
    schedule: Schedule | None = None,
    relation: Relation = "substitution",
    mechanism: MechanismName = "tree",
    max_weight: int = 1,
    mean_weight: float | None = None,
    max_events_per_user: int = 1,
    person_bound: PersonBound | None = None,
    confidence: float = 0.95,
) -> RangesPlan:
    """Return counts of ranges to make, and the error of their answers.

    The error is that of the weighted sums of cells; estimates, which keep each half of a node
    within the node, have no more of it where keys are spread evenly.

    Guarantee: it reads no data: if its arguments are public, so is the plan.

    Args:
        epsilon: privacy parameter, above 0 and at most 100.
        delta: privacy parameter, above 0 and below 1.
        keys: number of keys that are expected to be counted, 1 to 2^48.
        bits: bits of a key, 1 to 64.
        width: columns, 2 to 2^24.
        prefix: bits of the networks whose error is predicted, 1 to ``bits``; by default half of
            them, rounded up.
        steps: number of steps, 1 to 2^48; by default the horizon, else ``keys``.
        horizon: largest number of steps, if known.
        schedule: as for :class:`lazysketch.Ranges`, instead of a horizon.
        relation: ``"substitution"`` or ``"zero-out"``.
        mechanism: as for :class:`lazysketch.Ranges`.
        max_weight: largest weight of one key; errors are in weights then.
        mean_weight: mean weight of a key, at most ``max_weight``, which it is by default.
        max_events_per_user: events of one person that are protected together.
        person_bound: what is counted of each person, who is protected then. Keys beyond it are no
            part of ``keys``.
        confidence: of the interval, above 0 and below 1.

    Returns:
        The plan.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Source: docs/planning.md; docs/theory.md, "Ranges of keys".

    Example:
        >>> found = plan_ranges(
        ...     keys=1_000_000, bits=32, epsilon=1.0, delta=1e-6, horizon=1_000_000
        ... )
        >>> found.prefix_error < found.standard_error < 0.01 * found.keys
        True
        >>> found.ranges().bits
        32
    """
    expected = checked_integer("keys", keys, most=_LARGEST)
    level = checked_confidence(confidence)
    spec = ranges_spec(
        bits=bits,
        width=width,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        horizon=horizon,
        schedule=schedule,
        mechanism=mechanism,
        max_weight=max_weight,
        max_events_per_user=max_events_per_user,
        person_bound=person_bound,
    )
    depth = (spec.depth + 1) // 2 if prefix is None else prefix
    depth = checked_integer("prefix", depth, most=spec.depth)
    length = spec.schedule.horizon or expected
    if steps is not None:
        length = checked_integer("steps", steps, most=_LARGEST)
    # The mean square of weights is at most the product of the largest and the mean.
    squares = expected * spec.max_weight * _checked_mean(mean_weight, spec.max_weight)
    cells = CellsOfRanges(spec, mean_noise_variance(spec, length), squares)
    standard = cells.error_between_keys()
    return RangesPlan(
        spec=spec,
        keys=expected,
        steps=length,
        prefix=depth,
        memory=8 * spec.depth * spec.width,
        confidence=level,
        standard_error=standard,
        prefix_error=cells.error_of_networks(depth),
        total_error=cells.error([(0, 1 << spec.depth)]),
        half_width=deviations_of(level_of(level, among=None)) * standard,
    )


def _checked_mean(mean_weight: object, max_weight: int) -> float:
    wanted = f"a number above 0, at most max_weight, {max_weight:,}"
    if mean_weight is None:
        return float(max_weight)
    mean = checked_real("mean_weight", mean_weight, wanted=wanted)
    if mean > max_weight:
        raise ArgumentValueError(f"mean_weight: expected {wanted}, got {mean:g}")
    return mean


class CellsOfRanges:
    """The cells of a table of ranges, and the variances of what is in them.

    Args:
        spec: the description.
        noise: variance of the noise of a cell.
        squares: of the weights of all keys, which are spread evenly, added up.
    """

    def __init__(self, spec: TableSpec, noise: float, squares: float) -> None:
        empty = np.broadcast_to(np.int64(0), (spec.depth, spec.width))
        self._table = KeyRanges(table=empty, locate=self._located, noise_variance=noise)
        self._exact = exact_coefficients(spec.depth, spec.width)
        self._noise, self._colliding = noise, noise + squares / spec.width

    def error_between_keys(self) -> float:
        """Return the root mean square error of ranges between two random keys."""
        chance = np.random.default_rng(1)
        ends = chance.random((_SAMPLED, 2)) * float(1 << self._table.bits)
        found = [sorted((int(one), int(other))) for one, other in ends.tolist()]
        return self.error([(low, high + 1) for low, high in found])

    def error_of_networks(self, prefix: int) -> float:
        """Return the root mean square error of random networks of so many bits."""
        size = 1 << (self._table.bits - prefix)
        nodes = np.random.default_rng(2).random(_SAMPLED) * float(1 << prefix)
        return self.error([(int(node) * size, (int(node) + 1) * size) for node in nodes.tolist()])

    def error(self, ranges: list[tuple[int, int]]) -> float:
        """Return the root mean square error of some ranges."""
        squares = [
            factor**2 * (self._colliding if cell[0] > self._exact else self._noise)
            for low, high in ranges
            for cell, factor in self._table.factors(low, high).items()
        ]
        return math.sqrt(math.fsum(squares) / len(ranges))

    def _located(self, key: int) -> Located:
        """Return a column and the sign +1 for each node, so that no two are taken for one."""
        bits = self._table.bits
        nodes = [key >> (bits - row) & 0xFFFFFFFF for row in range(bits)]
        is_right = [bool(key >> (bits - 1 - row) & 1) for row in range(bits)]
        return np.array(nodes, dtype=np.uint32), np.array(is_right, dtype=np.bool_)
