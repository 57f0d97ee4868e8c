"""Sliding windows of a store: the ends of their slices are in the log and in checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, cast

from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions
from lazysketch.store.recovered_objects import Origin
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_windows import TablesOfWindows
from lazysketch.windows.cuts import Cut
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.sliding import BLOCK, Sliding
from lazysketch.windows.window import Window, merged
from lazysketch.windows.window_tables import WindowTables

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch.releases.items import Item

__all__ = ["StoredSliding", "StoredSlidingOptions"]


class StoredSlidingOptions(HittersOptions, total=False):
    """Keyword arguments of sliding windows, as for :class:`lazysketch.Sliding`.

    Args:
        every: length of a slice.
        span: length of a window.
        keep: number of ended slices that are kept.
        block: slices of a block.
        discovery_epoch: slices after which names are published.
        clock: returns seconds since 1970; it may differ from life to life.
        domain: a public list of items.
    """

    every: str | timedelta | int | None
    span: str | timedelta | int | None
    keep: int | None
    block: int | None
    discovery_epoch: int | None
    clock: Callable[[], float] | None
    domain: Iterable[Item] | None


@reads_after_commit
class StoredSliding(TablesOfWindows, Sliding):
    """Sliding windows of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredSlidingOptions]) -> Self:
        self = cls.__new__(cls)

        def origin_of(
            spec: HeavyHittersSpec, cut: Cut, kept: int
        ) -> tuple[WindowTables, Progress | None]:
            return self._stored(spec, origin, cut, kept, place=BLOCK)

        self._make_slices(origin_of, **options)
        return self

    def _last_published(self) -> list[bytes]:
        # A block has published all that its last prefix has.
        ended: list[Window] = [*cast("tuple[Window, ...]", self._live.ended)]
        blocks = groupby(ended, key=lambda end: end.number)
        return [merged([[*ends][-1] for _, ends in blocks]).to_bytes()]
