"""Streams of values: quantiles, a histogram and shares at every tick, and over restarts."""

from __future__ import annotations

import json
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import arrow_of, client, publication, send, signed
from tests.unit.service.test_charging import Charged
from tests.unit.sure_intervals import nearly_covers
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, CapError, ReleaseFormatError
from lazysketch.service.definitions import streams_to_open
from lazysketch.service.following import FollowedFile, FollowedPositions
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.publication import Publication
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens

NAME = "seconds"
ROOT = f"/v1/streams/{NAME}"
SECONDS = StreamSettings(
    name=NAME,
    title="Latency",
    kind="values",
    every="1min",
    slices=6,
    keep=3,
    low=0,
    high=100,
    bins=102,
    epsilon=8.0,
    delta=1e-6,
    item="took",
)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def wait(service: Service, host: Host, *, slices: int, since: int = 0) -> None:
    """Let slices pass with 1,000 values each, of 0 to 50 and from the sixth on of 50 to 100."""
    for number in range(since, since + slices):
        send(host, np.linspace(0, 50, 1_000, endpoint=False) + 50 * (number >= 6), name=NAME)
        service.clock.now += 10.0
        assert host.publish(NAME)


def test_readers_see_quantiles_and_their_course(service: Service) -> None:
    host = service.host(SECONDS, settings())
    wait(service, host, slices=15)
    found = client(service)
    overview = found.get(f"{ROOT}/overview").json()
    assert overview["facts"]["kind"] == "values"
    assert overview["facts"]["unit"].startswith("one event")
    states = [(one["ended"], one["whole"]) for one in overview["facts"]["windows"]]
    assert states == [(True, True), (True, True), (False, False)]
    median = overview["quantiles"][0]
    assert median["share"] == 0.5
    for value, truth in zip(median["course"], (25, 50, 58.3), strict=True):
        assert value["low"] <= value["estimate"] <= value["high"]
        assert value["estimate"] == pytest.approx(truth, abs=3)
    total = overview["total"]
    assert nearly_covers(total["low"], 15_000, total["high"])
    rows = overview["histogram"]
    assert (rows[0]["from"], rows[0]["to"], rows[-1]["from"], rows[-1]["to"]) == (
        None,
        0,
        100,
        None,
    )
    assert sum(row["bins"] for row in rows) == 102
    assert sum(row["estimate"] for row in rows) == pytest.approx(15_000, abs=300)
    host.close()


def test_answers_are_those_of_the_last_release(service: Service) -> None:
    host = service.host(SECONDS)
    wait(service, host, slices=7)
    found = client(service)
    release = ls.DistributionRelease.from_bytes(publication(host, NAME).windows[-1].contents[0])
    asked = found.get(f"{ROOT}/quantiles?q=0.25,0.999").json()["quantiles"]
    assert [one["share"] for one in asked] == [0.25, 0.999]
    for share, one in zip((0.25, 0.999), asked, strict=True):
        true = release.quantile(share)
        assert one["course"][-1]["estimate"] == pytest.approx(true.estimate, rel=1e-8)
    usual = found.get(f"{ROOT}/quantiles").json()["quantiles"]
    assert usual == found.get(f"{ROOT}/overview").json()["quantiles"]
    below = found.get(f"{ROOT}/cdf?below=10,60").json()["below"]
    for one in below:
        true = release.cdf(one["value"])
        assert one["low"] == pytest.approx(true.low, rel=1e-8)
        assert one["low"] <= one["estimate"] <= one["high"]
    rows = found.get(f"{ROOT}/histogram?rows=3").json()["rows"]
    assert [(row["from"], row["to"]) for row in rows] == [(None, 0), (0, 100), (100, None)]
    assert len(found.get(f"{ROOT}/histogram").json()["rows"]) == 40
    metrics = found.get("/metrics").text
    value = usual[1]["course"][-1]["low"]
    assert f'bound="low",quantile="0.9",stream="{NAME}"}} {value}' in metrics
    assert f'lazysketch_public_values{{bound="estimate",stream="{NAME}"}}' in metrics
    host.close()


@pytest.mark.parametrize(
    ("query", "argument"),
    [
        ("quantiles?q=0", "q"),
        ("quantiles?q=0.0", "q"),
        ("quantiles?q=1", "q"),
        ("quantiles?q=0.1234567", "q"),
        ("quantiles?q=0.5,", "q"),
        ("quantiles?q=0.5&q=0.6", "q"),
        ("quantiles?q=" + ",".join(["0.5"] * 21), "q"),
        ("quantiles?share=0.5", "parameters"),
        ("histogram?rows=2", "rows"),
        ("histogram?rows=501", "rows"),
        ("cdf", "below"),
        ("cdf?below=", "below"),
        ("cdf?below=nan", "below"),
        ("cdf?below=1e999", "below"),
        ("cdf?below=1%0A", "below"),
    ],
)
def test_what_is_no_question_is_refused(service: Service, query: str, argument: str) -> None:
    host = service.host(SECONDS)
    wait(service, host, slices=1)
    answer = client(service).get(f"{ROOT}/{query}")
    assert (answer.status_code, answer.json()["error"]["argument"]) == (400, argument)
    host.close()


def test_a_stream_answers_the_questions_of_its_kind_alone(service: Service) -> None:
    host = service.host(SECONDS, settings())
    wait(service, host, slices=1)
    host.publish("pages")
    found = client(service)
    for path in ("top", "hierarchy", "estimate?item=a", "course?item=a", "changes", "distinct"):
        assert found.get(f"{ROOT}/{path}").status_code == 404
    for path in ("quantiles", "histogram", "cdf?below=1"):
        answer = found.get(f"/v1/streams/pages/{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["expected"] == "one of values"
    host.close()


def test_a_value_is_shown_once_its_slice_has_ended(service: Service) -> None:
    """Whatever is read, and however often, between slices: nothing of the open one is in it."""
    host = service.host(SECONDS)
    wait(service, host, slices=2)
    before = signed(host, NAME).manifest
    counts: Any = host.stream(NAME).counts
    send(host, np.full(20_000, 99.0), name=NAME)
    service.clock.now += 9.0
    assert not host.publish(NAME)
    assert signed(host, NAME).manifest == before
    assert counts.release().total().high < 3_000
    shown = host.stream(NAME).publication(ready=host.now)
    assert shown.windows[-1].contents == publication(host, NAME).windows[-1].contents
    service.clock.now += 1.0
    assert host.publish(NAME)
    assert counts.release().total().low > 20_000
    host.close()


def test_the_next_life_publishes_the_same_bytes(service: Service) -> None:
    host = service.host(SECONDS)
    wait(service, host, slices=8)
    send(host, [1.0, 2.0], 1, name=NAME)
    before = publication(host, NAME)
    host.close()
    host = service.host(SECONDS)
    assert not host.publish(NAME)  # the tick was published before
    found = host.stream(NAME).publication(ready=host.now)
    assert [one.described() for one in found.windows] == [one.described() for one in before.windows]
    assert not send(host, [1.0, 2.0], 1, name=NAME)  # counted before
    wait(service, host, slices=4, since=8)
    states = [
        (one.window.ended, one.window.release.step) for one in publication(host, NAME).windows
    ]
    assert states == [(True, 6), (True, 12)]
    host.close()


def test_the_store_knows_the_stream_without_its_settings(service: Service) -> None:
    host = service.host(replace(SECONDS, low=None, high=None, bins=None, edges=(1, 2.5, 10)))
    host.close()
    host = service.host()
    (kept,) = streams_to_open(host.store, [], otherwise=settings())
    assert kept.edges == (1, 2.5, 10)
    host.close()


@pytest.mark.parametrize("late", [(), (99.0,)])
def test_the_end_is_published_at_the_next_tick_whatever_came(
    service: Service, late: tuple[float, ...]
) -> None:
    host = service.host(SECONDS)
    wait(service, host, slices=8)
    service.clock.now += 4.0
    if late:
        send(host, late, name=NAME)
    host.finish(NAME)
    assert not publication(host, NAME).finished
    service.clock.now += 6.0
    assert host.publish(NAME)
    found = publication(host, NAME)
    assert (found.finished, found.windows[-1].window.release.step) == (True, 9)
    host.close()


def test_events_change_the_noisy_sums_alone(tmp_path: Path) -> None:
    """Ticks, steps, sizes and all facts are those of a stream without events."""
    seen = []
    for name, values in (("full", list(range(700))), ("empty", [])):
        one = Service(tmp_path / name)
        host = one.host(SECONDS)
        for _ in range(9):
            if values:
                send(host, values, name=NAME)
            one.clock.now += 10.0
            host.publish(NAME)
        content = json.loads(signed(host, NAME).manifest)
        for window in content["windows"]:
            window["releases"] = len(window["releases"])
        windows = publication(host, NAME).windows
        seen.append(
            (content, [(len(part.contents[0]), part.window.release.step) for part in windows])
        )
        host.close()
    assert seen[0] == seen[1]


def test_all_forms_of_events_count_the_same_values(service: Service) -> None:
    """Each form has the same 2,000 values; what is no number is refused alone."""
    host = service.host(SECONDS)
    values = [number / 20 for number in range(2_000)]
    rows = [*({"took": value} for value in values), {"took": "none"}, {"took": True}]
    texts = [*map(str, values), "none", "nan"]
    bodies = {
        "text/plain": "\n".join([*texts, ""]).encode(),
        "application/x-ndjson": "\n".join([*map(json.dumps, rows), ""]).encode(),
        "application/json": json.dumps(rows).encode(),
        "application/vnd.apache.arrow.stream": arrow_of("took", [*values, None, float("nan")]),
    }
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as sender:
        for form, body in bodies.items():
            answer = sender.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            assert answer.json()["refused"] == [
                {"position": position, "code": "malformed"} for position in (2_000, 2_001)
            ]
        answer = sender.post(
            f"{ROOT}/events",
            content=arrow_of("took", ["a"]),
            headers={"Content-Type": "application/vnd.apache.arrow.stream"},
        )
        assert answer.status_code == 400
        assert "columns took: numbers" in answer.json()["error"]["expected"]
    service.clock.now += 10.0
    count: Any = host.stream(NAME).counts
    assert count.steps == 1
    found = count.release().total(confidence=1 - 1e-9)
    assert found.low <= 8_000 <= found.high < 8_500
    half = count.release().cdf(50.0, confidence=1 - 1e-9)
    assert half.low <= 0.5 <= half.high
    host.close()


def test_rows_of_a_followed_file_are_values(service: Service, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"took": 1.5}\n{\n' + "".join(f'{{"took": {n}}}\n' for n in range(2_000)))
    host = service.host(replace(SECONDS, follow=str(log), format="jsonl"))
    failures: list[BaseException] = []
    positions = FollowedPositions(host.store)
    stream = host.stream(NAME)
    with FollowedFile(stream, host.store, positions=positions, failed=failures.append):
        wait_until(lambda: 2_002 in map(host.store.last_sequence, host.store.sources))
    assert not failures
    service.clock.now += 10.0
    count: Any = stream.counts
    assert count.steps == 1  # rows take no steps, malformed or not
    found = count.release().total(confidence=1 - 1e-9)
    assert found.low <= 2_001 <= found.high < 2_500
    host.close()


def ends_after_a_batch(service: Service) -> None:
    host = service.host(SECONDS)
    assert send(host, range(3_000), 1, name=NAME)
    os._exit(9)


def test_what_was_acknowledged_survives_the_end_of_the_process(service: Service) -> None:
    making = multiprocessing.get_context("fork").Process(target=ends_after_a_batch, args=(service,))
    making.start()
    making.join(60)
    assert making.exitcode == 9
    host = service.host(SECONDS)
    assert not send(host, range(3_000), 1, name=NAME)  # repeated
    service.clock.now += 10.0
    count: Any = host.stream(NAME).counts
    found = count.release().total(confidence=1 - 1e-9)
    assert found.low <= 3_000 <= found.high < 3_500
    host.close()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({}, ArgumentTypeError, "low: expected the lowest value"),
        ({"low": 0}, ArgumentTypeError, "high: expected the highest value"),
        ({"low": 2, "high": 1}, ArgumentValueError, "high: expected"),
        ({"low": 0, "high": 1, "bins": 2}, ArgumentValueError, "bins: expected"),
        ({"low": 0, "high": 1, "scale": "log"}, ArgumentValueError, "low: expected"),
        ({"low": 1, "high": 2, "scale": "square"}, ArgumentValueError, "scale: expected one of"),
        ({"low": "a", "high": 2}, ArgumentTypeError, "low: expected"),
        ({"edges": [2, 1]}, ArgumentValueError, "edges: expected"),
        ({"edges": 3}, ArgumentTypeError, "edges: expected"),
        ({"edges": [1, 2], "low": 0}, ArgumentTypeError, "low: expected none with edges"),
        ({"edges": list(range(256))}, ArgumentValueError, "edges: expected at most 255"),
        (
            {"low": 0, "high": 1, "levels": "url"},
            ArgumentTypeError,
            "levels: expected none for val",
        ),
        ({"kind": "items", "low": 0}, ArgumentTypeError, "low: expected none for frequent items"),
        ({"kind": "distinct", "edges": [1]}, ArgumentTypeError, "edges: expected none for dist"),
    ],
)
def test_wrong_settings_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _ = StreamSettings.from_mapping(NAME, {"kind": "values", **changes}).privacy


def test_other_bins_of_a_stream_are_refused(service: Service) -> None:
    service.host(SECONDS).close()
    for changes in ({"high": 90}, {"scale": "log", "low": 1}):
        with pytest.raises(ArgumentValueError, match="the parameters that"):
            service.host(replace(SECONDS, **changes))


def test_the_stream_is_charged_before_it_is_made(tmp_path: Path) -> None:
    service = Charged(tmp_path)
    service.create(epsilon=9.0, delta=1e-4)
    host = service.charged_host(SECONDS)
    ((note, epsilon, is_open),) = service.runs()
    assert (NAME in note, epsilon, is_open) == (True, 8.0, True)
    with pytest.raises(CapError):
        host.open_streams([replace(SECONDS, name="more")])
    assert "more" not in host.store.names
    host.finish(NAME)
    assert not service.runs()[0][2]
    host.close()


def test_releases_of_another_kind_are_damaged_publications(service: Service) -> None:
    host = service.host(SECONDS)
    wait(service, host, slices=1)
    found = publication(host, NAME)
    releases = {one.digests[0]: one.contents[0] for one in found.windows}
    content = json.loads(found.manifest())
    for kind in ("items", "distinct"):
        with pytest.raises(ReleaseFormatError, match="of its kind"):
            Publication.from_manifest(json.dumps({**content, "kind": kind}).encode(), releases)
    host.close()
