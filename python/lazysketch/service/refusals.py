"""Errors as answers: the argument, what was expected, what came, and never a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["error_object", "refusal_of", "refused", "unexpected"]


def refusal_of(message: str) -> dict[str, dict[str, str]]:
    """Return an error message of the library as an object.

    Args:
        message: as ``argument: expected one thing, got another``.

    Example:
        >>> refusal_of("n: expected an integer, got another")["error"]["expected"]
        'an integer'
    """
    argument, _, rest = message.partition(": expected ")
    expected, _, got = rest.rpartition(", got ")
    return error_object(argument, expected, got)


def error_object(argument: str, expected: str, got: str) -> dict[str, dict[str, str]]:
    """Return what every refused request is answered with.

    Args:
        argument: what of the request is wrong.
        expected: what was expected.
        got: what there was, without a value.
    """
    return {"error": {"argument": argument, "expected": expected, "got": got}}


async def unexpected(request: Request, error: Exception) -> Response:  # noqa: ARG001 -- a handler
    """Return the answer to a request that failed; the server logs the failure.

    Args:
        request: the request.
        error: the failure.
    """
    return refused(500, "service: expected an answer, got a failure that is logged")


def refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that is refused.

    Args:
        status: status of HTTP.
        message: as ``argument: expected one thing, got another``.
        headers: more headers.
    """
    return JSONResponse(refusal_of(message), status_code=status, headers=headers)
