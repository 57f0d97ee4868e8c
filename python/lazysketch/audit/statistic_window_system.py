"""Windows of values and of distinct items under test, with planted bugs. NOT PRIVATE.

Without a bug they are those of the library. Two windows of two slices each are read at the end of
every slice; under a seeded key two runs differ by exactly the difference of their counts.

Source: docs/theory.md, Theorem 12d.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np

from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key
from lazysketch.specification.bins import Bins
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import ValueRows, ValueTree
from lazysketch.testing import fixed_id
from lazysketch.windows import DistinctWindows, DistributionWindows
from lazysketch.windows.cuts import Cut
from lazysketch.windows.statistic_tables import StatisticTables
from lazysketch.windows.statistic_windows import Origins

__all__ = [
    "BINS",
    "SLICES",
    "WINDOWS",
    "Clock",
    "Event",
    "StatisticWindowsBug",
    "StatisticWindowsModel",
    "transcript",
]

WINDOWS: Final = 2
SLICES: Final = 2
BINS: Final = 4
_SLICE: Final = 10.0  # seconds
_BEGIN: Final = 50 * SLICES * _SLICE

Event: TypeAlias = tuple[int, int]
"""The number of a slice, over both windows, and a value or an item."""
_Windows: TypeAlias = DistinctWindows | DistributionWindows


class StatisticWindowsBug(Enum):
    """A planted bug of windows of statistics; the value is its description."""

    IN_PLACE = "noise of windows of values for a value that stays"
    RELEASES = "releases of windows of values that state a value that stays"
    SHARED = "noise that windows of statistics share"
    EVERYWHERE = "an item that is said to be protected in all windows"


class _InPlace(DistributionWindows):
    def _spec_of(self, cut: Cut, **options: Any) -> TableSpec:
        return replace(super()._spec_of(cut, **options), moves=False)


class _SharedTables(StatisticTables):
    def _origin(self, number: int) -> tuple[Key, None]:  # noqa: ARG002 -- that is the bug
        return fixed_id(self._key, bytes(16)), None


class _SharedValues(DistributionWindows):
    def _under(self, key: Key | None) -> Origins:
        one = Key.generate() if key is None else key
        return lambda spec, _cut, _kept: (_SharedTables(spec, self._KIND, key=one), None)


class StatisticWindowsModel(ModelMaker[StatisticWindowsBug]):
    """A maker of windows.

    Args:
        bug: the bug, or None.
    """

    def values(
        self,
        rows: ValueRows,
        relation: Relation,
        *,
        clock: Callable[[], float],
        key: Key | None = None,
    ) -> DistributionWindows:
        """Return windows of values."""
        kinds: dict[StatisticWindowsBug | None, type[DistributionWindows]] = {
            StatisticWindowsBug.IN_PLACE: _InPlace,
            StatisticWindowsBug.SHARED: _SharedValues,
        }
        return kinds.get(self.bug, DistributionWindows)(
            bins=Bins(range(1, BINS)),
            value_rows=rows,
            every=f"{SLICES * _SLICE:g}s",
            slices=SLICES,
            clock=clock,
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            key=key,
        )

    def items(
        self, relation: Relation, *, clock: Callable[[], float], key: Key | None = None
    ) -> DistinctWindows:
        """Return windows of distinct items."""
        return DistinctWindows(
            every=f"{SLICES * _SLICE:g}s",
            slices=SLICES,
            clock=clock,
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            bits=64,
            levels=1,
            hash_seed=5,
            key=key,
        )

    def stated_by_release(self, windows: DistributionWindows) -> float:
        """Return the sensitivity that the release of a window states."""
        stated = windows.windows[0].release.privacy.l2_sensitivity
        if self.bug is not StatisticWindowsBug.RELEASES:
            return stated
        tree = ValueTree(windows.windows[0].release._tree.rows, BINS)
        relation = windows.privacy.sketch.relation
        moved, stays = (tree.sensitivity2(relation, moves=moves) for moves in (True, False))
        return stated * float(np.sqrt(stays / moved))

    def within(self, windows: DistinctWindows) -> str | None:
        """Return where the windows say that an item is protected."""
        everywhere = self.bug is StatisticWindowsBug.EVERYWHERE
        return None if everywhere else windows.privacy.within


class Clock:
    """A clock that stands at the begin of the first window until it is moved."""

    def __init__(self) -> None:
        """Stand at the begin."""
        self.slices = 0

    def __call__(self) -> float:
        """Return seconds since 1970."""
        return _BEGIN + _SLICE * self.slices


def transcript(windows: _Windows, clock: Clock, events: Sequence[Event]) -> Integers:
    """Count events, each in its slice, and read at the end of every slice.

    Args:
        windows: that nothing was counted in.
        clock: of the windows.
        events: at most one call per slice.

    Returns:
        Shape (windows, slices, cells).
    """
    rows = []
    for slice_ in range(WINDOWS * SLICES):
        windows.update_many([what for when, what in events if when == slice_])
        clock.slices = slice_ + 1
        now = windows.open if (slice_ + 1) % SLICES else windows.windows[-1]
        assert now is not None, "a clock always has an open window"  # noqa: S101
        rows.append(now.release.table.ravel())
    return np.array(rows, dtype=np.int64).reshape(WINDOWS, SLICES, -1)
