"""What readers get: equal bytes, from the instant of a publication on, and named errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, run, settings

import lazysketch as ls
from lazysketch.service.host import Host
from lazysketch.service.publication import SignedPublication
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading import exposition
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.windows_view import intervals_of, item_value

ITEMS = ["/", "/", "/docs", 7, b"\xff\x00"] * 100


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def shown(service: Service) -> PublishedStreams:
    """Return the streams as a process of readers has them after a look."""
    streams = PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)
    asyncio.run(streams.look())
    return streams


@pytest.fixture
def published(service: Service) -> Iterator[Host]:
    host = service.host(settings())
    run(service, host, slices=15, events=lambda _: ITEMS)
    service.clock.now += 3.0
    yield host
    host.close()


@pytest.fixture
def client(service: Service, published: Host) -> TestClient:
    return TestClient(reading_application(shown(service)))


ROOT = "/v1/streams/pages"


def test_answers_are_what_the_release_says(client: TestClient, published: Host) -> None:
    """Each number is that of the library, from the bytes that the reader can load as well."""
    signed = SignedPublication.from_bytes(client.get(f"{ROOT}/publication").content)
    signed.check(bytes.fromhex(client.get("/v1/streams").json()["public_key"]))
    release = ls.Release.from_bytes(client.get(f"{ROOT}/release").content)
    answer = client.get(f"{ROOT}/top", params={"n": 2, "open": "false"}).json()
    expected = release.top(n=2)
    assert [row["item"] for row in answer["items"]] == [item_value(one.item) for one in expected]
    for row, one in zip(answer["items"], expected, strict=True):
        assert (row["low"], row["high"]) == (round(one.low, 1), round(one.high, 1))
    params: dict[str, Any] = {"item": ["/", "/none"], "open": "false"}
    counts = client.get(f"{ROOT}/estimate", params=params).json()["items"]
    for row, found in zip(counts, release.interval_many(["/", "/none"]), strict=True):
        assert row["estimate"] == round(found.estimate, 1)
        assert (row["low"], row["high"]) == (round(found.low, 1), round(found.high, 1))
    number = json.loads(signed.manifest)["windows"][0]["number"]
    window = client.get(f"{ROOT}/windows/{number}").content
    assert ls.Release.from_bytes(window).to_bytes() == window


def test_the_overview_agrees_with_the_other_answers(client: TestClient) -> None:
    overview = client.get(f"{ROOT}/overview").json()
    assert overview["facts"] == client.get(ROOT).json()
    top = client.get(f"{ROOT}/top").json()
    plain = [{k: v for k, v in row.items() if k != "course"} for row in overview["items"]]
    assert plain == top["items"]
    assert {"bytes": "ff00"} in [row["item"] for row in top["items"]]
    assert overview["total"] == top["total"]
    courses = [row["course"] for row in overview["items"]]
    assert all(len(course) == len(overview["facts"]["windows"]) for course in courses)
    changes = client.get(f"{ROOT}/changes").json()["changes"]
    assert overview["changes"] == changes


def test_all_readers_get_the_same_bytes(client: TestClient, service: Service) -> None:
    other = TestClient(reading_application(shown(service)))
    for path in ("", "/overview", "/top?n=3", "/estimate?item=x", "/changes", "/release"):
        first, again = client.get(f"{ROOT}{path}"), client.get(f"{ROOT}{path}")
        elsewhere = other.get(f"{ROOT}{path}")
        assert first.content == again.content == elsewhere.content
        assert first.headers["etag"] == elsewhere.headers["etag"]
        unchanged = client.get(f"{ROOT}{path}", headers={"If-None-Match": first.headers["etag"]})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
    plain = client.get(f"{ROOT}/overview", headers={"Accept-Encoding": "identity"})
    assert plain.content == client.get(f"{ROOT}/overview").content
    assert "content-encoding" not in plain.headers


def test_a_publication_shows_from_its_instant_on(service: Service, published: Host) -> None:
    """It is loaded before, and a damaged or earlier one never shows."""
    streams = shown(service)
    stream = streams.streams["pages"]
    assert stream.answers is not None
    before = stream.answers.publication.number
    service.clock.now += 7.0
    assert published.publish("pages")
    asyncio.run(streams.look())
    assert stream.answers.publication.number == before
    service.clock.now += 1.9
    asyncio.run(streams.look())
    assert stream.answers.publication.number == before
    service.clock.now += 0.1
    asyncio.run(streams.look())
    assert stream.answers.publication.number == before + 1
    path = service.folder / "public" / "streams" / "pages" / "publication"
    manifest, signature = path.read_bytes().splitlines()
    assert json.loads(manifest)["number"] == before + 1
    forged = json.dumps(json.loads(manifest) | {"number": before + 2}, separators=(",", ":"))
    path.write_bytes(forged.encode() + b"\n" + signature + b"\n")
    service.clock.now += 100.0
    asyncio.run(streams.look())
    assert stream.answers.publication.number == before + 1


def test_before_the_first_publication(service: Service) -> None:
    host = service.host(settings())
    client = TestClient(reading_application(shown(service)))
    listed = client.get("/v1/streams").json()["streams"]
    due = "2023-11-14T22:14:02.000Z"  # the delay after the tick of this instant
    assert listed == [
        {"name": "pages", "title": "pages", "counts": None, "published": False, "next_at": due}
    ]
    answer = client.get(f"{ROOT}/overview")
    assert answer.status_code == 404
    assert answer.json()["error"]["expected"] == "one that was published"
    assert answer.json()["error"]["got"] == f"none before {due}"
    assert client.get("/healthz").text == "ok\n"
    host.close()


@pytest.mark.parametrize(
    ("path", "status", "argument"),
    [
        ("/v1/streams/others/top", 404, "stream"),
        ("/v1/streams/pages/nothing", 404, "request"),
        ("/nothing", 404, "request"),
        (f"{ROOT}/top?n=0", 400, "n"),
        (f"{ROOT}/top?n=10001", 400, "n"),
        (f"{ROOT}/top?n=1&n=2", 400, "n"),
        (f"{ROOT}/top?n=²", 400, "n"),
        (f"{ROOT}/top?last=x", 400, "last"),
        (f"{ROOT}/top?open=1", 400, "open"),
        (f"{ROOT}/top?m=1", 400, "parameters"),
        (f"{ROOT}/overview?m=1", 400, "parameters"),
        (f"{ROOT}/estimate", 400, "item"),
        (f"{ROOT}/estimate?item=a&type=float", 400, "type"),
        (f"{ROOT}/estimate?item=a&type=int", 400, "item"),
        (f"{ROOT}/estimate?item=a&type=bytes", 400, "item"),
        (f"{ROOT}/estimate?item={'a' * 1025}", 400, "item"),
        (f"{ROOT}/estimate?{'item=a&' * 101}", 400, "item"),
        (f"{ROOT}/changes?against=now", 400, "against"),
        (f"{ROOT}/windows/1", 404, "window"),
        ("/assets/none.js", 404, "file"),
    ],
)
def test_wrong_addresses_are_named(
    client: TestClient, path: str, status: int, argument: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["argument"] == argument
    assert error["expected"]
    assert error["got"]
    assert "content-security-policy" in answer.headers


def test_other_methods_are_refused(client: TestClient) -> None:
    assert client.post(f"{ROOT}/top").status_code == 405
    assert client.head(f"{ROOT}/top").status_code == 200


def test_types_of_items_are_told_apart(client: TestClient) -> None:
    found = {
        kind: client.get(f"{ROOT}/estimate", params={"item": text, "type": kind}).json()["items"][0]
        for kind, text in (("int", "7"), ("str", "7"), ("bytes", "ff00"))
    }
    assert found["int"]["low"] > 1000
    assert found["bytes"]["low"] > 1000
    assert found["str"]["high"] < 500
    courses = client.get(f"{ROOT}/course", params={"item": "7", "type": "int"}).json()["items"]
    assert courses[0]["item"] == 7


def test_the_page_and_its_headers(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert client.get("/streams/pages").content == page.content
    assert "script-src 'self'" in page.headers["content-security-policy"]
    policy = page.headers["content-security-policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert {source for sources in rules.values() for source in sources} == {
        "'none'",
        "'self'",
        "data:",
    }
    assert [name for name, sources in rules.items() if "data:" in sources] == ["img-src"]
    assert rules["default-src"] == ["'none'"]
    assert page.headers["x-content-type-options"] == "nosniff"


def test_public_counts_are_gauges(client: TestClient) -> None:
    text = client.get("/metrics").text
    assert "# TYPE lazysketch_public_count gauge" in text
    overview = client.get(f"{ROOT}/overview").json()
    root = next(row for row in overview["items"] if row["item"] == "/")
    line = f'lazysketch_public_count{{bound="low",item="/",stream="pages"}} {root["low"]}'
    assert line in text


def test_the_feed_tells_of_each_publication(service: Service, published: Host) -> None:
    streams = shown(service)
    stream = streams.streams["pages"]
    assert stream.answers is not None
    number = stream.answers.publication.number

    async def told() -> list[bytes]:
        feed = events_of(stream, after=-1)
        got = [await anext(feed), await anext(feed)]
        service.clock.now += 9.0
        assert published.publish("pages")
        service.clock.now += 2.0
        waiting = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)
        await streams.look()
        got.append(await asyncio.wait_for(waiting, 5.0))
        await feed.aclose()
        resumed = events_of(stream, after=number + 1)
        await anext(resumed)
        nothing = asyncio.ensure_future(anext(resumed))
        done, _ = await asyncio.wait([nothing], timeout=0.05)
        assert not done
        nothing.cancel()
        return got

    begin, first, second = asyncio.run(told())
    assert begin == b"retry: 2000\n\n"
    assert first.startswith(f"id: {number}\nevent: publication\ndata: {{".encode())
    assert second.startswith(f"id: {number + 1}\n".encode())


def test_the_description_has_every_address(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    data = {path for path in paths if path.startswith("/v1/")}
    assert len(data) == 18
    for path in data:
        address = path.replace("{name}", "pages").replace("{number}", "1")
        query = "?item=a" if path.endswith(("estimate", "course")) else ""
        # No such window, no levels, no alerts, and no statistic.
        statistics = ("distinct", "quantiles", "histogram", "cdf", "ranges", "sums")
        without = any(word in path for word in ("number", "hierarchy", "alerts", *statistics))
        assert client.get(address + query).status_code == (404 if without else 200)


def test_courses_depend_on_the_address_alone_and_are_not_kept(
    service: Service, published: Host
) -> None:
    """Other readers change no answer, and what they ask for takes no memory of its own."""
    streams = shown(service)
    client = TestClient(reading_application(streams))
    answers = streams.streams["pages"].answers
    assert answers is not None
    view: Any = answers.view
    kept = dict(view._course_of)
    many = {"item": ["/none", *map(str, range(99))]}
    wide = client.get(f"{ROOT}/course", params=many).json()["items"][0]["course"]
    found = client.get(f"{ROOT}/course", params={"item": "/none"}).json()["items"][0]["course"]
    alone = TestClient(reading_application(shown(service)))
    expected = alone.get(f"{ROOT}/course", params={"item": "/none"}).json()
    assert found == expected["items"][0]["course"]
    # An end of an interval comes from the ranks of few cells: among more names it is often, but
    # not in every window, farther out. What it is exactly, the library says.
    windows = view.publication.windows
    for course, among in ((found, len(view.candidates)), (wide, len(many["item"]))):
        expected_course = [
            intervals_of(one.window.release.interval_many(["/none"], among=among))[0]
            for one in windows
        ]
        assert course == expected_course
    assert wide != found
    assert view._course_of == kept
    assert {item for _, item in kept} <= set(view.candidates)


@pytest.mark.parametrize("number", ["-1", "x", "1" * 5_000, "\N{SUPERSCRIPT TWO}"])
def test_no_window_has_another_number(client: TestClient, number: str) -> None:
    answer = client.get(f"{ROOT}/windows/{number}")
    assert (answer.status_code, answer.json()["error"]["argument"]) == (404, "window")


def test_public_counts_are_exposed_once_for_all_readers(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = client.get("/metrics").content
    monkeypatch.setattr(exposition, "exposed", lambda _: pytest.fail("made again"))
    assert client.get("/metrics").content == first


def test_courses_of_an_open_window_are_not_those_of_its_end(service: Service) -> None:
    """A process that showed the window while it was open answers as one that starts now."""
    host = service.host(settings(domain=("a", "b"), share=None))
    streams = PublishedStreams(host.files, clock=service.clock)
    client = TestClient(reading_application(streams))
    for _ in range(7):  # a window of six slices, and one more
        run(service, host, slices=1, events=lambda _: ["a"] * 300)
        service.clock.now += 2.0
        asyncio.run(streams.look())
        client.get(f"{ROOT}/overview")
        service.clock.now -= 2.0
    found = client.get(f"{ROOT}/course", params={"item": "a"}).json()
    service.clock.now += 3.0
    alone = TestClient(reading_application(shown(service)))
    assert found["windows"][0]["ended"]
    assert found == alone.get(f"{ROOT}/course", params={"item": "a"}).json()
    host.close()
