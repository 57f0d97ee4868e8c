"""Constructed captures whose fields are known for each packet.

Nothing here parses, and no code is shared with the parser. Source: RFC 791, RFC 8200,
IEEE 802.1Q, draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, the link types at tcpdump.org.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, replace

TCP, UDP, ICMP, ICMP6, FRAGMENT, SCTP, PIM, RESERVED = 6, 17, 1, 58, 44, 132, 103, 253
NAMES = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMP6: "ipv6-icmp", SCTP: "sctp", PIM: "pim"}
ETHERNET, NULL, LOOP, RAW, SLL, SLL2, WIFI = 1, 0, 108, 101, 113, 276, 105
MALFORMED = "malformed"


@dataclass(frozen=True)
class Packet:
    """A packet and its expected fields; None if it does not have the field."""

    frame: bytes
    src: str | None = None
    dst: str | None = None
    sport: int | str | None = None
    dport: int | str | None = None
    proto: str | None = None
    time: int = 0  # nanoseconds
    cut: int = 0  # bytes not captured

    @property
    def size(self) -> int:
        return len(self.frame) + self.cut

    @property
    def flow(self) -> str | None:
        if self.src is None or MALFORMED in (self.src, self.sport, self.proto):
            return self.src and MALFORMED
        if self.sport is None:
            return f"{self.proto} {self.src} > {self.dst}"
        ends = [(self.src, self.sport), (self.dst, self.dport)]
        pair = [f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}" for host, port in ends]
        return f"{self.proto} {pair[0]} > {pair[1]}"


def canonical(address: str) -> str:
    """Return the text of RFC 5952; IPv4-mapped addresses in mixed notation."""
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return f"::ffff:{mapped}" if mapped else str(parsed)


def ip(
    src: str,
    dst: str,
    *,
    protocol: int = TCP,
    ports: tuple[int, int] | None = None,
    options: int = 0,
    fragment: int = 0,
    more: bool = False,
    extensions: tuple[int, ...] = (),
    payload: bytes = b"data",
) -> Packet:
    """Return an IP packet without a frame, of the version of its addresses.

    ``ports`` precede the payload, if given; ``options`` counts words of IPv4, ``extensions``
    are the types of IPv6 headers. ``fragment`` is in units of 8 bytes; a later fragment has
    data in the place of ports.
    """
    inner = (struct.pack(">HH", *ports) if ports else b"") + payload
    source, destination = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if source.version == 4:
        offset = fragment | (0x2000 if more else 0)
        head = struct.pack(
            ">BBHHHBBH",
            0x45 + options,
            0,
            20 + 4 * options + len(inner),
            1,
            offset,
            64,
            protocol,
            0,
        )
        frame = head + source.packed + destination.packed + bytes(4 * options) + inner
    else:
        chain = b""
        following = [*extensions, protocol][1:]
        for kind, next_header in zip(extensions, following, strict=True):
            if kind == FRAGMENT:
                chain += struct.pack(">BBHI", next_header, 0, fragment << 3 | more, 7)
            else:  # of 16 bytes
                chain += struct.pack(">BB", next_header, 1) + bytes(14)
        first = extensions[0] if extensions else protocol
        head = struct.pack(">IHBB", 6 << 28, len(chain) + len(inner), first, 64)
        frame = head + source.packed + destination.packed + chain + inner
    has_ports = ports is not None and not fragment
    return Packet(
        frame,
        src=canonical(src),
        dst=canonical(dst),
        sport=ports[0] if ports and has_ports else None,
        dport=ports[1] if ports and has_ports else None,
        proto=NAMES.get(protocol, str(protocol)),
    )


def kind_of(packet: Packet) -> int:
    return 0x86DD if ":" in str(packet.src) else 0x0800


def framed(packet: Packet, link: int, *, tags: tuple[int, ...] = (), order: str = "<") -> Packet:
    """Return the packet in a frame, after VLAN tags."""
    kinds = [*tags, kind_of(packet)]
    tagged = b"".join(struct.pack(">HH", 7, kind) for kind in kinds[1:]) + packet.frame
    if link == ETHERNET:
        head = bytes.fromhex("0200000000010200000000ff") + struct.pack(">H", kinds[0])
    elif link == SLL:
        head = struct.pack(">HHH8sH", 0, 1, 6, bytes(8), kinds[0])
    elif link == SLL2:
        head = struct.pack(">HHIHBB8s", kinds[0], 0, 3, 1, 0, 6, bytes(8))
    elif link in (NULL, LOOP):
        family = 2 if kind_of(packet) == 0x0800 else 30
        head, tagged = struct.pack(order + "I", family), packet.frame
    else:
        head, tagged = b"", packet.frame
    return replace(packet, frame=head + tagged)


def arp() -> Packet:
    return Packet(bytes(12) + b"\x08\x06" + bytes(28))


def pcap(
    packets: list[Packet], *, link: int = ETHERNET, order: str = "<", unit: int = 1000
) -> bytes:
    """Return a pcap file with ticks of ``unit`` nanoseconds, 1000 or 1."""
    magic = 0xA1B2C3D4 if unit == 1000 else 0xA1B23C4D
    file = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)
    for packet in packets:
        seconds, rest = divmod(packet.time, 10**9)
        lengths = len(packet.frame), packet.size
        file += struct.pack(order + "IIII", seconds, rest // unit, *lengths) + packet.frame
    return file


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def block(kind: int, body: bytes, *, order: str = "<") -> bytes:
    length = struct.pack(order + "I", 12 + len(padded(body)))
    return struct.pack(order + "I", kind) + length + padded(body) + length


def section(*, order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order=order)


def interface(
    link: int = ETHERNET,
    *,
    order: str = "<",
    snaplen: int = 0,
    resolution: int | None = None,
    offset: int | None = None,
) -> bytes:
    options = struct.pack(order + "HH4s", 2, 3, b"lan")  # a name, to be skipped
    if resolution is not None:
        options += struct.pack(order + "HHB3x", 9, 1, resolution)
    if offset is not None:
        options += struct.pack(order + "HHq", 14, 8, offset)
    options += struct.pack(order + "HH", 0, 0)
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order=order)


def enhanced(packet: Packet, *, number: int = 0, ticks: int = 0, order: str = "<") -> bytes:
    lengths = len(packet.frame), packet.size
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, *lengths)
    comment = struct.pack(order + "HH4sHH", 1, 4, b"seen", 0, 0)
    return block(6, head + padded(packet.frame) + comment, order=order)


def obsolete(packet: Packet, *, number: int = 0, ticks: int = 0, order: str = "<") -> bytes:
    lengths = len(packet.frame), packet.size
    head = struct.pack(order + "HHIIII", number, 3, ticks >> 32, ticks & 0xFFFFFFFF, *lengths)
    return block(2, head + packet.frame, order=order)


def simple(packet: Packet, *, order: str = "<") -> bytes:
    return block(3, struct.pack(order + "I", packet.size) + packet.frame, order=order)
