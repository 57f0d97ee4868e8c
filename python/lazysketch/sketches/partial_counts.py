"""Exact counts of a worker, which can be added and sealed and nothing else.

Ten private sketches on ten machines, merged, have sqrt(10) times the noise of one. Partial counts
have none: workers count exactly, one store adds their counts as one step, and draws the noise once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LiveStateError
from lazysketch.sketches.live_state import LiveState
from lazysketch.specification.value_grid import ValueGrid, plain_values

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PartialCounts"]


class PartialCounts(LiveState, _native.PartialCounts):
    """Exact counts of a part of a step, on their way to the private table of a store.

    They are as secret as the events, and nothing reads them: they have no table and no estimate,
    cannot be copied or pickled, and are erased when they are sealed, merged or dropped. What leaves
    the process is ciphertext that only the store opens; its size depends on the description alone,
    or, for an object that publishes names, on the items: rounded up to a power of two.

    Guarantee: no noise is drawn here, and none is needed: the state of the private table, and so
    what it publishes, is that of :meth:`update_batch` with the events of all workers, bit for bit.
    An event has to be counted by one worker, and its partial counts have to reach the store once:
    an event that is counted twice has twice the weight that its protection is calibrated for. Of
    distinct items the store takes the union: there an event may be counted by several workers. The
    store refuses the same partial counts twice; that two workers do not count the same input is up
    to the caller.

    Args:
        spec: result of ``partial_spec()`` of an object of a store; public.

    Raises:
        ArgumentTypeError: not bytes.
        ArgumentValueError: other bytes.

    Source: docs/scale.md; docs/theory.md, "Partial counts".

    Example:
        >>> import pathlib, tempfile
        >>> import lazysketch as ls
        >>> folder, key = pathlib.Path(tempfile.mkdtemp()), ls.Key.generate()
        >>> spec = ls.TableSpec(
        ...     kind="count-min", depth=3, width=64, schedule=ls.Batch(horizon=24),
        ...     epsilon=1.0, delta=1e-8,
        ... )
        >>> store = ls.open_store(folder / "s", key=key, anchor=folder / "anchor")
        >>> visits = store.sketch("visits", spec)
        >>> worker = ls.PartialCounts(visits.partial_spec())  # in any process, on any machine
        >>> worker.update_many(["/a", "/b", "/a"])
        >>> store.add_partials("hours", 1, [worker.seal()], into=visits).step
        1
        >>> store.close()
    """

    _grid: ValueGrid | None

    def __new__(cls, spec: bytes) -> Self:
        """Read the description."""
        if not isinstance(spec, bytes):
            raise ArgumentTypeError(f"spec: expected bytes, got {type(spec).__name__}")
        self = super().__new__(cls, bytes(spec))
        self._grid = None if self._value_grid is None else ValueGrid(*self._value_grid)
        return self

    def update_many(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count many events.

        Guarantee: the whole batch is checked before the first event is counted.

        Args:
            items: Arrow data, a NumPy array or an iterable of items; of numbers for values, of
                integers for ranges.
            weights: one integer per item, or None for weight 1; None for distinct items. For sums
                by item the value of each, a number.
            column: the name of the column, for a table with several columns.

        Raises:
            ItemError: an invalid item or a null, or one that does not fit the levels of the
                hierarchy; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``; no values for sums.
            ArgumentValueError: weights outside their range or of another length than the items; NaN
                as a value;
                more events than ``most_events`` of the description, or more distinct items than its
                ``most_names``; counts that were sealed. What was counted before is kept.
            LiveStateError: called in a forked child process.
        """
        self._update_many(items, self._integers(weights), column=column)

    def _update_fitting(self, items: object, weights: object = None) -> None:
        """Count events; those whose items do not fit the levels are left out, as malformed rows."""
        self._update_many(items, self._integers(weights), only_fitting=True)

    def _integers(self, weights: object) -> object:
        """Return weights as they are counted: of values the integers that stand for them."""
        if self._grid is None:
            return weights
        if weights is None:
            raise ArgumentTypeError("weights: expected one value per item of sums, got none")
        return self._grid.weights(plain_values(weights))

    def merge(self, other: PartialCounts) -> None:
        """Take over the events of other partial counts, which are closed afterwards.

        Args:
            other: partial counts under the same description.

        Raises:
            ArgumentTypeError: not partial counts.
            ArgumentValueError: another description, more events than ``most_events`` or more names
                than ``most_names`` together, or counts that were sealed or merged. Both are as
                before.
            LiveStateError: called in a forked child process.
        """
        if not isinstance(other, PartialCounts):
            raise ArgumentTypeError(f"other: expected PartialCounts, got {type(other).__name__}")
        self._merge(other)

    def seal(self) -> bytes:
        """Return the counts as bytes that only the store can open, and erase them here.

        Returns:
            Sealed counts for ``Store.add_partials``. Their size follows from the description; that
            of names is a power of two, and a head.

        Raises:
            ArgumentValueError: counts that were sealed or merged.
            LiveStateError: called in a forked child process.
        """
        return self._seal()

    @property
    def _has_names(self) -> bool:
        """Whether items are counted by name, for an object that publishes names."""
        return self._shape[3]

    @property
    def _has_values(self) -> bool:
        """Whether numbers are counted, for a distribution."""
        return self._shape[0] == "values"

    @property
    def _has_sums(self) -> bool:
        """Whether each item has a number, for sums by item."""
        return self._grid is not None

    @property
    def _key_bits(self) -> int | None:
        """Bits of a key, for ranges; None for others."""
        kind, depth, _, _ = self._shape
        return depth if kind == "ranges" else None

    def __repr__(self) -> str:
        kind, depth, width, is_named = self._shape
        names = " with names" if is_named else ""
        return f"<PartialCounts of {kind}{names}, {depth} x {width}>"

    def _refuse(self, attempt: str) -> NoReturn:
        raise LiveStateError(
            f"partial: expected one live state, got {attempt}; events would be counted twice. "
            "Send seal() to the store, or merge() within one process"
        )
