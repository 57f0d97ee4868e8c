"""Messages of Kafka as events, each counted once, also over restarts.

Events go the way of those that senders post: decoded in this process, then one record of the log
with the offsets that follow them. Partial counts, as :class:`~lazysketch.kafka.GroupMember` makes
them, are for counting in other processes than that of the store, and take no bound of people. Here
the process that reads is the one that counts.

The store alone says where a partition is read on: the sequence of its source is the offset after
the last message that was counted. What a broker keeps for the group is not used. A message before
that place is a repetition and is left out. Only messages of committed transactions are read.

What the broker does changes which events there are, and nothing else: publications follow the
public clock. A failure is logged, and another consumer begins after a pause.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from lazysketch.errors import (
    ArgumentValueError,
    ClosedError,
    LazySketchError,
    SourceError,
    StoreError,
)
from lazysketch.kafka.consumers import check_transient, checked_settings, is_incremental
from lazysketch.service.background import Background
from lazysketch.service.ingest.fitting import applied
from lazysketch.service.ingest.messages import Part, parts_of, unreadable_part
from lazysketch.service.kafka_settings import consumer_settings

if TYPE_CHECKING:
    from lazysketch.service.ingest.counters import TopicCounters
    from lazysketch.service.ingest.events import Events, Judged
    from lazysketch.service.stream import Stream
    from lazysketch.store import Store

__all__ = ["FollowedTopics", "partition_source"]

_LOG: Final = logging.getLogger("lazysketch.service")
_MESSAGES: Final = 1_000  # that are read together
_WAIT: Final = 0.5  # seconds
_PAUSE: Final = 5.0  # seconds before another consumer
_LONGEST_END: Final = 10.0  # seconds
_LONGEST_NAME: Final = 110  # characters of a topic in the name of a source
_PLACES: Final = 20  # of malformed messages that are logged in a minute
_MINUTE: Final = 60.0
_OPERATION: Final = {"statistics.interval.ms": 2_000, "log_level": 0}
_ANSWERING: Final = ("UP", "UPDATE")


class _Message(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: bytes | None


class FollowedTopics(Background):
    """Counts the messages of topics, in a thread.

    Guarantee: a message and the offset after it are one record of the log, so that a crash loses or
        repeats neither. A message that cannot be read is no event. Settings of the consumer and
        contents of messages are in no log and no error.

    Args:
        stream: the stream, whose settings name brokers and topics.
        store: the open store.
        counters: what the operator sees.
        failed: called with what went wrong if the store cannot go on.

    Raises:
        MissingPackageError: the package ``confluent_kafka`` is not installed.
        SourceError: a file of settings that cannot be read.
        ArgumentValueError: settings that the consumer refuses, or that would break the guarantee.
    """

    def __init__(
        self,
        stream: Stream,
        store: Store,
        *,
        counters: TopicCounters,
        failed: Callable[[BaseException], object],
    ) -> None:
        self._stream, self._store, self._failed = stream, store, failed
        self._counters = counters
        self._name = stream.settings.name
        self._reset: set[tuple[str, int]] = set()  # where the broker lacks what comes next
        self._logged: list[float] = []  # instants of logged places, within a minute
        try:
            chosen = consumer_settings(stream.settings, state=store.id)
            self._settings = checked_settings(chosen) | _OPERATION
        except LazySketchError as error:
            raise type(error)(f"streams.{self._name}.{error}") from None
        self._is_incremental = is_incremental(self._settings)
        self._consumer = self._opened()
        super().__init__(f"kafka {self._name}", longest_end=_LONGEST_END)

    def _opened(self) -> Any:
        # What librdkafka logs may quote settings. Its errors are logged here, by their names.
        silent = logging.Logger("librdkafka")
        silent.addHandler(logging.NullHandler())
        callbacks = {"error_cb": self._on_error, "stats_cb": self._on_statistics}
        try:
            return Consumer({**self._settings, **callbacks}, logger=silent)
        except (KafkaException, TypeError, ValueError) as error:
            names = [name for name in self._settings if f'"{name}"' in str(error)]
            raise ArgumentValueError(
                f"streams.{self._name}.kafka_settings: expected settings of librdkafka, got one "
                f"that it refuses{': ' + ', '.join(names) if names else ''}"
            ) from None

    def _run(self) -> None:
        try:
            self._count_until_the_end()
        except ClosedError:
            _LOG.info("%s: the stream has ended; its topics are not read any more", self._name)
        except BaseException as error:  # a thread that ends in silence would lose events
            _LOG.error("%s: topics are not read any more", self._name)
            self._failed(error)
        self._counters.reachable = False

    def _count_until_the_end(self) -> None:
        while True:
            try:
                try:
                    self._read()
                    return
                finally:
                    self._consumer.close()
            except SourceError as error:
                self._paused(str(error))
            except KafkaException as error:
                self._paused(f"kafka: expected messages, got {error.args[0].name()}")
            if self._ended.is_set():
                return
            self._consumer = self._opened()

    def _paused(self, why: str) -> None:
        self._counters.failures += 1
        _LOG.error("%s: %s; another try in %g s", self._name, why, _PAUSE)
        self._ended.wait(_PAUSE)

    def _read(self) -> None:
        self._consumer.subscribe(
            [*self._stream.settings.topics],
            on_assign=self._on_assign,
            on_revoke=self._on_leave,
            on_lost=self._on_leave,
        )
        while not self._ended.is_set():
            messages = self._consumer.consume(_MESSAGES, _WAIT)
            self._count(self._new(messages))
            # After what was read before them: this consumer does not bring it again.
            for error in filter(None, [message.error() for message in messages]):
                check_transient(error)

    def _new(self, messages: Sequence[Any]) -> list[_Message]:
        """Return the messages that were not counted yet, of each partition in their order."""
        found: list[_Message] = []
        following: dict[tuple[str, int], int] = {}
        for message in messages:
            key = (message.topic(), message.partition())
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._AUTO_OFFSET_RESET:
                    self._reset.add(key)
                continue
            if key not in following:
                following[key] = self._store.last_sequence(partition_source(self._name, *key))
            if message.offset() >= following[key]:
                following[key] = message.offset() + 1
                found.append(_Message(*key, message.offset(), message.value()))
        return found

    def _count(self, messages: Sequence[_Message]) -> None:
        for part in parts_of([one.value for one in messages], self._stream.settings):
            self._count_part(messages[part.begin : part.end], part)

    def _count_part(self, messages: Sequence[_Message], part: Part) -> None:
        try:
            judged = self._ingest(messages, part.events)
        except (StoreError, ClosedError):
            raise
        except LazySketchError:  # of one of them, of which nothing was applied
            if len(messages) > 1:
                for one in messages:
                    self._count([one])
                return
            part = unreadable_part(part.begin, self._stream.settings)
            judged = self._ingest(messages, part.events)
        self._counters.messages += len(messages)
        self._counters.counted(judged)
        for index in part.unreadable(judged):
            self._report(messages[index - part.begin])

    def _ingest(self, messages: Sequence[_Message], events: Events) -> Judged:
        sequences = {
            partition_source(self._name, one.topic, one.partition): one.offset + 1
            for one in messages
        }
        events, is_new = applied(
            events, self._stream.settings, lambda fitting: self._apply(sequences, fitting)
        )
        if not is_new:
            raise StoreError("store: expected the offsets of this consumer, got those of another")
        return events.judged

    def _apply(self, sequences: Mapping[str, int], events: Events) -> bool:
        return self._store.ingest_several(
            sequences,
            events.items,
            into=self._stream.counts,
            weights=events.weights,
            user=events.users,
            durable=False,
        )

    def _report(self, message: _Message) -> None:
        """Report the place of a message with rows that are no events, never its content."""
        self._counters.unreadable[message.topic, message.partition] += 1
        now = time.monotonic()
        self._logged = [one for one in self._logged if now - one < _MINUTE]
        if len(self._logged) < _PLACES:
            self._logged.append(now)
            _LOG.warning(
                "%s: a message has rows that are no events: topic %s, partition %d, offset %d",
                self._name,
                message.topic,
                message.partition,
                message.offset,
            )

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        found = [self._place(consumer, one.topic, one.partition) for one in partitions]
        assign = consumer.incremental_assign if self._is_incremental else consumer.assign
        assign([one for one in found if one is not None])

    def _on_leave(self, consumer: Any, partitions: Sequence[Any]) -> None:
        if self._is_incremental:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _place(self, consumer: Any, topic: str, partition: int) -> Any | None:
        """Return where a partition is read on; None if it cannot be."""
        offset = self._store.last_sequence(partition_source(self._name, topic, partition))
        if (topic, partition) not in self._reset:
            return TopicPartition(topic, partition, offset or OFFSET_BEGINNING)
        low, high = consumer.get_watermark_offsets(
            TopicPartition(topic, partition), timeout=_LONGEST_END
        )
        self._reset.discard((topic, partition))
        where = f"{self._name}: topic {topic}, partition {partition}"
        if offset > high:
            _LOG.error(
                "%s: it ends before the offset that was counted last, as one that was made anew: "
                "it is not read; a topic or a stream of another name can be",
                where,
            )
            return None
        if offset < low:
            self._counters.deleted += low - offset
            _LOG.error(
                "%s: offsets %d to %d were deleted before they were counted", where, offset, low - 1
            )
        return TopicPartition(topic, partition, max(offset, low))

    def _on_error(self, error: Any) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._reached(is_reached=False)
        elif error.code() not in (KafkaError._TRANSPORT, KafkaError._RESOLVE):
            _LOG.warning("%s: kafka: %s", self._name, error.name())

    def _on_statistics(self, text: str) -> None:
        brokers = json.loads(text).get("brokers", {}).values()
        self._reached(is_reached=any(one.get("state") in _ANSWERING for one in brokers))

    def _reached(self, *, is_reached: bool) -> None:
        before, self._counters.reachable = self._counters.reachable, is_reached
        if before == is_reached:
            return
        if is_reached:
            _LOG.info("%s: kafka: a broker answers", self._name)
        else:
            _LOG.warning("%s: kafka: no broker answers; the service goes on", self._name)


def partition_source(stream: str, topic: str, partition: int) -> str:
    """Return what the store calls a partition of a topic, different for each stream.

    No sender has such a name: a colon is quoted in that of an owner.

    Args:
        stream: the stream.
        topic: name of the topic, letters, digits, full stops, hyphens and underscores.
        partition: its number.

    Example:
        >>> partition_source("pages", "visits", 3)
        'kafka: pages visits/3'
    """
    name = topic
    if len(topic) > _LONGEST_NAME:
        name = "=" + hashlib.sha256(topic.encode()).hexdigest()  # no topic has this sign
    return f"kafka: {stream} {name}/{partition}"
