"""The private sketches of the paper: lazy and punctual; Count-Min and Count Sketch.

========================  ==============================  ==========================  ==========
sketch                    one update                      one estimate                bytes
========================  ==============================  ==========================  ==========
LazyCountMin, -Sketch     depth additions and one push    depth * log n draws         8 per cell
PunctualCountMin, ...     depth additions                 depth * log n draws         4 per cell
========================  ==============================  ==========================  ==========

Bytes double once 32-bit counters could overflow. Prefer Lazy: it has the least noise; Punctual
publishes without lag but pays for as many pushes as steps. The exact ones are in exact.py.
Count-Min overestimates (by collisions), Count Sketch errs to both sides and less on flat streams.

Source: R. Holland, "Faster Differentially Private Sketches under Continual Observation", arXiv
2507.03361; Cormode and Muthukrishnan 2005; Charikar, Chen and Farach-Colton 2002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.relations import Calibration, Relation
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import (
    Batch,
    Geometric,
    Punctual,
    RoundRobin,
    Schedule,
    Single,
)
from lazysketch.specification.sizing import SketchKind, size_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "LazyCountMin",
    "LazyCountSketch",
    "PunctualCountMin",
    "PunctualCountSketch",
]


class _Private(PrivateTable):
    """Base of the lazy and punctual sketches."""

    _kind: ClassVar[SketchKind]

    def __new__(
        cls,
        *,
        epsilon: float,
        delta: float,
        depth: int | None = None,
        width: int | None = None,
        relative_error: float | None = None,
        failure_probability: float | None = None,
        relation: Relation = "substitution",
        horizon: int | None = None,
        schedule: Schedule | None = None,
        mechanism: str = "tree",
        calibration: Calibration = "analytic",
        max_weight: int = 1,
        max_events_per_user: int = 1,
        hash_seed: int | None = None,
        key: Key | None = None,
    ) -> Self:
        """Size the table and make the private table."""
        rows, columns = size_of(
            cls._kind,
            depth=depth,
            width=width,
            relative_error=relative_error,
            failure_probability=failure_probability,
        )
        return super().__new__(
            cls,
            kind=cls._kind,
            depth=rows,
            width=columns,
            schedule=cls._schedule(horizon, schedule),
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            mechanism=mechanism,
            calibration=calibration,
            max_weight=max_weight,
            max_events_per_user=max_events_per_user,
            max_changes=1,
            hash_seed=hash_seed,
            key=key,
        )

    @staticmethod
    def _schedule(horizon: int | None, schedule: Schedule | None) -> Schedule:
        if schedule is None:
            return Geometric() if horizon is None else RoundRobin(horizon=horizon)
        if not isinstance(schedule, RoundRobin | Geometric | Punctual | Batch | Single):
            raise ArgumentTypeError(
                f"schedule: expected a schedule such as RoundRobin(...), got "
                f"{type(schedule).__name__}"
            )
        if horizon is not None:
            raise ArgumentTypeError("horizon: expected none beside schedule, got both")
        return schedule

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


class _Punctual(_Private):
    """Base of the punctual sketches: every column at every step."""

    @staticmethod
    def _schedule(horizon: int | None, schedule: Schedule | None) -> Schedule:
        if schedule is not None:
            raise ArgumentTypeError("schedule: expected none, the class says it, got one")
        if horizon is None:
            raise ArgumentValueError(
                "horizon: expected the number of steps, which a punctual sketch needs, got None"
            )
        return Punctual(horizon=horizon)


class LazyCountMin(_Private):
    """A private Count-Min sketch that publishes one column per step.

    Guarantee: all releases together are (epsilon, delta)-differentially private for one event
    replaced by another (``relation="substitution"``) or removed ("zero-out"), with the pair of
    streams fixed in advance. Off by collisions (as :class:`CountMin`), by Gaussian noise of known
    variance, and by what arrived since the column's last push.

    Args:
        epsilon: privacy parameter, above 0; no default.
        delta: privacy parameter, below 1 / number of people; no default.
        depth: rows, 1 to 64; with ``width``. More rows, more noise.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: as above.
        relation: ``"substitution"`` or ``"zero-out"``.
        horizon: number of steps (round robin), or None for a stream without end (geometric).
        schedule: another schedule, instead of ``horizon``.
        mechanism: ``"tree"``, the least noise; ``"haar"``, or ``"binary"`` as in the paper.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper (epsilon < 1).
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and id when None.
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: a value outside its range.

    Source: arXiv 2507.03361, the Lazy sketch; docs/guarantees.md.

    Example:
        >>> sketch = LazyCountMin(depth=3, width=1024, epsilon=1.0, delta=1e-8)
        >>> sketch.update("203.0.113.9")
        >>> sketch.update_many(["203.0.113.9", "198.51.100.7"])
        >>> sketch.step
        3
        >>> sketch.estimate("203.0.113.9") == sketch.release().estimate("203.0.113.9")
        True
    """

    _kind: ClassVar[SketchKind] = "count-min"


class LazyCountSketch(_Private):
    """A private Count Sketch that publishes one column per step.

    Guarantee: as :class:`LazyCountMin`, calibrated for the squared sensitivity 4 depth under
    substitution (the paper's 2 depth is too small). Unbiased: collisions and noise err to both
    sides.

    Args:
        epsilon: privacy parameter, above 0; no default.
        delta: privacy parameter, below 1 / number of people; no default.
        depth: rows, 1 to 64; with ``width``.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: as above.
        relation: ``"substitution"`` or ``"zero-out"``.
        horizon: number of steps (round robin), or None for a stream without end (geometric).
        schedule: another schedule, instead of ``horizon``.
        mechanism: ``"tree"``, the least noise; ``"haar"``, or ``"binary"`` as in the paper.
        calibration: ``"analytic"``; ``"classical"`` reproduces the paper and is NOT PRIVATE.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and id when None.
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: a value outside its range.

    Source: arXiv 2507.03361, the Lazy sketch; docs/guarantees.md for the sensitivity.

    Example:
        >>> sketch = LazyCountSketch(depth=3, width=1024, epsilon=1.0, delta=1e-8)
        >>> sketch.update_many([1, 2, 1])
        >>> sketch.private
        True
    """

    _kind: ClassVar[SketchKind] = "count-sketch"


class PunctualCountMin(_Punctual):
    """A private Count-Min sketch that publishes every cell at every step.

    Guarantee: as :class:`LazyCountMin`, without lag, but with noise for as many pushes as steps.

    Args:
        epsilon: privacy parameter, above 0; no default.
        delta: privacy parameter, below 1 / number of people; no default.
        depth: rows, 1 to 64; with ``width``.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: as above.
        relation: ``"substitution"`` or ``"zero-out"``.
        horizon: number of steps; required.
        mechanism: ``"tree"``, the least noise; ``"haar"``, or ``"binary"`` as in the paper.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper (epsilon < 1).
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and id when None.
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: no horizon, or a value outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> sketch = PunctualCountMin(depth=3, width=64, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> sketch.update_many(["a", "b"])
        >>> sketch.release().pushes.max()
        np.int64(2)
    """

    _kind: ClassVar[SketchKind] = "count-min"


class PunctualCountSketch(_Punctual):
    """A private Count Sketch that publishes every cell at every step.

    Guarantee: as :class:`LazyCountSketch`, without lag, but with noise for as many pushes as
    steps.

    Args:
        epsilon: privacy parameter, above 0; no default.
        delta: privacy parameter, below 1 / number of people; no default.
        depth: rows, 1 to 64; with ``width``.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: as above.
        relation: ``"substitution"`` or ``"zero-out"``.
        horizon: number of steps; required.
        mechanism: ``"tree"``, the least noise; ``"haar"``, or ``"binary"`` as in the paper.
        calibration: ``"analytic"``; ``"classical"`` reproduces the paper and is NOT PRIVATE.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and id when None.
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: sizes and errors mixed, or a wrong type.
        ArgumentValueError: no horizon, or a value outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> sketch = PunctualCountSketch(depth=3, width=64, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> sketch.tick(5)
        >>> sketch.step
        5
    """

    _kind: ClassVar[SketchKind] = "count-sketch"
