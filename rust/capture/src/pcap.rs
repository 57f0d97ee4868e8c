//! pcap: one header, then records of 16 bytes and the packet.

use crate::field::Field;
use crate::link::Link;
use crate::reader::{Damage, Order, Step};
use crate::rows::Rows;

pub(crate) const HEADER: usize = 24;
const RECORD: usize = 16;
/// Far above what libpcap captures of a packet (2^18): more is a damaged length.
const MOST_CAPTURED: u32 = 1 << 20;

/// How the records of a file are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pcap {
    order: Order,
    nanoseconds: u32,
    link: Option<Link>,
}

/// The byte order and the nanoseconds of a tick, by the first bytes.
pub(crate) fn magic(bytes: [u8; 4]) -> Option<(Order, u32)> {
    Some(match bytes {
        [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1000),
        [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1000),
        [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1),
        [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1),
        _ => return None,
    })
}

impl Pcap {
    pub(crate) fn of(header: &[u8; HEADER], field: Field) -> Result<Self, Damage> {
        let [a, b, c, d, ..] = *header;
        let (order, nanoseconds) = magic([a, b, c, d]).ok_or(Damage::Unknown)?;
        // Before version 2 records looked different; there is none behind it.
        if order.u16([header[4], header[5]]) != 2 {
            return Err(Damage::Unknown);
        }
        // The upper half of the word says what is at the end of frames.
        let number = order.u32_at(header, 20) as u16;
        let link = Link::of(number);
        if link.is_none() && field != Field::Size {
            return Err(Damage::LinkType(number));
        }
        Ok(Self {
            order,
            nanoseconds,
            link,
        })
    }

    /// Read one record.
    pub(crate) fn step(&self, bytes: &[u8], field: Field, rows: &mut Rows) -> Result<Step, Damage> {
        let Some(record) = bytes.first_chunk::<RECORD>() else {
            return Ok(Step::Wait);
        };
        let word = |at| self.order.u32_at(record, at);
        let captured = word(8);
        if captured > MOST_CAPTURED {
            return Err(Damage::Broken);
        }
        let Some(frame) = bytes[RECORD..].get(..captured as usize) else {
            return Ok(Step::Wait);
        };
        let fraction = i64::from(word(4)) * i64::from(self.nanoseconds);
        let time = i64::from(word(0)) * 1_000_000_000 + fraction;
        let size = word(12);
        rows.push(time, size, |text| field.find(self.link, frame, size, text));
        Ok(Step::Taken(RECORD + captured as usize))
    }
}
