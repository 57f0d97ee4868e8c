"""One JSON object per refresh on standard output, at regular times.

A daemon thread writes, so that neither a silent input nor a slow reader of the output stops the
counting. If the reader closes the output, the run ends as by Ctrl-C and keeps what it published,
whichever signals the process handles.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.output import as_json, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from lazysketch.cli.view.output import Row

__all__ = ["JsonStream", "line_of"]

_MIN_PAUSE: Final = 9  # times the duration of a refresh: a refresh takes a tenth of the time


class JsonStream:
    """Writes the state of a run at regular times while the block runs.

    Args:
        state: Returns what to write; None for nothing yet.
        every: Seconds from one line to the next; longer if computing a state takes more than a
            tenth of them.
        end: Ends the run after a failure; called from the thread.
    """

    def __init__(
        self, state: Callable[[], Row | None], *, every: float, end: Callable[[], object]
    ) -> None:
        self.failure: Exception | None = None
        self._state = state
        self._every = every
        self._end = end
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
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """Begin no further line; does not wait for one that a slow reader holds up."""
        self._done.set()

    def _run(self) -> None:
        pause = self._every
        while not self._done.wait(pause):
            begin = time.perf_counter()
            try:
                state = self._state()
                took = time.perf_counter() - begin
                if state is not None and not self._done.is_set():
                    put(line_of(state, final=False))
            except Exception as failure:  # raised by the thread that ends the run
                self.failure = failure
                if not self._done.is_set():
                    self._end()
                return
            pause = max(self._every, _MIN_PAUSE * took)


def line_of(state: Row, *, final: bool) -> str:
    """Return a state as one line."""
    return as_json({**state, "final": final}, indent=None) + "\n"
