"""The description of counts of ranges of keys, from the arguments of their users."""

from __future__ import annotations

from typing import Final, TypedDict

from lazysketch.arguments import checked_integer
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.specification.every_step import every_step_unless
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.sizing import LARGEST_WIDTH
from lazysketch.specification.table_spec import TableSpec

__all__ = ["DEFAULT_BITS", "DEFAULT_WIDTH", "KeyOptions", "RangesOptions", "ranges_spec"]

DEFAULT_BITS: Final = 32
DEFAULT_WIDTH: Final = 4096
_MOST_BITS: Final = 64


class _Required(TypedDict):
    epsilon: float
    delta: float


class KeyOptions(_Required, total=False):
    """Keyword arguments of counts of ranges of keys, whenever these are published.

    Args:
        epsilon: privacy parameter, above 0 and at most 100; no default.
        delta: privacy parameter, above 0 and below 1; choose it below 1 / number of people; no
            default.
        bits: bits of a key, 1 to 64; keys are integers from 0 to 2^bits - 1. Fewer bits need less
            noise.
        width: columns, 2 to 2^24; memory is ``bits * width`` cells. Where the nodes of the first n
            depths of the tree are no more than n * width, they have no collisions.
        relation: ``"substitution"`` or ``"zero-out"``, with less noise.
        mechanism: ``"tree"`` for the least noise over steps, ``"tree-log"``, ``"tree-deep"``,
            ``"haar"`` or ``"binary"``.
        max_weight: largest weight of one key, 1 to 2^32, in counts.
        max_events_per_user: events of one person that are protected together, 1 to 2^20.
        person_bound: what is counted of each person, who is protected then, however many events
            there are: so many keys, whatever they are. Every key needs its person:
            ``update_many(keys, user=people)``.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and sketch id when None.
    """

    bits: int
    width: int
    relation: Relation
    mechanism: MechanismName
    max_weight: int
    max_events_per_user: int
    person_bound: PersonBound | None
    hash_seed: int | None


class RangesOptions(KeyOptions, total=False):
    """Keyword arguments of counts of ranges of keys.

    Args:
        horizon: number of steps, or None for any number; with a horizon there is less noise.
        schedule: ``Batch``, ``Punctual`` or ``Single``; by default counts are published at every
            step, which costs nothing but noise. With batches there is least noise.
    """

    horizon: int | None
    schedule: Schedule | None


def ranges_spec(
    *,
    epsilon: float,
    delta: float,
    bits: int = DEFAULT_BITS,
    width: int = DEFAULT_WIDTH,
    relation: Relation = "substitution",
    horizon: int | None = None,
    schedule: Schedule | None = None,
    mechanism: MechanismName = "tree",
    max_weight: int = 1,
    max_events_per_user: int = 1,
    person_bound: PersonBound | None = None,
    hash_seed: int | None = None,
) -> TableSpec:
    """Return the description of counts of ranges of keys.

    Args:
        epsilon: privacy parameter, like all others as in :class:`RangesOptions`.
        delta: privacy parameter.
        bits: bits of a key.
        width: columns.
        relation: neighbouring streams.
        horizon: number of steps, or None.
        schedule: when the counts are published.
        mechanism: short name of the mechanism over steps.
        max_weight: largest weight of one key.
        max_events_per_user: events protected together.
        person_bound: what is counted of each person, or None to protect events.
        hash_seed: public seed.

    Returns:
        A description of kind ``"ranges"``.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Example:
        >>> spec = ranges_spec(bits=16, width=256, epsilon=1.0, delta=1e-6, horizon=512)
        >>> spec.depth, spec.width, spec.chosen_mechanism.name
        (16, 256, 'tree')
    """
    return TableSpec(
        kind="ranges",
        depth=checked_integer("bits", bits, most=_MOST_BITS),
        width=checked_integer("width", width, least=2, most=LARGEST_WIDTH),
        schedule=every_step_unless(schedule, horizon=horizon),
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        max_weight=max_weight,
        max_events_per_user=max_events_per_user,
        person_bound=person_bound,
        hash_seed=hash_seed,
    )
