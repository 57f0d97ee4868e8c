//! From the bytes of a packet, as a link type frames them, to its network layer.
//!
//! Source: "LINKTYPE_ values" of the registry at tcpdump.org.

use etherparse::{EtherType, Ethernet2Slice, SingleVlanSlice};

/// A link type whose packets can be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// BSD loopback: a protocol family in the byte order of the machine, or of the network.
    Loopback,
    /// An IP packet without a frame.
    Raw,
    /// What Linux gives for "any", versions 1 and 2.
    Cooked,
    Cooked2,
}

/// What is inside of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside<'a> {
    /// This should be a packet of the version that is named, or of either.
    Ip(Option<u8>, &'a [u8]),
    /// Something else: ARP, 802.3, MPLS, ...
    Other,
    /// The frame is cut off before its end.
    Cut,
}

const TAGS: [EtherType; 3] = [
    EtherType::VLAN_TAGGED_FRAME,
    EtherType::PROVIDER_BRIDGING,
    EtherType::VLAN_DOUBLE_TAGGED_FRAME,
];
const ARPHRD_NETLINK: u16 = 824; // whose protocol is no EtherType

impl Link {
    /// The link type of that number in a file, if it is one of these.
    pub(crate) fn of(number: u16) -> Option<Self> {
        Some(match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            // 12 and 14 are what some systems write for 101; 228 and 229 tell the version.
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
        opened.unwrap_or(Inside::Cut)
    }
}

/// Skip tags of virtual networks, any number of them.
fn inside(mut kind: EtherType, mut rest: &[u8]) -> Inside<'_> {
    while TAGS.contains(&kind) {
        match SingleVlanSlice::from_slice(rest) {
            Ok(tagged) => (kind, rest) = (tagged.ether_type(), tagged.payload_slice()),
            Err(_) => return Inside::Cut,
        }
    }
    match kind {
        EtherType::IPV4 => Inside::Ip(Some(4), rest),
        EtherType::IPV6 => Inside::Ip(Some(6), rest),
        _ => Inside::Other,
    }
}

/// Read here: etherparse has version 1 only, and of that it refuses packets of the loopback, PPP
/// and tunnel devices, which are what "any" is asked for.
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
    // Families are small numbers, so the order of the bytes shows.
    Some(match family.min(family.swap_bytes()) {
        2 => Inside::Ip(Some(4), rest),
        10 | 24 | 28 | 30 => Inside::Ip(Some(6), rest), // Linux and the BSDs do not agree
        _ => Inside::Other,
    })
}
