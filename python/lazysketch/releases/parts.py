"""The part of one sketch in a release: its id, steps, guarantee, schedule and mechanism.

Everything here is derived from the public parameters that a release carries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.accounting import TOLERANCE, Privacy
from lazysketch.privacy.curve import ideal_bound
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import CountKind, square_root_up, table_sensitivity2
from lazysketch.releases.run_promise import RunPromise
from lazysketch.specification.distinct import stated_bound, stated_weight
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.ranges import ranges_sensitivity2, sharing_rows
from lazysketch.specification.schedules import Schedule, schedule_specified
from lazysketch.specification.sizing import LARGEST_WIDTH
from lazysketch.specification.value_tree import ValueRows, ValueTree
from lazysketch.specification.values import node_sums_sensitivity2

__all__ = ["ReleasePart", "bounds_of", "parts_of"]


def bounds_of(privacy: Privacy) -> str:
    """Return the bounds of weights and events that are not 1, for a repr, each with a comma.

    Args:
        privacy: a guarantee.

    Returns:
        For example ``"max_weight=9, "``; empty if both are 1.
    """
    bounds = {
        "max_weight": privacy.max_weight,
        "max_events_per_user": privacy.max_events_per_user,
    }
    return "".join(f"{name}={bound}, " for name, bound in bounds.items() if bound != 1)


@dataclass(frozen=True)
class ReleasePart:
    """The part of one sketch in a release.

    Guarantee: public values only.

    Attributes:
        sketch_id: 16 bytes that name the sketch.
        step: the step at which its release was made.
        privacy: the guarantee of the sketch.
        schedule: when its columns are pushed; None for exact counts.
        mechanism: how its cells are counted; None for exact counts.
        final_pushes: after ``finish()``, the numbers of the final pushes: of the columns that the
            schedule had pushed least, and of those that it had pushed once more (0 if there are
            none); None for a sketch that was not finished.
        since: the step after which its counts begin: 0, or that of an earlier release that was
            taken off (:meth:`lazysketch.Release.since`).
        run: what the run promised that published it, if that is more than the sketch did: names,
            or other levels.
    """

    sketch_id: bytes
    step: int
    privacy: Privacy
    schedule: Schedule | None
    mechanism: Mechanism | None
    final_pushes: tuple[int, int] | None = None
    run: RunPromise | None = None
    since: int = 0

    @property
    def promised(self) -> Privacy | RunPromise:
        """The guarantee of everything that its run published."""
        return self.run or self.privacy

    @property
    def finished(self) -> bool:
        """True if the sketch was finished: everything is published, and no event can follow."""
        return self.final_pushes is not None

    def pushes(self, width: int) -> npt.NDArray[np.int64]:
        """Return the number of the last push of every column; for exact counts, the step.

        Args:
            width: columns of the table.

        Returns:
            int64 array of shape (width,).
        """
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        if self.schedule is None:
            return np.full(columns, self.step, dtype=np.int64)
        pushes = self.schedule.pushes(width, self.step)
        if self.final_pushes is None:
            return pushes
        least, more = self.final_pushes
        return np.where(pushes == pushes.min(), least, more)

    def published_steps(self, width: int) -> npt.NDArray[np.int64]:
        """Return the step up to which the cells of every column are published.

        Args:
            width: columns of the table.

        Returns:
            int64 array of shape (width,); 0 where nothing is published. For exact counts and
            finished sketches, the step of the release.
        """
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        if self.schedule is None or self.finished:
            return np.full(columns, self.step, dtype=np.int64)
        return self.schedule.published_steps(width, self.step)

    def noise_variance(self, width: int) -> npt.NDArray[np.float64]:
        """Return the variance of the noise in the cells of every column, in squared counts.

        Guarantee: exact up to the final rounding, which adds at most 1/4; of a difference of two
        releases up to both roundings, which add at most 1.

        Args:
            width: columns of the table.

        Returns:
            float64 array of shape (width,); 0 where nothing has been pushed, and for exact counts.
        """
        pushes = self.pushes(width)
        if self.mechanism is None:
            return np.zeros(len(pushes))
        # Columns have one number of pushes, or those before some column another one.
        both = [int(pushes.min()), int(pushes.max())]
        have_most = pushes == both[1]
        del pushes  # of a wide table
        # As the core multiplies, so that live reads and releases agree to the last bit.
        sigma = self.privacy.sigma
        if self.since == 0 or self.schedule is None:
            found = self.mechanism.variances(both)
        else:
            # Without lag every column has as many pushes as steps.
            found = self.mechanism.difference_variances(both, [self.since] * 2)
        least, most = sigma * sigma * found
        variances: npt.NDArray[np.float64] = np.where(have_most, most, least)
        return variances


def parts_of(release: _native.Release) -> tuple[ReleasePart, ...]:
    """Return the parts of a release of the core.

    Args:
        release: with the public parameters of each part, as decoded by the core.

    Returns:
        The frozen descriptions, in order.
    """
    table = _Table(release.kind, release.depth, release.width, release.value_rows)
    return tuple(_part_of(table, part) for part in release.parts)


class _Table(NamedTuple):
    """What the guarantee of a release follows from, apart from its noise."""

    kind: CountKind
    depth: int
    width: int
    value_rows: ValueRows | None


def _part_of(table: _Table, part: _native.PartFacts) -> ReleasePart:
    noise, reasons = part["noise"], part["not_private_because"]
    parameters = None if noise is None else tuple(noise.items())
    described = _part_with(table, parameters, reasons)
    return replace(
        described,
        sketch_id=part["sketch_id"],
        step=part["step"],
        final_pushes=part["finished"],
        run=_run_of(part, described.privacy),
        since=part["since"],
    )


@lru_cache(maxsize=4096)
def _part_with(
    table: _Table, parameters: tuple[tuple[str, object], ...] | None, reasons: tuple[str, ...]
) -> ReleasePart:
    """Return a part with these parameters, without an id and its steps.

    All releases of a sketch have the same, and so may thousands of parts of a merged one.
    """
    noise = None if parameters is None else cast("_native.NoiseFacts", dict(parameters))
    mechanism = noise and Mechanism(noise["mechanism"], leaves=noise["leaves"])
    return ReleasePart(
        sketch_id=b"",
        step=0,
        privacy=_privacy_of(table, noise, mechanism, reasons),
        schedule=noise and schedule_specified(noise["schedule"]),
        mechanism=mechanism,
    )


def _run_of(part: _native.PartFacts, privacy: Privacy) -> RunPromise | None:
    return None if part["run"] is None else RunPromise.read(part["run"], privacy)


def _privacy_of(
    table: _Table,
    noise: _native.NoiseFacts | None,
    mechanism: Mechanism | None,
    reasons: tuple[str, ...],
) -> Privacy:
    """Return the guarantee that the noise of a release gives; NOT PRIVATE for exact counts."""
    if noise is None or mechanism is None:
        return Privacy.without_noise(because=reasons)
    kind, bound = table.kind, noise["person_bound"] and PersonBound(*noise["person_bound"])
    events = noise["max_events_per_user"] if bound is None else bound.events
    scale = noise["max_weight"] * events
    table2 = _sensitivity2_of(table, noise, bound)
    l2_sensitivity = square_root_up(table2 * mechanism.sensitivity2 * scale**2)
    if table.value_rows is not None:
        tree = ValueTree(table.value_rows, table.width)
        moved2 = tree.sensitivity2(noise["relation"], moves=True)
        moved = square_root_up(moved2 * mechanism.sensitivity2 * scale**2)
        if moved > l2_sensitivity and _is_enough(noise, moved):
            l2_sensitivity = moved
    return Privacy(
        epsilon=noise["epsilon"],
        delta=noise["delta"],
        relation=noise["relation"],
        calibration=noise["calibration"],
        sigma=noise["sigma"],
        noise_multiplier=math.nextafter(noise["sigma"] / l2_sensitivity, 0.0),
        l2_sensitivity=l2_sensitivity,
        max_weight=stated_weight(kind, noise["max_weight"]),
        max_events_per_user=noise["max_events_per_user"],
        depth=sharing_rows(
            kind,
            depth=table.depth,
            width=table.width,
            relation=noise["relation"],
            person_bound=bound,
        ),
        person_bound=stated_bound(kind, bound),
        private=not reasons,
        not_private_because=reasons,
    )


def _is_enough(noise: _native.NoiseFacts, l2_sensitivity: float) -> bool:
    """Return whether the noise of a release of one row serves for a larger sensitivity.

    Windows of time are calibrated for moved events. What they publish says so too: with the
    smaller sensitivity of an event that stays, compositions would understate the move.
    """
    multiplier = math.nextafter(noise["sigma"] / l2_sensitivity, 0.0)
    try:
        bound = ideal_bound(noise["epsilon"], noise["delta"], multiplier, depth=1)
    except ArgumentValueError:  # so little noise proves nothing
        return False
    return bound.delta(noise["epsilon"]) <= noise["delta"] * (1.0 + TOLERANCE)


def _sensitivity2_of(
    table: _Table, noise: _native.NoiseFacts, bound: PersonBound | None
) -> int | Fraction:
    """Return the squared change of all counts by what is protected together, per unit of weight."""
    if table.value_rows is not None:
        tree = ValueTree(table.value_rows, table.width)
        return node_sums_sensitivity2(tree, relation=noise["relation"], person_bound=bound)
    if table.kind == "ranges":
        depth, width, relation = table.depth, table.width, noise["relation"]
        return ranges_sensitivity2(depth, width, relation, person_bound=bound)
    return table_sensitivity2(
        table.kind,
        depth=table.depth,
        relation=noise["relation"],
        calibration=noise["calibration"],
        max_changes=noise["max_changes"],
        person_bound=bound and replace(bound, cells=min(bound.cells, table.width)),
    )
