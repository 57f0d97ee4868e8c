"""Publications of small streams whose clock the test sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lazysketch as ls
from lazysketch.service.host import Host
from lazysketch.service.stream_settings import StreamSettings

START = 1_700_000_040.0  # a window of a minute begins


@dataclass
class Clock:
    """Seconds since 1970, as the test sets them."""

    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass
class Service:
    """Lives of a service in one directory."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    key: ls.Key = field(default_factory=ls.Key.generate)

    def host(self, *streams: StreamSettings) -> Host:
        """Return an open host, the next life of the service."""
        store = ls.open_store(
            self.folder / "store", key=self.key, anchor=self.folder / "elsewhere" / "anchor"
        )
        host = Host(store, self.folder / "public", clock=self.clock)
        host.open_streams(streams)
        return host


def settings(**changes: Any) -> StreamSettings:
    """Return a stream with windows of a minute in six slices."""
    chosen: dict[str, Any] = {
        "name": "pages",
        "title": "Pages",
        "every": "1min",
        "slices": 6,
        "keep": 3,
        "share": 0.1,
        "width": 256,
        "epsilon": 4.0,
        "delta": 1e-6,
    }
    return StreamSettings(**{**chosen, **changes})


def run(
    service: Service, host: Host, *, slices: int, events: Callable[[int], list[Any]]
) -> list[bool]:
    """Count events and publish, slice by slice; return which were published."""
    published = []
    for number in range(slices):
        items = events(number)
        if items:
            host.stream("pages").counts.update_many(items)
        service.clock.now += 10.0
        published.append(host.publish("pages"))
    return published
