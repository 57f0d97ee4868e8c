"""Logs of servers and services: their fields, and how they are recognised by their first rows.

Sources and layouts: ``rust/text/src/fields``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lazysketch._native import log_fields
from lazysketch.sources.formats.described_rows import mostly, reader_of
from lazysketch.sources.formats.format import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from lazysketch.sources.formats.selection import Head

__all__ = ["OF_OBJECTS", "OF_SERVICES", "OF_WEB_SERVERS", "looks_like_pairs", "looks_w3c"]

_PEOPLE = ("host", "client", "user")
_ADDRESS = r"[0-9A-Fa-f:.]*[0-9A-Fa-f]"
_FORWARDED = re.compile(rf'" "(?:-|{_ADDRESS}(?:, ?{_ADDRESS})*)"$')
_SITE = re.compile(r"(?:\[[^\]]*\]|[^ :]+):\d{1,5} ")
_PAIRS = re.compile(r'(?:[\w.%@/-]+(?:=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))?(?:\s+|$))+')
_PAIR = re.compile(r"(?:^|\s)[\w.%@/-]+=")
_FEWEST_PAIRS = 2


def _log(
    name: str,
    looks_like: Callable[[Head], bool],
    *,
    time_unit: str | None = None,
    has_hops: bool = False,
) -> Format:
    fields = tuple(log_fields(name))
    return Format(
        name,
        reader_of(name),
        fields,
        looks_like,
        weights=("size",) if "size" in fields else (),
        time="",
        skips=True,
        people=tuple(person for person in _PEOPLE if person in fields) or fields,
        time_unit=time_unit,
        has_hops=has_hops,
    )


def _objects(name: str, *marks: str, field: str = "host", time_unit: str | None = None) -> Format:
    """Return a log of objects, most of which have all the marks and the field."""
    fields = log_fields(name)

    def looks_like(head: Head) -> bool:
        # Another field is a key of the objects.
        if head.field is not None and head.field not in fields:
            return False
        return _most(head, lambda row: all(mark in row for mark in marks)) and mostly(
            name, field, head.rows
        )

    return _log(name, looks_like, time_unit=time_unit)


def _most(head: Head, holds: Callable[[str], object]) -> bool:
    return 2 * sum(bool(holds(row)) for row in head.rows) > len(head.rows)


def _looks_vhost_combined(head: Head) -> bool:
    return _most(head, _SITE.match) and mostly("vhost_combined", "agent", head.rows)


def _looks_forwarded(head: Head) -> bool:
    """Tell whether rows end with addresses in quotes, in at least one row not ``-``."""
    ends = [found for row in head.rows if (found := _FORWARDED.search(row))]
    named = any(not end[0].endswith('"-"') for end in ends)
    return named and 2 * len(ends) > len(head.rows) and mostly("nginx", "client", head.rows)


def _looks_like_traefik(head: Head) -> bool:
    return _most(head, lambda row: row.endswith("ms")) and mostly("traefik", "server", head.rows)


def _by(name: str, field: str) -> Callable[[Head], bool]:
    return lambda head: mostly(name, field, head.rows)


def looks_w3c(head: Head) -> bool:
    """Tell whether the first lines are directives, with ``#Fields:`` among them."""
    directives = [row for row in head.rows if row.startswith("#")]
    begins = bool(head.rows) and head.rows[0].startswith("#")
    return begins and any(row.startswith("#Fields:") for row in directives)


def looks_like_pairs(head: Head) -> bool:
    """Tell whether most of the first rows are nothing but keys and pairs, at least two of these."""
    if head.is_called(".csv", ".tsv", ".tab"):
        return False
    return _most(
        head,
        lambda row: _PAIRS.fullmatch(row) and len(_PAIR.findall(row)) >= _FEWEST_PAIRS,
    )


# In the order in which detection tries them.
OF_OBJECTS = (
    _objects("traefik-json", '"ClientHost"', '"DownstreamStatus"'),
    _objects("caddy", '"request"', '"handled request"', field="path"),
    _objects("cloudflare", '"EdgeStartTimestamp"', '"RayID"', time_unit="ns"),
    _objects("docker", '"log"', '"time"', field="stream"),
    _objects("journald", '"__REALTIME_TIMESTAMP"', '"_BOOT_ID"', field="message", time_unit="us"),
    _objects("gelf", '"version"', '"short_message"'),
)
OF_WEB_SERVERS = (
    _log("vhost_combined", _looks_vhost_combined),
    _log("nginx", _looks_forwarded, has_hops=True),
    _log("traefik", _looks_like_traefik),
)
OF_SERVICES = (
    _log("alb", _by("alb", "status")),
    _log("elb", _by("elb", "status")),
    _log("haproxy", _by("haproxy", "status")),
    _log("cri", _by("cri", "stream")),
    _log("syslog", _by("syslog", "host")),
)
