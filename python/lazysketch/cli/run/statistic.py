"""One statistic of a stream as the target of a run: distinct items, values, ranges, sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lazysketch.cli.run.people import people_of
from lazysketch.cli.run.targets import WholeStream
from lazysketch.cli.view.guarantees import guarantees
from lazysketch.cli.view.report import CONFIDENCE, Moment, report
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lazysketch.cli.run.targets import TakesRows
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.privacy.composable import Composable
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.specification.schedules import Schedule

__all__ = ["Answers", "OfNoItems", "Shown", "Statistic", "columns_of"]


class _Counted(Protocol):
    """What a live statistic is, here and in a state."""

    @property
    def privacy(self) -> Composable: ...

    @property
    def schedule(self) -> Schedule: ...

    def tick(self, steps: int = 1) -> None: ...

    def finish(self) -> None: ...

    def release(self) -> AnyRelease: ...

    def close(self) -> None: ...

    # One column, or items and their values.
    def update_many(self, *columns: Any, **others: Any) -> None: ...

    def update_rows(self, *columns: Any, **others: Any) -> None: ...


class Shown(Protocol):
    """What is shown of a release."""

    @property
    def ends(self) -> tuple[str, str] | None:
        """The keys of the ends of an interval; None for those of the kind."""

    @property
    def each(self) -> str | None:
        """What has an interval of its own; None for that of the kind."""

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""


class Answers:
    """The rows that a query of the release without a question has."""

    ends = None
    each = None

    def rows(self, release: AnyRelease) -> Sequence[Row]:
        """Return the rows."""
        return release._rows((), confidence=CONFIDENCE)


class OfNoItems:
    """A target whose rows are not those of items."""


class Statistic(WholeStream, OfNoItems):
    """A statistic of a stream.

    Args:
        counted: Counts what it is of.
        shown: What is shown of it; what a query shows if None.
        counting: What counts the rows; ``counted`` if None.
    """

    candidates = 1

    def __init__(
        self,
        counted: _Counted,
        shown: Shown | None = None,
        *,
        counting: TakesRows | None = None,
    ) -> None:
        taking: TakesRows | _Counted = counted if counting is None else counting
        self._counted: Any = taking  # some have people, which is known when rows come
        self.people = people_of(counted)
        self._shown: Shown = Answers() if shown is None else shown
        self.spends: Composable = counted.privacy
        self.waits_for_end = counted.schedule == Single()
        self.tick = taking.tick
        self.release = counted.release
        self.close = taking.close
        self._end: Callable[[], None] | None = counted.finish
        self._advises = counting is None  # the first run of a state has chosen all options

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Take a step for each event."""
        self._counted.update_many(*columns_of(items, weights), **_of(user))

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Take a step for each row; empty rows have no event."""
        self._counted.update_rows(*columns_of(items, weights), empty_rows=empty_rows, **_of(user))

    def moment(self) -> Moment:
        """Return the public state."""
        release = self.release()
        return Moment(
            release=release,
            rows=self._shown.rows(release) if release.step else [],
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
        """Return the rows of a moment with the parameters and the guarantee of its release."""
        return report(
            moment.release,
            moment.rows,
            of=of,
            inputs=inputs,
            length_known=length_known,
            advises=self._advises,
            ends=self._shown.ends,
            each=self._shown.each,
        )


def columns_of(items: object, weights: object) -> tuple[object, ...]:
    """Return the columns of a batch; of sums weights are values, and some have none.

    Args:
        items: One column.
        weights: Another one, or None.
    """
    return (items,) if weights is None else (items, weights)


def _of(user: object) -> dict[str, object]:
    """Return the argument of people, which objects without a bound may not have."""
    return {} if user is None else {"user": user}
