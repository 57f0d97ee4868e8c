"""The description of a distribution of values, from the arguments of its users."""

from __future__ import annotations

from typing import Final, TypedDict

from lazysketch.errors import ArgumentTypeError
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.specification.bins import Bins
from lazysketch.specification.every_step import every_step_unless
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import ValueRows, padded_bins

__all__ = ["BinnedOptions", "DistributionOptions", "distribution_spec"]

_SEED: Final = 0  # nothing is hashed


class _Required(TypedDict):
    bins: Bins
    epsilon: float
    delta: float


class BinnedOptions(_Required, total=False):
    """Keyword arguments of distributions of values, whenever these are published.

    Args:
        bins: public bins, such as ``Bins.linear(0, 100)``; no default.
        epsilon: privacy parameter, above 0; no default. Above about 18 the noise is too small for
            its draws, which is an error.
        delta: privacy parameter, above 0 and below 1; choose it below 1 / number of people; no
            default.
        relation: ``"substitution"`` or ``"zero-out"``, with 0.7 times the noise.
        mechanism: ``"tree"`` for the least noise over steps, ``"tree-log"``, ``"tree-deep"``,
            ``"haar"`` or ``"binary"``.
        value_rows: rows of the tree over bins, ``"tree"`` or ``"haar"``; by default those with
            the least noise.
        max_events_per_user: events of one person that are protected together, 1 to 2^20.
        person_bound: what is counted of each person, who is protected then, however many events
            there are: ``PersonBound(events=10)`` for 10 values, in any bins. Every value needs its
            person: ``update_many(values, user=people)``.
    """

    relation: Relation
    mechanism: MechanismName
    value_rows: ValueRows | None
    max_events_per_user: int
    person_bound: PersonBound | None


class DistributionOptions(BinnedOptions, total=False):
    """Keyword arguments of a distribution of values.

    Args:
        horizon: number of steps, or None for any number; with a horizon there is less noise.
        schedule: ``Batch``, ``Punctual`` or ``Single``; by default counts are published at every
            step, which costs nothing.
    """

    horizon: int | None
    schedule: Schedule | None


def distribution_spec(
    *,
    bins: Bins,
    epsilon: float,
    delta: float,
    relation: Relation = "substitution",
    horizon: int | None = None,
    schedule: Schedule | None = None,
    mechanism: MechanismName = "tree",
    value_rows: ValueRows | None = None,
    max_events_per_user: int = 1,
    person_bound: PersonBound | None = None,
    moves: bool = False,
) -> TableSpec:
    """Return the description of a distribution of values.

    Args:
        bins: as in :class:`BinnedOptions`, like all others.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: neighbouring streams.
        horizon: number of steps, or None.
        schedule: when the counts are published.
        mechanism: short name of the mechanism over steps.
        value_rows: rows of the tree over bins.
        max_events_per_user: events protected together.
        person_bound: what is counted of each person, or None to protect events.
        moves: True to cover an event that moves to another window of time.

    Returns:
        A description of kind ``"values"``.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Example:
        >>> spec = distribution_spec(
        ...     bins=Bins.linear(0, 1, number=100), epsilon=1.0, delta=1e-6, horizon=512
        ... )
        >>> spec.width, spec.chosen_mechanism.name, spec.chosen_value_rows
        (128, 'tree', 'tree')
    """
    if not isinstance(bins, Bins):
        raise ArgumentTypeError(f"bins: expected Bins, got {type(bins).__name__}")
    return TableSpec(
        kind="values",
        depth=1,
        width=padded_bins(bins.number),
        edges=bins.edges,
        value_rows=value_rows,
        schedule=every_step_unless(schedule, horizon=horizon),
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        max_events_per_user=max_events_per_user,
        person_bound=person_bound,
        moves=moves,
        hash_seed=_SEED,
    )
