"""Counting targets of a run and their public state.

A target takes rows like a sketch and returns its public state, a
:class:`~lazysketch.cli.view.report.Moment`, at any time; reading it costs no privacy. The run
controller and the displays use a target only through the protocol :class:`Target`. There are two
targets here, items of a public list and discovered items; ``run.windows`` has a third.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from lazysketch.cli.run.people import people_of
from lazysketch.cli.view.discovery_messages import final_outcome, outlook, truncated_items
from lazysketch.cli.view.guarantees import guarantees
from lazysketch.cli.view.report import Moment, report, waiting
from lazysketch.heavy_hitters.discovery_spec import LARGEST_EPOCH
from lazysketch.releases.rows import row_of
from lazysketch.specification.schedules import Single

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lazysketch import HeavyHitters, Release
    from lazysketch.cli.run.people import Refusing
    from lazysketch.cli.settings import PrivacySettings, PrivateSketch
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.cli.view.report import RowsOf
    from lazysketch.heavy_hitters import HeavyHitter
    from lazysketch.privacy.composable import Composable
    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.rows import ItemRow
    from lazysketch.store.stored_objects import StoredSketch

HEADER: Final = ("rank", "item", "estimate", "low", "high", "share", "above_noise", "complete")


class Target(Protocol):
    """The table that a run counts into."""

    @property
    def candidates(self) -> int:
        """The number of items from which the rows are selected."""

    @property
    def waits_for_end(self) -> bool:
        """True if nothing is public before the end of the input."""

    @property
    def people(self) -> Refusing | None:
        """What each person has contributed; None if people are not bounded."""

    @property
    def spends(self) -> Composable:
        """The guarantee of everything that is published."""

    @property
    def is_finished(self) -> bool:
        """True after the end of the stream was published."""

    @property
    def table_ids(self) -> frozenset[bytes]:
        """The ids of the tables that are published."""

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count events, one step each; of these people, where they are bounded."""

    def tick(self, steps: int) -> None:
        """Take steps without an event."""

    def moment(self) -> Moment | None:
        """Return the public state, None where only the end has one; from any thread."""

    def finish(self) -> Moment:
        """Publish what waits for the end of the input, and return the public state.

        A second call, after a failure of the first, continues.
        """

    def hold_back(self) -> None:
        """From now on publish nothing more, so that :meth:`finish` returns what is public.

        For an input that failed: whether and where it did may depend on its content.
        """

    def release(self) -> AnyRelease:
        """Return the table alone; faster than a moment."""

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with their parameters, guarantee and notes."""

    def close(self) -> None:
        """Destroy the private state."""


class TargetOfItems(Target, Protocol):
    """A table of items, of which a run may make a page."""

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> bytes:
        """Return the page of a report, with the counts of its items in these releases."""


class TakesRows(Protocol):
    """What counts the rows of a target."""

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count events, one step each."""

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Count rows, one step each; empty rows have no event."""

    def tick(self, steps: int) -> None:
        """Take steps without an event."""

    def close(self) -> None:
        """Destroy the private state, or close the state that keeps it."""


class WholeStream:
    """What a run counts a whole stream into: one release."""

    release: Callable[[], Any]

    @property
    def is_finished(self) -> bool:
        """True after the end of the stream was published."""
        return bool(self.release().finished)

    @property
    def table_ids(self) -> frozenset[bytes]:
        """The ids of the tables that are published."""
        return frozenset(part.sketch_id for part in self.release().parts)


class ListedItems(WholeStream):
    """Items of a public list, counted by a sketch.

    Args:
        sketch: The sketch.
        rows: Returns the rows of the result.
        candidates: The length of the list.
        rows_while_reading: Returns the rows until then; ``rows`` if None.
        counting: What counts the rows; the sketch if None.
    """

    def __init__(
        self,
        sketch: PrivateSketch | StoredSketch,
        rows: RowsOf,
        *,
        candidates: int,
        rows_while_reading: RowsOf | None = None,
        counting: TakesRows | None = None,
    ) -> None:
        taking: TakesRows = sketch if counting is None else counting
        self.candidates = candidates
        self.people = people_of(sketch)
        self._privacy = sketch.privacy
        self.spends: Composable = self._privacy
        self.waits_for_end = sketch.schedule == Single()
        self.update_many = taking.update_many
        self.update_rows = taking.update_rows
        self.tick = taking.tick
        self.release = sketch.release
        self.close = taking.close
        self._end: Callable[[], None] | None = sketch.finish
        self._advises = counting is None  # the first run of a state has chosen all options
        self._rows = rows
        self._rows_while_reading = rows_while_reading or rows

    def moment(self) -> Moment:
        """Return the public state."""
        return self._moment(self._rows_while_reading)

    def finish(self) -> Moment:
        """Publish everything pending, and return the public state at the end."""
        if self._end is not None:
            self._end()
        return self._moment(self._rows)

    def hold_back(self) -> None:
        """From now on publish nothing more."""
        self._end = None

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with the parameters and guarantee of its release."""
        return report(
            moment.release,
            moment.rows,
            of=of,
            inputs=inputs,
            length_known=length_known,
            advises=self._advises,
        )

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> bytes:
        """Return the page of a report, with the counts of its items in these releases."""
        among = self.candidates
        from lazysketch.cli.view.page import page_of_run  # late: few runs write a page

        return page_of_run(report, releases, of=of, privacy=self._privacy, among=among, listed=True)

    def _moment(self, rows: RowsOf) -> Moment:
        release = self.release()
        late = waiting(release)
        return Moment(
            release=release,
            rows=rows(release) if release.step else [],
            waiting=[late] if late else [],
            guarantee=guarantees(release)[0],
        )


class DiscoveredItems(WholeStream):
    """Items that are discovered in the stream, and their counts.

    Args:
        heavy: Discovers and counts the items.
        most: The maximum number of rows.
        asked: The requested guarantee, an upper bound on the sum over discovery and counts.
        counting: What counts the rows; the sketch if None.
    """

    def __init__(
        self,
        heavy: HeavyHitters,
        *,
        most: int,
        asked: PrivacySettings,
        counting: TakesRows | None = None,
    ) -> None:
        self._counting: TakesRows = heavy if counting is None else counting
        self.waits_for_end = heavy.schedule == Single()
        self.close = self._counting.close
        self.people = people_of(heavy)
        self.release = heavy.release
        self._end: Callable[[], None] | None = heavy.finish
        self._advises = counting is None  # the first run of a state has chosen all options
        self._heavy = heavy
        self._most = most
        self._privacy = dataclasses.replace(heavy.privacy, epsilon=asked.epsilon, delta=asked.delta)
        self.spends: Composable = self._privacy
        # Excludes updates while a moment is taken, so that its rows and release share one step.
        self._between_rows = threading.Lock()

    @property
    def candidates(self) -> int:
        """The number of discovered items."""
        return len(self._heavy.candidates)

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count events, one step each."""
        with self._between_rows:
            self._counting.update_many(items, weights, user=user)

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        with self._between_rows:
            self._counting.tick(steps)

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Count rows, one step each; empty rows have no event."""
        with self._between_rows:
            self._counting.update_rows(items, weights, empty_rows=empty_rows, user=user)

    def moment(self) -> Moment:
        """Return the public state."""
        heavy = self._heavy
        with self._between_rows:
            release = heavy.release()
            hitters = heavy.top(self._most)
            line = outlook(heavy)
        return self._moment(release, hitters, waits=[line])

    def finish(self) -> Moment:
        """Publish everything pending and the last names; return the public state at the end."""
        heavy = self._heavy
        with self._between_rows:
            if self._end is not None and heavy.step:
                self._end()
            release = heavy.release()
            hitters = heavy.top(self._most)
        return self._moment(release, hitters, waits=[])

    def hold_back(self) -> None:
        """From now on publish nothing more."""
        self._end = None

    def names(self) -> list[str]:
        """Return the discovered items that are not truncated, the heaviest first."""
        most = len(self._heavy.candidates) or 1
        return [str(hitter.item) for hitter in self._heavy.top(most) if hitter.complete]

    def report(self, moment: Moment, *, of: str, inputs: Row, length_known: bool) -> Report:
        """Return the rows of a moment with the joint guarantee of discovery and counts."""
        heavy, joint = self._heavy, self._privacy
        plain = report(
            moment.release,
            moment.rows,
            of=of,
            guarantee=[moment.guarantee],
            notes=[
                final_outcome(heavy, most=self._most, advises=self._advises),
                *truncated_items(moment.item_rows),
            ],
            inputs=inputs,
            length_known=length_known,
            advises=self._advises,
        )
        privacy = {
            **dataclasses.asdict(joint.sketch),
            "epsilon": joint.epsilon,
            "delta": joint.delta,
            "discovery_epsilon": joint.discovery_epsilon,
            "discovery_delta": joint.discovery_delta,
        }
        names = {
            "found": len(heavy.candidates),
            "every": None if heavy.discovery_epoch == LARGEST_EPOCH else heavy.discovery_epoch,
            "smallest_share": heavy.smallest_share,
        }
        summary = {**plain.summary, "privacy": privacy, "names": names}
        return dataclasses.replace(plain, summary=summary, header=HEADER)

    def page(self, report: Report, releases: Sequence[Release], *, of: str) -> bytes:
        """Return the page of a report, with the counts of its items in these releases."""
        among = self.candidates
        from lazysketch.cli.view.page import page_of_run  # late: few runs write a page

        return page_of_run(
            report, releases, of=of, privacy=self._privacy, among=among, listed=False
        )

    def _moment(
        self, release: Release, hitters: Sequence[HeavyHitter], *, waits: list[str]
    ) -> Moment:
        late = waiting(release)
        return Moment(
            release=release,
            rows=[_row(hitter, rank) for rank, hitter in enumerate(hitters, start=1)],
            waiting=[*waits, *([late] if late else [])],
            guarantee=str(self._privacy),
        )


def _row(hitter: HeavyHitter, rank: int) -> ItemRow:
    row = row_of(hitter.item, hitter.estimate, hitter.low, hitter.high, share=hitter.share)
    return {"rank": rank, **row, "complete": hitter.complete}
