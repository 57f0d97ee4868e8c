"""Windows of a hierarchy under test: the installed library, in memory and in a store.

The model with a planted bug is :mod:`lazysketch.audit.level_window_model`. NOT PRIVATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from lazysketch.audit.level_system import HASH_SEED, LevelCase
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.window_system import WindowCase, place_of
from lazysketch.heavy_hitters import HeavyHittersSpec, Levels, LevelsPrivacy
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.store import open_store
from lazysketch.testing import seeded_key
from lazysketch.windows import HierarchicalWindows

__all__ = [
    "LevelWindowCase",
    "LevelWindowLibrary",
    "LevelWindowSystem",
    "LiveLevelWindows",
    "StoredLevelWindows",
]


@dataclass(frozen=True)
class LevelWindowCase:
    """Windows of a hierarchy by the clock.

    Args:
        of_levels: levels, guarantee, shape of the tables and bounds of people.
        cut: windows and slices; its guarantee, shape and bound are not used.
    """

    of_levels: LevelCase
    cut: WindowCase

    def __str__(self) -> str:
        return f"{self.cut.windows} windows of {self.cut.slices} slices, {self.of_levels}"

    def levels(self) -> Levels:
        """Return the hierarchy."""
        names = tuple(f"level {level}" for level in range(self.of_levels.levels))
        return Levels(names, lambda item: self.of_levels.names(int(str(item))))

    def options(self) -> dict[str, Any]:
        """Return the arguments of the library's windows, without clock, levels and key."""
        case = self.of_levels
        return {
            "every": timedelta(microseconds=self.cut.every // 1000),
            "keep": self.cut.windows + 1,
            "slices": self.cut.slices,
            "share": 0.2,
            "level_weights": case.weights,
            "epsilon": case.epsilon,
            "delta": case.delta,
            "relation": case.relation,
            "max_events_per_user": case.group,
            "person_bound": None if case.bounds is None else list(case.bounds),
            "depth": case.depth,
            "width": case.width,
            "hash_seed": HASH_SEED,
        }


class LiveLevelWindows(Protocol):
    """Windows of a hierarchy that take events in the order of their places."""

    @property
    def privacy(self) -> LevelsPrivacy:
        """The stated guarantee."""

    @property
    def specs(self) -> list[HeavyHittersSpec]:
        """The description of every level."""

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event at an instant."""

    def pass_to(self, at: int) -> None:
        """Let time pass up to an instant, exclusively."""

    def open_tables(self) -> list[Integers]:
        """Return the public table of every level of the open window."""

    def live_tables(self) -> list[DiscoveringTable]:
        """Return the live tables of the open window, for draws under a seed."""

    def finish(self) -> list[list[Release]]:
        """Pass to the end, and return the releases of all windows, level by level."""


class LevelWindowSystem(Protocol):
    """A maker of windows of a hierarchy."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, case: LevelWindowCase, *, seed: int | None = None) -> LiveLevelWindows:
        """Return windows: under a fresh secret key, or all under the id and key of a seed."""


class _LibraryWindows:
    """Windows of the library under a clock that is set by hand."""

    def __init__(self, case: LevelWindowCase) -> None:
        self._case, self._now = case, case.cut.first / 1e9

    def begin(self, windows: HierarchicalWindows) -> None:
        """Take the windows."""
        self._windows = windows

    def clock(self) -> float:
        """Return the seconds since 1970 that were set."""
        return self._now

    @property
    def privacy(self) -> LevelsPrivacy:
        """The stated guarantee."""
        return self._windows.privacy

    @property
    def specs(self) -> list[HeavyHittersSpec]:
        """The description of every level."""
        return [level.spec for level in self._open.levels]

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event."""
        self.pass_to(at)
        self._windows.update_many([item], user=None if person is None else [person])

    def pass_to(self, at: int) -> None:
        """Let time pass."""
        self._now = at / 1e9
        self._windows.advance()

    def open_tables(self) -> list[Integers]:
        """Return the public tables of the open window."""
        window = self._windows.open
        if window is None:
            raise AssertionError("windows: expected an open window, got none")
        return [level.release.table for level in window.levels]

    def live_tables(self) -> list[DiscoveringTable]:
        """Return the live tables of the open window."""
        return [table for table in self._open.tables if isinstance(table, DiscoveringTable)]

    @property
    def _open(self) -> Any:
        (window,) = self._windows._live.tables.values()
        return window

    def finish(self) -> list[list[Release]]:
        """Pass to the end."""
        self.pass_to(self._case.cut.end)
        found = [[level.release for level in one.levels] for one in self._windows.windows]
        self.close()
        return found

    def close(self) -> None:
        """End the windows."""
        self._windows.close()


class LevelWindowLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, case: LevelWindowCase, *, seed: int | None = None) -> LiveLevelWindows:
        """Return windows of the public class."""
        live = _LibraryWindows(case)
        key = Key.generate() if seed is None else seeded_key(seed)
        options = case.options()
        live.begin(HierarchicalWindows(case.levels(), clock=live.clock, key=key, **options))
        return live


class _StoredWindows(_LibraryWindows):
    """Windows of a store that is closed and opened again whenever a window has begun."""

    def __init__(self, case: LevelWindowCase, folder: Path) -> None:
        super().__init__(case)
        self._folder, self._key, self._window = folder, Key.generate(), 0
        self._reopen()

    def _reopen(self) -> None:
        store = open_store(self._folder / "store", key=self._key, anchor=self._folder / "anchor")
        options = self._case.options()
        windows = store.hierarchical_windows(
            "levels", self._case.levels(), clock=self.clock, **options
        )
        self._store = store
        self.begin(windows)

    def add(self, item: int, at: int, person: int | None = None) -> None:
        """Count an event, in a new life if it is the second one of its window."""
        super().add(item, at, person)
        place = place_of(self._case.cut, at)
        if place is not None and place[0] == self._window:
            self._window += 1
            self._store.close()
            self._reopen()

    def close(self) -> None:
        """End the last life; a store closes its objects."""
        self._store.close()


@dataclass(frozen=True)
class StoredLevelWindows:
    """The installed library, in a store.

    Args:
        folder: an empty directory; one store is opened there.
    """

    folder: Path
    name = "lazysketch"

    def open(self, case: LevelWindowCase, *, seed: int | None = None) -> LiveLevelWindows:
        """Return windows of a new store, which takes no seeded key."""
        if seed is not None:
            raise AssertionError("seed: expected none, as a store takes no seeded key")
        return _StoredWindows(case, self.folder)
