"""One life: what holds a live private state cannot be copied or pickled, and ends with its block.

Two tables with one working key and different events would publish the same noise on different
counts, and the difference of their releases would be exact.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn, Protocol, TypeVar

from lazysketch.errors import LiveStateError

__all__ = ["ClosedByBlock", "SingleLife"]


class _Closable(Protocol):
    def close(self) -> None: ...


Live = TypeVar("Live", bound=_Closable)


class ClosedByBlock:
    """Base of what a with block closes at its end, however that comes."""

    def __enter__(self: Live) -> Live:
        return self

    def __exit__(
        self: _Closable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class SingleLife:
    """Base of every live private table, and of what holds some.

    Guarantee: copying, deep-copying and pickling raise LiveStateError.
    """

    def __copy__(self) -> NoReturn:
        self._refuse("copying")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self._refuse("copying")

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickling")

    def _refuse(self, deed: str) -> NoReturn:
        raise LiveStateError(
            f"sketch: expected one live state, got {deed}; two copies would publish one noise on "
            "different counts. Keep release() instead, or make another sketch with the same "
            "hash_seed and merge the releases"
        )
