"""Topics, counted in the process of the store: one member, and a clock that publishes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.kafka.members import GroupMember
from lazysketch.workers import OffsetGate

if TYPE_CHECKING:
    from lazysketch.kafka.messages import MalformedMessage
    from lazysketch.store.store import Store

__all__ = ["count_topics"]

_WAIT = 0.5  # seconds: how late a tick may begin


def count_topics(
    store: Store,
    source: str,
    *,
    into: Any,
    topics: Iterable[str],
    settings: Mapping[str, Any],
    every: float,
    publish: Callable[[Any], None],
    ticks: int | None = None,
    malformed: Callable[[list[MalformedMessage]], None] | None = None,
    **options: Any,
) -> None:
    """Count topics and publish on a clock, until the ticks are over.

    A tick is taken at each multiple of ``every`` of the system's clock, whatever has arrived. If
    the process was late, the ticks that it missed are taken one after the other, without events.

    Guarantee: that of :class:`~lazysketch.workers.OffsetGate`: each message is counted once, in the
        same commit as its offset, and published after the commit. After a restart the same call
        goes on.

    Args:
        store: The store, open in this process.
        source: Name of the group in the store.
        into: The object of the store that counts, with the batch schedule.
        topics: Names of the topics.
        settings: Of librdkafka, with at least ``bootstrap.servers`` and ``group.id``.
        every: Seconds between two ticks.
        publish: Called with the release of each tick, of a hierarchy with one per level, after its
            commit.
        ticks: How many; None for all until the horizon.
        malformed: As for :class:`GroupMember`.
        options: ``format``, ``field``, ``weight``, ``max_weight``, ``value`` and ``start`` of
            :class:`GroupMember`.

    Raises:
        HorizonError: Past the last step.
        SourceError: A topic that cannot be read.
        StoreError: A store that cannot be written.

    Example:
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
        ...     count_topics(
        ...         store,
        ...         "visits",
        ...         into=store.sketch("visits", spec),
        ...         topics=["visits"],
        ...         settings=settings,
        ...         every=0.5,
        ...         publish=lambda release: print(release.step),
        ...         ticks=2,
        ...     )
        1
        2
    """
    seconds = checked_real("every", every)
    left = None if ticks is None else checked_integer("ticks", ticks)
    gate = OffsetGate(store, source, into=into)
    with GroupMember(gate, topics, settings, malformed=malformed, **options) as member:
        due = (time.time() // seconds + 1) * seconds
        while left is None or left:
            wait = due - time.time()
            if wait > 0:
                member.poll(min(wait, _WAIT))
                continue
            member.hand_over()
            publish(gate.tick())
            due += seconds
            left = None if left is None else left - 1
