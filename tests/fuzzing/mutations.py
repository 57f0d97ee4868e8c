"""Random damage to bytes."""

from __future__ import annotations

import random
from collections.abc import Callable

INTERESTING = [b"\0", b"\xff", b"\n", b'"', b",", b"\x1f\x8b", b"\xff" * 8, b"\x80" * 4]
INTERESTING += [b"{", b"[" * 50, b"\\u", b"9" * 40, b"-", b"\xed\xa0\x80", b"\xe2\x80\xa8"]


def flip(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwrite(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    piece = chance.choice(INTERESTING)
    data[at : at + len(piece)] = piece


def insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice([*INTERESTING, chance.randbytes(chance.randrange(1, 40))])


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def drop(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.randrange(1, 40)]


def repeat(data: bytearray, chance: random.Random) -> None:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    at = chance.randrange(len(data) + 1)
    data[at:at] = bytes(data[start:end]) * chance.choice([1, 1, 1, 5])


DAMAGE: list[Callable[[bytearray, random.Random], None]] = [
    *(flip, overwrite, insert, cut, drop, repeat),
]
