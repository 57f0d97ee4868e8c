"""Queries of a hierarchy of heavy hitters: the tree, its levels and their tables.

Everything here is post-processing of published names and public tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, checked_share
from lazysketch.heavy_hitters.joint_privacy import Split
from lazysketch.heavy_hitters.levels_privacy import LevelsPrivacy
from lazysketch.heavy_hitters.published_hitters import PublishedHitters
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.heavy_hitters.tree import HierarchyNode, HierarchyNodes, tree_of
from lazysketch.releases.heavy_items import HeavyHitter, HeavyItems
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.releases.run_promise import facts_of
from lazysketch.sketches.live_state import LiveState, exclusive

__all__ = ["HeavyLevel", "PublishedLevels"]


class HeavyLevel(PublishedHitters):
    """Queries of one level of a hierarchy; made by :meth:`HierarchicalHeavyHitters.level`.

    Guarantee: :attr:`privacy` is the guarantee of this level alone; the hierarchy has that of all
    levels together.
    """


class PublishedLevels(LiveState):
    """Queries of all levels; not made directly.

    Guarantee: see :attr:`privacy`; reading, any number of times, costs nothing beyond it.
    """

    def __init__(
        self,
        levels: Levels,
        tables: Sequence[DiscoveringTable],
        specs: Sequence[HeavyHittersSpec],
        *,
        whole: Split,
        lock: _native.NestingLock,
    ) -> None:
        """Read one table with discovery per level."""
        self._hierarchy, self._whole = levels, whole
        self._tables, self._specs = list(tables), list(specs)
        self._lock = lock
        self._levels = [HeavyLevel(table, spec) for table, spec in zip(tables, specs, strict=True)]
        run = facts_of(self._tables[0].sketch_id, self.privacy)
        for level in self._levels:
            level._run = run

    @property
    def levels(self) -> Levels:
        """The hierarchy, as given."""
        return self._hierarchy

    @exclusive
    def hierarchy(
        self, share: float | None = None, *, confidence: float = 0.95
    ) -> tuple[HierarchyNode, ...]:
        """Return the tree of what is heavy, at any level, and of all names above it.

        Guarantee: post-processing of published names and counts. A name that was not published
        appears only where a published one implies it.

        Args:
            share: above 0 and at most 1; by default that of the construction.
            confidence: for all intervals of a level together, above 0 and below 1.

        Returns:
            The roots, by falling estimate; truncated names have no parent and come last.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or levels that do not take the names
                they make.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        heavy = [level.above(share, confidence=confidence) for level in self._levels]

        def read(level: int, names: list[Item]) -> list[HeavyHitter]:
            return self._levels[level]._named(names, confidence) if names else []

        return tree_of(heavy, self.levels, read)

    def above(self, share: float | None = None, *, confidence: float = 0.95) -> HierarchyNodes:
        """Return the names that are heavy without the counts of their heavy children.

        Guarantee: as :meth:`hierarchy`.

        Args:
            share: above 0 and at most 1; by default that of the construction.
            confidence: for all intervals of a level together, above 0 and below 1.

        Returns:
            Nodes of the tree whose ``own`` part reaches the share, by falling ``own``.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: as :meth:`hierarchy`.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        least = self._specs[0].share if share is None else checked_share("share", share)
        nodes = [
            node for root in self.hierarchy(least, confidence=confidence) for node in root.walk()
        ]
        heavy = (node for node in nodes if node.own_share >= least)
        return HierarchyNodes(sorted(heavy, key=lambda node: -node.own))

    def top(self, n: int, *, level: int = -1, confidence: float = 0.95) -> HeavyItems:
        """Return the n heaviest of the known names of a level.

        Guarantee: as :meth:`HeavyHitters.top`.

        Args:
            n: number of items, 1 or more.
            level: its number; the finest by default.
            confidence: for all intervals of a level together, above 0 and below 1.

        Returns:
            At most n, by falling estimate.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.level(level).top(n, confidence=confidence)

    def level(self, level: int) -> HeavyLevel:
        """Return what can be read of one level.

        Args:
            level: its number, from 0, the coarsest; -1 is the finest.

        Returns:
            Lists, names and releases of that level.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: no such level.
        """
        number = len(self._levels)
        return self._levels[checked_integer("level", level, least=-number, most=number - 1)]

    def release(self, level: int) -> Release:
        """Return the public table of a level at this step, with the names of that level.

        Guarantee: reading it costs nothing beyond :attr:`privacy`.

        Args:
            level: its number, from 0, the coarsest; -1 is the finest.

        Returns:
            A release that holds no secret and outlives this object.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: no such level.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.level(level).release()

    @property
    def smallest_share(self) -> float:
        """Share that one epoch of every level finds with 95 % probability; NaN for batches."""
        return float(np.max([level.smallest_share for level in self._levels]))

    @property
    def memory(self) -> int:
        """Bytes of all tables while counters have 32 bits."""
        return sum(level.memory for level in self._levels)

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._tables[0].step

    @property
    def privacy(self) -> LevelsPrivacy:
        """The guarantee of everything published."""
        return LevelsPrivacy.of(self._whole, [level.privacy for level in self._levels])

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return not self.not_private_because

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons, empty for a private object."""
        return tuple(dict.fromkeys(why for one in self._tables for why in one.not_private_because))
