"""Ranges of offsets, read once from their beginning to their end.

There is no group: each partition is assigned, and no offset is committed. Only messages of
committed transactions are read. The end of a partition is that of its last stable offset when the
ranges are listed, so a transaction that is open then, and what follows it, is in no range.

A range is read whole or not at all. If the broker has deleted its beginning, if the topic ends
before it, or if nothing arrives for two minutes, that is an error. Offsets without a message, as
transactions and compaction leave them, are expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from lazysketch.errors import SourceError
from lazysketch.kafka.consumers import check_transient, checked_settings, opened_consumer
from lazysketch.sketches.live_state import ClosedByBlock

__all__ = [
    "Message",
    "OffsetRange",
    "RangeReader",
    "check_kept",
    "cluster_of",
    "listed_ranges",
    "range_settings",
]

_MESSAGES: Final = 10_000  # that are read together
_WAIT: Final = 0.2  # seconds: how late a reading can be ended
_ANSWER: Final = 15.0  # seconds
_LONGEST_SILENCE: Final = 120.0  # seconds
_GROUP: Final = "lazysketch"  # librdkafka wants a name; nothing joins it


class OffsetRange(NamedTuple):
    """Consecutive offsets of a partition.

    Attributes:
        topic: its topic.
        partition: its number.
        begin: the first offset.
        end: the offset after the last one.

    Example:
        >>> visits = OffsetRange("visits", 0, begin=100, end=250)
        >>> visits.end - visits.begin  # messages at most: there may be gaps
        150
    """

    topic: str
    partition: int
    begin: int
    end: int


class Message(NamedTuple):
    """A message of a topic."""

    topic: str
    partition: int
    offset: int
    value: bytes | None


def range_settings(brokers: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the settings of a consumer that reads ranges.

    Args:
        brokers: HOST:PORT, with commas between several.
        settings: further ones of librdkafka, such as those of TLS.

    Raises:
        ArgumentValueError: one that would break the guarantee.

    Example:
        >>> range_settings("broker:9092", {"security.protocol": "SSL"})["isolation.level"]
        'read_committed'
        >>> range_settings("broker:9092", {"enable.auto.commit": "true"})
        Traceback (most recent call last):
        ...
        lazysketch.errors.ArgumentValueError: settings: expected enable.auto.commit = false, ...
    """
    chosen = {"group.id": _GROUP, **(settings or {}), "bootstrap.servers": brokers}
    return checked_settings(chosen) | {"enable.partition.eof": True, "log_level": 0}


def cluster_of(settings: Mapping[str, Any]) -> str:
    """Return the id of the cluster of the brokers.

    Args:
        settings: those of :func:`range_settings`.

    Raises:
        SourceError: brokers that do not answer.
    """
    with RangeReader(settings, []) as reader:
        return reader.cluster()


def listed_ranges(
    topics: Iterable[str],
    settings: Mapping[str, Any],
    *,
    begin: Callable[[str, int], int | None] = lambda _topic, _number: None,
    skip_deleted: bool = False,
) -> list[OffsetRange]:
    """Return what each partition of topics has now, sorted.

    Args:
        topics: their names.
        settings: those of :func:`range_settings`.
        begin: returns the offset at which a partition begins; None for its oldest message.
        skip_deleted: whether a partition begins at its oldest message if it lacks that offset.

    Raises:
        SourceError: brokers that do not answer, a topic that they do not have, or an offset that
            they do not have any more or not yet.

    Example:
        >>> from confluent_kafka import Producer
        >>> mock = {"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 3}
        >>> producer = Producer(mock)  # with a broker of librdkafka in this process
        >>> (one,) = producer.list_topics(timeout=10).brokers.values()
        >>> for page in ("/", "/", "/about"):
        ...     producer.produce("visits", page)
        >>> left = producer.flush(10)
        >>> broker = f"{one.host}:{one.port}"
        >>> found = listed_ranges(["visits"], range_settings(broker))
        >>> sum(one.end - one.begin for one in found)
        3
    """
    with RangeReader(settings, []) as reader:
        found = []
        for topic in sorted(topics):
            for number in reader.partitions(topic):
                oldest, newest = reader.bounds(topic, number)
                wanted = begin(topic, number)
                if wanted is None or (skip_deleted and not oldest <= wanted <= newest):
                    wanted = oldest
                check_kept(OffsetRange(topic, number, wanted, wanted), oldest, newest)
                found.append(OffsetRange(topic, number, wanted, newest))
        return found


class RangeReader(ClosedByBlock):
    """Reads ranges of offsets, each message once, those of a partition in their order.

    Args:
        settings: those of :func:`range_settings`.
        ranges: what is read; of each partition at most one.
        follow: whether to go on after their ends, without an end.

    Raises:
        ArgumentValueError: a setting that librdkafka refuses.
    """

    def __init__(
        self, settings: Mapping[str, Any], ranges: Sequence[OffsetRange], *, follow: bool = False
    ) -> None:
        self.following = {one[:2]: one.begin for one in ranges}  # the next offsets
        self._follow = follow
        self._ranges = ranges
        self._ends = {one[:2]: one.end for one in ranges if follow or one.begin < one.end}
        self._last_error = ""
        self._consumer = opened_consumer(settings, failed=self._failed)

    def cluster(self) -> str:
        """Return the id of the cluster; empty if it has none.

        Raises:
            SourceError: no answer.
        """
        found = self._asked(lambda: self._consumer.list_topics(timeout=_ANSWER))
        return found.cluster_id or ""

    def partitions(self, topic: str) -> list[int]:
        """Return the numbers of the partitions of a topic.

        Args:
            topic: its name.

        Raises:
            SourceError: no answer, or no such topic.
        """
        found = self._asked(lambda: self._consumer.list_topics(topic, timeout=_ANSWER))
        known = found.topics.get(topic)
        if known is None or known.error is not None or not known.partitions:
            why = "" if known is None or known.error is None else f" ({known.error.name()})"
            raise SourceError(f"{topic}: expected a topic of these brokers, got none{why}")
        return sorted(known.partitions)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the oldest offset of a partition, and the one after its last stable one.

        Args:
            topic: its topic.
            partition: its number.

        Raises:
            SourceError: no answer.
        """
        where = TopicPartition(topic, partition)
        found = self._asked(lambda: self._consumer.get_watermark_offsets(where, timeout=_ANSWER))
        if found is None:
            raise self._no_answer()
        oldest, newest = found
        return int(oldest), int(newest)

    def read(self, check: Callable[[], object] = lambda: None) -> Iterator[list[Message]]:
        """Yield messages as they arrive, until all ranges are read.

        Args:
            check: called five times a second or more; what it raises ends the reading.

        Raises:
            SourceError: a range that cannot be read whole.
        """
        for one in self._ranges:
            check()
            if one[:2] in self._ends:
                check_kept(one, *self.bounds(one.topic, one.partition))
        self._consumer.assign(
            [TopicPartition(*key, self.following[key]) for key in sorted(self._ends)]
        )
        silent_since = time.monotonic()
        while self._ends:
            check()
            found = self._consumed()
            messages = [*self._new(found)]
            if messages:
                yield messages
            if found or self._follow:
                silent_since = time.monotonic()
            elif time.monotonic() - silent_since > _LONGEST_SILENCE:
                raise self._no_answer()

    def close(self) -> None:
        """End the connections."""
        self._consumer.close()

    def _consumed(self) -> list[Any]:
        # The client would wait for all of them.
        found = self._asked(lambda: self._consumer.consume(1, _WAIT))
        if found:
            found += self._asked(lambda: self._consumer.consume(_MESSAGES - 1, 0))
        kept: list[Any] = found
        return kept

    def _new(self, found: list[Any]) -> Iterator[Message]:
        for message in found:
            key = (message.topic(), message.partition())
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                check_transient(error)
                continue
            end = self._ends.get(key)
            offset = message.offset()
            if end is None or offset < self.following[key]:
                continue  # after the end, or delivered twice
            if error is None and (self._follow or offset < end):
                self.following[key] = offset + 1
                yield Message(*key, offset, message.value())
            elif not self._follow:
                self.following[key] = min(offset, end)
            if self.following[key] >= end and not self._follow:
                del self._ends[key]
                self._consumer.incremental_unassign([TopicPartition(*key)])

    def _asked(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except KafkaException as error:
            self._failed(error.args[0])
            raise self._no_answer() from None

    def _failed(self, error: Any) -> None:
        self._last_error = error.name()

    def _no_answer(self) -> SourceError:
        got = f"the error {self._last_error}" if self._last_error else "no answer"
        return SourceError(f"brokers: expected an answer, got {got}")


def check_kept(wanted: OffsetRange, oldest: int, newest: int) -> None:
    """Raise unless a partition still has the first offset of a range, and already its end.

    Args:
        wanted: the range.
        oldest: the first offset that the broker has.
        newest: the offset after the last one.

    Raises:
        SourceError: one of both is missing.
    """
    where = f"{wanted.topic} [{wanted.partition}]"
    if wanted.begin < oldest:
        raise SourceError(
            f"{where}: expected the messages from offset {wanted.begin:,} on, got a broker whose "
            f"oldest has offset {oldest:,}: they were deleted before they were counted"
        )
    if wanted.end > newest:
        raise SourceError(
            f"{where}: expected a partition that goes up to offset {wanted.end:,}, got one that "
            f"ends at {newest:,}, as a topic that was made anew"
        )
