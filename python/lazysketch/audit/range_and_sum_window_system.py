"""Windows of ranges and of sums under test, with planted bugs. NOT PRIVATE.

Without a bug they are those of the library. Two windows of two slices each are read at the end of
every slice; under a seeded key two runs differ by exactly the difference of their counts.

Source: docs/theory.md, Theorem 12e.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.ranges_model import worst_over_keys
from lazysketch.audit.statistic_window_system import SLICES, WINDOWS, Clock
from lazysketch.audit.sums_model import scaled
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.specification.table_spec import TableSpec
from lazysketch.sums.sums_spec import SumsSpec
from lazysketch.testing import fixed_id
from lazysketch.windows import RangesWindows, SumsWindows
from lazysketch.windows.cuts import Cut
from lazysketch.windows.statistic_tables import StatisticTables
from lazysketch.windows.statistic_windows import Origins
from lazysketch.windows.sums_tables import SumsTables

__all__ = [
    "BITS",
    "WIDTH",
    "RangeAndSumWindowsBug",
    "RangeAndSumWindowsModel",
    "transcript_of_keys",
    "transcript_of_values",
]

BITS: Final = 4
WIDTH: Final = 2
_COLLIDING: Final = 2  # under this seed two keys collide in both depths with row functions
_EVERY: Final = f"{10 * SLICES}s"  # as the clock of the windows of other statistics goes

Integers = NDArray[np.int64]


class RangeAndSumWindowsBug(Enum):
    """A planted bug of windows of ranges or of sums; the value is its description."""

    TWO_WINDOWS = "noise of windows of ranges for two keys in two windows"
    HALF = "noise of windows of sums for one of two events"
    RELEASES = "releases of windows of ranges that state one event"
    SHARED_RANGES = "noise that windows of ranges share"
    SHARED_SUMS = "noise that windows of sums share"


class _RangesOfTwoWindows(RangesWindows):
    def _spec_of(self, cut: Cut, **options: Any) -> TableSpec:
        spec = super()._spec_of(cut, **options)
        needed = worst_over_keys(BITS, WIDTH, relation=options["relation"])
        return scaled(spec, math.sqrt(min(needed, 2 * BITS) / needed))


class _HalfOfSums(SumsWindows):
    def _spec_of(self, cut: Cut, **options: Any) -> SumsSpec:
        spec = super()._spec_of(cut, **options)
        return replace(spec, counts=scaled(spec.counts, 0.5), values=scaled(spec.values, 0.5))


class _SharedTables(StatisticTables):
    def _origin(self, number: int) -> tuple[Key, None]:  # noqa: ARG002 -- that is the bug
        return fixed_id(self._key, bytes(16)), None


class _SharedRanges(RangesWindows):
    def _under(self, key: Key | None) -> Origins:
        one = key_or_fresh(key)
        return lambda spec, _cut, _kept: (_SharedTables(spec, self._KIND, key=one), None)


class _SharedTablesOfSums(SumsTables):
    def _origin(self, number: int, table: int) -> tuple[Key, None]:  # noqa: ARG002 -- the bug
        return fixed_id(self._key, bytes([table] * 16)), None


class _SharedSums(SumsWindows):
    def _make(self, origin: Origins, **options: Any) -> None:
        del origin
        one = Key.generate()
        super()._make(
            lambda spec, _cut, _kept: (_SharedTablesOfSums(spec, key=one), None), **options
        )


class RangeAndSumWindowsModel(ModelMaker[RangeAndSumWindowsBug]):
    """A maker of windows.

    Args:
        bug: the bug, or None.
    """

    def ranges(
        self, relation: Relation, *, clock: Callable[[], float], key: Key | None = None
    ) -> RangesWindows:
        """Return windows of ranges."""
        kinds: dict[RangeAndSumWindowsBug | None, type[RangesWindows]] = {
            RangeAndSumWindowsBug.TWO_WINDOWS: _RangesOfTwoWindows,
            RangeAndSumWindowsBug.SHARED_RANGES: _SharedRanges,
        }
        return kinds.get(self.bug, RangesWindows)(
            bits=BITS,
            width=WIDTH,
            hash_seed=_COLLIDING,
            every=_EVERY,
            slices=SLICES,
            clock=clock,
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            key=key,
        )

    def sums(
        self, relation: Relation, *, clock: Callable[[], float], key: Key | None = None
    ) -> SumsWindows:
        """Return windows of sums."""
        kinds: dict[RangeAndSumWindowsBug | None, type[SumsWindows]] = {
            RangeAndSumWindowsBug.HALF: _HalfOfSums,
            RangeAndSumWindowsBug.SHARED_SUMS: _SharedSums,
        }
        return kinds.get(self.bug, SumsWindows)(
            low=-1,
            high=2,
            step=0.5,
            depth=2,
            width=2,
            hash_seed=1,
            every=_EVERY,
            slices=SLICES,
            clock=clock,
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            key=key,
        )

    def stated_by_release(self, windows: RangesWindows) -> float:
        """Return the sensitivity that the release of a window states."""
        (part,) = windows.windows[0].release.parts
        bug = self.bug is RangeAndSumWindowsBug.RELEASES
        return part.privacy.l2_sensitivity * (0.5 if bug else 1.0)


def transcript_of_keys(
    windows: RangesWindows, clock: Clock, event: tuple[int, int] | None
) -> Integers:
    """Count a key in its slice, and read at the end of every slice.

    Args:
        windows: that nothing was counted in.
        clock: of the windows.
        event: a slice and a key, or None.

    Returns:
        Shape (windows, slices, cells).
    """
    rows = []
    for slice_ in range(WINDOWS * SLICES):
        if event is not None and event[0] == slice_:
            windows.update(event[1])
        clock.slices = slice_ + 1
        now = windows.open if (slice_ + 1) % SLICES else windows.windows[-1]
        assert now is not None, "a clock always has an open window"  # noqa: S101
        rows.append(now.release.table.ravel())
    return np.array(rows, dtype=np.int64).reshape(WINDOWS, SLICES, -1)


def transcript_of_values(
    windows: SumsWindows, clock: Clock, event: tuple[int, int, float] | None
) -> tuple[Integers, Integers]:
    """Count an item with its value in its slice, and read at the end of every slice.

    Args:
        windows: that nothing was counted in.
        clock: of the windows.
        event: a slice, an item and a value, or None.

    Returns:
        The tables of events and of values, each of shape (windows, slices, cells).
    """
    read: tuple[list[Integers], list[Integers]] = [], []
    for slice_ in range(WINDOWS * SLICES):
        if event is not None and event[0] == slice_:
            windows.update(event[1], event[2])
        clock.slices = slice_ + 1
        now = windows.open if (slice_ + 1) % SLICES else windows.windows[-1]
        assert now is not None, "a clock always has an open window"  # noqa: S101
        for rows, table in zip(read, now.release.tables, strict=True):
            rows.append(table.table.ravel().astype(np.int64))
    counts, values = (np.array(rows).reshape(WINDOWS, SLICES, -1) for rows in read)
    return counts, values
