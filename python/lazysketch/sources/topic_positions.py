"""How far each partition was counted, and whether it is still the partition that was counted.

A position is the offset of the next message, and how many rows of that message were counted: a run
in strict mode may end within one. A topic that was deleted and made again under the same name has
another id, and is another input: its offsets say nothing about what was counted.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lazysketch.errors import SourceError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TopicPlace", "TopicPosition", "position_source"]

_PREFIX: Final = "topic "
_LONGEST_SOURCE: Final = 200  # characters


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """How far a partition was counted.

    Args:
        rows: The rows that were counted.
        offset: The offset of the next message.
        skipped: Rows of that message that were counted.
        topic_id: The id of the topic; empty if the brokers do not tell it.
    """

    rows: int
    offset: int
    skipped: int = 0
    topic_id: str = ""

    def to_text(self) -> str:
        """Return the position as text."""
        return json.dumps(
            [self.rows, self.offset, self.skipped, self.topic_id], separators=(",", ":")
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the position of a text.

        Raises:
            SourceError: Another text.
        """
        try:
            rows, offset, skipped, topic_id = json.loads(text)
            return cls(int(rows), int(offset), int(skipped), str(topic_id))
        except (TypeError, ValueError):
            raise SourceError("position: expected one of this version, got another") from None


@dataclass(frozen=True, slots=True)
class TopicPlace:
    """Where a batch begins in its partition.

    Args:
        source: The name of the partition as the source of a store.
        before: Rows of the partition before the batch.
        offsets: Of the messages with rows of the batch, or none, ascending.
        ends: For each of them, the rows of the batch up to its end.
        skipped: Rows of the first message that are before the batch.
        topic_id: The id of the topic; empty if it is not known.
    """

    source: str
    before: int
    offsets: Sequence[int]
    ends: Sequence[int]
    skipped: int = 0
    topic_id: str = ""

    def after(self, rows: int) -> TopicPosition:
        """Return the position after some rows of the batch.

        Args:
            rows: How many, at most those of the batch.
        """
        index = bisect_right(self.ends, rows)  # of the first message that is not counted whole
        counted = self.before + rows
        if index == len(self.ends):
            return TopicPosition(counted, self.offsets[-1] + 1, 0, self.topic_id)
        begun = rows + self.skipped if index == 0 else rows - self.ends[index - 1]
        return TopicPosition(counted, self.offsets[index], begun, self.topic_id)

    def message_of(self, row: int) -> tuple[int, int]:
        """Return the offset of the message of a row, and the number of the row in it, from 1.

        Args:
            row: Its index in the batch.
        """
        index = bisect_right(self.ends, row)
        before = -self.skipped if index == 0 else self.ends[index - 1]
        return self.offsets[index], row - before + 1


def position_source(cluster: str, topic: str, partition: int) -> str:
    """Return what a store calls a partition; no file and no sender has such a name.

    Args:
        cluster: The id of the cluster.
        topic: The name of the topic.
        partition: Its number.

    Example:
        >>> position_source("MkU3OEVBNTcwNTJENDM2Qk", "visits", 3)
        'topic MkU3OEVBNTcwNTJENDM2Qk visits/3'
    """
    name = f"{_PREFIX}{cluster} {topic}/{partition}"
    if len(name) <= _LONGEST_SOURCE:
        return name
    return f"{_PREFIX}{hashlib.sha256(name.encode()).hexdigest()}"


def partition_shown(source: str) -> str | None:
    """Return what a user knows a partition by; None for another source.

    Args:
        source: The name of a source of a store.

    Example:
        >>> partition_shown(position_source("MkU3OEVBNTcwNTJENDM2Qk", "visits", 3))
        'visits [3]'
    """
    if not source.startswith(_PREFIX):
        return None
    topic, slash, partition = source.rpartition(" ")[2].rpartition("/")
    return f"{topic} [{partition}]" if slash else source  # a long name is a digest
