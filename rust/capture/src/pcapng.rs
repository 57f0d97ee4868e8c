//! The pcapng format: blocks, some of which hold a packet. Sections may differ in byte order, and
//! interfaces in link type and time unit. Blocks of other types are skipped.

use crate::field::Wanted;
use crate::link::Link;
use crate::records::{Damage, Order, Step};
use crate::rows::{Found, PacketRows, UNKNOWN_TIME};
use pcap_parser::pcapng::{
    BOM_MAGIC, Block, EPB_MAGIC, EnhancedPacketBlock, IDB_MAGIC, InterfaceDescriptionBlock,
    OptionCode, SHB_MAGIC, SPB_MAGIC, SimplePacketBlock, parse_block_be, parse_block_le,
};
use pcap_parser::traits::PcapNGPacketBlock;
use std::borrow::Cow;

/// The type of the block that begins a section, the same in both byte orders.
pub(crate) const SECTION: [u8; 4] = SHB_MAGIC.to_be_bytes();
const BIG: [u8; 4] = BOM_MAGIC.to_be_bytes();
const LITTLE: [u8; 4] = BOM_MAGIC.to_le_bytes();
const OBSOLETE_PACKET: u32 = 2;

/// Type and length before the body, and the length again after it.
const FRAMING: usize = 12;
/// Largest accepted block length, as in other readers.
const MAX_BLOCK: u32 = 1 << 24;
/// Largest block that is parsed: pcap-parser lists all options, and allocates 32 bytes for an
/// option of 4.
const MAX_PARSED_BLOCK: usize = 1 << 21;
const MAX_INTERFACES: usize = 1 << 16;

/// State of the current section.
#[derive(Debug)]
pub(crate) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Option<Link>,
    snap_length: u32,
    resolution: u8,
    offset: i64,
}

impl Pcapng {
    pub(crate) fn new() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
        }
    }

    /// Parse one block.
    pub(crate) fn step(
        &mut self,
        bytes: &[u8],
        wanted: Wanted,
        rows: &mut PacketRows,
    ) -> Result<Step, Damage> {
        let Some(head) = bytes.first_chunk::<FRAMING>() else {
            return Ok(Step::Wait);
        };
        if head.starts_with(&SECTION) {
            self.order = match &head[8..] {
                magic if magic == LITTLE => Order::Little,
                magic if magic == BIG => Order::Big,
                _ => return Err(Damage::Broken),
            };
        }
        // pcap-parser accepts any length, and compares the two lengths for some types only.
        let length = self.order.u32_at(head, 4);
        if !(FRAMING as u32..=MAX_BLOCK).contains(&length) {
            return Err(Damage::Broken);
        }
        let length = length as usize;
        let Some(block) = bytes.get(..length) else {
            return Ok(Step::Wait);
        };
        if block[length - 4..] != block[4..8] {
            return Err(Damage::Broken);
        }
        self.open(self.order.u32_at(head, 0), block, wanted, rows)?;
        Ok(Step::Taken(length))
    }

    /// Parse a block whose framing is valid. A broken packet in it is still a row.
    fn open(
        &mut self,
        kind: u32,
        block: &[u8],
        wanted: Wanted,
        rows: &mut PacketRows,
    ) -> Result<(), Damage> {
        let is_small = block.len() <= MAX_PARSED_BLOCK;
        let block = match kind {
            OBSOLETE_PACKET if is_small => Cow::Owned(self.enhanced(block)),
            SHB_MAGIC | IDB_MAGIC | OBSOLETE_PACKET | EPB_MAGIC | SPB_MAGIC => Cow::Borrowed(block),
            _ => return Ok(()),
        };
        let parsed = match self.order {
            _ if !is_small => None,
            Order::Little => parse_block_le(&block).ok(),
            Order::Big => parse_block_be(&block).ok(),
        };
        match parsed.map(|(_, parsed)| parsed) {
            Some(Block::EnhancedPacket(packet)) => self.timed(&packet, wanted, rows),
            Some(Block::SimplePacket(packet)) => self.simple(&packet, wanted, rows),
            // The format of another version is unknown.
            Some(Block::SectionHeader(section)) if section.major_version == 1 => {
                self.interfaces.clear();
            }
            Some(Block::InterfaceDescription(interface))
                if self.interfaces.len() < MAX_INTERFACES =>
            {
                self.interfaces.push(Interface::of(&interface, self.order));
            }
            _ if matches!(kind, SHB_MAGIC | IDB_MAGIC) => return Err(Damage::Broken),
            _ => rows.push(UNKNOWN_TIME, 0, |_| Found::Malformed),
        }
        Ok(())
    }

    /// Convert an obsolete packet block, which pcap-parser does not support, to an enhanced one.
    /// They differ in type, and in the interface number: 32 bits in the enhanced block, 16 bits
    /// followed by the number of lost packets in the obsolete one.
    fn enhanced(&self, block: &[u8]) -> Vec<u8> {
        let mut block = block.to_vec();
        let (kind, interface) = match self.order {
            Order::Little => (EPB_MAGIC.to_le_bytes(), [block[8], block[9], 0, 0]),
            Order::Big => (EPB_MAGIC.to_be_bytes(), [0, 0, block[8], block[9]]),
        };
        block[..4].copy_from_slice(&kind);
        block[8..12].copy_from_slice(&interface);
        block
    }

    /// Append a packet with its interface and time.
    fn timed(&self, packet: &EnhancedPacketBlock<'_>, wanted: Wanted, rows: &mut PacketRows) {
        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        let interface = self.interfaces.get(packet.if_id as usize);
        let time = interface.map_or(UNKNOWN_TIME, |interface| interface.time(ticks));
        let (size, frame) = (packet.origlen, packet.packet_data());
        rows.push(time, size, |text| match interface {
            Some(interface) => wanted.find(interface.link, frame, size, text),
            None => Found::Malformed,
        });
    }

    /// Append a packet of the first interface, without a time.
    fn simple(&self, packet: &SimplePacketBlock<'_>, wanted: Wanted, rows: &mut PacketRows) {
        let size = packet.origlen;
        let interface = self.interfaces.first();
        rows.push(UNKNOWN_TIME, size, |text| {
            // pcap-parser ignores the interface's snap length, so its data include the padding.
            let captured = interface.map(|interface| size.min(interface.snap_length) as usize);
            match (interface, captured.and_then(|end| packet.data.get(..end))) {
                (Some(interface), Some(frame)) => wanted.find(interface.link, frame, size, text),
                _ => Found::Malformed,
            }
        });
    }
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>, order: Order) -> Self {
        let mut interface = Self {
            link: Link::of(block.linktype.0 as u16),
            snap_length: match block.snaplen {
                0 => u32::MAX,
                most => most,
            },
            resolution: 6,
            offset: 0,
        };
        // pcap-parser reads past the end of the options, and always reads the offset as
        // little-endian, so the bytes are decoded here.
        let options = block.options.iter();
        for option in options.take_while(|option| option.code != OptionCode::EndOfOpt) {
            match (option.code, option.as_bytes()) {
                (OptionCode::IfTsresol, Ok(&[resolution])) => interface.resolution = resolution,
                (OptionCode::IfTsoffset, Ok(value)) => {
                    if let Ok(value) = value.try_into() {
                        interface.offset = match order {
                            Order::Little => i64::from_le_bytes(value),
                            Order::Big => i64::from_be_bytes(value),
                        };
                    }
                }
                _ => {}
            }
        }
        interface
    }

    /// Convert ticks to nanoseconds since 1970, clamped to 64 bits.
    fn time(&self, ticks: u64) -> i64 {
        let power = u32::from(self.resolution & 0x7f);
        let since_offset = if self.resolution & 0x80 != 0 {
            // Ticks of 2^-power seconds.
            (u128::from(ticks) * 1_000_000_000) >> power
        } else if power <= 9 {
            u128::from(ticks) * 10_u128.pow(9 - power)
        } else {
            10_u128
                .checked_pow(power - 9)
                .map_or(0, |parts| u128::from(ticks) / parts)
        };
        // Below 2^94: ticks have 64 bits, a second 10^9 nanoseconds.
        let time = since_offset as i128 + i128::from(self.offset) * 1_000_000_000;
        time.clamp((UNKNOWN_TIME + 1).into(), i64::MAX.into()) as i64
    }
}
