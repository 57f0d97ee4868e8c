"""The description of sums by item: two tables with one hash, one schedule and one budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.specification.every_step import every_step_unless
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Batch, Punctual, Schedule, Single
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_grid import ValueGrid
from lazysketch.sums.shared_budget import with_shared_budget

__all__ = ["DEPTH", "WIDTH", "SumsOptions", "SumsSpec", "ValueOptions", "best_share", "sums_spec"]

_Number = TypeVar("_Number", float, npt.NDArray[np.float64])

DEPTH: Final = 5
WIDTH: Final = 1024
_LEAST_SHARE: Final = 0.2  # of mu^2: means need counts too
_MOST_SHARE: Final = 0.8


class _Required(TypedDict):
    low: float
    high: float
    epsilon: float
    delta: float


class ValueOptions(_Required, total=False):
    """Keyword arguments of sums by item, whenever these are published.

    Args:
        low: smaller values count as this one; public, chosen without the private data; no default.
        high: larger values count as this one; public; no default.
        epsilon: privacy parameter of counts and values together, above 0 and at most 100; no
            default.
        delta: privacy parameter, above 0 and below 1; choose it below 1 / number of people; no
            default.
        step: values are rounded to multiples of it from ``low``, and sums are of rounded values;
            by default 2^16 steps, and intervals that cover the sum before rounding.
        depth: rows, 1 to 64. More rows need more noise.
        width: columns, 1 to 2^24.
        relation: ``"substitution"`` or ``"zero-out"``, with half the noise.
        mechanism: ``"tree"`` for the least noise over steps, ``"tree-log"``, ``"tree-deep"``,
            ``"haar"`` or ``"binary"``.
        max_events_per_user: events of one person that are protected together, 1 to 2^20.
        person_bound: what is counted of each person, who is protected then, however many events
            there are: ``PersonBound(cells=10)`` for about 10 different items, the same events in
            both tables. Every event needs its person: ``update_many(items, values, user=people)``.
        count_share: part of mu^2 for the table of events, above 0 and below 1; by default the one
            with the least predicted error of a sum, from 0.2 to 0.8.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and sketch id when None.
    """

    step: float | None
    depth: int
    width: int
    relation: Relation
    mechanism: MechanismName
    max_events_per_user: int
    person_bound: PersonBound | None
    count_share: float | None
    hash_seed: int | None


class SumsOptions(ValueOptions, total=False):
    """Keyword arguments of sums by item.

    Args:
        horizon: number of steps, or None for any number; with a horizon there is less noise.
        schedule: ``Batch``, ``Punctual`` or ``Single``; by default tables are published at every
            step.
    """

    horizon: int | None
    schedule: Schedule | None


@dataclass(frozen=True, kw_only=True)
class SumsSpec:
    """Complete description of sums by item; made by :func:`sums_spec`.

    Guarantee: the noise of both tables makes everything that is ever released, at any number of
    steps, (``epsilon``, ``delta``)-DP for the relation.

    Attributes:
        grid: how values become integers.
        counts: table of events.
        values: table of the integers, which have signs.
        epsilon: of both tables together.
        delta: of both tables together.
    """

    grid: ValueGrid
    counts: TableSpec
    values: TableSpec
    epsilon: float
    delta: float

    @property
    def privacy(self) -> SumsPrivacy:
        """The guarantee under a secret key."""
        return SumsPrivacy(self.epsilon, self.delta, self.counts.privacy, self.values.privacy)

    @property
    def schedule(self) -> Schedule:
        """When both tables are published."""
        return self.counts.schedule

    def with_hash_seed(self, seed: int) -> SumsSpec:
        """Return the same sums with another hash seed.

        Args:
            seed: public seed, 0 to 2^64 - 1.

        Returns:
            A new description.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range.
        """
        counts, values = self.counts.with_hash_seed(seed), self.values.with_hash_seed(seed)
        return replace(self, counts=counts, values=values)


def sums_spec(
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float,
    step: float | None = None,
    depth: int = DEPTH,
    width: int = WIDTH,
    relation: Relation = "substitution",
    horizon: int | None = None,
    schedule: Schedule | None = None,
    mechanism: MechanismName = "tree",
    max_events_per_user: int = 1,
    person_bound: PersonBound | None = None,
    count_share: float | None = None,
    hash_seed: int | None = None,
) -> SumsSpec:
    """Return the description of sums by item.

    Args:
        low: as in :class:`SumsOptions`, like all others.
        high: largest value.
        epsilon: privacy parameter.
        delta: privacy parameter.
        step: distance of grid points, or None.
        depth: rows.
        width: columns.
        relation: neighbouring streams.
        horizon: number of steps, or None.
        schedule: when the tables are published.
        mechanism: short name of the mechanism over steps.
        max_events_per_user: events protected together.
        person_bound: what is counted of each person, or None to protect events.
        count_share: part of mu^2 for the table of events, or None.
        hash_seed: public seed, or None.

    Returns:
        The description, with calibrated noise.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorems 25 and 28.

    Example:
        >>> spec = sums_spec(low=-1, high=1, step=0.5, epsilon=1.0, delta=1e-6, horizon=512)
        >>> spec.values.max_weight, spec.counts.max_weight
        (4, 1)
    """
    grid = ValueGrid.of(low, high, step)
    chosen = every_step_unless(schedule, horizon=horizon)
    if not isinstance(chosen, Punctual | Batch | Single):
        got = getattr(chosen, "name", type(chosen).__name__)
        raise ArgumentValueError(
            f"schedule: expected Batch, Punctual or Single, which publish all columns together, "
            f"got {got}"
        )
    half = (grid.high - grid.low) / 2.0
    share = float(best_share(abs(grid.middle), half))
    if count_share is not None:
        share = checked_real("count_share", count_share)
    if not 0.0 < share < 1.0:
        raise ArgumentValueError(f"count_share: expected above 0 and below 1, got {share:g}")
    counts = TableSpec(
        kind="count-sketch",
        depth=depth,
        width=width,
        schedule=chosen,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        max_events_per_user=max_events_per_user,
        person_bound=person_bound,
        hash_seed=hash_seed,
    )
    values = replace(counts, max_weight=grid.steps)
    shared = with_shared_budget(counts, values, count_share=share)
    return SumsSpec(
        grid=grid, counts=shared[0], values=shared[1], epsilon=counts.epsilon, delta=counts.delta
    )


def best_share(middle: _Number, half: _Number) -> _Number:
    """Return the part s that minimises middle^2 / s + half^2 / (1 - s), the variance of a sum.

    Args:
        middle: distance of the middle of the bounds from 0, or an array of them.
        half: half of the range, above 0.

    Returns:
        The part of mu^2 for the table of events, from 0.2 to 0.8, as means need both.
    """
    found: _Number = np.clip(middle / (middle + half), _LEAST_SHARE, _MOST_SHARE)
    return found
