"""Messages of Kafka that count twice, not at all, or before their transaction has ended.

These bugs are in the catalogue where the extra is installed, and those of transactions where
``make test-engines`` has put a broker.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from tests.locations import ROOT
from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_KAFKA"]

_SERVED: Final = "tests/engines/test_followed_topics.py"
_INPUT: Final = "tests/engines/test_topics_as_input.py"
_POSITION_ALONE: Final = "self._store.ingest_several(sequences, [], into=self._stream.counts)"
_REAL: Final = "tests/engines/test_real_kafka.py"

_OF_THE_CLIENT: Final = (
    PlantedBug(
        name="offsets-of-a-service-before-their-counts",
        subject="durable state",
        claim="The service keeps the offset after a message before it counts the message.",
        caught_by=f"{_SERVED}::test_a_kill_at_any_instant_counts_each_message_once",
        patch=edited(
            "lazysketch.service.topics:FollowedTopics._apply",
            (
                "return self._store.ingest_several(\n        sequences,",
                f"{_POSITION_ALONE}; return self._store.ingest_several({{}},",
            ),
        ),
    ),
    PlantedBug(
        name="messages-counted-again-after-a-restart",
        subject="durable state",
        claim="The service counts messages without their offsets, and again after a restart.",
        caught_by=f"{_SERVED}::test_a_kill_at_any_instant_counts_each_message_once",
        patch=edited(
            "lazysketch.service.topics:FollowedTopics._apply",
            ("ingest_several(\n        sequences,", "ingest_several(\n        {},"),
        ),
    ),
    PlantedBug(
        name="offset-after-a-message-that-counted-in-part",
        subject="durable state",
        claim="A run that ends within a message goes on after it, and loses its other rows.",
        caught_by=f"{_INPUT}::test_positions_of_rows_within_messages",
        patch=edited(
            "lazysketch.sources.topic_positions:TopicPlace.after",
            (
                "TopicPosition(counted, self.offsets[index], begun,",
                "TopicPosition(counted, self.offsets[index] + 1, 0 * begun,",
            ),
        ),
    ),
    PlantedBug(
        name="deleted-messages-are-left-out-in-silence",
        subject="durable state",
        claim="Where the broker has deleted messages, a range begins at the oldest that is left.",
        caught_by=f"{_INPUT}::test_messages_that_are_gone_are_refused",
        patch=together(
            edited(
                "lazysketch.kafka.ranges:check_kept",
                ("if wanted.begin < oldest:", "if False:"),
            ),
            edited(
                "lazysketch.kafka.consumers:checked_settings",
                ("{**settings, **_OURS}", '{**settings, **_OURS, "auto.offset.reset": "earliest"}'),
            ),
        ),
    ),
)
_OF_THE_BROKER: Final = (
    PlantedBug(
        name="messages-of-aborted-transactions-count",
        subject="sensitivity",
        claim="Messages are read whose transaction is open, and count although it is aborted.",
        caught_by=f"{_REAL}::test_only_committed_transactions_count",
        patch=edited(
            "lazysketch.kafka.consumers:checked_settings",
            (
                "{**settings, **_OURS}",
                '{**settings, **_OURS, "isolation.level": "read_uncommitted"}',
            ),
        ),
    ),
)
_HAS_CLIENT: Final = find_spec("confluent_kafka") is not None
_HAS_BROKER: Final = _HAS_CLIENT and (ROOT / "build" / "kafka" / "installed").exists()

BUGS_OF_KAFKA: Final = (
    *(_OF_THE_CLIENT if _HAS_CLIENT else ()),
    *(_OF_THE_BROKER if _HAS_BROKER else ()),
)
