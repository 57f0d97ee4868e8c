"""Batches into the windows of a stream, each counted once.

Small batches that wait together are decoded, counted and logged as one: each of these steps costs
ten times what a hundred events cost. What is refused, and what is repeated, is still said of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lazysketch.errors import ClosedError, LazySketchError, StoreError
from lazysketch.service.ingest.bodies import (
    MOST_EVENTS,
    events_of,
    events_of_lines,
    lines_of,
    selection_of,
)
from lazysketch.service.ingest.envelopes import ARROW, LINES, Envelope
from lazysketch.service.ingest.events import Events, Judged
from lazysketch.service.ingest.fitting import applied
from lazysketch.service.ingest.refusals import RefusedRequestError

if TYPE_CHECKING:
    from lazysketch.service.stream import Stream
    from lazysketch.store import Store

__all__ = ["Batch", "Counted", "Counting", "source_name"]

_MOST_SOURCES: Final = 100_000
_LONGEST_OWNER: Final = 34  # with a stream and a source, a name that the store takes


@dataclass(frozen=True, slots=True)
class Batch:
    """What a sender sent.

    Attributes:
        stream: where it goes.
        owner: whose token the sender has.
        envelope: its headers.
        body: its bytes as received.
    """

    stream: Stream
    owner: str
    envelope: Envelope
    body: bytes

    @property
    def source(self) -> str:
        """What the store calls its source; empty for a batch without a key."""
        source = self.envelope.source
        return source and source_name(self.owner, self.stream.settings.name, source)


@dataclass(frozen=True, slots=True)
class Counted:
    """A batch that was counted, now or before; durable after the next commit.

    Attributes:
        judged: which of its events are refused.
        repeated: True if it was counted before.
    """

    judged: Judged
    repeated: bool


@dataclass(frozen=True, slots=True)
class _Lines:
    """A batch whose events are lines, and its place among those that are counted together."""

    place: int
    batch: Batch
    lines: bytes
    rows: int


class Counting:
    """Counts batches into the streams of a store. Of several threads.

    Args:
        store: the open store.
        failed: called with a failure after which the store has to be opened again.
    """

    def __init__(self, store: Store, *, failed: Callable[[BaseException], object]) -> None:
        self._store, self._failed = store, failed
        self._sources = len(store.sources)

    def count_each(self, batches: Sequence[Batch]) -> list[Counted | Exception]:
        """Decode and count batches, as one change where they can be; not durable yet.

        Guarantee: the same answers and the same counts as of :meth:`count` of each in turn.

        Args:
            batches: those of small bodies.

        Returns:
            For each batch, what was counted, or why it was not.

        Raises:
            StoreError: the store failed.
        """
        if len(batches) == 1:
            return [self._counted(batches[0])]
        found: list[Counted | Exception | None] = [None] * len(batches)
        for together in _together(batches):
            for one, counted in zip(together, self._count_together(together), strict=True):
                found[one.place] = counted
        # What could not be counted together, such as a batch that is sent twice, is counted alone.
        return [one or self._counted(batch) for one, batch in zip(found, batches, strict=True)]

    def _counted(self, batch: Batch) -> Counted | Exception:
        try:
            return self.count(batch)
        except StoreError:
            raise
        except Exception as error:  # the answer of this batch alone
            return error

    def _count_together(self, batches: Sequence[_Lines]) -> Sequence[Counted | None]:
        """Count batches as one change; None for each that has to be counted alone."""
        alone = [None] * len(batches)
        if len(batches) == 1:
            return alone
        first = batches[0].batch
        stream, is_text = first.stream, first.envelope.media_type == LINES
        try:
            events = events_of_lines(
                b"".join([one.lines for one in batches]),
                is_text=is_text,
                selection=selection_of(stream.settings),
            )
            counted = self._applied(stream, [one.batch for one in batches], events)
        except StoreError:
            raise
        except Exception:  # of any of them, which says so itself when it is counted alone
            return alone
        return alone if counted.repeated else _parts(counted.judged, batches)

    def count(self, batch: Batch) -> Counted:
        """Decode and count a batch; not durable yet.

        Args:
            batch: what was sent.

        Raises:
            RefusedRequestError: nothing was counted.
            StoreError: the store failed.
        """
        stream, envelope = batch.stream, batch.envelope
        events = events_of(
            envelope.expanded(batch.body),
            media_type=envelope.media_type,
            selection=selection_of(stream.settings),
        )
        try:
            return self._applied(stream, [batch], events)
        except (StoreError, RefusedRequestError):
            raise
        except ClosedError:
            raise RefusedRequestError(
                409, "stream", "one that takes events", "a finished one"
            ) from None
        except LazySketchError:
            # Such as a batch that is larger than a record of the log; the text may quote an item.
            raise RefusedRequestError(
                413, "body", "a batch that the store can take", "a larger one"
            ) from None

    def _applied(self, stream: Stream, batches: Sequence[Batch], events: Events) -> Counted:
        """Count batches whose events are one; said to be repeated if any of them is."""
        sequences = {one.source: one.envelope.sequence for one in batches if one.envelope.source}
        new = self._new_sources(sequences)
        events, is_new = applied(
            events, stream.settings, lambda fitting: self._apply(stream, sequences, fitting)
        )
        if is_new:  # what was refused, or is repeated alone, adds no source
            self._sources += new
        return Counted(events.judged, repeated=not is_new)

    def _apply(self, stream: Stream, sequences: Mapping[str, int], events: Events) -> bool:
        # Windows by the clock have no steps of events, so refused ones need no place.
        try:
            return self._store.ingest_several(
                sequences,
                events.items,
                into=stream.counts,
                weights=events.weights,
                user=events.users,
                durable=False,
            )
        except LazySketchError as error:
            if isinstance(error, StoreError):
                self._failed(error)
            raise
        except BaseException as error:
            # A change was interrupted: memory may be ahead of the log.
            self._failed(error)
            raise StoreError("store: expected an intact one, got an interrupted change") from None

    def _new_sources(self, names: Iterable[str]) -> int:
        """Return how many sources are new; raise if the store would have more than it may."""
        new = sum(not self._store.last_sequence(name) for name in names)
        if self._sources + new > _MOST_SOURCES:
            raise RefusedRequestError(
                429,
                "Idempotency-Key",
                f"at most {_MOST_SOURCES:,} different sources in a store",
                "another one",
            )
        return new


def _together(batches: Sequence[Batch]) -> Iterator[list[_Lines]]:
    """Yield batches that can be counted as one, each source once, by its first batch if at all."""
    groups: dict[tuple[str, bool], list[_Lines]] = {}
    sources: set[str] = set()
    for place, batch in enumerate(batches):
        kind, source = batch.envelope.media_type, batch.source
        if source and source in sources:  # alone, after the earlier one in whatever way
            continue
        sources.add(source)
        if kind == ARROW or batch.envelope.coding:
            continue
        try:
            lines = lines_of(batch.body, media_type=kind)
        except RefusedRequestError:  # again when it is counted alone
            continue
        one = _Lines(place, batch, lines, lines.count(b"\n"))
        groups.setdefault((batch.stream.settings.name, kind == LINES), []).append(one)
    for group in groups.values():
        yield from _limited(group)


def _limited(group: Sequence[_Lines]) -> Iterator[list[_Lines]]:
    """Yield the parts of a group, none with more events than one batch may have."""
    part: list[_Lines] = []
    rows = 0
    for one in group:
        if rows + one.rows > MOST_EVENTS:
            yield part
            part, rows = [], 0
        part.append(one)
        rows += one.rows
    yield part


def _parts(judged: Judged, batches: Sequence[_Lines]) -> list[Counted]:
    """Return what is said of each of the batches whose lines were judged together."""
    found, begin = [], 0
    for one in batches:
        found.append(Counted(judged.part(begin, begin + one.rows), repeated=False))
        begin += one.rows
    return found


@lru_cache(maxsize=1 << 12)
def source_name(owner: str, stream: str, source: str) -> str:
    """Return what the store calls a source, different for each owner, stream and source.

    Args:
        owner: the owner of the token; empty without tokens.
        stream: the stream.
        source: the name that the sender chose.

    Example:
        >>> source_name("web 1", "pages", "host a")
        'web%201 pages host a'
    """
    quoted = quote(owner, safe="")
    if len(quoted) > _LONGEST_OWNER:
        # No quoted owner begins with this sign.
        quoted = "=" + hashlib.sha256(owner.encode()).hexdigest()[: _LONGEST_OWNER - 1]
    return f"{quoted} {stream} {source}"
