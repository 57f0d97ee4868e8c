"""The ASGI application: limits, errors, exactly once, failures of the store."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lazysketch as ls
from lazysketch.errors import StoreError
from lazysketch.service.host import Host
from lazysketch.service.ingest.application import IngestApplication
from lazysketch.service.ingest.counting import source_name
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.service.tokens import Tokens, token_hash

CANARY = "canary-51c7"
JSON = {"content-type": "application/x-ndjson"}
EVENTS = b'{"item": "a"}\n{"item": "canary-51c7"}\n'


class Service:
    """An application over a store, called as a server calls it."""

    def __init__(self, folder: Path, tokens: Tokens, **options: Any) -> None:
        self.folder = folder
        self.store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
        self.host = Host(self.store, folder / "public", clock=lambda: 1e9)
        self.host.open_streams([StreamSettings(name="events"), StreamSettings(name="other")])
        self.failures: list[BaseException] = []
        self.application = IngestApplication(self.host, tokens, self.failures.append, **options)
        self.logged = 0
        self.commits = 0

    async def ask(
        self,
        body: bytes | list[bytes] = EVENTS,
        method: str = "POST",
        path: str = "/v1/streams/events/events",
        ends: str = "whole",
        **headers: str,
    ) -> tuple[int, dict[str, str], Any]:
        parts = list(body) if isinstance(body, list) else [body]
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            if parts:
                part = parts.pop(0)
                return {
                    "type": "http.request",
                    "body": part,
                    "more_body": bool(parts or ends != "whole"),
                }
            if ends == "stalls":
                await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        named = {name.replace("_", "-"): value for name, value in (JSON | headers).items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }
        await self.application(scope, receive, send)
        if not sent:
            return 0, {}, None
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        assert int(found["content-length"]) == len(sent[1]["body"]) or method == "HEAD"
        assert CANARY not in str(sent)
        return sent[0]["status"], found, json.loads(sent[1]["body"] or b"null")

    def status(self, *arguments: Any, **options: Any) -> int:
        return run(self.ask(*arguments, **options))[0]


def run(asked: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asked)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path, Tokens({}))
    yield found
    found.store.close()


def counted(service: Service) -> int:
    return service.application.counters.events


def test_a_batch_is_answered_with_its_refused_events(service: Service) -> None:
    body = b'{"item": "a"}\n{}\n{"item": "%s"}\n' % (b"x" * 1025)
    status, _, answer = run(service.ask(body))
    assert (status, answer) == (
        200,
        {
            "events": 3,
            "repeated": False,
            "refused": [
                {"position": 1, "code": "malformed"},
                {"position": 2, "code": "too-long"},
            ],
            "refused_events": 2,
        },
    )
    assert service.application.counters.refused == {"malformed": 1, "too-long": 1}
    assert counted(service) == 1


@pytest.mark.parametrize("events", [1, 10_000], ids=["small", "large"])
def test_an_answer_comes_after_the_commit(
    service: Service, monkeypatch: pytest.MonkeyPatch, events: int
) -> None:
    order: list[str] = []
    counted, commit = service.store.ingest_several, service.store.commit

    def say(what: str, call: Any, *arguments: Any, **options: Any) -> Any:
        order.append(what)
        return call(*arguments, **options)

    monkeypatch.setattr(service.store, "ingest_several", partial(say, "count", counted))
    monkeypatch.setattr(service.application._commits, "_commit", partial(say, "commit", commit))
    before = service.application.counters.commits
    assert service.status(EVENTS * events) == 200
    order.append("answer")
    assert order == ["count", "commit", "answer"]
    assert service.application.counters.commits == before + 1


def test_while_the_store_is_held_others_are_answered(service: Service) -> None:
    """As by a checkpoint: requests wait for it, but neither the event loop nor health does."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        release.wait(60)

    async def asked() -> list[Any]:
        holding = threading.Thread(target=service.store._journal.read, args=(hold,))
        holding.start()
        held.wait(60)
        keys = [f"host {number}:1" for number in range(4)]
        small = [asyncio.create_task(service.ask(idempotency_key=key)) for key in keys]
        large = asyncio.create_task(service.ask(EVENTS * 10_000))
        found = []
        try:
            for path in ("/healthz", "/readyz", "/v1/streams/none/events", "/healthz"):
                method = "POST" if "none" in path else "GET"
                answer = await asyncio.wait_for(service.ask(b"", method, path), 10)
                await asyncio.sleep(0.02)
                found.append(answer[0])
            assert not any(task.done() for task in (*small, large))
        finally:
            release.set()
        found += [(await task)[0] for task in (*small, large)]
        holding.join()
        return found

    assert run(asked()) == [200, 200, 404, 200, *[200] * 5]


def test_a_batch_with_a_key_is_counted_once(service: Service) -> None:
    for sequence, repeated in ((1, False), (1, True), (5, False), (4, True)):
        status, _, answer = run(service.ask(idempotency_key=f"a:{sequence}"))
        assert (status, answer["repeated"]) == (200, repeated)
    assert counted(service) == 4
    assert run(service.ask(idempotency_key="b:1"))[2]["repeated"] is False
    other = service.ask(idempotency_key="a:1", path="/v1/streams/other/events")
    assert run(other)[2]["repeated"] is False


def test_an_empty_batch_is_counted_once_too(service: Service) -> None:
    for repeated in (False, True):
        assert run(service.ask(b"", idempotency_key="a:1"))[2]["repeated"] is repeated


def test_concurrent_retries_are_counted_once_and_share_commits(service: Service) -> None:
    async def all_of_them() -> list[Any]:
        keys = [f"host {number % 16}:1" for number in range(64)]
        return await asyncio.gather(*(service.ask(idempotency_key=key) for key in keys))

    answers = run(all_of_them())
    assert [status for status, _, _ in answers] == [200] * 64
    assert sum(not answer["repeated"] for _, _, answer in answers) == 16
    assert service.application.counters.commits <= 3


def test_names_of_sources_differ() -> None:
    owners = ["", "a", "a s", "a%20s", "=", "x" * 34, "x" * 300, "x" * 301, "é" * 40]
    names = {
        source_name(owner, stream, source)
        for owner in owners
        for stream in ("s", "t" * 63)
        for source in ("s", "s s", "x" * 100)
    }
    assert len(names) == len(owners) * 6
    assert max(map(len, names)) <= 200


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"path": "/v1/streams/none/events"}, 404),
        ({"path": "/other"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "HEAD"}, 405),
        ({"path": "/healthz"}, 405),
        ({"content_type": "text/html"}, 415),
        ({"content_encoding": "br"}, 415),
        ({"content_encoding": "gzip"}, 400),
        ({"content_type": "application/json"}, 400),
        ({"content_type": "application/vnd.apache.arrow.stream"}, 400),
        ({"idempotency_key": "a"}, 400),
        ({"content_length": str(1 << 25)}, 413),
        ({"body": [b"x" * (1 << 20)] * 17}, 413),
    ],
)
def test_what_is_refused_is_refused_whole(
    service: Service, options: dict[str, Any], status: int
) -> None:
    found, _, answer = run(service.ask(**options))
    assert found == status
    if options.get("method") != "HEAD":
        assert set(answer["error"]) == {"argument", "expected", "got"}
    assert counted(service) == 0
    assert service.application.counters.in_flight == 0


def test_tokens_are_required(tmp_path: Path) -> None:
    service = Service(tmp_path, Tokens({"web": token_hash("secret")}))
    status, headers, _ = run(service.ask())
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert service.status(authorization="Bearer other") == 401
    assert service.status(authorization="Bearer secret", idempotency_key="a:1") == 200
    assert service.store.sources == ("web events a",)
    service.store.close()


def test_health_needs_no_batch(service: Service) -> None:
    for path in ("/healthz", "/readyz"):
        assert service.status(b"", "GET", path) == 200
        assert service.status(b"", "HEAD", path) == 200


def test_a_sender_that_stalls_is_answered(tmp_path: Path) -> None:
    service = Service(tmp_path, Tokens({}), stalled=0.05)
    status, headers, _ = run(service.ask(ends="stalls"))
    assert (status, headers["connection"]) == (408, "close")
    assert service.application.counters.in_flight == 0
    service.store.close()


def test_a_sender_that_goes_counts_nothing(service: Service) -> None:
    assert service.status(ends="goes") == 0
    assert (counted(service), service.application.counters.in_flight) == (0, 0)


def test_bodies_beyond_the_memory_are_sent_again(tmp_path: Path) -> None:
    service = Service(tmp_path, Tokens({}), most_in_flight=100)
    status, headers, _ = run(service.ask(b"x" * 101))
    assert (status, headers["retry-after"]) == (503, "1")
    assert service.status() == 200
    service.store.close()


@pytest.mark.parametrize("where", ["commit", "count"])
def test_a_failure_of_the_store_acknowledges_nothing_and_ends_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    service = Service(tmp_path, Tokens({}))

    def fail(*_: Any, **__: Any) -> Any:
        raise StoreError("store: expected a disk, got a full one")

    if where == "commit":
        monkeypatch.setattr(service.application._commits, "_commit", fail)
    else:
        monkeypatch.setattr(service.store, "ingest_several", fail)

    async def many() -> list[Any]:
        return await asyncio.gather(*(service.ask(idempotency_key=f"{n}:1") for n in range(8)))

    answers = run(many())
    assert [status for status, _, _ in answers] == [503] * 8
    assert len(service.failures) == 1
    assert service.status() == 503
    assert service.status(b"", "GET", "/readyz") == 503
    assert service.status(b"", "GET", "/healthz") == 200
    assert counted(service) == 0
    service.store.close()


def test_a_cancelled_request_is_counted_once(service: Service) -> None:
    async def cancelled() -> Any:
        large = EVENTS * 4000  # counted in the worker thread
        task = asyncio.create_task(service.ask(large, idempotency_key="a:1"))
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await service.ask(large, idempotency_key="a:1")

    status, _, _ = run(cancelled())
    assert status == 200
    assert service.store.last_sequence(" events a") == 1
    assert service.application.counters.in_flight == 0


def test_items_are_in_no_log_and_in_no_file(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert service.status() == 200
        assert service.status(EVENTS + b"{" + CANARY.encode()) == 200
        with monkeypatch.context() as patch:
            patch.setattr(
                "lazysketch.service.ingest.counting.events_of",
                lambda *_, **__: (_ for _ in ()).throw(ValueError(CANARY)),
            )
            assert service.status() == 500
    service.store.checkpoint()
    assert CANARY not in caplog.text
    files = [path for path in service.folder.rglob("*") if path.is_file()]
    assert files
    assert not any(CANARY.encode() in path.read_bytes() for path in files)
