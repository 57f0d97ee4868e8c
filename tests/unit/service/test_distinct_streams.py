"""Streams that count distinct items: the number so far at every tick, and over restarts."""

from __future__ import annotations

import json
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import arrow_of, client, publication, send, signed
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ReleaseFormatError
from lazysketch.service.following import FollowedFile, FollowedPositions
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.publication import Publication
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens

ROOT = "/v1/streams/people"
PEOPLE = StreamSettings(
    name="people",
    title="Visitors",
    kind="distinct",
    every="1min",
    slices=6,
    keep=3,
    epsilon=8.0,
    delta=1e-6,
    item="user",
)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def visit(service: Service, host: Host, *, slices: int, since: int = 0) -> None:
    """Let slices pass in which 1,000 people come, half of them again in the next slice."""
    for number in range(since, since + slices):
        send(host, range(500 * number, 500 * number + 1_000))
        service.clock.now += 10.0
        assert host.publish("people")


def test_readers_see_the_number_so_far_and_its_course(service: Service) -> None:
    host = service.host(PEOPLE, settings())
    visit(service, host, slices=15)
    found = client(service)
    overview = found.get(f"{ROOT}/overview").json()
    assert overview["facts"]["kind"] == "distinct"
    assert overview["facts"]["unit"].startswith("one item")
    states = [(one["ended"], one["whole"]) for one in overview["facts"]["windows"]]
    assert states == [(True, True), (True, True), (False, False)]
    for number, people in zip(overview["course"], (3_500, 6_500, 8_000), strict=True):
        # 8 % is above 10 standard errors of noise and sampling.
        assert number["low"] <= number["estimate"] <= number["high"]
        assert number["estimate"] == pytest.approx(people, rel=0.08)
    assert overview["total"] == overview["course"][-1]
    release = publication(host).windows[-1].contents[0]
    interval = ls.DistinctRelease.from_bytes(release).interval()
    assert overview["total"]["low"] == round(interval.low, 1)
    alone = found.get(f"{ROOT}/distinct").json()
    assert alone["course"] == overview["course"]
    assert (
        f'bound="high",stream="people"}} {overview["total"]["high"]}' in found.get("/metrics").text
    )
    host.close()


def test_releases_of_windows_are_those_of_their_ends(service: Service) -> None:
    host = service.host(PEOPLE)
    visit(service, host, slices=12)
    found = client(service)
    windows = found.get(ROOT).json()["windows"]
    steps = []
    for one in windows:
        content = found.get(f"{ROOT}/windows/{one['number']}").content
        steps.append(ls.DistinctRelease.from_bytes(content).step)
    assert steps == [6, 12]
    last = found.get(f"{ROOT}/release").content
    assert ls.DistinctRelease.from_bytes(last).step == 12  # numbers so far do not add up
    host.close()


@pytest.mark.parametrize(
    "path", ["top", "hierarchy", "estimate?item=a", "course?item=a", "changes"]
)
def test_what_is_asked_of_items_is_not_found(service: Service, path: str) -> None:
    host = service.host(PEOPLE)
    visit(service, host, slices=1)
    answer = client(service).get(f"{ROOT}/{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["expected"] == "one of frequent items"
    host.close()


def test_streams_of_items_have_no_number_of_distinct_items(service: Service) -> None:
    host = service.host(settings())
    service.clock.now += 10.0
    host.publish("pages")
    answer = client(service).get("/v1/streams/pages/distinct")
    assert answer.status_code == 404
    manifest = json.loads((host.files.read_signed("pages") or signed(host)).manifest)
    assert "kind" not in manifest  # as before there were kinds
    host.close()


def test_the_next_life_publishes_the_same_bytes(service: Service, tmp_path: Path) -> None:
    """With the restart of one, a service and another one of the same key have equal releases."""
    host = service.host(PEOPLE)
    visit(service, host, slices=8)
    send(host, ["of the open slice"] * 3, 1)
    before = signed(host).manifest
    host.close()
    host = service.host(PEOPLE)
    assert signed(host).manifest == before
    assert not host.publish("people")  # the tick was published before
    found = host.stream("people").publication(ready=lambda: host.now())
    assert (
        found.manifest()
        == json.dumps(
            {**json.loads(before), "publish_at": json.loads(found.manifest())["publish_at"]},
            separators=(",", ":"),
            sort_keys=True,
        ).encode()
    )
    assert not send(host, ["of the open slice"] * 3, 1)  # counted before the crash
    visit(service, host, slices=4, since=8)
    states = [(one.window.ended, one.window.release.step) for one in publication(host).windows]
    assert states == [(True, 6), (True, 12)]
    host.close()


def test_a_window_whose_end_was_not_published_is_left_out(service: Service) -> None:
    host = service.host(PEOPLE)
    visit(service, host, slices=7)
    host.close()
    service.clock.now += 75.0  # over the end of the second window, into the third
    host = service.host(PEOPLE)
    assert host.publish("people")
    found = publication(host).windows
    first = found[0].window.number
    assert [one.window.number - first for one in found] == [0, 2]
    assert found[-1].window.release.step == 14
    host.close()


@pytest.mark.parametrize("late", [(), ("somebody",)])
def test_the_end_is_published_at_the_next_tick_whatever_came(
    service: Service, late: tuple[str, ...]
) -> None:
    host = service.host(PEOPLE)
    visit(service, host, slices=8)
    service.clock.now += 4.0
    if late:
        send(host, late)
    host.finish("people")
    assert not publication(host).finished
    assert not host.publish("people")
    service.clock.now += 6.0
    assert host.publish("people")
    found = publication(host)
    assert (found.finished, found.windows[-1].window.release.step) == (True, 9)
    assert found.windows[-1].window.ended
    assert not found.windows[-1].window.whole
    service.clock.now += 30.0
    assert not host.publish("people")  # the last publication
    host.close()
    host = service.host(PEOPLE)
    assert host.stream("people").counts.finished
    host.close()


def test_events_change_the_noisy_counts_alone(service: Service, tmp_path: Path) -> None:
    """Ticks, steps, sizes and all facts are those of a stream without events."""
    seen = []
    for name, people in (("full", list(range(700))), ("empty", [])):
        one = Service(tmp_path / name)
        host = one.host(PEOPLE)
        for _ in range(9):
            if people:
                send(host, people)
            one.clock.now += 10.0
            host.publish("people")
        content = json.loads(signed(host).manifest)
        for window in content["windows"]:
            window["releases"] = len(window["releases"])
        sizes = [len(part.contents[0]) for part in publication(host).windows]
        steps = [part.window.release.step for part in publication(host).windows]
        seen.append((content, sizes, steps))
        host.close()
    assert seen[0] == seen[1]


def test_a_batch_is_shown_once_its_slice_has_ended(service: Service) -> None:
    host = service.host(PEOPLE)
    service.clock.now += 10.0
    host.publish("people")
    send(host, range(5_000))
    assert host.stream("people").counts.release().interval().high < 2_000  # type: ignore[union-attr]
    service.clock.now += 10.0
    assert host.stream("people").counts.release().interval().low > 4_000  # type: ignore[union-attr]
    host.close()


def test_all_forms_of_events_count_the_same_people(service: Service) -> None:
    """Each form has the same 2,000 people; what is malformed is refused alone."""
    host = service.host(PEOPLE)
    names = [f"visitor {number}" for number in range(2_000)]
    rows = [{"user": name} for name in names]
    bodies = {
        "text/plain": "\n".join([*names, ""]).encode(),
        "application/x-ndjson": "\n".join([*map(json.dumps, rows), "{", ""]).encode(),
        "application/json": json.dumps([*rows, {"other": 1}]).encode(),
        "application/vnd.apache.arrow.stream": arrow_of("user", names),
    }
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as client:
        for form, body in bodies.items():
            answer = client.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            refused = answer.json()["refused"]
            json_form = "json" in form
            assert refused == [{"position": 2_000, "code": "malformed"}] * json_form
    service.clock.now += 10.0
    count: Any = host.stream("people").counts
    assert count.steps == 1
    found = count.release().interval(confidence=1 - 1e-9)
    assert found.low <= 2_000 <= found.high < 3_000
    host.close()


def test_rows_of_a_followed_file_are_events(service: Service, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"user": "a"}\n{\n' + "".join(f'{{"user": {n}}}\n' for n in range(2_000)))
    settings_ = replace(PEOPLE, follow=str(log), format="jsonl")
    host = service.host(settings_)
    failures: list[BaseException] = []
    positions = FollowedPositions(host.store)
    stream = host.stream("people")
    with FollowedFile(stream, host.store, positions=positions, failed=failures.append):
        wait_until(lambda: any(host.store.last_sequence(one) for one in host.store.sources))
        wait_until(lambda: 2_002 in map(host.store.last_sequence, host.store.sources))
    assert not failures
    service.clock.now += 10.0
    count: Any = stream.counts
    assert count.steps == 1  # rows take no steps, malformed or not
    found = count.release().interval(confidence=1 - 1e-9)
    assert found.low <= 2_001 <= found.high < 3_000
    host.close()


def ends_after_a_batch(service: Service) -> None:
    host = service.host(PEOPLE)
    assert send(host, range(3_000), 1)
    os._exit(9)


def test_what_was_acknowledged_survives_the_end_of_the_process(service: Service) -> None:
    making = multiprocessing.get_context("fork").Process(target=ends_after_a_batch, args=(service,))
    making.start()
    making.join(60)
    assert making.exitcode == 9
    host = service.host(PEOPLE)
    assert not send(host, range(3_000), 1)  # repeated
    service.clock.now += 10.0
    count: Any = host.stream("people").counts
    found = count.release().interval(confidence=1 - 1e-9)
    assert count.steps == 1
    assert found.low <= 3_000 <= found.high < 4_000
    host.close()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kind": "medians"}, ArgumentValueError, "kind: expected one of items, distinct"),
        ({"kind": "distinct", "weight": "n"}, ArgumentTypeError, "weight: expected none for dist"),
        ({"kind": "distinct", "domain": ["a"]}, ArgumentTypeError, "domain: expected none"),
        ({"kind": "distinct", "levels": "url"}, ArgumentTypeError, "levels: expected none"),
        ({"kind": "distinct", "user": "who"}, ArgumentTypeError, "user: expected none"),
    ],
)
def test_settings_of_another_kind_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        StreamSettings.from_mapping("people", changes)


def test_another_kind_of_a_stream_is_refused(service: Service) -> None:
    service.host(PEOPLE).close()
    with pytest.raises(ArgumentValueError, match="the parameters that"):
        service.host(StreamSettings(name="people", every="1min", slices=6, keep=3))


def test_releases_of_another_kind_are_damaged_publications(service: Service) -> None:
    host = service.host(PEOPLE)
    visit(service, host, slices=1)
    found = publication(host)
    releases = {one.digests[0]: one.contents[0] for one in found.windows}
    content = json.loads(found.manifest())
    for kind, message in (("items", "of its kind"), ("medians", "a kind of stream")):
        with pytest.raises(ReleaseFormatError, match=message):
            Publication.from_manifest(json.dumps({**content, "kind": kind}).encode(), releases)
    host.close()
