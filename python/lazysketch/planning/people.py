"""A public sample of events with their people: what a bound of people would drop of it.

The core itself decides which events count, so that what the collisions of a person's own items drop
is dropped here too. No live object is made, and no stream is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentValueError, LazySketchError
from lazysketch.planning.workload import Workload
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.releases.items import plain_values

__all__ = ["Counted", "PublicPeople"]

_FEWEST_PEOPLE: Final = 2
_FEWEST_TOP: Final = 10
_MOST_TOP: Final = 100
_DECIDED: Final = 2**16  # events for which one hash seed is enough
_MOST_SEEDS: Final = 4
_MOST_CELLS: Final = 4_096
_MOST_EVENTS: Final = 65_535


@dataclass(frozen=True, eq=False)
class Counted:
    """What a bound counts of a sample; shares are means over some hash seeds.

    Attributes:
        of_each: counted weight of each item with the first of them, whole numbers as float64.
        dropped: share of the weight of all events that is not counted.
        dropped_of_top: share of the weight of a top item that is not counted, mean over the items.
        worst_of_top: the same, of the item with the largest one.
    """

    of_each: npt.NDArray[np.float64]
    dropped: float
    dropped_of_top: float
    worst_of_top: float

    def workload(self, *, events: float) -> Workload:
        """Return the distribution of what is counted, scaled to a stream.

        Args:
            events: counted weight of the stream.
        """
        return Workload.sample(self.of_each, events=events)


@dataclass(frozen=True, eq=False)
class PublicPeople:
    """Events of a public sample, each with its item and its person.

    Attributes:
        items: the items, in the order of the stream.
        user: the person of each.
        weights: the weight of each, float64; None if all are 1.
        share: share of the stream of the item whose error is predicted.
    """

    items: _native.LoggedEvents
    user: _native.LoggedEvents
    weights: npt.NDArray[np.float64] | None
    share: float

    @classmethod
    def of(cls, sample: object, user: object, weights: object, *, share: float) -> PublicPeople:
        """Check and return a sample.

        Args:
            sample: the items.
            user: the person of each item.
            weights: the weight of each item; None if all are 1.
            share: share of the stream of the item whose error is predicted.

        Returns:
            The sample.

        Raises:
            ArgumentTypeError: not items, or not people.
            ArgumentValueError: other lengths, no event, or one person only.
            ItemError: an item or a person that cannot be one.
        """
        values = plain_values("sample", sample)
        if not values:
            raise ArgumentValueError("sample: expected at least one event, got none")
        try:
            items = _native.logged_events(values)
        except LazySketchError as error:
            raise type(error)(f"sample:{str(error).partition(':')[2]}") from None
        people = _native.people_of_batch(plain_values("user", user))
        if len(people) != len(items):
            raise ArgumentValueError(
                f"user: expected one person per item of the sample ({len(items):,}), got "
                f"{len(people):,}"
            )
        weighed = None if weights is None else _native.plain_weights(weights).astype(np.float64)
        if weighed is not None and len(weighed) != len(items):
            raise ArgumentValueError(
                f"weights: expected one per item of the sample ({len(items):,}), got "
                f"{len(weighed):,}"
            )
        if weighed is not None and not weighed.any():
            raise ArgumentValueError("sample: expected at least one event with a weight, got none")
        found = cls(items, people, weighed, share)
        if found.number < _FEWEST_PEOPLE:
            raise ArgumentValueError(
                "user: expected a sample of several people, got one person, who says nothing of "
                "others"
            )
        return found

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.items)

    @cached_property
    def number(self) -> int:
        """Number of people."""
        return int(self._people.max()) + 1

    @property
    def mean_weight(self) -> float:
        """Mean weight of an event."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    @cached_property
    def largest(self) -> PersonBound:
        """The smallest bound that would drop nothing if a person's items did not collide."""
        pairs = self._people * (int(self._codes.max()) + 1) + self._codes
        found, repeated = np.unique(pairs, return_counts=True)
        different = np.bincount(found // (int(self._codes.max()) + 1))
        return PersonBound(
            cells=min(int(different.max()), _MOST_CELLS),
            events=min(int(repeated.max()), _MOST_EVENTS),
        )

    def counted(self, bound: PersonBound, *, depth: int, width: int) -> Counted:
        """Return what a bound counts of the sample, in a table of some size.

        Guarantee: the rule of the core, event by event, for fixed hash seeds: equal arguments give
        equal results.

        Args:
            bound: the bound.
            depth: rows of the table.
            width: buckets per row.

        Returns:
            What is counted.
        """
        seeds = min(_MOST_SEEDS, max(1, _DECIDED // len(self)))
        counted = [
            self._counted_of_each(bound, depth=depth, width=width, hash_seed=seed)
            for seed in range(seeds)
        ]
        mean = np.mean(counted, axis=0)
        of_top = 1.0 - mean[self._top] / self.totals[self._top]
        return Counted(
            of_each=counted[0],
            dropped=max(0.0, 1.0 - math.fsum(mean) / math.fsum(self.totals)),
            dropped_of_top=float(np.clip(of_top.mean(), 0.0, 1.0)),
            worst_of_top=float(np.clip(of_top.max(), 0.0, 1.0)),
        )

    def _counted_of_each(
        self, bound: PersonBound, *, depth: int, width: int, hash_seed: int
    ) -> npt.NDArray[np.float64]:
        decided = _native.events_within_bound(
            self.items,
            self.user,
            depth=depth,
            width=width,
            hash_seed=hash_seed,
            cells=bound.cells,
            events=bound.events,
        )
        weights = decided if self.weights is None else self.weights * decided
        return np.bincount(self._codes, weights, len(self.totals)).astype(np.float64)

    @cached_property
    def top(self) -> int:
        """Number of the top items: those with at least the share, at least 10, at most 100."""
        return len(self._top)

    @cached_property
    def _codes(self) -> npt.NDArray[np.int64]:
        return _numbered(self.items)

    @cached_property
    def _people(self) -> npt.NDArray[np.int64]:
        return _numbered(self.user)

    @cached_property
    def totals(self) -> npt.NDArray[np.float64]:
        """Weight of each item, float64."""
        return np.bincount(self._codes, self.weights).astype(np.float64)

    @cached_property
    def _top(self) -> npt.NDArray[np.int64]:
        order = np.argsort(-self.totals, kind="stable")
        shared = int(np.count_nonzero(self.totals >= self.share * self.totals.sum()))
        found = order[: min(max(shared, _FEWEST_TOP), _MOST_TOP)]
        return found[self.totals[found] > 0]


def _numbered(values: _native.LoggedEvents) -> npt.NDArray[np.int64]:
    """Return a number for each value, the same for equal ones, from 0 on."""
    numbers: dict[object, int] = {}
    # Text, bytes and integers that are equal as Python values are of one type here.
    found = [numbers.setdefault(value, len(numbers)) for value in values.tolist()]
    return np.array(found, dtype=np.int64)
