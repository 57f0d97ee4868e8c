"""Batches that are split over several tables, and their check before the first table counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import listed
from lazysketch.sketches.exact import CountMin

__all__ = ["People", "Weights", "as_sequence", "check_batch", "people_of", "taken", "unchanging"]

Positions: TypeAlias = npt.NDArray[np.int64]
# The person of each event: an item, or in a store a secret identity.
People: TypeAlias = "_native.LoggedEvents | _native.LoggedPeople"
Weights: TypeAlias = npt.NDArray[np.uint64]

_PLAIN: Final = (list, tuple, range, _native.LoggedEvents)
_MOST_OF_AN_ITERABLE: Final = 1 << 24  # as for a sketch; an iterable may never end


@runtime_checkable
class _ArrowColumn(Protocol):
    def take(self, indices: Positions) -> Sequence[object]: ...
    def to_pylist(self) -> list[object]: ...


@runtime_checkable
class _Sized(Protocol):
    def __len__(self) -> int: ...
    def __array__(self) -> npt.NDArray[np.generic]: ...


def as_sequence(name: str, values: object) -> Sequence[object]:
    """Return values as a sequence; their counting checks that they are items.

    Args:
        name: name of the argument.
        values: an array, a column, a list or any iterable.

    Returns:
        The same values, or a list of them.

    Raises:
        ArgumentTypeError: a single value, a dictionary, or a type that cannot be read.
        ArgumentValueError: an array that does not have one dimension.
    """
    if isinstance(values, str | bytes | bytearray | dict):
        raise ArgumentTypeError(f"{name}: expected many, got one {type(values).__name__}")
    # Plain values, NumPy and Arrow serve as they are; polars has to_arrow, pandas to_numpy.
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ArgumentValueError(f"{name}: expected one dimension, got {values.ndim}")
        return cast("Sequence[object]", values)
    if type(values) in _PLAIN:
        return cast("Sequence[object]", values)
    if name == "items" and (hasattr(values, "to_arrow") or hasattr(values, "collect")):
        _check_items(values)  # polars converts some types to others, and reads lazy ones later
    found = _as_known(name, values)
    is_column = found is not values or isinstance(values, _Sized)
    try:
        # Released memory has no length.
        sized = isinstance(found, Sequence | np.ndarray | _Sized) and len(found) >= 0
        if sized and is_column:
            return cast("Sequence[object]", found)
        if (exported := _native.arrow_values(values, name=name)) is not None:
            return exported
        return listed(name, cast("Iterable[object]", found), most=_MOST_OF_AN_ITERABLE)
    except (TypeError, ValueError) as failure:
        # Subclasses are what the values themselves raised.
        if type(failure) not in {TypeError, ValueError}:
            raise
        got = type(values).__name__
        raise ArgumentTypeError(f"{name}: expected an array or an iterable, got {got}") from None


def _as_known(name: str, values: object) -> object:
    """Return a column of polars as one of Arrow, and a column of pandas as an array."""
    if hasattr(values, "to_pylist"):
        return values
    method = next((one for one in ("to_arrow", "to_numpy") if hasattr(values, one)), None)
    if method is None:
        return values
    try:
        return getattr(values, method)()
    except (MemoryError, OSError):
        raise
    except Exception:  # of any library; its text may contain a value
        got = type(values).__name__
        raise ArgumentTypeError(f"{name}: expected an array or an iterable, got {got}") from None


def unchanging(name: str, values: object) -> Sequence[object]:
    """As :func:`as_sequence`, with a length that code of the values cannot change any more.

    A batch for several tables is read once for each. Values may be objects whose methods run while
    they are read, and may change the list that they are in.
    """
    sequence = as_sequence(name, values)
    if type(sequence) is np.ndarray and sequence.dtype.kind == "O":
        return cast("list[object]", sequence.tolist())
    return list(sequence) if sequence is values and type(values) is list else sequence


def taken(values: Sequence[object], positions: Positions) -> Sequence[object]:
    """Return the values at some positions.

    Args:
        values: result of :func:`as_sequence`.
        positions: int64 array.

    Returns:
        An array of the same kind, or a list.
    """
    if isinstance(values, np.ndarray):
        return values[positions]
    if isinstance(values, _native.LoggedEvents):
        return cast("Sequence[object]", values.take(positions))
    if isinstance(values, _ArrowColumn):
        try:
            return values.take(positions)
        except NotImplementedError:  # Arrow has no take for some types, such as string views
            values = values.to_pylist()
    return [values[position] for position in positions]


def people_of(user: object, *, events: int, bounded: bool) -> People | None:
    """Return the people of a batch, as a value that no other code can change.

    Args:
        user: one item per event, the identities of a store, or None.
        events: number of events.
        bounded: True if the windows bound people.

    Returns:
        The people; None if the windows do not bound them.

    Raises:
        ItemError: a person who is no item; the message gives the position.
        ArgumentTypeError: people where they are not bounded.
        ArgumentValueError: none where they are, or a wrong number.
    """
    if user is None:
        if bounded:
            raise ArgumentValueError("user: expected the person of each event, got none")
        return None
    if not bounded:
        raise ArgumentTypeError(
            "user: expected none, since the windows have no person_bound, got some"
        )
    people: People
    people = user if isinstance(user, _native.LoggedPeople) else _native.people_of_batch(user)
    if len(people) != events:
        raise ArgumentValueError(f"user: expected one per item, {events}, got {len(people)}")
    return people


def check_batch(items: object, weights: Weights | None, *, max_weight: int) -> None:
    """Raise every error that any of the tables would raise, before the first of them counts.

    Args:
        items: result of :func:`as_sequence`.
        weights: of the events, or None.
        max_weight: largest weight of one event.

    Raises:
        ItemError: an invalid item; the message gives its position.
        ArgumentTypeError: weights that are not integers.
        ArgumentValueError: weights outside their range, or a wrong number of weights.
    """
    _check_items(items, weights)
    if weights is not None and weights.size and int(weights.max()) > max_weight:
        raise ArgumentValueError(
            f"weights: expected integers from 0 to max_weight = {max_weight}, got a larger one; "
            "nothing was applied"
        )


def _check_items(items: object, weights: Weights | None = None) -> None:
    CountMin(depth=1, width=1, hash_seed=0).update_many(items, weights)
