"""The private sketches of the paper: lazy and punctual, Count-Min and Count Sketch.

========================  ==============================  ==========================  ==========
sketch                    one update                      one estimate                bytes
========================  ==============================  ==========================  ==========
LazyCountMin, -Sketch     depth additions and one push    depth * log n draws         8 per cell
PunctualCountMin, ...     depth additions                 depth * log n draws         4 per cell
========================  ==============================  ==========================  ==========

Cells have twice the bytes where 32-bit counters could overflow. Prefer Lazy, which has the least
noise. Punctual publishes without lag, but its noise covers as many pushes as steps. Collisions make
Count-Min overestimate. Count Sketch errs in both directions, and less on flat streams.

Source: R. Holland, "Faster Differentially Private Sketches under Continual Observation", arXiv
2507.03361; Cormode and Muthukrishnan 2005; Charikar, Chen and Farach-Colton 2002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import Calibration
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Punctual, Schedule, ScheduleName, schedule_for
from lazysketch.specification.sizing import SketchKind, size_of
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec

if TYPE_CHECKING:
    from typing_extensions import Never, Self, Unpack

__all__ = [
    "LazyCountMin",
    "LazyCountSketch",
    "PunctualCountMin",
    "PunctualCountSketch",
]

_EXAMPLE: Final = "depth=3, width=1024, epsilon=1.0, delta=1e-8"


class SketchOptions(TableOptions, total=False):
    """Keyword arguments of every private sketch, in addition to those of every private table.

    Args:
        depth: rows, 1 to 64; with ``width``. More rows need more noise.
        width: buckets per row, 1 to 2^24.
        relative_error: instead of sizes; with ``failure_probability``.
        failure_probability: instead of sizes; with ``relative_error``.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper (epsilon < 1; NOT
            PRIVATE for a Count Sketch under substitution).
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and sketch id when None.
        key: master key; a fresh one when None.
    """

    depth: int | None
    width: int | None
    relative_error: float | None
    failure_probability: float | None
    calibration: Calibration
    hash_seed: int | None
    key: Key | None


class _Private(PrivateTable):
    """Base of the lazy and punctual sketches."""

    _kind: ClassVar[SketchKind]

    @classmethod
    def _sized(
        cls,
        schedule: Schedule,
        *,
        depth: int | None = None,
        width: int | None = None,
        relative_error: float | None = None,
        failure_probability: float | None = None,
        calibration: Calibration = "analytic",
        hash_seed: int | None = None,
        key: Key | None = None,
        **options: Unpack[TableOptions],
    ) -> Self:
        """Choose the size, make the description of the table, and the table."""
        rows, columns = size_of(
            cls._kind,
            depth=depth,
            width=width,
            relative_error=relative_error,
            failure_probability=failure_probability,
        )
        spec = TableSpec(
            kind=cls._kind,
            depth=rows,
            width=columns,
            schedule=schedule,
            calibration=calibration,
            hash_seed=hash_seed,
            **options,
        )
        return cls.from_spec(spec, key=key)

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        if spec.kind != cls._kind:
            raise ArgumentValueError(
                f"spec: expected kind {cls._kind!r} for {cls.__name__}, got {spec.kind!r}"
            )

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


class _Lazy(_Private):
    """Base of the lazy sketches."""

    def __new__(
        cls,
        *positional: Never,
        horizon: int | None = None,
        schedule: Schedule | ScheduleName | None = None,
        **options: Unpack[SketchOptions],
    ) -> Self:
        """Check the names of the arguments, choose the schedule and make the table."""
        example = f"{cls.__name__}({_EXAMPLE})"
        check_keywords(cls, positional, options, SketchOptions, example=example)
        return cls._sized(schedule_for(schedule, horizon), **options)


class _Punctual(_Private):
    """Base of the punctual sketches: every column is pushed at every step."""

    def __new__(
        cls, *positional: Never, horizon: int | None = None, **options: Unpack[SketchOptions]
    ) -> Self:
        """Check the names of the arguments and make the table."""
        example = f"{cls.__name__}({_EXAMPLE}, horizon=10_000)"
        check_keywords(cls, positional, options, SketchOptions, example=example)
        return cls._sized(Punctual(horizon=horizon), **options)

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        super()._check_spec(spec)
        if not isinstance(spec.schedule, Punctual):
            raise ArgumentValueError(
                f"spec: expected the schedule 'punctual' for {cls.__name__}, got "
                f"{spec.schedule.name!r}"
            )


_complete = with_options(
    NoiseOptions, TableOptions, SketchOptions, defaults=(TableSpec, _Private._sized)
)


@_complete
class LazyCountMin(_Lazy):
    """A private Count-Min sketch that publishes one column per step.

    Guarantee: all releases together are (epsilon, delta)-differentially private for the replacement
    (``relation="substitution"``) or removal (``"zero-out"``) of one event, for any pair of streams
    that is fixed in advance. The error of an estimate has three parts: collisions (as in
    :class:`CountMin`), Gaussian noise of known variance, and events since the column's last push.

    Args:
        horizon: number of steps (round robin), or None for an endless stream (geometric).
        schedule: another schedule, instead of ``horizon``; or the name of one, with ``horizon``.

    Raises:
        ArgumentTypeError: sizes and errors mixed, a wrong type, or an unknown argument.
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


@_complete
class LazyCountSketch(_Lazy):
    """A private Count Sketch that publishes one column per step.

    Guarantee: as :class:`LazyCountMin`, calibrated for the squared sensitivity 4 depth under
    substitution (the paper's 2 depth is too small). Estimates are unbiased: collisions and noise
    err in both directions.

    Args:
        horizon: number of steps (round robin), or None for an endless stream (geometric).
        schedule: another schedule, instead of ``horizon``; or the name of one, with ``horizon``.

    Raises:
        ArgumentTypeError: sizes and errors mixed, a wrong type, or an unknown argument.
        ArgumentValueError: a value outside its range.

    Source: arXiv 2507.03361, the Lazy sketch; docs/guarantees.md for the sensitivity.

    Example:
        >>> sketch = LazyCountSketch(depth=3, width=1024, epsilon=1.0, delta=1e-8)
        >>> sketch.update_many([1, 2, 1])
        >>> sketch.private
        True
    """

    _kind: ClassVar[SketchKind] = "count-sketch"


@_complete
class PunctualCountMin(_Punctual):
    """A private Count-Min sketch that publishes every cell at every step.

    Guarantee: as :class:`LazyCountMin`, without lag; the noise covers as many pushes as steps.

    Args:
        horizon: number of steps; required.

    Raises:
        ArgumentTypeError: sizes and errors mixed, a wrong type, or an unknown argument.
        ArgumentValueError: no horizon, or a value outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> sketch = PunctualCountMin(depth=3, width=64, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> sketch.update_many(["a", "b"])
        >>> sketch.release().pushes.max()
        np.int64(2)
    """

    _kind: ClassVar[SketchKind] = "count-min"


@_complete
class PunctualCountSketch(_Punctual):
    """A private Count Sketch that publishes every cell at every step.

    Guarantee: as :class:`LazyCountSketch`, without lag; the noise covers as many pushes as steps.

    Args:
        horizon: number of steps; required.

    Raises:
        ArgumentTypeError: sizes and errors mixed, a wrong type, or an unknown argument.
        ArgumentValueError: no horizon, or a value outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> sketch = PunctualCountSketch(depth=3, width=64, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> sketch.tick(5)
        >>> sketch.step
        5
    """

    _kind: ClassVar[SketchKind] = "count-sketch"
