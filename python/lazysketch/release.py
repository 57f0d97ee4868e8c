"""Releases: public tables that can be queried, saved, loaded and merged anywhere.

A release of a private sketch holds integers with noise and the law of that noise, no secret and
no exact count. Everything done with it is post-processing and costs no privacy. A query costs
depth look-ups; bytes on disk are 8 per cell plus some 200.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LazySketchError,
    ReleaseFormatError,
)
from lazysketch.files import read_release, write_whole
from lazysketch.mechanisms import Mechanism
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.relations import (
    CountKind,
    checked_integer,
    square_root_up,
    table_sensitivity2,
)
from lazysketch.schedules import Schedule, schedule_specified
from lazysketch.sizing import LARGEST_WIDTH

__all__ = ["Release", "ReleasePart", "bounds_of", "privacy_of"]


def privacy_of(
    kind: str, depth: int, law: Mapping[str, Any] | None, reasons: tuple[str, ...]
) -> Privacy:
    """Return the guarantee that a noise law of the core stands for.

    Args:
        kind: kind of the table.
        depth: its rows.
        law: the public parameters, or None for exact counts.
        reasons: why it is not private, if so.

    Returns:
        The frozen description.
    """
    if law is None:
        return Privacy.without_noise(because=reasons)
    table2 = table_sensitivity2(
        cast(CountKind, kind),
        depth=depth,
        relation=law["relation"],
        calibration=law["calibration"],
        max_changes=law["max_changes"],
    )
    mechanism = Mechanism(law["mechanism"], leaves=law["leaves"])
    scale = law["max_weight"] * law["max_events_per_user"]
    l2_sensitivity = square_root_up(table2 * mechanism.sensitivity2 * scale**2)
    return Privacy(
        epsilon=law["epsilon"],
        delta=law["delta"],
        relation=law["relation"],
        calibration=law["calibration"],
        sigma=law["sigma"],
        noise_multiplier=math.nextafter(law["sigma"] / l2_sensitivity, 0.0),
        l2_sensitivity=l2_sensitivity,
        max_weight=law["max_weight"],
        max_events_per_user=law["max_events_per_user"],
        private=not reasons,
        not_private_because=reasons,
    )


def bounds_of(law: Mapping[str, Any]) -> str:
    """Return, for a repr, the bounds of weights and events that are not 1, each with a comma.

    Args:
        law: the public parameters.

    Returns:
        For example ``"max_weight=9, "``; empty where both are 1.
    """
    names = ("max_weight", "max_events_per_user")
    return "".join(f"{name}={law[name]}, " for name in names if law[name] != 1)


@dataclass(frozen=True)
class ReleasePart:
    """One sketch's share in a release.

    Guarantee: public values only.

    Attributes:
        sketch_id: 16 bytes that name the sketch.
        step: the step at which its release was made.
        privacy: what the sketch promises.
        schedule: when its columns are pushed; None for exact counts.
        mechanism: how its cells are counted; None for exact counts.
    """

    sketch_id: bytes
    step: int
    privacy: Privacy
    schedule: Schedule | None
    mechanism: Mechanism | None

    @classmethod
    def _of(
        cls,
        kind: str,
        depth: int,
        part: Mapping[str, Any],
        known: dict[tuple[Any, ...], ReleasePart],
    ) -> ReleasePart:
        law = part["law"]
        # Thousands of merged parts share a law: describe it once.
        signature = (part["not_private_because"], *(law or {}).values())
        twin = known.get(signature)
        if twin is not None:
            return replace(twin, sketch_id=part["sketch_id"], step=part["step"])
        known[signature] = cls(
            sketch_id=part["sketch_id"],
            step=part["step"],
            privacy=privacy_of(kind, depth, law, part["not_private_because"]),
            schedule=law and schedule_specified(law["schedule"]),
            mechanism=law and Mechanism(law["mechanism"], leaves=law["leaves"]),
        )
        return known[signature]

    def pushes(self, width: int) -> npt.NDArray[np.int64]:
        """Return the number of pushes of every column; all equal to the steps when exact.

        Args:
            width: columns of the table.

        Returns:
            int64 array of shape (width,).
        """
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        if self.schedule is None:
            return np.full(columns, self.step, dtype=np.int64)
        return self.schedule.pushes(width, self.step)

    def noise_variance(self, width: int) -> npt.NDArray[np.float64]:
        """Return the variance of the noise in the cells of every column, in squared counts.

        Guarantee: exact up to the final rounding, which adds at most 1/4.

        Args:
            width: columns of the table.

        Returns:
            float64 array of shape (width,); 0 where nothing has been pushed, and when exact.
        """
        pushes = self.pushes(width)
        if self.mechanism is None:
            return np.zeros(len(pushes))
        return self.privacy.sigma**2 * self.mechanism.variances(pushes)


class Release:
    """A public table with the law of its noise.

    Guarantee: holds no secret; whatever is computed from a private sketch's release keeps the
    sketch's (epsilon, delta). Releases of exact or seeded sketches say NOT PRIVATE.

    Source: docs/release-format.md for the bytes.

    Example:
        >>> import lazysketch as ls
        >>> sketch = ls.LazyCountMin(depth=2, width=16, epsilon=1.0, delta=1e-6)
        >>> sketch.update_many(["a", "b", "a"])
        >>> release = sketch.release()
        >>> release.step, release.table.shape
        (3, (2, 16))
        >>> ls.Release.from_bytes(release.to_bytes()).estimate("a") == sketch.estimate("a")
        True
    """

    __slots__ = ("_native", "_parts")

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from sketches, files and merges."""
        if not isinstance(native, _native.Release):
            raise ArgumentTypeError(
                "release: expected one made by a sketch, Release.load or Release.from_bytes, "
                f"got {type(native).__name__}"
            )
        self._native = native
        known: dict[tuple[Any, ...], ReleasePart] = {}
        self._parts = tuple(
            ReleasePart._of(native.kind, native.depth, part, known) for part in native.parts
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Release:
        """Return the release in a file.

        Args:
            path: a file written by :meth:`save`.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not a path.
            OSError: the file cannot be read.
            ReleaseFormatError: it is not a release of this version, or damaged.
        """
        return cls.from_bytes(read_release(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """Return the release in some bytes.

        Guarantee: sizes are checked before anything is allocated; hostile bytes raise.

        Args:
            data: what :meth:`to_bytes` gave.

        Returns:
            The release.

        Raises:
            ArgumentTypeError: not bytes.
            ReleaseFormatError: not a release of this version, or damaged.
        """
        if not isinstance(data, bytes):
            raise ArgumentTypeError(f"data: expected bytes, got {type(data).__name__}")
        native = _native.Release.from_bytes(data)
        try:
            return cls(native)
        except LazySketchError as disagreement:
            # Well-formed, but its noise does not serve its promise.
            raise ReleaseFormatError(f"release: {disagreement}") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the release to a file, replacing it whole or not at all.

        Args:
            path: the file.

        Raises:
            ArgumentTypeError: not a path.
            OSError: the file cannot be written.
        """
        write_whole(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the release as bytes, the same on every platform.

        Returns:
            The bytes that docs/release-format.md describes.
        """
        return self._native.to_bytes()

    def merge(self, *others: Release) -> Release:
        """Return the sum of releases of different sketches.

        Guarantee: the noise laws and steps of all parts are kept in ``parts``; NOT PRIVATE is
        inherited. Where streams share a person, the parts compose as sqrt(sum of mu^2).

        Args:
            others: releases with the same kind, depth, width and hash seed.

        Returns:
            The merged release.

        Raises:
            ArgumentTypeError: something that is not a release.
            MergeError: different shapes or seeds, or one sketch twice.
        """
        for other in others:
            if not isinstance(other, Release):
                raise ArgumentTypeError(f"others: expected releases, got {type(other).__name__}")
        return Release(_native.Release.merge([self._native, *(other._native for other in others)]))

    def estimate(self, item: object) -> float:
        """Return the estimated count of one item.

        Guarantee: post-processing; neither clipped nor rounded, so it may be negative.

        Args:
            item: str, bytes or int; an index for counters.

        Returns:
            Minimum over rows (Count-Min) or median of signed values (Count Sketch).

        Raises:
            ItemError: something that cannot be an item.

        Source: arXiv 2507.03361, Algorithm "CO Sketch Query".
        """
        return self._native.estimate(item)

    def estimate_many(self, items: object, *, column: str | None = None) -> npt.NDArray[np.float64]:
        """Return the estimated counts of many items, in order.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            column: the column of a table with several.

        Returns:
            float64 array.

        Raises:
            ArgumentTypeError: a single str, bytes or dict, or an unnamed column.
            ItemError: something that cannot be an item; the message gives its position.
        """
        return self._native.estimate_many(items, column)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """The table, int64 of shape (depth, width), read-only."""
        table = self._native.table
        table.setflags(write=False)
        return table

    @property
    def kind(self) -> str:
        """``"count-min"``, ``"count-sketch"`` or ``"counters"``."""
        return self._native.kind

    @property
    def depth(self) -> int:
        """Rows."""
        return self._native.depth

    @property
    def width(self) -> int:
        """Columns."""
        return self._native.width

    @property
    def hash_seed(self) -> int:
        """The public seed of the hash functions."""
        return self._native.hash_seed

    @property
    def parts(self) -> tuple[ReleasePart, ...]:
        """The sketches in this release, ordered by id once merged."""
        return self._parts

    @property
    def step(self) -> int:
        """Steps seen by all parts together."""
        return sum(part.step for part in self._parts)

    @property
    def sketch_id(self) -> bytes:
        """The id of the sketch; a merged release has one per part."""
        return self._only_part("sketch_id").sketch_id

    @property
    def privacy(self) -> Privacy:
        """What the sketch promises; a merged release has one promise per part."""
        return self._only_part("privacy").privacy

    @property
    def pushes(self) -> npt.NDArray[np.int64]:
        """Pushes of every column, int64 of shape (width,); per part in a merged release."""
        return self._only_part("pushes").pushes(self.width)

    @property
    def noise_deviation(self) -> npt.NDArray[np.float64]:
        """Standard deviation of the noise in the cells of every column, float64 of (width,)."""
        return np.sqrt(sum(part.noise_variance(self.width) for part in self._parts))

    @property
    def private(self) -> bool:
        """True if the guarantee holds for every part."""
        return all(part.privacy.private for part in self._parts)

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons, empty for a private release."""
        reasons = [why for part in self._parts for why in part.privacy.not_private_because]
        return tuple(dict.fromkeys(reasons))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def _only_part(self, name: str) -> ReleasePart:
        if len(self._parts) == 1:
            return self._parts[0]
        raise ArgumentValueError(
            f"{name}: expected a release of one sketch, got a merged one with "
            f"{len(self._parts)} parts; see .parts"
        )

    def __repr__(self) -> str:
        shape = f"{self.kind} {self.depth} x {self.width}"
        made = f"step {self.step}" if len(self._parts) == 1 else f"{len(self._parts)} parts merged"
        if self.private:
            privacy = self._parts[0].privacy
            bounds = bounds_of(vars(privacy)).rstrip(", ")
            promise = f"epsilon={privacy.epsilon:g}, delta={privacy.delta:g}"
            promise += f", {bounds}" if bounds else ""
            if len(self._parts) > 1:
                promise = "each with its own guarantee"
            return f"<Release of {shape}, {made}, {promise}>"
        return f"<Release of {shape}, {made}, NOT PRIVATE: {'; '.join(self.not_private_because)}>"
