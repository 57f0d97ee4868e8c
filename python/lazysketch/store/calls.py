"""Changes of stored objects as records of a log.

A record is one call: a version, a header in JSON after its length, then the bytes of its batches
(docs/state-format.md). Items are
converted once, in the core, so that what is counted and what is logged are one value.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import StoreError

__all__ = ["Call", "Counts", "Record", "Share", "plain_counts"]

_VERSION: Final = 1
_OF_SEVERAL: Final = 2  # of sources: an earlier program would count the batch and forget them
_OF_OBJECTS: Final = 3  # several objects: an earlier program knows none of their common name
_HEAD: Final = struct.Struct("<BI")  # version, length of the header
Counts = npt.NDArray[np.uint64]
Times = npt.NDArray[np.int64]


class Record(NamedTuple):
    """The parts of a record, one after the other, and its number of bytes."""

    parts: list[bytes | _native.LoggedEvents | _native.LoggedPeople]
    size: int


class Share(NamedTuple):
    """What one object has of a change of several.

    Attributes:
        object: its name.
        batches: number of its batches.
        empty_rows: number of its rows without an event.
        weights: number of its weights; 0 for weight 1 each.
        people: whether its events have people.
    """

    object: str
    batches: int
    empty_rows: int
    weights: int = 0
    people: bool = False

    @property
    def plain(self) -> list[str | int]:
        """The values for a log; an earlier program refuses those that it does not know."""
        if self.people:
            return list(self)
        return list(self[:4]) if self.weights else list(self[:3])


@dataclass(frozen=True)
class Call:
    """One change of one object.

    Attributes:
        object: name of the object.
        method: what is called.
        events: batches of items, one per table.
        user: the secret identity of the person of each item, of several objects one after the
            other; None where people are not bounded.
        weights: one weight per item; None for 1 each.
        empty_rows: positions of rows without an event.
        steps: steps without an event.
        source: where the batch comes from, for a batch that is counted once; None otherwise.
        sources: the sequence of each source, for batches of several that are one change.
        sequence: place of the batch in its source.
        note: what the source says of itself with the batch, such as its position.
        digest: of the parameters, where an object is made.
        times: one instant per item, in nanoseconds since 1970 UTC, for windows of a range.
        now: what the clock of windows said, in seconds since 1970 UTC.
        facts: what else there is to say, as values of JSON.
        objects: of a change of several objects, what of it is of each of them, in order.
        contents: bytes that are public, such as releases.
        threads: for counting, not logged: the result is the same for any number.
        gathered: the counts that ``contents`` has sealed, not logged.
    """

    object: str
    method: str
    events: tuple[_native.LoggedEvents, ...] = ()
    user: _native.LoggedPeople | None = None
    weights: Counts | None = None
    empty_rows: Counts | None = None
    steps: int = 0
    source: str | None = None
    sequence: int = 0
    note: str = ""
    digest: str = ""
    times: Times | None = None
    now: float | None = None
    sources: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    objects: tuple[Share, ...] = ()
    contents: tuple[bytes, ...] = ()
    threads: int = 1
    gathered: _native.GatheredCounts | None = None

    def divided(self) -> list[Call]:
        """Return the changes of single objects that a change of several consists of."""
        calls, batch, row, weight, person = [], 0, 0, 0, 0
        for name, batches, rows, number, has_people in self.objects:
            empty = None if self.empty_rows is None else self.empty_rows[row : row + rows]
            events = self.events[batch : batch + batches]
            weights = None
            if self.weights is not None and number > 0:
                weights = self.weights[weight : weight + number]
            people = len(events[0]) if has_people else 0
            user = None
            if self.user is not None and has_people:
                user = self.user[person : person + people]
            own = replace(self, object=name, events=events, empty_rows=empty, objects=())
            own = replace(own, weights=weights, source=None, sequence=0, note="", sources={})
            calls.append(replace(own, user=user))
            batch, row, weight = batch + batches, row + rows, weight + number
            person += people
        return calls

    def encoded(self) -> Record:
        """Return the record of the call."""
        columns = (self.weights, self.empty_rows, self.times)
        counted = [column.tobytes() for column in columns if column is not None]
        counted += self.contents
        batches: list[_native.LoggedEvents | _native.LoggedPeople] = [*self.events]
        if self.user is not None:
            batches.append(self.user)
        sizes = [*(batch.size for batch in batches), *map(len, counted)]
        header: dict[str, Any] = {"object": self.object, "method": self.method}
        header |= {
            "batches": len(self.events),
            "weights": self.weights is not None,
            "empty rows": self.empty_rows is not None,
            "sizes": sizes,
        }
        if self.user is not None:
            header["people"] = True
        if self.steps:
            header["steps"] = self.steps
        if self.source is not None:
            header |= {"source": self.source, "sequence": self.sequence}
        if self.sources:
            header["sources"] = dict(self.sources)
        if self.note:
            header["note"] = self.note
        if self.digest:
            header["digest"] = self.digest
        if self.times is not None:
            header["times"] = True
        if self.now is not None:
            header["now"] = self.now
        if self.facts:
            header["facts"] = dict(self.facts)
        if self.objects:
            header["objects"] = [one.plain for one in self.objects]
        if self.contents:
            header["contents"] = len(self.contents)
        head = json.dumps(header, separators=(",", ":")).encode()
        version = _OF_SEVERAL if self.sources else _VERSION
        version = _OF_OBJECTS if self.objects else version
        start = _HEAD.pack(version, len(head)) + head
        return Record([start, *batches, *counted], len(start) + sum(sizes))

    @classmethod
    def decoded(cls, record: bytes) -> Call:
        """Return the call of a record.

        Args:
            record: the parts of :meth:`encoded`, one after the other.

        Raises:
            StoreError: other bytes.
        """
        try:
            version, length = _HEAD.unpack_from(record)
            if version not in (_VERSION, _OF_SEVERAL, _OF_OBJECTS):
                raise StoreError(f"state: expected record version 1 to 3, got {version}")
            start = _HEAD.size + length
            header = json.loads(record[_HEAD.size : start])
            parts = _parts(record, start, header["sizes"])
            events = tuple(
                _native.LoggedEvents.from_bytes(next(parts)) for _ in range(header["batches"])
            )
            people = _native.LoggedPeople
            user = people.from_bytes(next(parts)) if header.get("people") else None
            weights = _counts(next(parts)) if header["weights"] else None
            empty = _counts(next(parts)) if header["empty rows"] else None
            decoded = cls(
                object=header["object"],
                method=header["method"],
                events=events,
                user=user,
                weights=weights,
                empty_rows=empty,
                steps=header.get("steps", 0),
                source=header.get("source"),
                sequence=header.get("sequence", 0),
                note=header.get("note", ""),
                digest=header.get("digest", ""),
                times=_counts(next(parts)).view(np.int64) if header.get("times") else None,
                now=header.get("now"),
                sources=header.get("sources", {}),
                facts=header.get("facts", {}),
                objects=tuple(Share(*one) for one in header.get("objects", ())),
                contents=tuple(next(parts) for _ in range(header.get("contents", 0))),
            )
            if next(parts, None) is not None:  # which checks as well that no bytes are left
                raise ValueError("parts")
            return decoded
        except (KeyError, TypeError, ValueError, StopIteration, struct.error) as error:
            raise StoreError(
                f"state: expected a record of this version, got another ({type(error).__name__})"
            ) from None


def plain_counts(values: object) -> Counts | None:
    """Return weights or positions as an array that no other code can change, or None for None.

    Args:
        values: one integer per item, or None.

    Raises:
        ArgumentTypeError: not integers.
        ArgumentValueError: a negative one.
    """
    return None if values is None else _native.plain_weights(values)


def _parts(record: bytes, start: int, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield record[start : start + size]
        start += size
    if start != len(record):
        raise ValueError("sizes")


def _counts(part: bytes) -> Counts:
    return np.frombuffer(part, dtype="<u8").astype(np.uint64, copy=False)
