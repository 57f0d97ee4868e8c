"""A running service: its listeners, its clock, its followed files, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import uvicorn

from lazysketch.errors import LazySketchError, StoreError
from lazysketch.service.admin.application import admin_application
from lazysketch.service.admin.operations import Operations
from lazysketch.service.alert_delivery import AlertDelivery
from lazysketch.service.following import Commits, FollowedFile, FollowedPositions
from lazysketch.service.host import Host, Publisher
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.ingest.counters import TopicCounters
from lazysketch.service.kafka_settings import consumer_settings
from lazysketch.service.reading.process import ReadingTask
from lazysketch.service.reading_process import ReadingProcess
from lazysketch.service.servers import address_of, config_of, listening_socket
from lazysketch.service.webhooks import Webhook

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lazysketch.service.background import Background
    from lazysketch.service.replica import Replica
    from lazysketch.service.settings import Listener, ServiceSettings

__all__ = ["Listening", "run_replica", "run_service"]

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(frozen=True, slots=True)
class Listening:
    """The open sockets of a service, before it counts anything.

    Attributes:
        settings: what the operator chose.
        sockets: one per face: ``read``, ``ingest``, ``admin``.
    """

    settings: ServiceSettings
    sockets: dict[str, socket.socket] = field(default_factory=dict)

    @classmethod
    def on(cls, settings: ServiceSettings) -> Listening:
        """Open all listeners.

        Args:
            settings: what the operator chose.

        Raises:
            ArgumentValueError: an address that cannot be used; none stays open.
        """
        found = cls(settings)
        try:
            for face in ("read", "ingest", "admin"):
                found.sockets[face] = listening_socket(face, getattr(settings, face))
        except BaseException:
            found.close()
            raise
        return found

    def address(self, face: str) -> str:
        """Return the address of a face for people.

        Args:
            face: ``"read"``, ``"ingest"`` or ``"admin"``.
        """
        return address_of(getattr(self.settings, face), self.sockets[face])

    def close(self) -> None:
        """Close all sockets."""
        for one in self.sockets.values():
            one.close()


class _Server(uvicorn.Server):
    """A server whose end is decided elsewhere."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals of the process alone."""
        yield


class _End:
    """The first reason why a service ends; any thread may give one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, asked: Callable[[], object]) -> None:
        self.failure: BaseException | None = None
        self._loop, self._asked, self._event = loop, asked, asyncio.Event()

    def failed(self, error: BaseException) -> None:
        """End the service after a failure."""
        if self.failure is None:
            self.failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
            self._loop.call_soon_threadsafe(self._event.set)

    def requested(self) -> None:
        """End the service as asked."""
        if not self._event.is_set():
            self._asked()
        self._event.set()

    async def wait(self) -> None:
        """Wait for a reason."""
        await self._event.wait()


def run_service(
    listening: Listening,
    host: Host,
    folder: Path,
    *,
    started: Callable[[], object],
    ending: Callable[[], object],
) -> None:
    """Run a service until a signal or a failure ends it.

    Guarantee: when it returns, or raises, everything that was acknowledged is durable; requests
    that were under way are answered first.

    Args:
        listening: the open sockets, closed at the end.
        host: the open streams, closed at the end.
        folder: the directory of the store.
        started: called when everything runs.
        ending: called when a signal asks for the end, which takes as long as requests do that are
            under way, ten seconds at most.

    Raises:
        LazySketchError: a failure that ended the service, such as a disk that cannot be written.
    """
    try:
        failure = _completed(_run(listening, host, folder, started, ending))
    finally:
        listening.close()
        with contextlib.suppress(LazySketchError):  # known, as it ended the service
            host.close()
    if isinstance(failure, OSError):
        raise StoreError(f"state: expected files that can be read, got {failure.strerror}")
    if failure is not None:
        raise failure


def run_replica(
    listener: Listener, replica: Replica, public: Path, *, started: Callable[[str], object]
) -> None:
    """Run the read face of a replica until a signal ends it.

    Args:
        listener: where readers connect.
        replica: keeps the publications.
        public: their directory.
        started: called with the address of readers when everything runs.

    Raises:
        ArgumentValueError: an address that cannot be used.
    """
    # A handler may run while this thread is within the wait: an Event would lock it out for ever.
    ended: SimpleQueue[int] = SimpleQueue()
    bound = listening_socket("read", listener)
    before = {
        number: signal.getsignal(number) for number in map(signal.Signals.__getitem__, _SIGNALS)
    }
    try:
        for number in before:
            signal.signal(number, lambda received, _: ended.put(received))
        task = ReadingTask.of(listener, public, bound.fileno())
        with ReadingProcess(task), replica:
            started(address_of(listener, bound))
            _wait_for(ended)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        bound.close()


def _wait_for(signals: SimpleQueue[int]) -> None:
    while True:
        with contextlib.suppress(Empty):
            signals.get(timeout=1.0)  # a signal is handled between two waits
            return


def _completed(running: Coroutine[None, None, BaseException | None]) -> BaseException | None:
    """Return what a coroutine returns, on the faster event loop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(running)
    return uvloop.run(running)


async def _run(
    listening: Listening,
    host: Host,
    folder: Path,
    started: Callable[[], object],
    ending: Callable[[], object],
) -> BaseException | None:
    end = _End(asyncio.get_running_loop(), ending)
    settings = listening.settings
    ingest = IngestApplication(host, settings.ingest.tokens, failed=end.failed)
    topics = {
        name: TopicCounters()
        for name, stream in host.streams.items()
        if stream.settings.kafka is not None
    }
    operations = Operations(host, folder, counters=ingest.counters, topics=topics)
    admin = admin_application(host, settings, operations)
    with ExitStack() as running, _signals(end):
        task = ReadingTask.of(settings.read, host.files.folder, listening.sockets["read"].fileno())
        running.enter_context(ReadingProcess(task))
        for work in _work_of(host, topics, end.failed):
            running.enter_context(work)
        servers = [
            _serving(face, application, getattr(settings, face))
            for face, application in (("ingest", ingest), ("admin", admin))
        ]
        tasks = [
            asyncio.create_task(server.serve(sockets=[listening.sockets[face]]))
            for face, server in servers
        ]
        started()
        await end.wait()
        for _, server in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)
        await asyncio.to_thread(running.close)
    return end.failure


def _work_of(
    host: Host, topics: dict[str, TopicCounters], failed: Callable[[BaseException], object]
) -> Iterator[Background]:
    """Yield what runs in threads: what tells of publications before what publishes."""
    for stream in host.streams.values():
        settings, files = stream.settings, host.files
        if settings.webhook is not None:
            yield Webhook(settings.name, settings.webhook, files, clock=host.clock)
        if settings.alert_webhook is not None:
            yield AlertDelivery(
                settings.name,
                settings.alert_webhook,
                files,
                store=host.store,
                failed=failed,
                clock=host.clock,
            )
    yield Publisher(host, failed=failed)
    positions = FollowedPositions(host.store)
    followed = [one for one in host.streams.values() if one.settings.follow is not None]
    if topics or followed:
        yield Commits(host.store, failed=failed)
    for name, counters in topics.items():
        yield _followed_topics(host, name, counters, failed)
    for stream in followed:
        yield FollowedFile(stream, host.store, positions=positions, failed=failed)


def _followed_topics(
    host: Host, name: str, counters: TopicCounters, failed: Callable[[BaseException], object]
) -> Background:
    try:
        from lazysketch.service.topics import FollowedTopics
    except ImportError:
        consumer_settings(host.streams[name].settings, state="")  # says which extra is missing
        raise
    return FollowedTopics(host.streams[name], host.store, counters=counters, failed=failed)


def _serving(face: str, application: ASGIApp, listener: Listener) -> tuple[str, _Server]:
    files = (listener.certificate, listener.private_key)
    certificate, private_key = (None if one is None else str(one) for one in files)
    config = config_of(
        application,
        certificate=certificate,
        private_key=private_key,
        whole_answers=face == "ingest",
    )
    return face, _Server(config)


@contextmanager
def _signals(end: _End) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handled = []
    for name in _SIGNALS:
        number = getattr(signal, name)
        with contextlib.suppress(RuntimeError, ValueError):  # not the main thread, as in tests
            loop.add_signal_handler(number, end.requested)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
