//! IP headers, and the ports after them. Truncation after a parsed header does not matter.
//!
//! Only etherparse's slices of single headers are used, which are checked at construction. Its lax
//! iterators over extension headers (0.21) read out of bounds on a broken chain, and its slices of
//! entire packets reject packets that were captured in part.
//!
//! Source: RFC 791, RFC 4302, RFC 8200; IANA, "Assigned Internet Protocol Numbers".

use crate::rows::Found;
use etherparse::ip_number::{
    AUTH, DCCP, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE, SCTP, TCP, UDP, UDP_LITE,
};
use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// An IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// The payload after all IP headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Payload<'a> {
    protocol: IpNumber,
    /// True for a fragment other than the first: it has no header of the protocol.
    is_later_fragment: bool,
    bytes: &'a [u8],
}

/// The headers of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) source: Address,
    pub(crate) destination: Address,
    /// None if the extension headers are broken or truncated.
    payload: Option<Payload<'a>>,
}

/// The ports of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ports {
    Of { source: u16, destination: u16 },
    None,
    Truncated,
}

impl<'a> Packet<'a> {
    /// Parse a packet, of that version if one is given; `None` if it is broken or truncated.
    pub(crate) fn of(version: Option<u8>, bytes: &'a [u8]) -> Option<Self> {
        match version.unwrap_or(bytes.first()? >> 4) {
            4 => Self::v4(bytes),
            6 => Self::v6(bytes),
            _ => None,
        }
    }

    fn v4(bytes: &'a [u8]) -> Option<Self> {
        let header = Ipv4HeaderSlice::from_slice(bytes).ok()?;
        let length = header.slice().len();
        // Padding of the frame follows the end. The length may be 0 where the network card splits
        // packets (segmentation offload).
        let end = match usize::from(header.total_len()) {
            end if (length..bytes.len()).contains(&end) => end,
            _ => bytes.len(),
        };
        let is_later_fragment = header.fragments_offset().value() != 0;
        let inside = &bytes[length..end];
        Some(Self {
            source: Address::V4(header.source_addr()),
            destination: Address::V4(header.destination_addr()),
            payload: match header.protocol() {
                AUTH if !is_later_fragment => after_extensions(AUTH, inside),
                protocol => Some(Payload {
                    protocol,
                    is_later_fragment,
                    bytes: inside,
                }),
            },
        })
    }

    fn v6(bytes: &'a [u8]) -> Option<Self> {
        let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
        let rest = &bytes[header.slice().len()..];
        // 0 means unknown: a jumbogram, or segmentation offload.
        let inside = match usize::from(header.payload_length()) {
            0 => rest,
            length => rest.get(..length).unwrap_or(rest),
        };
        Some(Self {
            source: Address::V6(header.source_addr()),
            destination: Address::V6(header.destination_addr()),
            payload: after_extensions(header.next_header(), inside),
        })
    }

    pub(crate) fn ports(&self) -> Ports {
        self.payload
            .map_or(Ports::Truncated, |payload| payload.ports())
    }

    /// Write the name of the protocol after all IP headers.
    pub(crate) fn write_protocol(&self, text: &mut Vec<u8>) -> Found {
        let Some(payload) = self.payload else {
            return Found::Malformed;
        };
        payload.write_name(text);
        Found::Text
    }

    /// Write "protocol source:port > destination:port", without ports if the protocol has none.
    pub(crate) fn write_flow(&self, text: &mut Vec<u8>) -> Found {
        let Some(payload) = self.payload else {
            return Found::Malformed;
        };
        let (source, destination) = match payload.ports() {
            Ports::Of {
                source,
                destination,
            } => (Some(source), Some(destination)),
            Ports::None => (None, None),
            Ports::Truncated => return Found::Malformed,
        };
        payload.write_name(text);
        text.push(b' ');
        self.source.write_with_port(source, text);
        text.extend(b" > ");
        self.destination.write_with_port(destination, text);
        Found::Text
    }
}

impl Payload<'_> {
    fn ports(&self) -> Ports {
        let has_ports = matches!(self.protocol, TCP | UDP | DCCP | SCTP | UDP_LITE);
        if self.is_later_fragment || !has_ports {
            return Ports::None;
        }
        let Some(&[s0, s1, d0, d1]) = self.bytes.first_chunk() else {
            return Ports::Truncated;
        };
        Ports::Of {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
        }
    }

    fn write_name(&self, text: &mut Vec<u8>) {
        match name_of(self.protocol) {
            Some(name) => text.extend(name.as_bytes()),
            None => write_number(self.protocol.0.into(), text),
        }
    }
}

/// Follow the chain of extension headers to its end; `None` if it is broken or truncated.
fn after_extensions(mut protocol: IpNumber, mut bytes: &[u8]) -> Option<Payload<'_>> {
    let mut is_later_fragment = false;
    // The header of a later fragment is followed by data, regardless of its next-header field.
    while !is_later_fragment {
        let length;
        (protocol, length) = match protocol {
            IPV6_HOP_BY_HOP | IPV6_ROUTE | IPV6_DEST_OPTIONS => {
                let header = Ipv6RawExtHeaderSlice::from_slice(bytes).ok()?;
                (header.next_header(), header.slice().len())
            }
            AUTH => {
                let header = IpAuthHeaderSlice::from_slice(bytes).ok()?;
                (header.next_header(), header.slice().len())
            }
            IPV6_FRAG => {
                let header = Ipv6FragmentHeaderSlice::from_slice(bytes).ok()?;
                is_later_fragment = header.fragment_offset().value() != 0;
                (header.next_header(), header.slice().len())
            }
            _ => break,
        };
        bytes = &bytes[length..];
    }
    Some(Payload {
        protocol,
        is_later_fragment,
        bytes,
    })
}

/// Return IANA's name, in lower case, of a protocol in common use; others are shown as numbers.
/// The names are items of sketches and releases, so they must not depend on a library's table.
fn name_of(protocol: IpNumber) -> Option<&'static str> {
    Some(match protocol.0 {
        0 => "hopopt",
        1 => "icmp",
        2 => "igmp",
        4 => "ipv4",
        6 => "tcp",
        8 => "egp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        43 => "ipv6-route",
        44 => "ipv6-frag",
        46 => "rsvp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "ipv6-icmp",
        59 => "ipv6-nonxt",
        60 => "ipv6-opts",
        88 => "eigrp",
        89 => "ospfigp",
        97 => "etherip",
        103 => "pim",
        108 => "ipcomp",
        112 => "vrrp",
        115 => "l2tp",
        132 => "sctp",
        136 => "udplite",
        137 => "mpls-in-ip",
        139 => "hip",
        _ => return None,
    })
}

impl Address {
    /// Write the address in the form of RFC 5952; IPv4-mapped IPv6 as "::ffff:192.0.2.1".
    pub(crate) fn write(self, text: &mut Vec<u8>) {
        match self {
            Self::V4(address) => {
                for (place, octet) in address.octets().into_iter().enumerate() {
                    if place > 0 {
                        text.push(b'.');
                    }
                    write_number(octet.into(), text);
                }
            }
            Self::V6(address) => {
                use std::io::Write;
                // Writing to a Vec cannot fail.
                let _ = write!(text, "{address}");
            }
        }
    }

    fn write_with_port(self, port: Option<u16>, text: &mut Vec<u8>) {
        let bracketed = port.is_some() && matches!(self, Self::V6(_));
        if bracketed {
            text.push(b'[');
        }
        self.write(text);
        if bracketed {
            text.push(b']');
        }
        if let Some(port) = port {
            text.push(b':');
            write_number(port, text);
        }
    }
}

/// Write decimal digits, several times faster than `write!`.
fn write_number(number: u16, text: &mut Vec<u8>) {
    if number >= 10 {
        write_number(number / 10, text);
    }
    text.push(b'0' + (number % 10) as u8);
}
