//! pcapng: blocks, of which some hold a packet. Sections may differ in byte order, interfaces in
//! link type and unit of time. Blocks of other types are skipped.

use crate::field::Field;
use crate::link::Link;
use crate::reader::{Damage, Order, Step};
use crate::rows::{Found, Rows, UNKNOWN_TIME};

/// The type of the block that begins a section, the same in both byte orders.
pub(crate) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// Type and length before the body, the length again behind it.
const FRAMING: usize = 12;
/// What a block may claim to be long; other readers allow as much.
const MOST_OF_BLOCK: u32 = 1 << 24;
const MOST_INTERFACES: usize = 1 << 16;

/// What the blocks of the current section have said so far.
#[derive(Debug)]
pub(crate) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Option<Link>,
    most_captured: u32,
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

    /// Read one block.
    pub(crate) fn step(
        &mut self,
        bytes: &[u8],
        field: Field,
        rows: &mut Rows,
    ) -> Result<Step, Damage> {
        let Some(head) = bytes.first_chunk::<FRAMING>() else {
            return Ok(Step::Wait);
        };
        let begins_section = head[..4] == SECTION;
        if begins_section {
            self.order = match head[8..] {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [..] if head[8..] == MAGIC => Order::Big,
                _ => return Err(Damage::Broken),
            };
        }
        let length = self.order.u32_at(head, 4);
        if !(FRAMING as u32..=MOST_OF_BLOCK).contains(&length) {
            return Err(Damage::Broken);
        }
        let length = length as usize;
        let Some(block) = bytes.get(..length) else {
            return Ok(Step::Wait);
        };
        if block[length - 4..] != block[4..8] {
            return Err(Damage::Broken);
        }
        let body = &block[8..length - 4];
        match self.order.u32_at(head, 0) {
            _ if begins_section => {
                // A section of another version may be anything.
                if body
                    .get(4..6)
                    .is_none_or(|major| self.order.u16([major[0], major[1]]) != 1)
                {
                    return Err(Damage::Broken);
                }
                self.interfaces.clear();
            }
            INTERFACE => {
                if body.len() < 8 || self.interfaces.len() == MOST_INTERFACES {
                    return Err(Damage::Broken);
                }
                self.interfaces.push(Interface::of(body, self.order));
            }
            kind @ (ENHANCED_PACKET | OBSOLETE_PACKET) => self.timed(kind, body, field, rows),
            SIMPLE_PACKET => self.simple(body, field, rows),
            _ => {}
        }
        Ok(Step::Taken(length))
    }

    /// A packet with its interface and its time; a broken one is a row all the same.
    fn timed(&self, kind: u32, body: &[u8], field: Field, rows: &mut Rows) {
        let Some((head, rest)) = body.split_first_chunk::<20>() else {
            return rows.push(UNKNOWN_TIME, 0, |_| Found::Malformed);
        };
        let word = |at| self.order.u32_at(head, at);
        let number = match kind {
            // Behind it the packets that were lost.
            OBSOLETE_PACKET => self.order.u16([head[0], head[1]]).into(),
            _ => word(0),
        };
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        let interface = self.interfaces.get(number as usize);
        let time = interface.map_or(UNKNOWN_TIME, |interface| interface.time(ticks));
        let size = word(16);
        rows.push(time, size, |text| {
            match (interface, rest.get(..word(12) as usize)) {
                (Some(interface), Some(frame)) => field.find(interface.link, frame, size, text),
                _ => Found::Malformed,
            }
        });
    }

    /// A packet of the first interface, without a time.
    fn simple(&self, body: &[u8], field: Field, rows: &mut Rows) {
        let (Some((size, rest)), Some(interface)) =
            (body.split_first_chunk::<4>(), self.interfaces.first())
        else {
            return rows.push(UNKNOWN_TIME, 0, |_| Found::Malformed);
        };
        let size = self.order.u32_at(size, 0);
        let captured = size.min(interface.most_captured) as usize;
        rows.push(UNKNOWN_TIME, size, |text| match rest.get(..captured) {
            Some(frame) => field.find(interface.link, frame, size, text),
            None => Found::Malformed,
        });
    }
}

impl Interface {
    fn of(body: &[u8], order: Order) -> Self {
        let most_captured = match order.u32_at(body, 4) {
            0 => u32::MAX,
            most => most,
        };
        let mut interface = Self {
            link: Link::of(order.u16([body[0], body[1]])),
            most_captured,
            resolution: 6,
            offset: 0,
        };
        let mut options = &body[8..];
        while let Some((head, rest)) = options.split_first_chunk::<4>() {
            let kind = order.u16([head[0], head[1]]);
            let length = usize::from(order.u16([head[2], head[3]]));
            let Some(value) = rest.get(..length).filter(|_| kind != 0) else {
                break;
            };
            match (kind, value) {
                (OPTION_RESOLUTION, &[resolution]) => interface.resolution = resolution,
                (OPTION_OFFSET, value) if length == 8 => interface.offset = order.i64(value),
                _ => {}
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        interface
    }

    /// Nanoseconds since 1970, bounded by what 64 bits hold.
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
