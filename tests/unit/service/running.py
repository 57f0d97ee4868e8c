"""Servers of tests: an application in a thread, and connections whose bytes a test writes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from tests.waiting import wait_until

from lazysketch.service.servers import config_of


@contextlib.contextmanager
def served(
    application: Any, certificate: str | None = None, private_key: str | None = None
) -> Iterator[int]:
    """Serve an application as the service does; yield its port."""
    config = config_of(application, certificate=certificate, private_key=private_key)
    config.lifespan = "on"
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        serving = server.serve(sockets=[listening])
        thread = threading.Thread(target=asyncio.run, args=(serving,))
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)


def connected(port: int) -> socket.socket:
    """Return a connection to this machine."""
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def post(body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return a request with events; by default with the right length."""
    lines = [
        "POST /v1/streams/events/events HTTP/1.1",
        "Host: test",
        "Content-Type: application/x-ndjson",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer_of(connection: socket.socket) -> tuple[int, bytes]:
    """Return the status and the body of the next answer of a connection."""
    read = b""
    while b"\r\n\r\n" not in read:
        part = connection.recv(1 << 16)
        assert part, "the connection ended before an answer"
        read += part
    head, _, body = read.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    length = next((int(one.split(":")[1]) for one in lines if "content-length" in one), 0)
    while len(body) < length:
        part = connection.recv(1 << 16)
        assert part, "the connection ended within an answer"
        body += part
    return int(lines[0].split()[1]), body
