"""Real captures, against the counts in their README and against plain counting.

The data are not part of the repository; without them the tests are skipped.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path

import pytest
from tests.locations import DATA

from lazysketch.sources import Tally, open_source
from lazysketch.sources.formats.registry import CAPTURE_FIELDS

FOLDER = DATA / "pcaps"
STATED = re.compile(
    r"^- (?P<name>\S+): (?P<packets>\d+) packets, linktype \[\d+\], IPv4 (?P<v4>\d+), "
    r"IPv6 (?P<v6>\d+), other (?P<other>\d+), distinct sources (?P<sources>\d+), "
    r"busiest source (?P<busiest>\d+) packets$",
    re.MULTILINE,
)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no real captures: ../shared/data/pcaps does not exist"
)


def stated() -> dict[str, dict[str, int]]:
    if not FOLDER.is_dir():
        return {}
    found = {}
    for row in STATED.finditer((FOLDER / "README.md").read_text(encoding="utf-8")):
        values = row.groupdict()
        name = values.pop("name")
        found[name] = {key: int(value) for key, value in values.items()}
    return found


def counted(path: Path, field: str, **settings: object) -> tuple[Counter[object], Tally]:
    source = open_source(path, format="pcap", field=field, **settings)
    counts: Counter[object] = Counter()
    for batch in source:
        items = batch.item_list
        weights = [1] * len(items) if batch.weights is None else map(int, batch.weights)
        for item, weight in zip(items, weights, strict=True):
            counts[item] += weight
    return counts, source.tally


def test_the_readme_states_every_capture() -> None:
    captures = {path.name for path in FOLDER.iterdir() if ".pcap" in path.name}
    assert set(stated()) == captures
    assert len(captures) >= 10


@pytest.mark.parametrize("name", stated() or [""])
def test_counts_equal_those_of_the_readme(name: str) -> None:
    expected = stated()[name]
    counts, tally = counted(FOLDER / name, "src")
    v6 = sum(count for item, count in counts.items() if ":" in str(item))
    assert {
        "packets": tally.rows,
        "v4": counts.total() - v6,
        "v6": v6,
        "other": tally.absent + tally.malformed,
        "sources": len(counts),
        "busiest": max(counts.values(), default=0),
    } == expected
    # A frame of four bytes, the only one that cannot be read.
    assert tally.malformed == (name == "ndpi_gnutella_snap96.pcap")


def plain(data: bytes) -> tuple[dict[str, Counter[object]], int]:
    """Count a little-endian pcap of Ethernet, for packets of IPv4 without tags only."""
    counts: dict[str, Counter[object]] = {field: Counter() for field in CAPTURE_FIELDS}
    begin, size = 24, 0
    while begin < len(data):
        kept, wire = struct.unpack_from("<II", data, begin + 8)
        frame = data[begin + 16 : begin + 16 + kept]
        begin += 16 + kept
        counts["size"][wire] += 1
        assert frame[12:14] == b"\x08\0"
        header = frame[14 : 14 + 4 * (frame[14] & 15)]
        src, dst = (".".join(map(str, header[at : at + 4])) for at in (12, 16))
        counts["src"][src] += 1
        counts["dst"][dst] += 1
        size += wire
        names = {1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 50: "esp"}
        name = names.get(header[9], f"unnamed {header[9]}")
        counts["proto"][name] += 1
        later = struct.unpack_from(">H", header, 6)[0] & 0x1FFF
        ends = [src, dst]
        if name in ("tcp", "udp") and not later:
            ports = struct.unpack_from(">HH", frame, 14 + len(header))
            counts["sport"][ports[0]] += 1
            counts["dport"][ports[1]] += 1
            ends = [f"{host}:{port}" for host, port in zip(ends, ports, strict=True)]
        counts["flow"][f"{name} {ends[0]} > {ends[1]}"] += 1
    return counts, size


@pytest.mark.parametrize("name", ["ppp_example_snap96.pcap", "lt_100.pcap"])
def test_every_field_is_that_of_plain_counting(name: str) -> None:
    expected, size = plain((FOLDER / name).read_bytes())
    for field in CAPTURE_FIELDS:
        counts, tally = counted(FOLDER / name, field)
        assert counts == expected[field], field
        assert tally.malformed == 0
        assert tally.absent == tally.rows - expected[field].total()
    weighed, tally = counted(FOLDER / name, "src", weight="size", max_weight=1 << 32)
    assert (weighed.total(), tally.clipped) == (size, 0)
    assert weighed.keys() == expected["src"].keys()


def test_the_same_packets_in_three_framings_have_the_same_times() -> None:
    times = {}
    for name in ("lt_100.pcap", "lt_100.pcapng", "lt_100_nanosec.pcap"):
        batches = list(open_source(FOLDER / name))
        times[name] = [time for batch in batches for time in batch.times.tolist()]  # type: ignore[union-attr]
    micro, new, nano = times.values()
    assert len(micro) == 100
    assert micro == new
    assert [time // 1000 for time in micro] == [time // 1000 for time in nano]
    assert 0 < micro[0] < 2**62
