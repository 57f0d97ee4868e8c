"""Values of messages as events: lines of text, JSON lines, or Arrow streams.

A value holds one event or many. Values of text are joined to one block, which the native core
reads; rows of a value end with it, so that one that ends within a row cannot change the next. What
cannot be read of a value is no event, and the place of the value in its sequence says which it was.

Cost: that of the rows, and 1 us for a value.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from lazysketch.service.ingest.bodies import events_of, events_of_lines, selection_of
from lazysketch.service.ingest.envelopes import ARROW, MOST_BODY
from lazysketch.service.ingest.events import Events, Judged
from lazysketch.service.ingest.refusals import RefusedRequestError

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings

__all__ = ["Part", "parts_of", "unreadable_part"]

_UNREADABLE: Final = b"\xff\n"  # neither text nor JSON


class Part(NamedTuple):
    """Consecutive values whose events are counted as one change.

    Attributes:
        begin: index of the first value.
        end: index after the last.
        events: their events.
        rows: number of rows up to the end of each value.
    """

    begin: int
    end: int
    events: Events
    rows: Sequence[int]

    def unreadable(self, judged: Judged) -> list[int]:
        """Return the indices of the values with rows that are no events, ascending.

        Args:
            judged: what is said of the rows, now that all of their events were looked at.
        """
        lost = itertools.chain(judged.malformed, judged.no_user, judged.too_long)
        return sorted({self.begin + bisect_right(self.rows, row) for row in lost})


def parts_of(values: Sequence[bytes | None], settings: StreamSettings) -> Iterator[Part]:
    """Yield the events of values, with at most 16 MiB of them at a time.

    Args:
        values: the bytes of each message; None for one without a value, which has no events.
        settings: the stream, with the format and the fields.
    """
    if settings.format == "arrow":
        for index, value in enumerate(values):
            yield _of_arrow(index, value, settings)
        return
    begin, size = 0, 0
    for index, value in enumerate(values):
        added = 0 if value is None else min(len(value), MOST_BODY)
        if size + added > MOST_BODY:
            yield _of_text(begin, values[begin:index], settings)
            begin, size = index, 0
        size += added
    if begin < len(values):
        yield _of_text(begin, values[begin:], settings)


def unreadable_part(index: int, settings: StreamSettings) -> Part:
    """Return what is counted of a value that cannot be read: nothing.

    Args:
        index: its index.
        settings: the stream.
    """
    return Part(index, index + 1, _none(Judged(1, malformed=[0]), settings), [1])


def _none(judged: Judged, settings: StreamSettings) -> Events:
    """Return no events, with the columns that those of a stream have."""
    values: list[float] | None = None if settings.value is None else []
    users: list[str] | None = None if settings.user is None else []
    return Events(judged, [], values, users)


def _of_arrow(index: int, value: bytes | None, settings: StreamSettings) -> Part:
    if value is None:
        return Part(index, index + 1, _none(Judged(0), settings), [0])
    try:
        if len(value) > MOST_BODY:
            return unreadable_part(index, settings)
        events = events_of(value, media_type=ARROW, selection=selection_of(settings))
    except RefusedRequestError:
        return unreadable_part(index, settings)
    return Part(index, index + 1, events, [events.judged.rows])


def _of_text(begin: int, values: Sequence[bytes | None], settings: StreamSettings) -> Part:
    whole = [_lines(value) for value in values]
    rows = [*itertools.accumulate(value.count(b"\n") for value in whole)]
    events = events_of_lines(
        b"".join(whole), is_text=settings.format == "lines", selection=selection_of(settings)
    )
    return Part(begin, begin + len(values), events, rows)


def _lines(value: bytes | None) -> bytes:
    if value is None:
        return b""
    if len(value) > MOST_BODY:
        return _UNREADABLE
    return value if value.endswith(b"\n") else value + b"\n"
