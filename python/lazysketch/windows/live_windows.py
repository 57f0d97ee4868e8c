"""Base of live windows: events in, boundaries, and their end.

What is public of them is queried through the class of windows: tumbling ones, or sliding ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ClosedError, LiveStateError
from lazysketch.heavy_hitters.hitters_spec import (
    DEPTH,
    HeavyHittersSpec,
    HittersOptions,
    checked_memory,
)
from lazysketch.releases.items import Item
from lazysketch.sketches.live_state import ClosedByBlock, exclusive
from lazysketch.windows.cuts import LARGEST_WINDOW, Cut
from lazysketch.windows.durations import instant_of
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.public_facts import PublicFacts
from lazysketch.windows.window import Window
from lazysketch.windows.window_tables import WindowMaker

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["MOST_KEPT", "LiveWindows", "closed_windows"]

Spec = TypeVar("Spec")

MOST_KEPT: Final = 1 << 16
_MEMORY: Final = 256 << 20


class LiveWindows(ClosedByBlock, PublicFacts):
    """Windows that take events."""

    def _make_cut(
        self,
        cut: Cut,
        origin: Callable[[Spec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        described: Callable[..., Spec],
        *,
        keep: int,
        domain: Iterable[Item] | None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Open windows of a cut with the tables and the progress of ``origin``.

        ``described`` returns their description, which ``origin`` takes.
        """
        kept = checked_integer("keep", keep, most=MOST_KEPT)
        options["memory"] = checked_memory(options.get("memory"), default=_MEMORY)
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
            discovery_epoch=None if domain is not None else cut.discovery_epoch,
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
