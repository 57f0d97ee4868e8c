"""Batches into the windows of a stream, each counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lazysketch.errors import ClosedError, ItemError, LazySketchError, StoreError
from lazysketch.service.ingest.bodies import Events, events_of, selection_of
from lazysketch.service.ingest.envelopes import Envelope
from lazysketch.service.ingest.misfits import that_fit
from lazysketch.service.ingest.refusals import RefusedRequestError

if TYPE_CHECKING:
    from lazysketch.service.stream import Stream
    from lazysketch.store import Store

__all__ = ["Counted", "Counting", "source_name"]

_MOST_SOURCES: Final = 100_000
_LONGEST_OWNER: Final = 34  # with a stream and a source, a name that the store takes


@dataclass(frozen=True, slots=True)
class Counted:
    """A batch that was counted, now or before; durable after the next commit.

    Attributes:
        events: what it held.
        repeated: True if it was counted before.
    """

    events: Events
    repeated: bool


class Counting:
    """Counts batches into the streams of a store. Of several threads.

    Args:
        store: the open store.
        failed: called with a failure after which the store has to be opened again.
    """

    def __init__(self, store: Store, *, failed: Callable[[BaseException], object]) -> None:
        self._store, self._failed = store, failed
        self._sources = len(store.sources)

    def count(self, stream: Stream, owner: str, envelope: Envelope, body: bytes) -> Counted:
        """Decode and count a batch; not durable yet.

        Args:
            stream: where it goes.
            owner: whose token the sender has.
            envelope: its headers.
            body: its bytes as received.

        Raises:
            RefusedRequestError: nothing was counted.
            StoreError: the store failed.
        """
        selection = selection_of(stream.settings)
        events = events_of(
            envelope.expanded(body), media_type=envelope.media_type, selection=selection
        )
        levels = stream.settings.hierarchy
        try:
            try:
                is_new = self._apply(stream, owner, envelope, events)
            except ItemError:  # nothing was applied; without levels no item is wrong here
                if levels is None:
                    raise
                events = that_fit(events, levels)
                is_new = self._apply(stream, owner, envelope, events)
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
        return Counted(events, repeated=not is_new)

    def _apply(self, stream: Stream, owner: str, envelope: Envelope, events: Events) -> bool:
        # Windows by the clock have no steps of events, so refused ones need no place.
        try:
            if not envelope.source:
                stream.windows.update_many(events.items, events.weights, user=events.users)
                return True
            name = source_name(owner, stream.settings.name, envelope.source)
            if not self._store.last_sequence(name):
                self._add_source()
            return self._store.ingest(
                name,
                envelope.sequence,
                events.items,
                into=stream.windows,
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

    def _add_source(self) -> None:
        if self._sources >= _MOST_SOURCES:
            raise RefusedRequestError(
                429,
                "Idempotency-Key",
                f"at most {_MOST_SOURCES:,} different sources in a store",
                "another one",
            )
        self._sources += 1


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
