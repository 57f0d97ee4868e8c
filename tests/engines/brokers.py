"""A broker of librdkafka in this process, and messages in its topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer

PARTITIONS = 4  # that the broker gives a topic


class MockBroker:
    """A broker that lives as long as this object; it keeps at most 5 MB of a partition."""

    def __init__(self) -> None:
        settings = {"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 3}
        self._producer = Producer(settings)
        (broker,) = self._producer.list_topics(timeout=30).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def settings(self, group: str = "group") -> dict[str, Any]:
        """Return those of a consumer that leaves a group soon after it has died."""
        return {
            "bootstrap.servers": self.address,
            "group.id": group,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 300,
            "log_level": 2,
        }

    def send(self, topic: str, values: Iterable[bytes | None]) -> int:
        """Send one message per value, in turn to each partition; return how many."""
        sent = list(values)
        for number, value in enumerate(sent):
            self._producer.produce(topic, value=value, partition=number % PARTITIONS)
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
        return len(sent)

    def send_to(self, topic: str, partition: int, values: Iterable[bytes | None]) -> None:
        """Send one message per value to one partition."""
        for value in values:
            self._producer.produce(topic, value=value, partition=partition)
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
