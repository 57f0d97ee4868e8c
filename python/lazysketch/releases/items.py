"""Public lists of items, and items as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Final, TypeAlias
from uuid import UUID

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import listed

__all__ = ["Item", "checked_domain", "distinct_items", "plain_item", "plain_values"]

_MOST_OF_AN_ITERABLE: Final = 2**24

Item: TypeAlias = str | bytes | int | datetime | date | UUID
"""The types of items; values of different types are different items.

A datetime must have a time zone and counts as its instant, whatever the zone. A time without a zone
is not an item, because it does not say which instant it is.
"""


def checked_domain(domain: object) -> list[Item]:
    """Return the items of a public list, each once.

    Args:
        domain: an iterable of items, an array or a column.

    Returns:
        Plain values in their first order.

    Raises:
        ArgumentTypeError: a single value, a dictionary, or a value that is not iterable.
        ArgumentValueError: no item.
        ItemError: an invalid item; the message gives its position.
    """
    items = distinct_items("domain", domain)
    if not items:
        raise ArgumentValueError("domain: expected at least one item, got none")
    return items


def distinct_items(name: str, values: object) -> list[Item]:
    """Return the items of a list, each once.

    Args:
        name: of the argument.
        values: an iterable of items, an array or a column.

    Returns:
        Plain values in their first order.

    Raises:
        ArgumentTypeError: a single value, a dictionary, or nothing that can be iterated.
        ItemError: an invalid item; the message gives its position.
    """
    items = (
        plain_item(value, name=name, where=f" at position {at}")
        for at, value in enumerate(plain_values(name, values))
    )
    return list(dict.fromkeys(items))


def plain_values(name: str, values: object) -> list[object]:
    """Return the values of a list, an array or a column as Python values.

    Args:
        name: name of the argument.
        values: any iterable except a single str or bytes and a dictionary.

    Returns:
        A list.

    Raises:
        ArgumentTypeError: a single value, a dictionary, or a value that is not iterable.
        ItemError: Arrow data with nulls, or of a type that cannot be items.
        ArgumentValueError: malformed Arrow data.
        MemoryError: more values than fit in memory, or an iterable of more than 2^24.
    """
    if isinstance(values, list | tuple):
        try:
            return list(values)
        except TypeError as failure:
            # A subclass without an iterator; errors of its own methods have other types.
            if type(failure) is not TypeError:
                raise
            raise _not_many(name, values) from None
    if not isinstance(values, str | bytes | bytearray | dict):
        # Arrow data of any producer are validated in the core, as for the other classes.
        column = _native.arrow_values(values, name=name)
        if column is not None:
            return column
        found: object = values
        if hasattr(values, "tolist"):  # numpy, and pandas without Arrow
            try:
                found = values.tolist()
            except (MemoryError, OSError):
                raise
            except Exception:  # memory that was released, or an error of any library
                found = None
        # An array without dimensions gives a single value.
        if isinstance(found, Iterable) and (found is values or isinstance(found, list)):
            return _listed(name, found)
    raise _not_many(name, values)


def _not_many(name: str, values: object) -> ArgumentTypeError:
    got = type(values).__name__
    return ArgumentTypeError(f"{name}: expected a list, an array or a column of items, got {got}")


def _listed(name: str, values: Iterable[object]) -> list[object]:
    """Return the values of an iterable, which may be endless."""
    if isinstance(values, list):
        return values
    try:
        each = iter(values)
    except TypeError:
        raise _not_many(name, values) from None
    return listed(name, each, most=_MOST_OF_AN_ITERABLE)


def plain_item(value: object, *, name: str, where: str) -> Item:
    """Return an item as a plain value, so that True and 1.0 do not equal an item 1.

    Args:
        value: value of the caller.
        name: name of the argument.
        where: position within the argument and end of the message.

    Returns:
        A value of one of the six types, of no subclass; a datetime in UTC.

    Raises:
        ItemError: not a valid item.
    """
    return _native.plain_item(value, name=name, place=where)
