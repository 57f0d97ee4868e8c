"""Public counts as gauges of Prometheus.

They are gauges: noise may let a count fall, and windows end. The values are those of the overview,
the same for every reader until the next publication.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lazysketch.service.reading.answers import Answers

__all__ = ["Exposition", "exposed"]

_MOST_NAMES: Final = 50
_LONGEST_LABEL: Final = 128
_BOUNDS: Final = ("estimate", "low", "high")


class _PublicCounts(Collector):
    def __init__(self, shown: Mapping[str, Answers]) -> None:
        self._shown = shown

    def collect(self) -> Iterable[GaugeMetricFamily]:
        labels = ["stream", "item", "bound"]
        counts = GaugeMetricFamily(
            "lazysketch_public_count",
            "Published count of an item over all shown windows, with the ends of its interval",
            labels=labels,
        )
        totals = GaugeMetricFamily(
            "lazysketch_public_events",
            "Published number of events over all shown windows, with the ends of its interval",
            labels=["stream", "bound"],
        )
        instants = GaugeMetricFamily(
            "lazysketch_publication_timestamp_seconds",
            "The instant whose state is published",
            labels=["stream"],
        )
        distinct = GaugeMetricFamily(
            "lazysketch_public_distinct_items",
            "Published number of distinct items so far, with the ends of its interval",
            labels=["stream", "bound"],
        )
        ended = GaugeMetricFamily(
            "lazysketch_stream_ended",
            "1 for a stream that has ended, after which nothing is published; 0 for any other",
            labels=["stream"],
        )
        values = GaugeMetricFamily(
            "lazysketch_public_values",
            "Published number of values so far, with the ends of its interval",
            labels=["stream", "bound"],
        )
        quantiles = GaugeMetricFamily(
            "lazysketch_public_quantile",
            "Published quantile of all values so far, with the ends of its interval",
            labels=["stream", "quantile", "bound"],
        )
        keys = GaugeMetricFamily(
            "lazysketch_public_keys",
            "Published number of keys so far, with the ends of its interval",
            labels=["stream", "bound"],
        )
        ranges = GaugeMetricFamily(
            "lazysketch_public_range",
            "Published number of keys so far in a part of all keys, with the ends of its interval",
            labels=["stream", "range", "bound"],
        )
        sums = GaugeMetricFamily(
            "lazysketch_public_sum",
            "Published sum of the values of an item so far, with the ends of its interval",
            labels=["stream", "item", "bound"],
        )
        means = GaugeMetricFamily(
            "lazysketch_public_mean",
            "Published mean of the values of an item so far, with the ends of its interval",
            labels=["stream", "item", "bound"],
        )
        alerts = GaugeMetricFamily(
            "lazysketch_public_alerts",
            "Counts that are above their thresholds in the last window",
            labels=["stream"],
        )
        of_totals = {"items": totals, "distinct": distinct, "values": values, "ranges": keys}
        for name, answers in self._shown.items():
            overview = json.loads(answers.overview().body)
            kind, total = overview["facts"]["kind"], overview["total"]
            instants.add_metric([name], answers.publication.at.timestamp())
            ended.add_metric([name], float(answers.publication.finished))
            for bound in _BOUNDS if total is not None else ():
                if total[bound] is not None or kind == "items":
                    of_totals[kind].add_metric([name, bound], total[bound] or 0.0)
            if "alerts" in overview:
                alerts.add_metric([name], overview["alerts"]["lasting"])
            for row in overview.get("quantiles", ()):
                _add_bounds(quantiles, [name, f"{row['share']:g}"], (row["course"] or [{}])[-1])
            for label, row in _labelled(overview.get("sums", ())).items():
                _add_bounds(sums, [name, label], row["sum"])
                _add_bounds(means, [name, label], row["mean"])
            for row in overview.get("parts", ()):
                _add_bounds(ranges, [name, row["range"]], row)
            for label, row in _labelled(overview.get("items", ())[:_MOST_NAMES]).items():
                _add_bounds(counts, [name, label], row)
        return [
            counts,
            totals,
            distinct,
            values,
            quantiles,
            keys,
            ranges,
            sums,
            means,
            alerts,
            instants,
            ended,
        ]


def _add_bounds(gauges: GaugeMetricFamily, labels: list[str], row: Mapping[str, Any]) -> None:
    """Add an estimate and the ends of its interval, those that are finite."""
    for bound in _BOUNDS:
        if row.get(bound) is not None:
            gauges.add_metric([*labels, bound], row[bound])


def exposed(shown: Mapping[str, Answers]) -> bytes:
    """Return the public counts in the text format of Prometheus.

    Args:
        shown: the answers of each stream that has a publication.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_PublicCounts(shown))
    content: bytes = generate_latest(registry)
    return content


class Exposition:
    """The public counts of what is shown, made once for all readers."""

    def __init__(self) -> None:
        self._making = asyncio.Lock()
        self._made: tuple[dict[str, Answers], bytes] | None = None

    async def of(self, shown: dict[str, Answers]) -> bytes:
        """Return the result of :func:`exposed`.

        Args:
            shown: the answers of each stream that has a publication.
        """
        async with self._making:
            if self._made is None or self._made[0] != shown:
                self._made = shown, await asyncio.to_thread(exposed, shown)
            return self._made[1]


def _labelled(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows by their labels; of two with one label, such as 7 and "7", the heavier."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(_label(row["item"]), row)
    return found


def _label(item: object) -> str:
    if isinstance(item, dict):
        kind, value = next(iter(item.items()))
        text = f"{kind}:{value}"
    else:
        text = str(item)
    plain = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    return plain if len(plain) <= _LONGEST_LABEL else f"{plain[: _LONGEST_LABEL - 1]}…"
