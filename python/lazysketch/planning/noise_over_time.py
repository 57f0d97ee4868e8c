"""The noise of a published number, averaged over the stream."""

from __future__ import annotations

from typing import Final

import numpy as np

from lazysketch.specification.table_spec import TableSpec

__all__ = ["mean_noise_variance"]

_SHOWN_PUSHES: Final = 4_096  # over which the variance is averaged


def mean_noise_variance(spec: TableSpec, steps: int) -> float:
    """Return the mean variance of a published number over the pushes of a stream.

    Args:
        spec: a description whose columns are all pushed together.
        steps: length of the stream, 1 or more.

    Returns:
        The variance, in squared counts of the table; that of rounding to integers is included.
    """
    leaves = min(steps, spec.schedule.leaves(spec.width), spec.chosen_mechanism.leaves)
    pushes = np.unique(np.linspace(1, leaves, _SHOWN_PUSHES).astype(np.int64))
    return spec.sigma**2 * float(spec.chosen_mechanism.variances(pushes).mean()) + 1.0 / 12.0
