"""Windows of a stream, counted one by one and asked together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError
from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.heavy_hitters.heavy_hitters import DEPTH, ITEM_BYTES, LEAST_MEMORY
from lazysketch.heavy_hitters.settings import CELL_BYTES
from lazysketch.privacy.relations import Relation, checked_integer
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.specification.schedules import Batch, RoundRobin, Schedule
from lazysketch.windows.boundaries import ClockBoundaries, TimeRange, checked_clock
from lazysketch.windows.durations import duration_of, instant_of
from lazysketch.windows.open_windows import ByClock, BySteps, ByTime, Keep, LiveWindows, Make
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window import Window

__all__ = ["Windows"]

_KEEP: Final = 24
_MOST_KEPT: Final = 1 << 16
_SLICES: Final = 60
_MOST_SLICES: Final = 960
_MEMORY: Final = 256 << 20
_LARGEST_WINDOW: Final = 2**40
_WIDTH: Final = 1024


class Windows(ClosedByBlock, PublishedWindows):
    """Tumbling windows of a stream, one private sketch each, with tops, counts and changes.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``) for one event (or ``max_events_per_user`` of them): under substitution its item, and
    with windows of time also its time, may be any other; under zero-out it may be missing. When
    windows begin and end never depends on an event, and how many events a slice of time has is not
    published.

    Args:
        every: length of a window: a duration such as ``"1h"`` or a timedelta, or a number of steps.
        keep: ended windows that are kept, 24 by default; all of them with ``begin`` and ``end``.
        begin: with ``end``, a public range: windows are cut by each event's own time, all are open
            until :meth:`finish`, and events outside count nowhere. ISO text or a datetime.
        end: the instant at which the range is over.
        slices: parts of a window of the clock, 1 to 960, 60 by default; what came in a slice is
            published when it is over.
        clock: returns seconds since 1970, by default the machine's; must not depend on events.
        epsilon: privacy parameter of everything, above 0 and at most 100.
        delta: privacy parameter of everything, above 0 and below 1.
        k: find items above 1/k of a window; or ``share``, or ``domain``.
        share: the same as a share, above 0 and at most 1.
        domain: a public list of items; nothing is discovered then.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_weight: largest weight of one event.
        max_events_per_user: events of one person that are protected together, in any windows.
        max_item_bytes: bytes kept of an item; longer ones are published cut.
        discovery_epsilon: part of ``epsilon`` for the names; a quarter when None.
        discovery_delta: part of ``delta`` for the names; half when None.
        depth: rows of each sketch.
        width: columns of each; 1024 by default, or fewer where a window has few steps.
        memory: most bytes for all open windows together, 256 MiB by default.
        hash_seed: public seed, one for all windows; random when None.
        key: master key; fresh when None.

    Raises:
        ArgumentTypeError: a wrong type, or arguments that exclude each other.
        ArgumentValueError: a value outside its range.
        ItemError: a domain with something that cannot be an item.

    Source: docs/windows.md; docs/theory.md, Theorem 12.

    Example:
        >>> windows = Windows(every=10_000, k=10, epsilon=1.0, delta=1e-6)
        >>> windows.update_many(["a"] * 6_000 + ["b"] * 4_000)
        >>> windows.update_many(["a"] * 7_000 + ["c"] * 3_000)
        >>> len(windows.windows), [hitter.item for hitter in windows.top(2, last=2)]
        (2, ['a', 'b'])
        >>> [change.item for change in windows.changes()]
        ['b', 'c', 'a']
    """

    def __init__(
        self,
        *,
        every: str | timedelta | int,
        epsilon: float,
        delta: float,
        keep: int = _KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        k: int | None = None,
        share: float | None = None,
        domain: Iterable[str | bytes | int] | None = None,
        relation: Relation = "substitution",
        max_weight: int = 1,
        max_events_per_user: int = 1,
        max_item_bytes: int = ITEM_BYTES,
        discovery_epsilon: float | None = None,
        discovery_delta: float | None = None,
        depth: int = DEPTH,
        width: int | None = None,
        memory: int = _MEMORY,
        hash_seed: int | None = None,
        key: Key | None = None,
    ) -> None:
        """Choose how to cut, and open the first window or all of them."""
        kept = checked_integer("keep", keep, most=_MOST_KEPT)
        room = checked_integer("memory", memory, least=LEAST_MEMORY, most=1 << 40)
        cut = _Cut.of(every, begin=begin, end=end, slices=slices, clock=clock)
        master = Key.generate() if key is None else key
        table: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "k": k,
            "share": share,
            "domain": domain,
            "window": None if domain is not None else cut.steps,
            "schedule": cut.schedule,
            "relation": relation,
            "max_weight": max_weight,
            "max_events_per_user": max_events_per_user,
            "max_item_bytes": max_item_bytes,
            "discovery_epsilon": discovery_epsilon,
            "discovery_delta": discovery_delta,
            "depth": depth,
            "width": cut.width if width is None else width,
            "memory": cut.share_of(room, depth=depth, width=width),
            "key": master,
        }
        # Checks everything; its id is never used.
        with HeavyHitters(hash_seed=hash_seed, **table) as first:
            columns = first._table.width
            table["hash_seed"] = first._table.hash_seed  # one for all, so that releases merge
            table["domain"] = first._listed or None
            table["width"] = columns
            table["schedule"] = cut.with_last_pushes(columns)
            privacy, reasons, listed = first.privacy, first.not_private_because, first._listed

        def make() -> HeavyHitters:
            return HeavyHitters(**table)

        super().__init__(
            keep=max(kept, cut.open_windows),
            privacy=privacy,
            not_private_because=reasons,
            listed=listed,
        )
        self._lock = threading.RLock()
        self._takes_times = cut.takes_times
        self._live: LiveWindows | None = cut.live(
            make, keep=self._ended.append, most=kept, width=columns, max_weight=max_weight
        )

    def update(
        self, item: str | bytes | int, weight: int = 1, *, time: datetime | None = None
    ) -> None:
        """Count one event.

        Guarantee: nothing is applied when the call raises.

        Args:
            item: str, bytes or int.
            weight: 0 to ``max_weight``.
            time: when it happened, for windows of a range; without an offset it is UTC.

        Raises:
            ItemError: something that cannot be an item.
            ArgumentTypeError: a wrong type, a missing time, or one that is not asked for.
            ArgumentValueError: a weight outside its range.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: in a forked child.
        """
        times = None if time is None else [instant_of("time", time)]
        self.update_many([item], [weight] if weight != 1 else None, times=times)

    def update_many(self, items: object, weights: object = None, *, times: object = None) -> None:
        """Count many events, each in one window.

        Guarantee: the whole batch is checked before the first event is applied.

        Args:
            items: a column of Arrow or of a data frame, a numpy array or an iterable of items.
            weights: as many integers, or None for 1 each.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC; the least int64 and what is no time lie in no window.

        Raises:
            ItemError: something that cannot be an item, or a null, with its position.
            ArgumentTypeError: a wrong type, missing times, or some that are not asked for.
            ArgumentValueError: weights outside their range, or another number of them or of times.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: in a forked child.
        """
        with self._lock:
            self._opened().add(items, weights, times)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as for a row that could not be read.

        Guarantee: an empty step is a neighbour of a step with any event. In windows of time, which
        are not made of steps, nothing happens.

        Args:
            steps: how many, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: in a forked child.
        """
        with self._lock:
            count = checked_integer("steps", steps, least=0, most=_LARGEST_WINDOW)
            self._opened().tick(count)

    @property
    def takes_times(self) -> bool:
        """Whether events come with times: windows of a range."""
        return self._takes_times

    def advance(self) -> None:
        """End what the clock says is over; every other call does so too.

        Raises:
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: in a forked child.
        """
        with self._lock:
            self._opened().advance()

    def finish(self) -> None:
        """Publish the open windows now and take no more events, as at the end of a file.

        Guarantee: when to call this must not depend on the events.

        Raises:
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: in a forked child.
        """
        with self._lock:
            self._opened().finish()
            self._live = None

    def close(self) -> None:
        """Destroy the open windows, unpublished; those that ended stay."""
        with self._lock:
            if self._live is not None:
                self._live.close()
                self._live = None

    def __repr__(self) -> str:
        state = "finished" if self._live is None else "open"
        promise = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in all"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        return f"<Windows {state}, {len(self._ended)} ended, {promise}{mark}>"

    def _catch_up(self) -> None:
        with self._lock:
            if self._live is not None:
                self._live.advance()

    def _open_window(self) -> Window | None:
        with self._lock:
            return None if self._live is None else self._live.open_window()

    def _opened(self) -> LiveWindows:
        if self._live is None:
            raise ClosedError("windows: expected open ones, got finished or closed ones")
        return self._live


class _Cut:
    """How the stream is cut, and what that means for the tables."""

    def __init__(
        self,
        live: Callable[..., LiveWindows],
        schedule: Schedule,
        *,
        steps: int,
        width: int | None,
        open_windows: int = 1,
        takes_times: bool = False,
    ) -> None:
        self.takes_times = takes_times
        self.live, self.schedule, self.steps = live, schedule, steps
        self.width, self.open_windows = width, open_windows

    def share_of(self, memory: int, *, depth: int, width: int | None) -> int:
        """Return the bytes for one window, less those of the step that is open."""
        share = memory // self.open_windows
        if isinstance(self.schedule, Batch) and isinstance(depth, int):
            columns = width if isinstance(width, int) else _WIDTH
            share -= CELL_BYTES * depth * columns
        if share < LEAST_MEMORY:
            least = (memory // self.open_windows - share + LEAST_MEMORY) * self.open_windows
            raise ArgumentValueError(
                f"memory: expected at least {least:,} bytes for {self.open_windows:,} open "
                f"windows, got {memory:,}"
            )
        return share

    def with_last_pushes(self, width: int) -> Schedule:
        """Return the schedule with room for a push of every column behind the last step."""
        if isinstance(self.schedule, RoundRobin):
            return RoundRobin(horizon=self.schedule.horizon + width)
        return self.schedule

    @classmethod
    def of(
        cls,
        every: object,
        *,
        begin: object,
        end: object,
        slices: int | None,
        clock: Callable[[], float] | None,
    ) -> _Cut:
        """Return the cut that the arguments ask for."""
        if isinstance(every, str | timedelta):
            length = duration_of("every", every)
            if begin is not None or end is not None:
                _refuse("slices, clock", "a range of time", slices, clock)
                return cls._by_time(length, begin=begin, end=end)
            return cls._by_clock(length, slices=slices, clock=clock or time.time)
        _refuse("begin, end, slices, clock", "windows of steps", begin, end, slices, clock)
        steps = checked_integer("every", every, most=_LARGEST_WINDOW)

        def live(make: Make, **options: Any) -> LiveWindows:
            return BySteps(make, every=steps, **options)

        return cls(live, RoundRobin(horizon=steps), steps=steps, width=None)

    @classmethod
    def _by_clock(cls, length: int, *, slices: int | None, clock: Callable[[], float]) -> _Cut:
        chosen = _SLICES if slices is None else slices
        parts = checked_integer("slices", chosen, most=_MOST_SLICES)
        checked_clock(clock())
        boundaries = ClockBoundaries(every=length, slices=parts)

        def live(make: Make, *, keep: Keep, most: int, **_: Any) -> LiveWindows:
            return ByClock(make, keep=keep, boundaries=boundaries, clock=clock, most=most)

        return cls(live, Batch(horizon=_leaves(parts)), steps=parts, width=_WIDTH)

    @classmethod
    def _by_time(cls, length: int, *, begin: object, end: object) -> _Cut:
        if begin is None or end is None:
            raise ArgumentTypeError("begin, end: expected both ends of a range, got one")
        whole = TimeRange(
            first=instant_of("begin", begin), end=instant_of("end", end), every=length
        )

        def live(make: Make, *, keep: Keep, max_weight: int, **_: Any) -> LiveWindows:
            return ByTime(make, keep=keep, time_range=whole, max_weight=max_weight)

        schedule = Batch(horizon=1)
        return cls(
            live, schedule, steps=1, width=_WIDTH, open_windows=whole.windows, takes_times=True
        )


def _leaves(slices: int) -> int:
    """Return the leaves for which an event may also move from any slice to any other.

    Such a move changes a cell at two leaves, with opposite signs. Near the end of an optimised
    table of more than 16 leaves that moves it further than two changes of one sign would, by up to
    6 % of the square; in a table twice as long the same leaves are far from the end.
    """
    table = 1 << (slices - 1).bit_length()
    return table + 1 if table > 16 and 16 * slices > 15 * table else slices


def _refuse(names: str, beside: str, *values: object) -> None:
    if any(value is not None for value in values):
        raise ArgumentTypeError(f"{names}: expected none for {beside}, got some")
