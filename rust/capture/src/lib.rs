//! Parsers from packet captures to columns: pcap and pcapng, in chunks of any size.
//!
//! A [`Reader`] takes bytes as they arrive from a file, a pipe or a decompressor and returns
//! [`PacketRows`]: one field of each packet, its time and its size. It returns a packet as soon as
//! its bytes are complete, and buffers at most one record or block of bounded size.
//!
//! | layer | modules |
//! |---|---|
//! | bytes -> packets | `reader`; `pcap`, `pcapng`; `records` |
//! | packets -> values | `field`, `network`, `link` |
//! | values -> columns | `rows` |
//!
//! Records and blocks are parsed by pcap-parser, frame and IP headers by etherparse. This crate
//! validates what they trust: the length that a record claims is bounded before the library sees
//! it, and headers are parsed one at a time from checked slices.
//!
//! Cost: some tens of nanoseconds per packet, mostly for writing addresses as text.
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

pub use field::{Field, Wanted};
pub use reader::Reader;
pub use records::Damage;
pub use rows::{FieldValues, PacketRows, UNKNOWN_TIME};
