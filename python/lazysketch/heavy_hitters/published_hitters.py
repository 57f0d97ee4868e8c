"""Queries of heavy hitters: names, estimates, intervals, and lists that do not flicker.

Everything here is post-processing of published names and of releases of a table, so it costs no
privacy. A query costs one release of the table and its intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_integer
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.heavy_hitters.hitters_spec import CELL_BYTES, HeavyHittersSpec, checked_share
from lazysketch.heavy_hitters.joint_privacy import JointPrivacy
from lazysketch.heavy_hitters.ranking import ShownLists
from lazysketch.heavy_hitters.tables import DiscoveringTable, HittersTable
from lazysketch.releases.heavy_items import HeavyHitter, HeavyItems, hitters_of
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.releases.run_promise import facts_of
from lazysketch.sketches.live_state import LiveState
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Schedule

__all__ = ["PublishedHitters"]

Array = npt.NDArray[np.float64]


class PublishedHitters(LiveState):
    """Queries of one table and its names; not made directly.

    Guarantee: see :attr:`privacy`; reading, any number of times, costs nothing beyond it.
    """

    def __init__(self, table: HittersTable, spec: HeavyHittersSpec) -> None:
        """Read a live table of this description."""
        self._table, self._spec = table, spec
        self._lists = ShownLists()
        self._run = facts_of(table.sketch_id, spec.privacy)

    def top(self, n: int, *, confidence: float = 0.95) -> HeavyItems:
        """Return the n heaviest of the known items, by falling estimate.

        Guarantee: post-processing of published names and counts. An item that the last call
        returned stays until another is heavier by more than a standard error. The intervals of
        all known items cover together, so those of the heaviest do, although chosen by estimate.

        Args:
            n: number of items, 1 or more.
            confidence: for all intervals together, above 0 and below 1.

        Returns:
            At most n; fewer while fewer names are published.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        most = checked_integer("n", n)
        level = checked_confidence(confidence)
        known, _ = self._known(level)
        estimates, errors = _estimates(known, confidence=level)
        found = self._lists.most(
            ("top", most), [_identity(hitter) for hitter in known], estimates, errors, n=most
        )
        return HeavyItems(known[i] for i in found)

    def above(self, share: float | None = None, *, confidence: float = 0.95) -> HeavyItems:
        """Return the known items above a share of the stream, by falling estimate.

        Guarantee: as :meth:`top`; an item that the last call returned stays until it is below the
        share by more than a standard error.

        Args:
            share: above 0 and at most 1; by default that of the construction.
            confidence: for all intervals together, above 0 and below 1.

        Returns:
            The items.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        least = self._spec.share if share is None else checked_share("share", share)
        level = checked_confidence(confidence)
        known, size = self._known(level)
        estimates, errors = _estimates(known, confidence=level)
        found = self._lists.above(
            ("above", least),
            [_identity(hitter) for hitter in known],
            estimates,
            errors,
            least=least * size,
        )
        return HeavyItems(known[i] for i in found)

    def release(self) -> Release:
        """Return the public table of counts at this step, with the names that are public.

        Guarantee: reading it costs nothing beyond :attr:`privacy`. Its ``names`` are the published
        names in their order, or the domain; a name that was cut is not among them, because only
        the live table can read its count.

        Returns:
            A release that holds no secret and outlives this object.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        if isinstance(self._table, DiscoveringTable):
            # Names before counts, so that no name is newer than the table.
            names = tuple(item for item, complete, _ in self._candidates() if complete)
        else:
            names = self._spec.domain
        return Release(self._table._release(self._run), names)

    @property
    def candidates(self) -> list[Item]:
        """The published names, or the domain: a public set that only grows, in order."""
        return [item for item, _, _ in self._candidates()]

    @property
    def spec(self) -> HeavyHittersSpec:
        """The description, with the hash seed that the table has."""
        return replace(self._spec, table=self._table.spec)

    @property
    def discovery_epoch(self) -> int | None:
        """Steps after which names are published; None for a public domain."""
        return None if self._spec.discovery is None else self._spec.discovery.epoch

    @property
    def threshold(self) -> int | None:
        """Count in an epoch that publishes a name, before noise; None for a public domain."""
        return None if self._spec.discovery is None else self._spec.discovery.threshold

    @property
    def smallest_share(self) -> float:
        """Share of the stream that one epoch finds with 95 % probability.

        Returns:
            0 for a public domain; NaN for batches, whose number of events is not known in advance.
        """
        return 0.0 if self._spec.discovery is None else self._spec.discovery.smallest_share

    @property
    def memory(self) -> int:
        """Bytes of both tables while counters have 32 bits."""
        names = 0 if self._spec.discovery is None else self._spec.discovery.memory
        return names + CELL_BYTES * self._table.depth * self._table.width

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._table.step

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of everything published."""
        return self._spec.privacy_of(self._table.privacy)

    @property
    def schedule(self) -> Schedule:
        """The schedule by which counts are published."""
        return self._table.schedule

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the counts."""
        return self._table.mechanism

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return self._table.private

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons, empty for a private object."""
        return self._table.not_private_because

    def _candidates(self) -> list[tuple[Item, bool, float]]:
        if isinstance(self._table, DiscoveringTable):
            found = self._table._candidates()
            return [(item, complete, estimate) for item, complete, _, estimate in found]
        return [(item, True, math.nan) for item in self._spec.domain]

    def _known(self, confidence: float) -> tuple[list[HeavyHitter], float]:
        """Return every known item, and the size that shares are shares of."""
        candidates = self._candidates()
        whole = [item for item, complete, _ in candidates if complete]
        release = self._table.release()
        size = release._size("now")
        known = _read(release, whole, size=size, confidence=confidence, among=len(whole))
        # Only the core has the cells of a truncated name; it returns an estimate.
        known += [
            HeavyHitter(item, estimate, 0.0, math.inf, estimate / size, complete=False)
            for item, complete, estimate in candidates
            if not complete
        ]
        return known, size

    def _named(self, items: Sequence[Item], confidence: float) -> list[HeavyHitter]:
        """Read items whose names are public for another reason than discovery at this table."""
        release = self._table.release()
        among = len(items) + len(self._candidates())
        size = release._size("now")
        return _read(release, items, size=size, confidence=confidence, among=among)


def _read(
    release: Release,
    items: Sequence[Item],
    *,
    size: float,
    confidence: float,
    among: int,
) -> list[HeavyHitter]:
    if not items:
        return []
    found = release._intervals_of_list(list(items), confidence=confidence, among=among)
    return hitters_of(items, found, size=size)


def _identity(hitter: HeavyHitter) -> tuple[type, Item, bool]:
    return (type(hitter.item), hitter.item, hitter.complete)


def _estimates(known: Sequence[HeavyHitter], *, confidence: float) -> tuple[Array, Array]:
    """Return estimates and, from the widths of their joint intervals, standard errors."""
    estimates = np.array([hitter.estimate for hitter in known], dtype=np.float64)
    widths = np.array([hitter.high - hitter.low for hitter in known], dtype=np.float64)
    deviations = NormalDist().inv_cdf(1.0 - (1.0 - confidence) / (2.0 * max(len(known), 1)))
    return estimates, np.where(np.isfinite(widths), widths, 0.0) / (2.0 * max(deviations, 0.1))
