"""One JSON object per refresh on standard output, at regular times.

A daemon thread writes, so that neither a silent input nor a slow reader of the output stops the
counting. If the reader closes the output, the run ends as by Ctrl-C and keeps what it published.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.output import as_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from lazysketch.cli.view.output import Row

__all__ = ["JsonStream", "write_state"]

_MIN_PAUSE: Final = 9  # times the duration of a refresh: a refresh takes a tenth of the time


class JsonStream:
    """Writes the state of a run at regular times while the block runs.

    Args:
        state: Returns what to write; None for nothing yet.
        every: Seconds from one line to the next; longer if computing a state takes more than a
            tenth of them.
    """

    def __init__(self, state: Callable[[], Row | None], *, every: float) -> None:
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
            except Exception as failure:  # raised by the thread that ends the run
                self.failure = failure
                if not self._done.is_set():
                    _interrupt()
                return
            pause = max(self._every, _MIN_PAUSE * took)


def write_state(state: Row, *, final: bool) -> None:
    """Write a state as one line and flush it."""
    sys.stdout.write(as_json({**state, "final": final}, indent=None) + "\n")
    sys.stdout.flush()


def _interrupt() -> None:
    """Interrupt the main thread, which may be blocked on a silent input."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A background job of a shell ignores SIGINT; SIGTERM ends its run in the same way.
        if callable(signal.getsignal(number)):
            reader = threading.main_thread().ident
            if hasattr(signal, "pthread_kill") and reader is not None:
                signal.pthread_kill(reader, number)
            else:
                signal.raise_signal(number)
            return
