"""Streams of values, of ranges and of sums with people: each is bounded, over restarts too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service
from tests.unit.service.statistic_streams import client, publication

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.person_bound import CountedEvents, PersonBound
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens

NAME = "shop"
ROOT = f"/v1/streams/{NAME}"
COMMON: dict[str, Any] = {
    "every": "1min",
    "slices": 6,
    "keep": 3,
    "epsilon": 8.0,
    "delta": 1e-6,
    "item": "thing",
    "user": "who",
}
KINDS: dict[str, dict[str, Any]] = {
    "values": {"low": 0, "high": 100, "bins": 12, "per_person": 3},
    "ranges": {"bits": 8, "width": 64, "per_person": 3},
    "sums": {
        "value": "price",
        "domain": ["5"],
        "low": 0,
        "high": 10,
        "step": 1,
        "horizon": 90,
        "cells": 1,
        "per_cell": 3,
    },
}
STATED = {
    "values": CountedEvents(events=3),
    "ranges": CountedEvents(events=3),
    "sums": PersonBound(events=3),
}


def made(kind: str, **changes: Any) -> StreamSettings:
    return StreamSettings.from_mapping(NAME, {"kind": kind, **COMMON, **KINDS[kind], **changes})


def sent(host: Host, kind: str) -> dict[str, Any]:
    """Send 30 events of each of 100 people, one event without a person, and one without an item."""
    thing: Any = "5" if kind == "sums" else 5
    event = {"thing": thing, "price": 4}
    rows = [{**event, "who": f"w{number % 100}"} for number in range(3_000)]
    rows += [event, {"price": 4, "who": "w1"}]
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    headers = {"Content-Type": "application/json"}
    with TestClient(application) as sender:
        answer: dict[str, Any] = sender.post(
            f"{ROOT}/events", content=json.dumps(rows).encode(), headers=headers
        ).json()
    return answer


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_person_is_bounded_over_restarts(kind: str, tmp_path: Path) -> None:
    service = Service(tmp_path)
    for life in range(3):
        host = service.host(made(kind))
        answer = sent(host, kind)
        assert [one["position"] for one in answer["refused"]] == [3_000, 3_001]
        service.clock.now += 10.0
        assert host.publish(NAME)
        counts: Any = host.stream(NAME).counts
        people = _native.People.of_table(counts._tables[0])
        assert people is not None
        assert (people.known, people.refused) == (100, 3_000 * (life + 1) - 300)
        assert counts.privacy.person_bound == STATED[kind]
        if life == 1:
            host.store.checkpoint()
        host.close()
    certain = 1 - 1e-9
    host = service.host(made(kind))
    release: Any = host.stream(NAME).counts.release()
    found = {
        "values": lambda: release.total(confidence=certain),
        "ranges": lambda: release.count_between(0, 256, confidence=certain),
        "sums": lambda: release.count("5", confidence=certain),
    }[kind]()
    assert found.low <= 300 <= found.high < 3_000
    unit = client(service).get(f"{ROOT}/overview").json()["facts"]["unit"]
    assert unit.startswith("one person, of whom ")
    assert publication(host, NAME).facts.unit == unit
    host.close()


def test_no_person_is_written_down(tmp_path: Path) -> None:
    service = Service(tmp_path)
    host = service.host(made("sums"))
    thing = {"thing": "5", "price": 4, "who": "canary-7f3a"}
    application = IngestApplication(host, Tokens({}), failed=lambda _: None)
    with TestClient(application) as sender:
        sender.post(f"{ROOT}/events", json=[thing] * 50)
    service.clock.now += 10.0
    assert host.publish(NAME)
    host.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"canary-7f3a" not in path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "changes", "error", "message"),
    [
        ("values", {"user": None}, ArgumentTypeError, "per_person: expected it with user"),
        ("values", {"per_person": 0}, ArgumentValueError, "per_person: expected an integer from"),
        ("ranges", {"per_person": 70_000}, ArgumentValueError, "per_person: expected an integer"),
        ("sums", {"per_cell": 0}, ArgumentValueError, "per_cell: expected an integer from"),
        ("sums", {"per_person": 1}, ArgumentTypeError, "per_person: expected none for sums"),
        ("values", {"user": "thing"}, ArgumentValueError, "user: expected another field"),
    ],
)
def test_settings_that_are_refused(
    kind: str, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _ = made(kind, **changes).privacy


@pytest.mark.parametrize("kind", ["distinct", "items"])
def test_other_kinds_have_no_events_per_person(kind: str) -> None:
    with pytest.raises(ArgumentTypeError, match="per_person: expected none for"):
        StreamSettings.from_mapping(NAME, {"kind": kind, "per_person": 2})
    if kind == "distinct":
        with pytest.raises(ArgumentTypeError, match="user: expected none for distinct items"):
            StreamSettings.from_mapping(NAME, {"kind": kind, "user": "who"})
