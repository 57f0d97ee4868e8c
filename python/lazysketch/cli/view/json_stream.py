"""The ticker: one JSON object per refresh on standard output, by the clock.

A thread of its own writes, so that a silent input or a slow reader of the output stops nobody.
Where the reader has gone, the run is ended as by Ctrl-C: what it published is kept.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from lazysketch.cli.view.output import as_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["Ticker", "write_state"]

_SHARE_OF_TIME: Final = 10  # a refresh may take one part in so many


class Ticker:
    """Writes a state again and again while the block runs.

    Args:
        state: Returns what to write; None for nothing yet.
        every: Seconds from one line to the next; more if a state takes longer to make than a
            tenth of that.
    """

    def __init__(self, state: Callable[[], dict[str, Any] | None], *, every: float) -> None:
        self.failure: Exception | None = None
        self._state = state
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._done.wait(pause):
            begin = time.perf_counter()
            try:
                state = self._state()
                took = time.perf_counter() - begin
                if state is not None and not self._done.is_set():
                    write_state(state, final=False)
            except Exception as failure:  # raised by whoever ends the run
                self.failure = failure
                if not self._done.is_set():
                    _interrupt()
                return
            pause = max(self._every, (_SHARE_OF_TIME - 1) * took)


def write_state(state: dict[str, Any], *, final: bool) -> None:
    """Write a state as one line, at once."""
    sys.stdout.write(as_json({**state, "final": final}, indent=None) + "\n")
    sys.stdout.flush()


def _interrupt() -> None:
    """Wake the thread that reads, which may wait for input for ever."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # In the background of a shell SIGINT is ignored; then SIGTERM ends a run in the same way.
        if callable(signal.getsignal(number)):
            reader = threading.main_thread().ident
            if hasattr(signal, "pthread_kill") and reader is not None:
                signal.pthread_kill(reader, number)
            else:
                signal.raise_signal(number)
            return
