//! The pcap format: a file header, then records of a 16-byte header and a packet.

use crate::field::Wanted;
use crate::link::Link;
use crate::records::{Damage, Order, Step};
use crate::rows::PacketRows;
use pcap_parser::nom;
use pcap_parser::pcap::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

const RECORD: usize = 16;
/// Far above libpcap's limit of 2^18 bytes per packet: a larger length is damaged.
const MAX_CAPTURED: u32 = 1 << 20;

/// The encoding of a file's records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pcap {
    order: Order,
    nanoseconds: u32,
    link: Option<Link>,
}

impl Pcap {
    /// Parse the file header and return its length; `None` if it is incomplete.
    pub(crate) fn begin(bytes: &[u8], wanted: Wanted) -> Result<Option<(Self, usize)>, Damage> {
        let header = match parse_pcap_header(bytes) {
            Ok((_, header)) => header,
            Err(nom::Err::Incomplete(_)) => return Ok(None),
            Err(_) => return Err(Damage::Unknown),
        };
        // Version 2 is the newest; records of older versions differ. Records of the modified format
        // are longer, and the software that wrote it no longer exists.
        if header.version_major != 2 || header.is_modified_format() {
            return Err(Damage::Unknown);
        }
        // The upper half of the word describes the frame check sequence.
        let number = header.network.0 as u16;
        let link = Link::of(number);
        if link.is_none() && !wanted.is_in_any_link() {
            return Err(Damage::LinkType(number));
        }
        let format = Self {
            order: if header.is_bigendian() {
                Order::Big
            } else {
                Order::Little
            },
            nanoseconds: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
            link,
        };
        Ok(Some((format, header.size())))
    }

    /// Parse one record.
    pub(crate) fn step(
        &self,
        bytes: &[u8],
        wanted: Wanted,
        rows: &mut PacketRows,
    ) -> Result<Step, Damage> {
        // pcap-parser accepts any length, and would make the reader buffer up to 4 GB.
        if bytes.len() >= RECORD && self.order.u32_at(bytes, 8) > MAX_CAPTURED {
            return Err(Damage::Broken);
        }
        let parsed = match self.order {
            Order::Little => parse_pcap_frame(bytes),
            Order::Big => parse_pcap_frame_be(bytes),
        };
        let (rest, record) = match parsed {
            Ok(parsed) => parsed,
            Err(nom::Err::Incomplete(_)) => return Ok(Step::Wait),
            Err(_) => return Err(Damage::Broken),
        };
        let fraction = i64::from(record.ts_usec) * i64::from(self.nanoseconds);
        let time = i64::from(record.ts_sec) * 1_000_000_000 + fraction;
        rows.push(time, record.origlen, |text| {
            wanted.find(self.link, record.data, record.origlen, text)
        });
        Ok(Step::Taken(bytes.len() - rest.len()))
    }
}
