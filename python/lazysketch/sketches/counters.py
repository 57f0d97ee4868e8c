"""Many counters under continual observation: the paper's n-counters problem, without hashing.

What it computes: a private running total per index. What it costs: one addition and one push per
event, log n draws per read, 8 bytes per counter. Prefer it to a sketch when the items are few and
known in advance: there are no collisions and the sensitivity does not grow with a depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch.privacy.relations import Calibration, Relation, checked_integer
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import schedule_named
from lazysketch.specification.sizing import LARGEST_WIDTH

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ContinualCounters"]


class ContinualCounters(PrivateTable):
    """Private running totals of a known set of counters.

    Guarantee: all releases together are (epsilon, delta)-differentially private for one event at
    one step replaced by another or removed (:meth:`update`), and for one step at which up to
    ``max_changes`` counters differ by up to ``max_weight`` each (:meth:`step`).

    Args:
        counters: how many, 1 to 2^24.
        epsilon: privacy parameter, above 0; no default.
        delta: privacy parameter, below 1 / number of people; no default.
        max_changes: counters that neighbouring vectors of :meth:`step` may differ in.
        horizon: number of steps, or None for a stream without end (geometric).
        schedule: ``"round robin"`` (default with a horizon), ``"punctual"`` (every counter at
            every step, the paper's n-counters), ``"batch"``, ``"single"`` or ``"geometric"``.
        relation: ``"substitution"`` or ``"zero-out"``, for :meth:`update`.
        mechanism: ``"tree"``, the least noise; ``"haar"``, or ``"binary"`` as in the paper.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper (epsilon < 1).
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events of one person that are protected together.
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: arXiv 2507.03361, the n-counters problem; squared L2 sensitivity 1 (zero-out), 2
    (substitution) or max_changes, whichever is larger.

    Example:
        >>> doors = ContinualCounters(counters=3, epsilon=1.0, delta=1e-6, horizon=1000)
        >>> doors.update(2)
        >>> doors.step([1, 0, 1])
        >>> doors.steps
        2
    """

    def __new__(
        cls,
        *,
        counters: int,
        epsilon: float,
        delta: float,
        max_changes: int = 1,
        horizon: int | None = None,
        schedule: str | None = None,
        relation: Relation = "substitution",
        mechanism: str = "tree",
        calibration: Calibration = "analytic",
        max_weight: int = 1,
        max_events_per_user: int = 1,
        key: Key | None = None,
    ) -> Self:
        """Choose the schedule and make the private table."""
        width = checked_integer("counters", counters, most=LARGEST_WIDTH)
        default = "geometric" if horizon is None else "round robin"
        return super().__new__(
            cls,
            kind="counters",
            depth=1,
            width=width,
            schedule=schedule_named(default if schedule is None else schedule, horizon),
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            mechanism=mechanism,
            calibration=calibration,
            max_weight=max_weight,
            max_events_per_user=max_events_per_user,
            max_changes=checked_integer("max_changes", max_changes, most=width),
            hash_seed=0,
            key=key,
        )

    def step(self, vector: Any) -> None:
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
        """How many counters."""
        return self.width

    @property
    def steps(self) -> int:
        """Steps taken: events, vectors and ticks."""
        return self._step

    def _shape(self) -> str:
        return f"counters={self.width}"
