"""Public lists of items, and items as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError

__all__ = ["Item", "checked_domain", "distinct_items", "plain_item", "plain_values"]

Item: TypeAlias = str | bytes | int


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
    """
    if not isinstance(values, str | bytes | bytearray | dict):
        for method in ("to_pylist", "tolist", "to_list"):  # Arrow; numpy and pandas; polars
            if hasattr(values, method):
                values = getattr(values, method)()
                break
        if isinstance(values, Iterable):
            return list(values)
    got = type(values).__name__
    raise ArgumentTypeError(f"{name}: expected a list, an array or a column of items, got {got}")


def plain_item(value: object, *, name: str, where: str) -> Item:
    """Return an item as a plain value, so that True and 1.0 do not equal an item 1.

    Args:
        value: value of the caller.
        name: name of the argument.
        where: position within the argument and end of the message.

    Returns:
        The value as a str, bytes or int of Python.

    Raises:
        ItemError: not a valid item.
    """
    got = type(value).__name__
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            got = "text with a lone surrogate"
        else:
            return str(value)
    elif isinstance(value, bytes):
        return bytes(value)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ItemError(f"{name}: expected str, bytes or int, got {got}{where}")
