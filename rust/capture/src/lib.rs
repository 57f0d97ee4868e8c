//! Packet captures as columns of values: pcap and pcapng, fed in chunks of any size.
//!
//! A [`Reader`] is fed bytes as they come, from a file, a pipe or a decompressor, and gives
//! [`Rows`]: for each packet one field of it, its time and its size. It never waits for more than
//! the packet at hand, and keeps at most one record or block of bounded size.
//!
//! | floor | modules |
//! |---|---|
//! | bytes -> packets | `reader`, `pcap`, `pcapng` |
//! | packets -> values | `field`, `network`, `link` |
//! | values -> columns | `rows` |
//!
//! All of it is safe code of our own. A record claims its own length, so what is believed has to
//! be bounded before anything is kept, and the obsolete Packet Block and offsets of time in
//! big-endian sections have to be read too. pcap-parser and etherparse are what the tests compare
//! the framing and the headers with.
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
mod rows;

pub use field::Field;
pub use reader::{Damage, Reader};
pub use rows::{Items, Rows, UNKNOWN_TIME};
