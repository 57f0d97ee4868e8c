"""The description of a private table: everything that defines it, checked once.

A :class:`TableSpec` is made from the arguments of a constructor, or directly, and passed on
unchanged: to the live table, to plans, audits and experiments, and to the native core. Its
construction calibrates the noise, which takes some milliseconds, and allocates no table.

Add a new parameter of all private tables to :class:`NoiseOptions`, which documents it, and to
:class:`TableSpec`, which checks and uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

from lazysketch import _native
from lazysketch.arguments import check_bools, checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.calibration import NoiseCalibration, calibrate
from lazysketch.privacy.person_bound import PersonBound, checked_person_bound
from lazysketch.privacy.relations import (
    Calibration,
    CountKind,
    Relation,
    changed_cells,
    checked_calibration,
    checked_kind,
    checked_relation,
    table_sensitivity2,
)
from lazysketch.specification.distinct import (
    MOST_BITS,
    bounding_moves,
    check_distinct,
    stated_bound,
    stated_weight,
)
from lazysketch.specification.mechanisms import Mechanism, MechanismName, mechanisms_for
from lazysketch.specification.ranges import (
    changed_cells_of_ranges,
    check_ranges,
    ranges_sensitivity2,
    sharing_rows,
)
from lazysketch.specification.schedules import (
    Batch,
    Geometric,
    Punctual,
    Schedule,
    checked_schedule,
)
from lazysketch.specification.sizing import checked_size
from lazysketch.specification.value_tree import ValueRows, ValueTree
from lazysketch.specification.values import (
    changed_node_sums,
    checked_bins,
    node_sums_sensitivity2,
    value_trees,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LARGEST_EVENTS", "LARGEST_WEIGHT", "NoiseOptions", "TableOptions", "TableSpec"]

LARGEST_WEIGHT: Final = 2**32
LARGEST_EVENTS: Final = 2**20
LARGEST_HASH_SEED: Final = 2**64 - 1
_Counting: TypeAlias = tuple[Mechanism, ValueTree | None]


class _Required(TypedDict):
    epsilon: float
    delta: float


class NoiseOptions(_Required, total=False):
    """Keyword arguments of every private class.

    Args:
        epsilon: privacy parameter, above 0 and at most 100; no default.
        delta: privacy parameter, above 0 and below 1; choose it below 1 / number of people; no
            default.
        relation: whether a neighbouring stream has another event at one step
            (``"substitution"``) or an empty step (``"zero-out"``).
        mechanism: ``"tree"``, the least noise; ``"haar"``, ``"tree-log"``, or ``"binary"`` as in
            the paper; or a :class:`Mechanism` for the number of leaves of the schedule.
        max_weight: largest weight of one event, 1 to 2^32, in counts.
        max_events_per_user: events of one person that are protected together, 1 to 2^20.
    """

    relation: Relation
    mechanism: MechanismName | Mechanism
    max_weight: int
    max_events_per_user: int


class TableOptions(NoiseOptions, total=False):
    """Keyword arguments of every private class with one table, or with equal ones.

    Args:
        person_bound: what is counted of each person, who is protected then, however many events
            there are. Every event needs its person: ``update_many(items, user=people)``.
    """

    person_bound: PersonBound | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """Complete description of a private table.

    Guarantee: the noise in :attr:`noise` makes everything that is ever released from such a table,
    at any number of steps, (``epsilon``, ``delta``)-DP for ``relation``.

    Args:
        kind: ``"count-min"``, ``"count-sketch"``, ``"counters"``, ``"distinct"``, ``"values"``
            or ``"ranges"``.
        depth: rows, 1 to 64; 1 for counters, distinct items and values; for ranges the bits of a
            key.
        width: columns, 1 to 2^24; depth * width is at most 2^28. For distinct items the sampling
            levels, 1 to 16; for values the bins, a power of two.
        schedule: when columns are pushed.
        epsilon: privacy parameter, above 0 and at most 100.
        delta: privacy parameter, above 0 and below 1.
        relation: ``"substitution"`` or ``"zero-out"``.
        mechanism: a name, or a :class:`Mechanism` for the leaves of the schedule.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper.
        max_weight: largest weight of one event, 1 to 2^32, in counts.
        max_events_per_user: events of one person that are protected together, 1 to 2^20.
        person_bound: what is counted of each person, or None to protect events.
        max_changes: for counters, the number of them that one step may change; else 1.
        hash_seed: public seed, 0 to 2^64 - 1; derived from key and sketch id when None.
        bits: for distinct items, the bits of each level, a power of two from 2^6 to 2^24; else 0.
        edges: for values, the edges between bins, finite numbers that rise; else none.
        value_rows: for values, ``"tree"`` or ``"haar"``, the rows of the tree over the bins; None
            for those with the least noise that fit.
        moves: for values, True to cover also an event that moves to another window of time, with
            a table of its own under this description.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range, or noise beyond every mechanism.

    Source: docs/guarantees.md, "Calibration".

    Example:
        >>> from lazysketch import RoundRobin
        >>> spec = TableSpec(
        ...     kind="count-min", depth=3, width=1024, schedule=RoundRobin(horizon=2**20),
        ...     epsilon=1.0, delta=1e-6,
        ... )
        >>> spec.chosen_mechanism.name, spec.chosen_mechanism.leaves
        ('tree', 1024)
    """

    kind: CountKind
    depth: int
    width: int
    schedule: Schedule
    epsilon: float
    delta: float
    relation: Relation = "substitution"
    mechanism: MechanismName | Mechanism = "tree"
    calibration: Calibration = "analytic"
    max_weight: int = 1
    max_events_per_user: int = 1
    person_bound: PersonBound | None = None
    max_changes: int = 1
    hash_seed: int | None = None
    bits: int = 0
    edges: tuple[float, ...] = field(default=(), repr=False)
    value_rows: ValueRows | None = None
    moves: bool = False
    chosen_value_rows: ValueRows | None = field(init=False, repr=False, compare=False)
    chosen_mechanism: Mechanism = field(init=False, repr=False, compare=False)
    noise: NoiseCalibration = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every field, store plain values, choose the mechanism and calibrate the noise."""
        depth, width = checked_size(self.depth, self.width)
        self._store("depth", depth)
        self._store("width", width)
        self._store("schedule", checked_schedule(self.schedule))
        checked_kind(self.kind)
        checked_relation(self.relation)
        checked_calibration(self.calibration)
        for name, most in (
            ("max_weight", LARGEST_WEIGHT),
            ("max_events_per_user", LARGEST_EVENTS),
            ("max_changes", width if self.kind == "counters" else 2**28),
        ):
            self._store(name, checked_integer(name, getattr(self, name), most=most))
        self._store("bits", checked_integer("bits", self.bits, least=0, most=MOST_BITS))
        self._check_person_bound()
        check_bools(moves=self.moves)
        check_distinct(self)
        self._store("edges", checked_bins(self))
        check_ranges(self)
        if self.hash_seed is not None:
            seed = checked_integer("hash_seed", self.hash_seed, least=0, most=LARGEST_HASH_SEED)
            self._store("hash_seed", seed)
        mechanisms = mechanisms_for(
            self.mechanism,
            leaves=self.schedule.leaves(width),
            growing=isinstance(self.schedule, Geometric),
            endless=isinstance(self.schedule, Punctual | Batch) and self.schedule.horizon is None,
        )
        if self.kind == "distinct":
            mechanisms = bounding_moves(mechanisms)
        (mechanism, tree), noise = self._chosen(mechanisms)
        self._store("chosen_mechanism", mechanism)
        self._store("chosen_value_rows", tree and tree.rows)
        self._store("noise", noise)
        self._store("epsilon", noise.epsilon)
        self._store("delta", noise.delta)

    def _check_person_bound(self) -> None:
        """Refuse what a bound of people excludes: declared events, and steps without persons."""
        if checked_person_bound(self.person_bound) is None:
            return
        for name in ("max_events_per_user", "max_changes"):
            if getattr(self, name) != 1:
                raise ArgumentValueError(
                    f"{name}: expected 1 with a person_bound, got {getattr(self, name)}"
                )
        if self.calibration == "classical":
            raise ArgumentValueError(
                "calibration: expected 'analytic' with a person_bound, got 'classical'"
            )

    def _store(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _chosen(self, mechanisms: Sequence[Mechanism]) -> tuple[_Counting, NoiseCalibration]:
        """Return the best mechanism whose arithmetic can represent the noise, and that noise.

        The optimised tables have large entries. With large weights their sums could exceed the
        integers of the core, or their draws the precision of a float; another may still fit. For
        values, Haar rows over bins cost less than over time: they are tried first.
        """
        trees = value_trees(self)
        *better, last = [(mechanism, tree) for mechanism in mechanisms for tree in trees]
        for mechanism, tree in better:
            try:
                noise = self._calibrated(mechanism, tree)
            except ArgumentValueError:
                continue
            if mechanism.fits(noise.sigma):
                return (mechanism, tree), noise
        return last, self._calibrated(*last)

    def _calibrated(self, mechanism: Mechanism, tree: ValueTree | None) -> NoiseCalibration:
        sensitivity2, cells = self._changed_by_events(tree)
        return calibrate(
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=self.calibration,
            table_sensitivity2=sensitivity2,
            mechanism_sensitivity2=mechanism.sensitivity2,
            mechanism_nodes=mechanism.nodes_per_leaf,
            changed_cells=cells,
            draws=self.depth * self.width * mechanism.draws,
            max_weight=self.max_weight,
            max_events_per_user=self._events_per_cell,
            depth=self._sharing_rows,
            people=0 if self.person_bound is None else self.person_bound.people,
        )

    def _changed_by_events(self, tree: ValueTree | None) -> tuple[int | Fraction, int]:
        """Return the squared change of all published counts, and how many of them change."""
        if tree is not None:
            relation, bound = self.relation, self.person_bound
            moved = node_sums_sensitivity2(
                tree, relation=relation, person_bound=bound, moves=self.moves
            )
            return moved, changed_node_sums(tree, relation=relation, person_bound=bound)
        if self.kind == "ranges":
            relation, bound = self.relation, self.person_bound
            moved = ranges_sensitivity2(self.depth, self.width, relation, person_bound=bound)
            return moved, changed_cells_of_ranges(self.depth, relation, person_bound=bound)
        sensitivity2 = table_sensitivity2(
            self.kind,
            depth=self.depth,
            relation=self.relation,
            calibration=self.calibration,
            max_changes=self.max_changes,
            person_bound=self._bound_within_the_row,
        )
        cells = changed_cells(
            self.kind,
            depth=self.depth,
            relation=self.relation,
            max_changes=self.max_changes,
            person_bound=self._bound_within_the_row,
        )
        return sensitivity2, cells

    @property
    def _bound_within_the_row(self) -> PersonBound | None:
        """The bound, with no more cells than a row has."""
        bound = self.person_bound
        return bound and replace(bound, cells=min(bound.cells, self.width))

    @property
    def _sharing_rows(self) -> int:
        return sharing_rows(
            self.kind,
            depth=self.depth,
            width=self.width,
            relation=self.relation,
            person_bound=self.person_bound,
        )

    @property
    def _events_per_cell(self) -> int:
        return self.max_events_per_user if self.person_bound is None else self.person_bound.events

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of one node, in counts."""
        return self.noise.sigma

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Reasons why such a table is NOT PRIVATE even under a secret key; empty if private."""
        return _native.table_not_private_because(self)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of such a table under a secret key."""
        return self.privacy_unless(self.not_private_because)

    def privacy_unless(self, reasons: tuple[str, ...]) -> Privacy:
        """Return the guarantee of such a table, marked NOT PRIVATE if there are reasons.

        Args:
            reasons: why a table of this description is NOT PRIVATE; empty if it is private.

        Returns:
            A frozen description of the guarantee.
        """
        return Privacy(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            calibration=self.calibration,
            sigma=self.noise.sigma,
            noise_multiplier=self.noise.noise_multiplier,
            l2_sensitivity=self.noise.l2_sensitivity,
            max_weight=stated_weight(self.kind, self.max_weight),
            max_events_per_user=self.max_events_per_user,
            depth=self._sharing_rows,
            person_bound=stated_bound(self.kind, self.person_bound),
            private=not reasons,
            not_private_because=reasons,
        )

    def with_privacy(self, epsilon: float, delta: float) -> Self:
        """Return the same table with other privacy parameters, calibrated anew.

        Args:
            epsilon: privacy parameter, above 0 and at most 100.
            delta: privacy parameter, above 0 and below 1.

        Returns:
            A new description.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
        """
        return replace(self, epsilon=epsilon, delta=delta)

    def with_hash_seed(self, seed: int) -> Self:
        """Return the same table with another hash seed.

        The noise does not depend on the seed and is not calibrated again.

        Args:
            seed: public seed, 0 to 2^64 - 1.

        Returns:
            A new description.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range.
        """
        checked = checked_integer("hash_seed", seed, least=0, most=LARGEST_HASH_SEED)
        changed = copy(self)
        changed._store("hash_seed", checked)
        return changed
