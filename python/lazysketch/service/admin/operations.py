"""Exact rates of the service as metrics of Prometheus: for the operator alone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from pathlib import Path

    from lazysketch.service.host import Host
    from lazysketch.service.ingest.counters import IngestCounters, TopicCounters

__all__ = ["Operations"]


class Operations(Collector):
    """What the service has done since it started.

    Args:
        host: the streams.
        folder: the directory of the store.
        counters: what senders did.
        topics: what was read of topics, by stream.
    """

    def __init__(
        self,
        host: Host,
        folder: Path,
        *,
        counters: IngestCounters,
        topics: Mapping[str, TopicCounters] | None = None,
    ) -> None:
        self._host, self._folder, self._counters = host, folder, counters
        self._topics = {} if topics is None else topics
        self._began = time.monotonic()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def exposed(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        content: bytes = generate_latest(self._registry)
        return content

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, for the client of Prometheus."""
        seconds = GaugeMetricFamily("lazysketch_uptime_seconds", "Seconds since the start")
        seconds.add_metric([], time.monotonic() - self._began)
        size = GaugeMetricFamily("lazysketch_store_bytes", "Bytes of the store on the disk")
        size.add_metric([], sum(path.stat().st_size for path in self._folder.glob("*")))
        published = CounterMetricFamily(
            "lazysketch_publications", "Publications, by stream", labels=["stream"]
        )
        for name, number in self._host.published.items():
            published.add_metric([name], number)
        failed = CounterMetricFamily(
            "lazysketch_failed_publications",
            "Publications that could not be written",
        )
        failed.add_metric([], self._host.failed_publications)
        return [seconds, size, published, failed, *self._of_senders(), *self._of_topics()]

    def _of_senders(self) -> Iterable[Metric]:
        counters = self._counters
        plain = {
            "events": (counters.events, "Events that were counted"),
            "repetitions": (counters.repetitions, "Batches that were counted before"),
            "body_bytes": (counters.body_bytes, "Bytes of bodies as received"),
            "commits": (counters.commits, "Commits of the store"),
            "commit_seconds": (counters.commit_seconds, "Seconds that commits took"),
        }
        for name, (value, text) in plain.items():
            yield CounterMetricFamily(f"lazysketch_ingest_{name}", text, value=value)
        requests = CounterMetricFamily(
            "lazysketch_ingest_requests", "Answers, by status", labels=["status"]
        )
        for status, number in dict(counters.requests).items():
            requests.add_metric([str(status)], number)
        refused = CounterMetricFamily(
            "lazysketch_ingest_refused_events", "Events that were refused, by code", labels=["code"]
        )
        for code, number in dict(counters.refused).items():
            refused.add_metric([code], number)
        flying = GaugeMetricFamily(
            "lazysketch_ingest_bytes_in_flight", "Bytes of bodies that are not answered yet"
        )
        flying.add_metric([], counters.in_flight)
        yield from (requests, refused, flying)

    def _of_topics(self) -> Iterable[Metric]:
        if not self._topics:
            return
        reachable = GaugeMetricFamily(
            "lazysketch_kafka_broker_reachable", "1 while a broker answers", labels=["stream"]
        )
        for stream, counters in self._topics.items():
            reachable.add_metric([stream], int(counters.reachable))
        yield reachable
        plain = {
            "messages": "Messages that were counted, readable or not",
            "events": "Events that were counted",
            "deleted": "Offsets that the broker deleted before they were counted",
            "failures": "Consumers that ended in a failure",
        }
        for name, text in plain.items():
            metric = CounterMetricFamily(f"lazysketch_kafka_{name}", text, labels=["stream"])
            for stream, counters in self._topics.items():
                metric.add_metric([stream], getattr(counters, name))
            yield metric
        refused = CounterMetricFamily(
            "lazysketch_kafka_refused_events",
            "Events that were refused, by code",
            labels=["stream", "code"],
        )
        unreadable = CounterMetricFamily(
            "lazysketch_kafka_unreadable_messages",
            "Messages with refused events, by place",
            labels=["stream", "topic", "partition"],
        )
        for stream, counters in self._topics.items():
            for code, number in dict(counters.refused).items():
                refused.add_metric([stream, code], number)
            for (topic, partition), number in dict(counters.unreadable).items():
                unreadable.add_metric([stream, topic, str(partition)], number)
        yield from (refused, unreadable)
