//! The headers of IP and the ports behind them. What is cut off behind a header does not matter.
//!
//! Written here, in safe code, rather than taken from a crate: the process that reads hostile
//! packets holds keys and exact counts, and etherparse 0.21 reads out of bounds where a chain of
//! extension headers is broken. It serves the tests as an oracle.
//!
//! Source: RFC 791, RFC 4302, RFC 8200; IANA, "Assigned Internet Protocol Numbers".

use crate::rows::Found;
use std::net::{Ipv4Addr, Ipv6Addr};

const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// What stands behind the headers of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Payload<'a> {
    protocol: u8,
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
        let head = bytes.first_chunk::<20>()?;
        let length = usize::from(head[0] & 15) * 4;
        if head[0] >> 4 != 4 || length < head.len() || length > bytes.len() {
            return None;
        }
        // What a frame is padded with is behind the end. A machine that leaves cutting to its
        // network card may write 0.
        let end = match usize::from(u16::from_be_bytes([head[2], head[3]])) {
            end if (length..bytes.len()).contains(&end) => end,
            _ => bytes.len(),
        };
        let continued = u16::from_be_bytes([head[6], head[7]]) & 0x1fff != 0;
        let inside = &bytes[length..end];
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *head;
        Some(Self {
            source: Address::V4(Ipv4Addr::new(s0, s1, s2, s3)),
            destination: Address::V4(Ipv4Addr::new(d0, d1, d2, d3)),
            payload: match head[9] {
                AUTHENTICATION if !continued => behind_extensions(AUTHENTICATION, inside),
                protocol => Some(Payload {
                    protocol,
                    continued,
                    bytes: inside,
                }),
            },
        })
    }

    fn v6(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<40>()?;
        if head[0] >> 4 != 6 {
            return None;
        }
        // 0 says nothing: a jumbogram, or as above.
        let inside = match usize::from(u16::from_be_bytes([head[4], head[5]])) {
            0 => rest,
            length => rest.get(..length).unwrap_or(rest),
        };
        let address = |at: usize| {
            let octets = head[at..].first_chunk::<16>().copied().unwrap_or_default();
            Address::V6(Ipv6Addr::from(octets))
        };
        Some(Self {
            source: address(8),
            destination: address(24),
            payload: behind_extensions(head[6], inside),
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
            None => write_number(self.protocol.into(), text),
        }
    }
}

/// Follow the chain of extension headers to its end; `None` if it is cut off.
fn behind_extensions(mut protocol: u8, mut bytes: &[u8]) -> Option<Payload<'_>> {
    loop {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => 8 + 8 * usize::from(*bytes.get(1)?),
            AUTHENTICATION => 8 + 4 * usize::from(*bytes.get(1)?),
            FRAGMENT => 8,
            _ => {
                return Some(Payload {
                    protocol,
                    continued: false,
                    bytes,
                });
            }
        };
        let (header, rest) = bytes.split_at_checked(length)?;
        let continued = protocol == FRAGMENT && (header[2] != 0 || header[3] & 0xf8 != 0);
        (protocol, bytes) = (header[0], rest);
        if continued {
            // What follows is data, also where it would be another extension header.
            return Some(Payload {
                protocol,
                continued,
                bytes,
            });
        }
    }
}

/// The names that are in use, as IANA writes them but for the case; of others the number.
fn name_of(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        HOP_BY_HOP => "hopopt",
        1 => "icmp",
        2 => "igmp",
        4 => "ipv4",
        TCP => "tcp",
        8 => "egp",
        UDP => "udp",
        DCCP => "dccp",
        41 => "ipv6",
        ROUTING => "ipv6-route",
        FRAGMENT => "ipv6-frag",
        46 => "rsvp",
        47 => "gre",
        50 => "esp",
        AUTHENTICATION => "ah",
        58 => "ipv6-icmp",
        59 => "ipv6-nonxt",
        DESTINATION_OPTIONS => "ipv6-opts",
        88 => "eigrp",
        89 => "ospfigp",
        97 => "etherip",
        103 => "pim",
        108 => "ipcomp",
        112 => "vrrp",
        115 => "l2tp",
        SCTP => "sctp",
        UDP_LITE => "udplite",
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
