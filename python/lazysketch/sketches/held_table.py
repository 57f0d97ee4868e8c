"""Bases of live objects that count in private tables of their own, and publish them their way."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LiveStateError
from lazysketch.privacy.accounting import Privacy
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import ClosedByBlock, LiveState
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HeldTable", "HeldTables"]


class HeldTables(ClosedByBlock, LiveState):
    """Base of counts in tables that take all steps together: their end, what is public of them."""

    @property
    @abstractmethod
    def _tables(self) -> tuple[PrivateTable, ...]:
        """The tables."""

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, for example for malformed rows.

        Args:
            steps: number of steps, 0 or more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: negative.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        _native.tick_all(list(self._tables), steps)

    def finish(self) -> None:
        """Publish everything pending, as the last step; no event can be counted afterwards.

        Guarantee: the decision to call this method must not depend on the events, except through
        what was published.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        _native.finish_all(list(self._tables))

    def close(self) -> None:
        """Destroy the keys, the counts and what is known of people; existing releases stay valid.

        Raises:
            LiveStateError: called in a forked child process.
        """
        _native.close_all(list(self._tables))
        for table in self._tables:
            people = _native.People.of_table(table)
            if people is not None:
                people.forget()

    @property
    def steps(self) -> int:
        """Steps taken: events and ticks."""
        return self._tables[0]._step

    @property
    def finished(self) -> bool:
        """True after :meth:`finish`."""
        return self._tables[0].finished

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._tables[0].closed

    @property
    def horizon(self) -> int | None:
        """Largest number of steps; None for endless streams."""
        return self._tables[0].horizon

    @property
    def schedule(self) -> Schedule:
        """The schedule by which the counts are published."""
        return self._tables[0].schedule

    @property
    def private(self) -> bool:
        """False if it is NOT PRIVATE; see :attr:`not_private_because`."""
        return not self.not_private_because

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Reasons why it is NOT PRIVATE; empty for a private one."""
        reasons = [why for table in self._tables for why in table.not_private_because]
        return tuple(dict.fromkeys(reasons))

    def _used(self) -> str:
        """Return for a repr how many steps were taken, or why there are none to take."""
        try:
            used = "closed" if self.closed else f"steps used={self.steps}"
            return used + (", finished" if self.finished else "")
        except LiveStateError:
            return "unusable in a forked child"


class HeldTable(HeldTables):
    """Base of counts that are not of items: their steps, their end, and what is public of them."""

    _KIND: ClassVar[type[PrivateTable]]
    _table: PrivateTable

    @property
    def _tables(self) -> tuple[PrivateTable, ...]:
        return (self._table,)

    @classmethod
    def from_spec(cls, spec: TableSpec, *, key: Key | None = None) -> Self:
        """Return a live object with a given description.

        Args:
            spec: a description of the kind of this class.
            key: master key; a fresh one when None.

        Returns:
            An empty live object.

        Raises:
            ArgumentTypeError: not a description, or not a key.
            ArgumentValueError: a description of another kind.
        """
        if not isinstance(spec, TableSpec):
            raise ArgumentTypeError(f"spec: expected a TableSpec, got {type(spec).__name__}")
        return cls._made(spec, key=key_or_fresh(key))

    @classmethod
    def _made(cls, spec: TableSpec, *, key: Key, state: _native.SavedState | None = None) -> Self:
        """Return one with a description that goes on from a state of a store."""
        self = cls.__new__(cls)
        self._table = cls._KIND._made(spec, key=key, state=state)
        return self

    @property
    def sketch_id(self) -> bytes:
        """Public 16-byte identifier."""
        return self._table.sketch_id

    @property
    def spec(self) -> TableSpec:
        """The description, with the hash seed."""
        return self._table.spec

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was chosen; ``.name`` is the short name."""
        return self._table.mechanism

    @property
    def privacy(self) -> Privacy:
        """A frozen description of the guarantee."""
        return self._table.privacy
