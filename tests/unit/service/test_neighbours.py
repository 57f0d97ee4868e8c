"""A reader who compares everything that can be seen of two streams that differ in one event.

Two copies of one store have the same keys, so both lives have the same noise: what differs between
them is what the event changed. It may change the cells of its item, and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from starlette.types import ASGIApp
from tests.unit.service.publications import START, Service, settings

from lazysketch.releases.any_release import any_release
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens
from lazysketch.specification.value_tree import ValueTree

NAMES: Final = tuple(f"/page {number}" for number in range(40))
ROOT: Final = "/v1/streams/pages"
NEWEST: Final = int(START) // 60 + 1
# Everything that has an address; errors too.
FIXED: Final = (
    "/", "/streams/pages", "/streams/none", "/assets/page.js", "/v1/streams", "/openapi.json",
    "/healthz", "/none", f"{ROOT}/none", f"{ROOT}/top?n=0", f"{ROOT}/top?x=1", f"{ROOT}/estimate",
    f"{ROOT}/windows/1", "/v1/streams/none/top", f"{ROOT}/release?last=x", ROOT,
)  # fmt: skip
RELEASED: Final = (
    f"{ROOT}/overview", f"{ROOT}/top?n=100", f"{ROOT}/top?open=false&last=1",
    f"{ROOT}/estimate?item=%2Fpage%201&item=none", f"{ROOT}/course?item=%2Fpage%202",
    f"{ROOT}/changes", "/metrics",
)  # fmt: skip
RELEASED_OF_VALUES: Final = (
    f"{ROOT}/overview", f"{ROOT}/quantiles", f"{ROOT}/quantiles?q=0.3", f"{ROOT}/histogram",
    f"{ROOT}/cdf?below=3,20", "/metrics",
)  # fmt: skip
TABLES: Final = (
    f"{ROOT}/release", f"{ROOT}/release?last=1", f"{ROOT}/windows/{NEWEST - 1}",
    f"{ROOT}/windows/{NEWEST}",
)  # fmt: skip
# Of a stream whose windows slide, whose tables are those of the ends of slices.
SLIDING: Final[dict[str, Any]] = {
    "every": "10s", "span": "40s", "slices": 1, "keep": 12,
    "alerts": ({"above": 40.0}, {"above": 9.0, "item": "/page 39"}),
}  # fmt: skip
RELEASED_OF_SLIDES: Final = (*RELEASED, f"{ROOT}/alerts")
TABLES_OF_SLIDES: Final = (
    f"{ROOT}/release", f"{ROOT}/release?last=1", f"{ROOT}/release?last=2",
    *(f"{ROOT}/windows/{int(START) // 10 + passed}" for passed in range(1, 14)),
)  # fmt: skip
SLICES: Final = 13
LOOKED_AFTER: Final = (0, 2, 5, 8, 12)  # slices: of two windows, and after each of their ends
Events = list[list[str]]  # by slice


def lives(folder: Path, **changes: Any) -> Callable[[], tuple[Service, StreamSettings]]:
    """Return a function that makes copies of one store with a stream that has counted nothing."""
    first, stream = Service(folder / "first"), settings(**changes)
    first.folder.mkdir()
    first.host(stream).close()
    made: list[Path] = []

    def copied() -> tuple[Service, StreamSettings]:
        place = folder / f"copy {len(made)}"
        made.append(place)
        shutil.copytree(first.folder, place)
        return Service(place, key=first.key), stream

    return copied


def seen(
    made: tuple[Service, StreamSettings],
    count: Callable[[Host, int], object],
    released: tuple[str, ...] = RELEASED,
    tables: tuple[str, ...] = TABLES,
) -> Seen:
    """Return everything that a reader sees of a life, after each of its slices."""
    service, stream = made
    host = service.host(stream)
    fed: list[bytes] = []
    answers: list[dict[str, tuple[int, Any, bytes]]] = []
    streams = PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)
    application = reading_application(streams)
    for number in range(SLICES):
        count(host, number)
        service.clock.now += 10.0
        assert host.publish("pages")
        if number not in LOOKED_AFTER:
            continue
        before = asyncio.run(look(streams, application, released + tables))  # shown after its delay
        service.clock.now += 2.0
        after = asyncio.run(look(streams, application, released + tables))
        answers += [before, after]
        fed += asyncio.run(feed(streams))
        service.clock.now -= 2.0
    host.close()
    return Seen(answers, fed, released, tables)


class Seen:
    """Statuses, headers and bodies of all addresses at all times, and the events of the feed."""

    def __init__(
        self,
        answers: list[dict[str, tuple[int, Any, bytes]]],
        fed: list[bytes],
        released: tuple[str, ...],
        tables: tuple[str, ...],
    ) -> None:
        self.answers, self.fed = answers, fed
        self.released, self.tables = released, tables

    def check_equal_but_for_tables(self, other: Seen) -> set[int]:
        """Raise where anything but released values differs; return how many cells of tables do."""
        assert self.fed == other.fed
        cells = set()
        for one, two in zip(self.answers, other.answers, strict=True):
            assert one.keys() == two.keys()
            for path in FIXED:
                if path != ROOT:
                    assert one[path] == two[path], path
            for path in (*self.released, f"{ROOT}/publication", ROOT):
                assert one[path][:2] == two[path][:2], path
                assert shape(path, one[path][2]) == shape(path, two[path][2]), path
            for path in self.tables:
                assert one[path][:2] == two[path][:2], path
                assert len(one[path][2]) == len(two[path][2]), path
                if one[path][0] == 200:
                    cells.add(differing(one[path][2], two[path][2]))
        return cells


async def look(
    streams: PublishedStreams, application: ASGIApp, asked: tuple[str, ...]
) -> dict[str, tuple[int, Any, bytes]]:
    await streams.look()
    found = {}
    for path in (*FIXED, *asked, f"{ROOT}/publication"):
        status, sent, content = await answered(
            application, "GET", path, [(b"host", b"testserver"), (b"accept-encoding", b"identity")]
        )
        # Tags of content, and its length, are functions of the content.
        headers = sorted(
            (name, b"" if name in (b"etag", b"content-length") else value) for name, value in sent
        )
        found[path] = status, headers, content
    return found


async def answered(
    application: Any, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes = b""
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body of an answer, without a thread for each of thousands."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode(),
        "headers": headers,
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    start, *parts = sent
    return start["status"], start["headers"], b"".join(part.get("body", b"") for part in parts)


async def feed(streams: PublishedStreams) -> list[bytes]:
    events = events_of(streams.streams["pages"], after=-1)
    found = [await anext(events), await anext(events)]
    await events.aclose()
    return found


def shape(path: str, body: bytes) -> Any:
    """Return an answer without released values: what is left may not depend on an event."""
    if path == "/metrics":
        return sorted(line.rpartition(b" ")[0] for line in body.splitlines())
    if path.endswith("publication"):
        body = body.split(b"\n")[0]
    return of_values(json.loads(body))


_VALUES: Final = (
    "estimate", "low", "high", "share", "share_low", "share_high", "course", "release", "releases",
    "change", "total", "before", "after", "item", "z", "score", "is_certain", "certain",
    "raised", "lasting",
)  # fmt: skip


def of_values(content: Any) -> Any:
    if isinstance(content, dict):
        return {
            name: type(value).__name__ if name in _VALUES else of_values(value)
            for name, value in content.items()
        }
    return [of_values(one) for one in content] if isinstance(content, list) else content


def differing(one: bytes, two: bytes) -> int:
    first, second = any_release(one), any_release(two)
    assert [(one.step, one.sketch_id) for one in first.parts] == [
        (one.step, one.sketch_id) for one in second.parts
    ]
    return int(np.sum(first.table != second.table))


def plain(events: Events) -> Callable[[Host, int], object]:
    return lambda host, number: host.stream("pages").counts.update_many(events[number])


BASE: Final[Events] = [
    [NAMES[(7 * number + place) % len(NAMES)] for place in range(30 + number)]
    for number in range(SLICES)
]


def changed(**slices: list[str]) -> Events:
    return [slices.get(f"slice_{number}", items) for number, items in enumerate(BASE)]


NEIGHBOURS: Final = {
    "moved within a window": changed(slice_1=BASE[1][1:], slice_3=[*BASE[3], BASE[1][0]]),
    "moved to the next window": changed(slice_1=BASE[1][1:], slice_8=[*BASE[8], BASE[1][0]]),
    "removed": changed(slice_4=BASE[4][1:]),
    "replaced": changed(slice_4=["/page 39", *BASE[4][1:]]),
    "replaced by another item": changed(slice_4=["none of the list", *BASE[4][1:]]),
}


@pytest.mark.parametrize("how", NEIGHBOURS)
def test_a_neighbour_differs_in_the_cells_of_its_event_alone(tmp_path: Path, how: str) -> None:
    make = lives(tmp_path, domain=NAMES)
    one, two = (seen(make(), plain(events)) for events in (BASE, NEIGHBOURS[how]))
    cells = one.check_equal_but_for_tables(two)
    depth = 4
    assert 0 in cells  # before the event
    assert max(cells) > 0
    assert max(cells) <= 2 * depth


@pytest.mark.parametrize("how", NEIGHBOURS)
def test_a_neighbour_of_sliding_windows_differs_in_the_cells_of_its_event(
    tmp_path: Path, how: str
) -> None:
    """In the tables of blocks that are published, and in those of windows, by their alerts too."""
    make = lives(tmp_path, domain=NAMES, **SLIDING)
    one, two = (
        seen(make(), plain(events), RELEASED_OF_SLIDES, TABLES_OF_SLIDES)
        for events in (BASE, NEIGHBOURS[how])
    )
    cells = one.check_equal_but_for_tables(two)
    depth = 4
    assert 0 in cells  # before the event
    assert 0 < max(cells) <= 2 * depth


OF_VALUES: Final[list[list[float]]] = [
    [7.0 * (number + place) % 40 for place in range(300 + number)] for number in range(SLICES)
]
NEIGHBOURS_OF_VALUES: Final = {
    "replaced": [*OF_VALUES[:4], [39.0, *OF_VALUES[4][1:]], *OF_VALUES[5:]],
    "removed": [*OF_VALUES[:4], OF_VALUES[4][1:], *OF_VALUES[5:]],
}


@pytest.mark.parametrize("how", NEIGHBOURS_OF_VALUES)
def test_a_neighbour_of_values_differs_in_the_sums_over_its_bins(tmp_path: Path, how: str) -> None:
    made = {"kind": "values", "low": 0.0, "high": 40.0, "bins": 64, "width": None}
    make = lives(tmp_path, **made)

    def counted(events: list[list[float]]) -> Seen:
        def count(host: Host, number: int) -> object:
            return host.stream("pages").counts.update_many(events[number])

        return seen(make(), count, RELEASED_OF_VALUES)

    cells = counted(OF_VALUES).check_equal_but_for_tables(counted(NEIGHBOURS_OF_VALUES[how]))
    assert 0 in cells  # before the event
    assert 0 < max(cells) <= ValueTree("tree", 64).changed_nodes("substitution")


def test_an_empty_stream_looks_like_a_saturated_one(tmp_path: Path) -> None:
    make = lives(tmp_path, domain=NAMES)
    empty: Events = [[]] * SLICES
    saturated = [list(NAMES) * 2_000] * SLICES
    one, two = (seen(make(), plain(events)) for events in (empty, saturated))
    assert max(one.check_equal_but_for_tables(two)) > 100


@pytest.mark.parametrize("domain", [NAMES, None], ids=["listed", "found"])
def test_what_senders_do_wrong_is_not_seen(tmp_path: Path, domain: tuple[str, ...] | None) -> None:
    """Batches that are refused, whole or in part, or sent again, change no byte."""
    make = lives(tmp_path, domain=domain)

    def through(host: Host, number: int, *, also: bool) -> None:
        application = IngestApplication(host, Tokens({}), lambda error: None)
        rows = [json.dumps({"item": item}) for item in BASE[number]]
        good = "\n".join(rows).encode()
        bad = "\n".join([rows[0] + "}", *rows, "", "{", json.dumps({"item": "x" * 2_000})]).encode()
        asked = [(f"a:{number + 1}", "application/x-ndjson", bad if also else good)]
        if also:
            asked += [
                *asked, ("a:1", "application/x-ndjson", good), ("b:1", "text/html", good),
                ("c:1", "application/json", b"["), ("", "application/json", b"[1.5]"),
                ("d:1", "application/vnd.apache.arrow.stream", b"none"), ("e", "", b""),
            ]  # fmt: skip
        asyncio.run(post(application, asked))

    first = seen(make(), lambda host, number: through(host, number, also=False))
    second = seen(make(), lambda host, number: through(host, number, also=True))
    assert first.fed == second.fed
    assert first.answers == second.answers


async def post(application: IngestApplication, requests: list[tuple[str, str, bytes]]) -> None:
    for key, kind, body in requests:
        headers = [(b"content-type", kind.encode())]
        if key:
            headers.append((b"idempotency-key", key.encode()))
        await answered(application, "POST", f"{ROOT}/events", headers, body)
    await application.close()
