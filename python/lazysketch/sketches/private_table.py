"""What all live private tables share: calibration at birth, releases, and no second life.

A live private table holds exact counts inside the native core. It can be updated, asked and
closed; it cannot be copied, pickled or used in a forked child, because two tables with one
working key and different events would publish the same noise on different counts.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LiveStateError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.calibration import NoiseCalibration, calibrate
from lazysketch.privacy.relations import (
    Calibration,
    CountKind,
    Relation,
    changed_cells,
    checked_integer,
    table_sensitivity2,
)
from lazysketch.releases.parts import bounds_of, privacy_of
from lazysketch.releases.release import ReadsByRelease, Release
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import ClosedByBlock, SingleLife
from lazysketch.specification.mechanisms import Mechanism, suitable
from lazysketch.specification.schedules import Geometric, Schedule, schedule_specified

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PrivateTable", "key_or_fresh", "noise_of", "table_arguments"]

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_native._after_fork_in_child)

_LARGEST_WEIGHT = 2**32
_MOST_EVENTS = 2**20


class PrivateTable(ClosedByBlock, SingleLife, _native.PrivateSketch, ReadsByRelease):
    """Base of the private sketches and counters; not made directly.

    Guarantee: everything ever released, at any number of steps, together satisfies the
    (epsilon, delta) in :attr:`privacy` for the relation named there, for neighbouring streams
    that were fixed in advance.

    Source: docs/guarantees.md.
    """

    def __new__(
        cls,
        *,
        kind: CountKind,
        depth: int,
        width: int,
        schedule: Schedule,
        epsilon: float,
        delta: float,
        relation: Relation,
        mechanism: str,
        calibration: Calibration,
        max_weight: int,
        max_events_per_user: int,
        max_changes: int,
        hash_seed: int | None,
        key: Key | None,
    ) -> Self:
        """Calibrate the noise and make the core's sketch."""
        arguments = table_arguments(
            kind=kind,
            depth=depth,
            width=width,
            schedule=schedule,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            mechanism=mechanism,
            calibration=calibration,
            max_weight=max_weight,
            max_events_per_user=max_events_per_user,
            max_changes=max_changes,
            hash_seed=hash_seed,
        )
        return super().__new__(cls, **arguments, key=key_or_fresh(key))

    def release(self) -> Release:
        """Return the public table at this step.

        Guarantee: reading it, any number of times and at any steps, costs nothing beyond
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the sketch.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        return Release(self._release())

    def update_batch(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count any number of events in one step; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a numpy array or an iterable of items; may be empty.
            weights: as many integers, or None for 1 each.
            column: the column of a table with several.

        Raises:
            ItemError: something that cannot be an item, or a null, with its position.
            ArgumentTypeError: a single str, bytes or dict; floats; an unnamed column.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: in a forked child.
        """
        self._update_batch(items, weights, column=column)

    @property
    def privacy(self) -> Privacy:
        """What the sketch promises, a frozen description."""
        return privacy_of(self.kind, self.depth, self._law, self.not_private_because)

    @property
    def private(self) -> bool:
        """True unless the sketch was made NOT PRIVATE; see :attr:`not_private_because`."""
        return not self.not_private_because

    @property
    def horizon(self) -> int | None:
        """Largest number of steps, None for streams without end."""
        return schedule_specified(self._law["schedule"]).horizon

    @property
    def schedule(self) -> str:
        """Name of the schedule."""
        return schedule_specified(self._law["schedule"]).name

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return str(self._law["mechanism"])

    @property
    def sigma(self) -> float:
        """Standard deviation of one node's noise, in counts."""
        return float(self._law["sigma"])

    def _shape(self) -> str:
        return f"depth={self.depth}, width={self.width}"

    def __repr__(self) -> str:
        law = self._law
        try:
            used = "closed" if self.closed else f"steps used={self._step}"
        except LiveStateError:
            used = "unusable in a forked child"
        text = (
            f"<{type(self).__name__} {self._shape()}, epsilon={law['epsilon']:g}, "
            f"delta={law['delta']:g}, relation={law['relation']!r}, "
            f"horizon={self.horizon}, {bounds_of(law)}{used}"
        )
        reasons = "; ".join(self.not_private_because)
        return f"{text}, NOT PRIVATE: {reasons}>" if reasons else f"{text}>"


def key_or_fresh(key: Key | None) -> Key:
    """Return the key that a table gets.

    Args:
        key: the user's, or None.

    Returns:
        The same, or a fresh one.

    Raises:
        ArgumentTypeError: not a key.
    """
    if key is None:
        return Key.generate()
    if not isinstance(key, Key):
        raise ArgumentTypeError(f"key: expected a Key, got {type(key).__name__}")
    return key


def table_arguments(
    *,
    kind: CountKind,
    depth: int,
    width: int,
    schedule: Schedule,
    epsilon: float,
    delta: float,
    relation: Relation,
    mechanism: str,
    calibration: Calibration,
    max_weight: int,
    max_events_per_user: int,
    max_changes: int,
    hash_seed: int | None,
) -> dict[str, Any]:
    """Return what the core needs to make a table: everything checked, and the noise calibrated.

    Args:
        kind: of the table.
        depth: rows.
        width: columns.
        schedule: when they are pushed.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: what neighbours are.
        mechanism: what was asked for, such as ``"tree"``.
        calibration: ``"analytic"`` or ``"classical"``.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        max_changes: cells that one event changes in each row.
        hash_seed: public seed, or None.

    Returns:
        The arguments of the core, but the key.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or noise that no mechanism serves.
    """
    if hash_seed is not None:
        hash_seed = checked_integer("hash_seed", hash_seed, least=0, most=2**64 - 1)
    # Checked once; the same plain values go to the calibration and to the core.
    max_weight = checked_integer("max_weight", max_weight, most=_LARGEST_WEIGHT)
    max_events_per_user = checked_integer(
        "max_events_per_user", max_events_per_user, most=_MOST_EVENTS
    )
    chosen, noise = noise_of(
        kind=kind,
        depth=depth,
        width=width,
        schedule=schedule,
        mechanism=mechanism,
        relation=relation,
        max_changes=max_changes,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        max_weight=max_weight,
        max_events_per_user=max_events_per_user,
    )
    return {
        "kind": kind,
        "depth": depth,
        "width": width,
        "hash_seed": hash_seed,
        "schedule": schedule.specification,
        "mechanism": chosen.name,
        "sigma": noise.sigma,
        "relation": relation,
        "calibration": calibration,
        "epsilon": noise.epsilon,
        "delta": noise.delta,
        "max_weight": max_weight,
        "max_events_per_user": max_events_per_user,
        "max_changes": max_changes,
    }


def noise_of(
    *,
    kind: CountKind,
    depth: int,
    width: int,
    schedule: Schedule,
    mechanism: str,
    relation: Relation,
    max_changes: int,
    epsilon: float,
    delta: float,
    calibration: Calibration,
    max_weight: int,
    max_events_per_user: int,
) -> tuple[Mechanism, NoiseCalibration]:
    """Return the mechanism that a table gets, and its noise; no table is made.

    The optimised tables have large entries: with large weights their sums could leave 126 bits, or
    their draws the precision of a float, where the closed form still serves.

    Args:
        kind: of the table.
        depth: rows.
        width: columns.
        schedule: when they are pushed.
        mechanism: what was asked for, such as ``"tree"``.
        relation: what neighbours are.
        max_changes: cells that one event changes in each row.
        epsilon: privacy parameter.
        delta: privacy parameter.
        calibration: ``"analytic"`` or ``"classical"``.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.

    Returns:
        The best mechanism whose arithmetic serves the noise asked for, and that noise.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or noise that no mechanism serves.
    """
    growing = isinstance(schedule, Geometric)
    *better, last = suitable(mechanism, leaves=schedule.leaves(width), growing=growing)
    calibrated = partial(
        _calibrated,
        kind=kind,
        depth=depth,
        width=width,
        relation=relation,
        max_changes=max_changes,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        max_weight=max_weight,
        max_events_per_user=max_events_per_user,
    )
    for preferred in better:
        try:
            noise = calibrated(mechanism=preferred)
        except ArgumentValueError:
            continue
        if preferred.fits(noise.sigma):
            return preferred, noise
    return last, calibrated(mechanism=last)


def _calibrated(
    *,
    kind: CountKind,
    depth: int,
    width: int,
    mechanism: Mechanism,
    relation: Relation,
    max_changes: int,
    epsilon: float,
    delta: float,
    calibration: Calibration,
    max_weight: int,
    max_events_per_user: int,
) -> NoiseCalibration:
    """Return the noise that the whole life of the table asks for."""
    return calibrate(
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        table_sensitivity2=table_sensitivity2(
            kind,
            depth=depth,
            relation=relation,
            calibration=calibration,
            max_changes=max_changes,
        ),
        mechanism_sensitivity2=mechanism.sensitivity2,
        mechanism_nodes=mechanism.nodes_per_leaf,
        changed_cells=changed_cells(kind, depth=depth, relation=relation, max_changes=max_changes),
        draws=depth * width * mechanism.nodes,
        max_weight=max_weight,
        max_events_per_user=max_events_per_user,
    )
