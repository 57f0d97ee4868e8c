"""Many counters under continual observation: the paper's n-counters problem, without hashing.

An event costs one addition and one push, a read log n draws, a counter 8 bytes. Prefer counters to
a sketch when the items are few and known in advance: there are no collisions, and the sensitivity
does not grow with a depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.relations import Calibration
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Schedule, ScheduleName, schedule_for
from lazysketch.specification.sizing import LARGEST_WIDTH
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec

if TYPE_CHECKING:
    from typing_extensions import Never, Self, Unpack

__all__ = ["ContinualCounters"]

_EXAMPLE = "ContinualCounters(counters=3, epsilon=1.0, delta=1e-8)"


@with_options(NoiseOptions, TableOptions, defaults=(TableSpec,))
class ContinualCounters(PrivateTable):
    """Private running totals of a known set of counters.

    Guarantee: all releases together are (epsilon, delta)-differentially private, both for the
    replacement or removal of one event (:meth:`update`), and for a change of up to ``max_changes``
    counters by up to ``max_weight`` each at one step (:meth:`step`).

    Args:
        counters: number of counters, 1 to 2^24.
        max_changes: number of counters in which neighbouring vectors of :meth:`step` may differ.
        horizon: number of steps, or None for an endless stream (geometric).
        schedule: ``"round robin"`` (default with a horizon), ``"punctual"`` (every counter at
            every step, the paper's n-counters), ``"batch"``, ``"single"`` or ``"geometric"``.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper (epsilon < 1).
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: arXiv 2507.03361, the n-counters problem; squared L2 sensitivity 1 (zero-out), 2
    (substitution) or max_changes, whichever is larger.

    Example:
        >>> entrances = ContinualCounters(counters=3, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> entrances.update(2)
        >>> entrances.step([1, 0, 1])
        >>> entrances.steps
        2
    """

    def __new__(
        cls,
        *positional: Never,
        counters: int | None = None,
        max_changes: int = 1,
        horizon: int | None = None,
        schedule: Schedule | ScheduleName | None = None,
        calibration: Calibration = "analytic",
        key: Key | None = None,
        **options: Unpack[TableOptions],
    ) -> Self:
        """Make the description of the table, and the table."""
        check_keywords(cls, positional, options, TableOptions, example=_EXAMPLE)
        if counters is None:
            raise ArgumentTypeError(f"counters: expected a number, as in {_EXAMPLE}, got none")
        width = checked_integer("counters", counters, most=LARGEST_WIDTH)
        spec = TableSpec(
            kind="counters",
            depth=1,
            width=width,
            schedule=schedule_for(schedule, horizon),
            calibration=calibration,
            max_changes=max_changes,
            hash_seed=0,
            **options,
        )
        return cls.from_spec(spec, key=key)

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        if spec.kind != "counters":
            raise ArgumentValueError(f"spec: expected kind 'counters', got {spec.kind!r}")

    def step(self, vector: object) -> None:
        """Take one step with an event count for every counter.

        Guarantee: covers neighbouring vectors that differ in at most ``max_changes`` entries.

        Args:
            vector: integers from 0 to ``max_weight``, one per counter.

        Raises:
            ArgumentTypeError: not a sequence of integers.
            ArgumentValueError: a wrong length or an entry outside its range.
            HorizonError: past the horizon; nothing was applied.
        """
        self._update_vector(vector)

    @property
    def counters(self) -> int:
        """Number of counters."""
        return self.width

    @property
    def steps(self) -> int:
        """Steps taken: events, vectors and ticks."""
        return self._step

    def _shape(self) -> str:
        return f"counters={self.width}"
