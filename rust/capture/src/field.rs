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

    /// Append the field of a packet to `text`, or return it if it is a number.
    fn of(self, packet: &Packet<'_>, size: u32, text: &mut Vec<u8>) -> Found {
        match self {
            Self::Source => packet.source.write(text),
            Self::Destination => packet.destination.write(text),
            Self::Protocol => return packet.write_protocol(text),
            Self::Flow => return packet.write_flow(text),
            Self::Size => return Found::Number(size),
            Self::SourcePort | Self::DestinationPort => {
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

/// What is extracted from each packet: a field, and the address of its person if that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    field: Field,
    user: Option<Field>,
}

impl Wanted {
    /// Extract one field.
    pub fn field(field: Field) -> Self {
        Self { field, user: None }
    }

    /// Also extract the person; `None` unless `user` is an address.
    pub fn user(self, user: Field) -> Option<Self> {
        let user = matches!(user, Field::Source | Field::Destination).then_some(user)?;
        Some(Self {
            user: Some(user),
            ..self
        })
    }

    /// Return whether packets of any link type have what is wanted.
    pub(crate) fn is_in_any_link(self) -> bool {
        self.field == Field::Size && self.user.is_none()
    }

    pub(crate) fn rows(self) -> PacketRows {
        let rows = match self.field {
            Field::SourcePort | Field::DestinationPort | Field::Size => PacketRows::of_numbers(),
            _ => PacketRows::of_text(),
        };
        match self.user {
            Some(_) => rows.with_users(),
            None => rows,
        }
    }

    /// Extract the field from a packet of which `frame` was captured. Text is appended to `text`,
    /// and if there is a field, its person to `user`.
    pub(crate) fn find(
        self,
        link: Option<Link>,
        frame: &[u8],
        size: u32,
        (text, user): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Found {
        if self.is_in_any_link() {
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
        let found = self.field.of(&packet, size, text);
        if let (Some(address), Found::Text | Found::Number(_)) = (self.user, found) {
            address.of(&packet, size, user);
        }
        found
    }
}
