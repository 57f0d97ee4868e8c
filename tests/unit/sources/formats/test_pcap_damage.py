"""Damaged and hostile captures: readable packets count, damage is reported, nothing crashes."""

from __future__ import annotations

import gzip
import random
import struct
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.oracle import captures as made
from tests.oracle.captures import ETHERNET, framed, ip

from lazysketch import CountMin
from lazysketch._native import CaptureReader
from lazysketch.errors import SourceError
from lazysketch.sources import Tally, feed, open_source

PACKET = framed(ip("10.0.0.1", "10.0.0.2", ports=(1, 2)), ETHERNET)
RECORD = 16 + len(PACKET.frame)
SOUND = made.pcap([PACKET] * 10)
SOUND_NG = made.section() + made.interface() + made.enhanced(PACKET) * 10
SECONDS = 2.0  # of each random search


def read(path: Path, **settings: object) -> tuple[Tally, str]:
    """Return the tally, and the message of the error that ended reading."""
    source = open_source(path, **({"format": "pcap"} | settings))
    sketch = CountMin(depth=2, width=64)
    try:
        feed(sketch, source)
        message = ""
    except SourceError as error:
        message = str(error)
    assert int(sketch.table[0].sum()) == source.tally.total_weight
    return source.tally, message


def test_a_pcap_truncated_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    for kept in range(24, len(SOUND) + 1):
        path.write_bytes(SOUND[:kept])
        tally, message = read(path)
        whole, rest = divmod(kept - 24, RECORD)
        assert (tally.rows, tally.total_weight) == (whole, whole)
        expected = ""
        if rest:
            expected = (
                f"{path}: expected a whole capture, got one that is cut short, "
                f"after packet {whole:,} and byte {kept - rest:,}; {rest:,} bytes were not read"
            )
        elif not whole:
            expected = f"{path}: expected at least one row, got an empty stream"
        assert message == expected


def test_a_truncated_file_header(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    for kept in range(1, 24):
        path.write_bytes(SOUND[:kept])
        tally, message = read(path)
        assert tally.rows == 0
        assert message == f"{path}: expected a whole capture, got one that is cut short"


def test_a_pcapng_truncated_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "x"
    size = len(made.enhanced(PACKET))
    begin = len(SOUND_NG) - 10 * size
    for kept in range(begin, len(SOUND_NG)):
        path.write_bytes(SOUND_NG[:kept])
        tally, message = read(path)
        whole, rest = divmod(kept - begin, size)
        assert tally.rows == whole
        assert ("cut short" in message) == bool(rest)


def test_the_error_for_a_truncated_compressed_capture_names_the_compression(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.gz"
    noise = random.Random(1)
    packets = [replace(PACKET, cut=noise.randrange(1 << 30)) for _ in range(999)]
    path.write_bytes(gzip.compress(made.pcap(packets))[:-40])
    tally, message = read(path)
    assert 0 < tally.rows < 999
    assert message == f"{path}: expected a whole gzip file, got one that is cut short"
    path.write_bytes(gzip.compress(SOUND[:-1]))
    tally, message = read(path)
    assert tally.rows == 9
    assert message.endswith(f"cut short, after packet 9 and byte {len(SOUND) - RECORD:,}")


def damaged(data: bytes, at: int, word: int) -> bytes:
    return data[:at] + struct.pack("<I", word) + data[at + 4 :]


BLOCK = len(made.enhanced(PACKET))
FIFTH = len(SOUND_NG) - 6 * BLOCK
BROKEN = {
    "a record of 4 GB": damaged(SOUND, 24 + 4 * RECORD + 8, 0xFFFFFFFF),
    "a record of more than 1 MiB": damaged(SOUND, 24 + 4 * RECORD + 8, (1 << 20) + 1),
    "a block of 4 GB": damaged(SOUND_NG, FIFTH + 4, 0xFFFFFFFC),
    "a block of more than 16 MiB": damaged(SOUND_NG, FIFTH + 4, (1 << 24) + 4),
    "a block that is shorter than its frame": damaged(SOUND_NG, FIFTH + 4, 8),
    "a block whose lengths differ": damaged(SOUND_NG, FIFTH + BLOCK - 4, BLOCK + 4),
    "a section in no byte order": SOUND_NG[:FIFTH] + damaged(made.section(), 8, 0x01020304),
    "a section of version 2": SOUND_NG[:FIFTH] + damaged(made.section(), 12, 2),
    "an interface without a link type": SOUND_NG[:FIFTH] + made.block(1, b"\1\0\0\0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_packets_before_the_damage_are_counted(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(BROKEN[name])
    tally, message = read(path)
    assert (tally.rows, tally.malformed) == (4, 0)
    byte = 24 + 4 * RECORD if "record" in name else FIFTH
    assert message == (
        f"{path}: expected sound records, got a damaged one, after packet 4 and byte {byte:,}; "
        f"{len(BROKEN[name]) - byte:,} bytes were not read"
    )


LONG = made.enhanced(PACKET)


def with_options(options: bytes) -> bytes:
    """Return a packet block with options."""
    return made.block(6, LONG[8:-4] + options)


BROKEN_PACKETS = {
    "more captured than there is": damaged(LONG, 20, 1000),
    "nearly 4 GB captured": damaged(LONG, 20, 0xFFFFFFFF),
    "an undescribed interface": damaged(LONG, 8, 1),
    "no place for its head": made.block(6, bytes(16)),
    "an obsolete one without a head": made.block(2, bytes(16)),
    "a simple one without a head": made.block(3, b""),
    "a simple one that is too long": damaged(made.simple(PACKET), 8, 1000),
    "what is captured does not fit": damaged(LONG, 20, len(PACKET.frame) + 40),
    "a block of more than 2 MiB": with_options(bytes((2 << 20) + 4 - BLOCK)),
    "an obsolete one of more than 2 MiB": made.block(2, bytes(2 << 20)),
}


@pytest.mark.parametrize("name", BROKEN_PACKETS)
@pytest.mark.parametrize("field", ["src", "size"])
def test_a_damaged_packet_in_a_valid_block_is_a_malformed_row(
    tmp_path: Path, name: str, field: str
) -> None:
    path = tmp_path / "x"
    path.write_bytes(
        made.section() + made.interface() + LONG + BROKEN_PACKETS[name] + LONG + made.simple(PACKET)
    )
    tally, message = read(path, field=field)
    assert (tally.rows, tally.malformed, message) == (4, 1, "")
    assert tally.first_malformed == [(str(path), 2)]
    with pytest.raises(SourceError, match="expected no malformed row"):
        list(open_source(path, field=field, strict=True))


BROKEN_OPTIONS = {
    "longer than the block": b"\1\0\xff\xff",
    "without a length": b"\1\0\4",
    "after the end": b"\0\0\0\0\2\0\1\0",
    "as many as there may be": bytes((2 << 20) - BLOCK),
}


@pytest.mark.parametrize("name", BROKEN_OPTIONS)
def test_damaged_options_do_not_make_a_packet_malformed(tmp_path: Path, name: str) -> None:
    packet = with_options(BROKEN_OPTIONS[name])
    path = tmp_path / "x"
    path.write_bytes(made.section() + made.interface() + packet + LONG)
    tally, message = read(path)
    assert (tally.total_weight, tally.malformed, message) == (2, 0, "")


@pytest.mark.parametrize("order", "<>")
def test_bytes_after_the_end_of_options_are_ignored(order: str) -> None:
    offset = struct.pack(order + "HHq", 14, 8, 77)
    described = made.interface(order=order, resolution=9, offset=-5)
    described = made.block(1, described[8:-4] + offset, order=order)
    reader = CaptureReader(field="src")
    times = reader.feed(
        made.section(order=order) + described + made.enhanced(PACKET, order=order, ticks=7)
    )[3]
    assert times.tolist() == [7 - 5 * 10**9]


def test_a_simple_packet_is_truncated_by_its_interface(tmp_path: Path) -> None:
    cut = replace(PACKET, frame=PACKET.frame[:36], cut=len(PACKET.frame) - 36)
    path = tmp_path / "x"
    path.write_bytes(made.section() + made.interface(snaplen=36) + made.simple(cut))
    assert read(path)[0].total_weight == 1
    assert read(path, field="sport")[0].malformed == 1  # not the padding of the block


def test_inputs_that_are_not_captures(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"a,b,c\n", SOUND[4:], b"\xd4\xc3\xb2\xa2" + SOUND[4:], SOUND[:4] + b"\1" * 99):
        path.write_bytes(data)
        tally, message = read(path)
        assert tally.rows == 0
        assert message == f"{path}: expected a pcap or pcapng capture, got something else"


def test_an_unsupported_link_type(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(made.pcap([PACKET], link=made.WIFI))
    assert read(path)[1] == (
        f"{path}: expected packets of Ethernet, Linux cooked mode, loopback or raw IP, "
        "got link type 105"
    )
    assert read(path, field="size")[0].total_weight == 1
    path.write_bytes(
        made.section()
        + made.interface(made.WIFI)
        + made.interface()
        + LONG
        + made.enhanced(PACKET, number=1)
    )
    tally, message = read(path)
    assert (tally.rows, tally.malformed, message) == (2, 1, "")


def test_memory_is_bounded_for_any_claimed_length() -> None:
    """One byte less than the largest block, in small chunks, repeatedly."""
    record = struct.pack("<IIII", 0, 0, 1 << 20, 1 << 20) + bytes(1 << 20)
    reader = CaptureReader(field="src")
    reader.feed(SOUND[:24])
    before = resident()
    for _ in range(100):
        for begin in range(0, len(record), 1 << 17):
            reader.feed(record[begin : begin + (1 << 17)])
    assert reader.packets == 100
    assert resident() - before < 16 << 20
    reader = CaptureReader(field="src")
    many = made.section() + made.interface() * (1 << 16)
    reader.feed(many)
    assert reader.damage is None
    reader.feed(made.interface())
    assert reader.damage == "expected sound records, got a damaged one"
    assert reader.position == len(many)


def test_memory_does_not_grow_with_the_number_of_options() -> None:
    """Blocks that contain only options of 4 bytes, each of which would take 32 in a list."""
    reader = CaptureReader(field="src")
    reader.feed(made.section() + made.interface())
    allowed = with_options(BROKEN_OPTIONS["as many as there may be"])
    too_long = with_options(bytes((16 << 20) - BLOCK))
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    for data in (allowed, too_long):
        for begin in range(0, len(data), 1 << 17):
            reader.feed(data[begin : begin + (1 << 17)])
    assert (reader.packets, reader.damage) == (2, None)
    assert resident("VmHWM:") - before < 48 << 20


def resident(line: str = "VmRSS:") -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("no /proc to tell the resident memory")
    return 1024 * int(status.read_text().split(line)[1].split()[0])


def mutated(data: bytes, noise: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(noise.choice([1, 1, 2, 5, 20])):
        place = noise.randrange(len(found))
        match noise.randrange(4):
            case 0:
                found[place] = noise.randrange(256)
            case 1:
                found[place : place + 4] = noise.choice(
                    [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0", b"\0\0\0\x80"]
                )
            case 2:
                del found[place : place + noise.randrange(1, 40)]
            case _:
                found[place:place] = found[: noise.randrange(60)]
        if not found:
            break
    return bytes(found)


@pytest.mark.parametrize("field", ["src", "dport", "proto", "flow", "size"])
def test_mutations_yield_rows_or_an_error_in_any_chunks(field: str) -> None:
    """Time-boxed: for any bytes, reading whole and in chunks agree, and rows add up."""
    noise = random.Random(f"lazysketch {field}")
    v6 = framed(ip("2001:db8::1", "::", ports=(1, 2), extensions=(0, 44, 60)), ETHERNET)
    tagged = framed(ip("10.0.0.1", "10.0.0.2"), ETHERNET, tags=(0x88A8, 0x8100))
    seeds = [made.pcap([PACKET, v6, tagged, made.arp()], order=order) for order in "<>"] + [
        made.section(order=order)
        + made.interface(order=order, resolution=9, offset=1)
        + made.enhanced(v6, order=order)
        + made.simple(tagged, order=order)
        + made.obsolete(PACKET, order=order)
        for order in "<>"
    ]
    end = time.monotonic() + SECONDS / 5
    outcomes: Counter[str | None] = Counter()
    while time.monotonic() < end:
        data = mutated(noise.choice(seeds), noise)
        whole, pieces = CaptureReader(field=field), CaptureReader(field=field)
        items, _, sizes, times, absent, malformed = whole.feed(data)
        assert len(items) == len(sizes)
        assert len(items) + len(absent) + len(malformed) == len(times) == whole.packets
        assert all(item != "" for item in items.tolist())
        cut = noise.randrange(len(data) + 1)
        found: list[object] = []
        for piece in (data[:cut], data[cut:]):
            found.extend(pieces.feed(piece)[0].tolist())
        whole.finish()
        pieces.finish()
        assert (whole.damage, whole.position) == (pieces.damage, pieces.position)
        assert found == items.tolist()
        outcomes[whole.damage] += 1
    assert outcomes.total() > 100
    assert {None, "expected sound records, got a damaged one"} <= outcomes.keys()
