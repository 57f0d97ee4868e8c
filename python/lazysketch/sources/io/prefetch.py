"""Reading ahead: a generator runs in a background thread while its values are consumed.

The thread waits once AHEAD values are queued, so memory stays bounded; a value can be taken
as soon as it is produced. Values, and the exception that ends them, keep their order. The
generator runs and is closed in its own thread only.

When to prefer it: parsing and counting both release the GIL, so each can use a core. If the
GIL is held throughout there is no gain, and a cost of some microseconds per value.
"""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from lazysketch.sources.io.interruptible import EndableWaits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from lazysketch.sources.io.interruptible import Stop

AHEAD = 4  # queue depth: absorbs one slow producer or consumer step

_JOIN_STEP = 0.1  # seconds; bounds the wait for a thread in a system call that cannot be ended
_JOIN_LIMIT = 2.0  # seconds; bounded join: the caller may hold a lock the thread needs

Value = TypeVar("Value")
_Start: TypeAlias = "Callable[[EndableWaits], Generator[Value, None, None]]"


@dataclass(frozen=True, slots=True)
class _End:
    """End-of-stream sentinel, with the exception that the generator raised, or None."""

    failure: BaseException | None = None


def read_ahead(start: _Start[Value], *, stop: Stop | None = None) -> Generator[Value, None, None]:
    """Yield the values of a generator that runs in a background thread.

    Closing this generator, or the end of the process, closes the other one, immediately if
    it waits for input, and its thread ends. The exception is a thread in a system call that
    cannot be ended, such as opening a FIFO without a writer: the (daemon) thread is
    abandoned and exits when the call returns.

    Args:
        start: Makes the generator. It is called in the background thread, with the waits
            that the generator must use.
        stop: Ends this generator on request, also while it waits for a value. The values
            read ahead until then are still yielded.
    """
    reader = _BackgroundReader(start)
    if stop is not None:
        stop.wakes(reader.stop)
    try:
        yield from reader.values()
    finally:
        reader.end()


class _BackgroundReader(Generic[Value]):
    """A generator in a background thread, with its queue of values.

    Both queues (values, and free slots) are SimpleQueue, implemented in C: a signal handler
    that raises in the consuming thread cannot leave a lock held.
    """

    def __init__(self, start: _Start[Value]) -> None:
        self._values: SimpleQueue[Value | _End] = SimpleQueue()
        self._free_slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(AHEAD - 1):  # the first value needs no slot
            self._free_slots.put(None)
        self._waits = EndableWaits()
        self._thread = threading.Thread(
            target=_read,
            args=(start, self._waits, self._values, self._free_slots),
            name="lazysketch reads ahead",
            daemon=True,  # the process must not wait for a stuck thread
        )
        _RUNNING[self._thread] = self.end
        try:
            self._thread.start()
        except BaseException:
            del _RUNNING[self._thread]
            raise

    def stop(self) -> None:
        """Let the values end after those that are queued; SimpleQueue allows it in a handler."""
        self._values.put(_End())

    def end(self) -> None:
        """End the thread, and wait (bounded) until it has ended."""
        self._waits.end()
        self._free_slots.put(None)
        thread = self._thread
        if thread is threading.current_thread():  # called by the garbage collector in this thread
            return
        deadline = time.monotonic() + _JOIN_LIMIT
        while thread.is_alive() and time.monotonic() < deadline:
            thread.join(_JOIN_STEP)
            if self._waits.stuck:
                break
        if not thread.is_alive():
            self._waits.close()

    def values(self) -> Generator[Value, None, None]:
        while True:
            value = self._values.get()
            if isinstance(value, _End):
                if value.failure is not None:
                    raise value.failure
                return
            self._free_slots.put(None)
            yield value


def _read(
    start: _Start[Value],
    waits: EndableWaits,
    values: SimpleQueue[Value | _End],
    free_slots: SimpleQueue[None],
) -> None:
    try:
        with closing(start(waits)) as generator:
            for value in generator:
                values.put(value)
                free_slots.get()
                waits.check()
    except BaseException as failure:  # raised again in the consuming thread
        values.put(_End(failure))
    else:
        values.put(_End())
    finally:
        del _RUNNING[threading.current_thread()]


# How to end each running reader.
_RUNNING: dict[threading.Thread, Callable[[], None]] = {}


@atexit.register
def _end_all() -> None:
    """End all readers before interpreter shutdown.

    During shutdown a thread that returns from native code would be killed there.
    """
    for end in list(_RUNNING.values()):
        end()
