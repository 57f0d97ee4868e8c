"""Releases of sums by item: two public tables, their files, and merging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, MergeError, ReleaseFormatError
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.releases.files import SUMS_MAGIC
from lazysketch.releases.items import Item
from lazysketch.releases.kinds import KINDS
from lazysketch.releases.parts import ReleasePart
from lazysketch.releases.release import Release
from lazysketch.releases.release_of_kind import ReleaseOfKind
from lazysketch.releases.sum_rows import SumRow, sum_rows
from lazysketch.releases.sums_file import decoded_sums, encoded_sums
from lazysketch.releases.sums_queries import SumsQueries
from lazysketch.specification.value_grid import ValueGrid

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SumsRelease"]


class SumsRelease(SumsQueries, ReleaseOfKind):
    """The public state of :class:`lazysketch.Sums` at one step.

    Guarantee: it holds no secret; everything computed from it has the (epsilon, delta) of the sums.
    Every answer has an interval that covers the true one with its confidence, for items and
    questions that do not depend on the noise or on the hash seed.

    Source: docs/sums.md.

    Example:
        >>> import lazysketch as ls
        >>> spent = ls.Sums(low=0, high=10, step=0.5, epsilon=1.0, delta=1e-6, horizon=20_000)
        >>> spent.update_many(["a", "b"] * 10_000, [2.0, 4.5] * 10_000)
        >>> release = spent.release()
        >>> 45_000 in release.sum("b", confidence=1 - 1e-9)
        True
        >>> 2.0 in release.mean("a", confidence=1 - 1e-9)
        True
        >>> [found.item for found in release.top(1, among=["a", "b", "c"])]
        ['b']
        >>> other = ls.SumsRelease.from_bytes(release.to_bytes())
        >>> other.sum("a") == release.sum("a")
        True
    """

    def __init__(self, counts: _native.Release, values: _native.Release, grid: ValueGrid) -> None:
        """Wrap two releases of the core; users get releases from sums, files and merges."""
        super().__init__(counts)
        self._counts, self._values, self._grid = Release(counts), Release(values), grid

    def merge(self, *others: SumsRelease) -> SumsRelease:
        """Return the sum of releases of different sums with the same bounds, size and hash seed.

        Guarantee: NOT PRIVATE is inherited. For a person who occurs in several streams the runs
        compose: ``compose(release)``.

        Args:
            others: releases with the same bounds, steps, depth, width and hash seed.

        Returns:
            The merged release.

        Raises:
            ArgumentTypeError: something that is not such a release.
            MergeError: other bounds, shapes or seeds, or sums that occur twice.
        """
        for other in others:
            if not isinstance(other, SumsRelease):
                found = type(other).__name__
                raise ArgumentTypeError(f"others: expected releases of sums, got {found}")
            if other._grid != self._grid:
                raise MergeError("merge: expected the same bounds and steps of values, got others")
        each = (self, *others)
        counts = _native.Release.merge([one._counts._native for one in each])
        values = _native.Release.merge([one._values._native for one in each])
        return SumsRelease(counts, values, self._grid)

    def to_bytes(self) -> bytes:
        """Return the release as bytes, the same on every platform.

        Returns:
            The bytes that docs/release-format.md describes: the bounds, and both tables.
        """
        return encoded_sums(self._grid, self._counts.to_bytes(), self._values.to_bytes())

    @classmethod
    def _read(cls, data: bytes) -> Self:
        if isinstance(data, bytes) and not data.startswith(SUMS_MAGIC):
            return super()._read(data)
        grid, counts, values = decoded_sums(data)
        return cls(counts._native, values._native, grid)

    @classmethod
    def _made(cls, native: _native.Release, names: Iterable[Item]) -> Self:
        del names
        counted = KINDS[native.kind].counted
        raise ReleaseFormatError(f"release: expected one of sums of values, got one of {counted}")

    @property
    def grid(self) -> ValueGrid:
        """The public bounds of values, and the steps between them."""
        return self._grid

    @property
    def tables(self) -> tuple[Release, Release]:
        """The table of events, and that of values as integers from the middle of the bounds.

        The second is no table of counts: its estimates are to be asked of this release.
        """
        return self._counts, self._values

    @property
    def kind(self) -> str:
        """``"sums"``."""
        return "sums"

    @property
    def privacy(self) -> SumsPrivacy:
        """The guarantee of the run; a merged release has one per run, in :attr:`promises`.

        Raises:
            ArgumentValueError: a merged release.
        """
        return self._privacy_of(self._only_part("privacy"), self._values._only_part("privacy"))

    def _privacy_of(self, counts: ReleasePart, values: ReleasePart) -> SumsPrivacy:
        """Return the guarantee of the run whose tables these are."""
        run = counts.run
        if run is None:
            raise ReleaseFormatError("release: expected tables that state their run, got others")
        return SumsPrivacy(run.epsilon, run.delta, counts.privacy, values.privacy)

    def _promised(self, part: ReleasePart) -> str:
        runs = {one.run.id: one for one in self._values.parts if one.run}
        values = runs[part.run.id if part.run else b""]
        return str(self._privacy_of(part, values))

    @property
    def private(self) -> bool:
        """True if the guarantee holds for every run."""
        return super().private and self._values.private

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons why it is not private; empty for a private release."""
        reasons = super().not_private_because + self._values.not_private_because
        return tuple(dict.fromkeys(reasons))

    @property
    def noise_deviation(self) -> npt.NDArray[np.float64]:
        """Standard deviation of the noise of a sum in the cells of every column, as the values."""
        return np.full(self.width, self._grid.unit * self._variance_of_sums**0.5)

    @property
    def _shape(self) -> str:
        bounds = f"{self._grid.low:g} to {self._grid.high:g}"
        return f"sums of values from {bounds}, count-sketch {self.depth} x {self.width:,}"

    def _rows(self, questions: Sequence[str | int], *, confidence: float) -> list[SumRow]:
        return sum_rows(self, questions, confidence=confidence)

    def _merged(self, others: Sequence[ReleaseOfKind]) -> SumsRelease:
        return self.merge(*cast("Sequence[SumsRelease]", others))

    @property
    def _is_of_one_step(self) -> bool:
        """Whether both tables are of the same moment."""
        ends = [(table.step, table.finished) for table in self.tables]
        return ends[0] == ends[1]

    def __repr__(self) -> str:
        made = f"step {self.step}" if len(self._counts.parts) == 1 else "several runs merged"
        made += ", finished" if self.finished else ""
        text = f"<SumsRelease of values from {self._grid.low:g} to {self._grid.high:g}, {made}"
        if not self.private:
            return f"{text}, NOT PRIVATE: {'; '.join(self.not_private_because)}>"
        one = len(self._counts.parts) == 1
        return f"{text}, {self.privacy}>" if one else f"{text}, each with its own guarantee>"
