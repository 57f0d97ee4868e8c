//! Link layers: from a captured frame to its network layer.
//!
//! Source: "LINKTYPE_ values" of the registry at tcpdump.org.

use etherparse::{EtherType, Ethernet2Slice, SingleVlanSlice};

/// A link type whose frames can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// BSD loopback: a protocol family in host or network byte order.
    Loopback,
    /// An IP packet without a frame.
    Raw,
    /// Linux cooked mode (the device "any"), version 1.
    Cooked,
    /// Linux cooked mode, version 2.
    Cooked2,
}

/// The payload of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside<'a> {
    /// An IP packet, of this version if the frame gives one.
    Ip(Option<u8>, &'a [u8]),
    /// Something else: ARP, 802.3, MPLS, ...
    Other,
    /// The frame is truncated.
    Truncated,
}

const TAGS: [EtherType; 3] = [
    EtherType::VLAN_TAGGED_FRAME,
    EtherType::PROVIDER_BRIDGING,
    EtherType::VLAN_DOUBLE_TAGGED_FRAME,
];
const ARPHRD_NETLINK: u16 = 824; // its protocol field is not an EtherType

impl Link {
    /// Return the link type with that number in a file, if it is supported.
    pub(crate) fn of(number: u16) -> Option<Self> {
        Some(match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            // Some systems write 12 or 14 for 101; 228 is IPv4 and 229 is IPv6.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            _ => return None,
        })
    }

    pub(crate) fn open(self, frame: &[u8]) -> Inside<'_> {
        let opened = match self {
            Self::Raw => Some(Inside::Ip(None, frame)),
            Self::Loopback => loopback(frame),
            Self::Ethernet => Ethernet2Slice::from_slice_without_fcs(frame)
                .ok()
                .map(|frame| inside(frame.ether_type(), frame.payload_slice())),
            Self::Cooked => cooked(frame, 14, 2, 16),
            Self::Cooked2 => cooked(frame, 0, 8, 20),
        };
        opened.unwrap_or(Inside::Truncated)
    }
}

/// Skip any number of VLAN tags.
fn inside(mut kind: EtherType, mut rest: &[u8]) -> Inside<'_> {
    while TAGS.contains(&kind) {
        match SingleVlanSlice::from_slice(rest) {
            Ok(tagged) => (kind, rest) = (tagged.ether_type(), tagged.payload_slice()),
            Err(_) => return Inside::Truncated,
        }
    }
    match kind {
        EtherType::IPV4 => Inside::Ip(Some(4), rest),
        EtherType::IPV6 => Inside::Ip(Some(6), rest),
        _ => Inside::Other,
    }
}

/// Parse cooked mode without etherparse, which supports only version 1 and rejects packets of
/// loopback, PPP and tunnel devices, the usual reason to capture on "any".
fn cooked(frame: &[u8], kind_at: usize, device_at: usize, header: usize) -> Option<Inside<'_>> {
    let (header, rest) = frame.split_at_checked(header)?;
    let number = |at| u16::from_be_bytes([header[at], header[at + 1]]);
    Some(if number(device_at) == ARPHRD_NETLINK {
        Inside::Other
    } else {
        inside(EtherType(number(kind_at)), rest)
    })
}

fn loopback(frame: &[u8]) -> Option<Inside<'_>> {
    let (family, rest) = frame.split_at_checked(4)?;
    let family = u32::from_le_bytes([family[0], family[1], family[2], family[3]]);
    // Families are small numbers, so the smaller of the two readings is the right one.
    Some(match family.min(family.swap_bytes()) {
        2 => Inside::Ip(Some(4), rest),
        10 | 24 | 28 | 30 => Inside::Ip(Some(6), rest), // differs between systems
        _ => Inside::Other,
    })
}
