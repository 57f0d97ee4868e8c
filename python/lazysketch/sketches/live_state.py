"""Live state: non-copyable, non-picklable, closed by ``with``.

Two tables with the same working key and different events would publish the same noise on different
counts; the difference of their releases would be exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import NoReturn, Protocol, TypeVar, cast

from lazysketch import _native
from lazysketch.errors import LiveStateError

__all__ = ["ClosedByBlock", "LiveState", "exclusive"]


class _Closable(Protocol):
    def close(self) -> None: ...


class _Locked(Protocol):
    _lock: object


Live = TypeVar("Live", bound=_Closable)
Method = TypeVar("Method", bound=Callable[..., object])


def exclusive(method: Method) -> Method:
    """Return a method that holds the lock of its object while it runs.

    The core takes and releases the lock, so that no interrupt leaves it held. After the end of a
    ``with`` block, one may come before the release.

    Args:
        method: of a class whose objects have a lock of ``threading`` in ``_lock``.

    Returns:
        The method with the same signature.
    """

    @wraps(method)
    def locked(self: _Locked, *args: object, **kwargs: object) -> object:
        return _native.call_locked(self._lock, method, (self, *args), kwargs)

    return cast("Method", locked)


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
