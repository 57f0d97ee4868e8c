"""Streams of sums by item: sums, counts and means at every tick, and over restarts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import client, publication, signed
from tests.unit.service.test_charging import Charged
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError
from lazysketch.service.following import FollowedFile, FollowedPositions
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.ingest.messages import parts_of
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens

NAME = "spent"
ROOT = f"/v1/streams/{NAME}"
SHOPS = ("north", "south", "west", "east")
SPENT = StreamSettings(
    name=NAME,
    title="Spent by shop",
    kind="sums",
    every="1min",
    slices=6,
    keep=3,
    share=None,
    domain=SHOPS,
    low=0,
    high=100,
    horizon=20,
    width=64,
    epsilon=8.0,
    delta=1e-6,
    item="shop",
    value="price",
)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def spend(host: Host, shops: list[str], prices: list[float], number: int = 0) -> bool:
    sources = {"sender": number} if number else {}
    return host.store.ingest_several(
        sources, shops, into=host.stream(NAME).counts, weights=prices, durable=True
    )


def shop(service: Service, host: Host, *, slices: int, since: int = 0) -> None:
    """Let slices pass with 300 sales of 20 in the north, 100 of 30 in the south, 100 of 5."""
    for _ in range(since, since + slices):
        shops = ["north"] * 300 + ["south"] * 100 + ["west"] * 100
        spend(host, shops, [20.0] * 300 + [30.0] * 100 + [5.0] * 100)
        service.clock.now += 10.0
        assert host.publish(NAME)


def is_near(interval: dict[str, float], truth: float) -> bool:
    """Tell if a truth is in an interval of three times the length.

    One of 95 % itself may miss, which tests of coverage judge. Nine of three times the length miss
    less than once in 10^7 runs.
    """
    length = interval["high"] - interval["low"]
    return interval["low"] - length <= truth <= interval["high"] + length


def test_readers_see_sums_counts_and_means(service: Service) -> None:
    host = service.host(SPENT, settings())
    shop(service, host, slices=13)
    found = client(service)
    overview = found.get(f"{ROOT}/overview").json()
    assert (overview["facts"]["kind"], overview["total"]) == ("sums", None)
    rows = overview["sums"]
    assert [row["item"] for row in rows[:3]] == ["north", "south", "west"]
    for row, total, number, mean in zip(
        rows, (78_000, 39_000, 6_500), (3_900, 1_300, 1_300), (20, 30, 5), strict=False
    ):
        for shown, truth in ((row["sum"], total), (row["count"], number), (row["mean"], mean)):
            assert is_near(shown, truth)
    course = overview["courses"][0]
    for value, truth in zip(course, (36_000, 72_000, 78_000), strict=True):
        assert value["estimate"] == pytest.approx(truth, rel=0.1)
    release = ls.SumsRelease.from_bytes(publication(host, NAME).windows[-1].contents[0])
    asked = found.get(f"{ROOT}/sums?item=south&item=nowhere").json()["sums"]
    assert asked[0]["sum"]["estimate"] == pytest.approx(release.sum("south").estimate, rel=1e-8)
    assert asked[1]["item"] == "nowhere"
    assert found.get(f"{ROOT}/sums").json()["sums"] == rows
    assert len(found.get(f"{ROOT}/sums?n=2").json()["sums"]) == 2
    metrics = found.get("/metrics").text
    for kind in ("sum", "mean"):
        value = rows[0][kind]["low"]
        assert (
            f'public_{kind}{{bound="low",item="north",stream="{NAME}"}} {float(value)}' in metrics
        )
    host.close()


@pytest.mark.parametrize(
    "query", ["n=0", "n=10001", "n=1&item=a", "type=int", "item=a&type=int", "last=1", "item="]
)
def test_what_is_no_question_is_refused_or_an_item(service: Service, query: str) -> None:
    host = service.host(SPENT)
    shop(service, host, slices=1)
    answer = client(service).get(f"{ROOT}/sums?{query}")
    assert answer.status_code == (200 if query == "item=" else 400)
    host.close()


def test_a_stream_answers_the_questions_of_its_kind_alone(service: Service) -> None:
    host = service.host(SPENT, settings())
    shop(service, host, slices=1)
    host.publish("pages")
    found = client(service)
    for path in ("top", "distinct", "quantiles", "ranges", "estimate?item=a"):
        assert found.get(f"{ROOT}/{path}").status_code == 404
    assert found.get("/v1/streams/pages/sums").status_code == 404
    host.close()


def test_all_forms_of_events_count_the_same_values(service: Service) -> None:
    host = service.host(SPENT)
    rows: list[dict[str, Any]] = [{"shop": "east", "price": n / 10} for n in range(500)]
    wrong: list[dict[str, Any]] = [{"shop": "east"}, {"shop": "east", "price": "much"}]
    table = pa.table(
        {
            "shop": [row["shop"] for row in (*rows, *wrong)],
            "price": [*(row["price"] for row in rows), None, float("nan")],
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    empty = pa.BufferOutputStream()
    pa.ipc.new_stream(empty, table.schema).close()
    arrow = "application/vnd.apache.arrow.stream"
    bodies = {
        "application/x-ndjson": "\n".join(map(json.dumps, [*rows, *wrong])).encode(),
        "application/json": json.dumps([*rows, *wrong]).encode(),
        arrow: sink.getvalue().to_pybytes(),
    }
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as sender:
        for form, body in bodies.items():
            answer = sender.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            assert answer.json()["refused"] == [
                {"position": position, "code": "malformed"} for position in (500, 501)
            ]
        nothing = {arrow: empty.getvalue().to_pybytes(), "application/x-ndjson": b""}
        for form, body in nothing.items():
            answer = sender.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            assert (answer.status_code, answer.json()["events"]) == (200, 0)
        text = {"Content-Type": "text/plain"}
        assert sender.post(f"{ROOT}/events", content=b"east\n", headers=text).status_code == 415
    service.clock.now += 10.0
    count: Any = host.stream(NAME).counts
    release = count.release()
    assert release.step == 1
    assert 3 * 12_475 in release.sum("east", confidence=1 - 1e-9)
    assert 1_500 in release.count("east", confidence=1 - 1e-9)
    host.close()


def test_messages_have_values_too(service: Service) -> None:
    host = service.host(SPENT)
    values = [b'{"shop": "east", "price": 1.5}', b"{", None]
    (part,) = parts_of(values, host.stream(NAME).settings)
    assert part.events.weights.tolist() == [1.5]
    for settings_ in (SPENT, replace(SPENT, format="arrow")):
        for part in parts_of([None, b"none"], settings_):
            assert host.store.ingest_several(
                {}, part.events.items, into=host.stream(NAME).counts, weights=part.events.weights
            )
    host.close()


def test_rows_of_a_followed_file_have_values(service: Service, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"shop": "east", "price": 2}\n' * 2_000 + '{"shop": "east"}\n')
    host = service.host(replace(SPENT, follow=str(log), format="jsonl"))
    failures: list[BaseException] = []
    positions = FollowedPositions(host.store)
    stream = host.stream(NAME)
    with FollowedFile(stream, host.store, positions=positions, failed=failures.append):
        wait_until(lambda: 2_001 in map(host.store.last_sequence, host.store.sources))
    assert not failures
    service.clock.now += 10.0
    count: Any = stream.counts
    assert 4_000 in count.release().sum("east", confidence=1 - 1e-9)
    host.close()


def test_the_next_life_publishes_the_same_bytes(service: Service) -> None:
    host = service.host(SPENT)
    shop(service, host, slices=8)
    spend(host, ["east"], [3.0], 1)
    before = publication(host, NAME)
    host.close()
    host = service.host(SPENT)
    assert not host.publish(NAME)
    found = host.stream(NAME).publication(ready=host.now)
    assert [one.described() for one in found.windows] == [one.described() for one in before.windows]
    assert not spend(host, ["east"], [3.0], 1)  # counted before
    host.close()


def test_events_change_the_noisy_cells_alone(tmp_path: Path) -> None:
    seen = []
    for name, number in (("full", 700), ("empty", 0)):
        one = Service(tmp_path / name)
        host = one.host(SPENT)
        for _ in range(7):
            if number:
                spend(host, ["east"] * number, np.linspace(0, 99, number).tolist())
            one.clock.now += 10.0
            host.publish(NAME)
        content = json.loads(signed(host, NAME).manifest)
        for window in content["windows"]:
            window["releases"] = len(window["releases"])
        windows = publication(host, NAME).windows
        sizes = [(len(part.contents[0]), part.window.release.step) for part in windows]
        seen.append((content, sizes))
        host.close()
    assert seen[0] == seen[1]


@pytest.mark.parametrize("late", [0.0, 9.0, 75.0])
def test_the_stream_ends_by_itself_after_its_last_slice(service: Service, late: float) -> None:
    """What comes after its end is refused, whenever it comes, and changes nothing."""
    host = service.host(SPENT)
    shop(service, host, slices=19)
    spend(host, ["east"], [50.0])
    service.clock.now += 10.0 + late
    with pytest.raises(ClosedError):
        spend(host, ["east"], [50.0])
    assert host.publish(NAME)
    found = publication(host, NAME)
    last = found.windows[-1].window
    assert (found.finished, last.release.step, last.ended, last.whole) == (True, 20, True, False)
    service.clock.now += 60.0
    assert not host.publish(NAME)
    host.close()
    host = service.host(SPENT)
    assert host.stream(NAME).counts.finished
    assert not host.publish(NAME)
    host.close()


def test_both_tables_are_charged(tmp_path: Path) -> None:
    service = Charged(tmp_path)
    service.create(epsilon=9.0, delta=1e-4)
    host = service.charged_host(SPENT)
    ((note, epsilon, is_open),) = service.runs()
    assert (NAME in note, is_open) == (True, True)
    assert epsilon == pytest.approx(8.0, rel=1e-3)
    host.close()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"value": None}, ArgumentTypeError, "value: expected the field"),
        ({"domain": None}, ArgumentTypeError, "domain: expected the public list"),
        ({"horizon": None}, ArgumentTypeError, "horizon: expected the number"),
        ({"low": None}, ArgumentTypeError, "low: expected the lowest"),
        ({"high": -1}, ArgumentValueError, "high: expected"),
        ({"step": 7}, ArgumentValueError, "step: expected"),
        ({"per_person": 2}, ArgumentTypeError, "per_person: expected none for sums"),
        ({"bits": 3}, ArgumentTypeError, "bits: expected none for sums"),
        ({"kafka": "a:1", "topics": ["t"], "format": "lines"}, ArgumentTypeError, "format: exp"),
    ],
)
def test_wrong_settings_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    given = {
        "kind": "sums",
        "value": "price",
        "domain": list(SHOPS),
        "low": 0,
        "high": 10,
        "horizon": 90,
    }
    with pytest.raises(error, match=message):
        _ = StreamSettings.from_mapping(NAME, {**given, **changes}).privacy
