"""What the senders of a store hand over: batches that are counted once, and what they note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lazysketch.arguments import check_bools, checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sketches.live_state import ClosedByBlock, LiveState
from lazysketch.store.journal import Journal
from lazysketch.store.recovered_objects import note_record

if TYPE_CHECKING:
    from lazysketch import _native
    from lazysketch.store.calls import Call
    from lazysketch.store.stored_changes import Changes
    from lazysketch.store.stored_distinct import StoredDistinct
    from lazysketch.store.stored_distribution import StoredDistribution
    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
    from lazysketch.store.stored_objects import (
        StoredCounters,
        StoredHierarchy,
        StoredHitters,
        StoredSketch,
    )
    from lazysketch.store.stored_ranges import StoredRanges
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.store.stored_statistic_windows import (
        StoredDistinctWindows,
        StoredDistributionWindows,
        StoredRangesWindows,
    )
    from lazysketch.store.stored_sums import StoredSums
    from lazysketch.store.stored_sums_windows import StoredSumsWindows
    from lazysketch.store.stored_windows import StoredWindows

    Stored: TypeAlias = (
        StoredSketch
        | StoredCounters
        | StoredDistinct
        | StoredDistribution
        | StoredRanges
        | StoredSums
        | StoredHitters
        | StoredHierarchy
        | StoredWindows
        | StoredSliding
        | StoredHierarchicalWindows
        | StoredDistinctWindows
        | StoredDistributionWindows
        | StoredRangesWindows
        | StoredSumsWindows
    )

__all__ = ["Ingestion", "checked_name", "checked_note", "checked_source"]

_LARGEST_SEQUENCE: Final = 2**63 - 1
_LONGEST_NAME: Final = 200
_LONGEST_NOTE: Final = 10_000


class Ingestion(ClosedByBlock, LiveState):
    """Exactly-once batches of sources; a part of a store."""

    def __init__(self, native: _native.Store) -> None:
        """Begin with nothing open."""
        self._native = native
        self._journal = Journal(native)
        self._lock = self._journal.lock
        self._open: dict[str, Any] = {}

    def ingest(
        self,
        source: str,
        sequence: int,
        items: object,
        *,
        into: Stored,
        weights: object = None,
        empty_rows: object = None,
        column: str | None = None,
        times: object = None,
        user: object = None,
        note: str = "",
        durable: bool = True,
    ) -> bool:
        """Count a batch exactly once, however often it is sent.

        Guarantee: after the call returns, the batch is durable and was counted once. Batches of a
        source are counted in the order of their sequences: one that is not above the last is taken
        for a repetition. The batch, its sequence and its note are one record: all or none of them
        survive a crash.

        Args:
            source: name of the sender, 1 to 200 characters.
            sequence: 1, 2, ... within the source; gaps are allowed.
            items: the events, one step each.
            into: the object that counts them.
            weights: one integer per item, or None for weight 1; for sums by item their values, one
                number per item.
            empty_rows: positions of rows without an event, as for ``update_rows``; None for none.
            column: the name of the column, for a table with several columns.
            times: for windows of a range, the time of each event.
            user: the person of each event, one item per item; required if the object bounds
                people. Only a secret identity is kept.
            note: what :meth:`note` returns from then on, up to 10,000 characters, such as a
                position to read on from; encrypted like the events.
            durable: False returns before the batch is durable, which it is after
                :meth:`commit`, any read or :meth:`close`.

        Returns:
            True if the batch was counted now, False if it was counted before.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or an object of another store.
            ItemError: an invalid item; nothing was counted.
            StoreError: a store that cannot be written; send the batch again after opening it.
        """
        name, number = checked_source(source, sequence)
        self._check_open(into)
        batch = into._batch(
            items, weights, empty_rows=empty_rows, column=column, times=times, user=user
        )
        call = replace(batch, source=name, sequence=number, note=checked_note("note", note))
        return self._changed_once(into, call, durable=durable)

    def ingest_several(
        self,
        sources: Mapping[str, int],
        items: object,
        *,
        into: Stored,
        weights: object = None,
        user: object = None,
        durable: bool = True,
    ) -> bool:
        """Count batches of several sources as one change, which costs less than one for each.

        Guarantee: as of :meth:`ingest`, for all of the batches together: all or none of them are
        counted, and all or none survive a crash.

        Args:
            sources: the sequence of the batch of each source; empty for events of none.
            items: the events of all batches, one after the other.
            into: the object that counts them.
            weights: as for :meth:`ingest`.
            user: the person of each event, as for :meth:`ingest`.
            durable: as for :meth:`ingest`.

        Returns:
            True if the batches were counted now; False if one of them was counted before, so that
            none was counted now: pass each to :meth:`ingest`.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or an object of another store.
            ItemError: an invalid item; nothing was counted.
            StoreError: a store that cannot be written; send the batches again after opening it.
        """
        if not isinstance(sources, Mapping):
            raise ArgumentTypeError(
                f"sources: expected sequences by source, got {type(sources).__name__}"
            )
        sequences = dict(checked_source(*one) for one in sources.items())
        self._check_open(into)
        batch = into._batch(items, weights, empty_rows=None, column=None, times=None, user=user)
        return self._changed_once(into, replace(batch, sources=sequences), durable=durable)

    def last_sequence(self, source: str) -> int:
        """Return the sequence of the last batch of a source that was counted; 0 for none.

        Args:
            source: name of the sender.
        """
        return self._journal.sources.get(checked_name("source", source), 0)

    def note(self, source: str) -> str:
        """Return the note of the last batch of a source that had one, or of ``keep_note``.

        Args:
            source: name of the sender.

        Returns:
            The note; empty for none.
        """
        return self._journal.notes.get(checked_name("source", source), "")

    def keep_note(self, source: str, note: str) -> None:
        """Keep a note without a batch; durable after the next commit.

        Args:
            source: what the note is of, 1 to 200 characters.
            note: 1 to 10,000 characters, encrypted like the events.

        Raises:
            ArgumentTypeError: not texts.
            ArgumentValueError: an empty or too long one.
            StoreError: a store that cannot be written.
        """
        name = checked_name("source", source)
        if not checked_note("note", note):
            raise ArgumentValueError("note: expected at least 1 character, got none")
        self._journal.log(note_record(name, note))
        self._journal.notes[name] = note

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all sources that sent a batch, in the order of their first one."""
        return tuple(self._journal.sources)

    def commit(self) -> None:
        """Make all changes durable that were made before the call."""
        raise NotImplementedError

    def _check_open(self, into: object) -> None:
        name = getattr(into, "_name", "")
        if name not in self._open or self._open[name] is not into:
            raise ArgumentValueError("into: expected an open object of this store, got another")

    def _changed_once(self, into: Changes, call: Call, *, durable: bool) -> bool:
        check_bools(durable=durable)
        into._pass_time()
        is_new = self._journal.change_once(into, call)
        if durable:
            self.commit()
        return is_new


def checked_source(source: object, sequence: object) -> tuple[str, int]:
    """Return the id of a batch.

    Args:
        source: name of the sender, 1 to 200 printable characters.
        sequence: 1, 2, ... within the source.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.
    """
    name = checked_name("source", source)
    return name, checked_integer("sequence", sequence, most=_LARGEST_SEQUENCE)


def checked_name(argument: str, value: object) -> str:
    """Return a name that a store can keep.

    Args:
        argument: what it names.
        value: 1 to 200 printable characters.

    Raises:
        ArgumentTypeError: not a text.
        ArgumentValueError: another text.
    """
    plain = _plain(argument, value)
    if not 1 <= len(plain) <= _LONGEST_NAME or not plain.isprintable():
        raise ArgumentValueError(
            f"{argument}: expected 1 to {_LONGEST_NAME} printable characters, got {shown(plain)}"
        )
    return plain


def checked_note(argument: str, value: object) -> str:
    """Return a note that a store can keep.

    Args:
        argument: what it is called.
        value: up to 10,000 characters.

    Raises:
        ArgumentTypeError: not a text.
        ArgumentValueError: a longer text.
    """
    plain = _plain(argument, value)
    if len(plain) > _LONGEST_NOTE:
        raise ArgumentValueError(
            f"{argument}: expected at most {_LONGEST_NOTE} characters, got {len(plain)}"
        )
    return plain


def _plain(argument: str, value: object) -> str:
    """Return a text as a plain one, whatever its class."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{argument}: expected a str, got {type(value).__name__}")
    return str.__str__(value)
