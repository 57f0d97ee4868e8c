"""Random damage to bytes, and the time limit of a fuzzing test."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable, Iterator

SECONDS = float(os.environ.get("FUZZ_SECONDS", "2"))
LONGEST = 20.0  # seconds per input, a thousand times the usual time
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


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return the data with one to six kinds of damage."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        if changed:
            chance.choice(DAMAGE)(changed, chance)
    return bytes(changed[: 1 << 16])


def rounds(seconds: float = SECONDS) -> Iterator[tuple[random.Random, str]]:
    """Yield a random source and its expression for each round, until time is up; at least ten."""
    seed = secrets.randbits(64)
    end, number = time.monotonic() + seconds, 0
    while number < 10 or time.monotonic() < end:
        begin = time.monotonic()
        yield random.Random(f"{seed}.{number}"), f"random.Random('{seed}.{number}')"
        assert time.monotonic() - begin < LONGEST, (
            f"random.Random('{seed}.{number}'): took too long"
        )
        number += 1
