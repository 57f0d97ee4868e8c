"""The application of readers: addresses, headers and errors.

Every answer is a function of the publication that is shown and of the address. Errors name the
parameter, what was expected and what came, never a count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lazysketch.errors import LazySketchError
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.openapi import description
from lazysketch.service.reading.queries import last_of, level_of, refuse_others, window_of
from lazysketch.service.reading.questions import QUESTIONS
from lazysketch.service.reading.reading_state import Reading, error_of, sent
from lazysketch.service.refusals import refused, unexpected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lazysketch.service.reading.published_streams import PublishedStreams

__all__ = ["reading_application"]

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
Handler = Callable[["Reading", "Request"], Awaitable[Response]]


async def _streams(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    facts = state.published.facts
    shown = [
        {
            "name": one.name,
            "title": one.answers.publication.facts.title if one.answers else one.name,
            "counts": one.answers.publication.facts.counts if one.answers else None,
            "published": one.answers is not None,
            "next_at": state.next_at(one),
        }
        for one in state.published.streams.values()
    ]
    key = None if facts is None else facts.public_key.hex()
    return JSONResponse(
        {"streams": shown, "public_key": key}, headers={"Cache-Control": "no-cache"}
    )


async def _facts(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    return sent(request, state.answers(request).facts(), state.answers(request))


async def _overview(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    answers = state.answers(request)
    return sent(request, answers.overview(), answers)


async def _release(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ("last", "level"))
    answers = state.answers(request)
    last = answers.within(last_of(request.query_params))
    level = level_of(request.query_params, levels=state.levels(request))
    found = await state.computed(
        answers, ("merged", last, level), lambda: answers.merged_release(last, level)
    )
    return sent(request, found, answers)


async def _window(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ("level",))
    answers = state.answers(request)
    level = level_of(request.query_params, levels=state.levels(request))
    number = window_of(request.path_params["number"])
    key = ("release", number, level)
    found = await state.computed(answers, key, lambda: answers.release(number, level))
    return sent(request, found, answers)


async def _publication(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    answers = state.answers(request)
    return sent(request, answers.manifest(), answers)


async def _feed(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    stream = state.stream(request)
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) <= 18 else -1
    return StreamingResponse(
        events_of(stream, after=after),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _metrics(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    shown = {one.name: one.answers for one in state.published.streams.values() if one.answers}
    content = await state.exposition.of(shown)
    return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _openapi(state: Reading, request: Request) -> Response:  # noqa: ARG001 -- one signature
    return JSONResponse(description(), headers={"Cache-Control": "no-cache"})


async def _healthy(state: Reading, request: Request) -> Response:  # noqa: ARG001 -- one signature
    return Response("ok\n", media_type="text/plain")


async def _page(state: Reading, request: Request) -> Response:
    found = _file(state, "index.html", request)
    name = request.path_params.get("name")
    if name is not None and name not in state.published.streams:
        found.status_code = 404  # the page says so, with a way to all streams
    return found


async def _asset(state: Reading, request: Request) -> Response:
    return _file(state, request.path_params["file"], request)


_ADDRESSES: Final[tuple[tuple[str, Handler], ...]] = (
    ("/", _page),
    ("/streams/{name}", _page),
    ("/assets/{file}", _asset),
    ("/v1/streams", _streams),
    ("/v1/streams/{name}", _facts),
    ("/v1/streams/{name}/overview", _overview),
    *((f"/v1/streams/{{name}}/{name}", question) for name, question in QUESTIONS),
    ("/v1/streams/{name}/release", _release),
    ("/v1/streams/{name}/windows/{number}", _window),
    ("/v1/streams/{name}/publication", _publication),
    ("/v1/streams/{name}/feed", _feed),
    ("/openapi.json", _openapi),
    ("/healthz", _healthy),
    ("/metrics", _metrics),
)


def reading_application(published: PublishedStreams) -> ASGIApp:
    """Return the application of readers.

    Args:
        published: the streams; followed while the application runs.
    """
    state = Reading(published)

    @asynccontextmanager
    async def following(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(published.follow())
        try:
            yield
        finally:
            task.cancel()

    def bound(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            try:
                return await handler(state, request)
            except LazySketchError as error:
                return refused(400, str(error))

        return answered

    routes = [Route(path, bound(handler), methods=["GET"]) for path, handler in _ADDRESSES]
    application = Starlette(
        routes=routes,
        lifespan=following,
        exception_handlers={HTTPException: _http_error, 500: unexpected},
    )
    return _with_headers(application)


def _file(state: Reading, name: str, request: Request) -> Response:
    found = state.assets.get(name)
    if found is None:
        raise error_of(404, "file", "one of the page", "another")
    content, kind, etag = found
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- registered for it alone
    detail = error.detail
    if ": expected" not in detail:  # of the framework
        expected = "an address of this service" if error.status_code == 404 else "GET"
        got = "another" if error.status_code == 404 else request.method
        detail = f"request: expected {expected}, got {got}"
    return refused(error.status_code, detail, error.headers)


def _with_headers(application: ASGIApp) -> ASGIApp:
    """Return the application with the headers that every answer has."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        async def passed_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        with suppress(ClientDisconnect):  # a reader that left needs no answer, and is no failure
            await application(scope, receive, passed_on if scope["type"] == "http" else send)

    return answered
