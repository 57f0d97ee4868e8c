"""How discovery is set: its window and its table, from the share of the items to be found.

What it computes: the smallest window in which an item of the wanted share is found with 95 %
probability, exactly counted if memory allows a slot for every event of the window, by Misra-Gries
otherwise. It costs a few questions to the core, which finds noise and thresholds itself.

Source: C. Lebeda and J. Tetek, PODS 2023; docs/theory.md, Theorems 9 to 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from lazysketch import _native
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters.settings import LARGEST_WINDOW
from lazysketch.privacy.relations import Relation
from lazysketch.specification.schedules import Batch, Schedule

__all__ = ["Discovery", "discovery_for"]

_RECALL: Final = 0.95
_DEVIATIONS: Final = 1.6449  # of a normal variable, exceeded downwards with 1 - _RECALL
_SLOTS_PER_ITEM: Final = 4  # of Misra-Gries: its error stays below a quarter of the share
_LARGEST_CAPACITY: Final = 2**24


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """A setting of discovery, as the core judges it.

    Guarantee: all names ever published satisfy (``epsilon``, ``delta``) for ``relation``; the core
    finds the noise and the threshold that this needs.

    Args:
        epsilon: privacy parameter of discovery alone.
        delta: privacy parameter of discovery alone.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_events_per_user: events of one person that are protected together.
        window: steps after which names are published.
        capacity: items that the table holds.
        max_item_bytes: bytes kept of an item; longer ones are published cut.
        max_weight: largest weight of one event; must be that of the sketch. Events are counted
            whatever they weigh.
        batches: True if a step may hold many events.

    Raises:
        ArgumentValueError: a value outside its range, or a promise that no threshold can keep.

    Source: docs/theory.md, Theorems 9 to 11.
    """

    epsilon: float
    delta: float
    relation: Relation
    max_events_per_user: int
    window: int
    capacity: int
    max_item_bytes: int
    max_weight: int = 1
    batches: bool = False

    def __post_init__(self) -> None:
        """Let the core check everything."""
        object.__setattr__(self, "_facts", _native.discovery_facts(discovery=self.arguments))

    @property
    def arguments(self) -> dict[str, Any]:
        """What the core is given."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_events_per_user": self.max_events_per_user,
            "max_weight": self.max_weight,
            "weighted": False,
            "window": self.window,
            "batches": self.batches,
            "capacity": self.capacity,
            "max_item_bytes": self.max_item_bytes,
        }

    @property
    def facts(self) -> dict[str, Any]:
        """What the core makes of it."""
        facts: dict[str, Any] = self.__dict__["_facts"]
        return facts

    @property
    def variant(self) -> str:
        """``"dictionary"`` (exact) or ``"misra-gries"``."""
        return str(self.facts["variant"])

    @property
    def threshold(self) -> int:
        """A name is published if its count in a window plus noise reaches this."""
        return int(self.facts["threshold"])

    @property
    def memory(self) -> int:
        """Bytes of the table, all taken at construction."""
        return int(self.facts["bytes"])

    @property
    def smallest_share(self) -> float:
        """Share of the stream at which an item is found in one window with 95 % probability.

        Returns:
            A share; above 1 if the window is too short for any item; NaN for batches, whose
            events are not counted in advance.
        """
        if self.batches:
            return math.nan
        needed = _events_needed(self.threshold, float(self.facts["noise_epsilon"]), self.variant)
        undercount = 0.0 if self.variant == "dictionary" else 1.0 / (self.capacity + 1)
        return needed / self.window + undercount


def discovery_for(
    share: float,
    *,
    memory: int,
    schedule: Schedule,
    window: int | None,
    **promise: Any,
) -> Discovery:
    """Return the setting that finds items of a share soonest.

    Guarantee: depends on public parameters only.

    Args:
        share: of the stream, above 0 and at most 1.
        memory: bytes for the table.
        schedule: of the sketch.
        window: steps of a window if the caller chooses, or None.
        promise: the other arguments of :class:`Discovery`.

    Returns:
        Exact counting if its window fits into memory, Misra-Gries otherwise.

    Raises:
        ArgumentValueError: memory for less than one item, or a promise that cannot be kept.
    """
    horizon = schedule.horizon
    promise["batches"] = isinstance(schedule, Batch)
    least = Discovery(window=1, capacity=1, **promise)
    slots = min(max(memory // least.memory, 1), _LARGEST_CAPACITY)
    exact = window
    if exact is None:
        exact = _window(share, least)
        exact = exact if horizon is None else min(exact, horizon)
    if exact <= slots and not promise["batches"]:
        return Discovery(window=exact, capacity=exact, **promise)
    wanted = min(math.ceil(_SLOTS_PER_ITEM / share), slots)
    summary = Discovery(window=LARGEST_WINDOW, capacity=wanted, **promise)
    found = share - 1.0 / (wanted + 1)
    if found <= 0.0:
        raise ArgumentValueError(
            f"memory: expected room for at least {math.ceil(1 / share)} items of discovery, "
            f"got {wanted}"
        )
    if window is None:
        window = _window(found, summary)
        window = window if horizon is None else min(window, horizon)
    return Discovery(window=window, capacity=wanted, **promise)


def _window(share: float, setting: Discovery) -> int:
    """Return the steps in which an item of a share is found, rounded up to two digits."""
    noise = float(setting.facts["noise_epsilon"])
    steps = _events_needed(setting.threshold, noise, setting.variant) / share
    unit: int = 10 ** max(math.floor(math.log10(steps)) - 1, 0)
    rounded: int = math.ceil(steps / unit) * unit
    return min(rounded, LARGEST_WINDOW)


def _events_needed(threshold: int, noise_epsilon: float, variant: str) -> float:
    """Return the mean count whose noisy value reaches the threshold with 95 % probability.

    The noise falls below -ln(1 / (2 * 5 %)) / epsilon with 5 %, the sum of two below about 1.4
    times that; counts of events that come at random vary by their root.
    """
    tail = math.log(1.0 / (2.0 * (1.0 - _RECALL))) / noise_epsilon
    least = threshold + tail * (1.0 if variant == "dictionary" else 1.4)
    root = (_DEVIATIONS + math.sqrt(_DEVIATIONS**2 + 4.0 * least)) / 2.0
    return root * root
