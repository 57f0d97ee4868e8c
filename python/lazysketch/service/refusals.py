"""Errors as answers: the argument, what was expected, what came, and never a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["refusal_of", "refused"]


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
    return {"error": {"argument": argument, "expected": expected, "got": got}}


def refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that is refused.

    Args:
        status: status of HTTP.
        message: as ``argument: expected one thing, got another``.
        headers: more headers.
    """
    return JSONResponse(refusal_of(message), status_code=status, headers=headers)
