"""Base of all releases: what a reader needs that does not know the kind.

The classes of the kinds have queries of their own. A reader of any release, such as the command
line, asks for the words of its kind, its shape and its rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazysketch.errors import MergeError
from lazysketch.releases.kinds import KINDS, Kind
from lazysketch.releases.saved_release import SavedRelease
from lazysketch.releases.table_facts import TableFacts

if TYPE_CHECKING:
    from lazysketch.releases.parts import ReleasePart
    from lazysketch.releases.rows import Row

__all__ = ["ReleaseOfKind"]


class ReleaseOfKind(SavedRelease, TableFacts):
    """A release of any kind."""

    @property
    def _words(self) -> Kind:
        """What a reader is told of its kind."""
        return KINDS[self.kind]

    def _check_parts(self) -> None:
        _ = self._parts  # described here, and kept

    @property
    def _shape(self) -> str:
        """The kind and the size of the table, in words."""
        return f"{self.kind} {self.depth} x {self.width:,}"

    @property
    def _number_of_names(self) -> int:
        """How many public names it holds."""
        return 0

    def _promised(self, part: ReleasePart) -> str:
        """Return what the run of a part promised, in one line."""
        return str(part.promised)

    @abstractmethod
    def _rows(self, questions: Sequence[str], *, confidence: float) -> Sequence[Row]:
        """Return the rows of a query: one for each question, or those of the kind if there is none.

        Args:
            questions: What is asked, as it was typed.
            confidence: Of each interval.

        Raises:
            ArgumentValueError: a question that the kind has no answer to.
        """

    def _merged(self, others: Sequence[ReleaseOfKind]) -> ReleaseOfKind:
        """Return the sum with releases of the same class; only of kinds that add up."""
        raise MergeError(f"expected one release of {self._words.counted}, got {len(others) + 1}")
