"""Values of classes that the caller chose, whose methods may raise, lie or never end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

__all__ = ["converted", "first_values", "listed", "plain_sequence", "plain_tuple"]

_MOST_OF_A_SEQUENCE: Final = 1 << 24  # of a foreign class; it may never end


def converted(name: str, values: object) -> npt.NDArray[Any] | None:
    """Return values of any library as a NumPy array.

    Args:
        name: name of the argument, for the message.
        values: any object.

    Returns:
        The array, of any type and shape; None if the values cannot be converted. The error of
        their library is not shown, since its text may contain a value.

    Raises:
        MemoryError: values that never end.
        OSError: of the system.

    Example:
        >>> converted("cells", range(3))
        array([0, 1, 2])
    """
    if type(values) is np.ndarray:
        return values
    try:
        if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
            # pyarrow would read where broken offsets, views and indices point.
            validate = getattr(values, "validate", None)
            if validate is not None:
                validate(full=True)
        elif _is_foreign_sequence(values):
            values = listed(name, cast("Iterable[object]", values), most=_MOST_OF_A_SEQUENCE)
        return np.asarray(values)
    except (MemoryError, OSError):
        raise
    except Exception:
        return None


def plain_sequence(name: str, values: object, *, most: int) -> list[Any] | None:
    """Return the values of an iterable or a column, which may never end, as a list.

    Args:
        name: name of the argument, for the message.
        values: any object.
        most: largest number of values that matters.

    Returns:
        The values, one more than ``most`` at the largest; None if the object is a single value, or
        cannot be iterated over.

    Raises:
        MemoryError: not enough memory.
        OSError: of the system.

    Example:
        >>> plain_sequence("shares", (0.5, 1), most=9), plain_sequence("shares", "0.5", most=9)
        ([0.5, 1], None)
    """
    if isinstance(values, str | bytes | bytearray | Mapping):
        return None
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        array = converted(name, values)  # checked, since iterating would trust its offsets
        found: list[Any] | None = None
        if array is not None and array.ndim == 1:
            found = array[: most + 1].tolist()
        return found
    try:
        return first_values(cast("Iterable[object]", values), most + 1)
    except (MemoryError, OSError):
        raise
    except Exception:
        return None


def plain_tuple(values: object) -> tuple[object, ...] | None:
    """Return the values of a tuple, as the base class does: a subclass could override the methods.

    Args:
        values: any object.

    Returns:
        A plain tuple; None if the object is not a tuple.

    Example:
        >>> plain_tuple((1, 2)), plain_tuple([1, 2])
        ((1, 2), None)
    """
    return tuple(tuple.__iter__(values)) if isinstance(values, tuple) else None


def _is_foreign_sequence(values: object) -> bool:
    """Tell whether numpy would read a sequence by its methods, which may never end."""
    plain = (list, tuple, range, str, bytes, bytearray, memoryview, np.ndarray, np.generic, Mapping)
    if isinstance(values, plain) or hasattr(values, "__array__"):
        return False
    return hasattr(type(values), "__len__") and hasattr(type(values), "__getitem__")


def first_values(values: Iterable[object], most: int) -> list[object]:
    """Return the first values of an iterable, which may never end.

    Args:
        values: the iterable.
        most: largest number of values.

    Returns:
        At most that many values.

    Raises:
        TypeError: it cannot be iterated over.

    Example:
        >>> from itertools import count
        >>> first_values(count(), 3)
        [0, 1, 2]
    """
    kept: list[object] = []
    for value in values:  # itertools.islice raises SystemError for memory that was released
        if len(kept) == most:
            break
        kept.append(value)
    return kept


def listed(name: str, values: Iterable[object], *, most: int) -> list[object]:
    """Return the values of an iterable, which may never end, as a list.

    Args:
        name: name of the argument, for the message.
        values: the iterable.
        most: largest number of values.

    Returns:
        The values.

    Raises:
        TypeError: it cannot be iterated over.
        MemoryError: more values.

    Example:
        >>> listed("items", iter("ab"), most=2)
        ['a', 'b']
    """
    kept = first_values(values, most + 1)
    if len(kept) > most:
        raise MemoryError(
            f"{name}: expected an iterable of at most {most} values, got more; "
            "nothing was applied: pass it in parts"
        )
    return kept
