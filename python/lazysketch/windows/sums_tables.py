"""The live tables of windows of sums: one table of events and one of values per window.

Both take all steps together. Each has an id of its own, and a window is published when both are.

Source: docs/theory.md, Theorem 12e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from lazysketch import _native
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.sketches.keys import Key
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsSpec
from lazysketch.windows.batches import Weights, check_batch
from lazysketch.windows.statistic_tables import ONE_WINDOW
from lazysketch.windows.window import AnyWindow, ReleasedWindow
from lazysketch.windows.window_tables import CoreBatch, Moment, WindowMaker

if TYPE_CHECKING:
    from lazysketch.releases.items import Item
    from lazysketch.releases.sums_release import SumsRelease

__all__ = ["SumsTable", "SumsTables"]


class SumsTable:
    """Both tables of one window; the weights of its events are the integers of their values.

    Attributes:
        tables: the table of events, and that of values.
    """

    def __init__(self, held: Sums) -> None:
        """Take live sums that have counted nothing yet, or those of a store."""
        self._held, self.tables = held, held._tables
        self._table = held._counts

    @property
    def step(self) -> int:
        """Steps taken, the same in both tables."""
        return self._held.steps

    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None:
        """Take one step with an event."""
        people = None if user is None else [user]
        self.update_many([item], np.array([weight]).astype(np.uint64), user=people)

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Take one step for each of many events."""
        counts, values = self.tables
        _native.update_sums(counts, values, items, cast("Weights", weights), user=user)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event."""
        self._held.tick(steps)

    def finish(self) -> None:
        """Publish everything pending, as the last step."""
        self._held.finish()

    def close(self) -> None:
        """Destroy the keys and the counts."""
        self._held.close()

    def release(self) -> SumsRelease:
        """Return what is published."""
        return self._held.release()


class SumsTables(WindowMaker[SumsTable]):
    """Maker of the live tables."""

    def __init__(self, spec: SumsSpec, *, key: Key) -> None:
        """Take the description and the master key of all tables."""
        self._spec, self._key = spec, key
        self._reasons: tuple[str, ...] = ()

    def make(self, number: int) -> SumsTable:
        """Return the empty tables of a new window.

        Args:
            number: number of the window.
        """
        held = Sums._of(self._spec, lambda table: self._origin(number, table))
        self._spec = held.spec
        self._reasons = held.not_private_because
        return SumsTable(held)

    def check(self, items: object, weights: Weights | None) -> None:
        """Raise every error that any of the tables would raise, before the first of them counts."""
        del weights  # integers of the grid, as many as there are items
        check_batch(items, None, max_weight=1)

    def core_batches(
        self, table: SumsTable, items: object, weights: object
    ) -> tuple[CoreBatch, ...]:
        """Return what each table counts of a batch in the open step."""
        counts, values = table.tables
        return (counts, items, None), (values, items, weights)

    def add(self, table: SumsTable, items: object, weights: object, user: object) -> None:
        """Count events in the open step of a window, in both tables or in none."""
        counts, values = table.tables
        integers = cast("Weights", weights)
        _native.update_sums(counts, values, items, integers, user=user, in_open_step=True)

    def published(
        self,
        table: SumsTable,
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
        return self._spec.counts.person_bound is not None

    @property
    def max_weight(self) -> int:
        """Largest weight of one event, apart from its value."""
        return 1

    @property
    def privacy(self) -> SumsPrivacy:
        """The guarantee of both tables of one window, which is that of all windows together."""
        spec, reasons = self._spec, self._reasons
        counts, values = (table.privacy_unless(reasons) for table in (spec.counts, spec.values))
        within = ONE_WINDOW if self.bounds_people else None
        return SumsPrivacy(spec.epsilon, spec.delta, counts, values, within)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons

    def _origin(self, number: int, table: int) -> tuple[Key, _native.SavedState | None]:  # noqa: ARG002 -- in a store each has an id
        """Return the key of a table, and the state of a store where it goes on."""
        return self._key, None
