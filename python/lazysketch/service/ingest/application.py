"""The ASGI application that takes events.

A sender sends one batch of a source after the other: one whose sequence is not above the last of
its source is answered as a repetition, also if it only arrives late.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from lazysketch.errors import StoreError
from lazysketch.service.ingest.commits import GroupCommit
from lazysketch.service.ingest.counters import IngestCounters
from lazysketch.service.ingest.counting import Batch, Counted, Counting
from lazysketch.service.ingest.envelopes import MOST_BODY, envelope_of, too_large
from lazysketch.service.ingest.refusals import Header, RefusedRequestError

if TYPE_CHECKING:
    from lazysketch.service.host import Host
    from lazysketch.service.tokens import Tokens

__all__ = ["IngestApplication"]

# As ASGI defines them.
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_LOG: Final = logging.getLogger("lazysketch.service")
_EVENTS: Final = re.compile(r"/v1/streams/([^/]+)/events")
_SMALL: Final = 1 << 16  # bytes: counted with others of one commit, which costs the least
_MOST_IN_FLIGHT: Final = 1 << 28
_STALLED: Final = 30.0
_LONGEST_BODY: Final = 300.0
_JSON: Final[Header] = (b"content-type", b"application/json")
_RETRY: Final[Header] = (b"retry-after", b"1")


class _SenderGoneError(Exception):
    """The connection ended before the body did."""


class IngestApplication:
    """Takes batches of events, and answers after they are durable.

    Guarantee: each batch that is acknowledged is durable, and with a key it was counted once. No
    answer and no log contains a value of a body.

    Args:
        host: the streams.
        tokens: who may send.
        failed: called once if the store cannot go on; the process has to end then.
        stalled: seconds without a byte of a body that is not complete.
        most_in_flight: bytes of bodies that are held at a time.
    """

    def __init__(
        self,
        host: Host,
        tokens: Tokens,
        failed: Callable[[BaseException], object],
        *,
        stalled: float = _STALLED,
        most_in_flight: int = _MOST_IN_FLIGHT,
    ) -> None:
        self.counters = IngestCounters()
        self._host, self._tokens = host, tokens
        self._stalled, self._most_in_flight = stalled, most_in_flight
        self._broken: BaseException | None = None
        self._counting = Counting(host.store, failed=self._broke)
        self._commits = GroupCommit(
            host.store.commit,
            count=self._counting.count_each,
            counters=self.counters,
            failed=failed,
        )
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ingest")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":  # a WebSocket
            await send({"type": "websocket.close", "code": 1000})
            return
        try:
            status, headers, body = await self._answer(scope, receive)
        except _SenderGoneError:
            return
        self.counters.answered(status)
        length = str(len(body)).encode()
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [_JSON, (b"content-length", length), *headers],
            }
        )
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )

    async def close(self) -> None:
        """Complete what was begun: batches of the worker thread, and the commit that runs."""
        await asyncio.get_running_loop().run_in_executor(None, self._worker.shutdown)
        await self._commits.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.shutdown":
                await self.close()
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _answer(
        self, scope: Scope, receive: Receive
    ) -> tuple[int, tuple[Header, ...], bytes]:
        try:
            path = scope["path"]
            match = _EVENTS.fullmatch(path)
            if match is not None:
                _check_method(scope, "POST")
                return 200, (), await self._post(match[1], scope, receive)
            if path in ("/healthz", "/readyz"):
                _check_method(scope, "GET", "HEAD")
                if path == "/readyz":
                    self._commits.check()
                return 200, (), b'{"ok": true}'
            raise RefusedRequestError(
                404, "path", "/v1/streams/NAME/events, /healthz or /readyz", "another", read=False
            )
        except RefusedRequestError as error:
            refused = error
        except StoreError:
            refused = RefusedRequestError(
                503,
                "store",
                "one that can be written",
                "a failure; send the batch again",
                headers=(_RETRY,),
                read=False,
            )
        except (_SenderGoneError, asyncio.CancelledError):
            raise
        except Exception as failure:  # its text may quote an event
            _LOG.error("a request failed: %s", type(failure).__name__)
            refused = RefusedRequestError(500, "server", "no failure", "one", read=False)
        return refused.status, refused.headers, refused.body

    async def _post(self, name: str, scope: Scope, receive: Receive) -> bytes:
        headers = scope["headers"]
        authorization = next((value for key, value in headers if key == b"authorization"), None)
        owner = self._tokens.owner(authorization)
        if owner is None:
            raise RefusedRequestError(
                401, "Authorization", "Bearer and a token of this service", "another or none",
                headers=((b"www-authenticate", b"Bearer"),), read=False,
            )  # fmt: skip
        stream = self._host.streams.get(name)
        if stream is None:
            raise RefusedRequestError(404, "stream", "an existing one", "another", read=False)
        envelope = envelope_of(headers)
        self._commits.check()
        held = _Held(self.counters, most=self._most_in_flight)
        try:
            body = await self._body(receive, held)
            self.counters.body_bytes += len(body)
            counted = await self._counted(Batch(stream, owner, envelope, body))
        finally:
            held.release()
        return self._acknowledged(counted)

    async def _body(self, receive: Receive, held: _Held) -> bytes:
        """Return the whole body, which must not stall."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "servers run each request in a task"  # noqa: S101
        end = loop.time() + _LONGEST_BODY
        parts: list[bytes] = []
        size, late = 0, False

        def stop() -> None:
            nonlocal late
            late = True
            task.cancel()

        while True:
            timer = loop.call_at(min(loop.time() + self._stalled, end), stop)
            try:
                message = await receive()
            except asyncio.CancelledError:
                if not late:
                    raise
                if hasattr(task, "uncancel"):  # from Python 3.11 on
                    task.uncancel()
                raise RefusedRequestError(
                    408, "body", f"bytes within {self._stalled:g} s", "none", read=False
                ) from None
            finally:
                timer.cancel()
            if message["type"] == "http.disconnect":
                raise _SenderGoneError
            part = message.get("body", b"")
            size += len(part)
            if size > MOST_BODY:
                raise too_large()
            held.take(len(part))
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts) if len(parts) > 1 else part

    async def _counted(self, batch: Batch) -> Counted:
        """Count a batch, and wait until it is durable.

        A request that is cancelled leaves a batch that is counted whole, or not at all.
        """
        if len(batch.body) <= _SMALL and not batch.envelope.coding:
            return await self._commits.counted(batch)
        loop = asyncio.get_running_loop()
        try:
            counting = loop.run_in_executor(self._worker, self._counting.count, batch)
            counted = await asyncio.shield(counting)
        finally:
            if self._broken is not None:
                self._commits.fail(self._broken)
        await self._commits.durable()
        return counted

    def _broke(self, error: BaseException) -> None:
        # Of any thread; the event loop reports it.
        self._broken = self._broken or error

    def _acknowledged(self, counted: Counted) -> bytes:
        judged, counters = counted.judged, self.counters
        refused = judged.refused
        lost = sum(refused.values())
        if counted.repeated:
            counters.repetitions += 1
        else:
            counters.events += judged.rows - lost
            for code, number in refused.items():
                counters.refused[code] = counters.refused.get(code, 0) + number
        first = json.dumps(judged.first_refused) if lost else "[]"
        repeated = "true" if counted.repeated else "false"
        return (
            f'{{"events": {judged.rows}, "repeated": {repeated}, "refused": {first}, '
            f'"refused_events": {lost}}}'
        ).encode()


class _Held:
    """Bytes of one body that are held in memory."""

    def __init__(self, counters: IngestCounters, *, most: int) -> None:
        self._counters, self._most, self._bytes = counters, most, 0

    def take(self, size: int) -> None:
        """Hold more bytes, or refuse the request if all requests hold too many."""
        if self._counters.in_flight + size > self._most:
            raise RefusedRequestError(
                503, "body", "a service with room for it", "too many batches at a time",
                headers=(_RETRY,), read=False,
            )  # fmt: skip
        self._bytes += size
        self._counters.in_flight += size

    def release(self) -> None:
        """Hold nothing any more."""
        self._counters.in_flight -= self._bytes
        self._bytes = 0


def _check_method(scope: Scope, *methods: str) -> None:
    if scope["method"] not in methods:
        allowed = ", ".join(methods)
        raise RefusedRequestError(
            405, "method", allowed, "another", headers=((b"allow", allowed.encode()),), read=False
        )
