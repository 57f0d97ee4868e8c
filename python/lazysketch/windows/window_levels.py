"""The live tables of windows of a hierarchy: one per level and window, which count one stream.

All levels of a window have the same steps, and change in one call of the core, which no interrupt
divides. Their guarantees compose as those of a hierarchy do (:mod:`lazysketch.heavy_hitters
.levels_privacy`); an event lies in one window, so that of one window holds for all.

Source: docs/theory.md, Theorem 12 (f).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from lazysketch import _native
from lazysketch.heavy_hitters import HeavyHittersSpec, HeavyLevel, Levels, LevelsPrivacy
from lazysketch.heavy_hitters.joint_privacy import Split
from lazysketch.heavy_hitters.level_tables import tables_of_levels
from lazysketch.releases.run_promise import facts_of
from lazysketch.sketches.keys import Key
from lazysketch.windows.batches import people_of
from lazysketch.windows.window import Window
from lazysketch.windows.window_tables import Moment, WindowMaker

__all__ = ["LevelsOfWindow", "LevelsSpec", "WindowLevels"]


@dataclass(frozen=True)
class LevelsSpec:
    """The description of the tables of a window.

    Guarantee: the tables of all levels together have the privacy parameters of ``whole``.

    Attributes:
        levels: the hierarchy.
        whole: privacy of all levels together.
        tables: description of the table of each level.
    """

    levels: Levels
    whole: Split
    tables: tuple[HeavyHittersSpec, ...]

    def privacy_of(
        self, levels: Sequence[HeavyLevel] = (), *, within: str | None = None
    ) -> LevelsPrivacy:
        """Return the guarantee of all levels of a window.

        Args:
            levels: live levels; none for those under a secret key.
            within: where the events of a person are protected together; None for everywhere.
        """
        counts = [level._table.privacy for level in levels]
        counts = counts or [spec.table.privacy for spec in self.tables]
        return LevelsPrivacy.of(
            self.whole,
            [
                spec.privacy_of(one, within=within)
                for spec, one in zip(self.tables, counts, strict=True)
            ],
        )


class LevelsOfWindow:
    """The tables of one window, one per level.

    Attributes:
        levels: what is published of each level.
        people: what people contributed to all of them; None without a bound.
    """

    def __init__(
        self, spec: LevelsSpec, levels: list[HeavyLevel], people: _native.People | None
    ) -> None:
        """Take the live levels, which know what the window promises in total."""
        self.levels, self.people = levels, people
        self.tables = [cast("_native.HeavySketch", level._table) for level in levels]
        run = facts_of(levels[0]._table.sketch_id, spec.privacy_of(levels))
        for level in levels:
            level._run = run

    @property
    def step(self) -> int:
        """Steps taken, the same at all levels."""
        return self.levels[0].step

    @property
    def refused(self) -> int:
        """Events beyond the bounds of people."""
        return 0 if self.people is None else self.people.refused

    def add(self, columns: Sequence[object], weights: object, user: object) -> None:
        """Count events in the open step, at all levels or at none.

        Args:
            columns: the names of the events, level by level.
            weights: one integer per event, or None.
            user: the person of each event, or None if people are not bounded.
        """
        given = None if weights is None else _native.plain_weights(weights)
        events = [
            one if isinstance(one, _native.LoggedEvents) else _native.logged_events(one)
            for one in columns
        ]
        known = people_of(user, events=len(events[0]), bounded=self.people is not None)
        if known is None or self.people is None:
            _native.add_to_batch_of_all(self.tables, events, [given] * len(self.tables))
            return
        _native.update_bounded(self.people, self.tables, events, known, given, in_open_step=True)

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, at all levels."""
        _native.tick_all(self.tables, steps)

    def finish(self) -> None:
        """Publish everything pending, as the last step, at all levels."""
        _native.finish_all(self.tables)

    def close(self) -> None:
        """Destroy the keys and counts of all levels."""
        _native.close_all(self.tables)
        if self.people is not None:
            self.people.forget()


class WindowLevels(WindowMaker[LevelsOfWindow]):
    """Maker of the tables; a level has the same hash seed in all windows."""

    def __init__(self, spec: LevelsSpec, *, key: Key) -> None:
        """Take the description and the master key of all tables."""
        self._spec, self._key = spec, key
        self._reasons: tuple[str, ...] = ()

    def make(self, number: int) -> LevelsOfWindow:
        """Return the empty tables of a new window."""
        tables = tables_of_levels(self._spec.tables, lambda level: self._origin(number, level))
        first, *others = self._spec.tables
        if first.table.hash_seed is None:  # the seeds of the other levels follow from the first
            first = replace(first, table=first.table.with_hash_seed(tables[0].hash_seed))
            self._spec = replace(self._spec, tables=(first, *others))
        reasons = [why for table in tables for why in table.not_private_because]
        self._reasons = tuple(dict.fromkeys(reasons))
        people = None
        if self.bounds_people:
            people = _native.People(tables, key=self._origin(number, 0)[0])
        levels = [HeavyLevel(*pair) for pair in zip(tables, self._spec.tables, strict=True)]
        return LevelsOfWindow(self._spec, levels, people)

    def add(self, table: LevelsOfWindow, items: object, weights: object, user: object) -> None:
        """Count events in the open step of a window; ``items`` are their names, level by level."""
        table.add(cast("Sequence[object]", items), weights, user)

    def published(
        self,
        table: LevelsOfWindow,
        *,
        ended: bool,
        number: int,
        begin: Moment,
        end: Moment,
        whole: bool,
    ) -> Window:
        """Return the published part of a window: its finest level, with the coarser ones."""
        windows = [
            Window(
                number=number,
                begin=begin,
                end=end,
                ended=ended,
                whole=whole,
                release=release,
                names=release.names,
            )
            for release in [level.release() for level in table.levels]
        ]
        return replace(windows[-1], coarser=tuple(windows[:-1]))

    def refused(self, table: LevelsOfWindow) -> int:
        """Return how many events of a window were beyond the bounds of people."""
        return table.refused

    @property
    def bounds_people(self) -> bool:
        """True if windows bound people."""
        return self._spec.tables[0].table.person_bound is not None

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self._spec.tables[0].table.max_weight

    @property
    def privacy(self) -> LevelsPrivacy:
        """The guarantee of all levels of one window, which is that of all windows together.

        A person, whose events may lie in many windows, is protected within one of them.
        """
        within = "one window" if self.bounds_people else None
        levels = [
            spec.privacy_of(spec.table.privacy_unless(self._reasons), within=within)
            for spec in self._spec.tables
        ]
        return LevelsPrivacy.of(self._spec.whole, levels)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons

    def _origin(self, number: int, level: int) -> tuple[Key, _native.SavedState | None]:  # noqa: ARG002 -- in a store each has an id
        """Return the key of a table, and the state of a store where it goes on."""
        return self._key, None
