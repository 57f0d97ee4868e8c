"""Distinct items of a stream as the target of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from lazysketch.cli.view.guarantees import guarantees
from lazysketch.cli.view.report import CONFIDENCE, Moment, report
from lazysketch.errors import ArgumentTypeError
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lazysketch import DistinctCount, DistinctRelease, Release
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.privacy.composable import Composable

__all__ = ["DistinctItems"]


class DistinctItems:
    """The number of distinct items.

    Args:
        counted: Counts them.
    """

    candidates = 1
    people = None

    def __init__(self, counted: DistinctCount) -> None:
        self._counted = counted
        self.spends: Composable = counted.privacy
        self.waits_for_end = counted.schedule == Single()
        self.tick = counted.tick
        self.release = counted.release
        self.close = counted.close
        self._end: Callable[[], None] | None = counted.finish

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Take a step for each event."""
        del weights, user  # there are none
        self._counted.update_many(items)

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Take a step for each row; empty rows have no event."""
        del weights, user  # there are none
        self._counted.update_rows(items, empty_rows=empty_rows)

    def moment(self) -> Moment:
        """Return the public state."""
        release: DistinctRelease = self.release()
        return Moment(
            release=release,
            rows=release._rows((), confidence=CONFIDENCE) if release.step else [],
            waiting=[],
            guarantee=guarantees(release)[0],
        )

    def finish(self) -> Moment:
        """Publish everything pending, and return the public state at the end."""
        if self._end is not None:
            self._end()
        return self.moment()

    def hold_back(self) -> None:
        """From now on publish nothing more."""
        self._end = None

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the number with the parameters and the guarantee of its release."""
        release, rows = moment.release, moment.rows
        return report(release, rows, of=of, inputs=inputs, length_known=length_known)

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> NoReturn:
        """Raise: a number has no page."""
        del report, releases, of
        raise ArgumentTypeError("--plot: expected none for distinct items, got one")
