"""Exact numbers of what senders did, for the operator only."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["IngestCounters"]


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
