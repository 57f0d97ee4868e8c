"""The description of discovery: its epoch, table and threshold.

:class:`DiscoverySpec` describes one setting. :func:`discovery_for` chooses the setting that finds
items of a share soonest: the shortest epoch in which such an item is found with 95 % probability.
Items are counted exactly if memory has a slot for every event of the epoch, else by Misra-Gries.
The native core computes noise and thresholds.

Source: C. Lebeda and J. Tetek, PODS 2023; docs/theory.md, Theorems 9 to 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

from lazysketch import _native
from lazysketch.arguments import check_bools, checked_integer, checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import Relation, checked_relation
from lazysketch.specification.schedules import Schedule, Single

__all__ = ["LARGEST_EPOCH", "DiscoverySpec", "discovery_for"]

LARGEST_EPOCH: Final = 2**40
_DEVIATIONS: Final = 1.6449  # quantile 95 % of a standard normal variable
_SLOTS_PER_ITEM: Final = 4  # keeps the error of Misra-Gries below a quarter of the share
_LARGEST_CAPACITY: Final = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverySpec:
    """Complete description of discovery.

    Guarantee: all names ever published satisfy (``epsilon``, ``delta``)-DP for ``relation``; the
    core computes the noise and the threshold that this requires.

    Args:
        epsilon: privacy parameter of discovery alone.
        delta: privacy parameter of discovery alone.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_events_per_user: events of one person that are protected together.
        epoch: steps after which names are published.
        capacity: items that the table holds.
        max_item_bytes: bytes kept of an item; longer items are published truncated.
        max_weight: largest weight of one event; must be that of the sketch.
        counted_weight: largest weight that is counted of an event, from 1 to ``max_weight``; 1
            counts each event as 1.
        batches: True if a step may hold many events.

    Raises:
        ArgumentValueError: a value outside its range, or privacy that no threshold can provide.

    Source: docs/theory.md, Theorems 9 to 11.
    """

    epsilon: float
    delta: float
    relation: Relation
    max_events_per_user: int
    epoch: int
    capacity: int
    max_item_bytes: int
    max_weight: int = 1
    counted_weight: int = 1
    batches: bool = False
    facts: _native.DiscoveryFacts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every field and compute the threshold, both in the core."""
        longest = checked_integer("max_item_bytes", self.max_item_bytes, least=16, most=2**16)
        object.__setattr__(self, "max_item_bytes", longest)
        for name in ("max_events_per_user", "epoch", "capacity", "max_weight"):
            most = 2**32 - 1 if name == "capacity" else 2**63 - 1
            object.__setattr__(self, name, checked_integer(name, getattr(self, name), most=most))
        counted = checked_integer("discovery_weight", self.counted_weight, most=self.max_weight)
        object.__setattr__(self, "counted_weight", counted)
        check_bools(batches=self.batches)
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, checked_real(name, getattr(self, name)))
        checked_relation(self.relation)
        object.__setattr__(self, "facts", _native.discovery_facts(self))

    @property
    def variant(self) -> str:
        """``"dictionary"`` (exact) or ``"misra-gries"``."""
        return self.facts["variant"]

    @property
    def threshold(self) -> int:
        """A name is published if its count in an epoch plus noise reaches this number.

        With exact counts, the count that is published half of the time. Counts are those of events,
        or with ``counted_weight`` above 1 sums of their weights, each cut at ``counted_weight``.
        """
        return self.facts["threshold"]

    @property
    def memory(self) -> int:
        """Bytes of the table, all allocated at construction."""
        return self.facts["bytes"]

    @property
    def smallest_share(self) -> float:
        """Share of the stream that an item needs to be found in one epoch with 95 % probability.

        With ``counted_weight`` above 1: the share of the steps, if each of them has at least that
        weight.

        Returns:
            A share; above 1 if the epoch is too short for every item; NaN for batches, whose number
            of events is not known in advance.
        """
        return math.nan if self.batches else self.share_within(self.epoch)

    def share_within(self, steps: int) -> float:
        """Return the share that an item needs to be found in an epoch that ends early.

        Args:
            steps: steps after which the epoch ends, 1 or more; an event each.

        Returns:
            The share at which it is found with 95 % probability, above 1 for too few steps.
        """
        undercount = 0.0 if self.variant == "dictionary" else 1.0 / (self.capacity + 1)
        return _events_needed(self) / min(steps, self.epoch) + undercount


def discovery_for(
    share: float, *, smallest: DiscoverySpec, memory: int, schedule: Schedule, epoch: int | None
) -> DiscoverySpec:
    """Return the description that finds items of a share soonest.

    Guarantee: depends on public parameters only.

    Args:
        share: share of the stream, above 0 and at most 1.
        smallest: description with the wanted privacy, and an epoch and a capacity of 1.
        memory: bytes for the table.
        schedule: schedule of the sketch.
        epoch: steps of an epoch, or None to choose them here: with ``Single()``, all that come.

    Returns:
        Exact counting if its epoch fits into memory, else Misra-Gries.

    Raises:
        ArgumentValueError: memory for less than one item, or privacy that no threshold can provide.
    """
    if epoch is None and schedule == Single():
        epoch = LARGEST_EPOCH  # nothing is published before the end, so neither are names
    slots = min(max(memory // smallest.memory, 1), _LARGEST_CAPACITY)
    exact = _epoch(share, smallest, schedule) if epoch is None else epoch
    if exact <= slots and not smallest.batches:
        return replace(smallest, epoch=exact, capacity=exact)
    wanted = math.ceil(min(_SLOTS_PER_ITEM / share, slots))
    summary = replace(smallest, epoch=LARGEST_EPOCH, capacity=wanted)
    found = share - 1.0 / (wanted + 1)
    if found <= 0.0:
        raise ArgumentValueError(
            f"memory: expected room for at least {1 / share:.0f} items of discovery, got {wanted}"
        )
    return replace(summary, epoch=_epoch(found, summary, schedule) if epoch is None else epoch)


def _epoch(share: float, spec: DiscoverySpec, schedule: Schedule) -> int:
    """Return the steps after which an item of a share is found, rounded up to two digits."""
    steps = min(_events_needed(spec) / share, float(LARGEST_EPOCH))
    unit: int = 10 ** max(math.floor(math.log10(steps)) - 1, 0)
    rounded: int = math.ceil(steps / unit) * unit
    most = LARGEST_EPOCH if schedule.horizon is None else min(LARGEST_EPOCH, schedule.horizon)
    return min(rounded, most)


def _events_needed(spec: DiscoverySpec) -> float:
    """Return the mean count of an item that is published with 95 % probability.

    The core states the count for which that holds, as a sum of weights; an event counts as
    ``counted_weight`` of them at most. Counts of events that arrive at random vary by their square
    root.
    """
    least = math.ceil(spec.facts["sure_count"] / spec.counted_weight)
    root = (_DEVIATIONS + math.sqrt(_DEVIATIONS**2 + 4.0 * least)) / 2.0
    return root * root
