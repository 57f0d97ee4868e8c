"""Windows of a stream: each has its own private table, and all can be queried together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lazysketch import _native
from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentTypeError, ClosedError, LiveStateError
from lazysketch.heavy_hitters.hitters_spec import (
    DEPTH,
    HeavyHittersSpec,
    HittersOptions,
    ShareOptions,
    checked_memory,
)
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import ClosedByBlock, exclusive
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec
from lazysketch.windows.cuts import LARGEST_WINDOW, Cut, cut_of
from lazysketch.windows.durations import instant_of
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window import Window
from lazysketch.windows.window_tables import WindowMaker, WindowTables

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["Windows", "closed_windows"]

Spec = TypeVar("Spec")

_KEEP: Final = 24
_MOST_KEPT: Final = 1 << 16
_MEMORY: Final = 256 << 20
_EXAMPLE: Final = 'Windows(every="1h", share=0.01, epsilon=1.0, delta=1e-8)'


@with_options(NoiseOptions, TableOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class Windows(ClosedByBlock, PublishedWindows):
    """Tumbling windows of a stream, one private sketch each, with tops, counts and changes.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows). Under
    substitution the event may have any other item and, with windows of time, any other time; under
    zero-out the event may be missing. With ``person_bound`` it holds for all events of one person
    *within one window*: under substitution they may be those of another person, there or in another
    window, under zero-out they may be missing. The times at which windows begin and end never
    depend on an event, and the number of events in a slice of time is not published.

    Args:
        every: length of a window: a duration such as ``"1h"`` or a timedelta, or a number of steps.
        keep: number of ended windows that are kept, 24 by default; with ``begin`` and ``end`` all.
        begin: with ``end``, a public range, as ISO text or a datetime. Windows are then cut by the
            time of each event, all are open until :meth:`finish`, and events outside the range are
            not counted.
        end: the instant at which the range ends.
        slices: parts of a window by the clock, 1 to 960, 60 by default; the events of a slice are
            published when it ends. With 1 nothing of an open window is published, which has the
            least noise; windows of steps take 1 or None.
        clock: returns seconds since 1970, by default those of the machine's clock; it must not
            depend on events.
        domain: a public list of items, instead of ``share``; nothing is discovered then.
        key: master key; fresh when None. All windows have the same hash seed.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or arguments that exclude each
            other.
        ArgumentValueError: a value outside its range.
        ItemError: an invalid item in the domain.

    Source: docs/windows.md; docs/theory.md, Theorem 12.

    Example:
        >>> windows = Windows(every=10_000, share=0.1, epsilon=1.0, delta=1e-6)
        >>> windows.update_many(["a"] * 6_000 + ["b"] * 4_000)
        >>> windows.update_many(["a"] * 7_000 + ["c"] * 3_000)
        >>> len(windows.windows), [hitter.item for hitter in windows.top(2, last=2)]
        (2, ['a', 'b'])
        >>> [change.item for change in windows.changes()]
        ['b', 'c', 'a']
    """

    def __init__(
        self,
        *positional: Never,
        every: str | timedelta | int | None = None,
        keep: int = _KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        key: Key | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, HittersOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make(
            lambda spec, _cut, _kept: (WindowTables(spec, key=one), None),
            self._spec_of,
            every=every,
            keep=keep,
            begin=begin,
            end=end,
            slices=slices,
            clock=clock,
            domain=domain,
            **options,
        )

    def _make(
        self,
        origin: Callable[[Spec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        described: Callable[..., Spec],
        *,
        every: str | timedelta | int | None = None,
        keep: int = _KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Choose the cut, and open windows with the tables and the progress of ``origin``.

        ``described`` returns their description, which ``origin`` takes.
        """
        if every is None:
            raise ArgumentTypeError(f"every: expected a length, as in {_EXAMPLE}, got none")
        kept = checked_integer("keep", keep, most=_MOST_KEPT)
        room = checked_memory(options.get("memory"), default=_MEMORY)
        cut = cut_of(every, begin=begin, end=end, slices=slices, clock=clock)
        options["memory"] = room
        tables, since = origin(described(cut, domain, options), cut, kept)
        self._lock = _native.NestingLock()
        self._takes_times = cut.takes_times
        self._live = cut.opened(tables, most=kept, since=since)
        super().__init__(
            privacy=tables.privacy,
            not_private_because=tables.not_private_because,
            listed=tables.listed,
        )

    @staticmethod
    def _spec_of(
        cut: Cut, domain: Iterable[Item] | None, options: HittersOptions
    ) -> HeavyHittersSpec:
        """Return the description of the table of a window."""
        options["memory"] = cut.memory_of_window(
            options["memory"] or 0, depth=options.get("depth", DEPTH), width=options.get("width")
        )
        if options.get("width") is None:
            options["width"] = cut.width
        return HeavyHittersSpec.of(
            schedule=cut.schedule,
            domain=domain,
            discovery_epoch=None if domain is not None else cut.steps,
            **options,
        )

    def update(
        self,
        item: Item,
        weight: int = 1,
        *,
        time: datetime | None = None,
        user: Item | None = None,
    ) -> None:
        """Count one event.

        Guarantee: as :meth:`update_many`.

        Args:
            item: any item.
            weight: 0 to ``max_weight``.
            time: time of the event, for windows of a range; UTC if it has no offset.
            user: the person of the event, any item; required if people are bounded.

        Raises:
            ItemError: not a valid item, or a person who is no item.
            ArgumentTypeError: a wrong type, a missing time, or a time or a person that these
                windows do not take.
            ArgumentValueError: a weight outside its range, or no person where people are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        if time is None and self._add_one(item, weight, user):
            return
        times = None if time is None else [instant_of("time", time)]
        self.update_many(
            [item],
            None if type(weight) is int and weight == 1 else [weight],
            times=times,
            user=None if user is None else [user],
        )

    @exclusive
    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count many events, each in one window.

        Guarantee: the whole batch is checked before the first event is applied. After an exception
        the batch is counted completely or not at all. With windows of steps, :attr:`step` tells
        which. With windows of time nothing tells: an error means that nothing was counted, and a
        KeyboardInterrupt may also come afterwards, so do not repeat that call: an event that is
        counted twice is two events.

        Args:
            items: a column of Arrow or of a data frame, a numpy array or an iterable of items.
            weights: one integer per item, or None for weight 1.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.
            user: the person of each event, one item per item; required if people are bounded. Each
                window bounds what it counts of a person, whatever the others have counted.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a wrong type, missing times, or times or people that these windows do
                not take.
            ArgumentValueError: weights outside their range; a wrong number of weights, times or
                people; no people where they are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._opened().add(self._counted(items), weights, times, user)

    @exclusive
    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as for a row that could not be read.

        Guarantee: an empty step is a neighbour of a step with any event. Windows of time have no
        steps; there the call does nothing.

        Args:
            steps: how many, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        count = checked_integer("steps", steps, least=0, most=LARGEST_WINDOW)
        self._opened().tick(count)

    @property
    @exclusive
    def step(self) -> int | None:
        """Steps taken, events and ticks, in all windows of steps; None for windows of time.

        Windows of time do not tell how many events they have, which is private.
        """
        return self._live.step

    @property
    def takes_times(self) -> bool:
        """True if events come with times, as for windows of a range."""
        return self._takes_times

    @exclusive
    def advance(self) -> None:
        """End the windows that are over by the clock; every other call does this too.

        If the end of a window is interrupted, the next call of any method completes it. Should that
        fail again and again, as without memory, ``close()`` makes the ended windows readable.

        Raises:
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._opened().advance()

    @exclusive
    def finish(self) -> None:
        """Publish the open windows now and accept no more events, as at the end of a file.

        A second call does nothing. If the call is interrupted, the next call of any method
        completes it.

        Guarantee: holds if the decision to call it does not depend on the events, except through
        what was published: the end of an input or a time does not depend on them, a failure caused
        by the content of the input does.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/theory.md, "The final push".
        """
        self._refuse_nested()
        if not self._live.finished:
            if self._live.over:
                raise closed_windows()
            self._live.finish()

    @property
    def finished(self) -> bool:
        """True after :meth:`finish`."""
        return self._live.finished

    @exclusive
    def close(self) -> None:
        """Destroy the open windows without publishing them; ended windows are kept.

        A window that has its last step is published first, as it ended before this call.
        """
        self._refuse_nested()
        self._live.close()

    def __repr__(self) -> str:
        state = "finished" if self._live.over else "open"
        total = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in total"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        return f"<Windows {state}, {len(self._kept())} ended, {total}{mark}>"

    @exclusive
    def _catch_up(self) -> None:
        # What is within another call reads what was published before that call.
        if not self._live.over and not self._lock.nested:
            self._live.advance()

    @exclusive
    def _open_window(self) -> Window | None:
        return self._live.open_window()

    def _kept(self) -> tuple[Window, ...]:
        return self._live.ended

    def _counted(self, items: object) -> object:
        """Return what the tables count of items."""
        return items

    @exclusive
    def _add_one(self, item: Item, weight: int, user: Item | None) -> bool:
        self._refuse_nested()
        return self._live.add_one(item, weight, user)

    def _opened(self) -> OpenWindows[Any]:
        self._refuse_nested()
        return self._settled()

    def _settled(self) -> OpenWindows[Any]:
        self._live.settle()
        if self._live.over:
            raise closed_windows()
        return self._live

    def _refuse_nested(self) -> None:
        """Raise within another call, which has read where the windows stand and relies on it."""
        if self._lock.nested:
            raise LiveStateError(
                "windows: expected one change at a time, got one from within another; an item, a "
                "weight, a clock or a signal handler must not change the windows that call it"
            )


def closed_windows() -> ClosedError:
    """Return the error for a change of finished or closed windows."""
    return ClosedError("windows: expected open windows, got finished or closed ones")
