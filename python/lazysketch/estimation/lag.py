"""Lag: events since the last push of a column, which are not published yet.

The lag of an item is its rate times the steps that its columns have waited. The rate is unknown
and may change; the item's own published rate is the best estimate that a table offers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["BURSTINESS", "Lag"]

Array = npt.NDArray[np.float64]

# Standard deviation of an item's rate since the last push, relative to its published rate
# (docs/intervals.md).
BURSTINESS: Final = 0.5


@dataclass(frozen=True, eq=False)
class Lag:
    """Steps since the last pushes of the cells of some items.

    Attributes:
        first: earliest published step among the item's columns, float64 of shape (items,).
        last: latest published step, same shape; 0 where nothing is published.
        step: this step.
        max_weight: largest weight of an event.
    """

    first: Array
    last: Array
    step: int
    max_weight: int

    @classmethod
    def of(cls, published_steps: Array, *, step: int, max_weight: int) -> Lag:
        """Return the lag of items whose columns are published up to some steps.

        Args:
            published_steps: of the item's columns, shape (items, depth); 0 before the first push.
            step: this step.
            max_weight: largest weight of an event.

        Returns:
            The lag; ``first`` ignores columns that have never been published.
        """
        pushed = published_steps > 0
        first = np.where(pushed, published_steps, np.inf).min(axis=1)
        last: Array = published_steps.max(axis=1)
        return cls(np.where(last > 0, first, 0.0), last, step, max_weight)

    @property
    def longest(self) -> Array:
        """Steps since the earliest of the last pushes."""
        return self.step - self.first

    @property
    def shortest(self) -> Array:
        """Steps since the latest of the last pushes."""
        return self.step - self.last

    def arrivals(self, counts: Array, waiting: Array) -> Array:
        """Return the expected events of items since the last push, at their published rates.

        Args:
            counts: published, shape (items,); negative ones have rate 0.
            waiting: steps since the last push, same shape.

        Returns:
            float64 array, at least 0.
        """
        arrivals: Array = np.maximum(counts, 0.0) * waiting / np.maximum(self.last, 1.0)
        return arrivals

    @staticmethod
    def deviation(arrivals: Array) -> Array:
        """Return the standard deviation of random arrivals at an uncertain rate.

        Args:
            arrivals: expected number of arrivals.

        Returns:
            float64 array.
        """
        deviation: Array = np.sqrt(arrivals + (BURSTINESS * arrivals) ** 2)
        return deviation

    def compensated(self, estimates: Array) -> Array:
        """Return estimates of the counts at this step.

        Args:
            estimates: of the published counts.

        Returns:
            float64 array: each estimate plus its expected growth in the mean waiting time.
        """
        return estimates + self.arrivals(estimates, (self.longest + self.shortest) / 2)
