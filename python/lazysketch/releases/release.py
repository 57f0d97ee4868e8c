"""Releases: public tables that can be queried, saved, loaded and merged anywhere.

A release of a private sketch holds noisy integers and the distribution of their noise, but no
secret and no exact count. Using it is post-processing and costs no privacy; the queries are in
:mod:`.public_table`. A file has 8 bytes per cell and some 200 more; of 2^14 cells or more about 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import (
    ArgumentTypeError,
    ReleaseFormatError,
)
from lazysketch.estimation.intervals import (
    At,
    Interval,
    Intervals,
    checked_at,
    checked_confidence,
)
from lazysketch.releases.heavy_items import HeavyItems, hitters_of
from lazysketch.releases.items import Item, distinct_items
from lazysketch.releases.kinds import KINDS
from lazysketch.releases.parts import ReleasePart, bounds_of
from lazysketch.releases.public_table import PublicTable
from lazysketch.releases.release_of_kind import ReleaseOfKind
from lazysketch.releases.rows import ItemRow, item_rows
from lazysketch.result_tables import html_table, number_text

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ReadsByRelease", "Release", "ReleasePart"]


class Release(ReleaseOfKind, PublicTable):
    """A public table with the distribution of its noise.

    Guarantee: it holds no secret; everything computed from the release of a private sketch has the
    sketch's (epsilon, delta). Releases of exact or seeded sketches say NOT PRIVATE.

    Source: docs/release-format.md for the bytes.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=2, width=16, epsilon=1.0, delta=1e-6)
        >>> sketch.update_many(["a", "b", "a"])
        >>> release = sketch.release()
        >>> release.step, release.table.shape
        (3, (2, 16))
        >>> ls.Release.from_bytes(release.to_bytes())["a"] == sketch.estimate("a")
        True
    """

    # Any integer is an item, so iterating over release[0], release[1], ... would never end.
    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    def __init__(self, native: _native.Release, names: Iterable[Item] = ()) -> None:
        """Wrap a release of the core; users get releases from sketches, files and merges."""
        super().__init__(native)
        kind = KINDS[native.kind]
        if kind.release != Release.__name__:
            raise ReleaseFormatError(
                f"release: expected one of counts of items, got one of {kind.counted}; "
                f"use {kind.release}"
            )
        self._names = tuple(names)

    @classmethod
    def _made(cls, native: _native.Release, names: Iterable[Item]) -> Self:
        return cls(native, names)

    def to_bytes(self) -> bytes:
        """Return the release as bytes, the same on every platform.

        Returns:
            The bytes that docs/release-format.md describes.
        """
        return self._native.to_bytes(list(self._names) if self._names else None)

    def merge(self, *others: Release) -> Release:
        """Return the sum of releases of different sketches.

        Guarantee: ``parts`` keeps the noise distribution and the steps of every part; NOT PRIVATE
        is inherited. For a person who occurs in several streams the parts compose as
        sqrt(sum of mu^2). The names are those of all releases in order, each once.

        Args:
            others: releases with the same kind, depth, width and hash seed.

        Returns:
            The merged release.

        Raises:
            ArgumentTypeError: something that is not a release.
            MergeError: different shapes or seeds, or a sketch that occurs twice.
        """
        for other in others:
            if not isinstance(other, Release):
                raise ArgumentTypeError(f"others: expected releases, got {type(other).__name__}")
        releases = (self, *others)
        names = dict.fromkeys(name for release in releases for name in release.names)
        return Release(_native.Release.merge([one._native for one in releases]), names)

    def since(self, earlier: Release) -> Release:
        """Return the counts of the steps after an earlier release of the same sketch.

        For sketches that push every column at every step (schedule ``"batch"`` or ``"punctual"``):
        their release after step p minus that after step q < p has the counts of the steps between.
        Its noise is that of two pushes of one cell, which share draws; estimates and intervals know
        its variance. So one sketch answers for any span of its stream.

        Guarantee: post-processing of two public releases; it costs no privacy.

        Args:
            earlier: a release of the same sketch at an earlier step.

        Returns:
            A release, with the names of this one.

        Raises:
            ArgumentTypeError: not a release.
            ArgumentValueError: a release of another sketch or of a later step, a merged release or
                a difference; a schedule with lag; exact counts; the mechanism ``"tree-deep"`` or
                ``"tree-endless"``, whose differences are not known.

        Source: docs/theory.md, Lemma 12a.

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountMin(
            ...     depth=3, width=64, epsilon=10.0, delta=1e-6, horizon=24, schedule="batch"
            ... )
            >>> releases = []
            >>> for hour in range(3):
            ...     sketch.update_batch(["a"] * 1000 * (hour + 1))
            ...     releases.append(sketch.release())
            >>> round(releases[2].since(releases[0]).estimate("a"), -2)  # 2,000 and 3,000
            5000.0
        """
        if not isinstance(earlier, Release):
            raise ArgumentTypeError(f"earlier: expected a release, got {type(earlier).__name__}")
        return Release(self._native.since(earlier._native), self._names)

    def top(
        self,
        items: object = None,
        n: int = 10,
        *,
        confidence: float = 0.95,
        at: At = "now",
    ) -> HeavyItems:
        """Return the n heaviest items of a public list, in descending order of their estimates.

        Guarantee: post-processing, if the list is public: it must not depend on the stream, except
        through private results. The intervals of the whole list cover simultaneously, hence also
        those of the heaviest items, although these are selected by their estimates. ``at`` is as
        in :meth:`interval`.

        Args:
            items: Arrow data, a numpy array or an iterable of items; by default :attr:`names`.
            n: number of items, 1 or more.
            confidence: for all intervals together, above 0 and below 1.
            at: ``"now"`` for the counts at this step, ``"published"`` for those at the last pushes.

        Returns:
            The items with estimate, interval and share of the stream; fewer than n if the list is
            shorter, empty for a release without names if no list is given.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/intervals.md.
        """
        if isinstance(items, int):
            raise ArgumentTypeError(
                "items: expected a list of items or None, got int; give the number of rows as n="
            )
        most, moment = checked_integer("n", n), checked_at(at)
        level = checked_confidence(confidence)
        listed = list(self._names) if items is None else distinct_items("items", items)
        if not listed:
            return HeavyItems()
        places, found = self._heaviest(listed, n=most, confidence=level, at=moment)
        chosen = [listed[place] for place in places]
        return HeavyItems(hitters_of(chosen, found, size=self._size(moment)))

    def __getitem__(self, item: object) -> float:
        """Return the estimated count of one item, as :meth:`estimate` does."""
        return self.estimate(item)

    @property
    def names(self) -> tuple[Item, ...]:
        """Its public names, in order: published heavy hitters, or a public domain."""
        return self._names

    @property
    def _number_of_names(self) -> int:
        return len(self._names)

    def _rows(self, questions: Sequence[str | int], *, confidence: float) -> list[ItemRow]:
        found = self._intervals_of_list(questions, confidence=confidence, among=None)
        return item_rows(self, questions, found, ranked=False)

    def _merged(self, others: Sequence[ReleaseOfKind]) -> Release:
        return self.merge(*cast("Sequence[Release]", others))

    def _repr_html_(self) -> str:
        deviation = self.noise_deviation
        ends = [number_text(float(end)) for end in (deviation.min(), deviation.max())]
        facts = {
            "steps": f"{self.step:,}",
            "guarantee": (
                str(self._parts[0].privacy)
                if len(self._parts) == 1
                else f"{len(self._parts):,} parts, each with its own"
            ),
            "noise of a cell": f"standard deviation {' to '.join(dict.fromkeys(ends))}",
            "names": f"{len(self._names):,}",
            "hash seed": str(self.hash_seed),
        }
        if not self.private:
            facts["NOT PRIVATE"] = "; ".join(self.not_private_because)
        return html_table({"release": list(facts), self._shape: list(facts.values())})

    def __repr__(self) -> str:
        shape = f"{self.kind} {self.depth} x {self.width}"
        made = f"{len(self._parts)} parts merged" if len(self._parts) > 1 else self._steps_made
        made += ", finished" if self.finished else ""
        made += f", {len(self._names)} names" if self._names else ""
        if self.private:
            privacy = self._parts[0].privacy
            bounds = bounds_of(privacy).rstrip(", ")
            guarantee = f"epsilon={privacy.epsilon:g}, delta={privacy.delta:g}"
            guarantee += f", {bounds}" if bounds else ""
            if len(self._parts) > 1:
                guarantee = "each with its own guarantee"
            return f"<Release of {shape}, {made}, {guarantee}>"
        return f"<Release of {shape}, {made}, NOT PRIVATE: {'; '.join(self.not_private_because)}>"

    @property
    def _steps_made(self) -> str:
        part = self._parts[0]
        return f"steps {part.since + 1} to {part.step}" if part.since else f"step {part.step}"


class ReadsByRelease:
    """Queries that a sketch answers from its release."""

    @abstractmethod
    def release(self) -> Release:
        """Return the public table at this step."""

    def decode(self, items: object, *, column: str | None = None) -> npt.NDArray[np.float64]:
        """Return the estimated counts of known names at this step, decoded together.

        Guarantee: as :meth:`Release.decode`. Each call makes a release.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            column: the name of the column, for a table with several columns.

        Returns:
            float64 array, in the order of the items.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; several columns without ``column``.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/estimators.md#known-names.
        """
        return self.release().decode(items, column=column)

    def interval(self, item: object, *, confidence: float = 0.95, at: At = "now") -> Interval:
        """Return an estimate of one item's count with an interval that covers it.

        Guarantee: as :meth:`Release.interval`. Each call makes a release; for several queries, make
        one release and query it.

        Args:
            item: any item; an index for counters.
            confidence: above 0 and below 1.
            at: ``"now"`` or ``"published"``.

        Returns:
            The estimate (that of ``estimate``), both ends, and what they refer to.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/intervals.md.
        """
        return self.release().interval(item, confidence=confidence, at=at)

    def interval_many(
        self,
        items: object,
        *,
        confidence: float = 0.95,
        at: At = "now",
        simultaneous: bool = False,
        among: int | None = None,
        known: object = None,
        column: str | None = None,
    ) -> Intervals:
        """Return estimates and intervals of many items, in order.

        Guarantee: as :meth:`Release.interval_many`. Each call makes a release.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            confidence: above 0 and below 1.
            at: ``"now"`` or ``"published"``.
            simultaneous: True to cover all counts together.
            among: number of items from which these were selected; the confidence holds for all.
            known: a public list of names, as for :meth:`Release.interval_many`.
            column: the name of the column, for a table with several columns.

        Returns:
            Arrays of estimates, lower ends and upper ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.

        Source: docs/intervals.md.
        """
        return self.release().interval_many(
            items,
            confidence=confidence,
            at=at,
            simultaneous=simultaneous,
            among=among,
            known=known,
            column=column,
        )
