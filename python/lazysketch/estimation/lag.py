"""What has come since a column was last pushed, and is not published yet.

The lag of an item is its rate times the steps that its columns have been waiting. The rate is
unknown and may change; the item's own published rate is the best guess that a table offers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["BURSTINESS", "Lag"]

Array = npt.NDArray[np.float64]

# Standard deviation of an item's rate while it waits, as a share of its published rate
# (docs/intervals.md has what real streams show).
BURSTINESS: Final = 0.5


@dataclass(frozen=True, eq=False)
class Lag:
    """How long the cells of some items have been waiting.

    Attributes:
        first: earliest published step among the item's columns, float64 of shape (items,).
        last: latest, same shape; 0 where nothing is published.
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
            published_steps: of the item's columns, shape (items, depth); 0 where nothing is.
            step: this step.
            max_weight: largest weight of an event.

        Returns:
            The lag; columns that have not been published do not count as the earliest.
        """
        pushed = published_steps > 0
        first = np.where(pushed, published_steps, np.inf).min(axis=1)
        last: Array = published_steps.max(axis=1)
        return cls(np.where(last > 0, first, 0.0), last, step, max_weight)

    @property
    def longest(self) -> Array:
        """Steps that the column has waited that waits longest."""
        return self.step - self.first

    @property
    def shortest(self) -> Array:
        """Steps that the column has waited that was pushed last."""
        return self.step - self.last

    def arrivals(self, counts: Array, waiting: Array) -> Array:
        """Return the expected events of items while they wait, at their published rates.

        Args:
            counts: published, shape (items,); a negative one has no rate.
            waiting: steps, same shape.

        Returns:
            float64 array, at least 0.
        """
        arrivals: Array = np.maximum(counts, 0.0) * waiting / np.maximum(self.last, 1.0)
        return arrivals

    @staticmethod
    def deviation(arrivals: Array) -> Array:
        """Return the standard deviation of arrivals that come at random, at an uncertain rate.

        Args:
            arrivals: expected.

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
            float64 array: each with what it should have grown by in the mean waiting time.
        """
        return estimates + self.arrivals(estimates, (self.longest + self.shortest) / 2)
