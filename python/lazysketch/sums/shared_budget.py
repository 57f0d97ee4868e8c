"""Two tables of one stream with one budget: each has a part of mu^2."""

from __future__ import annotations

from functools import lru_cache

from lazysketch.heavy_hitters.joint_privacy import Split
from lazysketch.heavy_hitters.levels_privacy import splits_of_levels
from lazysketch.specification.table_spec import TableSpec

__all__ = ["with_shared_budget"]


@lru_cache(maxsize=128)
def with_shared_budget(
    counts: TableSpec, values: TableSpec, *, count_share: float
) -> tuple[TableSpec, TableSpec]:
    """Return two tables of one stream that together have the guarantee of each as it is given.

    Guarantee: the result composes to at most the (epsilon, delta) of ``counts``, including
    floating-point error.

    Args:
        counts: table of events, with the whole budget.
        values: table of values, with the whole budget.
        count_share: part of mu^2 for the events, above 0 and below 1.

    Returns:
        Both, calibrated anew.
    """
    tables = (counts, values)
    whole = Split(counts.epsilon, counts.delta, 0.0, 0.0)
    down = 1.0 - 1e-14
    parts = (count_share * down, (1.0 - count_share) * down)
    splits = splits_of_levels(
        whole,
        parts,
        privacy_of=lambda at, epsilon, delta: tables[at].with_privacy(epsilon, delta).privacy,
    )
    return (
        counts.with_privacy(splits[0].sketch_epsilon, splits[0].sketch_delta),
        values.with_privacy(splits[1].sketch_epsilon, splits[1].sketch_delta),
    )
