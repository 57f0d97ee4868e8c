//! Packet captures as columns of values: pcap and pcapng, fed in chunks of any size.
//!
//! A [`Reader`] is fed bytes as they come, from a file, a pipe or a decompressor, and gives
//! [`PacketRows`]: for each packet one field of it, its time and its size. It never waits for more than
//! the packet at hand, and keeps at most one record or block of bounded size.
//!
//! | floor | modules |
//! |---|---|
//! | bytes -> packets | `reader`; `pcap`, `pcapng`; `records` |
//! | packets -> values | `field`, `network`, `link` |
//! | values -> columns | `rows` |
//!
//! Records and blocks are parsed by pcap-parser, the headers of frames and of IP by etherparse.
//! Ours is what is believed of them: a record claims its own length, which is bounded before the
//! library sees it, and headers are taken one at a time from slices that are checked.
//!
//! Cost: some tens of nanoseconds per packet, most of it writing addresses as text.
//!
//! Source: "PCAP Capture File Format" (draft-ietf-opsawg-pcap), "PCAP Now Generic (pcapng)
//! Capture File Format" (draft-ietf-opsawg-pcapng).
#![forbid(unsafe_code)]

mod field;
mod link;
mod network;
mod pcap;
mod pcapng;
mod reader;
mod records;
mod rows;

pub use field::Field;
pub use reader::Reader;
pub use records::Damage;
pub use rows::{FieldValues, PacketRows, UNKNOWN_TIME};
