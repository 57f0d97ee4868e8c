"""Errors of the cells of a public table, as the core estimates them.

An item's bucket is uniform over the columns of a row, whatever the other items are. So the cells of
the table are a sample of the error in the item's own cell: collisions plus noise, in their true
proportions and with their true tails. Columns that were pushed at other times, or with other noise,
are kept apart in groups.

Making a model costs a pass over the table. An estimate then takes under a microsecond; the first
interval at a confidence some milliseconds, further ones microseconds.

Source: docs/estimators.md, docs/intervals.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.privacy.relations import CountKind

__all__ = ["BURSTINESS", "deviations_of", "error_model", "level_of"]

# Standard deviation of an item's rate since the last push, relative to its published rate
# (docs/intervals.md).
BURSTINESS: Final = 0.5


class _Numbers(TypedDict):
    """What the core takes of a table besides its values."""

    published: Callable[[], npt.NDArray[np.float64]]
    variance: Callable[[], npt.NDArray[np.float64]]
    step: float
    max_weight: float
    burstiness: float


def error_model(
    table: _native.Release | npt.NDArray[np.int64],
    *,
    kind: CountKind,
    published_steps: Callable[[], npt.NDArray[np.float64]],
    noise_variance: Callable[[], npt.NDArray[np.float64]],
    step: int,
    max_weight: int,
) -> _native.ErrorModel:
    """Return the errors of the cells of a table.

    Args:
        table: released values, shape (depth, width); those of a release are not copied.
        kind: Count-Min, whose collisions are positive, Count Sketch or counters.
        published_steps: returns the step up to which every column is published, shape (width,); 0
            before its first push. Called once: its result is copied.
        noise_variance: returns that of the cells of every column, shape (width,); as above.
        step: this step.
        max_weight: largest weight of an event.

    Returns:
        A model that answers for items of this table.
    """
    numbers: _Numbers = {
        "published": published_steps,
        "variance": noise_variance,
        "step": float(step),
        "max_weight": float(max_weight),
        "burstiness": BURSTINESS,
    }
    if isinstance(table, _native.Release):
        return table.error_model(**numbers)
    return _native.ErrorModel(table, kind=kind, **numbers)


def level_of(confidence: float, *, among: int | None) -> float:
    """Return the probability of a miss at one end of one interval.

    Args:
        confidence: of the interval, or of all together.
        among: number of intervals that cover together, by the union bound; None for each alone.

    Returns:
        A probability.

    Example:
        >>> level_of(0.5, among=None), level_of(0.5, among=2)
        (0.25, 0.125)
    """
    return (1.0 - confidence) / 2.0 / (among or 1)


def deviations_of(level: float) -> float:
    """Return the number of standard deviations that a normal variable exceeds with a probability.

    Args:
        level: above 0 and at most 1/2.

    Returns:
        At least 0.

    Example:
        >>> round(deviations_of(0.025), 2)
        1.96
    """
    from statistics import NormalDist  # late: it loads random and hashlib

    return -NormalDist().inv_cdf(level)
