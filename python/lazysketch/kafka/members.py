"""One member of a consumer group: reads its partitions, counts, and hands over counts with ranges.

The gate says where a partition is read on, not the broker: offsets that a broker keeps for the
group could be ahead of what is counted, or behind. Messages before that place are duplicates and
are left out. Only messages of committed transactions are read.

Partitions that are taken away are handed over before they are. Those that were lost are not: by
then another member may count them. What a member has counted is dropped whenever it is in doubt,
and read again from where the gate is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    TopicPartition,
)

from lazysketch.arguments import checked_choice
from lazysketch.errors import ArgumentValueError
from lazysketch.kafka.consumers import check_transient, checked_settings, is_incremental
from lazysketch.kafka.messages import MalformedMessage, values_reader
from lazysketch.sketches.live_state import ClosedByBlock
from lazysketch.sketches.partial_counts import PartialCounts
from lazysketch.sources import checked_request
from lazysketch.workers import Partition
from lazysketch.workers.item_types import fitting_request

__all__ = ["Gate", "GroupMember"]

_MESSAGES: Final = 10_000  # that are read together
_MOST_ROWS: Final = 1 << 28  # of one partial


class Gate(Protocol):
    """What a member needs of an :class:`~lazysketch.workers.OffsetGate`, here or over a wire."""

    def spec(self) -> bytes:
        """Return the description under which members count now."""

    def next_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset at which a member goes on; None for a new partition."""

    def take(self, ranges: Mapping[tuple[str, int], tuple[int, int]], sealed: bytes) -> None:
        """Take the counts of one member."""


class GroupMember(ClosedByBlock):
    """One consumer of a group, which counts what it reads.

    Guarantee: events and counts stay in this process; what is handed over is ciphertext with
        ranges of offsets. A message is counted once, however the group is divided and however often
        it is delivered.

    Args:
        gate: Where counts are handed over.
        topics: Names of the topics.
        settings: Of librdkafka, with at least ``bootstrap.servers`` and ``group.id``.
        format: "lines", "jsonl" or "arrow": what the value of a message is.
        field: The field that holds the item, as for :func:`~lazysketch.sources.open_source`.
        weight: The field that holds the weight.
        max_weight: Larger weights are clipped to this; required with ``weight``.
        value: The field that holds a number, for sums by item.
        start: "earliest" or "latest": where a partition begins that was never counted.
        malformed: Called with the places of messages that cannot be read, for the operator: outside
            of the guarantee.

    Raises:
        ArgumentTypeError: A wrong type, or a missing field or value.
        ArgumentValueError: A setting that would break the guarantee, or a value outside its range.

    Example:
        >>> from lazysketch.workers import OffsetGate
        >>> import lazysketch as ls
        >>> spec = ls.TableSpec(
        ...     kind="count-min",
        ...     depth=2,
        ...     width=64,
        ...     schedule=ls.Batch(horizon=24),
        ...     epsilon=1.0,
        ...     delta=1e-6,
        ... )
        >>> from confluent_kafka import Producer
        >>> mock = {"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 3}
        >>> producer = Producer(mock)  # with a broker of librdkafka in this process
        >>> (one,) = producer.list_topics(timeout=10).brokers.values()
        >>> for page in ("/", "/", "/about"):
        ...     producer.produce("visits", page)
        >>> left = producer.flush(10)
        >>> broker = f"{one.host}:{one.port}"
        >>> settings = {"bootstrap.servers": broker, "group.id": "visits"}
        >>> with ls.open_store("visits.store", key=ls.Key.generate(), anchor="anchor") as store:
        ...     gate = OffsetGate(store, "visits", into=store.sketch("visits", spec))
        ...     with GroupMember(gate, ["visits"], settings) as member:
        ...         left = 3
        ...         while left:
        ...             left -= member.poll(1.0)
        ...         handed_over = member.hand_over()
        ...     step = gate.tick().step
        >>> handed_over, step
        (True, 1)
    """

    def __init__(
        self,
        gate: Gate,
        topics: Iterable[str],
        settings: Mapping[str, Any],
        *,
        format: str = "lines",  # noqa: A002 -- the usual word
        field: str | None = None,
        weight: str | None = None,
        max_weight: int | None = None,
        value: str | None = None,
        start: str = "earliest",
        malformed: Callable[[list[MalformedMessage]], None] | None = None,
    ) -> None:
        checked_choice("start", start, ("earliest", "latest"))
        request = checked_request(field=field, weight=weight, max_weight=max_weight, value=value)
        request = fitting_request(PartialCounts(gate.spec()), request)
        self._read = values_reader(format, request)
        self._gate = gate
        self._start = OFFSET_BEGINNING if start == "earliest" else OFFSET_END
        self._malformed = malformed
        self._next: dict[Partition, int | None] = {}  # of the partitions that this member has
        self._begun: dict[Partition, int] = {}  # where the ranges begin that were not handed over
        self._counts: PartialCounts | None = None
        self._rows = 0
        self._consumer = Consumer(checked_settings(settings))
        self._is_cooperative = is_incremental(settings)
        self._consumer.subscribe(
            [*topics],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions that this member has now."""
        return tuple(sorted(self._next))

    def poll(self, seconds: float) -> int:
        """Read and count what has arrived; return how many messages it was.

        Args:
            seconds: How long to wait for a message.

        Raises:
            SourceError: A topic that cannot be read, or a place that the broker no longer has.
            ArgumentValueError: Weights above those of the object.
        """
        messages = self._consumer.consume(_MESSAGES, seconds)
        try:
            return self._count(messages)
        except BaseException:
            # Some may be counted whose range is not kept, or the reverse.
            self._begin_again()
            raise

    def hand_over(self) -> bool:
        """Hand over what was counted; return whether it was taken.

        What the gate refuses is dropped, and its partitions are read again from where the gate is.
        """
        counts, self._counts, self._rows = self._counts, None, 0
        ends = {partition: self._next[partition] for partition in self._begun}
        ranges = {
            tuple(partition): (begin, ends[partition]) for partition, begin in self._begun.items()
        }
        self._begun = {}
        if counts is None:
            return True
        try:
            self._gate.take(ranges, counts.seal())  # type: ignore[arg-type]
        except ArgumentValueError:
            self._begin_again()
            return False
        return True

    def close(self) -> None:
        """Hand over, and leave the group."""
        self._consumer.close()

    def _count(self, messages: list[Any]) -> int:
        values: list[bytes] = []
        places: list[MalformedMessage] = []
        ends: dict[Partition, int] = {}
        begins: dict[Partition, int] = {}
        for message in messages:
            error = message.error()
            if error is not None:
                check_transient(error)
                continue
            partition = Partition(message.topic(), message.partition())
            offset = message.offset()
            if partition not in self._next:
                continue  # taken away while it was read
            expected = ends.get(partition, self._next[partition])
            if expected is not None and offset < expected:
                continue  # delivered twice
            begins.setdefault(partition, offset if expected is None else expected)
            ends[partition] = offset + 1
            value = message.value()
            if value is not None:
                values.append(value)
                places.append(MalformedMessage(*partition, offset))
        if not ends:
            return 0
        if self._counts is None:
            self._counts = PartialCounts(self._gate.spec())
        found = self._read(values)
        for batch in found.batches:
            self._counts._update_fitting(batch.items, batch.weights)
            self._rows += batch.rows
        for partition, begin in begins.items():
            self._begun.setdefault(partition, begin)
        self._next.update(ends)
        if found.malformed and self._malformed is not None:
            self._malformed([places[index] for index in found.malformed])
        if self._rows >= _MOST_ROWS:
            self.hand_over()
        return len(places)

    def _begin_again(self) -> None:
        """Drop what was counted, and read on from where the gate is."""
        self._counts, self._rows, self._begun = None, 0, {}
        for partition in self._next:
            self._next[partition] = self._gate.next_offset(*partition)
        places = [self._place(partition) for partition in self._next]
        if not self._is_cooperative:
            self._consumer.assign(places)
            return
        for place in places:
            self._consumer.seek(place)

    def _place(self, partition: Partition) -> Any:
        offset = self._next[partition]
        return TopicPartition(*partition, self._start if offset is None else offset)

    def _on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        new = [Partition(one.topic, one.partition) for one in partitions]
        if not self._is_cooperative:
            self._forget([*self._next])
        for partition in new:
            self._next[partition] = self._gate.next_offset(*partition)
        assign = consumer.incremental_assign if self._is_cooperative else consumer.assign
        assign([self._place(partition) for partition in new])

    def _on_revoke(self, consumer: Any, partitions: list[Any]) -> None:
        self.hand_over()
        self._leave(consumer, partitions)

    def _on_lost(self, consumer: Any, partitions: list[Any]) -> None:
        # The counts are of all partitions, lost ones and others, and cannot be divided.
        self._counts, self._rows, self._begun = None, 0, {}
        self._leave(consumer, partitions)
        self._begin_again()

    def _leave(self, consumer: Any, partitions: list[Any]) -> None:
        self._forget([Partition(one.topic, one.partition) for one in partitions])
        if self._is_cooperative:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _forget(self, partitions: list[Partition]) -> None:
        for partition in partitions:
            self._next.pop(partition, None)
            self._begun.pop(partition, None)
