"""Releases of large tables, whose cells are in blocks: every kind, limits, damage, older files.

A second decoder reads each file (`plain_blocks.py`, written from docs/release-format.md), and a
second encoder here makes the files of attackers and of earlier versions.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.golden.releases.regenerate import FOLDER
from tests.unit.releases.plain_blake3 import blake3
from tests.unit.releases.plain_blocks import BLOCK, CHECKSUM, place_of_table, table_of

import lazysketch as ls
from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.any_release import any_release
from lazysketch.testing import seeded_key

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 1000}
NAMED = FOLDER / "large-named.lzs"
EXACT = FOLDER / "exact-large.lzs"


def counted(counts: Any, *columns: Any) -> Any:
    counts.update_many(*(columns or ([5, 6, 7, 5] * 50,)))
    return counts.release()


def of_level() -> Any:
    levels = ls.HierarchicalHeavyHitters(
        ls.ipv4_prefixes(), share=0.1, width=4096, depth=4, **NOISE
    )
    levels.update_many(["10.1.2.3", "10.1.2.4"] * 100)
    return levels.level(1).release()


def of_windows() -> Any:
    windows = ls.Windows(every=100, width=4096, depth=4, domain=["a"], epsilon=1.0, delta=1e-6)
    windows.update_many(["a"] * 250)
    return windows.release(2)


MADE: dict[str, Callable[[], Any]] = {
    "count-min": lambda: counted(ls.LazyCountMin(depth=4, width=4096, **NOISE)),
    "count-sketch": lambda: counted(ls.LazyCountSketch(depth=3, width=5462, **NOISE)),
    "counters": lambda: counted(ls.ContinualCounters(counters=1 << 14, **NOISE)),
    "exact": lambda: counted(ls.CountMin(depth=4, width=4096)),
    "ranges": lambda: counted(ls.Ranges(bits=16, width=1024, **NOISE)),
    "values": lambda: counted(
        ls.Distribution(bins=ls.Bins.linear(0, 8, number=(1 << 14) - 2), **NOISE), [5.0, 1.0] * 100
    ),
    "heavy hitters": lambda: counted(
        ls.HeavyHitters(domain=["a"], width=4096, depth=4, **NOISE), ["a"] * 9
    ),
    "hierarchy": of_level,
    "windows": of_windows,
}


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_is_read_by_a_second_decoder(kind: str) -> None:
    release = MADE[kind]()
    data = release.to_bytes()
    cells, begin, end = table_of(data)
    again = any_release(data)
    assert cells == again._native.table.ravel().tolist()
    assert type(again) is type(release)
    assert again.to_bytes() == data
    assert end - begin < 4 * len(cells)


def test_sums_hold_two_tables_in_blocks() -> None:
    sums = ls.Sums(low=-10, high=90, width=4096, depth=4, **NOISE)
    release = counted(sums, [1, 2] * 100, [5.0, 80.0] * 100)
    data = release.to_bytes()
    (size,) = struct.unpack_from("<Q", data, 33)
    for part, table in zip((data[41:][:size], data[41 + size : -16]), release.tables, strict=True):
        assert table_of(part)[0] == table.table.ravel().tolist()
    assert ls.SumsRelease.from_bytes(data).to_bytes() == data


def test_small_tables_are_written_as_before() -> None:
    below = counted(ls.LazyCountMin(depth=1, width=(1 << 14) - 1, **NOISE)).to_bytes()
    assert below[8] == 1
    assert len(below) > 8 * ((1 << 14) - 1)
    assert counted(ls.LazyCountMin(depth=1, width=1 << 14, **NOISE)).to_bytes()[8] == 6


def sealed(body: bytes) -> bytes:
    return body + blake3(body)


def in_blocks(cells: np.ndarray[Any, Any]) -> bytes:
    """Return cells in blocks, from the text of the format: big integers, no shifts."""
    made = b""
    for begin in range(0, len(cells), BLOCK):
        block = [int(cell) for cell in cells[begin : begin + BLOCK]]
        middle = sorted(block)[(len(block) - 1) // 2]
        away = [(cell - middle + 2**63) % 2**64 - 2**63 for cell in block]
        distances = [2 * e if e >= 0 else -2 * e - 1 for e in away]
        typical = sorted(distances)[(len(block) - 1) // 2]
        low = max(typical, 1).bit_length() - 1
        codes = []
        for distance in distances:
            ones = distance // 2**low
            if ones >= 24:
                codes.append("1" * 24 + f"{distance:064b}")
            else:
                codes.append("1" * ones + "0" + (f"{distance % 2**low:0{low}b}" if low else ""))
        bits = "".join(codes)
        bits += "0" * (-len(bits) % 8)
        made += struct.pack("<qB", middle, low) + int(bits, 2).to_bytes(len(bits) // 8, "big")
    return made


def with_table(cells: np.ndarray[Any, Any]) -> bytes:
    data = EXACT.read_bytes()
    _, begin, end = table_of(data)
    return sealed(data[:begin] + in_blocks(cells) + data[end:-CHECKSUM])


LARGEST = 2**63 - 1
CELLS = place_of_table(EXACT.read_bytes())[1]
TABLES = {
    "zeros": np.zeros(CELLS, np.int64),
    "largest": np.full(CELLS, LARGEST),
    "both extremes": np.where(np.arange(CELLS) % 2 == 0, LARGEST, -LARGEST),
    "three extremes": np.array([LARGEST, 0, -LARGEST])[np.arange(CELLS) % 3],
    "small and extreme": np.where(np.arange(CELLS) % 97 == 0, -LARGEST, np.arange(CELLS) % 7),
    "noise": np.random.default_rng(1).normal(0, 40, CELLS).astype(np.int64),
    "all bits": np.random.default_rng(2).integers(-LARGEST, LARGEST, CELLS, endpoint=True),
    "negative": -np.random.default_rng(3).integers(0, 2**40, CELLS),
    "around the escape": np.where(np.arange(CELLS) % 2, 0, np.arange(CELLS) // 2 % 64 - 32),
}


@pytest.mark.parametrize("name", TABLES)
def test_two_coders_agree_on_every_table(name: str) -> None:
    data = with_table(TABLES[name])
    release = ls.Release.from_bytes(data)
    assert release.table.ravel().tolist() == TABLES[name].tolist()
    assert release.to_bytes() == data
    assert table_of(data)[0] == TABLES[name].tolist()


def test_the_example_of_the_page() -> None:
    data = in_blocks(np.array([7, 7, 6, 9, 40]))
    bits = "00" + "10" + "11110" + "1" * 24 + f"{66:064b}"
    assert data[:9] == struct.pack("<qB", 7, 0)
    assert f"{int.from_bytes(data[9:], 'big'):0{8 * len(data[9:])}b}" == bits + "0" * 7


def refused(data: bytes) -> str:
    with pytest.raises(ReleaseFormatError, match="^release: ") as raised:
        ls.Release.from_bytes(data)
    return str(raised.value)


def test_the_least_integer_is_refused() -> None:
    cells = TABLES["zeros"].copy()
    cells[77] = -(2**63)
    assert "-2^63" in refused(with_table(cells))


def test_files_of_earlier_versions_are_read_and_written_in_blocks() -> None:
    data = EXACT.read_bytes()
    cells, begin, end = table_of(data)
    names, part = data[end:-CHECKSUM], data[32:begin]
    # A part of version 1 has no end, begin or promise; the exact one no noise either.
    old = data[:8] + b"\1\0" + data[10:32] + part[:25] + b"\0"
    assert (len(part), names) == (25 + 17 + 8 + 2, bytes(4))
    plain = sealed(old + struct.pack(f"<{len(cells)}q", *cells))
    assert ls.Release.from_bytes(plain).to_bytes() == data


def test_damage_with_a_valid_checksum_is_refused_or_read_as_itself() -> None:
    body = NAMED.read_bytes()[:-CHECKSUM]
    _, begin, end = table_of(body + blake3(body))
    chance = np.random.default_rng(5)
    first = [*range(begin, begin + 12), *range(end - 4, len(body))]
    outcomes = set()
    for at in [*first, *chance.integers(begin, end, 60).tolist()]:
        changed = bytearray(body)
        changed[at] ^= 1 << int(chance.integers(8))
        data = sealed(bytes(changed))
        try:
            release = ls.Release.from_bytes(data)
        except ReleaseFormatError:
            outcomes.add("refused")
            continue
        assert release.to_bytes() == data
        outcomes.add("read")
    assert outcomes == {"refused", "read"}
    for length in (begin, begin + 5, begin + 9, (begin + end) // 2, end - 1, end, len(body) - 1):
        refused(sealed(body[:length]))
    refused(sealed(body + b"\0"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({16: b"\xff\xff\xff\x00"}, "sizes that agree"),  # a width that the bytes cannot hold
        ({12: b"\1\0\0\0"}, "a large table in blocks"),
        ({8: b"\5\0"}, "sizes that agree"),
        ({8: b"\7\0"}, "version 1 to 6, got 7"),
    ],
)
def test_headers_that_disagree_are_refused(change: dict[int, bytes], message: str) -> None:
    body = bytearray(EXACT.read_bytes()[:-CHECKSUM])
    for at, new in change.items():
        body[at : at + len(new)] = new
    assert message in refused(sealed(bytes(body)))


def test_other_codes_of_the_same_cells_are_refused() -> None:
    cells = np.arange(CELLS) % 2  # in each block m is 0, k is 0, and the codes 0 and 110
    data = with_table(cells)
    begin = place_of_table(data)[0]
    block = in_blocks(cells[:BLOCK])
    assert data[begin : begin + len(block)] == block
    whole = "".join("110" if cell else "0" for cell in cells[:BLOCK])
    others = {
        "another k": struct.pack("<qB", 0, 1)
        + coded(whole.replace("110", "x").replace("0", "00").replace("x", "100")),
        "another m": struct.pack("<qB", 1, 0) + coded("".join(["10", "0"] * (BLOCK // 2))),
        "64 low bits": struct.pack("<qB", 0, 64) + block[9:],
        "a longer code": block[:9] + coded("1" * 24 + f"{0:064b}" + whole[1:]),
    }
    for other in others.values():
        refused(sealed(data[:begin] + other + data[begin + len(block) : -CHECKSUM]))


def coded(bits: str) -> bytes:
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def test_last_bits_of_a_block_are_zero() -> None:
    data = with_table(TABLES["noise"])
    end = table_of(data)[2]
    changed = bytearray(data[:-CHECKSUM])
    last = in_blocks(TABLES["noise"][-(CELLS % BLOCK) :])
    assert data[end - len(last) : end] == last
    changed[end - 1] ^= 1
    message = refused(sealed(bytes(changed)))
    assert "zeros after the last cell" in message or "medians" in message


@pytest.fixture
def no_switches() -> Iterator[None]:
    """Let a thread keep the lock of the interpreter until it gives it up."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100.0)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("no_switches")
def test_other_threads_run_while_a_file_is_made_and_read() -> None:
    key = seeded_key(1)
    sketch = ls.LazyCountMin(depth=4, width=1 << 18, epsilon=1.0, delta=1e-6, key=key)
    sketch.tick(1 << 18)
    release, turns, done = sketch.release(), [0], threading.Event()
    data = release.to_bytes()
    assert len(data) < 1.2 * release.table.size

    def watch() -> None:
        while not done.is_set():
            turns[0] += 1
            time.sleep(1e-4)

    def is_watched(call: Callable[[], Any]) -> bool:
        before = turns[0]
        call()
        return turns[0] > before

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert any(is_watched(release.to_bytes) for _ in range(20))
        assert any(is_watched(lambda: ls.Release.from_bytes(data)) for _ in range(20))
        assert not any(is_watched(lambda: sum(range(10_000))) for _ in range(20))
    finally:
        done.set()
        watcher.join()
