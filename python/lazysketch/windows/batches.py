"""Batches that are cut in parts: checked whole before the first part is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sketches.exact import CountMin

__all__ = ["as_sequence", "check_batch", "taken"]


def as_sequence(name: str, values: object) -> Any:
    """Return values that can be cut; what cannot be items is left to who counts them.

    Args:
        name: of the argument.
        values: an array, a column, a list or any iterable.

    Returns:
        The same, or a list of it.

    Raises:
        ArgumentTypeError: a single value or a dictionary.
    """
    if isinstance(values, str | bytes | bytearray | dict):
        raise ArgumentTypeError(f"{name}: expected many, got one {type(values).__name__}")
    if isinstance(values, np.ndarray | list | tuple) or hasattr(values, "to_pylist"):
        return values  # NumPy, plain values and Arrow
    for method in ("to_arrow", "to_numpy"):  # polars; pandas
        if hasattr(values, method):
            return getattr(values, method)()
    try:
        return values if isinstance(values, Sequence) else list(values)  # type: ignore[call-overload]
    except TypeError:
        got = type(values).__name__
        raise ArgumentTypeError(f"{name}: expected an array or an iterable, got {got}") from None


def taken(values: Any, positions: Any) -> Any:
    """Return some of the values, by their positions.

    Args:
        values: of :func:`as_sequence`.
        positions: int64 array.

    Returns:
        An array of the same kind, or a list.
    """
    if isinstance(values, np.ndarray):
        return values[positions]
    if hasattr(values, "to_pylist"):
        try:
            return values.take(positions)
        except NotImplementedError:  # Arrow has types that it cannot take from: string views
            values = values.to_pylist()
    return [values[position] for position in positions]


def check_batch(items: Any, weights: Any, *, max_weight: int) -> None:
    """Refuse what any of several tables would refuse, before the first of them counts.

    Args:
        items: of :func:`as_sequence`.
        weights: likewise, or None.
        max_weight: largest weight of one event.

    Raises:
        ItemError: something that cannot be an item, with its position.
        ArgumentTypeError: weights that are no integers.
        ArgumentValueError: weights outside their range or of another number.
    """
    CountMin(depth=1, width=1, hash_seed=0).update_many(items, weights)
    if weights is not None and len(weights) and int(np.asarray(weights).max()) > max_weight:
        raise ArgumentValueError(
            f"weights: expected integers from 0 to max_weight = {max_weight}, got a larger one; "
            "nothing was applied"
        )
