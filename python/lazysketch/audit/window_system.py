"""Windows under test: the installed library, or a plain Python model with a planted bug.

The model finds the window and the slice of an event by walking from boundary to boundary, and makes
one table per window from the description of heavy hitters. Without a bug its windows equal those of
the library bit for bit under a seeded key, which is itself a check. NOT PRIVATE.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, Protocol

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.people_rule import Rule, columns_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.specification.schedules import Batch, RoundRobin
from lazysketch.testing import seeded_key
from lazysketch.windows import Windows

__all__ = [
    "BEGIN",
    "TICK",
    "LiveWindows",
    "WindowBug",
    "WindowCase",
    "WindowLibrary",
    "WindowModel",
    "WindowSystem",
    "place_of",
    "with_room",
]

HASH_SEED: Final = 3
BEGIN: Final = 1_000_000_000_000_000_000  # of a range, in nanoseconds since 1970
TICK: Final = 15_625_000  # nanoseconds: an instant that seconds in binary hold exactly
ITEMS: Final = 8  # the public list of items is 0 to 7


@dataclass(frozen=True)
class WindowCase:
    """Windows to audit.

    Args:
        cut: by steps, by the clock, or of a range of time.
        every: length of a window, in steps or in nanoseconds.
        windows: number of windows of a test.
        slices: parts of a window by the clock.
        depth: rows.
        width: columns.
        relation: the neighbouring relation.
        short: nanoseconds that the last window of a range is shorter.
        person_bound: what each window counts of a person; None if events are protected.
    """

    cut: Literal["steps", "clock", "range"]
    every: int
    windows: int
    slices: int = 1
    depth: int = 2
    width: int = 2
    relation: Relation = "substitution"
    short: int = 0
    person_bound: PersonBound | None = None

    def __str__(self) -> str:
        people = "" if self.person_bound is None else f", {self.person_bound}"
        return (
            f"{self.windows} windows, {self.cut}, {self.slices} slices, "
            f"count-min {self.depth} x {self.width}, {self.relation}{people}"
        )

    @property
    def first(self) -> int:
        """The first instant, or the first step."""
        return {"steps": 1, "clock": 0, "range": BEGIN}[self.cut]

    @property
    def end(self) -> int:
        """The instant or the step after the last window."""
        return self.first + self.every * self.windows - self.short

    def spec(self, *, leaves: int | None = None) -> HeavyHittersSpec:
        """Return the description of the table of a window.

        Args:
            leaves: pushes that the table is made for; by default the number of slices.

        Returns:
            A public list of items, so that the whole budget is of the counts.
        """
        steps = RoundRobin(horizon=self.every)
        batches = Batch(horizon=leaves or self.slices)
        return HeavyHittersSpec.of(
            schedule=steps if self.cut == "steps" else batches,
            domain=range(ITEMS),
            depth=self.depth,
            width=self.width,
            hash_seed=HASH_SEED,
            epsilon=1.0,
            delta=1e-6,
            relation=self.relation,
            person_bound=self.person_bound,
        )

    def rule(self) -> Rule:
        """Return the rule of one window, which knows no one."""
        schedule = Batch(horizon=self.slices)
        table = Case.of(
            "count-min", self.depth, self.width, schedule, person_bound=self.person_bound
        )
        return Rule(columns_of(table, HASH_SEED), self.person_bound or PersonBound(cells=1))


@lru_cache(maxsize=1 << 14)
def place_of(case: WindowCase, at: int) -> tuple[int, int] | None:
    """Return the window and the slice of an instant or step, by walking from one to the next.

    Args:
        case: the windows.
        at: nanoseconds since 1970, or the number of a step.

    Returns:
        Numbers from 0; None outside of all windows.
    """
    if not case.first <= at < case.end:
        return None
    number = 0
    while case.first + (number + 1) * case.every <= at:
        number += 1
    part = 0
    while case.first + number * case.every + Fraction(case.every * (part + 1), case.slices) <= at:
        part += 1
    return number, 0 if case.cut == "steps" else part


class LiveWindows(Protocol):
    """Windows that take events in the order of their places."""

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event at an instant or step; earlier steps without an event are empty."""

    def pass_to(self, at: int) -> None:
        """Let time pass up to an instant or step, exclusively."""

    def open_table(self) -> Integers:
        """Return the public table of the open window."""

    def finish(self) -> list[Release]:
        """Pass to the end, and return the releases of all windows."""


class WindowSystem(Protocol):
    """A maker of windows."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, case: WindowCase, *, seed: int | None = None) -> LiveWindows:
        """Return windows: under a fresh secret key, or all under the id and key of a seed."""

    def table_of(self, case: WindowCase) -> Release:
        """Return the release of an empty window by the clock."""


class _LibraryWindows:
    """Windows of the library."""

    def __init__(self, case: WindowCase, key: Key) -> None:
        """Open the windows under a clock that is set by hand."""
        self._case, self._now, self._step = case, 0.0, 0
        begin = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=BEGIN // 1000)
        length = timedelta(microseconds=case.every // 1000)
        in_range, by_clock = case.cut == "range", case.cut == "clock"
        self._windows = Windows(
            every=case.every if case.cut == "steps" else length,
            keep=case.windows + 1,
            begin=begin if in_range else None,
            end=begin + length * case.windows - timedelta(microseconds=case.short // 1000)
            if in_range
            else None,
            slices=case.slices if by_clock else None,
            clock=(lambda: self._now) if by_clock else None,
            domain=range(ITEMS),
            depth=case.depth,
            width=case.width,
            hash_seed=HASH_SEED,
            epsilon=1.0,
            delta=1e-6,
            relation=case.relation,
            person_bound=case.person_bound,
            key=key,
        )

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event."""
        self.pass_to(at)
        times = np.array([at], dtype=np.int64) if self._case.cut == "range" else None
        self._windows.update_many([item], times=times, user=None if person is None else [person])
        self._step += 1

    def pass_to(self, at: int) -> None:
        """Let time pass."""
        if self._case.cut == "steps":
            self._windows.tick(at - 1 - self._step)
            self._step = at - 1
        elif self._case.cut == "clock":
            self._now = at / 1e9
            self._windows.advance()

    def open_table(self) -> Integers:
        """Return the public table of the open window."""
        window = self._windows.open
        if window is None:
            raise AssertionError("windows: expected an open window, got none")
        return window.release.table

    def finish(self) -> list[Release]:
        """Pass to the end; windows by the clock and by steps have ended then."""
        self.pass_to(self._case.end)
        if self._case.cut == "range":
            self._windows.finish()
        found = [window.release for window in self._windows.windows]
        self._windows.close()
        return found


class WindowLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, case: WindowCase, *, seed: int | None = None) -> _LibraryWindows:
        """Return windows of the public class."""
        return _LibraryWindows(case, Key.generate() if seed is None else seeded_key(seed))

    def table_of(self, case: WindowCase) -> Release:
        """Return the release of an empty window."""
        return self.open(case, seed=1).finish()[0]


class WindowBug(Enum):
    """A planted bug of windows; the value is its description."""

    TWICE = "an event at a boundary in two windows"
    LATE = "boundary of windows off by one"
    NEXT_SLICE = "an event in two slices"
    SHARED_KEY = "windows that share a key"
    FULL_TABLE = "as many leaves as slices"
    KEPT_BOUNDS = "bounds of people that go on in the next window"
    SHORT_BOUNDS = "bounds of people that end within a window"


class WindowModel(ModelMaker[WindowBug]):
    """A maker of model windows.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: WindowCase, *, seed: int | None = None) -> ModelWindows:
        """Return model windows."""
        shared = self.bug is WindowBug.SHARED_KEY
        key = seeded_key(5) if shared else Key.generate()
        return ModelWindows(case, key if seed is None else seeded_key(seed), self.bug)

    def table_of(self, case: WindowCase) -> Release:
        """Return the release of an empty window."""
        return self.open(case, seed=1).finish()[0]


@dataclass
class ModelWindows:
    """Model windows: all events first, then one table per window."""

    case: WindowCase
    key: Key
    bug: WindowBug | None
    events: list[tuple[int, int]] = field(default_factory=list)  # item, place
    now: int = 0
    rules: dict[tuple[int, int], Rule] = field(default_factory=dict)
    people: int = 0

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event, if its window may count one more of the person."""
        self.now = at
        if person is None or self._rule(at).counts(person, item):
            self.events.append((item, at))

    def _rule(self, at: int) -> Rule:
        number, part = place_of(self.case, at) or (-1, 0)
        if self.bug is WindowBug.KEPT_BOUNDS:
            number = 0
        if self.bug is WindowBug.SHORT_BOUNDS:
            half = 2 * (at - self.case.first) // self.case.every % 2
            return self.rules.setdefault((number, part + half), self.case.rule())
        return self.rules.setdefault((number, 0), self.case.rule())

    def pass_to(self, at: int) -> None:
        """Let time pass."""
        self.now = at

    def open_table(self) -> Integers:
        """Return the public table of the open window."""
        number, ended = place_of(self.case, self.now) or (0, 0)
        with self._table(number, steps=ended) as table:
            return table.release().table

    def finish(self) -> list[Release]:
        """Return the releases of all windows."""
        found = []
        for number in range(self.case.windows):
            with self._table(number, steps=None) as table:
                found.append(table.release())
        return found

    def _table(self, number: int, *, steps: int | None) -> HeavyHitters:
        """Return the table of a window after some of its slices, or at its end."""
        full = self.bug is WindowBug.FULL_TABLE or self.case.cut != "clock"
        padded = self.case.slices if full else with_room(self.case.slices)
        made = HeavyHitters.from_spec(self.case.spec(leaves=padded), key=self.key)
        if self.case.cut == "steps":
            begin = self.case.first + number * self.case.every
            counted = {at: item for item, at in self._of(number)}
            for step in range(begin, begin + self.case.every):
                if step in counted:
                    made.update_many([counted[step]], user=self._someone(1))
                else:
                    made.tick()
            made.finish()
            return made
        for part in range(self.case.slices if steps is None else steps):
            items = [item for item, at in self._of(number) if self._in_slice(at, part)]
            made.update_batch(items, user=self._someone(len(items)))
        if steps is None:
            made.finish()
        return made

    def _someone(self, events: int) -> list[int] | None:
        """People who have contributed nothing, one for each event; None without a bound."""
        self.people += events
        bounded = self.case.person_bound is not None
        return list(range(self.people - events, self.people)) if bounded else None

    def _of(self, number: int) -> list[tuple[int, int]]:
        """The events of a window, of others too if that is the bug."""
        found = []
        for item, at in self.events:
            place = place_of(self.case, at)
            before = place_of(self.case, at - 1)
            at_boundary = place is not None and before is not None and before[0] != place[0]
            if at_boundary and self.bug is WindowBug.LATE:
                place = before
            if place is not None and place[0] == number:
                found.append((item, at))
            elif at_boundary and self.bug is WindowBug.TWICE and before and before[0] == number:
                found.append((item, at - 1))
        return found

    def _in_slice(self, at: int, part: int) -> bool:
        place = place_of(self.case, at)
        if self.bug is WindowBug.LATE and place is not None and place[1] == 0:
            place = place_of(self.case, at - 1) or place
        if place is None:
            return False
        twice = self.bug is WindowBug.NEXT_SLICE and place[1] + 1 == part
        return place[1] == part or twice


def with_room(slices: int) -> int:
    """Return the leaves of docs/theory.md, Theorem 12: the next larger table above 15/16 of one.

    Args:
        slices: parts of a window.
    """
    table = 1
    while table < slices:
        table *= 2
    return table + 1 if table > 16 and Fraction(slices, table) > Fraction(15, 16) else slices
