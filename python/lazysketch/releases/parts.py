"""One sketch's share in a release: its id, its steps, its promise and the law of its noise.

Everything here is derived from the public parameters that a release carries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.relations import (
    CountKind,
    checked_integer,
    square_root_up,
    table_sensitivity2,
)
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Schedule, schedule_specified
from lazysketch.specification.sizing import LARGEST_WIDTH

__all__ = ["ReleasePart", "bounds_of", "parts_of", "privacy_of"]


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

    def published_steps(self, width: int) -> npt.NDArray[np.int64]:
        """Return the step up to which the cells of every column are published.

        Args:
            width: columns of the table.

        Returns:
            int64 array of shape (width,); 0 where nothing is, the release's step when exact.
        """
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        if self.schedule is None:
            return np.full(columns, self.step, dtype=np.int64)
        return self.schedule.published_steps(width, self.step)

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


def parts_of(kind: str, depth: int, parts: Iterable[Mapping[str, Any]]) -> tuple[ReleasePart, ...]:
    """Return the parts of a release of the core.

    Args:
        kind: kind of the table.
        depth: its rows.
        parts: what the core says of each.

    Returns:
        The frozen descriptions, in order.
    """
    known: dict[tuple[Any, ...], ReleasePart] = {}
    return tuple(_part_of(kind, depth, part, known) for part in parts)


def _part_of(
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
    known[signature] = ReleasePart(
        sketch_id=part["sketch_id"],
        step=part["step"],
        privacy=privacy_of(kind, depth, law, part["not_private_because"]),
        schedule=law and schedule_specified(law["schedule"]),
        mechanism=law and Mechanism(law["mechanism"], leaves=law["leaves"]),
    )
    return known[signature]
