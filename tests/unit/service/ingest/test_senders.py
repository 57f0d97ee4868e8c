"""Senders on a real server: those that stall, ask first, or send what is not theirs to send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.service.ingest.test_application import EVENTS, Service, counted, run
from tests.unit.service.running import answer_of, connected, post, served

import lazysketch as ls
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens, token_hash


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path, Tokens({"web": token_hash("secret")}), stalled=1.0)
    yield found
    found.store.close()


TOKEN = "Authorization: Bearer secret"


@pytest.mark.parametrize("stalled", [4, pytest.param(500, marks=pytest.mark.long)])
def test_senders_that_stall_hold_up_no_one(service: Service, stalled: int) -> None:
    """Each is answered when its time is over, and holds no memory then; others are served."""
    with served(service.application) as port:
        slow = [connected(port) for _ in range(stalled)]
        for number, connection in enumerate(slow):
            begun = post(EVENTS, TOKEN, length=1 << 20)
            connection.sendall(begun if number % 2 else begun[:20])  # in the body, or in the head
        with connected(port) as other:
            for number in range(20):
                other.sendall(post(EVENTS, TOKEN, f"Idempotency-Key: other:{number + 1}"))
                assert answer_of(other)[0] == 200
        for connection in slow[1::2]:
            assert answer_of(connection)[0] == 408
        for connection in slow:
            connection.close()
        with connected(port) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
            assert answer_of(other)[0] == 200
    assert counted(service) == 40
    assert service.application.counters.in_flight == 0


@pytest.mark.parametrize(
    ("headers", "begin"),
    [
        ((TOKEN,), b"HTTP/1.1 100 Continue\r\n"),
        ((), b"HTTP/1.1 401 "),
        ((TOKEN, "Content-Encoding: br"), b"HTTP/1.1 415 "),
    ],
)
def test_a_sender_may_ask_before_it_sends(
    service: Service, headers: tuple[str, ...], begin: bytes
) -> None:
    """A body that would be refused is never asked for."""
    with served(service.application) as port, connected(port) as connection:
        connection.sendall(post(b"", *headers, "Expect: 100-continue", length=len(EVENTS)))
        first = connection.recv(1 << 16)
        assert first.startswith(begin)
        if b"100" in begin:
            assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(EVENTS)
            assert answer_of(connection)[0] == 200
    assert counted(service) == (2 if b"100" in begin else 0)


def test_people_are_bounded_by_what_their_events_say(tmp_path: Path) -> None:
    """An event without its person is refused alone; beyond a bound it counts for nothing."""
    service = Service(tmp_path, Tokens({}))
    shop = StreamSettings(name="shop", user="customer", cells=1, relation="zero-out", share=0.1)
    service.host.open_streams([shop])
    events: list[Any] = [{"item": "tea", "customer": "ann"}] * 6
    events += [{"item": "tea"}, {"item": "tea", "customer": None}, {"item": "tea", "customer": 7}]
    body = "".join(json.dumps(one) + "\n" for one in events).encode()
    path = "/v1/streams/shop/events"
    for sequence in (1, 1, 2):
        status, _, answer = run(service.ask(body, path=path, idempotency_key=f"a:{sequence}"))
        assert (status, answer["events"], answer["refused_events"]) == (200, 9, 2)
        assert {one["code"] for one in answer["refused"]} == {"no-user"}
    # Of 14 events with a person, one of each of the two people counts.
    windows: Any = service.host.stream("shop").counts
    assert windows._live.refused == 12
    assert run(service.ask(b"tea\n", path=path, content_type="text/plain"))[0] == 415
    assert run(service.ask(b"{}\n", path=path))[2]["refused"][0]["code"] == "malformed"
    assert windows._live.refused == 12
    service.store.close()


def test_bounds_of_people_go_over_batches_that_are_counted_together(tmp_path: Path) -> None:
    """What is one change bounds a person as if each batch came alone."""
    folders = [tmp_path / "together", tmp_path / "alone"]
    refused = []
    for folder in folders:
        folder.mkdir()
        store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
        host = Host(store, folder / "public", clock=lambda: 1e9)
        host.open_streams([StreamSettings(name="shop", user="user", cells=2, relation="zero-out")])
        application = IngestApplication(host, Tokens({}), lambda error: None)
        bodies = [
            "".join(f'{{"item": "{item}", "user": "u{user}"}}\n' for item in "abc").encode()
            for user in (1, 2, 1, 3)
        ]
        service: Any = object.__new__(Service)
        service.application = application

        async def sent(ask: Any, bodies: list[bytes], one_by_one: bool) -> None:
            import asyncio

            asked = [ask(body, path="/v1/streams/shop/events") for body in bodies]
            if one_by_one:
                for one in asked:
                    await one
            else:
                await asyncio.gather(*asked)

        run(sent(service.ask, bodies, folder.name == "alone"))
        windows: Any = host.stream("shop").counts
        refused.append(windows._live.refused)
        store.close()
    assert refused[0] == refused[1]
    assert 3 <= refused[0] <= 6  # two of three items of each of three people, and none again
