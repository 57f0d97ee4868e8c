"""The process that counts: the store, its streams, and their publication on the public clock."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentValueError, LazySketchError
from lazysketch.service.background import Background
from lazysketch.service.charging import StreamCharges
from lazysketch.service.definitions import check_new_stream, keep_definition
from lazysketch.service.publication_files import PublicationFiles, ServiceFacts
from lazysketch.service.signing import SigningKey
from lazysketch.service.sliding_stream import SlidingStream
from lazysketch.service.statistic_stream import StatisticStream
from lazysketch.service.statistics_of_streams import STATISTICS
from lazysketch.service.stream import Stream
from lazysketch.service.windows_stream import WindowsStream
from lazysketch.sketches.keys import Key
from lazysketch.windows.boundaries import checked_clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lazysketch.ledger import Ledger
    from lazysketch.service.publication import SignedPublication
    from lazysketch.service.published_window import PublishedWindow
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store import Store

__all__ = ["Host", "Publisher"]

_LOG: Final = logging.getLogger("lazysketch.service")
_SECOND: Final = 1_000_000_000
_NOTE_OF_KEY: Final = "service signing key"
# Computing a publication takes milliseconds; what is not complete this long before it is due is
# shown one delay later.
_MARGIN: Final = 50_000_000


class Host:
    """The streams of an open store, and where they are published.

    Guarantee: what is published was durable before, at ticks of the public clock alone.

    Args:
        store: the open store; closed by :meth:`close`.
        public: the directory of publications, which readers' processes read.
        clock: returns seconds since 1970.
        ledger: opens the ledger that streams are charged to; None for none.
    """

    def __init__(
        self,
        store: Store,
        public: Path,
        *,
        clock: Callable[[], float] = time.time,
        ledger: Callable[[], Ledger] | None = None,
    ) -> None:
        self.store = store
        self._charges = None if ledger is None else StreamCharges(ledger, store.id)
        self.files = PublicationFiles(public)
        self.streams: dict[str, Stream] = {}
        self.clock = clock
        self.published: Counter[str] = Counter()
        self.failed_publications = 0
        self._publishing = threading.Lock()
        self._key = _signing_key(store)

    @property
    def public_key(self) -> bytes:
        """Ed25519 key that signs the publications, 32 bytes."""
        return self._key.public

    @property
    def facts(self) -> ServiceFacts:
        """What readers need before any publication."""
        clocks = {name: (one.tick.every, one.tick.slices) for name, one in self.streams.items()}
        return ServiceFacts(tuple(self.streams), self.public_key, clocks)

    def open_streams(self, settings: Iterable[StreamSettings]) -> None:
        """Open streams; new ones are made.

        Args:
            settings: their descriptions.

        Raises:
            CapError: a stream that does not fit into the ledger.
            ArgumentTypeError: a new stream with settings that have no use together.
            ArgumentValueError: other parameters than those that a stream was made with, a value
                outside its range, or a guarantee that is not of the kind of the ledger.
            StoreError: a store or a ledger that cannot be written.
        """
        asked = list(settings)
        for one in asked:  # before any is made, which fixes its settings
            if one.name not in self.store.names:
                with _named(one):
                    check_new_stream(one)
        for one in asked:
            with _named(one):
                self.streams[one.name] = self._charged(one)
        self.store.commit()
        self.files.write_facts(self.facts)

    def _charged(self, settings: StreamSettings) -> Stream:
        """Open a stream that is charged to the ledger, if there is one."""
        charges = self._charges
        if settings.name not in self.store.names and charges is not None:
            with charges.charged_after(settings.name, settings.privacy):
                made = self._made(settings)
                self.store.commit()
            return made  # it takes events from here on
        stream = self._made(settings)
        if charges is not None and stream.counts.finished:
            charges.end(settings.name)  # a crash may have come between its end and that of its run
        elif charges is not None:
            charges.charge(settings.name, stream.counts.privacy)
        return stream

    def _made(self, settings: StreamSettings) -> Stream:
        keep_definition(self.store, settings)
        if settings.kind in STATISTICS:
            earlier = self._earlier_windows(settings.name)
            return StatisticStream(settings, self.store, clock=self.clock, earlier=earlier)
        if settings.span is not None:
            return SlidingStream(settings, self.store, clock=self.clock)
        return WindowsStream(settings, self.store, clock=self.clock)

    def _earlier_windows(self, name: str) -> tuple[PublishedWindow, ...]:
        """Return the windows of the last publication of a stream, if it has one that can be read.

        Without it the course of a count begins anew; no number depends on it.
        """
        try:
            signed = self.files.read_signed(name)
            if signed is None or name not in self.store.names:
                return ()
            signed.check(self.public_key)
            return self.files.read(signed, name).windows
        except (LazySketchError, OSError) as error:
            _LOG.warning("%s: the course begins anew: %s", name, error)
            return ()

    def stream(self, name: str) -> Stream:
        """Return the stream of a name.

        Args:
            name: its name.

        Raises:
            ArgumentValueError: there is no such stream.
        """
        found = self.streams.get(name)
        if found is None:
            raise ArgumentValueError(f"stream: expected an existing one, got {shown(name)}")
        return found

    def publish(self, name: str) -> bool:
        """Publish the state of a stream at its last tick.

        Args:
            name: the stream.

        Returns:
            False if this tick, or a later one, was published before: time never goes back.

        Raises:
            StoreError: the store cannot be written; nothing was published.
            OSError: the publication cannot be written; the one before stands.
        """
        stream = self.stream(name)
        with self._publishing:
            before = self._before(name)
            publication = stream.publication(
                ready=lambda: self.now() + _MARGIN, before=self._genuine(name, before)
            )
            if stream.tick.begin(publication.number) > self.now():  # finished within this slice
                return False
            if before is not None and before.number >= publication.number:
                return False
            try:
                self.files.write(publication, self._key)
            except OSError:
                self.failed_publications += 1
                raise
            self.published[name] += 1
            return True

    def _before(self, name: str) -> SignedPublication | None:
        """Return the publication before; None if there is none, or what is there is none of it."""
        try:
            before = self.files.read_signed(name)
            if before is None or before.stream == name:
                return before
            reason = "expected a publication of this stream, got one of another"
        except LazySketchError as error:
            reason = str(error)
        _LOG.warning("%s: publishes anew: %s", name, reason)
        return None

    def _genuine(self, name: str, before: SignedPublication | None) -> SignedPublication | None:
        """Return the publication before if it is one of this service; alerts begin anew without."""
        try:
            if before is not None:
                before.check(self.public_key)
        except LazySketchError as error:
            _LOG.warning("%s: alerts begin anew: %s", name, error)
            return None
        return before

    def finish(self, name: str) -> None:
        """End a stream: it takes no more events, and the next tick publishes its end.

        Guarantee: readers see nothing of the call before that tick, and nothing after it. The state
        of the tick before is published first, so that whether it is does not depend on how busy
        the store was when the call came.

        Args:
            name: the stream.

        Raises:
            ArgumentValueError: there is no such stream.
            StoreError: the store or the ledger cannot be written.
        """
        stream = self.stream(name)
        with suppress(OSError):  # counted as one that failed; the end can be published all the same
            self.publish(name)
        stream.counts.finish()
        self.store.commit()
        if self._charges is not None:
            self._charges.end(name)

    def rotate_key(self, path: Path) -> None:
        """Make a key in a new file, which opens the store from the next start on.

        What is published stays as it is; destroy the old key, which opens older copies.

        Args:
            path: the file, outside of the directory of the service.

        Raises:
            ArgumentValueError: a file inside, or one that cannot be made.
            StoreError: the store cannot be written.
        """
        if path.resolve().is_relative_to(self.files.folder.resolve().parent):
            raise ArgumentValueError(
                "new_key: expected a file outside of the directory of the service, got one inside"
            )
        key = Key.generate()
        try:
            key.to_file(path)
        except OSError as error:
            raise ArgumentValueError(
                f"new_key: expected a new file that can be made, got {error.strerror}"
            ) from None
        self.store.rotate(key)

    def close(self) -> None:
        """Commit, and close the store; what was published stays."""
        self.store.close()

    def now(self) -> int:
        """Return what the clock says, in nanoseconds since 1970."""
        return checked_clock(self.clock())


class Publisher(Background):
    """Publishes each stream at each tick of its clock, in a thread.

    A failure, such as a full disk, is logged; the next tick tries again.

    Args:
        host: the streams.
        failed: called with what went wrong if the store cannot go on.
    """

    def __init__(self, host: Host, *, failed: Callable[[BaseException], object]) -> None:
        self._host, self._failed = host, failed
        super().__init__("publisher")

    def _run(self) -> None:
        published: dict[str, int] = {}
        while not self._ended.is_set():
            now = self._host.now()
            for name, stream in list(self._host.streams.items()):
                number = stream.tick.of(now)
                if number > published.get(name, -1):
                    published[name] = number
                    self._publish(name)
            self._ended.wait(self._pause())

    def _publish(self, name: str) -> None:
        try:
            self._host.publish(name)
        except OSError as error:
            _LOG.error("%s: not published: %s", name, error.strerror)
        except LazySketchError as error:
            _LOG.error("%s: not published: %s", name, error)
            self._failed(error)

    def _pause(self) -> float:
        """Return the seconds to the next tick of any stream, at most one: clocks may be set."""
        now = self._host.now()
        following = [
            stream.tick.begin(stream.tick.of(now) + 1) for stream in self._host.streams.values()
        ]
        return max(min([_SECOND, *(one - now for one in following)]), 1_000_000) / _SECOND


@contextmanager
def _named(settings: StreamSettings) -> Iterator[None]:
    """Name the stream in errors, whose arguments are its settings."""
    try:
        yield
    except LazySketchError as error:
        raise type(error)(f"streams.{settings.name}.{error}") from None


def _signing_key(store: Store) -> SigningKey:
    """Return the key of the service, which the store keeps encrypted."""
    kept = store.note(_NOTE_OF_KEY)
    if kept:
        return SigningKey(bytes.fromhex(kept))
    key = SigningKey.generate()
    store.keep_note(_NOTE_OF_KEY, key.secret.hex())
    store.commit()
    return key
