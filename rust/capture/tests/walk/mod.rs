//! The formats read by hand, byte by byte, of whole files and whole packets.
//!
//! Nothing is shared with the crate or with the libraries that it uses.
//! Source: RFC 791, RFC 4302, RFC 8200, draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The sizes on the wire of the packets of a file, up to where it is cut off.
pub(crate) fn sizes(file: &[u8], big: bool) -> Vec<u32> {
    let word = |at: usize| {
        let bytes = file.get(at..at + 4)?.try_into().ok()?;
        Some(match big {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    };
    let is_new = file.starts_with(b"\x0a\x0d\x0d\x0a");
    let (mut at, mut sizes) = (if is_new { 0 } else { 24 }, Vec::new());
    loop {
        // Where the size stands, and how long it all is.
        let (size, length) = match (is_new, word(at), word(at + 4), word(at + 8)) {
            (false, _, _, Some(captured)) => (Some(at + 12), 16 + captured),
            (true, Some(2 | 6), Some(length), _) => (Some(at + 24), length),
            (true, Some(3), Some(length), _) => (Some(at + 8), length),
            (true, Some(_), Some(length), _) => (None, length),
            _ => return sizes,
        };
        at += length as usize;
        if at > file.len() {
            return sizes;
        }
        sizes.extend(size.and_then(word));
    }
}

/// What the headers of a packet of IP say.
pub(crate) struct Headers {
    pub(crate) addresses: [String; 2],
    /// None where the chain of headers is broken.
    pub(crate) behind: Option<Behind>,
}

/// What stands behind all headers of IP.
pub(crate) struct Behind {
    pub(crate) protocol: u8,
    /// Each a number, or what there is instead.
    pub(crate) ports: [String; 2],
}

/// The headers of a packet; none where they are broken or cut off.
pub(crate) fn headers(packet: &[u8]) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => {
            let length = 4 * usize::from(packet[0] & 15);
            if length < 20 || packet.len() < length {
                return None;
            }
            let total = usize::from(packet[2]) << 8 | usize::from(packet[3]);
            let end = if total < length { packet.len() } else { total };
            let inside = &packet[length..end.min(packet.len())];
            let is_later = packet[6] & 31 != 0 || packet[7] != 0;
            let address = |at: usize| {
                let octets: [u8; 4] = packet[at..at + 4].try_into().unwrap();
                Ipv4Addr::from(octets).to_string()
            };
            Some(Headers {
                addresses: [address(12), address(16)],
                behind: match packet[9] {
                    51 if !is_later => chain(51, inside),
                    protocol => Some(Behind::of(protocol, is_later, inside)),
                },
            })
        }
        6 if packet.len() >= 40 => {
            let length = usize::from(packet[4]) << 8 | usize::from(packet[5]);
            let end = if length == 0 {
                packet.len()
            } else {
                40 + length
            };
            let address = |at: usize| {
                let octets: [u8; 16] = packet[at..at + 16].try_into().unwrap();
                Ipv6Addr::from(octets).to_string()
            };
            Some(Headers {
                addresses: [address(8), address(24)],
                behind: chain(packet[6], &packet[40..end.min(packet.len())]),
            })
        }
        _ => None,
    }
}

fn chain(kind: u8, bytes: &[u8]) -> Option<Behind> {
    let unit = usize::from(*bytes.get(1).unwrap_or(&0));
    let length = match kind {
        0 | 43 | 60 => 8 + 8 * unit,
        44 => 8,
        // Twelve bytes are always there, so it cannot say less.
        51 if unit == 0 => return None,
        51 => 8 + 4 * unit,
        _ => return Some(Behind::of(kind, false, bytes)),
    };
    let rest = bytes.get(length..)?;
    if kind == 44 && (bytes[2] != 0 || bytes[3] > 7) {
        return Some(Behind::of(bytes[0], true, rest));
    }
    chain(bytes[0], rest)
}

impl Behind {
    fn of(protocol: u8, is_later_fragment: bool, bytes: &[u8]) -> Self {
        let ports = match (protocol, bytes) {
            _ if is_later_fragment => ["absent", "absent"].map(str::to_owned),
            (6 | 17 | 33 | 132 | 136, &[s0, s1, d0, d1, ..]) => {
                [[s0, s1], [d0, d1]].map(|port| u16::from_be_bytes(port).to_string())
            }
            (6 | 17 | 33 | 132 | 136, _) => ["malformed", "malformed"].map(str::to_owned),
            _ => ["absent", "absent"].map(str::to_owned),
        };
        Self { protocol, ports }
    }
}
