"""Base of the targets of a run that count in windows, fresh ones or those of a state."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from lazysketch.errors import ArgumentTypeError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.cli.run.state_counting import Counting
    from lazysketch.windows.window import AnyWindow

__all__ = ["RunOfWindows", "Windowed", "check_times"]


class _Timed(Protocol):
    """Live windows of any kind."""

    @property
    def takes_times(self) -> bool: ...


class _Running(_Timed, Protocol):
    """Live windows, here and in a state."""

    @property
    def finished(self) -> bool: ...

    def tick(self, steps: int = 1) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class _RunningInTurn(_Running, Protocol):
    """Live windows that follow each other."""

    @property
    def windows(self) -> tuple[AnyWindow, ...]: ...

    @property
    def open(self) -> AnyWindow | None: ...


class RunOfWindows:
    """Windows that a run ends, or that go on in the next run with the same state.

    Args:
        windows: Counts the stream.
        counting: What counts its batches, with their positions; the windows if None.
        at_end: Whether the result is shown only at the end.
    """

    def __init__(
        self, windows: _Running, counting: Counting | None, *, at_end: bool = False
    ) -> None:
        taking = windows if counting is None else counting
        self._running, self._is_kept = windows, counting is not None
        self.takes_times = windows.takes_times
        self.waits_for_end = windows.takes_times or at_end
        self.tick, self.close = taking.tick, taking.close
        self.update_many: Callable[..., None] = self._count
        if counting is not None:
            self.update_many, self.update_rows = counting.update_many, counting.update_rows
        self._holds_back = False

    def hold_back(self) -> None:
        """From now on publish nothing more: the open windows do not end."""
        self._holds_back = True

    @property
    def is_finished(self) -> bool:
        """True after the last window was published."""
        return self._running.finished

    def _count(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count events."""
        raise NotImplementedError

    def _end(self) -> bool:
        """End the open windows; return whether the last one goes on in the next run."""
        goes_on = self._holds_back and self._is_kept
        if self._holds_back and not self._is_kept:
            self._running.close()
        if not goes_on:
            with suppress(ClosedError):  # what is held back is closed, and never published
                self._running.finish()
        return goes_on


class Windowed(RunOfWindows):
    """Windows that follow each other.

    Args:
        windows: Counts the stream.
        counting: What counts its batches, with their positions; the windows if None.
        at_end: Whether the result is shown only at the end.
    """

    def __init__(
        self, windows: _RunningInTurn, counting: Counting | None, *, at_end: bool = False
    ) -> None:
        super().__init__(windows, counting, at_end=at_end)
        self._in_turn = windows
        self._before: AnyWindow | None = None  # the last open one: all there is if none has ended

    @property
    def table_ids(self) -> frozenset[bytes]:
        """The ids of the tables of the windows that are public."""
        now = self._in_turn.open
        kept = (*self._in_turn.windows, *(() if now is None else (now,)))
        return frozenset(part.sketch_id for window in kept for part in window.release.parts)

    def _end(self) -> bool:
        self._before = self._in_turn.open or self._before
        return super()._end()


def check_times(windows: _Timed, times: object) -> None:
    """Raise ArgumentTypeError if windows of a range get rows without times.

    Args:
        windows: Count the rows.
        times: The times of the rows; None for none.
    """
    if windows.takes_times and times is None:
        raise ArgumentTypeError(
            "--time: expected a format whose rows have times, got one without times"
        )
