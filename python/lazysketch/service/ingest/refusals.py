"""Why a request is refused, as its sender reads it: never with a value of its body."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lazysketch.service.refusals import error_object

__all__ = ["Header", "RefusedRequestError"]

Header = tuple[bytes, bytes]


class RefusedRequestError(Exception):
    """A request of which nothing is counted.

    Args:
        status: the status of the answer, 400 to 599.
        argument: what of the request is wrong.
        expected: what was expected.
        got: what there was, without a value of the body.
        headers: further headers of the answer.
        read: False if bytes of the body may be left, so that the connection is closed.
    """

    def __init__(
        self,
        status: int,
        argument: str,
        expected: str,
        got: str,
        *,
        headers: Sequence[Header] = (),
        read: bool = True,
    ) -> None:
        super().__init__(f"{argument}: expected {expected}, got {got}")
        self.status, self.argument = status, argument
        self.expected, self.got = expected, got
        closing: tuple[Header, ...] = () if read else ((b"connection", b"close"),)
        self.headers = (*headers, *closing)

    @property
    def body(self) -> bytes:
        """The answer as JSON."""
        return json.dumps(error_object(self.argument, self.expected, self.got)).encode()
