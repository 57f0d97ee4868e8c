"""Topics as an input of a run: each partition from its beginning to where it ends now.

A source of topics is read like one of files: one row is one step, with a tally, and with positions
if a store keeps the counts. Rows of one partition come in their order; those of several come as
they arrive. There is no group and nothing is committed to the brokers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from lazysketch.arguments import check_bools, check_texts
from lazysketch.errors import SourceError
from lazysketch.kafka.addresses import SCHEME, TopicAddresses, checked_addresses
from lazysketch.kafka.consumers import silent_logger
from lazysketch.kafka.ranges import (
    Message,
    RangeReader,
    cluster_of,
    listed_ranges,
    range_settings,
)
from lazysketch.kafka.rows import read_values_as, row_format
from lazysketch.sources.formats.registry import AUTO
from lazysketch.sources.request import checked_request
from lazysketch.sources.source import Source, _Part
from lazysketch.sources.tally import Position
from lazysketch.sources.topic_positions import TopicPlace, TopicPosition, position_source

if TYPE_CHECKING:
    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.io.interruptible import Waits

__all__ = ["TopicSource", "open_topics"]

_ANSWER: Final = 10.0  # seconds
_OF_CLIENTS: Final = ("bootstrap.", "security.", "ssl.", "sasl.", "client.")


class _Counted:
    """What was counted of the partitions of some topics before.

    Args:
        addresses: The topics.
        settings: Those of a consumer of ranges.
        note: Returns what a store keeps of a source; None without a store.
        reread: Whether a topic that was made anew is counted anew.
    """

    def __init__(
        self,
        addresses: TopicAddresses,
        settings: Mapping[str, Any],
        *,
        note: Callable[[str], str] | None,
        reread: bool,
    ) -> None:
        self.has_store = note is not None
        self._positions: dict[tuple[str, int], TopicPosition] = {}
        self._ids: dict[str, str] = {}
        self._note, self._reread = note, reread
        # A wrong name would count everything again, so it is asked for and not guessed.
        self._cluster = cluster_of(settings)
        if note is not None:
            self._ask(addresses.topics, settings)

    def begin(self, topic: str, partition: int) -> int | None:
        """Return the offset at which a partition is read on; None for its beginning.

        Raises:
            SourceError: A topic that was made anew since it was counted.
        """
        text = "" if self._note is None else self._note(self._source(topic, partition))
        if not text:
            return None
        known = TopicPosition.from_text(text)
        self._positions[topic, partition] = known
        now = self._ids.get(topic, "")
        if not (known.topic_id and now) or known.topic_id == now:
            return known.offset
        if self._reread:
            return None
        raise SourceError(
            f"{topic}: expected the topic that was counted, got one that was made anew under its "
            "name; with --reread all its messages are counted as new events"
        )

    def rows(self, topic: str, partition: int) -> int:
        """Return how many rows of a partition were counted before."""
        known = self._positions.get((topic, partition))
        return 0 if known is None else known.rows

    def skipped(self, message: Message) -> int:
        """Return how many rows of a message were counted before."""
        known = self._positions.get((message.topic, message.partition))
        return known.skipped if known is not None and known.offset == message.offset else 0

    def place(
        self,
        key: tuple[str, int],
        before: int,
        offsets: Sequence[int],
        ends: Sequence[int],
        skipped: int,
    ) -> TopicPlace:
        """Return the place of a batch of a partition."""
        source, topic_id = self._source(*key), self._ids.get(key[0], "")
        return TopicPlace(source, before, offsets, ends, skipped, topic_id)

    def _source(self, topic: str, partition: int) -> str:
        return position_source(self._cluster, topic, partition)

    def _ask(self, topics: Iterable[str], settings: Mapping[str, Any]) -> None:
        """Ask for the ids of topics, which old brokers do not tell."""
        kept = {name: value for name, value in settings.items() if name.startswith(_OF_CLIENTS)}
        admin = AdminClient({**kept, "log_level": 0}, logger=silent_logger())
        with suppress(KafkaException):  # then one that was made anew is not told from its length
            found = admin.describe_topics(TopicCollection([*topics]), request_timeout=_ANSWER)
            for topic, future in found.items():
                self._ids[topic] = str(future.result().topic_id)


class TopicSource(Source):
    """The rows of topics; made by :func:`open_topics`."""

    def __init__(
        self,
        addresses: TopicAddresses,
        *,
        form: str,
        request: Any,
        strict: bool,
        follow: bool,
        settings: Mapping[str, Any],
        note: Callable[[str], str] | None = None,
        reread: bool = False,
    ) -> None:
        known, self._selection = row_format(form, request)
        names = tuple(f"{SCHEME}{addresses.brokers}/{topic}" for topic in addresses.topics)
        super().__init__(
            names, form=known.name, request=request, strict=strict, follow=follow, ahead=True
        )
        self._read_values = read_values_as(known, self._selection)
        self._settings = settings
        self._before = _Counted(addresses, settings, note=note, reread=reread)
        self._may_be_empty = note is not None
        self._ranges = listed_ranges(
            addresses.topics, settings, begin=self._before.begin, skip_deleted=reread
        )
        self._reader: RangeReader | None = None

    @property
    def part_read(self) -> float | None:
        """The fraction of the offsets read so far, 0 to 1; None if topics are followed."""
        if self._follow:
            return None
        whole = sum(one.end - one.begin for one in self._ranges)
        reader = self._reader
        following = {} if reader is None else dict(reader.following)
        done = sum(following.get(one[:2], one.begin) - one.begin for one in self._ranges)
        return min(1.0, done / whole) if whole else 1.0

    def _tell(self, kept: RowBatch, *, name: str, rows_before: int) -> None:
        told = len(self.tally.first_malformed)
        super()._tell(kept, name=name, rows_before=rows_before)
        place = self.place
        assert isinstance(place, TopicPlace), "each batch of a topic has its place"  # noqa: S101
        for index in range(told, len(self.tally.first_malformed)):
            row = self.tally.first_malformed[index].row - rows_before - 1
            offset, number = place.message_of(row)
            self.tally.first_malformed[index] = Position(f"{name} offset {offset}", number)

    def _parts(self, waits: Waits) -> Generator[_Part, None, None]:
        field = self._selection.field
        columns = [f"{of} {name}" for of, name in self._selection.columns()]
        read_as = ", ".join([self._form, *columns])
        for path in self.paths:
            if self.check_field is not None:
                self.check_field(str(path), field)
            yield _Part(str(path), read_as, None, field=field)
        counted = {one[:2]: self._before.rows(one.topic, one.partition) for one in self._ranges}
        self._reader = RangeReader(self._settings, self._ranges, follow=self._follow)
        with self._reader as reader:
            for messages in reader.read(lambda: waits.pause(0)):
                for key, own in _by_partition(messages).items():
                    for batch, place in self._placed(key, own, counted):
                        yield _Part(f"{key[0]} [{key[1]}]", read_as, batch, place=place)

    def _placed(
        self, key: tuple[str, int], messages: list[Message], counted: dict[tuple[str, int], int]
    ) -> Iterator[tuple[RowBatch, TopicPlace]]:
        """Yield the rows of messages of a partition that were not counted before."""
        found = self._read_values([message.value for message in messages])
        offsets = [message.offset for message in messages]
        skipped = self._before.skipped(messages[0])
        for before, batch in found:
            begin = max(before, min(skipped, before + batch.rows))
            rest = batch.after(begin - before) if begin > before else batch
            if not rest.rows:
                continue
            index = bisect_right(found.ends, begin)  # of the message in which the rest begins
            of_first = begin - (found.ends[index - 1] if index else 0)
            ends = [end - begin for end in found.ends[index:]]
            yield rest, self._before.place(key, counted[key], offsets[index:], ends, of_first)
            counted[key] += rest.rows


def _by_partition(messages: Iterable[Message]) -> dict[tuple[str, int], list[Message]]:
    found: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        found.setdefault((message.topic, message.partition), []).append(message)
    return found


def open_topics(
    addresses: str | Iterable[str],
    *,
    settings: Mapping[str, Any] | None = None,
    format: str = AUTO,  # noqa: A002 -- the usual word
    field: str | None = None,
    encoding: str = "utf-8",
    weight: str | None = None,
    max_weight: int | None = None,
    item_type: str | None = None,
    strict: bool = False,
    times: bool = False,
    time: str | None = None,
    time_unit: str = "s",
    user: str | None = None,
    follow: bool = False,
    regex: str | None = None,
    trusted_hops: int | None = None,
    value: str | None = None,
    note: Callable[[str], str] | None = None,
    reread: bool = False,
) -> TopicSource:
    """Open topics of Kafka as one stream of rows, up to where they end now.

    Guarantee:
        One row is one step. A row that cannot be read, a message without a value, and an Arrow
        value that cannot be read are a step without an event. Only messages of committed
        transactions are read, up to the first one whose transaction is open. Every message that a
        partition has is read once, or the iteration fails. The tally is for the operator: outside
        of the privacy guarantee.

    Args:
        addresses: One or several of the form ``kafka://HOST:PORT[,HOST:PORT]/TOPIC``, of the same
            brokers.
        settings: Further ones of librdkafka, such as those of TLS.
        format: What the value of a message is: one or more lines of a format whose rows are lines
            ("lines", "jsonl", "combined", "logfmt", ...), or "arrow". "auto" is JSON lines with a
            field, and lines without one.
        field: As the following ones, as for :func:`~lazysketch.sources.open_source`.
        encoding: The text encoding.
        weight: The field that holds the weight.
        max_weight: Larger weights are clipped to this; required with ``weight``.
        item_type: "str" or "int".
        strict: Whether to stop at the first malformed row.
        times: Whether batches have the times of their rows.
        time: The field that holds the time.
        time_unit: "s", "ms", "us" or "ns".
        user: The field of the person.
        follow: Whether to go on after the ends, without an end. Partitions that are added meanwhile
            are not read.
        regex: A regular expression whose named groups are the fields.
        trusted_hops: As for :func:`~lazysketch.sources.open_source`.
        value: The field of a number of each row, likewise.
        note: Returns what a store keeps of a source, as ``store.note``: partitions go on after what
            was counted of them. Batches are then counted with ``source.place``. No row at all is no
            error.
        reread: Whether to go on at the oldest message where messages were deleted before they were
            counted, and to count a topic that was made anew. Without it, both are refused.

    Returns:
        A source, which can be iterated over once.

    Raises:
        SourceError: Brokers that do not answer, a topic that they do not have, or messages that
            were deleted before they were counted.
        ArgumentTypeError: No address, or a required field is missing.
        ArgumentValueError: An address, a setting or a format that cannot be read.

    Example:
        >>> from confluent_kafka import Producer
        >>> mock = {"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 3}
        >>> producer = Producer(mock)  # with a broker of librdkafka in this process
        >>> (one,) = producer.list_topics(timeout=10).brokers.values()
        >>> for page in ("/", "/", "/about"):
        ...     producer.produce("visits", page)
        >>> left = producer.flush(10)
        >>> broker = f"{one.host}:{one.port}"
        >>> source = open_topics(f"kafka://{broker}/visits")
        >>> sorted(item for batch in source for item in batch.item_list)
        ['/', '/', '/about']
        >>> source.tally.rows, source.part_read
        (3, 1.0)
        >>> open_topics("kafka://broker/visits")
        Traceback (most recent call last):
        ...
        lazysketch.errors.ArgumentValueError: address: expected kafka://HOST:PORT[,HOST:PORT]/TOPIC...
    """
    check_texts(format=format)
    check_bools(strict=strict, follow=follow, reread=reread)
    request = checked_request(
        field=field,
        encoding=encoding,
        weight=weight,
        max_weight=max_weight,
        item_type=item_type,
        times=times,
        time=time,
        time_unit=time_unit,
        user=user,
        regex=regex,
        trusted_hops=trusted_hops,
        value=value,
    )
    found = checked_addresses(addresses)
    return TopicSource(
        found,
        form=format,
        request=request,
        strict=strict,
        follow=follow,
        settings=range_settings(found.brokers, settings),
        note=note,
        reread=reread,
    )
