"""The exact sketches, NOT PRIVATE: the baselines of the paper.

An update costs depth additions, an estimate depth look-ups, a cell 4 bytes (8 where 32 bits could
overflow). Exact sketches can be read, copied, pickled and merged freely; their releases are marked
NOT PRIVATE.

Sources: Cormode and Muthukrishnan 2005 (Count-Min); Charikar, Chen and Farach-Colton 2002 (Count
Sketch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError
from lazysketch.releases.release import ReadsByRelease, Release
from lazysketch.specification.sizing import SketchKind, size_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CountMin", "CountSketch"]


class _Exact(_native.ExactSketch, ReadsByRelease):
    """Base of the exact sketches."""

    _kind: ClassVar[SketchKind]

    def __new__(
        cls,
        *,
        depth: int | None = None,
        width: int | None = None,
        relative_error: float | None = None,
        failure_probability: float | None = None,
        hash_seed: int | None = None,
    ) -> Self:
        """Choose the size and make the native sketch."""
        rows, columns = size_of(
            cls._kind,
            depth=depth,
            width=width,
            relative_error=relative_error,
            failure_probability=failure_probability,
        )
        if hash_seed is not None:
            hash_seed = checked_integer("hash_seed", hash_seed, least=0, most=2**64 - 1)
        return super().__new__(cls, kind=cls._kind, depth=rows, width=columns, hash_seed=hash_seed)

    def release(self) -> Release:
        """Return the exact table as a release that is marked NOT PRIVATE.

        Returns:
            A release with the exact counts.
        """
        return Release(self._release())

    def merge(self, other: Self) -> Self:
        """Return the sketch of both streams together.

        Args:
            other: a sketch of the same class, depth, width and hash seed.

        Returns:
            A new sketch; both arguments are unchanged.

        Raises:
            ArgumentTypeError: not a sketch of this class.
            MergeError: different shapes or hash seeds.
        """
        if not isinstance(other, type(self)):
            raise ArgumentTypeError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}"
            )
        return self._revive(self._merged(other).to_bytes())

    @classmethod
    def _revive(cls, state: bytes) -> Self:
        release, _ = _native.Release.from_bytes(state)
        return super().__new__(cls, kind=cls._kind, state=release)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """The exact counts, int64 of shape (depth, width), read-only."""
        table = super().table
        table.setflags(write=False)
        return table

    def __copy__(self) -> Self:
        return self._revive(self._release().to_bytes())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._revive, (self._release().to_bytes(),)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} depth={self.depth}, width={self.width}, "
            f"hash_seed={self.hash_seed}, step={self.step}, NOT PRIVATE: exact counts, no noise>"
        )


class CountMin(_Exact):
    """An exact Count-Min sketch, NOT PRIVATE.

    Guarantee: an estimate is never below the true count. For an item fixed in advance it exceeds
    the count by more than relative_error times the total weight with probability at most
    failure_probability.

    Args:
        depth: rows, 1 to 64; with ``width``.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: instead of sizes; with ``relative_error``.
        hash_seed: public seed, 0 to 2^64 - 1; random when None. Merging requires equal seeds.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: a value outside its range.

    Source: Cormode and Muthukrishnan 2005, Theorem 1.

    Example:
        >>> sketch = CountMin(depth=3, width=1000)
        >>> sketch.update_many(["a", "b", "a"])
        >>> sketch.estimate("a")
        2.0
    """

    _kind: ClassVar[SketchKind] = "count-min"


class CountSketch(_Exact):
    """An exact Count Sketch, NOT PRIVATE.

    Guarantee: an estimate is unbiased. For an item fixed in advance its error exceeds
    relative_error times the Euclidean norm of the counts with probability at most
    failure_probability.

    Args:
        depth: rows, 1 to 64; with ``width``. Odd depths have a true median.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: instead of sizes; with ``relative_error``.
        hash_seed: public seed, 0 to 2^64 - 1; random when None. Merging requires equal seeds.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: a value outside its range.

    Source: Charikar, Chen and Farach-Colton 2002.

    Example:
        >>> sketch = CountSketch(depth=3, width=1000)
        >>> sketch.update("a", 5)
        >>> sketch.estimate("a")
        5.0
    """

    _kind: ClassVar[SketchKind] = "count-sketch"
