//! An independent byte-by-byte parser of complete files and packets.
//!
//! It shares no code with the crate or with the libraries that the crate uses.
//! Source: RFC 791, RFC 4302, RFC 8200, draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Return the sizes on the wire of a file's packets, up to its truncation.
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
        // The position of the size, and the length of the record.
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

/// The IP headers of a packet.
pub(crate) struct Headers {
    pub(crate) addresses: [String; 2],
    /// None if the chain of headers is broken.
    pub(crate) payload: Option<Payload>,
}

/// The payload after all IP headers.
pub(crate) struct Payload {
    pub(crate) protocol: u8,
    /// Two numbers, or "absent" or "malformed".
    pub(crate) ports: [String; 2],
}

/// Return the headers of a packet; none if they are broken or truncated.
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
                payload: match packet[9] {
                    51 if !is_later => chain(51, inside),
                    protocol => Some(Payload::of(protocol, is_later, inside)),
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
                payload: chain(packet[6], &packet[40..end.min(packet.len())]),
            })
        }
        _ => None,
    }
}

fn chain(kind: u8, bytes: &[u8]) -> Option<Payload> {
    let unit = usize::from(*bytes.get(1).unwrap_or(&0));
    let length = match kind {
        0 | 43 | 60 => 8 + 8 * unit,
        44 => 8,
        // The header has at least 12 bytes, so a unit of 0 is invalid.
        51 if unit == 0 => return None,
        51 => 8 + 4 * unit,
        _ => return Some(Payload::of(kind, false, bytes)),
    };
    let rest = bytes.get(length..)?;
    if kind == 44 && (bytes[2] != 0 || bytes[3] > 7) {
        return Some(Payload::of(bytes[0], true, rest));
    }
    chain(bytes[0], rest)
}

impl Payload {
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
