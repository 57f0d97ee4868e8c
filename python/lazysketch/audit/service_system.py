"""The service under test: lives of the installed service, or with a part of it replaced.

A life has a store, what it has published, and a clock that the check sets. Lives that are copies of
one directory have the same keys, so that what differs between them is what their events changed.
Readers and senders are called as a server calls them, without a socket. Needs the extra ``serve``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.reading.answers import Answers
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tick import Tick
from lazysketch.service.tokens import Tokens
from lazysketch.service.windows_stream import WindowsStream
from lazysketch.sketches.keys import Key
from lazysketch.store import open_store
from lazysketch.windows.window import Window

__all__ = [
    "DELAY",
    "ITEMS",
    "NAME",
    "SLICE",
    "START",
    "Life",
    "Reader",
    "Seen",
    "ServiceBug",
    "Services",
    "sent_events",
]

START: Final = 1_700_000_040.0  # a window of a minute begins
SLICE: Final = 10.0  # seconds
DELAY: Final = 2.0
NAME: Final = "pages"
ITEMS: Final = tuple(f"/page {number}" for number in range(12))
_SETTINGS: Final = StreamSettings(
    name=NAME, every="1min", slices=6, keep=2, domain=ITEMS, share=None, depth=2, width=32,
    epsilon=4.0, delta=1e-6,
)  # fmt: skip
_PATIENCE: Final = 2.0  # seconds until a feed is taken to tell nothing
_MARGIN: Final = 50_000_000  # nanoseconds; any within the delay gives the same publication


class ServiceBug(Enum):
    """A planted bug of the service; the value is its description."""

    READY = "a publication that is shown when it is ready"
    QUIET = "slices without events that are not published"
    HEADER = "a header with the number of events"
    COMPRESSED = "releases that are compressed"
    MISSING = "windows without events that are not found"
    FEED = "a feed that tells of slices with events alone"
    ACKNOWLEDGED = "a batch that is acknowledged before it is durable"
    EARLY = "a publication before what it is computed from is durable"
    FORGOTTEN = "a publication without the windows of an earlier life"
    PERSONAL = "an answer that depends on the reader"
    BACKWARDS = "a reader who is shown an earlier publication"


class Clock:
    """Seconds since 1970, as the check sets them."""

    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Seen:
    """An answer as a reader sees it.

    Args:
        status: of HTTP.
        headers: sorted by name.
        body: content.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Reader:
    """A process that serves readers, and one reader after the other.

    Args:
        streams: what is published, as the process follows it.
    """

    def __init__(self, streams: PublishedStreams) -> None:
        self._streams = streams
        self._application = reading_application(streams)
        self._loop = asyncio.new_event_loop()

    def look(self) -> None:
        """Load what is published, and show what is due."""
        self._loop.run_until_complete(self._streams.look())

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Seen:
        """Return the answer of an address.

        Args:
            path: with its query.
            headers: of the request.
        """
        place, _, query = path.partition("?")
        return self._loop.run_until_complete(
            _asked(self._application, "GET", place, query=query, headers=headers or {})
        )

    def events(self) -> tuple[bytes, ...]:
        """Return how the feed begins, once something is shown."""
        return self._loop.run_until_complete(self._events())

    async def _events(self) -> tuple[bytes, ...]:
        events = events_of(self._streams.streams[NAME], after=-1)
        begin = await anext(events)
        try:  # what is shown is told at once
            return begin, await asyncio.wait_for(anext(events), _PATIENCE)
        except asyncio.TimeoutError:
            return (begin,)
        finally:
            await events.aclose()

    def close(self) -> None:
        """End the process."""
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


class Life:
    """A life of a service in a directory, with an injected clock.

    Args:
        folder: its directory; an existing one is opened again.
        key: key of its store, which takes no seeded one.
        clock: the clock.
    """

    def __init__(self, folder: Path, key: Key, clock: Clock | None = None) -> None:
        self.folder, self.clock = folder, clock or Clock()
        store = open_store(folder / "store", key=key, anchor=folder / "elsewhere" / "anchor")
        self.host = Host(store, folder / "public", clock=self.clock)
        self.host.open_streams([_SETTINGS])

    def feed(self, items: Sequence[str]) -> None:
        """Count events, which are durable with the next publication."""
        if items:
            counts = self.host.stream(NAME).counts
            self.host.store.ingest_several({}, items, into=counts, durable=False)

    def send(self, items: Sequence[str], acknowledged: Callable[[], None]) -> int:
        """Send a batch of events, and call back where the sender has the acknowledgement.

        Returns:
            The status of the answer.
        """
        return asyncio.run(self._send(items, acknowledged))

    async def _send(self, items: Sequence[str], acknowledged: Callable[[], None]) -> int:
        application = IngestApplication(self.host, Tokens({}), failed=lambda _: None)
        status = await sent_events(application, items, acknowledged)
        await application.close()
        return status

    def publish(self) -> bool:
        """Publish; return False if the last tick was published before."""
        return self.host.publish(NAME)

    def manifest(self) -> bytes:
        """Return the manifest of what would be published now."""
        ready = self.host.now() + _MARGIN
        return self.host.stream(NAME).publication(ready=lambda: ready).manifest()

    def published(self) -> bytes:
        """Return the manifest of what was published last."""
        signed = self.host.files.read_signed(NAME)
        return b"" if signed is None else signed.manifest

    def image(self, folder: Path) -> None:
        """Copy what a crash at this moment would leave."""
        shutil.copytree(self.folder, folder)

    def reader(self) -> Reader:
        """Return a new process that serves readers."""
        return Reader(PublishedStreams(self.host.files, clock=self.clock))

    def close(self) -> None:
        """End the life."""
        self.host.close()


@dataclass(frozen=True)
class Services:
    """A maker of services.

    Args:
        bug: the bug, or None for the installed service.
        key: key of all stores.
    """

    bug: ServiceBug | None = None
    key: Key = field(default_factory=Key.generate)

    @property
    def name(self) -> str:
        """The name in findings."""
        return f"planted: {self.bug.value}" if self.bug else "lazysketch"

    def open(self, folder: Path, clock: Clock | None = None) -> Life:
        """Return the next life of a directory."""
        if self.bug is None:
            return Life(folder, self.key, clock)
        return _PlantedLife(folder, self.key, clock, self.bug)

    def lives(self, folder: Path) -> Callable[[], Life]:
        """Return a function that opens copies of one service that has counted nothing."""
        self.open(folder / "first").close()

        def copied() -> Life:
            place = folder / f"copy {len(list(folder.iterdir()))}"
            shutil.copytree(folder / "first", place)
            return self.open(place)

        return copied


class _PlantedLife(Life):
    """A life with a bug."""

    def __init__(self, folder: Path, key: Key, clock: Clock | None, bug: ServiceBug) -> None:
        super().__init__(folder, key, clock)
        self._bug, self._counted, self._crashed = bug, 0, folder.with_name(f"{folder.name} before")
        stream = self.host.streams[NAME]
        if bug is ServiceBug.READY:
            stream.tick = _ReadyTick(stream.tick.every, stream.tick.slices)
        if bug is ServiceBug.FORGOTTEN and isinstance(stream, WindowsStream):
            self.host.streams[NAME] = _ForgetfulStream(stream)

    def feed(self, items: Sequence[str]) -> None:
        self._counted = len(items)
        if self._bug is ServiceBug.EARLY:
            shutil.rmtree(self._crashed, ignore_errors=True)
            super().image(self._crashed)
        super().feed(items)

    async def _send(self, items: Sequence[str], acknowledged: Callable[[], None]) -> int:
        if self._bug is ServiceBug.ACKNOWLEDGED:
            acknowledged()
            acknowledged = _nothing
        return await super()._send(items, acknowledged)

    def publish(self) -> bool:
        if self._bug is ServiceBug.QUIET and not self._counted:
            return False
        return super().publish()

    def image(self, folder: Path) -> None:
        if self._crashed.exists():
            self._crashed.rename(folder)
        else:
            super().image(folder)

    def reader(self) -> Reader:
        kind = _Rereading if self._bug is ServiceBug.BACKWARDS else PublishedStreams
        streams = kind(self.host.files, clock=self.clock)
        return _PlantedReader(streams, self._bug, lambda: self._counted)


class _PlantedReader(Reader):
    """Readers who see more than they may."""

    def __init__(
        self, streams: PublishedStreams, bug: ServiceBug, counted: Callable[[], int]
    ) -> None:
        super().__init__(streams)
        self._bug, self._counted = bug, counted

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Seen:
        found = super().get(path, headers)
        bugs, of_window = ServiceBug, "/windows/" in path
        if self._bug is bugs.HEADER:
            return replace(found, headers=(*found.headers, ("x-events", str(self._counted()))))
        if self._bug is bugs.COMPRESSED and of_window and found.status == 200:
            body = zlib.compress(found.body)
            of_length = ("content-length", str(len(body)))
            others = [one for one in found.headers if one[0] != "content-length"]
            return replace(found, headers=tuple(sorted([*others, of_length])), body=body)
        if self._bug is bugs.MISSING and of_window and not self._counted():
            return super().get("/none", headers)
        if self._bug is bugs.PERSONAL and headers:
            return replace(found, body=found.body + b" ")
        return found

    def events(self) -> tuple[bytes, ...]:
        if self._bug is ServiceBug.FEED and not self._counted():
            return ()
        return super().events()


class _ReadyTick(Tick):
    def shown_at(self, number: int, *, ready: int) -> int:
        return max(ready, self.begin(number))


class _ForgetfulStream(WindowsStream):
    """A stream that publishes the windows that ended in this life."""

    def __init__(self, stream: WindowsStream) -> None:
        self.settings, self.tick, self.windows = stream.settings, stream.tick, stream.windows
        self._contents, self._publishing = stream._contents, stream._publishing
        self._known = {window.number for window in self.windows.windows}

    def _seen(self) -> tuple[tuple[Window, ...], Window | None]:
        ended, opened = super()._seen()
        return tuple(window for window in ended if window.number not in self._known), opened


class _Rereading(PublishedStreams):
    """Readers who are shown whatever is on the disk."""

    def _read(self, name: str, public_key: bytes, before: Answers | None) -> Answers | None:  # noqa: ARG002 -- the bug
        return super()._read(name, public_key, None)


def _nothing() -> None:
    """Do nothing: the sender has its acknowledgement."""


async def sent_events(
    application: IngestApplication, items: Sequence[str], acknowledged: Callable[[], None]
) -> int:
    """Send a batch of events to the application of senders.

    Args:
        application: takes it.
        items: one event each.
        acknowledged: called when the status of success goes out.

    Returns:
        The status of the answer.
    """

    def noted(status: int) -> None:
        if status == 200:
            acknowledged()

    path, kind = f"/v1/streams/{NAME}/events", {"content-type": "application/json"}
    body = json.dumps([{"item": item} for item in items]).encode()
    seen = await _asked(application, "POST", path, headers=kind, body=body, begun=noted)
    return seen.status


async def _asked(
    application: Callable[[Any, Any, Any], Any],
    method: str,
    path: str,
    *,
    query: str = "",
    headers: Mapping[str, str],
    body: bytes = b"",
    begun: Callable[[int], None] = lambda _: None,
) -> Seen:
    """Return the answer of an application, called as a server calls it."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "client": ("192.0.2.1", 1), "server": ("test", 80),
        "headers": [(key.lower().encode(), one.encode()) for key, one in headers.items()],
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.start":
            begun(message["status"])

    await application(scope, receive, send)
    found = [(key.decode(), one.decode()) for key, one in sent[0]["headers"]]
    parts = [message.get("body", b"") for message in sent[1:]]
    return Seen(int(sent[0]["status"]), tuple(sorted(found)), b"".join(parts))
