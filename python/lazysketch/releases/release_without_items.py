"""Base of the releases that count no items: they have no names, and queries of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from lazysketch import _native
from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.items import Item
from lazysketch.releases.kinds import KINDS
from lazysketch.releases.release_of_kind import ReleaseOfKind
from lazysketch.releases.table_facts import FactsOfOneTable

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ReleaseWithoutItems"]


class ReleaseWithoutItems(ReleaseOfKind, FactsOfOneTable):
    """A release of one kind of table, whose cells are not those of items."""

    _KIND: ClassVar[str]
    """The kind of its table."""

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from live objects and files."""
        super().__init__(native)
        if native.kind != self._KIND:
            raise ReleaseFormatError(
                f"release: expected one of {self._counted()}, got one of kind {native.kind!r}"
            )

    @classmethod
    def _made(cls, native: _native.Release, names: Iterable[Item]) -> Self:
        if tuple(names):
            raise ReleaseFormatError(f"release: expected no names of {cls._counted()}, got some")
        return cls(native)

    @classmethod
    def _counted(cls) -> str:
        """Return what it counts, in words."""
        return KINDS[cls._KIND].counted

    def to_bytes(self) -> bytes:
        """Return the release as bytes, the same on every platform.

        Returns:
            The bytes that docs/release-format.md describes.
        """
        return self._native.to_bytes(None)

    @property
    def _most(self) -> float:
        """The largest weight of all steps, if each has at most one event."""
        one_each = all(
            part.schedule is not None and part.schedule.name != "batch" for part in self._parts
        )
        return float(self.step * self._max_weight) if one_each else math.inf

    def _described(self, size: str) -> str:
        """Return the text of a release that may be merged.

        Args:
            size: of its table, in words.
        """
        one = len(self._parts) == 1
        made = f"step {self.step}" if one else f"{len(self._parts)} parts merged"
        made += ", finished" if self.finished else ""
        text = f"<{type(self).__name__} of {size}, {made}"
        if not self.private:
            return f"{text}, NOT PRIVATE: {'; '.join(self.not_private_because)}>"
        return f"{text}, {self.privacy}>" if one else f"{text}, each with its own guarantee>"
