"""A second decoder of large tables, from docs/release-format.md alone: slow, a bit at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.unit.releases.plain_blake3 import blake3

BLOCK, ESCAPE, CHECKSUM = 1024, 24, 32
MAGIC = b"LAZYSKCH"


def place_of_table(data: bytes) -> tuple[int, int]:
    """Return where the table of a release of version 6 begins, and its number of cells."""
    assert data[:10] == MAGIC + b"\6\0"
    kind, depth, width = data[10], *struct.unpack_from("<II", data, 12)
    at = 28 + (4 if kind == 4 else 0)
    if kind == 5:
        at += 1 + 16
        at += 4 + 8 * int.from_bytes(data[at : at + 4], "little")
    parts = int.from_bytes(data[at : at + 4], "little")
    at += 4
    for _ in range(parts):
        at += 1 + 16 + 8 + 1 + 8 + 8 + 8
        has_noise, at = data[at], at + 1
        if has_noise:
            at += 1 + 8 + 8 + 4 + 4 + 8 + 1 + 8 + 16 + 8 + 1 + 1 + 8 + 8 + 8 + 8 + 4
            at += 1 + (12 if data[at] else 0)
        has_promise, at = data[at], at + 1
        if has_promise:
            tables = int.from_bytes(data[at + 32 : at + 34], "little")
            at += 16 + 8 + 8 + 2 + tables * (4 + 6 * 8)
    return at, depth * width


def bits_of(data: bytes, at: int) -> Iterator[int]:
    for byte in data[at:]:
        for bit in range(7, -1, -1):
            yield byte >> bit & 1


def signed(value: int) -> int:
    """Return the integer of 64 bits, in two's complement, that equals another modulo 2^64."""
    return (value + 2**63) % 2**64 - 2**63


def read_block(data: bytes, at: int, cells: int) -> tuple[list[int], int]:
    """Return the cells of a block, and where the next one begins."""
    (middle,) = struct.unpack_from("<q", data, at)
    low, begin = data[at + 8], at + 9
    stream, used, found = bits_of(data, begin), 0, []
    for _ in range(cells):
        ones = 0
        while ones < ESCAPE and next(stream):
            ones += 1
        if ones == ESCAPE:
            bits, high, used = 64, 0, used + ESCAPE + 64
        else:
            bits, high, used = low, ones, used + ones + 1 + low
        distance = high
        for _ in range(bits):
            distance = 2 * distance + next(stream)
        away = -(distance + 1) // 2 if distance % 2 else distance // 2
        found.append(signed(middle + away))
    return found, begin + (used + 7) // 8


def table_of(data: bytes) -> tuple[list[int], int, int]:
    """Return the cells of a release of version 6, and where they begin and end."""
    at, cells = place_of_table(data)
    assert blake3(data[:-CHECKSUM]) == data[-CHECKSUM:]
    begin = at
    table: list[int] = []
    while len(table) < cells:
        block, at = read_block(data, at, min(BLOCK, cells - len(table)))
        table += block
    return table, begin, at
