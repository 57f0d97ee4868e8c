"""The batches of a run: to the end of its source, a failure, the horizon or a request to stop."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from lazysketch.errors import HorizonError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Generator

    from typing_extensions import Self

__all__ = ["UntilFailure"]


class _Batch(Protocol):
    """Consecutive rows."""

    @property
    def rows(self) -> int: ...

    def first(self, rows: int) -> Self: ...


_Rows = TypeVar("_Rows", bound=_Batch)


_Read = TypeVar("_Read", covariant=True)


class _Source(Protocol[_Read]):
    """What yields batches, and may be asked to end."""

    @property
    def max_weight(self) -> int: ...

    @property
    def of_people(self) -> bool: ...

    @property
    def reads_ahead(self) -> bool: ...

    def stop(self) -> None: ...

    def __iter__(self) -> Generator[_Read, None, None]: ...


class UntilFailure(Generic[_Rows]):
    """The batches of a source up to a request to stop, its first failure or the horizon.

    Args:
        source: The source.
        horizon: The number of rows at most; None for any.
    """

    def __init__(self, source: _Source[_Rows], *, horizon: int | None) -> None:
        self.max_weight = source.max_weight
        self.of_people = source.of_people
        self.failure: LazySketchError | None = None
        self.stopped = False
        self.ended = False
        self._source = source
        self._horizon = horizon
        self._waiting = False

    def end(self) -> None:
        """Read nothing: the stream has ended before."""
        self.ended = True

    def stop(self) -> bool:
        """End the batches; return False if only an exception ends the wait for the next one."""
        self.stopped = True
        self._source.stop()
        return self._source.reads_ahead or not self._waiting

    def __iter__(self) -> Generator[_Rows, None, None]:
        left = self._horizon
        if self.ended:
            return
        try:
            with closing(iter(self._source)) as batches:
                while (batch := self._next(batches)) is not None:
                    if left is not None and batch.rows > left:
                        yield batch.first(left)
                        self.failure = HorizonError("horizon")
                        return
                    yield batch
                    left = None if left is None else left - batch.rows
        except LazySketchError as failure:
            self.failure = failure

    def _next(self, batches: Generator[_Rows, None, None]) -> _Rows | None:
        self._waiting = True
        try:
            return next(batches, None)
        finally:
            self._waiting = False
