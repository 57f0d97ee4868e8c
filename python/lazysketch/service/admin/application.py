"""The application of the operator: streams, what they spend, their end, readiness and metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.service.admin.exporting import archive_of
from lazysketch.service.admin.openapi import description
from lazysketch.service.refusals import refused, unexpected
from lazysketch.service.stream_settings import StreamSettings

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from lazysketch.service.admin.operations import Operations
    from lazysketch.service.host import Host
    from lazysketch.service.settings import ServiceSettings

__all__ = ["admin_application"]

_LARGEST_BODY: Final = 1 << 20

Handler = Callable[["_Admin", "Request"], Awaitable[Response]]


class _Admin:
    """The state of the application."""

    def __init__(self, host: Host, settings: ServiceSettings, operations: Operations) -> None:
        self.host, self.settings, self.operations = host, settings, operations
        self.tokens = settings.admin.tokens


async def _streams(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    return JSONResponse({"streams": await asyncio.to_thread(_described, state.host)})


async def _create(state: _Admin, request: Request) -> Response:
    content = await _object(request)
    name = content.pop("name", None)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: expected a text, got {type(name).__name__}")
    settings = StreamSettings.from_mapping(name, content)
    if settings.name in state.host.streams:
        raise ArgumentValueError("name: expected that of a new stream, got one that exists")
    for what in ("follow", "kafka", "webhook", "alert_webhook"):
        if getattr(settings, what) is not None:
            raise ArgumentValueError(
                f"{what}: expected none, since it takes the configuration and a start, got one"
            )
    await asyncio.to_thread(state.host.open_streams, [settings])
    return JSONResponse({"created": settings.name}, status_code=201)


async def _finish(state: _Admin, request: Request) -> Response:
    name = _known(state, request)
    await asyncio.to_thread(state.host.finish, name)
    return JSONResponse({"finished": name})


def _known(state: _Admin, request: Request) -> str:
    """Return the name of the stream of an address."""
    name: str = request.path_params["name"]
    if name not in state.host.streams:
        raise HTTPException(404, "stream: expected the name of a stream, got another")
    return name


async def _spent(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    spent = state.host.store.spent
    parts = [
        {"stream": one.name, "era": one.era, "epsilon": one.epsilon, "delta": one.delta}
        for one in spent.parts
    ]
    return JSONResponse({"sentence": str(spent), "complete": spent.complete, "parts": parts})


async def _checkpoint(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    await asyncio.to_thread(state.host.store.checkpoint)
    return JSONResponse({"checkpoint": "written"})


async def _export(state: _Admin, request: Request) -> Response:
    name, host = _known(state, request), state.host
    signed = await asyncio.to_thread(host.files.read_signed, name)
    if signed is None:
        raise ArgumentValueError("stream: expected one that was published, got none before a tick")
    return StreamingResponse(
        archive_of(host.files, host.facts, name, signed),
        media_type="application/x-tar",
        headers={"Content-Disposition": f'attachment; filename="{name}-{signed.number}.tar"'},
    )


async def _rotate_tokens(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    await asyncio.to_thread(state.settings.rotate_tokens)
    faces = {"ingest": state.settings.ingest, "admin": state.settings.admin}
    owners = {face: sorted(listener.tokens.hashes) for face, listener in faces.items()}
    return JSONResponse({"owners": owners})


async def _rotate_key(state: _Admin, request: Request) -> Response:
    content = await _object(request)
    path = content.pop("new_key", None)
    if not isinstance(path, str) or content:
        raise ArgumentTypeError("new_key: expected the path of a new file alone, got another body")
    await asyncio.to_thread(state.host.rotate_key, Path(path))
    return JSONResponse({"key_file": path})


async def _metrics(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    content = await asyncio.to_thread(state.operations.exposed)
    return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _ready(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    # Streams are open before the listener is, whatever waits to be counted.
    return JSONResponse({"ready": True, "streams": list(state.host.streams)})


async def _openapi(state: _Admin, request: Request) -> Response:  # noqa: ARG001 -- one signature
    ingest = state.settings.ingest
    scheme = "http" if ingest.certificate is None else "https"
    host = f"[{ingest.host}]" if ":" in ingest.host else ingest.host
    return JSONResponse(description(ingest=f"{scheme}://{host}:{ingest.port}"))


_ADDRESSES: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("GET", "/v1/streams", _streams),
    ("POST", "/v1/streams", _create),
    ("POST", "/v1/streams/{name}/finish", _finish),
    ("GET", "/v1/streams/{name}/export", _export),
    ("POST", "/v1/rotate/tokens", _rotate_tokens),
    ("POST", "/v1/rotate/key", _rotate_key),
    ("GET", "/v1/spent", _spent),
    ("POST", "/v1/checkpoint", _checkpoint),
    ("GET", "/metrics", _metrics),
    ("GET", "/readyz", _ready),
    ("GET", "/openapi.json", _openapi),
)


def admin_application(host: Host, settings: ServiceSettings, operations: Operations) -> ASGIApp:
    """Return the application of the operator.

    Args:
        host: the streams.
        settings: what the operator chose, with the accepted tokens; none accepts everyone who can
            connect.
        operations: the exact rates of the service.
    """
    state = _Admin(host, settings, operations)

    def bound(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            header = request.headers.get("authorization")
            if state.tokens.owner(None if header is None else header.encode()) is None:
                return refused(
                    401,
                    "authorization: expected a token of the operator, got another or none",
                    {"WWW-Authenticate": "Bearer"},
                )
            try:
                return await handler(state, request)
            except LazySketchError as error:
                return refused(400, str(error))

        return answered

    async def healthy(_: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    routes = [Route(path, bound(handler), methods=[method]) for method, path, handler in _ADDRESSES]
    routes.append(Route("/healthz", healthy, methods=["GET"]))
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _http_error, 500: unexpected},
        max_body_size=_LARGEST_BODY,
    )


def _described(host: Host) -> list[dict[str, Any]]:
    """Return the streams, with what was published of each."""
    found = []
    for name, stream in list(host.streams.items()):
        signed = host.files.read_signed(name)
        found.append(
            {
                "name": name,
                "title": stream.facts.title,
                "guarantee": str(stream.counts.privacy),
                "published": None if signed is None else signed.number,
                "finished": stream.counts.finished,
            }
        )
    return found


async def _object(request: Request) -> dict[str, Any]:
    try:
        content = json.loads(await request.body())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ArgumentTypeError("body: expected a JSON object, got something else")
    return content


async def _http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 -- one signature
    assert isinstance(error, HTTPException)  # noqa: S101 -- registered for it alone
    known = {404: "an address of this service", 405: "a method of this address"}
    expected = known.get(error.status_code, "a request of this service")
    detail = (
        error.detail
        if ": expected" in error.detail
        else f"request: expected {expected}, got another"
    )
    return refused(error.status_code, detail)
