"""Offsets of topics that are counted: each range once, in order, committed with its counts.

Members of a consumer group come, go, and are cut off. Each hands over sealed counts together with
the range of offsets that they have of each partition. The gate takes a range only if it begins
where the last one ended: what two members have counted, and what a member goes on with that was
taken for lost, is refused, and the member begins again where the gate is. The offsets are a part of
the step that counts them, so the store is the only place that knows them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError

if TYPE_CHECKING:
    from lazysketch.store.store import Store

__all__ = ["OffsetGate", "Partition"]

_MOST_PENDING: Final = 1 << 12


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int


class OffsetGate:
    """The place where members hand over what they have counted, in the process of the store.

    Guarantee: every offset is counted once, whatever is sent twice, lost, or sent by a member that
        no longer has the partition. Counts and offsets of a tick are one commit. A tick is taken
        when :meth:`tick` is called, with or without counts.

    Its methods take and return plain values, so that members in other processes can call them
    through a manager of ``multiprocessing`` or any other call over a wire.

    Args:
        store: The store, open in this process.
        source: Name of the group in the store, 1 to 200 characters.
        into: The object of the store that counts, with the batch schedule.

    Raises:
        ArgumentValueError: An object that takes no partial counts.
        StoreError: A note of the source that is not one of offsets.

    Source: docs/scale.md, "Kafka".
    """

    def __init__(self, store: Store, source: str, *, into: Any) -> None:
        into.partial_spec()
        self._store = store
        self._source = source
        self._into = into
        self._lock = threading.Lock()
        self._pending: list[bytes] = []
        self._next = self._committed()

    def spec(self) -> bytes:
        """Return the description under which members count now."""
        spec: bytes = self._into.partial_spec()
        return spec

    def next_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset at which a member goes on; None for a partition that is new.

        Args:
            topic: Its name.
            partition: Its number.
        """
        with self._lock:
            return self._next.get(Partition(topic, partition))

    def take(self, ranges: Mapping[tuple[str, int], tuple[int, int]], sealed: bytes) -> None:
        """Take the counts of one member, for the next tick.

        Args:
            ranges: By topic and partition, the first offset and the one after the last.
            sealed: The counts of all of them.

        Raises:
            ArgumentTypeError: Counts that are not bytes.
            ArgumentValueError: A range that does not begin where the last one ended, or is not a
                range. Nothing was taken; the member begins again at :meth:`next_offset`.
        """
        if not isinstance(sealed, bytes):
            raise ArgumentTypeError(f"sealed: expected bytes, got {type(sealed).__name__}")
        with self._lock:
            if len(self._pending) >= _MOST_PENDING:
                raise ArgumentValueError(
                    f"sealed: expected at most {_MOST_PENDING:,} partial counts per tick, got more"
                )
            for (topic, number), (begin, end) in ranges.items():
                expected = self._next.get(Partition(topic, number), begin)
                if begin != expected or not 0 <= begin <= end:
                    raise ArgumentValueError(
                        f"ranges: expected one of {topic} [{number}] that begins at {expected:,}, "
                        f"got {begin:,} to {end:,}; begin again there"
                    )
            self._next.update({Partition(*key): end for key, (_, end) in ranges.items()})
            self._pending.append(sealed)

    def tick(self) -> Any:
        """Add what was taken since the last tick as one step, commit, and return the release.

        Returns:
            The release after the step; of a hierarchy one release per level.

        Raises:
            ArgumentValueError: Counts that the store refuses. None of the tick's were counted, and
                members begin again.
            HorizonError: Past the last step.
            StoreError: A store that cannot be written; open it again, with a new gate.
        """
        with self._lock:
            sealed, self._pending = self._pending, []
            try:
                return self._store.add_partials(
                    self._source,
                    self._store.last_sequence(self._source) + 1,
                    sealed,
                    into=self._into,
                    positions=_text_of(self._next),
                )
            except BaseException:
                self._next = self._committed()
                raise

    def _committed(self) -> dict[Partition, int]:
        """Return the offsets that the store has."""
        note = self._store.note(self._source)
        try:
            topics = json.loads(note or "{}")
            return {
                Partition(str(topic), int(number)): int(offset)
                for topic, offsets in topics.items()
                for number, offset in offsets.items()
            }
        except (AttributeError, TypeError, ValueError):
            raise StoreError(
                f"source: expected one whose note is of offsets, got another: {self._source}"
            ) from None


def _text_of(offsets: Mapping[Partition, int]) -> str:
    """Return the offsets as what a store keeps: 10,000 characters are about 700 partitions."""
    topics: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        topics.setdefault(partition.topic, {})[str(partition.number)] = offset
    return json.dumps(topics, separators=(",", ":")) if topics else ""
