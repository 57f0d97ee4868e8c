"""Rows of inputs of tests, as a verb reads them."""

from __future__ import annotations

import json

__all__ = ["SUMS", "row_of"]

SUMS = ["sums", "log", "--format", "jsonl", "--by", "item", "--value", "paid"]
SUMS += ["--items", "items.txt"]
"""The verb for rows that have a number beside their item."""


def row_of(verb: str, number: int, *, items: int) -> str:
    """Return a row with one of some items; each tenth has no event.

    Args:
        verb: of the command; "sums" for rows with a value.
        number: of the row.
        items: how many there are.
    """
    has_event = number % 10 != 0
    if verb != "sums":
        return f"{number % items}\n" if has_event else "\n"
    row = {"item": f"item {number % items}"} | ({"paid": number % 7} if has_event else {})
    return json.dumps(row) + "\n"
