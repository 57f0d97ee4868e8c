"""Base of running windows: steps, the clock, and their end; what they count is up to the class."""

from __future__ import annotations

from typing import Any, Final, cast

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ClosedError, LiveStateError
from lazysketch.releases.items import Item
from lazysketch.sketches.live_state import ClosedByBlock, exclusive
from lazysketch.windows.cuts import LARGEST_WINDOW, Cut
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.public_facts import Held, PublicFacts
from lazysketch.windows.window_tables import WindowMaker

__all__ = ["MOST_KEPT", "RunningWindows", "closed_windows"]

MOST_KEPT: Final = 1 << 16


class RunningWindows(ClosedByBlock, PublicFacts[Held]):
    """Windows that are cut while events come in."""

    def _run(self, cut: Cut, tables: WindowMaker[Any], since: Progress | None, kept: int) -> None:
        """Open windows of a cut, of which ``kept`` that ended are kept."""
        self._lock = self._made_lock()
        self._takes_times = cut.takes_times
        self._live = cut.opened(tables, most=kept, since=since)
        super().__init__(
            privacy=tables.privacy,
            not_private_because=tables.not_private_because,
            listed=tables.listed,
        )

    def _made_lock(self) -> _native.NestingLock:
        """Return the lock of these windows."""
        return _native.NestingLock()

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
    def _open_window(self) -> Held | None:
        return cast("Held | None", self._live.open_window())

    def _kept(self) -> tuple[Held, ...]:
        return cast("tuple[Held, ...]", self._live.ended)

    @exclusive
    def _add_one(self, item: Item, weight: int, user: Item | None) -> bool:
        self._refuse_nested()
        if not self._live.add_one(item, weight, user):
            return False
        if (place := self._live.open_for_single_events) is not None:
            self._lock.open_for(*place)
        return True

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
