//! The fields of a packet and their extraction.

use crate::link::{Inside, Link};
use crate::network::{Packet, Ports};
use crate::rows::{Found, PacketRows};

/// The field that is extracted from each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The source address, as text.
    Source,
    /// The destination address, as text.
    Destination,
    /// The source port, a number.
    SourcePort,
    /// The destination port, a number.
    DestinationPort,
    /// The protocol after the IP headers: a lower-case name, or the number as text.
    Protocol,
    /// The unidirectional flow (protocol, addresses and ports), as text.
    Flow,
    /// The length on the wire, a number.
    Size,
}

impl Field {
    /// All fields with their public names.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("src", Self::Source),
        ("dst", Self::Destination),
        ("sport", Self::SourcePort),
        ("dport", Self::DestinationPort),
        ("proto", Self::Protocol),
        ("flow", Self::Flow),
        ("size", Self::Size),
    ];

    /// Return the field of that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, field)| field)
    }

    pub(crate) fn rows(self) -> PacketRows {
        match self {
            Self::SourcePort | Self::DestinationPort | Self::Size => PacketRows::of_numbers(),
            Self::Source | Self::Destination | Self::Protocol | Self::Flow => PacketRows::of_text(),
        }
    }

    /// Extract the field from a packet of which `frame` was captured; text is appended to `text`.
    pub(crate) fn find(
        self,
        link: Option<Link>,
        frame: &[u8],
        size: u32,
        text: &mut Vec<u8>,
    ) -> Found {
        if self == Self::Size {
            return Found::Number(size);
        }
        let Some(link) = link else {
            return Found::Malformed;
        };
        let (version, bytes) = match link.open(frame) {
            Inside::Ip(version, bytes) => (version, bytes),
            Inside::Other => return Found::Absent,
            Inside::Truncated => return Found::Malformed,
        };
        let Some(packet) = Packet::of(version, bytes) else {
            return Found::Malformed;
        };
        match self {
            Self::Source => packet.source.write(text),
            Self::Destination => packet.destination.write(text),
            Self::Protocol => return packet.write_protocol(text),
            Self::Flow => return packet.write_flow(text),
            Self::SourcePort | Self::DestinationPort | Self::Size => {
                return match packet.ports() {
                    Ports::Of { source, .. } if self == Self::SourcePort => {
                        Found::Number(source.into())
                    }
                    Ports::Of { destination, .. } => Found::Number(destination.into()),
                    Ports::None => Found::Absent,
                    Ports::Truncated => Found::Malformed,
                };
            }
        }
        Found::Text
    }
}
