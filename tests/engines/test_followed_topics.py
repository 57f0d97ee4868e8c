"""Messages of a service and their offsets: together in the state at every instant of a kill."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.unit.service.publications import Service, settings
from tests.unit.store.partials import WatchedStore

pytest.importorskip("confluent_kafka")
pytest.importorskip("starlette")

from lazysketch.service.host import Host
from lazysketch.service.ingest.counters import TopicCounters
from lazysketch.service.topics import FollowedTopics, partition_source

ROWS = 300  # of a message: one more or less shows in spite of the noise
STREAM = settings(
    every="366d",
    slices=1,
    width=64,
    epsilon=8.0,
    kafka="127.0.0.1:9",  # no broker: the test hands the messages over
    topics=("visits",),
    format="lines",
)


class Message(NamedTuple):
    """A message as the client hands it over."""

    where: int
    at: int
    content: bytes

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "visits"

    def partition(self) -> int:
        return self.where

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes:
        return self.content


MESSAGES = [
    Message(number % 2, number // 2, f"{'ab'[number % 3 == 0]}\n".encode() * ROWS)
    for number in range(24)
]


def followed(host: Host) -> FollowedTopics:
    return FollowedTopics(
        host.stream("pages"), host.store, counters=TopicCounters(), failed=lambda _error: None
    )


def count(host: Host, messages: list[Message]) -> None:
    topics = followed(host)
    topics._count(topics._new(messages))
    topics._consumer.close()


def test_a_kill_at_any_instant_counts_each_message_once(tmp_path: Path) -> None:
    """The broker delivers all messages again; those that are in the state are left out."""
    service = Service(tmp_path / "service")
    host = service.host(STREAM)
    count(host, MESSAGES[:8])
    host.store.commit()
    instants: list[Path] = []

    def keep(_where: str) -> None:
        instants.append(tmp_path / f"instant-{len(instants)}")
        shutil.copytree(service.folder, instants[-1])

    native: Any = host.store._journal.native
    host.store._journal.native = WatchedStore(native, keep)  # type: ignore[assignment]
    for begin in (8, 16):
        count(host, MESSAGES[begin : begin + 8])
        host.store.commit()
    host.store._journal.native = native
    host.close()
    assert len(instants) >= 6
    in_state = set()
    for folder in instants:
        later = Service(folder, clock=service.clock, key=service.key)
        host = later.host(STREAM)
        sources = [partition_source("pages", "visits", number) for number in range(2)]
        in_state.add(sum(host.store.last_sequence(source) for source in sources))
        count(host, MESSAGES)
        assert [host.store.last_sequence(source) for source in sources] == [12, 12]
        windows: Any = host.stream("pages").counts
        windows.finish()
        for item, messages in (("b", 8), ("a", 16)):
            assert abs(windows.estimate(item, last=1) - messages * ROWS) < ROWS / 3
        host.close()
    assert {8, 24} <= in_state
