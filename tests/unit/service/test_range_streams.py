"""Streams of ranges: counts of networks and other ranges of keys at every tick, over restarts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import (
    arrow_of,
    arrow_of_columns,
    client,
    publication,
    send,
    signed,
)
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.service.following import FollowedFile, FollowedPositions
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.ingest.fitting import applied
from lazysketch.service.ingest.messages import parts_of
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens
from lazysketch.specification.table_spec import TableSpec

NAME = "clients"
ROOT = f"/v1/streams/{NAME}"
TEN = 10 << 24  # 10.0.0.0
CLIENTS = StreamSettings(
    name=NAME,
    title="Clients",
    kind="ranges",
    every="1min",
    slices=6,
    keep=3,
    width=256,
    epsilon=8.0,
    delta=1e-6,
    item="address",
)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def visit(service: Service, host: Host, *, slices: int, since: int = 0) -> None:
    """Let slices pass with 1,000 addresses of 10.0.0.0/8 each, and 500 of 192.0.0.0/8."""
    for number in range(since, since + slices):
        keys = [TEN + 97 * place for place in range(1_000)]
        send(host, np.array(keys + [(192 << 24) + place for place in range(500)]), name=NAME)
        service.clock.now += 10.0
        assert host.publish(NAME), number


def test_readers_see_the_parts_of_all_keys(service: Service) -> None:
    host = service.host(CLIENTS, settings())
    visit(service, host, slices=13)
    found = client(service)
    overview = found.get(f"{ROOT}/overview").json()
    assert (overview["facts"]["kind"], overview["bits"]) == ("ranges", 32)
    assert [one["ended"] for one in overview["facts"]["windows"]] == [True, True, False]
    parts = {row["range"]: row for row in overview["parts"]}
    assert len(parts) == 16
    assert parts["0.0.0.0/4"]["estimate"] == pytest.approx(13_000, abs=600)
    assert parts["192.0.0.0/4"]["estimate"] == pytest.approx(6_500, abs=600)
    for total, truth in zip(overview["course"], (9_000, 18_000, 19_500), strict=True):
        assert total["estimate"] == pytest.approx(truth, abs=300)
    assert overview["total"] == overview["course"][-1]
    asked = found.get(f"{ROOT}/ranges?range=10.0.0.0/8,0-{TEN},10.0.0.97").json()["ranges"]
    release = ls.RangesRelease.from_bytes(publication(host, NAME).windows[-1].contents[0])
    true = release.prefix("10.0.0.0/8")
    assert asked[0]["estimate"] == round(true.estimate, 1)
    assert [one["range"] for one in asked] == ["10.0.0.0/8", f"0-{TEN}", "10.0.0.97"]
    assert found.get(f"{ROOT}/ranges").json()["ranges"] == overview["parts"]
    line = f'range="192.0.0.0/4",stream="{NAME}"}} {parts["192.0.0.0/4"]["estimate"]}'
    assert line in found.get("/metrics").text
    host.close()


WEIGHTED = replace(CLIENTS, weight="bytes", max_weight=1_500, horizon=1_000)


def test_weights_of_keys_are_added_up(service: Service) -> None:
    """Those of every form of events, clipped; an event whose weight is none is malformed."""
    host = service.host(WEIGHTED)
    rows = [{"address": TEN + place, "bytes": 100 * (place % 20)} for place in range(2_000)]
    true = sum(min(row["bytes"], 1_500) for row in rows)
    # Their weights are none of others: the rows after them keep their own.
    unfit: list[dict[str, Any]] = [{"address": "10.0.0.256", "bytes": 1_500}] * 600
    wrong: list[dict[str, Any]] = [{"address": 1}, {"address": 1, "bytes": -1}]
    wrong += [{"address": 1, "bytes": "much"}]
    table = {name: [row[name] for row in rows] for name in ("address", "bytes")}
    bodies = {
        "application/x-ndjson": "\n".join([*map(json.dumps, [*unfit, *rows, *wrong]), ""]).encode(),
        "application/json": json.dumps([*unfit, *rows, *wrong]).encode(),
        "application/vnd.apache.arrow.stream": arrow_of_columns(table),
    }
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as sender:
        for form, body in bodies.items():
            answer = sender.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            refused = [] if "arrow" in form else [*range(600), 2_600, 2_601, 2_602]
            assert [one["position"] for one in answer.json()["refused"]] == refused[:100]
    service.clock.now += 10.0
    assert host.publish(NAME)
    release = ls.RangesRelease.from_bytes(publication(host, NAME).windows[-1].contents[0])
    assert release.parts[0].privacy.max_weight == 1_500
    found = release.prefix("10.0.0.0/8", confidence=1 - 1e-9)
    assert found.low <= 3 * true <= found.high < 3.2 * true
    assert abs(found.estimate - 3 * true) < 0.1 * true  # more than nine deviations
    overview = client(service).get(f"{ROOT}/overview").json()
    assert overview["max_weight"] == 1_500
    host.close()


def test_weights_end_with_their_last_slice(service: Service) -> None:
    """And go on over a restart, with the bytes that were published."""
    settings_of = replace(WEIGHTED, horizon=4)
    host = service.host(settings_of)
    for number in range(6):
        if number == 2:
            before = publication(host, NAME)
            host.close()
            host = service.host(settings_of)
            found = host.stream(NAME).publication(ready=host.now)
            assert [one.described() for one in found.windows] == [
                one.described() for one in before.windows
            ]
        if number < 4:
            weights = np.full(1_000, 900, dtype=np.uint64)
            host.store.ingest_several(
                {}, [TEN] * 1_000, into=host.stream(NAME).counts, weights=weights, durable=True
            )
        service.clock.now += 10.0
        host.publish(NAME)
    last = publication(host, NAME)
    assert last.finished
    release = ls.RangesRelease.from_bytes(last.windows[-1].contents[0])
    true = 4 * 1_000 * 900
    found_in_all = release.total(confidence=1 - 1e-9)
    assert found_in_all.low <= true <= found_in_all.high < 1.1 * true
    host.close()


def test_the_noise_is_that_of_the_largest_weight() -> None:
    """And of 1 where no field has the weight."""
    light, heavy = replace(CLIENTS, horizon=1_000).statistic, WEIGHTED.statistic
    assert isinstance(light, TableSpec)
    assert isinstance(heavy, TableSpec)
    assert heavy.sigma >= 1_500 * light.sigma > 0
    assert replace(WEIGHTED, weight=None).statistic == light
    assert replace(WEIGHTED, max_weight=9).changed_since(WEIGHTED) == "max_weight"


@pytest.mark.parametrize(
    "asked",
    ["", "a", "10.0.0.0/33", "10.0.0.1/8", "256.0.0.0", "3-2", "0-4294967297", "1-2,", "-1-2",
     "0-1&range=2-3", ",".join(["0-1"] * 21)],
)  # fmt: skip
def test_what_is_no_range_is_refused(service: Service, asked: str) -> None:
    host = service.host(CLIENTS, replace(CLIENTS, name="ports", bits=16))
    visit(service, host, slices=1)
    host.publish("ports")
    found = client(service)
    answer = found.get(f"{ROOT}/ranges?range={asked}")
    assert (answer.status_code, answer.json()["error"]["argument"]) == (400, "range")
    assert found.get("/v1/streams/ports/ranges?range=10.0.0.0/8").status_code == 400
    assert found.get("/v1/streams/ports/ranges?range=0-65536").status_code == 200
    assert found.get("/v1/streams/ports/overview").json()["parts"][1]["range"] == "4096-8192"
    host.close()


def test_a_stream_answers_the_questions_of_its_kind_alone(service: Service) -> None:
    host = service.host(CLIENTS, settings())
    visit(service, host, slices=1)
    host.publish("pages")
    found = client(service)
    for path in ("top", "distinct", "quantiles", "histogram", "cdf?below=1"):
        assert found.get(f"{ROOT}/{path}").status_code == 404
    assert found.get("/v1/streams/pages/ranges").status_code == 404
    host.close()


def test_all_forms_of_events_count_the_same_keys(service: Service) -> None:
    """Addresses, their numbers and the digits of these are one key; what is none is refused."""
    host = service.host(CLIENTS)
    texts = [f"10.0.{number // 250}.{number % 250}" for number in range(2_000)]
    keys = [TEN + 256 * (number // 250) + number % 250 for number in range(2_000)]
    wrong = ["10.0.0.256", "-1", str(2**32), "10.0.0"]
    rows = [{"address": one} for one in (*keys, *wrong[:2], 2**32, -1)]
    bodies = {
        "text/plain": "\n".join([*texts, *wrong, ""]).encode(),
        "application/x-ndjson": "\n".join([*map(json.dumps, rows), ""]).encode(),
        "application/json": json.dumps([{"address": one} for one in (*texts, *wrong)]).encode(),
        "application/vnd.apache.arrow.stream": arrow_of("address", [*keys, -1, 2**32, -2, 2**40]),
    }
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as sender:
        for form, body in bodies.items():
            answer = sender.post(f"{ROOT}/events", content=body, headers={"Content-Type": form})
            assert answer.json()["refused"] == [
                {"position": 2_000 + place, "code": "malformed"} for place in range(4)
            ]
    service.clock.now += 10.0
    count: Any = host.stream(NAME).counts
    assert count.steps == 1
    found = count.release().prefix("10.0.0.0/8", confidence=1 - 1e-9)
    assert found.low <= 8_000 <= found.high < 9_000
    host.close()


def test_messages_have_the_same_keys(service: Service) -> None:
    host = service.host(replace(CLIENTS, bits=16))
    stream = host.stream(NAME)
    values = [b'{"address": 7}\n{"address": 70000}', b'{"address": "80"}']
    (part,) = parts_of(values, stream.settings)

    taken: list[list[int]] = []

    def apply(events: Any) -> bool:
        taken.append(events.items.tolist())
        return True

    events, is_new = applied(part.events, stream.settings, apply)
    assert (taken, is_new) == ([[7, 80]], True)
    assert part.unreadable(events.judged) == [0]
    host.close()


def test_rows_of_a_followed_file_are_keys(service: Service, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = [f"10.0.{number // 250}.{number % 250}" for number in range(2_000)]
    log.write_text("\n".join([*lines, "unknown", ""]))
    host = service.host(replace(CLIENTS, follow=str(log), format="lines"))
    failures: list[BaseException] = []
    positions = FollowedPositions(host.store)
    stream = host.stream(NAME)
    with FollowedFile(stream, host.store, positions=positions, failed=failures.append):
        wait_until(lambda: 2_001 in map(host.store.last_sequence, host.store.sources))
    assert not failures
    service.clock.now += 10.0
    count: Any = stream.counts
    assert count.steps == 1
    found = count.release().total(confidence=1 - 1e-9)
    assert found.low <= 2_000 <= found.high < 2_500
    host.close()


def test_the_next_life_publishes_the_same_bytes(service: Service) -> None:
    host = service.host(CLIENTS)
    visit(service, host, slices=8)
    send(host, [1, 2], 1, name=NAME)
    before = publication(host, NAME)
    host.close()
    host = service.host(CLIENTS)
    assert not host.publish(NAME)
    found = host.stream(NAME).publication(ready=host.now)
    assert [one.described() for one in found.windows] == [one.described() for one in before.windows]
    assert not send(host, [1, 2], 1, name=NAME)  # counted before
    host.close()


def test_events_change_the_noisy_cells_alone(tmp_path: Path) -> None:
    seen = []
    for name, keys in (("full", list(range(700))), ("empty", [])):
        one = Service(tmp_path / name)
        host = one.host(CLIENTS)
        for _ in range(7):
            if keys:
                send(host, keys, name=NAME)
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


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"bits": 0}, ArgumentValueError, "bits: expected"),
        ({"bits": 65}, ArgumentValueError, "bits: expected"),
        ({"width": 1}, ArgumentValueError, "width: expected"),
        ({"depth": 3}, ArgumentTypeError, "depth: expected none for ranges of keys"),
        ({"kind": "values", "low": 0, "high": 1, "bits": 3}, ArgumentTypeError, "bits: expected"),
        ({"weight": "bytes", "max_weight": 9}, ArgumentTypeError, "horizon: expected the number"),
        (
            {"weight": "bytes", "max_weight": 2**16, "horizon": 2**14},
            ArgumentValueError,
            "max_weight: expected horizon",
        ),
        (
            {"weight": "bytes", "max_weight": 0, "horizon": 9},
            ArgumentValueError,
            "max_weight: expected",
        ),
        ({"kind": "distinct", "weight": "n"}, ArgumentTypeError, "weight: expected none for dist"),
        ({"kind": "distinct", "width": 64}, ArgumentTypeError, "width: expected none for dist"),
        ({"kind": "items", "bits": 8}, ArgumentTypeError, "bits: expected none for frequent"),
    ],
)
def test_wrong_settings_are_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _ = StreamSettings.from_mapping(NAME, {"kind": "ranges", **changes}).privacy
