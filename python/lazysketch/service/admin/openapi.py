"""The OpenAPI document of what needs a token: the operator's address, and that of senders."""

from __future__ import annotations

from typing import Any, Final

from lazysketch import __version__
from lazysketch.service.ingest.envelopes import ARROW, JSON_ARRAY, JSON_LINES, LINES

__all__ = ["description"]

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_ERROR: Final[Schema] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["argument", "expected", "got"],
            "properties": {"argument": _TEXT, "expected": _TEXT, "got": _TEXT},
        }
    },
}


def _parameter(name: str, place: str, schema: Schema, description: str) -> Schema:
    """Return a parameter; those of the path are required."""
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": schema,
        "description": description,
    }


_NAME: Final = _parameter(
    "name",
    "path",
    {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
    "Name of the stream",
)
_KEY: Final = _parameter(
    "Idempotency-Key",
    "header",
    {"type": "string", "pattern": "^[^:]{1,100}:[0-9]{1,19}$"},
    "SOURCE:SEQUENCE; a batch that is sent again is not counted again",
)
_CODING: Final = _parameter(
    "Content-Encoding",
    "header",
    {"enum": ["identity", "gzip", "zstd"]},
    "How the body is compressed",
)
_COUNTED: Final[Schema] = {
    "type": "object",
    "required": ["events", "repeated", "refused", "refused_events"],
    "properties": {
        "events": _COUNT,
        "repeated": {"type": "boolean"},
        "refused_events": _COUNT,
        "refused": {
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "required": ["position", "code"],
                "properties": {
                    "position": _COUNT,
                    "code": {"enum": ["malformed", "no-user", "too-long"]},
                },
            },
        },
    },
}
_STREAM: Final[Schema] = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _NAME["schema"]},
    "description": "The name of a stream, and its settings as in the file of settings",
}
_NEW_KEY: Final[Schema] = {
    "type": "object",
    "required": ["new_key"],
    "properties": {"new_key": _TEXT},
    "additionalProperties": False,
}


def _operation(
    name: str,
    summary: str,
    *statuses: int,
    answer: str = "application/json",
    schema: Schema | None = None,
    body: dict[str, Schema] | None = None,
    parameters: tuple[Schema, ...] = (),
) -> Schema:
    """Return an operation; the first status is that of success."""
    error = {"description": "Refused", "content": {"application/json": {"schema": _ERROR}}}
    done = {"description": "Done", "content": {answer: {"schema": schema or {}}}}
    found: Schema = {
        "operationId": name,
        "summary": summary,
        "parameters": list(parameters),
        "responses": {
            str(statuses[0]): done,
            **{str(status): error for status in (401, *statuses[1:])},
        },
    }
    if body is not None:
        content = {kind: {"schema": one} for kind, one in body.items()}
        found["requestBody"] = {"required": True, "content": content}
    return found


def description(*, ingest: str) -> Schema:
    """Return the OpenAPI document of the operator and of senders.

    Args:
        ingest: the address to which senders post.

    Returns:
        A value that JSON has.
    """
    events: dict[str, Schema] = {kind: {} for kind in (JSON_LINES, JSON_ARRAY, ARROW, LINES)}
    json_of = "application/json"
    stream = "/v1/streams/{name}"
    text, tar = "text/plain", "application/x-tar"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The service, for its operator and for senders",
            "version": __version__,
            "description": "Exact numbers: never open to readers.",
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/v1/streams": {
                "get": _operation("streams", "All streams", 200),
                "post": _operation("create", "Make a stream", 201, 400, body={json_of: _STREAM}),
            },
            f"{stream}/events": {
                "servers": [{"url": ingest}],
                "post": _operation(
                    "events",
                    "Count a batch; answered after it is durable",
                    *(200, 400, 404, 408, 409, 413, 415, 429, 503),
                    schema=_COUNTED,
                    body=events,
                    parameters=(_NAME, _KEY, _CODING),
                ),
            },
            f"{stream}/finish": {
                "post": _operation("finish", "End a stream", 200, 400, 404, parameters=(_NAME,))
            },
            f"{stream}/export": {
                "get": _operation(
                    "export", "What was published", 200, 400, 404, answer=tar, parameters=(_NAME,)
                )
            },
            "/v1/rotate/tokens": {
                "post": _operation("rotate_tokens", "Read the tokens again", 200, 400)
            },
            "/v1/rotate/key": {
                "post": _operation(
                    "rotate_key", "Another key of the store", 200, 400, body={json_of: _NEW_KEY}
                )
            },
            "/v1/spent": {"get": _operation("spent", "What was spent of privacy", 200)},
            "/v1/checkpoint": {"post": _operation("checkpoint", "Write a checkpoint", 200, 400)},
            "/metrics": {"get": _operation("metrics", "Exact rates", 200, answer=text)},
            "/readyz": {"get": _operation("ready", "Whether all streams are open", 200)},
        },
    }
