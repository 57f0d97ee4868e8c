"""Sums, counts and means of numeric values by item, under continual observation.

One table counts the events of the items, another adds up their values, from the middle of a public
range. An event costs two additions per row and some microseconds of conversion, or 0.1 microseconds
in a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.estimation.intervals import Interval
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.releases.run_promise import facts_of
from lazysketch.releases.sums_queries import ItemSum
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.sketches.held_table import HeldTables
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_grid import ValueGrid, plain_values
from lazysketch.sums.sums_spec import SumsOptions, SumsSpec, sums_spec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Never, Self, Unpack

    from lazysketch.heavy_hitters.level_tables import Origins

__all__ = ["Sums"]

_EXAMPLE: Final = "Sums(low=0, high=100, epsilon=1.0, delta=1e-8)"


class _EventTable(PrivateTable):
    """The table of events."""


class _ValueTable(PrivateTable):
    """The table of values, whose events have weights with signs."""

    @classmethod
    def _made(
        cls, spec: TableSpec, *, key: _native.Key, state: _native.SavedState | None = None
    ) -> Self:
        self = _native.PrivateSketch.__new__(cls, spec, key=key, state=state, signed_weights=True)
        self._spec = spec
        return self


@with_options(SumsOptions, defaults=(sums_spec,))
class Sums(HeldTables):
    """Private sums, counts and means of a numeric value by item.

    Guarantee: all releases, at any number of steps, together satisfy (epsilon, delta)-DP for one
    event (``max_events_per_user`` of them): that it has another item and another value, or its step
    is empty (``"substitution"``), or that it is there or its step is empty (``"zero-out"``). Events
    may be chosen by what was published before. The bounds of values are public. With
    ``person_bound`` it holds for all events of one person, who may have any others at any steps, or
    none; events beyond the bound take empty steps, in both tables.

    Args:
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorems 25 and 28; docs/sums.md.

    Example:
        >>> import lazysketch as ls
        >>> sent = ls.Sums(low=0, high=1500, epsilon=1.0, delta=1e-6, horizon=20_000)
        >>> sent.update_many(["10.0.0.1", "10.0.0.2"] * 9_999, [1200, 100] * 9_999)
        >>> sent.update("10.0.0.2", 90)
        >>> found = sent.sum("10.0.0.1", confidence=1 - 1e-9)
        >>> found.low <= 9_999 * 1200 <= found.high
        True
    """

    def __init__(
        self, *positional: Never, key: Key | None = None, **options: Unpack[SumsOptions]
    ) -> None:
        """Make the description of the tables, and the tables."""
        check_keywords(type(self), positional, options, SumsOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make(sums_spec(**options), lambda _: (one, None))

    @classmethod
    def from_spec(cls, spec: SumsSpec, *, key: Key | None = None) -> Sums:
        """Return live sums with a given description.

        Args:
            spec: a description.
            key: master key; a fresh one when None.

        Returns:
            Empty sums.

        Raises:
            ArgumentTypeError: not a description, or not a key.
        """
        if not isinstance(spec, SumsSpec):
            raise ArgumentTypeError(f"spec: expected a SumsSpec, got {type(spec).__name__}")
        one = key_or_fresh(key)
        return cls._of(spec, lambda _: (one, None))

    @classmethod
    def _of(cls, spec: SumsSpec, origin: Origins) -> Self:
        """Return sums whose tables have these keys, and go on from these states of a store."""
        self = cls.__new__(cls)
        self._make(spec, origin)
        return self

    def _make(self, spec: SumsSpec, origin: Origins) -> None:
        key, state = origin(0)
        counts = _EventTable._made(spec.counts, key=key, state=state)
        self._spec = spec.with_hash_seed(counts.hash_seed)
        key, state = origin(1)
        values = _ValueTable._made(self._spec.values, key=key, state=state)
        self._counts, self._values = counts, values
        self._run = facts_of(counts.sketch_id, self.privacy)

    def update(self, item: object, value: float, *, user: object = None) -> None:
        """Take one step with an item and a value.

        Guarantee: a call that raises changes nothing.

        Args:
            item: str, bytes, int, datetime with a time zone, date or UUID.
            value: a number; below ``low`` or above ``high`` it counts as that bound.
            user: the person of the event, any item; required if people are bounded.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number, or a person where none are bounded.
            ArgumentValueError: NaN, or no person.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self.update_many([item], [value], user=None if user is None else [user])

    def update_many(self, items: object, values: object, *, user: object = None) -> None:
        """Take one step for each of many items with their values, in order.

        Guarantee: the whole batch is checked before the first event is counted, in both tables or
        in none; the result is that of one :meth:`update` per event.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            values: one number per item: an array, Arrow data or an iterable; no NaN and no nulls.
            user: the person of each event, one item per item; required if people are bounded.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: something that is not a number, or people where none are bounded.
            ArgumentValueError: NaN, a null, or another number of values or people than items.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        _native.update_sums(self._counts, self._values, items, self._weights(values), user=user)

    def update_rows(
        self, items: object, values: object, *, empty_rows: object, user: object = None
    ) -> None:
        """Take one step for each of many rows, of which some have no event.

        Args:
            items: the items of the rows that have one.
            values: one number per item.
            empty_rows: the increasing positions, counted from 0 over all rows, of the other rows.
            user: the person of each event, as for :meth:`update_many`.

        Raises:
            ItemError: as for :meth:`update_many`.
            ArgumentTypeError: as there.
            ArgumentValueError: as there; positions that do not increase, or are past the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        weights = self._weights(values)
        _native.update_sums(
            self._counts, self._values, items, weights, user=user, empty_rows=empty_rows
        )

    def update_batch(self, items: object, values: object, *, user: object = None) -> None:
        """Take one step with any number of events; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a NumPy array or an iterable of items; may be empty.
            values: one number per item.
            user: the person of each event, as for :meth:`update_many`.

        Raises:
            ItemError: as for :meth:`update_many`.
            ArgumentTypeError: as there.
            ArgumentValueError: as there; another schedule.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        weights = self._weights(values)
        _native.update_sums(self._counts, self._values, items, weights, user=user, in_one_step=True)

    def _weights(self, values: object) -> npt.NDArray[np.uint64]:
        """Return the integers of values; signs in two's complement, as the core takes them."""
        return self._spec.grid.weights(plain_values(values))

    def release(self) -> SumsRelease:
        """Return the public state at this step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the sums.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        while True:
            counts, values = self._counts._release(self._run), self._values._release(self._run)
            release = SumsRelease(counts, values, self._spec.grid)
            if release._is_of_one_step:
                return release

    def sum(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the sum of the values of an item, clipped to the bounds.

        Guarantee: as :meth:`SumsRelease.sum`; costs no privacy.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().sum(item, confidence=confidence)

    def count(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the number of events of an item.

        Guarantee: as :meth:`SumsRelease.count`; costs no privacy.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().count(item, confidence=confidence)

    def mean(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the mean of the values of an item, clipped to the bounds.

        Guarantee: as :meth:`SumsRelease.mean`; costs no privacy.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().mean(item, confidence=confidence)

    def top(self, n: int = 10, *, among: object, confidence: float = 0.95) -> tuple[ItemSum, ...]:
        """Return the items of a public list with the largest sums.

        Guarantee: as :meth:`SumsRelease.top`; costs no privacy.

        Args:
            n: number of items, 1 or more.
            among: the public list, chosen without knowledge of the stream.
            confidence: for all sums of the list together, above 0 and below 1.

        Returns:
            The items with their sums, in descending order.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().top(n, among=among, confidence=confidence)

    @property
    def _tables(self) -> tuple[PrivateTable, ...]:
        return self._counts, self._values

    @property
    def spec(self) -> SumsSpec:
        """The description, with the hash seed."""
        return self._spec

    @property
    def grid(self) -> ValueGrid:
        """The public bounds of values, and the steps between them."""
        return self._spec.grid

    @property
    def privacy(self) -> SumsPrivacy:
        """A frozen description of the guarantee of both tables together."""
        return SumsPrivacy(
            self._spec.epsilon, self._spec.delta, self._counts.privacy, self._values.privacy
        )

    def __repr__(self) -> str:
        bounds = f"{self._spec.grid.low:g} to {self._spec.grid.high:g}"
        return f"<Sums of values from {bounds}, {self.privacy}, {self._used()}>"
