"""Public 64-bit fingerprints of items, and different items that share one.

Anyone with the hash seed can build such items: the mix of integers, instants and dates is a
bijection, and XXH3-64 of up to 16 bytes can be inverted. The sketch cannot tell them apart, and
need not. Discovery must, because it would publish the name of one for the count of the other.

:func:`colliding_items` returns twelve items of seven types under :data:`HASH_SEED`. The check that
uses them reads their cells in an exact sketch, so that a changed hash cannot make it vacuous.

Sources: Y. Collet, xxHash, XXH3 of 4 to 8 and of 9 to 16 bytes; P. Evensen, moremur.
"""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta, timezone
from functools import cache
from typing import Final
from uuid import UUID

from lazysketch.releases.items import Item

__all__ = ["HASH_SEED", "colliding_items", "dated_items", "fingerprint"]

# The first seed that makes both constants of 16-byte texts ASCII, so that two long texts collide.
HASH_SEED: Final = 17_388_306
_FIRST: Final = 691_725  # the number at which colliding_items() succeeds
_WORD: Final = 2**64 - 1
_TAGS: Final = {
    "text": 1,
    "bytes": 2,
    "non-negative": 3,
    "negative": 4,
    "wide": 5,
    "instant": 6,
    "date": 7,
    "uuid": 8,
}
_SECRET: Final = bytes.fromhex(  # bytes 8 to 55 of the secret of XXH3
    "7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248e"
)
_BIT_FLIPS: Final = tuple(
    int.from_bytes(_SECRET[8 * i : 8 * i + 8], "little")
    ^ int.from_bytes(_SECRET[8 * i + 8 : 8 * i + 16], "little")
    for i in (0, 2, 4)
)
_MIX: Final = (0x3C79_AC49_2BA7_B653, 0x1C69_B3F7_4AC4_AE35)
_RRMXMX: Final = 0x9FB2_1C65_1E98_DF25
_AVALANCHE: Final = 0x1656_6791_9E37_79F9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INSTANTS: Final = range(-(2**55), 2**57)  # microseconds of the years 829 to 6536


def _unshift(x: int, shift: int) -> int:
    """Return y with y ^ (y >> shift) = x."""
    found = x
    for _ in range(64 // shift):
        found = x ^ (found >> shift)
    return found


def _inverse(factor: int) -> int:
    return pow(factor, -1, 2**64)


def mix(x: int) -> int:
    """Return moremur of a 64-bit word, a bijection."""
    x ^= x >> 27
    x = x * _MIX[0] & _WORD
    x ^= x >> 33
    x = x * _MIX[1] & _WORD
    return x ^ (x >> 27)


def unmixed(x: int) -> int:
    """Return the word whose :func:`mix` is x."""
    x = _unshift(x, 27) * _inverse(_MIX[1]) & _WORD
    x = _unshift(x, 33) * _inverse(_MIX[0]) & _WORD
    return _unshift(x, 27)


def _seed(hash_seed: int, kind: str) -> int:
    return mix(hash_seed ^ mix(_TAGS[kind]))


def _swapped(x: int) -> int:
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def _avalanche(x: int) -> int:
    x ^= x >> 37
    x = x * _AVALANCHE & _WORD
    return x ^ (x >> 32)


def _unavalanched(x: int) -> int:
    return _unshift(_unshift(x, 32) * _inverse(_AVALANCHE) & _WORD, 37)


def _turned(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & _WORD


def _rrmxmx(x: int, length: int) -> int:
    x ^= _turned(x, 49) ^ _turned(x, 24)
    x = x * _RRMXMX & _WORD
    x ^= (x >> 35) + length
    x = x * _RRMXMX & _WORD
    return x ^ (x >> 28)


def _flip_of_short(seed: int) -> int:
    seed ^= int.from_bytes((seed & 0xFFFF_FFFF).to_bytes(4, "big"), "little") << 32
    return _BIT_FLIPS[0] - seed & _WORD


def _flips_of_long(seed: int) -> tuple[int, int]:
    return _BIT_FLIPS[1] + seed & _WORD, _BIT_FLIPS[2] - seed & _WORD


def xxh3(data: bytes, seed: int) -> int:
    """Return XXH3-64 of 4 to 16 bytes."""
    if len(data) <= 8:
        first, last = (int.from_bytes(part, "little") for part in (data[:4], data[-4:]))
        return _rrmxmx((last | first << 32) ^ _flip_of_short(seed), len(data))
    flips = _flips_of_long(seed)
    low = int.from_bytes(data[:8], "little") ^ flips[0]
    high = int.from_bytes(data[-8:], "little") ^ flips[1]
    product = low * high
    folded = (product & _WORD) ^ (product >> 64)
    return _avalanche(len(data) + _swapped(low) + high + folded & _WORD)


def _eight_bytes(found: int, seed: int) -> bytes:
    """Return the 8 bytes with this hash."""
    x = _unshift(found, 28) * _inverse(_RRMXMX) & _WORD
    # x was y ^ ((y >> 35) + 8): the upper 35 bits of y are those of x.
    x ^= (x >> 35) + 8
    x = x * _inverse(_RRMXMX) & _WORD
    # y ^ turned(y, 49) ^ turned(y, 24) is linear, and its 64th power is the identity.
    for power in range(6):
        x ^= _turned(x, 49 << power & 63) ^ _turned(x, 24 << power & 63)
    x ^= _flip_of_short(seed)
    return (x >> 32).to_bytes(4, "little") + (x & 0xFFFF_FFFF).to_bytes(4, "little")


def _sixteen_bytes(found: int, seed: int) -> tuple[bytes, bytes]:
    """Return two different 16 bytes with this hash: one half of each is zero after its flip."""
    rest = _unavalanched(found) - 16 & _WORD
    flips = _flips_of_long(seed)
    halves = ((flips[0], rest ^ flips[1]), (_swapped(rest) ^ flips[0], flips[1]))
    one, other = (a.to_bytes(8, "little") + b.to_bytes(8, "little") for a, b in halves)
    return one, other


def fingerprint(item: Item, hash_seed: int = HASH_SEED) -> int:
    """Return the public fingerprint of an item.

    Args:
        item: text, bytes, UUIDs and wide integers of 4 to 16 bytes; any other item.
        hash_seed: public seed of the hash.

    Returns:
        A 64-bit integer.

    Example:
        >>> one, other, *_ = colliding_items()
        >>> fingerprint(one) == fingerprint(other)
        True
    """
    if isinstance(item, str):
        return xxh3(item.encode(), _seed(hash_seed, "text"))
    if isinstance(item, bytes):
        return xxh3(item, _seed(hash_seed, "bytes"))
    if isinstance(item, UUID):
        return xxh3(item.bytes, _seed(hash_seed, "uuid"))
    if isinstance(item, datetime):
        return mix(
            (item - _EPOCH) // timedelta(microseconds=1) & _WORD ^ _seed(hash_seed, "instant")
        )
    if isinstance(item, date):
        return mix((item - _EPOCH.date()).days & _WORD ^ _seed(hash_seed, "date"))
    if 0 <= item <= _WORD:
        return mix(item ^ _seed(hash_seed, "non-negative"))
    if -(2**63) <= item < 0:
        return mix(item & _WORD ^ _seed(hash_seed, "negative"))
    length = (item if item >= 0 else ~item).bit_length() // 8 + 1
    return xxh3(item.to_bytes(length, "little", signed=True), _seed(hash_seed, "wide"))


@cache
def colliding_items() -> tuple[Item, ...]:
    """Return different items with one fingerprint under :data:`HASH_SEED`.

    Returns:
        Non-negative and negative integers, an instant, short and long bytes, UUIDs, wide integers,
        short and long texts: twelve items.
    """
    for number in itertools.count(_FIRST):
        # Seven bits per byte, so that both long texts are ASCII.
        rest = int.from_bytes(bytes(byte & 0x7F for byte in mix(number).to_bytes(8, "big")), "big")
        found = _avalanche(rest + 16 & _WORD)
        negative = unmixed(found) ^ _seed(HASH_SEED, "negative")
        instant = _signed(unmixed(found) ^ _seed(HASH_SEED, "instant"))
        text = _eight_bytes(found, _seed(HASH_SEED, "text"))
        if negative >> 63 and instant in _INSTANTS and text.isascii():
            break
    long_texts = _sixteen_bytes(found, _seed(HASH_SEED, "text"))
    wide, _ = _sixteen_bytes(found, _seed(HASH_SEED, "wide"))
    return (
        unmixed(found) ^ _seed(HASH_SEED, "non-negative"),
        text.decode(),
        _signed(negative),
        _EPOCH + timedelta(microseconds=instant),
        _eight_bytes(found, _seed(HASH_SEED, "bytes")),
        *_sixteen_bytes(found, _seed(HASH_SEED, "bytes")),
        *(UUID(bytes=one) for one in _sixteen_bytes(found, _seed(HASH_SEED, "uuid"))),
        int.from_bytes(wide, "little", signed=True),
        *(one.decode() for one in long_texts),
    )


@cache
def dated_items() -> tuple[Item, ...]:
    """Return a date, and items with its fingerprint under :data:`HASH_SEED`.

    Returns:
        A date, an integer, bytes and a UUID.
    """
    day = date(2026, 2, 3)
    found = fingerprint(day)
    one, _ = _sixteen_bytes(found, _seed(HASH_SEED, "uuid"))
    integer = unmixed(found) ^ _seed(HASH_SEED, "non-negative")
    return (day, integer, _eight_bytes(found, _seed(HASH_SEED, "bytes")), UUID(bytes=one))


def _signed(word: int) -> int:
    return word - 2**64 if word >> 63 else word
