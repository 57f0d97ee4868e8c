"""Releases of sums by item: two public tables, their files, and merging."""

from __future__ import annotations

from os import PathLike
from typing import Any

from lazysketch import _native
from lazysketch.arguments import check_bools
from lazysketch.errors import ArgumentTypeError, MergeError, ReleaseFormatError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart
from lazysketch.releases.files import write_whole
from lazysketch.releases.release import Release
from lazysketch.sums.sums_file import MAGIC, decoded_sums, encoded_sums, read_sums
from lazysketch.sums.sums_privacy import SumsPrivacy
from lazysketch.sums.sums_queries import SumsQueries
from lazysketch.sums.value_grid import ValueGrid

__all__ = ["SumsRelease"]


class SumsRelease(SumsQueries):
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
        >>> 45_000 in release.sum("b", confidence=1 - 1e-6)
        True
        >>> 2.0 in release.mean("a", confidence=1 - 1e-6)
        True
        >>> [found.item for found in release.top(1, among=["a", "b", "c"])]
        ['b']
        >>> other = ls.SumsRelease.from_bytes(release.to_bytes())
        >>> other.sum("a") == release.sum("a")
        True
    """

    def __init__(self, counts: _native.Release, values: _native.Release, grid: ValueGrid) -> None:
        """Wrap two releases of the core; users get releases from sums, files and merges."""
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
            The bounds, and the bytes of both tables.
        """
        return encoded_sums(self._grid, self._counts.to_bytes(), self._values.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> SumsRelease:
        """Return the release that is encoded in bytes.

        Guarantee: sizes are checked before any allocation; hostile bytes raise an error.

        Args:
            data: the result of :meth:`to_bytes`.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not bytes.
            ReleaseFormatError: not a release of sums of this version, or damaged.
        """
        grid, counts, values = decoded_sums(data)
        return cls(counts._native, values._native, grid)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the release to a file atomically; an existing release of sums is replaced.

        Args:
            path: the file.
            overwrite: True to replace also a file that is not a release of sums.

        Raises:
            ArgumentTypeError: not a path, or not a bool.
            ArgumentValueError: a path that no file has, such as an empty one.
            OverwriteError: the file exists and is not a release of sums; it is unchanged.
            OSError: the file cannot be written.
        """
        check_bools(overwrite=overwrite)
        write_whole(path, self.to_bytes(), replaces=None if overwrite else MAGIC)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SumsRelease:
        """Return the release in a file.

        Args:
            path: a file written by :meth:`save`.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not a path.
            ArgumentValueError: a path that no file has, such as an empty one.
            OSError: the file cannot be read.
            ReleaseFormatError: it is not a release of sums of this version, or damaged.
        """
        return cls.from_bytes(read_sums(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

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
    def finished(self) -> bool:
        """True if all runs were finished."""
        return self._counts.finished

    @property
    def promises(self) -> dict[bytes, tuple[Privacy | PlainPart, ...]]:
        """What each run promised, by its id: the mechanisms, for ``compose``."""
        return self._counts.promises

    @property
    def privacy(self) -> SumsPrivacy:
        """The guarantee of the run; a merged release has one per run, in :attr:`promises`.

        Raises:
            ArgumentValueError: a merged release.
        """
        run = self._counts._only_part("privacy").run
        if run is None:
            raise ReleaseFormatError("release: expected tables that state their run, got others")
        return SumsPrivacy(
            run.epsilon, run.delta, self._counts.privacy, self._values._only_part("privacy").privacy
        )

    @property
    def private(self) -> bool:
        """True if the guarantee holds for every run."""
        return self._counts.private and self._values.private

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons why it is not private; empty for a private release."""
        reasons = self._counts.not_private_because + self._values.not_private_because
        return tuple(dict.fromkeys(reasons))

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise in a cell of the table of sums, in units of values."""
        return float(self._grid.unit * self._variance_of_sums**0.5)

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
