"""Streams with levels: every level in a publication, the tree that readers get, and misfits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, run, settings

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.ingest.misfits import rows_that_fit
from lazysketch.service.publication import SignedPublication
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.tokens import Tokens
from lazysketch.sources.batch import RowBatch

EVENTS = ["10.0.0.1"] * 300 + ["10.0.1.9"] * 200 + ["192.0.2.7"] * 100
NETWORKS: dict[str, Any] = {"levels": "ipv4", "epsilon": 8.0, "delta": 1e-3}
ROOT = "/v1/streams/pages"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def host(service: Service) -> Iterator[Host]:
    host = service.host(settings(**NETWORKS))
    run(service, host, slices=15, events=lambda _: EVENTS)
    service.clock.now += 3.0
    yield host
    host.close()


@pytest.fixture
def client(service: Service, host: Host) -> TestClient:
    assert host.published["pages"] == 15
    streams = PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)
    asyncio.run(streams.look())
    return TestClient(reading_application(streams))


def nodes(answer: Any) -> dict[str, Any]:
    """Return the nodes of a tree by their items."""
    found, waiting = {}, list(answer["nodes"])
    while waiting:
        node = waiting.pop()
        found[node["item"]] = node
        waiting += node["children"]
    return found


def test_all_shares_of_a_tree_are_parts_of_one_total(host: Host) -> None:
    windows: Any = host.stream("pages").counts
    assert isinstance(windows, ls.HierarchicalWindows)
    found = [node for root in windows.hierarchy(0.05, last=2) for node in root.walk()]
    assert {node.level for node in found} == {0, 1, 2, 3}
    sizes = [node.estimate / node.share for node in found if node.share < 1]
    assert sizes == pytest.approx([sizes[0]] * len(sizes), rel=1e-12)
    for node in found:
        assert node.own_share * sizes[0] == pytest.approx(node.own, rel=1e-9)
    # Whose own totals differ; that of one level equals another once in a thousand runs.
    tops = [windows.level(level).top(1, last=2)[0] for level in (1, 2, 3)]
    common = [top.share == pytest.approx(top.estimate / sizes[0], rel=1e-12) for top in tops]
    assert not all(common)


def test_a_publication_signs_the_release_of_every_level(client: TestClient, host: Host) -> None:
    signed = SignedPublication.from_bytes(client.get(f"{ROOT}/publication").content)
    signed.check(host.public_key)
    publication = host.files.read(signed, "pages")
    assert publication.facts.levels == ("/8", "/16", "/24", "/32")
    assert len(signed.releases()) == 3 * 4
    loaded = [one.window.levels for one in publication.windows]
    assert [len(levels) for levels in loaded] == [4, 4, 4]
    live: Any = host.stream("pages").counts
    assert [len(window.levels) for window in live.windows] == [4, 4]
    for ended, window in zip(loaded, live.windows, strict=False):
        for one, other in zip(ended, window.levels, strict=True):
            assert one.release.to_bytes() == other.release.to_bytes()
    assert publication.manifest() == signed.manifest


def test_the_tree_is_that_of_the_windows(client: TestClient, host: Host) -> None:
    """Counts of three windows, of which the last is open, lie in the intervals of their nodes."""
    answer = client.get(f"{ROOT}/hierarchy", params={"open": "false", "last": 2}).json()
    assert answer["levels"] == ["/8", "/16", "/24", "/32"]
    assert (answer["share"], len(answer["windows"]), len(answer["totals"])) == (0.1, 2, 4)
    found = nodes(answer)
    for item, per_slice, level in (
        ("10.0.0.0/8", 500, 0), ("10.0.0.0/16", 500, 1), ("10.0.0.0/24", 300, 2),
        ("10.0.1.0/24", 200, 2), ("10.0.0.1", 300, 3), ("192.0.0.0/8", 100, 0),
    ):  # fmt: skip
        node = found[item]
        assert node["level"] == level
        assert abs(node["estimate"] - 12 * per_slice) < 600
        assert node["low"] <= node["estimate"] <= node["high"]
    assert [one["item"] for one in found["10.0.0.0/16"]["children"]] == [
        "10.0.0.0/24",
        "10.0.1.0/24",
    ]
    live: Any = host.stream("pages").counts
    expected = [
        (node.item, round(node.estimate, 1))
        for root in live.hierarchy(last=2)  # type: ignore[union-attr]
        for node in root.walk()
    ]
    assert sorted(expected) == sorted((item, node["estimate"]) for item, node in found.items())
    shown = nodes(client.get(f"{ROOT}/hierarchy", params={"share": "0.4"}).json())
    assert "192.0.0.0/8" not in shown
    assert abs(shown["10.0.0.0/8"]["estimate"] - 15 * 500) < 600


def test_each_level_has_its_list_and_its_releases(client: TestClient) -> None:
    lists = [client.get(f"{ROOT}/top", params={"level": level, "n": 1}) for level in range(4)]
    assert [one.json()["items"][0]["item"] for one in lists] == [
        "10.0.0.0/8",
        "10.0.0.0/16",
        "10.0.0.0/24",
        "10.0.0.1",
    ]
    assert client.get(f"{ROOT}/top", params={"n": 1}).json() == lists[-1].json()
    number = lists[0].json()["windows"][0]["number"]
    for path in ("release", f"windows/{number}"):
        contents = [client.get(f"{ROOT}/{path}?level={level}").content for level in range(4)]
        assert len(set(contents)) == 4
        assert contents[-1] == client.get(f"{ROOT}/{path}").content
        assert "10.0.0.0/8" in ls.Release.from_bytes(contents[0]).names
    first = client.get(f"{ROOT}/hierarchy")
    again = client.get(f"{ROOT}/hierarchy", headers={"If-None-Match": first.headers["etag"][2:]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "parameters",
    ["share=0", "share=2", "share=nan", "share=0.00001", "share=1e-2", "last=0", "level=1", "x=1"],
)
def test_wrong_parameters_of_a_tree_are_named(client: TestClient, parameters: str) -> None:
    answer = client.get(f"{ROOT}/hierarchy?{parameters}")
    assert answer.status_code == 400
    expected = "parameters" if parameters in ("level=1", "x=1") else parameters.split("=")[0]
    assert answer.json()["error"]["argument"] == expected
    assert client.get(f"{ROOT}/top?level=4").status_code == 400


def test_streams_without_levels_have_no_tree(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=7, events=lambda _: EVENTS)
    service.clock.now += 3.0
    streams = PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)
    asyncio.run(streams.look())
    client = TestClient(reading_application(streams))
    answer = client.get(f"{ROOT}/hierarchy")
    assert (answer.status_code, answer.json()["error"]["argument"]) == (404, "stream")
    assert client.get(f"{ROOT}/top?level=1").status_code == 400
    assert client.get(ROOT).json()["levels"] == []
    host.close()


def test_a_restart_publishes_the_same_bytes(service: Service, host: Host) -> None:
    before = host.files.read_signed("pages")
    host.close()
    again = service.host(settings(**NETWORKS))
    service.clock.now -= 3.0
    ready = int(service.clock.now) * 10**9
    publication = again.stream("pages").publication(ready=lambda: ready)
    assert before is not None
    assert publication.manifest() == before.manifest
    again.store.checkpoint()
    again.close()
    last = service.host(settings(**NETWORKS))
    assert last.stream("pages").publication(ready=lambda: ready).manifest() == before.manifest
    last.close()
    other = settings(**NETWORKS | {"levels": "ipv6"})
    with pytest.raises(ArgumentValueError, match="parameters"):
        service.host(other)


def test_items_that_do_not_fit_are_malformed_alone(service: Service) -> None:
    """The others count, once, and the sender learns the positions."""
    host = service.host(settings(**NETWORKS))
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    path = f"{ROOT}/events"
    lines = "10.0.0.1\nnot an address\n10.0.0.2\n\n10.0.0\n" + "10.0.0.3\n" * 300
    with TestClient(application) as client:
        for _ in range(2):
            answer = client.post(
                path,
                content=lines,
                headers={"Content-Type": "text/plain", "Idempotency-Key": "a:1"},
            ).json()
            assert answer["refused"] == [
                {"position": position, "code": "malformed"} for position in (1, 3, 4)
            ]
            assert (answer["events"], answer["refused_events"]) == (305, 3)
        table = pa.table({"item": pa.array(["10.9.0.1", "x"]).dictionary_encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        answer = client.post(
            path,
            content=sink.getvalue().to_pybytes(),
            headers={"Content-Type": "application/vnd.apache.arrow.stream"},
        ).json()
        assert answer["refused"] == [{"position": 1, "code": "malformed"}]
    service.clock.now += 60.0
    (window,) = host.stream("pages").counts.windows  # type: ignore[union-attr]
    coarse = window.levels[0].release.interval("10.0.0.0/8", confidence=1 - 1e-9)
    assert coarse.low <= 303 <= coarse.high < 500
    host.close()


def test_rows_of_a_file_that_do_not_fit_are_empty_steps() -> None:
    batch = RowBatch(
        ["10.0.0.1", "x", "10.0.0.2"], malformed=[1], weights=[1, 2, 3], absent=[3], users=[1, 2, 3]
    )
    found = rows_that_fit(batch, ls.ipv4_prefixes())
    assert list(found.items) == ["10.0.0.1", "10.0.0.2"]
    assert (list(found.malformed), list(found.absent), found.rows) == ([1, 2], [3], 5)
    assert found.weights is not None
    assert list(found.weights) == [1, 3]
    assert found.users == [1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": "path"}, "^levels: expected one of ipv4, ipv6, url, dns, got 'path'"),
        ({"levels": "ipv4", "domain": ("1.2.3.4",)}, "^domain: expected none with levels"),
    ],
)
def test_wrong_levels_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        settings(**changes)


def test_a_stream_with_levels_bounds_people_at_all_of_them(service: Service) -> None:
    """One bound for all levels: events beyond it count at none."""
    host = service.host(
        settings(levels="ipv4", user="who", cells=2, per_cell=1, relation="zero-out", epsilon=15.0)
    )
    stream = host.stream("pages")
    assert stream.facts.unit.startswith("one person within one window, of whom 1 event in each of")
    addresses = [f"10.0.0.{number}" for number in range(10)] * 200
    stream.counts.update_many(addresses, user=[number // 10 for number in range(2_000)])
    service.clock.now += 60.0
    (window,) = host.stream("pages").counts.windows  # type: ignore[union-attr]
    # A cell of the coarsest level takes one event of a person, so one of ten counts at any level.
    finest = [window.release.interval(item, confidence=1 - 1e-9) for item in addresses[:10]]
    assert sum(one.low for one in finest) <= 200 <= sum(one.high for one in finest)
    coarsest = window.levels[0].release.interval("10.0.0.0/8", confidence=1 - 1e-9)
    assert coarsest.low <= 200 <= coarsest.high < 1_000
    host.close()
