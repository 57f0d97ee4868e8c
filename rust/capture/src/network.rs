//! The headers of IP and the ports behind them. What is cut off behind a header does not matter.
//!
//! Of etherparse only the slices of one header each are used, which are checked when they are
//! made. Its lax iterators over extension headers (0.21) read out of bounds where a chain is
//! broken, and its slices of a whole packet refuse one that was captured in part.
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

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// What stands behind the headers of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Payload<'a> {
    protocol: IpNumber,
    /// A later fragment: no header of the protocol in it.
    continued: bool,
    bytes: &'a [u8],
}

/// The headers of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) source: Address,
    pub(crate) destination: Address,
    /// None if the extension headers are broken or cut off.
    payload: Option<Payload<'a>>,
}

/// What a packet has as ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ports {
    Of { source: u16, destination: u16 },
    None,
    Cut,
}

impl<'a> Packet<'a> {
    /// The packet, of that version if it is given; `None` if it is broken or cut off.
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
        // What a frame is padded with is behind the end. A machine that leaves cutting to its
        // network card may write 0.
        let end = match usize::from(header.total_len()) {
            end if (length..bytes.len()).contains(&end) => end,
            _ => bytes.len(),
        };
        let continued = header.fragments_offset().value() != 0;
        let inside = &bytes[length..end];
        Some(Self {
            source: Address::V4(header.source_addr()),
            destination: Address::V4(header.destination_addr()),
            payload: match header.protocol() {
                AUTH if !continued => behind_extensions(AUTH, inside),
                protocol => Some(Payload {
                    protocol,
                    continued,
                    bytes: inside,
                }),
            },
        })
    }

    fn v6(bytes: &'a [u8]) -> Option<Self> {
        let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
        let rest = &bytes[header.slice().len()..];
        // 0 says nothing: a jumbogram, or as above.
        let inside = match usize::from(header.payload_length()) {
            0 => rest,
            length => rest.get(..length).unwrap_or(rest),
        };
        Some(Self {
            source: Address::V6(header.source_addr()),
            destination: Address::V6(header.destination_addr()),
            payload: behind_extensions(header.next_header(), inside),
        })
    }

    pub(crate) fn ports(&self) -> Ports {
        self.payload.map_or(Ports::Cut, |payload| payload.ports())
    }

    /// Write the name of the protocol behind all headers of IP.
    pub(crate) fn write_protocol(&self, text: &mut Vec<u8>) -> Found {
        let Some(payload) = self.payload else {
            return Found::Malformed;
        };
        payload.write_name(text);
        Found::Text
    }

    /// Write "protocol source:port > destination:port", without ports where there are none.
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
            Ports::Cut => return Found::Malformed,
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
        if self.continued || !has_ports {
            return Ports::None;
        }
        let Some(&[s0, s1, d0, d1]) = self.bytes.first_chunk() else {
            return Ports::Cut;
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

/// Follow the chain of extension headers to its end; `None` if it is cut off.
fn behind_extensions(mut protocol: IpNumber, mut bytes: &[u8]) -> Option<Payload<'_>> {
    let mut continued = false;
    // Behind the header of a later fragment there is data, also where it would be another header.
    while !continued {
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
                continued = header.fragment_offset().value() != 0;
                (header.next_header(), header.slice().len())
            }
            _ => break,
        };
        bytes = &bytes[length..];
    }
    Some(Payload {
        protocol,
        continued,
        bytes,
    })
}

/// The names that are in use, as IANA writes them but for the case; of others the number. They
/// are items of sketches and of releases, so they must not change with a table of a library.
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
    /// Write the address as RFC 5952 does; IPv4 inside of IPv6 as "::ffff:192.0.2.1".
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
                // Writing into memory does not fail.
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

/// Decimal digits, several times faster than `write!`.
fn write_number(number: u16, text: &mut Vec<u8>) {
    if number >= 10 {
        write_number(number / 10, text);
    }
    text.push(b'0' + (number % 10) as u8);
}
