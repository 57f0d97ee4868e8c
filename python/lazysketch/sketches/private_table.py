"""Base of the live private tables: construction from a description, releases, properties.

A live private table holds exact counts inside the native core. It can be updated, queried and
closed. It cannot be copied, pickled or used in a forked child: two tables with the same working key
and different events would publish the same noise on different counts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LiveStateError
from lazysketch.privacy.accounting import Privacy
from lazysketch.releases.parts import bounds_of
from lazysketch.releases.release import ReadsByRelease, Release
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import ClosedByBlock, LiveState
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PrivateTable"]

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_native._after_fork_in_child)


class PrivateTable(ClosedByBlock, LiveState, _native.PrivateSketch, ReadsByRelease):
    """Base of the private sketches and counters; not constructed directly.

    Guarantee: all releases, at any number of steps, together satisfy the (epsilon, delta) in
    :attr:`privacy` for the relation named there, for neighbouring streams that are fixed in
    advance.

    Source: docs/guarantees.md.
    """

    _spec: TableSpec

    @classmethod
    def from_spec(cls, spec: TableSpec, *, key: Key | None = None) -> Self:
        """Return a table with a given description.

        Guarantee: as for the class; the description holds the calibrated noise.

        Args:
            spec: description of a kind that this class supports.
            key: master key; a fresh one when None.

        Returns:
            An empty live table.

        Raises:
            ArgumentTypeError: not a description, or not a key.
            ArgumentValueError: a description that this class does not support.

        Example:
            >>> from lazysketch import Geometric, LazyCountMin, TableSpec
            >>> spec = TableSpec(
            ...     kind="count-min", depth=3, width=64, schedule=Geometric(),
            ...     epsilon=1.0, delta=1e-8,
            ... )
            >>> LazyCountMin.from_spec(spec).depth
            3
        """
        if not isinstance(spec, TableSpec):
            raise ArgumentTypeError(f"spec: expected a TableSpec, got {type(spec).__name__}")
        return cls._made(spec, key=key_or_fresh(key))

    @classmethod
    def _made(
        cls, spec: TableSpec, *, key: _native.Key, state: _native.SavedState | None = None
    ) -> Self:
        """Return a table with a description that goes on from a state of a store."""
        cls._check_spec(spec)
        self = _native.PrivateSketch.__new__(cls, spec, key=key, state=state)
        self._spec = spec
        return self

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        """Raise ArgumentValueError unless this class supports the description."""

    def release(self) -> Release:
        """Return the public table at this step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the sketch.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return Release(self._release())

    def update_batch(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Count any number of events in one step; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a NumPy array or an iterable of items; may be empty.
            weights: one integer per item, or None for weight 1.
            column: the name of the column, for a table with several columns.
            user: the person of each event, one item per item; required if the table bounds
                people.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``.
            ArgumentValueError: another schedule, or weights outside their range.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._update_batch(items, weights, column=column, user=user)

    @property
    def spec(self) -> TableSpec:
        """The description of the table, with its hash seed."""
        return self._spec.with_hash_seed(self.hash_seed)

    @property
    def privacy(self) -> Privacy:
        """A frozen description of the guarantee."""
        return self._spec.privacy_unless(self.not_private_because)

    @property
    def private(self) -> bool:
        """False if the sketch is NOT PRIVATE; see :attr:`not_private_because`."""
        return not self.not_private_because

    @property
    def horizon(self) -> int | None:
        """Largest number of steps; None for endless streams."""
        return self._spec.schedule.horizon

    @property
    def schedule(self) -> Schedule:
        """The schedule by which columns are pushed; ``.name`` is the short name."""
        return self._spec.schedule

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was chosen; ``.name`` is the short name."""
        return self._spec.chosen_mechanism

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of one node, in counts."""
        return self._spec.sigma

    def _shape(self) -> str:
        return f"depth={self.depth}, width={self.width}"

    def __repr__(self) -> str:
        spec = self._spec
        try:
            used = "closed" if self.closed else f"steps used={self._step}"
            used += ", finished" if self.finished else ""
        except LiveStateError:
            used = "unusable in a forked child"
        text = (
            f"<{type(self).__name__} {self._shape()}, epsilon={spec.epsilon:g}, "
            f"delta={spec.delta:g}, relation={spec.relation!r}, "
            f"horizon={self.horizon}, {bounds_of(self.privacy)}{used}"
        )
        reasons = "; ".join(self.not_private_because)
        return f"{text}, NOT PRIVATE: {reasons}>" if reasons else f"{text}>"
