"""Live state: non-copyable, non-picklable, closed by ``with``.

Two tables with the same working key and different events would publish the same noise on different
counts; the difference of their releases would be exact.
"""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn, Protocol, TypeVar

from lazysketch.errors import LiveStateError

__all__ = ["ClosedByBlock", "LiveState"]


class _Closable(Protocol):
    def close(self) -> None: ...


Live = TypeVar("Live", bound=_Closable)


class ClosedByBlock:
    """Base of objects that a ``with`` block closes, also after an exception."""

    def __enter__(self: Live) -> Live:
        return self

    def __exit__(
        self: _Closable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LiveState:
    """Base of live private tables and of objects that hold them.

    Guarantee: copying, deep-copying and pickling raise LiveStateError.
    """

    def __copy__(self) -> NoReturn:
        self._refuse("copying")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse("copying")

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickling")

    def _refuse(self, attempt: str) -> NoReturn:
        raise LiveStateError(
            f"sketch: expected one live state, got {attempt}; two copies would publish the same "
            "noise on different counts. Keep release() instead, or make another sketch with the "
            "same hash_seed and merge the releases"
        )
