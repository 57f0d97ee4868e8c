"""What a run counts, and what of it is public at a moment.

Two subjects: items of a public list, and names that are found on the way. Both take rows as a
sketch does and tell a :class:`Moment` whenever they are asked; asking costs no privacy. Whoever
feeds, draws or writes knows no more of a subject than this, so that another one (windows of
time, say) has to bring these few methods only.
"""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lazysketch.cli.view.discovery_messages import cut_names, found_names, outlook
from lazysketch.cli.view.report import promises, report, row_of, waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import HeavyHitters, Release
    from lazysketch.cli.options import PrivateSketch
    from lazysketch.cli.view.output import Report
    from lazysketch.cli.view.report import Rows
    from lazysketch.heavy_hitters import HeavyHitter

HEADER = ("rank", "item", "estimate", "low", "high", "share", "above_noise", "complete")


@dataclass(frozen=True, slots=True)
class Moment:
    """What is public at one step.

    Args:
        release: The table.
        rows: What is shown of it.
        waiting: What the rows wait for, a sentence each.
        promise: The guarantee of everything the run publishes.
        progress: How far it is, where steps do not say it.
    """

    release: Release
    rows: list[dict[str, Any]]
    waiting: list[str]
    promise: str
    progress: str | None = None


class Subject(Protocol):
    """What a run counts."""

    @property
    def choice(self) -> int:
        """From how many items those that are shown are chosen."""

    def update_many(self, items: Any, weights: Any = None) -> None:
        """Count events, one step each."""

    def tick(self, steps: int) -> None:
        """Take steps without an event."""

    def moment(self) -> Moment | None:
        """Return what is public now, None if nothing is before the end; from any thread."""

    def finish(self) -> Moment:
        """Publish what waits for the end of the input, and return what is public then."""

    def release(self) -> Release:
        """Return the table alone; quicker than a moment."""

    def report(
        self, moment: Moment, *, of: str, inputs: dict[str, Any], length_known: bool
    ) -> Report:
        """Join the rows of a moment with what is to be said about them."""

    def close(self) -> None:
        """Destroy what is not public."""


class Listed:
    """Items of a public list, in a sketch.

    Args:
        sketch: What counts them.
        rows: The rows of the result.
        choice: The length of the list.
        rows_while_reading: The rows until then; the same if None.
    """

    def __init__(
        self,
        sketch: PrivateSketch,
        rows: Rows,
        *,
        choice: int,
        rows_while_reading: Rows | None = None,
    ) -> None:
        self.choice = choice
        self.update_many = sketch.update_many
        self.update_rows = sketch.update_rows
        self.tick = sketch.tick
        self.release = sketch.release
        self.close = sketch.close
        self._rows = rows
        self._rows_while_reading = rows_while_reading or rows

    def moment(self) -> Moment:
        """Return what is public now."""
        return self._moment(self._rows_while_reading)

    def finish(self) -> Moment:
        """Return what is public at the end."""
        return self._moment(self._rows)

    def report(
        self, moment: Moment, *, of: str, inputs: dict[str, Any], length_known: bool
    ) -> Report:
        """Join the rows of a moment with what the release says about itself."""
        return report(moment.release, moment.rows, of=of, inputs=inputs, length_known=length_known)

    def _moment(self, rows: Rows) -> Moment:
        release = self.release()
        late = waiting(release)
        return Moment(
            release=release,
            rows=rows(release) if release.step else [],
            waiting=[late] if late else [],
            promise=promises(release)[0],
        )


class Found:
    """Names that are found on the way, and their counts.

    Args:
        heavy: What finds and counts them.
        most: How many are shown.
        epsilon: What was asked for; the parts of names and counts add up to at most that.
        delta: The same of delta.
    """

    def __init__(self, heavy: HeavyHitters, *, most: int, epsilon: float, delta: float) -> None:
        self.close = heavy.close
        self._heavy = heavy
        self._most = most
        self._privacy = dataclasses.replace(heavy.privacy, epsilon=epsilon, delta=delta)
        # Rows wait while a moment is taken: its list and its release are of one step.
        self._between_rows = threading.Lock()

    @property
    def choice(self) -> int:
        """The number of names that were published."""
        return len(self._heavy.candidates)

    def update_many(self, items: Any, weights: Any = None) -> None:
        """Count events, one step each."""
        with self._between_rows:
            self._heavy.update_many(items, weights)

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        with self._between_rows:
            self._heavy.tick(steps)

    def update_rows(self, items: Any, weights: Any = None, *, empty_rows: Any) -> None:
        """Count rows, one step each, of which some have no event."""
        with self._between_rows:
            self._heavy.update_rows(items, weights, empty_rows=empty_rows)

    def moment(self) -> Moment:
        """Return what is public now."""
        heavy = self._heavy
        with self._between_rows:
            release = heavy.release()
            hitters = heavy.top(self._most)
            line = outlook(heavy)
        return self._moment(release, hitters, waits=[line])

    def finish(self) -> Moment:
        """Publish the names of the open window, and return what is public at the end."""
        heavy = self._heavy
        with self._between_rows:
            if heavy.step:
                heavy.end_discovery_epoch()
            release = heavy.release()
            hitters = heavy.top(self._most)
        return self._moment(release, hitters, waits=[])

    def release(self) -> Release:
        """Return the table alone."""
        return self._heavy.release()

    def names(self) -> list[str]:
        """Return the whole names that were published, the heaviest first."""
        known = self._heavy.candidates
        return [str(hitter.item) for hitter in self._heavy.top(len(known) or 1) if hitter.complete]

    def report(
        self, moment: Moment, *, of: str, inputs: dict[str, Any], length_known: bool
    ) -> Report:
        """Join the rows of a moment with what is promised of names and counts together."""
        release, heavy = moment.release, self._heavy
        plain = report(release, moment.rows, of=of, inputs=inputs, length_known=length_known)
        own = [found_names(heavy, shown=len(moment.rows), most=self._most)]
        own += cut_names(moment.rows)
        first, rest = plain.lines[0], plain.lines[1 + len(promises(release)) :]
        whole = self._privacy
        privacy = {
            **dataclasses.asdict(whole.sketch),
            "epsilon": whole.epsilon,
            "delta": whole.delta,
            "discovery_epsilon": whole.discovery_epsilon,
            "discovery_delta": whole.discovery_delta,
        }
        names = {
            "found": len(heavy.candidates),
            "every": heavy.discovery_epoch,
            "smallest_share": heavy.smallest_share,
        }
        notes = [*plain.summary["notes"], *own]
        return dataclasses.replace(
            plain,
            summary={**plain.summary, "privacy": privacy, "names": names, "notes": notes},
            lines=[first, moment.promise, *rest, *own],
            header=HEADER,
        )

    def _moment(
        self, release: Release, hitters: Sequence[HeavyHitter], *, waits: list[str]
    ) -> Moment:
        late = waiting(release)
        return Moment(
            release=release,
            rows=[_row(hitter, rank) for rank, hitter in enumerate(hitters, start=1)],
            waiting=[*waits, *([late] if late else [])],
            promise=str(self._privacy),
        )


def _row(hitter: HeavyHitter, rank: int) -> dict[str, Any]:
    item = hitter.item
    if isinstance(item, bytes):
        item = item.decode("utf-8", errors="backslashreplace")
    row = row_of(item, hitter.estimate, hitter.low, hitter.high, share=hitter.share)
    return {"rank": rank, **row, "complete": hitter.complete}
