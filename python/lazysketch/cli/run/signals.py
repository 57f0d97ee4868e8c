"""Signals that ask the command to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal).

Until a run counts, each raises KeyboardInterrupt. From then on privacy is spent and the result
must not be lost: the first signal ends the reading, later ones are answered by one line. No handler
raises while a batch is counted, a file is saved or the result is written. SIGQUIT and SIGKILL have
no handler and end the process at once.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run.exit_status import INTERRUPTED
from lazysketch.cli.run.signal_wakeup import main_thread_woken
from lazysketch.cli.view.output import hold_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = ["Signals", "end_as_ctrl_c"]

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_STANDARD_ERROR: Final = 2
_ANSWER: Final = (
    "the run is ending; it saves and prints the result first "
    "(SIGQUIT, Ctrl-\\, ends at once and loses it)"
)


class Signals:
    """The handlers of one run of the command, and what they received."""

    def __init__(self) -> None:
        self.first: int | None = None
        self._end: Callable[[], bool] | None = None
        self._finishing = False
        self._answered = False

    @property
    def status(self) -> int:
        """The exit status after a signal; that of Ctrl-C if none was received."""
        return INTERRUPTED if self.first is None else 128 + self.first

    @contextmanager
    def handled(self, *, ends_process: bool) -> Iterator[None]:
        """Handle the signals while the block runs; one that the process ignores stays ignored.

        SIGTERM is handled even so, because a run without end needs a way to be ended.

        Args:
            ends_process: Whether the process ends after the block. The signals are then ignored,
                so that they cannot change the exit status of a result that is complete.
        """
        before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        if threading.current_thread() is threading.main_thread():
            for name in _NAMES:
                number = getattr(signal, name, None)
                ignored = number is None or signal.getsignal(number) is signal.SIG_IGN
                if number is not None and (not ignored or name == "SIGTERM"):
                    before[number] = signal.signal(number, self._received)
        try:
            with main_thread_woken():
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if ends_process else handler)

    def counting(self, end: Callable[[], bool]) -> None:
        """Call a function at the first signal from now on instead of raising KeyboardInterrupt.

        Args:
            end: Asks the run to end. It returns False if only an exception can end what the main
                thread waits for.
        """
        self._end = end

    def finishing(self) -> None:
        """Only answer signals from now on: the run is ending anyway."""
        self._finishing = True

    def _received(self, number: int, _: FrameType | None) -> None:
        again = self.first is not None
        if not again:
            self.first = number
        if self._end is None:
            raise KeyboardInterrupt
        if again or self._finishing:
            self._answer()
        elif not self._end():
            raise KeyboardInterrupt

    def _answer(self) -> None:
        """Write the line once, not through sys.stderr, which the signal may have interrupted."""
        if self._answered:
            return
        self._answered = True
        if hold_answer(_ANSWER):
            return
        with suppress(OSError):
            if _takes_a_line(_STANDARD_ERROR):
                os.write(_STANDARD_ERROR, f"lazysketch: {_ANSWER}\n".encode())


def end_as_ctrl_c() -> None:
    """Send the signal of Ctrl-C to the main thread, which a wait for input does not hold up."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _takes_a_line(descriptor: int) -> bool:
    """Return whether a write would not block, as it would in a full pipe or a held terminal."""
    if not hasattr(select, "poll"):
        return True
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return bool(poller.poll(0))
