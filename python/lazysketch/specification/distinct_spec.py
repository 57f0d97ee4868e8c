"""The description of a count of distinct items, from the arguments of its users."""

from __future__ import annotations

from typing import Final, TypedDict

from lazysketch.arguments import checked_integer
from lazysketch.privacy.relations import Relation
from lazysketch.specification.distinct import BIT_WEIGHT, MOST_LEVELS
from lazysketch.specification.every_step import every_step_unless
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "DEFAULT_BITS",
    "DEFAULT_LEVELS",
    "BitmapOptions",
    "DistinctOptions",
    "distinct_spec",
]

DEFAULT_BITS: Final = 2**16
DEFAULT_LEVELS: Final = 8


class _Required(TypedDict):
    epsilon: float
    delta: float


class BitmapOptions(_Required, total=False):
    """Keyword arguments of counts of distinct items, whenever these are published.

    Args:
        epsilon: privacy parameter, above 0 and at most 100; no default.
        delta: privacy parameter, above 0 and below 1; choose it below 1 / number of people; no
            default.
        relation: ``"substitution"`` or ``"zero-out"``, which has half the noise.
        bits: bits of each level, a power of two from 2^6 to 2^24. The error is about
            0.9 / sqrt(bits) of the number, once noise is small against it.
        levels: sampling levels, 1 to 16; numbers up to about bits * 4^levels can be told apart.
            Memory is bits * levels / 8 bytes.
        mechanism: ``"tree"`` for the least noise, ``"tree-log"``, ``"tree-deep"`` or ``"haar"``.
        hash_seed: public seed, 0 to 2^64 - 1; a fresh one when None.
    """

    relation: Relation
    bits: int
    levels: int
    mechanism: MechanismName
    hash_seed: int | None


class DistinctOptions(BitmapOptions, total=False):
    """Keyword arguments of a count of distinct items.

    Args:
        horizon: number of steps, or None for any number; with a horizon there is less noise.
        schedule: when the counts are published; by default at every step, which costs nothing.
    """

    horizon: int | None
    schedule: Schedule | None


def distinct_spec(
    *,
    epsilon: float,
    delta: float,
    relation: Relation = "substitution",
    horizon: int | None = None,
    bits: int = DEFAULT_BITS,
    levels: int = DEFAULT_LEVELS,
    schedule: Schedule | None = None,
    mechanism: MechanismName = "tree",
    hash_seed: int | None = None,
) -> TableSpec:
    """Return the description of a count of distinct items.

    Args:
        epsilon: as in :class:`BitmapOptions`, like all others.
        delta: privacy parameter.
        relation: neighbouring streams.
        horizon: number of steps, or None.
        bits: bits of each level.
        levels: sampling levels.
        schedule: when the counts are published.
        mechanism: short name of the mechanism.
        hash_seed: public seed.

    Returns:
        A description of kind ``"distinct"``.

    Raises:
        ArgumentTypeError: a wrong type, or a horizon and a schedule.
        ArgumentValueError: a value outside its range.

    Example:
        >>> distinct_spec(epsilon=1.0, delta=1e-6, horizon=1_000).width
        8
    """
    return TableSpec(
        kind="distinct",
        depth=1,
        width=checked_integer("levels", levels, most=MOST_LEVELS),
        bits=bits,
        schedule=every_step_unless(schedule, horizon=horizon),
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        max_weight=BIT_WEIGHT,
        hash_seed=hash_seed,
    )
