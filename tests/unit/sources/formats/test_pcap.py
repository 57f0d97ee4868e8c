"""Captures: every framing, link type and kind of packet, against constructed packets."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import captures as made
from tests.oracle.captures import ETHERNET, MALFORMED, Packet, framed, ip

from lazysketch import _native
from lazysketch.errors import ArgumentValueError
from lazysketch.sources import open_source
from lazysketch.sources.formats import registry
from lazysketch.sources.formats.pcap import read_capture
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream

FIELDS = registry.CAPTURE_FIELDS
NO_TIME = np.iinfo(np.int64).min
HOSTS = ("203.0.113.9", "10.0.0.1")
HOSTS_6 = ("2001:db8::1", "fe80::ff:fe00:1")
LATER = 1_700_000_000 * 10**9 + 123_456_789


def rows_of(
    data: bytes, field: str, *, cuts: tuple[int, ...] = (), weight: bool = False
) -> tuple[list[object], list[int]]:
    """Return the field of each packet, in order, and the times; the data come in chunks."""
    edges = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    stream = ByteStream("x", path=None, blocks=[data[a:b] for a, b in pairwise(edges)])
    selection = Selection(
        field=field, encoding="utf-8", weight="size" if weight else None, max_weight=1000
    )
    rows: list[object] = []
    times: list[int] = []
    for batch in read_capture(stream, selection):
        items = iter(batch.item_list)
        weights = iter([] if batch.weights is None else list(batch.weights))
        empty = dict.fromkeys(batch.malformed, MALFORMED) | dict.fromkeys(batch.absent)
        for place in range(batch.rows):
            row = empty[place] if place in empty else next(items)
            rows.append((row, int(next(weights))) if weight and place not in empty else row)
        assert batch.times is not None
        times += batch.times.tolist()
        assert len(times) == len(rows)
    return rows, times


def truth(packets: list[Packet], field: str) -> list[object]:
    return [getattr(packet, field) for packet in packets]


def check(packets: list[Packet], data: bytes) -> None:
    for field in FIELDS:
        assert rows_of(data, field)[0] == truth(packets, field), field


KINDS = {
    "tcp": ip(*HOSTS, ports=(40_000, 443)),
    "udp": ip(*HOSTS, protocol=made.UDP, ports=(53, 65_535)),
    "sctp": ip(*HOSTS, protocol=made.SCTP, ports=(0, 9)),
    "icmp": ip(*HOSTS, protocol=made.ICMP),
    "a protocol without a name": ip(*HOSTS, protocol=made.RESERVED),
    "options of IPv4": ip(*HOSTS, ports=(1, 2), options=10),
    "a first fragment": ip(*HOSTS, ports=(1, 2), more=True),
    "a later fragment": ip(*HOSTS, protocol=made.UDP, ports=(1, 2), fragment=100),
    "IPv6": ip(*HOSTS_6, ports=(40_000, 22)),
    "ICMPv6": ip(*HOSTS_6, protocol=made.ICMP6),
    "extension headers": ip(*HOSTS_6, ports=(3, 4), extensions=(0, 43, 60)),
    "a first fragment of IPv6": ip(*HOSTS_6, ports=(3, 4), extensions=(44,), more=True),
    "a later fragment of IPv6": ip(*HOSTS_6, ports=(3, 4), extensions=(0, 44), fragment=9),
    "a later fragment of a header": ip(*HOSTS_6, protocol=60, extensions=(44,), fragment=9),
    "IPv4 inside of IPv6": ip("::ffff:192.0.2.1", "::", ports=(5, 6)),
}
# IANA's keyword of the protocol of the fragments.
KINDS["a later fragment of a header"] = replace(
    KINDS["a later fragment of a header"], proto="ipv6-opts"
)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("link", [ETHERNET, made.SLL, made.SLL2, made.RAW, made.NULL, made.LOOP])
def test_every_kind_of_packet_in_every_frame(name: str, link: int) -> None:
    packets = [framed(KINDS[name], link, order=">" if link == made.LOOP else "<")] * 2
    check(packets, made.pcap(packets, link=link))


@pytest.mark.parametrize("link", [12, 14, 228, 229])
def test_other_numbers_of_raw_ip(link: int) -> None:
    packets = [KINDS["tcp" if link != 229 else "IPv6"]]
    check(packets, made.pcap(packets, link=link))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("unit", [1000, 1])
def test_pcap_in_both_byte_orders_and_units(order: str, unit: int) -> None:
    packets = [framed(replace(KINDS["tcp"], time=LATER + n), ETHERNET) for n in range(3)]
    data = made.pcap(packets, order=order, unit=unit)
    check(packets, data)
    assert rows_of(data, "src")[1] == [packet.time // unit * unit for packet in packets]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_with_sections_interfaces_and_every_block_of_a_packet(order: str) -> None:
    other = "<" if order == ">" else ">"
    tcp, v6 = framed(KINDS["tcp"], ETHERNET), framed(KINDS["IPv6"], made.SLL)
    packets = [tcp, v6, tcp, tcp, framed(KINDS["udp"], made.RAW)]
    data = b"".join(
        [
            made.section(order=order),
            made.interface(order=order),
            made.interface(made.SLL, order=order, resolution=9, offset=-5),
            made.block(0x0BAD, b"unknown", order=order),
            made.enhanced(tcp, ticks=7 << 32, order=order),
            made.enhanced(v6, number=1, ticks=LATER, order=order),
            made.simple(tcp, order=order),
            made.obsolete(tcp, ticks=3, order=order),
            # A new section resets the interfaces and has another byte order.
            made.section(order=other),
            made.interface(made.RAW, order=other, resolution=0x80 | 10),
            made.enhanced(packets[-1], ticks=1024 + 512, order=other),
        ]
    )
    check(packets, data)
    times = [(7 << 32) * 1000, LATER - 5 * 10**9, NO_TIME, 3000, 1_500_000_000]
    assert rows_of(data, "size")[1] == times


@pytest.mark.parametrize(
    ("resolution", "ticks", "time"),
    [
        (None, 5, 5_000),
        (0, 5, 5 * 10**9),
        (9, 2**63 - 1, 2**63 - 1),
        (9, 2**64 - 1, 2**63 - 1),  # saturated
        (12, 5_999, 5),
        (127, 2**64 - 1, 0),
        (0x80, 3, 3 * 10**9),
        (0x80 | 127, 2**64 - 1, 0),
    ],
)
def test_units_of_time(resolution: int | None, ticks: int, time: int) -> None:
    packet = framed(KINDS["tcp"], ETHERNET)
    data = made.section() + made.interface(resolution=resolution)
    assert rows_of(data + made.enhanced(packet, ticks=ticks), "src")[1] == [time]


def test_the_least_offset_is_a_time() -> None:
    data = made.section() + made.interface(offset=-(2**63)) + made.enhanced(made.arp())
    assert rows_of(data, "src")[1] == [NO_TIME + 1]


@pytest.mark.parametrize("tags", [(0x8100,), (0x88A8, 0x8100), (0x9100, 0x8100), (0x8100,) * 9])
@pytest.mark.parametrize("link", [ETHERNET, made.SLL, made.SLL2])
@pytest.mark.parametrize("name", ["tcp", "IPv6"])
def test_vlan_tags_are_skipped(tags: tuple[int, ...], link: int, name: str) -> None:
    packets = [framed(KINDS[name], link, tags=tags)]
    check(packets, made.pcap(packets, link=link))


ABSENT = {
    "ARP": (ETHERNET, made.arp().frame),
    "802.3": (ETHERNET, bytes(12) + b"\0\x26" + bytes(38)),
    "MPLS": (ETHERNET, bytes(12) + b"\x88\x47" + bytes(40)),
    "netlink": (made.SLL, b"\0\0\x03\x38" + bytes(10) + b"\x08\0" + bytes(20)),
    "another family": (made.NULL, b"\x07\0\0\0" + bytes(20)),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_packet_of_another_protocol_has_a_size_only(name: str) -> None:
    link, frame = ABSENT[name]
    packets = [Packet(frame)]
    check(packets, made.pcap(packets, link=link))


def test_a_truncated_packet_has_its_captured_fields() -> None:
    """Every complete header is read, no matter what is missing after it."""
    whole = framed(ip(*HOSTS, ports=(7, 8)), ETHERNET)
    for kept in range(len(whole.frame)):
        lost = {"sport": MALFORMED, "dport": MALFORMED} if kept < 38 else {}
        if kept < 34:  # Ethernet and IP
            lost |= dict.fromkeys(("src", "dst", "proto"), MALFORMED)
        cut = len(whole.frame) - kept
        check(
            [replace(whole, frame=whole.frame[:kept], cut=cut, **lost)] * 2,
            made.pcap([replace(whole, frame=whole.frame[:kept], cut=cut)] * 2),
        )


def test_a_truncated_chain_of_extension_headers_keeps_the_addresses() -> None:
    whole = framed(ip(*HOSTS_6, ports=(7, 8), extensions=(0, 60)), ETHERNET)
    for kept in range(54, 54 + 32):
        sent = replace(whole, frame=whole.frame[:kept], cut=len(whole.frame) - kept)
        lost = dict.fromkeys(("sport", "dport", "proto"), MALFORMED)
        check([replace(sent, **lost)], made.pcap([sent]))


def test_padding_of_a_frame_is_not_taken_for_ports() -> None:
    short = ip(*HOSTS, protocol=made.UDP, payload=b"")
    frame = framed(short, ETHERNET).frame + b"\x12\x34\x56\x78" * 5
    packet = Packet(
        frame, src=HOSTS[0], dst=HOSTS[1], sport=MALFORMED, dport=MALFORMED, proto="udp"
    )
    assert rows_of(made.pcap([packet]), "sport")[0] == [MALFORMED]
    assert rows_of(made.pcap([packet]), "src")[0] == [HOSTS[0]]


@pytest.mark.parametrize("broken", [b"\x44", b"\x55", b"\x65"])
def test_a_header_that_contradicts_the_frame_is_malformed(broken: bytes) -> None:
    whole = framed(KINDS["tcp"], ETHERNET)
    frame = whole.frame[:14] + broken + whole.frame[15:]
    assert rows_of(made.pcap([Packet(frame)]), "src")[0] == [MALFORMED]


def test_the_weight_is_the_length_on_the_wire() -> None:
    packets = [replace(framed(KINDS["tcp"], ETHERNET), cut=n) for n in (0, 900, 5000)]
    packets.insert(1, made.arp())
    found, _ = rows_of(made.pcap(packets), "src", weight=True)
    sizes = [min(packet.size, 1000) for packet in packets]
    assert found == [(HOSTS[0], sizes[0]), None, (HOSTS[0], sizes[2]), (HOSTS[0], 1000)]


ADDRESSES = st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str)
PORTS = st.tuples(st.integers(0, 65_535), st.integers(0, 65_535))


@st.composite
def some_packet(draw: st.DrawFn, link: int) -> Packet:
    if draw(st.integers(0, 9)) == 0 and link == ETHERNET:
        return made.arp()
    address = draw(st.sampled_from(ADDRESSES))
    protocol = draw(st.sampled_from([made.TCP, made.UDP, made.SCTP, made.ICMP, made.RESERVED]))
    has_ports = protocol not in (made.ICMP, made.RESERVED)
    packet = ip(
        draw(address),
        draw(address),
        protocol=protocol,
        ports=draw(PORTS) if has_ports else None,
        options=draw(st.integers(0, 10)),
        extensions=draw(st.sampled_from([(), (0,), (60, 43), (0, 44)])),
        payload=draw(st.binary(max_size=40)),
    )
    tags = draw(st.sampled_from([(), (0x8100,), (0x88A8, 0x8100)]))
    time = draw(st.integers(0, 2**32 - 1)) * 10**9
    return replace(framed(packet, link, tags=tags), time=time, cut=draw(st.integers(0, 99)))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_packets_in_any_file_in_any_chunks(data: st.DataObject) -> None:
    link = data.draw(st.sampled_from([ETHERNET, made.SLL, made.SLL2, made.RAW]))
    packets = data.draw(st.lists(some_packet(link), min_size=1, max_size=12))
    order = data.draw(st.sampled_from("<>"))
    if data.draw(st.booleans()):
        file = made.pcap(packets, link=link, order=order)
    else:
        file = made.section(order=order) + made.interface(link, order=order)
        for packet in packets:
            file += made.enhanced(packet, ticks=packet.time // 1000, order=order)
    cuts = tuple(data.draw(st.lists(st.integers(0, len(file)), max_size=20)))
    field = data.draw(st.sampled_from(FIELDS))
    rows, times = rows_of(file, field, cuts=cuts)
    assert rows == truth(packets, field)
    assert times == [packet.time for packet in packets]


def test_byte_by_byte() -> None:
    packets = [framed(packet, ETHERNET) for packet in KINDS.values()]
    data = made.pcap(packets)
    assert rows_of(data, "flow", cuts=tuple(range(len(data))))[0] == truth(packets, "flow")


@given(st.ip_addresses(v=6))
@settings(max_examples=300)
def test_addresses_are_written_canonically(address: ipaddress.IPv6Address) -> None:
    packets = [ip(str(address), str(address))]
    assert rows_of(made.pcap(packets, link=made.RAW), "src")[0] == [made.canonical(str(address))]


def test_the_fields_equal_those_of_the_native_reader() -> None:
    for field in FIELDS:
        _native.CaptureReader(field=field)
    with pytest.raises(ArgumentValueError, match="expected one of " + ", ".join(FIELDS)):
        _native.CaptureReader(field="host")


def test_selections_that_captures_lack_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(made.pcap([made.arp()]))
    for settings_, message in (
        ({"field": "host"}, "field: expected one of src, dst, .*, got 'host'"),
        ({"weight": "bytes", "max_weight": 9}, "weight: expected size for format 'pcap'"),
        ({"field": "dport", "item_type": "str"}, "expected int for field 'dport' of format 'pcap'"),
        ({"item_type": "int"}, "expected str for format 'pcap'"),
        ({"delimiter": ";"}, "delimiter: expected none"),
    ):
        with pytest.raises(ArgumentValueError, match=message):
            open_source(path, format="pcap", **settings_)


@pytest.mark.parametrize("order", ["<", ">"])
def test_captures_are_detected_by_their_first_bytes(tmp_path: Path, order: str) -> None:
    packets = [framed(KINDS["tcp"], ETHERNET), made.arp()]
    block = made.section(order=order) + made.interface(order=order)
    for data in (
        made.pcap(packets, order=order),
        made.pcap(packets, order=order, unit=1),
        block + b"".join(made.enhanced(packet, order=order) for packet in packets),
    ):
        path = tmp_path / "capture.txt"
        path.write_bytes(data)
        source = open_source(path)
        assert [list(map(str, batch.items)) for batch in source] == [[HOSTS[0]]]
        assert source.tally.formats == ["pcap, field src"]
        assert (source.tally.rows, source.tally.absent, source.tally.malformed) == (2, 1, 0)


class Trickle:
    """A live pipe that yields one chunk at a time and fails where a reader would wait for more."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def read1(self, size: int) -> bytes:
        assert self.pieces, "the reader waits although a packet is there"
        return self.pieces.pop(0)


@pytest.mark.parametrize("form", ["pcap", "auto"])
def test_a_live_capture_is_counted_packet_by_packet(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Binary data have no line end to wait for."""
    quiet = framed(ip("192.0.2.1", "192.0.2.2", ports=(1, 2)), ETHERNET)
    head, record = made.pcap([]), made.pcap([quiet])[24:]
    assert b"\n" not in head + record
    trickle = Trickle(head[:3], head[3:], record, record[:20], record[20:])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=trickle))
    batches = iter(open_source("-", format=form))
    for left in (2, 0):
        assert next(batches).rows == 1
        assert len(trickle.pieces) == left
