"""Items that are keys of ranges: integers of so many bits, and addresses.

Text that is a decimal number is that key. An IPv4 address is a key of 32 bits, also as it is
written within IPv6 (``::ffff:10.0.0.1``); of an IPv6 address the first 64 bits are a key of 64,
since the others tell hosts within one network. Integers of columns and JSON count as they are.
Everything else is malformed, like a row without an item: text, fractions, and numbers of more
bits.

Cost: 0.1 us for an item, and some 0.3 us more for each different text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.releases.items import plain_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazysketch.sources.batch import Items, RowBatch

__all__ = ["key_bits", "key_type", "keys_of", "with_keys"]

IPV4_BITS: Final = 32
IPV6_BITS: Final = 64
_KEYS: Final = "key"
_MOST_BITS: Final = 64
_MOST_DIGITS: Final = 20  # of 2^64
_MAPPED: Final = bytes(10) + b"\xff\xff"  # before the four bytes of an IPv4 address


def key_type(bits: int) -> str:
    """Return the type of items that are keys, as of ``open_source``.

    Args:
        bits: 1 to 64.

    Example:
        >>> key_type(32)
        'key32'
    """
    return f"{_KEYS}{bits}"


def key_bits(item_type: str | None) -> int | None:
    """Return the bits of keys of a type of items; None of another type.

    Args:
        item_type: as of ``open_source``.

    Example:
        >>> key_bits("key32"), key_bits("float"), key_bits("key65")
        (32, None, None)
    """
    bits = (item_type or "").removeprefix(_KEYS)
    if not (bits.isascii() and bits.isdecimal() and item_type == _KEYS + bits):
        return None
    return int(bits) if len(bits) <= 2 and 1 <= int(bits) <= _MOST_BITS else None


def with_keys(batch: RowBatch, bits: int) -> RowBatch:
    """Return a batch whose items are keys; rows with other items are malformed.

    Args:
        batch: Rows whose items are text, integers, floats or bytes.
        bits: of a key.

    Example:
        >>> from lazysketch.sources.batch import RowBatch
        >>> batch = with_keys(RowBatch(["10.0.0.1", "n/a", "443"]), 32)
        >>> batch.items.tolist(), batch.malformed
        ([167772161, 443], [1])
    """
    keys, fits = keys_of(batch.items, bits)
    return batch.with_items(keys, others=np.flatnonzero(~fits).tolist())


def keys_of(items: Items, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the items that are keys, and for each item whether it is one.

    Args:
        items: Text, integers, floats or bytes.
        bits: of a key.
    """
    if isinstance(items, np.ndarray) and items.dtype.kind in "iu":
        fits: NDArray[np.bool_] = items >= 0
        if bits < _MOST_BITS:
            fits &= items <= (1 << bits) - 1
        return items[fits].astype(np.uint64), fits
    known: dict[object, int | None] = {}
    found = []
    for item in plain_values("items", items):
        place = (type(item), item)  # True and 1.0 are equal to 1, and no keys
        if place not in known:
            known[place] = _key(item, bits)
        found.append(known[place])
    fits = np.array([key is not None for key in found], dtype=bool)
    return np.array([key for key in found if key is not None], dtype=np.uint64), fits


def _key(item: object, bits: int) -> int | None:
    """Return the key of an item; None if it is none."""
    if isinstance(item, str):
        return _key_of_text(item, bits)
    if isinstance(item, bytes):
        return _key_of_text(item.decode("utf-8", "replace"), bits)
    if isinstance(item, int) and not isinstance(item, bool):
        return item if 0 <= item < 1 << bits else None
    return None


def _key_of_text(text: str, bits: int) -> int | None:
    if text.isdecimal() and text.isascii():
        key = int(text) if len(text) <= _MOST_DIGITS else 1 << bits
        return key if key < 1 << bits else None
    if bits not in (IPV4_BITS, IPV6_BITS):
        return None
    import socket  # late: few keys are addresses in text

    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        packed = socket.inet_pton(family, text)
    except (OSError, ValueError):  # ValueError: a character that no address has
        return None
    if bits == IPV6_BITS:
        return int.from_bytes(packed[:8], "big") if len(packed) > 8 else None
    if len(packed) > 4:
        packed = packed[12:] if packed.startswith(_MAPPED) else b""
    return int.from_bytes(packed, "big") if packed else None
