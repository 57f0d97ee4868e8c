"""Hierarchies of items: the names of an item at every level, and the parent of a name.

Each event gets one name per level, the coarsest first. An item that is shorter than a level is its
own name there (``example.org`` at a level of three labels), so every event counts once at every
level. The hierarchies of this module are split natively. Functions of a user are called once per
*distinct* item of a batch, which costs a microsecond or more.

A name determines the names above it, so published names alone determine a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.foreign_values import first_values, plain_tuple
from lazysketch.releases.items import Item, plain_item, plain_values

__all__ = [
    "HIERARCHIES",
    "MOST_LEVELS",
    "Levels",
    "dns_names",
    "ipv4_prefixes",
    "ipv6_prefixes",
    "url_paths",
]

MOST_LEVELS: Final = 64
_Names: TypeAlias = _native.LevelNames | list[Item]


@dataclass(frozen=True)
class Levels:
    """A hierarchy: the name of an item at each level, the coarsest first.

    Guarantee: ``split`` and ``parent`` are public functions that must not depend on a stream; then
    every name above a published name is post-processing of it.

    Args:
        names: names of the levels, such as ``("/8", "/32")``; one or more, all different.
        split: takes an item and returns one name per level, any item.
        parent: takes a name and the number of its level (from 1) and returns the name one level up;
            when None, ``split(name)[level - 1]``, so that ``split`` must accept names too.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: no level, or two levels with the same name.

    Source: docs/heavy-hitters.md.

    Example:
        >>> shops = Levels(("country", "shop"), lambda shop: (shop[:2], shop))
        >>> shops.of("DE-417")
        ('DE', 'DE-417')
        >>> shops.above("DE-417", 1)
        'DE'
    """

    names: tuple[str, ...]
    split: Callable[[Item], Sequence[Item]]
    parent: Callable[[Item, int], Item] | None = None
    _hierarchy: _native.Hierarchy | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Check the types of all fields and the number of names."""
        given = plain_tuple(self.names)
        if given is None or not all(isinstance(name, str) for name in given):
            got = type(self.names).__name__
            raise ArgumentTypeError(f"names: expected a tuple of str, got {got}")
        names = tuple(str.__str__(name) for name in given)
        object.__setattr__(self, "names", names)
        if not 1 <= len(names) <= MOST_LEVELS or len(set(names)) < len(names):
            raise ArgumentValueError(
                f"names: expected 1 to {MOST_LEVELS} different names, got {len(names)}, "
                f"{len(set(names))} of them different"
            )
        for argument, function in (("split", self.split), ("parent", self.parent)):
            if not callable(function) and not (argument == "parent" and function is None):
                got = type(function).__name__
                raise ArgumentTypeError(f"{argument}: expected a function, got {got}")

    def of(self, item: Item) -> tuple[Item, ...]:
        """Return the names of an item, one per level.

        Args:
            item: the item.

        Returns:
            The names, the coarsest level first.

        Raises:
            ItemError: the item does not fit the levels.
        """
        return self._split(_plain(item, ""), "")

    def columns(self, items: object) -> list[list[Item]]:
        """Return the names of many items, level by level.

        Args:
            items: a list, an array or a column with ``to_pylist`` or ``tolist``.

        Returns:
            A list per level, each as long as the items.

        Raises:
            ArgumentTypeError: a single value, a dictionary, or a value that is not iterable.
            ItemError: an item that does not fit the levels; the message gives its position.

        Example:
            >>> import lazysketch as ls
            >>> ls.ipv4_prefixes((8, 32)).columns(["192.0.2.1", "198.51.100.7"])
            [['192.0.0.0/8', '198.0.0.0/8'], ['192.0.2.1', '198.51.100.7']]
        """
        return [_listed(column) for column in self._columns(items)]

    def above(self, name: Item, level: int) -> Item:
        """Return the name one level up.

        Guarantee: a function of the name alone.

        Args:
            name: name at ``level``.
            level: number of the level, 1 or more; there is nothing above level 0.

        Returns:
            The name at ``level - 1``.

        Raises:
            ArgumentValueError: the functions of these levels do not accept this name.
        """
        number = checked_integer("level", level, most=len(self.names) - 1)
        try:
            if self.parent is not None:
                return _plain(self.parent(name, number), "")
            return self._split(name, "")[number - 1]
        except MemoryError:
            raise
        except Exception as error:
            raise ArgumentValueError(
                "levels: expected functions that accept the names they return (or parent=), got "
                f"{type(error).__name__}"
            ) from None

    def _columns(self, items: object) -> list[_Names]:
        """Return the names of many items as a table counts them, level by level."""
        if self._hierarchy is not None:
            return list(self._hierarchy.columns(items))
        given = plain_values("items", items)
        if set(map(type, given)) <= {str, bytes, int}:
            values = cast("list[Item]", given)
        else:
            values = [_plain(value, f" at position {at}") for at, value in enumerate(given)]
        known: dict[Item, int] = {}
        names: list[list[Item]] = [[] for _ in self.names]
        for at, value in enumerate(values):
            if value not in known:
                known[value] = len(known)
                split = self._split(value, f" at position {at}")
                for level, name in zip(names, split, strict=True):
                    level.append(name)
        rows = np.fromiter(map(known.__getitem__, values), np.int32, len(values))
        return [_repeated(level, rows) for level in names]

    def _split(self, item: Item, where: str) -> tuple[Item, ...]:
        try:
            names = tuple(islice(self.split(item), MOST_LEVELS + 1))
        except MemoryError:
            raise
        except Exception as error:  # its text may contain the item
            raise ItemError(
                f"items: expected items that fit the levels, got {type(error).__name__}{where}; "
                "nothing was applied"
            ) from None
        if len(names) != len(self.names):
            raise ItemError(
                f"items: expected {len(self.names)} names, one per level, got {len(names)}{where}; "
                "nothing was applied"
            )
        return tuple(_plain(name, where) for name in names)


def ipv4_prefixes(lengths: Sequence[int] = (8, 16, 24, 32)) -> Levels:
    """Return the levels of IPv4 addresses: networks by prefix length.

    A name is a network such as ``"10.1.0.0/16"``, and at length 32 an address. Items are addresses
    as text or as integers below 2^32; all other items are refused.

    Args:
        lengths: bits of the prefixes, increasing, 1 to 32.

    Returns:
        The levels.

    Raises:
        ArgumentTypeError: not integers.
        ArgumentValueError: outside their range, or not increasing.

    Example:
        >>> ipv4_prefixes((8, 32)).of("192.0.2.7")
        ('192.0.0.0/8', '192.0.2.7')
    """
    return _prefixes("ipv4", lengths, bits=32)


def ipv6_prefixes(lengths: Sequence[int] = (32, 48, 64, 128)) -> Levels:
    """Return the levels of IPv6 addresses: networks by prefix length.

    A name is a network such as ``"2001:db8::/32"``, and at length 128 an address, in short form; a
    zone (``%eth0``) is dropped. Items are addresses as text or as integers below 2^128.

    Args:
        lengths: bits of the prefixes, increasing, 1 to 128.

    Returns:
        The levels.

    Raises:
        ArgumentTypeError: not integers.
        ArgumentValueError: outside their range, or not increasing.

    Example:
        >>> ipv6_prefixes((32, 128)).of("2001:DB8:0::1")
        ('2001:db8::/32', '2001:db8::1')
    """
    return _prefixes("ipv6", lengths, bits=128)


def url_paths(depth: int = 3) -> Levels:
    """Return the levels of URL paths: directories of 1 to ``depth`` segments, and the whole path.

    The name of a directory ends in a slash: ``"/shop/"`` means all paths below, ``"/shop"`` only
    this path. A path with fewer segments is its own name at the deeper levels. Query, fragment,
    scheme and host are dropped. Text without a path is refused.

    Args:
        depth: largest number of segments of a directory, 1 to 32.

    Returns:
        ``depth + 1`` levels.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Example:
        >>> url_paths(2).of("/shop/shoes/417?ref=a")
        ('/shop/', '/shop/shoes/', '/shop/shoes/417')
        >>> url_paths(2).of("/about")
        ('/about', '/about', '/about')
    """
    most = checked_integer("depth", depth, most=32)

    names = (*(f"{n} segments" for n in range(1, most + 1)), "path")
    return _standard("paths", [most], names)


def dns_names(depth: int = 3) -> Levels:
    """Return the levels of DNS names: the last 1 to ``depth`` labels, and the whole name.

    Names are in lower case without the final dot; the root is ``"."``. A name with fewer labels is
    its own name at the deeper levels. Names with empty labels or more than 253 characters are
    refused.

    Args:
        depth: largest number of labels of a domain, 1 to 32.

    Returns:
        ``depth + 1`` levels.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Example:
        >>> dns_names(2).of("WWW.Example.org.")
        ('org', 'example.org', 'www.example.org')
        >>> dns_names(2).of("org")
        ('org', 'org', 'org')
    """
    most = checked_integer("depth", depth, most=32)

    names = (*(f"{n} labels" for n in range(1, most + 1)), "name")
    return _standard("domains", [most], names)


# By the names that settings have; each with its default levels.
HIERARCHIES: Final[Mapping[str, Callable[[], Levels]]] = {
    "ipv4": ipv4_prefixes,
    "ipv6": ipv6_prefixes,
    "url": url_paths,
    "dns": dns_names,
}


def _prefixes(kind: Literal["ipv4", "ipv6"], lengths: Sequence[int], *, bits: int) -> Levels:
    if isinstance(lengths, str | bytes | int):
        raise ArgumentTypeError(f"lengths: expected integers, got {type(lengths).__name__}")
    try:
        given = first_values(lengths, bits + 1)  # no more fit in increasing order
    except (TypeError, ValueError):  # cannot be iterated, such as a released memoryview
        got = type(lengths).__name__
        raise ArgumentTypeError(f"lengths: expected integers, got {got}") from None
    sizes = tuple(checked_integer("lengths", size, most=bits) for size in given)
    if not sizes or any(first >= second for first, second in pairwise(sizes)):
        raise ArgumentValueError("lengths: expected one or more in increasing order, got others")

    return _standard(kind, sizes, tuple(f"/{size}" for size in sizes))


def _standard(
    kind: Literal["ipv4", "ipv6", "paths", "domains"],
    numbers: Sequence[int],
    names: tuple[str, ...],
) -> Levels:
    """Return levels that are split natively."""
    hierarchy = _native.Hierarchy(kind, numbers)
    levels = Levels(names, hierarchy.split, hierarchy.parent)
    object.__setattr__(levels, "_hierarchy", hierarchy)
    return levels


def _repeated(names: list[Item], rows: np.ndarray[tuple[int], np.dtype[np.int32]]) -> _Names:
    """Return the name of each row by its number; a list if some names are no texts."""
    found = _native.repeated_names(names, rows)
    return [names[row] for row in rows] if found is None else found


def _listed(names: _Names) -> list[Item]:
    return cast("list[Item]", names if isinstance(names, list) else names.tolist())


def _plain(value: object, where: str) -> Item:
    return plain_item(value, name="items", where=f"{where}; nothing was applied")
