"""Senders of the service, in a process of their own: each sends its next batch after an answer.

Plain sockets and requests that were built before, so that the machine has time for the service.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Load", "Sent", "send"]

_LENGTH = re.compile(rb"\r\ncontent-length: ([0-9]+)\r\n")
_PART = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Load:
    """What senders send.

    Attributes:
        path: the path of the requests.
        media_type: of the bodies.
        bodies: batches, which each sender sends in turn.
        senders: number of connections.
        name: begins the names of the sources; different for each load of a service, unless its
            sequences go on.
        after: the last sequence that the sources had before.
    """

    path: str
    media_type: str
    bodies: Sequence[bytes]
    senders: int
    name: str
    after: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """What was answered, and the seconds that it took."""

    answers: int
    seconds: float


@dataclass
class _Sender:
    """One connection, its request that is under way, and what has come of the answer."""

    connection: socket.socket
    source: str
    sequence: int = 0
    left: memoryview = field(default_factory=lambda: memoryview(b""))
    answer: bytes = b""

    def begin(self, load: Load) -> None:
        """Take the next request."""
        body = load.bodies[self.sequence % len(load.bodies)]
        self.sequence += 1
        head = (
            f"POST {load.path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {load.media_type}\r\n"
            f"Idempotency-Key: {self.source}:{self.sequence}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.left, self.answer = memoryview(head.encode() + body), b""

    def write(self) -> None:
        """Send what the connection takes."""
        with contextlib.suppress(BlockingIOError):
            while self.left:
                self.left = self.left[self.connection.send(self.left[:_PART]) :]

    def has_answer(self) -> bool:
        """Read, and return whether the whole answer is here."""
        found = self.connection.recv(1 << 16)
        if not found:
            raise ConnectionError("the service closed a connection")
        self.answer += found
        end = self.answer.find(b"\r\n\r\n")
        length = _LENGTH.search(self.answer)
        if end < 0 or length is None or len(self.answer) < end + 4 + int(length[1]):
            return False
        if not self.answer.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(self.answer.decode())
        return True


def send(port: int, load: Load, *, seconds: float) -> Sent:
    """Send for some time, and wait for the answers that are due then.

    Args:
        port: of the service on this machine.
        load: what to send.
        seconds: time after which no request begins.
    """
    with contextlib.ExitStack() as closing, selectors.DefaultSelector() as selector:
        for number in range(load.senders):
            connection = closing.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(0.0)
            sender = _Sender(connection, f"{load.name} {number}", load.after)
            selector.register(connection, selectors.EVENT_READ, sender)
            sender.begin(load)
        return _exchanged(selector, load, seconds)


def _exchanged(selector: selectors.BaseSelector, load: Load, seconds: float) -> Sent:
    begin, answers, busy = time.perf_counter(), 0, load.senders
    writing = {key.data.source: key.data for key in selector.get_map().values()}
    while busy:
        for source, sender in list(writing.items()):
            sender.write()
            if not sender.left:
                del writing[source]
        for key, _ in selector.select(0.0 if writing else 10.0):
            sender = key.data
            if not sender.has_answer():
                continue
            answers += 1
            if time.perf_counter() - begin < seconds:
                sender.begin(load)
                writing[sender.source] = sender
            else:
                busy -= 1
    return Sent(answers, time.perf_counter() - begin)
