"""Rows of growing files as events, each counted once, also over restarts."""

from __future__ import annotations

import logging
import re
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ClosedError, ItemError, LazySketchError
from lazysketch.service.background import Background
from lazysketch.service.ingest.misfits import rows_that_fit
from lazysketch.sources import open_source
from lazysketch.sources.formats.keys import with_keys
from lazysketch.sources.io.positions import Positions

if TYPE_CHECKING:
    from lazysketch.service.stream import Stream
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.sources import RowBatch, Source
    from lazysketch.sources.io.positions import FileReading
    from lazysketch.store import Store

_LOG: Final = logging.getLogger("lazysketch.service")
_NOTE: Final = "service positions"
_OF_FILE: Final = re.compile(r"file \d+")
_COMMIT_SECONDS: Final = 1.0
_SETTING_OF_ARGUMENT: Final = {
    "format": "format",
    "field": "item",
    "weight": "weight",
    "value": "value",
    "user": "user",
}

__all__ = ["Commits", "FollowedFile", "FollowedPositions"]


class FollowedPositions(Positions):
    """What was counted of each file that a service follows.

    Args:
        store: the open store, which keeps the positions and the secret key of their digests.

    Raises:
        StoreError: a store that cannot be written.
    """

    def __init__(self, store: Store) -> None:
        kept = store.note(_NOTE)
        if not kept:
            kept = secrets.token_hex(32)
            store.keep_note(_NOTE, kept)
        # Sources of senders have three words.
        files = [source for source in store.sources if _OF_FILE.fullmatch(source)]
        super().__init__(bytes.fromhex(kept), {source: store.note(source) for source in files})
        self._finding = threading.Lock()  # each file is read in a thread of its own

    def reading(
        self, descriptor: int, path: str | Path, *, anew: bool = False
    ) -> FileReading | None:
        """Return the reading of an open file, as the method of the base class."""
        with self._finding:
            return super().reading(descriptor, path, anew=anew)


class FollowedFile(Background):
    """Counts the rows of a file as it grows, in a thread.

    Guarantee: a row and the position after it are one record of the log, so that a crash loses or
    repeats neither. A row that cannot be read is no event.

    Args:
        stream: the stream, whose settings name the file.
        store: the open store.
        positions: what was counted of each file.
        failed: called with what went wrong if the file cannot be counted any more.

    Raises:
        SourceError: the file cannot be read.
        ArgumentValueError: a format that cannot be followed.
    """

    def __init__(
        self,
        stream: Stream,
        store: Store,
        *,
        positions: FollowedPositions,
        failed: Callable[[BaseException], object],
    ) -> None:
        settings = stream.settings
        assert settings.follow is not None, "callers check"  # noqa: S101
        self._stream, self._store, self._failed = stream, store, failed
        self._source = _source(settings, settings.follow, positions)
        super().__init__(f"follow {settings.name}")

    def _interrupt(self) -> None:
        self._source.stop()

    def _run(self) -> None:
        name = self._stream.settings.name
        try:
            for batch in self._source:
                self._add(batch)
        except ClosedError:
            _LOG.info("%s: the stream has ended; its file is not read any more", name)
        except (LazySketchError, OSError) as error:
            _LOG.error("%s: the file is not followed any more: %s", name, error)
            self._failed(error)
        except BaseException as error:  # its text may quote a row
            _LOG.error("%s: the file is not followed any more: %s", name, type(error).__name__)
            self._failed(error)

    def _add(self, batch: RowBatch) -> None:
        settings = self._stream.settings
        if settings.key_bits is not None:
            batch = with_keys(batch, settings.key_bits)
        levels = settings.hierarchy
        try:
            self._ingest(batch)
        except ItemError:  # nothing was applied; without levels no item is wrong here
            if levels is None:
                raise
            self._ingest(rows_that_fit(batch, levels))

    def _ingest(self, batch: RowBatch) -> None:
        place = self._source.place
        assert place is not None, "a followed file has positions"  # noqa: S101
        position = place.after(batch.rows)
        self._store.ingest(
            place.source,
            position.rows,
            batch.items,
            into=self._stream.counts,
            weights=batch.weights,
            empty_rows=batch.empty_rows or None,
            user=batch.users,
            note=position.to_text(),
            durable=False,
        )


class Commits(Background):
    """Makes what followed files added durable, every second.

    Args:
        store: the open store.
        failed: called with what went wrong if the store cannot go on.
    """

    def __init__(self, store: Store, *, failed: Callable[[BaseException], object]) -> None:
        self._store, self._failed = store, failed
        super().__init__("commits")

    def _run(self) -> None:
        while not self._ended.wait(_COMMIT_SECONDS):
            try:
                self._store.commit()
            except LazySketchError as error:
                self._failed(error)
                return


def _source(settings: StreamSettings, path: str, positions: FollowedPositions) -> Source:
    """Open the file; errors name the settings of the stream instead of options of ``top``."""
    try:
        return open_source(
            path,
            format=settings.format or "auto",
            field=None if settings.format == "lines" else settings.item,
            weight=settings.weight,
            max_weight=settings.max_weight if settings.weight is not None else None,
            user=settings.user,
            item_type=settings.item_type,
            value=settings.value,
            follow=True,
            ahead=True,
            positions=positions,
        )
    except LazySketchError as error:
        argument, colon, rest = str(error).partition(": ")
        setting = _SETTING_OF_ARGUMENT.get(argument)
        if setting is None:
            raise
        raise type(error)(f"streams.{settings.name}.{setting}{colon}{rest}") from None
