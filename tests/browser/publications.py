"""A service of readers for a browser: real windows, published and signed, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import uvicorn

from lazysketch.releases.items import Item
from lazysketch.service.publication import Facts, Publication, PublishedWindow
from lazysketch.service.publication_files import PublicationFiles, ServiceFacts
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.signing import SigningKey
from lazysketch.windows import Windows

HOUR = 3600
SIGNING = SigningKey(bytes(range(32)))
FACTS = Facts(
    stream="pages",
    title="Pages of the library",
    counts="path",
    every=HOUR,
    slices=10,
    keep=48,
    delay=2.0,
    guarantee="(1, 1e-08)-DP for each event under substitution",
    epsilon=1.0,
    delta=1e-8,
    relation="substitution",
    unit="one event",
    private=True,
)


@dataclass
class StreamOfWindows:
    """A stream whose windows are counted by the package, at a clock that tests set."""

    facts: Facts = FACTS
    domain: Sequence[Item] | None = None
    width: int | None = None
    begin: datetime = datetime(2026, 5, 4, 6, tzinfo=timezone.utc)
    now: float = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.begin.timestamp()
        options: dict[str, Any] = (
            {"domain": self.domain} if self.domain is not None else {"share": 0.01}
        )
        if self.width is not None:
            options["width"] = self.width
        self.windows = Windows(
            every=timedelta(seconds=self.facts.every),
            slices=self.facts.slices,
            keep=self.facts.keep,
            clock=lambda: self.now,
            epsilon=8.0,
            delta=1e-6,
            **options,
        )

    def count(self, counts: Mapping[Item, int], *, slices: int = 10) -> None:
        """Count events of one window, and let some slices of it end."""
        for item, number in counts.items():
            self.windows.update_many([item] * number)
        self.now += self.facts.every * slices / self.facts.slices

    def publication(
        self, *, next_in: float = 3600.0, finished: bool = False, **facts: object
    ) -> Publication:
        """Return what is public now; readers see it at once."""
        open_window = self.windows.open
        windows = list(self.windows.windows)
        if open_window is not None and open_window.release.step:
            windows.append(open_window)
        number = int((self.now - self.begin.timestamp()) * self.facts.slices / self.facts.every)
        real = datetime.now(timezone.utc)
        return Publication(
            facts=replace(self.facts, **facts),  # type: ignore[arg-type]
            number=number,
            at=datetime.fromtimestamp(self.now, timezone.utc),
            publish_at=real,
            next_at=real + timedelta(seconds=next_in),
            windows=tuple(PublishedWindow.of(one) for one in windows),
            listed=tuple(self.domain or ()),
            finished=finished,
        )


class Readers:
    """The process of readers in a thread: it can be stopped, and started at the same port."""

    def __init__(self, folder: Path, streams: Sequence[str] = ("pages",)) -> None:
        self.files = PublicationFiles(folder)
        self.files.write_facts(ServiceFacts(tuple(streams), SIGNING.public))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def list_streams(self, *streams: str) -> None:
        """Say which streams there are."""
        self.files.write_facts(ServiceFacts(streams, SIGNING.public))

    def publish(self, publication: Publication) -> None:
        self.files.write(publication, SIGNING)

    def start(self) -> None:
        application = reading_application(PublishedStreams(self.files))
        config = uvicorn.Config(
            application,
            host="127.0.0.1",
            port=self.port,
            log_config=None,
            timeout_graceful_shutdown=0,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(self._server,), daemon=True)
        self._thread.start()
        wait_for(lambda: self._server is not None and self._server.started)

    @staticmethod
    def _run(server: uvicorn.Server) -> None:
        asyncio.run(server.serve())

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=20)
            self._server = None


def wait_for(true: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Wait until something is true; fail if it never is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
