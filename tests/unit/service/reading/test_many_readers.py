"""A thousand readers at a time, and readers that never read, on the process that serves them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.service.publications import Service, run, settings
from tests.unit.service.running import answer_of, connected
from tests.waiting import wait_until

from lazysketch.service.host import Host
from lazysketch.service.reading.process import ReadingTask
from lazysketch.service.reading_process import ReadingProcess

ROOT = "/v1/streams/pages"
_OF_A_READER = 1 << 16  # bytes: buffers of a connection


@contextlib.contextmanager
def reading(service: Service) -> Iterator[tuple[Host, int, int]]:
    """Yield a host whose publications a process serves, the port, and the id of the process."""
    host = service.host(settings())
    run(service, host, slices=12, events=lambda _: ["/", "/docs"] * 50)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        listening.set_inheritable(True)
        task = ReadingTask(str(service.folder / "public"), listening.fileno())
        with ReadingProcess(task) as process:
            assert process._process is not None
            yield host, listening.getsockname()[1], process._process.pid
    host.close()


def resident(process: int) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode()


def shown(port: int) -> bytes:
    with connected(port) as connection:
        connection.sendall(get(f"{ROOT}/top"))
        status, body = answer_of(connection)
    return body if status == 200 else b""


async def followed(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(get(f"{ROOT}/feed"))
    return reader, writer


async def told(reader: asyncio.StreamReader) -> int:
    """Return the number of the next publication."""
    line = await asyncio.wait_for(reader.readuntil(b"id: "), 60)
    assert line.endswith(b"id: ")
    return int(await asyncio.wait_for(reader.readline(), 60))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_thousand_readers_are_told_of_the_next_publication(tmp_path: Path) -> None:
    service = Service(tmp_path)

    async def all_of_them(host: Host, port: int, process: int) -> None:
        connections = [await followed(port)]
        number = await told(connections[0][0])
        before = resident(process)
        for _ in range(20):  # a thousand connections, 50 at a time
            connections += await asyncio.gather(*(followed(port) for _ in range(50)))
        first = await asyncio.gather(*(told(reader) for reader, _ in connections[1:]))
        assert set(first) == {number}
        for later in range(1, 4):
            service.clock.now += 10.0
            assert host.publish("pages")
            following = await asyncio.gather(*(told(reader) for reader, _ in connections))
            assert set(following) == {number + later}
        assert resident(process) - before < 1_000 * _OF_A_READER
        for _, writer in connections:
            writer.close()

    with reading(service) as (host, port, process):
        asyncio.run(all_of_them(host, port, process))
        assert shown(port)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("readers", [20, pytest.param(60, marks=pytest.mark.long)])
def test_readers_that_never_read_hold_up_no_one(tmp_path: Path, readers: int) -> None:
    """They ask for more than their connections hold; others see the next publication."""
    service = Service(tmp_path)
    with reading(service) as (host, port, process), contextlib.ExitStack() as closing:
        wait_until(lambda: shown(port))
        before, memory = shown(port), resident(process)
        for _ in range(readers):
            connection = closing.enter_context(connected(port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(0.2)
            with contextlib.suppress(TimeoutError):  # the service stopped to read its requests
                connection.sendall(get(f"{ROOT}/release") * 200)
        service.clock.now += 10.0
        assert host.publish("pages")
        wait_until(lambda: shown(port) not in (before, b""))
        assert resident(process) - memory < readers * (1 << 20) + (1 << 24)
