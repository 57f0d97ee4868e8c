"""Apache Kafka: members of a consumer group count, one store publishes.

    from lazysketch.kafka import count_topics

    settings = {"bootstrap.servers": "broker:9092", "group.id": "visits"}
    count_topics(
        store, "visits", into=visits, topics=["visits"], settings=settings, every=60, publish=show
    )

Several members, in threads or in other processes, hand over to one gate
(:class:`~lazysketch.workers.OffsetGate`): :class:`GroupMember`. Offsets are kept in the store, in
the same commit as the counts; those that a broker keeps for the group are not used.

Topics are an input too: :func:`open_topics` reads what they have now as the rows of one source.

================= ==================================================================
consumers         settings of a consumer, and errors that pass
members           one member of a group: partitions, ranges, what is handed over
messages          values of messages as rows, and the places of those that cannot be read
counting          members and a clock in the process of the store
addresses         kafka://BROKER/TOPIC
ranges            ranges of offsets, each read whole
rows              values of messages as steps, by the readers of the inputs
topic_source      topics as an input of a run
range_tasks       ranges as tasks of any engine
================= ==================================================================

Needs the extra ``kafka``. docs/scale.md
"""

from __future__ import annotations

from lazysketch.kafka.counting import count_topics
from lazysketch.kafka.members import GroupMember
from lazysketch.kafka.messages import MalformedMessage
from lazysketch.kafka.range_tasks import RangeTask, count_ranges, plan_range_tasks
from lazysketch.kafka.ranges import OffsetRange, listed_ranges, range_settings
from lazysketch.kafka.topic_source import open_topics

__all__ = [
    "GroupMember",
    "MalformedMessage",
    "OffsetRange",
    "RangeTask",
    "count_ranges",
    "count_topics",
    "listed_ranges",
    "open_topics",
    "plan_range_tasks",
    "range_settings",
]
