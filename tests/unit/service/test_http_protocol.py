"""Connections of clients that do not wait for answers, and answers in one piece."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest
import uvicorn

from lazysketch.service.servers import config_of

REQUEST = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
HEADERS = [(b"content-length", b"2")]


class Running:
    """A server that answers as often as it may."""

    def __init__(self, *, whole_answers: bool) -> None:
        self.begun, self.waiting = 0, 0
        self.allowed = asyncio.Semaphore(0)
        config = config_of(self, certificate=None, private_key=None, whole_answers=whole_answers)
        self.server = uvicorn.Server(config)

    def allow(self, answers: int) -> None:
        """Allow more answers."""
        for _ in range(answers):
            self.allowed.release()

    @property
    def waiting_now(self) -> int:
        """Requests that wait for the one before them."""
        connections = self.server.server_state.connections
        return max((len(getattr(one, "pipeline", ())) for one in connections), default=0)

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        _: object,
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        self.begun += 1
        await self.allowed.acquire()
        self.waiting = max(self.waiting, self.waiting_now)
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def running(*, whole_answers: bool) -> Any:
    """Yield a server and its port."""
    one = Running(whole_answers=whole_answers)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(one.server.serve(sockets=[listening]))
        while not one.server.started:
            await asyncio.sleep(0.01)
        yield one, listening.getsockname()[1]
        one.allow(1_000)
        one.server.should_exit = True
        await serving


async def until(condition: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), 30)


@pytest.fixture(autouse=True)
def _no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn.Server, "capture_signals", lambda _: contextlib.nullcontext())


@pytest.mark.parametrize("whole_answers", [False, True])
def test_requests_that_wait_are_answered_in_turn(whole_answers: bool) -> None:
    async def check() -> None:
        async with running(whole_answers=whole_answers) as (one, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST * 100)
            await until(lambda: one.begun == 1)
            one.allow(101)
            answers = [await reader.readuntil(b"ok") for _ in range(100)]
            assert all(answer.startswith(b"HTTP/1.1 200 OK\r\n") for answer in answers)
            assert (one.begun, one.waiting) == (100, 99)
            writer.write(REQUEST)  # the connection goes on
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK\r\n")
            writer.close()

    asyncio.run(check())


def test_nothing_is_read_while_requests_wait() -> None:
    async def check() -> None:
        async with running(whole_answers=True) as (one, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST * 60)
            await until(lambda: one.waiting_now == 59)
            writer.write(REQUEST * 60)
            one.allow(1)
            await reader.readuntil(b"ok")
            await until(lambda: one.begun == 2)
            await asyncio.sleep(0.2)
            assert one.waiting_now == 58  # the others are still in the socket
            one.allow(119)
            for _ in range(119):
                await reader.readuntil(b"ok")
            assert (one.begun, one.waiting) == (120, 59)
            writer.close()

    asyncio.run(check())


def test_a_hundred_and_two_requests_at_a_time_close_the_connection() -> None:
    async def check() -> None:
        async with running(whole_answers=True) as (one, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST * 102)
            assert await reader.read() == b""  # no answer that would go to a wrong request
            assert one.begun == 1
            writer.close()

    asyncio.run(check())


def test_the_head_and_the_body_of_an_answer_are_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    async def check() -> None:
        async with running(whole_answers=True) as (one, port):
            one.allow(1)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            (connection,) = one.server.server_state.connections
            transport = connection.transport._transport
            write = transport.write
            monkeypatch.setattr(
                connection.transport, "_transport", Recorded(transport, write, written)
            )
            writer.write(REQUEST)
            await reader.readuntil(b"ok")
            writer.close()

    asyncio.run(check())
    assert len(written) == 1


class Recorded:
    """A transport whose writes are kept."""

    def __init__(self, transport: Any, write: Any, written: list[bytes]) -> None:
        self._transport, self._write, self._written = transport, write, written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._written.append(data)
        self._write(data)
