"""Parameters of an address, checked: each is named in the error that it causes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentValueError

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from lazysketch.releases.items import Item
    from lazysketch.windows.changes import Against

__all__ = [
    "ItemsQuery",
    "TopQuery",
    "TreeQuery",
    "against_of",
    "integer_of",
    "last_of",
    "level_of",
    "refuse_others",
    "single_of",
    "window_of",
]

_MOST_ROWS: Final = 10_000
_MOST_ITEMS: Final = 100
_LONGEST_ITEM: Final = 1024
_MOST_WINDOWS: Final = 1 << 16
_LONGEST_NUMBER: Final = 18  # digits
_SHARE: Final = re.compile(r"0\.[0-9]{1,4}|1(?:\.0{1,4})?", re.ASCII)
_TYPES: Final = ("str", "int", "bytes")


@dataclass(frozen=True, slots=True)
class TopQuery:
    """What a list shows.

    Attributes:
        n: number of names, 1 to 10,000.
        level: number of a level, -1 for the finest.
        last: number of ended windows; None for all that are kept.
        include_open: True to include the published part of the open window.
    """

    n: int
    last: int | None
    include_open: bool
    level: int = -1

    @classmethod
    def of(cls, given: QueryParams, *, levels: int) -> TopQuery:
        """Return the parameters of an address.

        Args:
            given: the parameters.
            levels: number of levels of the stream; 0 without a hierarchy.

        Raises:
            ArgumentValueError: a parameter that does not exist, or outside its range.
        """
        refuse_others(given, ("n", "last", "open", "level"))
        n = integer_of(given, "n", most=_MOST_ROWS)
        level = level_of(given, levels=levels)
        return cls(50 if n is None else n, last_of(given), _flag(given, "open"), level)


@dataclass(frozen=True, slots=True)
class TreeQuery:
    """What a tree shows.

    Attributes:
        share: names with at least this share; None for that of the stream.
        last: number of ended windows; None for all that are kept.
        include_open: True to include the published part of the open window.
    """

    share: float | None
    last: int | None
    include_open: bool

    @classmethod
    def of(cls, given: QueryParams) -> TreeQuery:
        """Return the parameters of an address.

        Raises:
            ArgumentValueError: a parameter that does not exist, or outside its range.
        """
        refuse_others(given, ("share", "last", "open"))
        text = single_of(given, "share")
        share = None
        if text is not None:
            # Few digits, so that readers cannot ask for any number of different trees.
            share = float(text) if _SHARE.fullmatch(text) else 0.0
            if not 0.0 < share <= 1.0:
                raise ArgumentValueError(
                    "share: expected a number from 0.0001 to 1 with at most 4 decimals, got another"
                )
        return cls(share, last_of(given), _flag(given, "open"))


@dataclass(frozen=True, slots=True)
class ItemsQuery:
    """Which items are asked for.

    Attributes:
        items: the items, 1 to 100.
        last: number of ended windows; None for all that are kept.
        include_open: True to include the published part of the open window.
    """

    items: tuple[Item, ...]
    last: int | None
    include_open: bool

    @classmethod
    def of(cls, given: QueryParams, *, of_windows: bool = True) -> ItemsQuery:
        """Return the parameters of an address.

        Args:
            given: the parameters.
            of_windows: False where each window is shown, so that none can be chosen.

        Raises:
            ArgumentValueError: a parameter that does not exist, or outside its range.
        """
        refuse_others(given, ("item", "type", "last", "open")[: 4 if of_windows else 2])
        texts = given.getlist("item")
        if not 1 <= len(texts) <= _MOST_ITEMS:
            raise ArgumentValueError(f"item: expected 1 to {_MOST_ITEMS} of them, got {len(texts)}")
        found = single_of(given, "type")
        kind = "str" if found is None else found
        if kind not in _TYPES:
            raise ArgumentValueError(f"type: expected {', '.join(_TYPES)}, got something else")
        items = tuple(_item(text, kind) for text in texts)
        return cls(items, last_of(given), _flag(given, "open"))


def last_of(given: QueryParams) -> int | None:
    """Return the number of windows that are asked for; None for all.

    Raises:
        ArgumentValueError: not a number of windows.
    """
    return integer_of(given, "last", most=_MOST_WINDOWS)


def window_of(text: str) -> int:
    """Return the number of the window of an address; -1, which no window has, for other text.

    Args:
        text: the part of the address.
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else -1


def level_of(given: QueryParams, *, levels: int) -> int:
    """Return the number of the level that is asked for; -1, the finest, by default.

    Args:
        given: the parameters.
        levels: number of levels of the stream; 0 without a hierarchy.

    Raises:
        ArgumentValueError: not the number of a level.
    """
    text = single_of(given, "level")
    if text is None:
        return -1
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and int(text) < max(levels, 1)):
        raise ArgumentValueError(
            f"level: expected an integer from 0 to {max(levels, 1) - 1}, got another"
        )
    return int(text)


def against_of(given: QueryParams) -> Against:
    """Return what the last window is compared with.

    Raises:
        ArgumentValueError: a parameter that does not exist, or another value.
    """
    refuse_others(given, ("against",))
    found = single_of(given, "against")
    if found is None or found == "previous":
        return "previous"
    if found == "earlier":
        return "earlier"
    raise ArgumentValueError("against: expected previous or earlier, got something else")


def refuse_others(given: QueryParams, known: Iterable[str]) -> None:
    """Raise for a parameter that the address does not have.

    Args:
        given: the parameters.
        known: those that it has.

    Raises:
        ArgumentValueError: there is another one.
    """
    names = tuple(known)
    if not set(given.keys()) <= set(names):
        expected = ", ".join(names) or "none"
        raise ArgumentValueError(f"parameters: expected {expected}, got another one")


def single_of(given: QueryParams, name: str) -> str | None:
    """Return a parameter that an address has at most once; None without it.

    Args:
        given: the parameters.
        name: its name.

    Raises:
        ArgumentValueError: it is given more than once.
    """
    values = given.getlist(name)
    if len(values) > 1:
        raise ArgumentValueError(f"{name}: expected one, got {len(values)}")
    return values[0] if values else None


def integer_of(given: QueryParams, name: str, *, least: int = 1, most: int) -> int | None:
    """Return a parameter that is an integer; None without it.

    Args:
        given: the parameters.
        name: its name.
        least: the smallest that it may be, 0 or more.
        most: the largest that it may be.

    Raises:
        ArgumentValueError: something else.
    """
    text = single_of(given, name)
    if text is None:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not (is_number and least <= int(text) <= most):
        raise ArgumentValueError(
            f"{name}: expected an integer from {least} to {most:,}, got another"
        )
    return int(text)


def _flag(given: QueryParams, name: str) -> bool:
    text = single_of(given, name)
    if text not in (None, "true", "false"):
        raise ArgumentValueError(f"{name}: expected true or false, got something else")
    return text != "false"


def _item(text: str, kind: str) -> Item:
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST_ITEM:
        raise ArgumentValueError(f"item: expected at most {_LONGEST_ITEM:,} bytes, got more")
    try:
        if kind == "int":
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit()):
                raise ValueError
            return int(text)
        return bytes.fromhex(text) if kind == "bytes" else text
    except ValueError:
        expected = "an integer" if kind == "int" else "hexadecimal digits"
        raise ArgumentValueError(f"item: expected {expected}, got another text") from None
