"""The journal of a store: each change is counted and logged, and read after it is durable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from lazysketch import _native
from lazysketch.errors import ArgumentValueError, LazySketchError, StoreError
from lazysketch.sketches.live_state import exclusive
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED, PartialBatches

__all__ = ["Journal", "Stored"]

Result = TypeVar("Result")


class Stored(Protocol):
    """A live object of a store."""

    def _carry_out(self, call: Call) -> None:
        """Make a change that was converted, logged or not."""


class Journal:
    """The order of all changes of a store.

    Guarantee: what is read is durable. After a change that was interrupted the object may be ahead
    of the log; so nothing is read or changed any more, and the store has to be opened again.
    """

    def __init__(self, store: _native.Store) -> None:
        """Log into an open store."""
        self.native = store
        self.lock = self._lock = _native.NestingLock()
        self._changing = False
        self.last = store.last
        self.largest = store.largest_record
        self.bytes_logged = 0
        self.sources: dict[str, int] = {}
        self.notes: dict[str, str] = {}
        self.partials = PartialBatches()

    @exclusive
    def change(self, stored: Stored, call: Call) -> None:
        """Count and log a change; durable after the next commit.

        Args:
            stored: the object.
            call: the change.

        Raises:
            StoreError: after an interrupted change, or if the log cannot be written.
            LazySketchError: a change that the object refuses; nothing was counted or logged.
        """
        self.check()
        record = call.encoded()
        if record.size > self.largest:  # before it is counted: afterwards it could not be logged
            raise ArgumentValueError(
                f"items: expected a batch of at most {self.largest:,} bytes in the log, got "
                f"{record.size:,}; nothing was counted: pass it in parts"
            )
        self._changing = True
        try:
            stored._carry_out(call)
        except LazySketchError:
            self._changing = False
            raise
        self.last = self.native.append(record.parts)
        if call.source is not None:
            self.sources[call.source] = call.sequence
            if call.note:
                self.notes[call.source] = call.note
        self.sources.update(call.sources)
        if call.method == ADDED:
            self.partials.add(call)
        self._changing = False
        self.bytes_logged += record.size

    @exclusive
    def change_once(self, stored: Stored, call: Call) -> bool:
        """Make a change unless a source of it says that it was made; return whether it was made.

        Args:
            stored: the object.
            call: a change with sources and their sequences.
        """
        self.check()
        sequences = dict(call.sources)
        if call.source is not None:
            sequences[call.source] = call.sequence
        if any(number <= self.sources.get(source, 0) for source, number in sequences.items()):
            return False
        self.change(stored, call)
        return True

    @exclusive
    def log(self, call: Call) -> None:
        """Log what changes no object, such as that one was made.

        Args:
            call: what happened.
        """
        self.check()
        record = call.encoded()
        self.last = self.native.append(record.parts)
        self.bytes_logged += record.size

    @exclusive
    def read(self, reading: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """Return what a function reads, after everything that it can see is durable.

        Args:
            reading: the function.
            *args: its arguments.
            **kwargs: its named arguments.
        """
        self.commit()
        return reading(*args, **kwargs)

    def commit(self) -> int:
        """Make all changes durable that were made before the call; return the last one's number."""
        self.check()
        return self.native.commit()

    @exclusive
    def check(self) -> None:
        """Raise after a change that was interrupted; wait for one of another thread."""
        if self._changing:
            raise StoreError(
                "store: expected an intact store, got one whose last change was interrupted; open "
                "it again, it goes on from what was committed"
            )
