"""Queries of heavy hitters: names, estimates, intervals, and lists that do not flicker.

Everything here is post-processing of published names and of releases of a table, so it costs no
privacy. A query costs one release of the table and its intervals.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_integer
from lazysketch.estimation.intervals import Interval, checked_confidence
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
        self._last_known: tuple[tuple[int, bool, int], _KnownNames] | None = None
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

        Example:
            >>> import lazysketch as ls
            >>> heavy = ls.HeavyHitters(share=0.1, epsilon=8.0, delta=1e-6)
            >>> heavy.update_many(["/a", "/a", "/b"] * 20_000)
            >>> heavy.end_discovery_epoch()
            >>> [hitter.item for hitter in heavy.top(1)]
            ['/a']
        """
        most = checked_integer("n", n)
        level = checked_confidence(confidence)
        known = self._known()
        shown, _ = self._lists.shown(("top", most), candidates=known.number)
        leading = known.leading(most, shown)
        places = self._lists.most(("top", most), leading, n=most)
        return self._shown(("top", most), known, places, confidence=level)

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

        Example:
            >>> import lazysketch as ls
            >>> heavy = ls.HeavyHitters(share=0.1, epsilon=8.0, delta=1e-6)
            >>> heavy.update_many(["/a", "/a", "/b"] * 20_000)
            >>> heavy.end_discovery_epoch()
            >>> heavy.above(0.5).to_dict()["item"]
            ['/a']
        """
        least = self._spec.share if share is None else checked_share("share", share)
        level = checked_confidence(confidence)
        known = self._known()
        places = self._lists.above(("above", least), known.estimates, least=least * known.size)
        return self._shown(("above", least), known, places, confidence=level)

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
        """Count in an epoch that publishes a name, before noise; None for a public domain.

        A number of events; with ``discovery_weight`` above 1 a sum of weights, each cut at it.
        """
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

    def _known(self) -> _KnownNames:
        """Return every known item with its estimate."""
        if not isinstance(self._table, DiscoveringTable):
            domain = self._spec.domain
            return self._decoded_names(domain, np.arange(len(domain)), {})
        # Names before counts, so that no name is newer than the table.
        candidates = self._candidates()
        whole = [at for at, (_, complete, _) in enumerate(candidates) if complete]
        # Only the core has the cells of a truncated name; it returns an estimate.
        cut = {at: one[2] for at, one in enumerate(candidates) if not one[1]}
        names = [item for item, _, _ in candidates]
        return self._decoded_names(names, np.array(whole, np.intp), cut)

    def _decoded_names(
        self, names: Sequence[Item], whole: npt.NDArray[np.intp], cut: Mapping[int, float]
    ) -> _KnownNames:
        """Return the names with their counts: those of the last read, if nothing has changed since.

        The public table follows from the step and the end, and the list of names only grows.
        """
        release = self._table.release()
        state = release.step, release.finished, len(names)
        last = self._last_known
        if last is not None and last[0] == state:
            return last[1]
        self._last_known = None
        known = _KnownNames(release, names, whole, cut)
        if release._keeps_lists_of(len(names)):
            self._last_known = state, known
        return known

    def _shown(
        self, name: Hashable, known: _KnownNames, places: npt.NDArray[np.intp], *, confidence: float
    ) -> HeavyItems:
        """Return known items, and remember that they were shown."""
        found = known.hitters(places, confidence=confidence)
        self._lists.remember(name, places, known.errors(found, confidence=confidence))
        return HeavyItems(found)

    def _named(self, items: Sequence[Item], confidence: float) -> list[HeavyHitter]:
        """Read items whose names are public for another reason than discovery at this table."""
        release = self._table.release()
        among = len(items) + len(self._candidates())
        size = release._size("now")
        return _read(release, items, size=size, confidence=confidence, among=among)


class _KnownNames:
    """Known items of a table, decoded together.

    Args:
        release: the table.
        names: all of them, in the order in which they became public.
        whole: places of those that are complete.
        cut: estimates of the others, by place.
    """

    def __init__(
        self,
        release: Release,
        names: Sequence[Item],
        whole: npt.NDArray[np.intp],
        cut: Mapping[int, float],
    ) -> None:
        self._release, self._names, self._whole = release, names, whole
        self.number = len(names)
        self._is_whole = np.zeros(len(names), np.bool_)
        self._is_whole[whole] = True
        self.size = release._size("now")
        # Most often all of them are complete.
        listed = names if len(whole) == len(names) else [names[at] for at in whole.tolist()]
        self._listed = release._decoded(listed) if len(whole) else None
        self._cut = cut

    @cached_property
    def estimates(self) -> Array:
        """The estimates of all, float64 of shape (names,)."""
        found = np.zeros(len(self._names))
        if self._listed is not None:
            found[self._whole] = np.maximum(self._listed.estimates, 0.0)
        found[list(self._cut)] = list(self._cut.values())
        return found

    def leading(self, n: int, shown: npt.NDArray[np.intp]) -> Array:
        """Return the estimates of the n heaviest and of those shown before; others are below."""
        found = np.full(len(self._names), -math.inf)
        found[list(self._cut)] = list(self._cut.values())
        if self._listed is not None:
            listed, estimates = self._listed.heaviest(n)
            found[self._whole[listed]] = np.maximum(estimates, 0.0)
            inside = shown[self._is_whole[shown]]
            before = self._listed.estimates_of(np.searchsorted(self._whole, inside))
            found[inside] = np.maximum(before, 0.0)
        return found

    def hitters(self, places: npt.NDArray[np.intp], *, confidence: float) -> list[HeavyHitter]:
        """Return some of them; the intervals of all known items cover together."""
        inside = self._is_whole[places]
        listed = np.searchsorted(self._whole, places[inside])
        found: Iterator[Interval] = iter(())
        if self._listed is not None and len(listed):
            found = iter(
                self._release._intervals_of_places(
                    self._listed, listed, confidence=confidence, among=len(self._whole)
                )
            )
        return [
            self._hitter(at, next(found) if whole else None)
            for at, whole in zip(places.tolist(), inside.tolist(), strict=True)
        ]

    def errors(self, hitters: Sequence[HeavyHitter], *, confidence: float) -> Array:
        """Return standard errors, from the widths of their joint intervals."""
        if not hitters:
            return np.empty(0)
        widths = np.array([one.high - one.low for one in hitters], dtype=np.float64)
        among = max(len(self._names), 1)
        from statistics import NormalDist  # late: it loads random and hashlib

        deviations = NormalDist().inv_cdf(1.0 - (1.0 - confidence) / (2.0 * among))
        return np.where(np.isfinite(widths), widths, 0.0) / (2.0 * max(deviations, 0.1))

    def _hitter(self, at: int, interval: Interval | None) -> HeavyHitter:
        item = self._names[at]
        if interval is None:
            estimate = float(self._cut[at])
            return HeavyHitter(item, estimate, 0.0, math.inf, estimate / self.size, complete=False)
        estimate, low, high = interval.estimate, interval.low, interval.high
        return HeavyHitter(item, estimate, low, high, estimate / self.size)


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
