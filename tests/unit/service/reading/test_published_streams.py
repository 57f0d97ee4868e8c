"""What a process of readers shows, and when: late files, half replaced files, its end."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, run, settings

from lazysketch.errors import ReleaseFormatError
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.published_streams import PublishedStreams

ITEMS = ["/", "/docs"] * 50
ROOT = "/v1/streams/pages"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def readers(service: Service) -> PublishedStreams:
    return PublishedStreams(PublicationFiles(service.folder / "public"), clock=service.clock)


def shown(streams: PublishedStreams) -> int:
    asyncio.run(streams.look())
    answers = streams.streams["pages"].answers
    return -1 if answers is None else answers.publication.number


@pytest.mark.parametrize(("late", "delays"), [(1.9, 1), (2.1, 2), (3.9, 2), (4.4, 3)])
def test_a_late_publication_shows_a_whole_number_of_delays_after_its_tick(
    late: float, delays: int, service: Service
) -> None:
    """Files that take long to write come after their instant: how long they took stays hidden."""
    host, streams = service.host(settings()), readers(service)
    run(service, host, slices=1, events=lambda _: ITEMS)
    service.clock.now += 2.0
    first = shown(streams)
    service.clock.now += 8.0
    tick = service.clock.now
    host.publish("pages")  # due at two seconds, and loaded later
    service.clock.now = tick + late
    assert shown(streams) == first
    service.clock.now = tick + 2.0 * delays - 0.02
    assert shown(streams) == first
    service.clock.now = tick + 2.0 * delays
    assert shown(streams) == first + 1
    host.close()


def test_a_new_process_shows_what_was_shown(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=2, events=lambda _: ITEMS)
    service.clock.now += 3.3
    before = readers(service)
    number = shown(before)
    assert number >= 0
    assert shown(readers(service)) == number
    host.close()


def test_what_cannot_be_read_once_is_not_logged(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A replica replaces a file while it is read: the next look finds the whole one."""
    host, streams = service.host(settings()), readers(service)
    run(service, host, slices=1, events=lambda _: ITEMS)
    service.clock.now += 3.0
    caplog.set_level(logging.WARNING)

    def damaged(*_: object) -> None:
        raise ReleaseFormatError("publication: expected releases, got none")

    with monkeypatch.context() as broken:
        broken.setattr(PublicationFiles, "read", damaged)
        assert shown(streams) == -1
        assert not caplog.records
    assert shown(streams) >= 0
    assert not caplog.records
    run(service, host, slices=1, events=lambda _: ITEMS)
    with monkeypatch.context() as broken:
        broken.setattr(PublicationFiles, "read", damaged)
        for _ in range(4):
            shown(streams)
    assert [one.getMessage() for one in caplog.records] == [
        "pages: not loaded: publication: expected releases, got none"
    ]
    host.close()


def test_feeds_end_with_the_process(service: Service) -> None:
    host, streams = service.host(settings()), readers(service)
    run(service, host, slices=1, events=lambda _: ITEMS)
    service.clock.now += 3.0

    async def read() -> list[bytes]:
        await streams.look()
        following = asyncio.create_task(streams.follow())
        events = events_of(streams.streams["pages"], after=-1)
        asyncio.get_running_loop().call_later(0.1, streams.end_soon)
        found = [event async for event in events]
        following.cancel()
        return found

    assert len(asyncio.run(asyncio.wait_for(read(), 20))) == 2
    host.close()


def test_a_reader_who_leaves_is_no_failure(service: Service) -> None:
    host, streams = service.host(settings()), readers(service)
    application = reading_application(streams)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/healthz",
        "query_string": b"",
        "headers": [],
    }

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    async def send(_: object) -> None:
        raise ClientDisconnect

    asyncio.run(application(scope, receive, send))
    host.close()


def test_more_windows_than_are_kept_is_the_question_for_all(service: Service) -> None:
    """Else each number would be an answer of its own, computed and kept."""
    host, streams = service.host(settings()), readers(service)
    run(service, host, slices=15, events=lambda _: ITEMS)
    service.clock.now += 3.0
    shown(streams)
    client, answers = TestClient(reading_application(streams)), streams.streams["pages"].answers
    assert answers is not None
    for path in ("top?n=3", "estimate?item=a", "release?level=0"):
        every = client.get(f"{ROOT}/{path}")
        kept = len(answers._made)
        for last in (2, 3, 99, 65_536):
            other = client.get(f"{ROOT}/{path}&last={last}")
            assert (other.content, other.headers["etag"]) == (every.content, every.headers["etag"])
        assert len(answers._made) == kept
        assert client.get(f"{ROOT}/{path}&last=1").content != every.content
    host.close()


def test_the_room_for_answers_counts_questions_and_compressed_bytes(service: Service) -> None:
    host, streams = service.host(settings()), readers(service)
    run(service, host, slices=8, events=lambda _: ITEMS)
    service.clock.now += 3.0
    shown(streams)
    answers = streams.streams["pages"].answers
    assert answers is not None
    asked = ("estimate", "x" * 5_000)
    answers.json(asked, lambda: ["y" * 2_000])
    compressed = answers._made[asked].compressed
    assert compressed is not None
    assert answers._bytes > 5_000 + 2_000 + len(compressed)
    answers.json(("large",), lambda: "")  # asked by every page: kept apart
    answers.json(("huge", 1), lambda: "z" * (33 << 20))
    assert answers._bytes == 0
    assert not answers._made
    host.close()
