"""The live tables of windows, and what is published of them.

A live table is a :class:`~lazysketch.HeavyHitters`. When its window ends, its release and names,
which are public, are kept, and the table is closed: its key and exact counts are destroyed.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec, JointPrivacy
from lazysketch.sketches.keys import Key
from lazysketch.windows.window import Window

__all__ = ["Moment", "WindowTables", "published"]

Moment: TypeAlias = datetime | int


class WindowTables:
    """Maker of the live tables; all have the same hash seed, so that releases can be merged."""

    def __init__(self, spec: HeavyHittersSpec, *, key: Key) -> None:
        """Take the description and the master key of all tables."""
        self._spec, self._key = spec, key
        self._reasons: tuple[str, ...] = ()

    def make(self, number: int) -> HeavyHitters:
        """Return the empty table of a new window.

        Args:
            number: number of the window.
        """
        table = self._table(number)
        if self._spec.table.hash_seed is None:
            self._spec = table.spec
        self._reasons = table.not_private_because
        return table

    def _table(self, number: int) -> HeavyHitters:  # noqa: ARG002 -- in a store it has an id
        """Return the table of a window, under a fresh sketch id."""
        return HeavyHitters.from_spec(self._spec, key=self._key)

    @property
    def bounds_people(self) -> bool:
        """True if windows bound people, each on its own: none depends on what others counted."""
        return self._spec.table.person_bound is not None

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self._spec.table.max_weight

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of one window, which is that of all windows together.

        A person, whose events may lie in many windows, is protected within one of them.
        """
        counts = self._spec.table.privacy_unless(self._reasons)
        within = None if counts.person_bound is None else "one window"
        return self._spec.privacy_of(counts, within=within)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons


def published(
    table: HeavyHitters, *, ended: bool, number: int, begin: Moment, end: Moment, whole: bool
) -> Window:
    """Return the published part of a window, without truncated names, which cannot be queried.

    Args:
        table: live table of the window.
        ended: True if the window has ended.
        number: number of the window.
        begin: its begin.
        end: its end, or of an open window of steps the steps so far.
        whole: False if the window was opened late or ended early.
    """
    names = tuple(item for item, complete, _ in table._candidates() if complete)
    return Window(
        number=number,
        begin=begin,
        end=end,
        ended=ended,
        whole=whole,
        release=table.release(),
        names=names,
    )
