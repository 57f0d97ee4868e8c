"""The application of readers: addresses, headers and errors.

Every answer is a function of the publication that is shown and of the address. Errors name the
parameter, what was expected and what came, never a count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lazysketch.errors import LazySketchError
from lazysketch.service.reading.distinct_view import DistinctView
from lazysketch.service.reading.exposition import Exposition
from lazysketch.service.reading.feed import events_of
from lazysketch.service.reading.openapi import description
from lazysketch.service.reading.page_files import page_files
from lazysketch.service.reading.queries import (
    ItemsQuery,
    TopQuery,
    TreeQuery,
    against_of,
    last_of,
    level_of,
    refuse_others,
    window_of,
)
from lazysketch.service.reading.views import PublicationView
from lazysketch.service.refusals import refused, unexpected
from lazysketch.service.windows_view import instant_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lazysketch.service.reading.answers import Answer, Answers
    from lazysketch.service.reading.published_streams import PublishedStream, PublishedStreams

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
# Answers that are computed in parallel, and that wait: what readers ask for beyond it is refused.
_COMPUTED_AT_ONCE: Final = 2
_WAITING: Final = 64

Handler = Callable[["Reading", "Request"], Awaitable[Response]]


class Reading:
    """The state of the application."""

    def __init__(self, published: PublishedStreams) -> None:
        self.published = published
        self.assets = page_files()
        self._computing = asyncio.Semaphore(_COMPUTED_AT_ONCE)
        self._waiting = 0
        self.exposition = Exposition()

    def stream(self, request: Request) -> PublishedStream:
        """Return the stream of an address."""
        name = request.path_params["name"]
        found = self.published.streams.get(name)
        if found is None:
            raise _error(404, "stream", "the name of a stream, see /v1/streams", "another")
        return found

    def answers(self, request: Request) -> Answers:
        """Return the answers of the stream of an address."""
        stream = self.stream(request)
        if stream.answers is None:
            following = self.next_at(stream)
            when = "its first tick" if following is None else following
            raise _error(404, "stream", "one that was published", f"none before {when}")
        return stream.answers

    def next_at(self, stream: PublishedStream) -> str | None:
        """Return when the next publication of a stream is due, as text; None after the last."""
        if stream.answers is None:
            following = self.published.next_shown(stream.name)
            return None if following is None else instant_text(following)
        shown = stream.answers.publication
        return None if shown.finished else instant_text(shown.next_at)

    def of_items(self, request: Request) -> PublicationView:
        """Return the view of the stream of an address, if it counts items."""
        view = self.answers(request).view
        if not isinstance(view, PublicationView):
            raise _error(404, "stream", "one of frequent items", "one of another kind")
        return view

    def levels(self, request: Request) -> int:
        """Return the number of levels of the stream of an address; 0 without a hierarchy."""
        return len(self.answers(request).publication.facts.levels)

    async def computed(
        self, answers: Answers, key: tuple[object, ...], make: Callable[[], Answer | None]
    ) -> Answer | None:
        """Return an answer that may take a while, without holding up the others."""
        kept = answers.kept(key)
        if kept is not None:
            return kept
        if self._waiting >= _WAITING:
            raise _error(503, "service", "fewer readers at once", "more", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._computing:
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1


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
    return _sent(request, state.answers(request).facts(), state.answers(request))


async def _overview(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    answers = state.answers(request)
    return _sent(request, answers.overview(), answers)


async def _top(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = TopQuery.of(request.query_params, levels=state.levels(request))
    query = replace(query, last=state.answers(request).within(query.last))
    return await _computed(
        state,
        request,
        ("top", query),
        lambda: view.top(
            n=query.n, last=query.last, include_open=query.include_open, level=query.level
        ),
    )


async def _hierarchy(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    if not state.levels(request):
        raise _error(404, "stream", "one with levels", "one without")
    query = TreeQuery.of(request.query_params)
    query = replace(query, last=state.answers(request).within(query.last))
    return await _computed(
        state,
        request,
        ("hierarchy", query),
        lambda: view.hierarchy(share=query.share, last=query.last, include_open=query.include_open),
    )


async def _estimate(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = ItemsQuery.of(request.query_params)
    query = replace(query, last=state.answers(request).within(query.last))
    return await _computed(
        state,
        request,
        ("estimate", query, tuple(map(type, query.items))),
        lambda: view.counts(query.items, last=query.last, include_open=query.include_open),
    )


async def _course(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    query = ItemsQuery.of(request.query_params, of_windows=False)
    key = ("course", query.items, tuple(map(type, query.items)))
    return await _computed(state, request, key, lambda: view.courses(query.items))


async def _changes(state: Reading, request: Request) -> Response:
    view = state.of_items(request)
    against = against_of(request.query_params)
    return await _computed(state, request, ("changes", against), lambda: view.changes(against))


async def _distinct(state: Reading, request: Request) -> Response:
    view = state.answers(request).view
    if not isinstance(view, DistinctView):
        raise _error(404, "stream", "one of distinct items", "one of another kind")
    refuse_others(request.query_params, ())
    return await _computed(state, request, ("distinct",), view.number)


async def _computed(
    state: Reading,
    request: Request,
    key: tuple[object, ...],
    content: Callable[[], object],
) -> Response:
    """Return an answer in JSON that the first reader who asks for it waits for."""
    answers = state.answers(request)
    found = await state.computed(answers, key, lambda: answers.json(key, content))
    return _sent(request, found, answers)


async def _release(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ("last", "level"))
    answers = state.answers(request)
    last = answers.within(last_of(request.query_params))
    level = level_of(request.query_params, levels=state.levels(request))
    found = await state.computed(
        answers, ("merged", last, level), lambda: answers.merged_release(last, level)
    )
    return _sent(request, found, answers)


async def _window(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ("level",))
    answers = state.answers(request)
    level = level_of(request.query_params, levels=state.levels(request))
    number = window_of(request.path_params["number"])
    key = ("release", number, level)
    found = await state.computed(answers, key, lambda: answers.release(number, level))
    return _sent(request, found, answers)


async def _publication(state: Reading, request: Request) -> Response:
    refuse_others(request.query_params, ())
    answers = state.answers(request)
    return _sent(request, answers.manifest(), answers)


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
    ("/v1/streams/{name}/top", _top),
    ("/v1/streams/{name}/hierarchy", _hierarchy),
    ("/v1/streams/{name}/estimate", _estimate),
    ("/v1/streams/{name}/course", _course),
    ("/v1/streams/{name}/changes", _changes),
    ("/v1/streams/{name}/distinct", _distinct),
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


def _sent(request: Request, answer: Answer | None, answers: Answers) -> Response:
    """Return an answer, or that the reader has it."""
    if answer is None:
        raise _error(404, "window", "one that is published", "another")
    headers = {
        "ETag": f"W/{answer.etag}",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
        "Lazysketch-Publication": str(answers.publication.number),
    }
    if answer.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = answer.body
    if "gzip" in request.headers.get("accept-encoding", "") and answer.compressed is not None:
        body = answer.compressed
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=answer.media_type, headers=headers)


def _file(state: Reading, name: str, request: Request) -> Response:
    found = state.assets.get(name)
    if found is None:
        raise _error(404, "file", "one of the page", "another")
    content, kind, etag = found
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def _error(
    status: int,
    argument: str,
    expected: str,
    got: str,
    headers: Mapping[str, str] | None = None,
) -> HTTPException:
    return HTTPException(status, f"{argument}: expected {expected}, got {got}", headers)


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
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        with suppress(ClientDisconnect):  # a reader that left needs no answer, and is no failure
            await application(scope, receive, sent if scope["type"] == "http" else send)

    return answered
