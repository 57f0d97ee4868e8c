"""How the servers of the service speak HTTP: uvicorn's protocol, with two bounds of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["BoundedProtocol", "WholeAnswersProtocol"]


_MOST_WAITING: Final = 100


class _TooManyWaitError(Exception):
    """A client sent more requests than may wait for answers."""


class _BoundedFlow(FlowControl):
    """Reads on only if no request waits for the one before it."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        """Read on, unless requests wait; the last of them does it when its turn comes."""
        if not self._waiting:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose connections hold few requests of a client that does not wait for answers.

    Guarantee: while a request waits for the one before it, nothing more is read. A connection on
    which more than a hundred wait nevertheless, as one read had them all, is closed without the
    answers that are due: they would go to the wrong requests.
    """

    _has_too_many = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        self.flow = _BoundedFlow(transport, self.pipeline)

    def on_headers_complete(self) -> None:
        """Begin a request, or let it wait, or refuse all that follows."""
        if len(self.pipeline) >= _MOST_WAITING:
            self._has_too_many = True
            raise _TooManyWaitError
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or close a connection with too many requests."""
        if self._has_too_many:
            self.pipeline.clear()
            self.transport.close()
        else:
            super().send_400_response(msg)


class WholeAnswersProtocol(BoundedProtocol):
    """The same, for an application that sends the head and the only body of an answer together.

    Head and body are one write, which saves a call of the system for each request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        self.transport = _WholeAnswers(transport)  # type: ignore[assignment]


class _WholeAnswers:
    """A transport that keeps the head of an answer until its body."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._head = transport, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write what is not the head of an answer, after the head."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 100 "):
            self._head = data
            return
        self._transport.write(data)

    def close(self) -> None:
        """Write the head, and close."""
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)
        self._transport.close()
