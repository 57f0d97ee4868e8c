"""A Python model of windows of a hierarchy, with a planted bug.

The model makes one table per window and level from the descriptions of a hierarchy, and finds the
window and the slice of an event by walking from boundary to boundary. Without a bug it equals the
library bit for bit under a seeded key, which is itself a check. NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from lazysketch import testing
from lazysketch.audit.level_system import HASH_SEED
from lazysketch.audit.level_window_system import LevelWindowCase, LiveLevelWindows
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.people_rule import Rule
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.window_system import place_of, with_room
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec, LevelsPrivacy
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.specification.schedules import Batch
from lazysketch.testing import seeded_key

__all__ = ["LevelWindowBug", "LevelWindowModel"]


class LevelWindowBug(Enum):
    """A planted bug of windows of a hierarchy; the value is its description."""

    LEFT_OUT = "the budget of a level of windows left out"
    FULL_TABLES = "levels with as many leaves as slices"
    OTHER_NOISE = "a level of windows with the noise of another one"
    OF_WINDOWS = "windows that share the key of a level"
    OF_LEVELS = "levels of a window that share a key"
    DIAGONAL = "a level with the id of the next level in the window before"
    LATE = "a boundary that comes late at a level"
    TWICE = "an event in two windows at a level"
    NEXT_SLICE = "an event in two slices at a level"
    ALONE = "levels of a window that bound people one by one"
    KEPT_BOUNDS = "bounds of people at levels that go on in the next window"


class LevelWindowModel(ModelMaker[LevelWindowBug]):
    """A maker of model windows.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: LevelWindowCase, *, seed: int | None = None) -> LiveLevelWindows:
        """Return model windows."""
        return _ModelWindows(case, self.bug, seed)


@dataclass
class _ModelWindows:
    """Model windows: all events first, then one table per window and level."""

    case: LevelWindowCase
    bug: LevelWindowBug | None
    seed: int | None
    events: list[tuple[int, int, tuple[bool, ...]]] = field(default_factory=list)
    now: int = 0
    rules: dict[int, list[Rule]] = field(default_factory=dict)
    people: int = 0

    def __post_init__(self) -> None:
        self._key = Key.generate()
        self.privacy, self.specs = self._described(self.case.of_levels.levels)
        if self.bug is LevelWindowBug.LEFT_OUT:
            _, found = self._described(self.case.of_levels.levels - 1)
            self.specs = [*found, found[-1]]
        shared = self.bug is LevelWindowBug.OF_LEVELS
        self.specs = [
            replace(
                spec, table=spec.table.with_hash_seed((HASH_SEED + level * (not shared)) % 2**64)
            )
            for level, spec in enumerate(self.specs)
        ]

    def _described(self, levels: int) -> tuple[LevelsPrivacy, list[HeavyHittersSpec]]:
        """Return what a hierarchy states, and its levels."""
        slices = self.case.cut.slices
        full = self.bug is LevelWindowBug.FULL_TABLES
        schedule = Batch(horizon=slices if full else with_room(slices))
        made = self.case.of_levels.hierarchy(
            self._key, levels=levels, schedule=schedule, epoch=slices
        )
        with made as source:
            return source.privacy, [source.level(level).spec for level in range(levels)]

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event, where its window may count one more of the person."""
        self.now = at
        counted = (True,) * self.case.of_levels.levels
        if person is not None:
            counted = self._counted(item, at, person)
        self.events.append((item, at, counted))

    def _counted(self, item: int, at: int, person: int) -> tuple[bool, ...]:
        number, _ = place_of(self.case.cut, at) or (-1, 0)
        if self.bug is LevelWindowBug.KEPT_BOUNDS:
            number = 0
        rules = self.rules.setdefault(number, self.case.of_levels.rules())
        names = self.case.of_levels.names(item)
        pairs = list(zip(rules, names, strict=True))
        admitted = [rule.admits(person, name) for rule, name in pairs]
        if self.bug is not LevelWindowBug.ALONE:
            admitted = [all(admitted)] * len(admitted)
        for is_counted, (rule, name) in zip(admitted, pairs, strict=True):
            if is_counted:
                rule.add(person, name)
        return tuple(admitted)

    def pass_to(self, at: int) -> None:
        """Let time pass."""
        self.now = at

    def open_tables(self) -> list[Integers]:
        """Return the public tables of the open window."""
        number, ended = place_of(self.case.cut, self.now) or (0, 0)
        return [release.table for release in self._releases(number, slices=ended)]

    def live_tables(self) -> list[DiscoveringTable]:
        """Return live tables of the first window."""
        made = [self._table(0, level, slices=0) for level in range(self.case.of_levels.levels)]
        return [one._table for one in made if isinstance(one._table, DiscoveringTable)]

    def finish(self) -> list[list[Release]]:
        """Return the releases of all windows."""
        return [self._releases(number) for number in range(self.case.cut.windows)]

    def _releases(self, number: int, *, slices: int | None = None) -> list[Release]:
        """Return the releases of a window after some of its slices, or at its end."""
        found = []
        for level in range(self.case.of_levels.levels):
            with self._table(number, level, slices=slices) as table:
                found.append(table.release())
        return found

    def _table(self, number: int, level: int, *, slices: int | None) -> HeavyHitters:
        spec = self.specs[level]
        if level and self.bug is LevelWindowBug.OTHER_NOISE:
            other = self.specs[level - 1]
            seed = (HASH_SEED + level) % 2**64
            spec = replace(other, table=other.table.with_hash_seed(seed))
        made = HeavyHitters.from_spec(spec, key=self._key_of(number, level))
        for part in range(self.case.cut.slices if slices is None else slices):
            items = [
                self.case.of_levels.names(item)[level]
                for item, at, counted in self.events
                if counted[level] and (number, part) in self._places(at, level)
            ]
            self.people += len(items)
            bounded = self.case.of_levels.bounds is not None
            someone = list(range(self.people - len(items), self.people)) if bounded else None
            made.update_batch(items, user=someone)
        if slices is None:
            made.finish()
        return made

    def _key_of(self, number: int, level: int) -> Key:
        if self.seed is not None:
            return seeded_key(self.seed)
        shared: dict[LevelWindowBug | None, Sequence[int]] = {
            LevelWindowBug.OF_WINDOWS: (0, level),
            LevelWindowBug.OF_LEVELS: (number, 0),
            LevelWindowBug.DIAGONAL: (number + level, 0),
        }
        if self.bug not in shared:
            return self._key
        return testing.fixed_id(self._key, bytes([*shared[self.bug]]) + bytes(14))

    def _places(self, at: int, level: int) -> set[tuple[int, int]]:
        """Return the windows and slices that count an event of an instant: one without a bug."""
        place = place_of(self.case.cut, at)
        before = place_of(self.case.cut, at - 1)
        if place is None:
            return set()
        if level == 0 and self.bug is LevelWindowBug.NEXT_SLICE:
            return {place, (place[0], place[1] + 1)}
        if level == 0 and before is not None and before != place:
            if self.bug is LevelWindowBug.LATE:
                return {before}
            if self.bug is LevelWindowBug.TWICE:
                return {place, before}
        return {place}
