"""Exact numbers of what senders did, for the operator only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazysketch.service.ingest.events import Judged

__all__ = ["IngestCounters", "TopicCounters"]


@dataclass(slots=True)
class IngestCounters:
    """What the ingest face did since it began. Exact, so the admin face alone shows it.

    Attributes:
        requests: answers by status.
        events: events that were counted.
        repetitions: batches that were counted before.
        refused: refused events by code.
        body_bytes: bytes of bodies, as they were received.
        commits: commits of the store.
        commit_seconds: time that they took.
        in_flight: bytes of bodies that are not answered yet.
    """

    requests: dict[int, int] = field(default_factory=dict)
    events: int = 0
    repetitions: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    body_bytes: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    in_flight: int = 0

    def answered(self, status: int) -> None:
        """Count an answer.

        Args:
            status: its status.
        """
        self.requests[status] = self.requests.get(status, 0) + 1


@dataclass(slots=True)
class TopicCounters:
    """What was read of the topics of a stream. Exact, so the admin face alone shows it.

    Attributes:
        reachable: True while a broker answers.
        messages: messages that were counted, readable or not.
        events: events that were counted.
        refused: refused events by code.
        unreadable: messages with refused events, by topic and partition.
        deleted: offsets that the broker deleted before they were counted.
        failures: consumers that ended in a failure.
    """

    reachable: bool = False
    messages: int = 0
    events: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[tuple[str, int]] = field(default_factory=Counter)
    deleted: int = 0
    failures: int = 0

    def counted(self, judged: Judged) -> None:
        """Count the events of some messages.

        Args:
            judged: which of them were refused.
        """
        refused = judged.refused
        self.refused.update(refused)
        self.events += judged.rows - sum(refused.values())
