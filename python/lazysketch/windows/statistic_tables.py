"""The live tables of windows of a statistic that is no list of items: one table per window.

Each window has a table of its own, under an id of its own, so its noise is independent of that of
all others. The hash seed, where there is one, is the same in all windows.

Source: docs/theory.md, Theorem 12d.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from lazysketch import _native
from lazysketch.heavy_hitters import JointPrivacy
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.keys import Key
from lazysketch.sketches.ranges import Ranges
from lazysketch.specification.distinct import stated_weight
from lazysketch.specification.schedules import Batch
from lazysketch.windows.batches import Weights
from lazysketch.windows.window import AnyWindow, ReleasedWindow
from lazysketch.windows.window_tables import Moment, WindowMaker

if TYPE_CHECKING:
    from lazysketch.releases.distinct_release import DistinctRelease
    from lazysketch.releases.distribution_release import DistributionRelease
    from lazysketch.releases.items import Item
    from lazysketch.releases.ranges_release import RangesRelease
    from lazysketch.specification.table_spec import TableSpec

__all__ = ["ONE_WINDOW", "Statistic", "StatisticTable", "StatisticTables"]

Statistic: TypeAlias = DistinctCount | Distribution | Ranges
ONE_WINDOW: Final = "one window"
"""Where the events of a person, or of an item, are protected together."""


class StatisticTable:
    """The table of one window: what it counts has been converted, and has no weights."""

    def __init__(self, held: Statistic) -> None:
        """Take a live object that has counted nothing yet, or that of a store."""
        self._held, self._table = held, held._table

    @property
    def step(self) -> int:
        """Steps taken."""
        return self._table._step

    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None:
        """Take one step with an event."""
        self._table.update(item, weight, user=user)

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Take one step for each of many events."""
        self._table.update_many(items, weights, user=user)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event."""
        self._table.tick(steps)

    def finish(self) -> None:
        """Publish everything pending, as the last step."""
        self._table.finish()

    def close(self) -> None:
        """Destroy the key and the counts."""
        self._table.close()

    def release(self) -> DistinctRelease | DistributionRelease | RangesRelease:
        """Return what is published, of the class of the statistic."""
        return self._held.release()


class StatisticTables(WindowMaker[StatisticTable]):
    """Maker of the live tables."""

    def __init__(self, spec: TableSpec, kind: type[Statistic], *, key: Key) -> None:
        """Take the description, the class and the master key of all tables."""
        self._spec, self._kind, self._key = spec, kind, key
        self._reasons: tuple[str, ...] = ()

    def make(self, number: int) -> StatisticTable:
        """Return the empty table of a new window.

        Args:
            number: number of the window.
        """
        key, state = self._origin(number)
        held = self._kind._made(self._spec, key=key, state=state)
        self._spec = held.spec
        self._reasons = held.not_private_because
        return StatisticTable(held)

    def check(self, items: object, weights: Weights | None) -> None:
        """Raise every error that any of the tables would raise, before the first of them counts."""
        super().check(items, weights)
        if self._spec.kind == "ranges":
            with Ranges.from_spec(self._narrow) as keys:
                keys._table._add_to_batch(items)

    @cached_property
    def _narrow(self) -> TableSpec:
        """The description of ranges that check keys, and are never read: as narrow as can be."""
        schedule = Batch(horizon=1)
        return replace(self._spec, width=2, schedule=schedule, mechanism="haar", person_bound=None)

    def add(self, table: StatisticTable, items: object, weights: object, user: object) -> None:
        """Count events in the open step of a window."""
        table._table._add_to_batch(items, weights, user=user)

    def published(
        self,
        table: StatisticTable,
        *,
        ended: bool,
        number: int,
        begin: Moment,
        end: Moment,
        whole: bool,
    ) -> AnyWindow:
        """Return the published part of a window."""
        return ReleasedWindow(
            number=number, begin=begin, end=end, ended=ended, whole=whole, release=table.release()
        )

    @property
    def bounds_people(self) -> bool:
        """True if windows bound people."""
        return self._spec.person_bound is not None

    @property
    def max_weight(self) -> int:
        """Largest weight of one event; 1 where events have none."""
        return stated_weight(self._spec.kind, self._spec.max_weight)

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of one window, which is that of all windows together.

        An item or a person, whose events may lie in many windows, is protected within one of them.
        """
        counts = self._spec.privacy_unless(self._reasons)
        within = None if counts.person_bound is None else ONE_WINDOW
        return JointPrivacy(counts.epsilon, counts.delta, counts, 0.0, 0.0, within)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons

    def _origin(self, number: int) -> tuple[Key, _native.SavedState | None]:  # noqa: ARG002 -- in a store each has an id
        """Return the key of a table, and the state of a store where it goes on."""
        return self._key, None
