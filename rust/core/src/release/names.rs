//! The names in a release: items that are public, so that a reader can rank them without a list.
//!
//! One section of the bytes of a release, between its table and its checksum, in format version 2
//! (docs/release-format.md). Decoding is strict, as for the rest: the number of names is checked
//! against the length of the input before anything is allocated, and names that are accepted encode
//! to the same bytes again.

use crate::byte_reader::{ByteReader, malformed};
use crate::item::{Item, UUID_BYTES};
use crate::{Error, Result, memory};

/// Fewest bytes of a name: tag, length and no content.
const SHORTEST_NAME: usize = 1 + 4;
/// Bytes of an integer that may fit 64 bits.
const LONGEST_SMALL: usize = 9;

// Tags are part of the format: a new type of items takes the next one.
const TEXT: u8 = 1;
const BYTES: u8 = 2;
const INTEGER: u8 = 3;
const INSTANT: u8 = 4;
const DATE: u8 = 5;
const UUID: u8 = 6;

/// Writes the section; `names` are distinct.
pub(super) fn write(out: &mut Vec<u8>, names: &[Item<'_>]) -> Result<()> {
    out.extend(length_of(names.len())?.to_le_bytes());
    for &name in names {
        let (small, instant, date);
        let (tag, content) = match name {
            Item::Text(text) => (TEXT, text.as_bytes()),
            Item::Bytes(bytes) => (BYTES, bytes),
            Item::Wide(bytes) => (INTEGER, bytes),
            Item::Signed(integer) => {
                small = i128::from(integer).to_le_bytes();
                (INTEGER, &small[..integer_length(&small)])
            }
            Item::Unsigned(integer) => {
                small = i128::from(integer).to_le_bytes();
                (INTEGER, &small[..integer_length(&small)])
            }
            Item::Instant(microseconds) => {
                instant = microseconds.to_le_bytes();
                (INSTANT, &instant[..])
            }
            Item::Date(days) => {
                date = days.to_le_bytes();
                (DATE, &date[..])
            }
            Item::Uuid(bytes) => (UUID, &bytes[..]),
        };
        out.push(tag);
        out.extend(length_of(content.len())?.to_le_bytes());
        out.extend(content);
    }
    Ok(())
}

/// Bytes that [`write()`] appends, at most.
pub(super) fn most_bytes(names: &[Item<'_>]) -> usize {
    let content = |name: &Item<'_>| match name {
        Item::Text(text) => text.len(),
        Item::Bytes(bytes) | Item::Wide(bytes) => bytes.len(),
        _ => LONGEST_SMALL.max(UUID_BYTES),
    };
    let bytes = names.iter().map(|name| SHORTEST_NAME + content(name));
    4 + bytes.sum::<usize>()
}

/// Reads the section, which is all that is left.
pub(super) fn read<'a>(reader: &mut ByteReader<'a>) -> Result<Vec<Item<'a>>> {
    let number = u32::from_le_bytes(reader.take()?) as usize;
    if number == 0 || number.saturating_mul(SHORTEST_NAME) > reader.rest.len() {
        return malformed("expected sizes that agree with the length, got others");
    }
    let (mut names, mut encoded) = (memory::room_for(number)?, memory::room_for(number)?);
    for _ in 0..number {
        let start = reader.rest;
        let tag = reader.byte()?;
        let length = u32::from_le_bytes(reader.take()?) as usize;
        names.push(item_of(tag, reader.slice(length)?)?);
        encoded.push(&start[..SHORTEST_NAME + length]);
    }
    if !reader.rest.is_empty() {
        return malformed("expected sizes that agree with the length, got others");
    }
    encoded.sort_unstable();
    if encoded.windows(2).any(|pair| pair[0] == pair[1]) {
        return malformed("expected names that differ, got one twice");
    }
    Ok(names)
}

fn item_of(tag: u8, content: &[u8]) -> Result<Item<'_>> {
    match tag {
        TEXT => match str::from_utf8(content) {
            Ok(text) => Ok(Item::Text(text)),
            Err(_) => malformed("expected names in UTF-8, got other bytes"),
        },
        BYTES => Ok(Item::Bytes(content)),
        INTEGER if content.is_empty() || integer_length(content) != content.len() => {
            malformed("expected integers in their shortest form, got a longer one")
        }
        INTEGER => Ok(integer_of(content)),
        INSTANT => in_range(Item::instant(i64::from_le_bytes(*fixed(content)?))),
        DATE => in_range(Item::date(i32::from_le_bytes(*fixed(content)?))),
        UUID => fixed(content).map(Item::Uuid),
        other => malformed(format!("expected names of type 1 to 6, got {other}")),
    }
}

/// The content of a type whose names all have N bytes.
fn fixed<const N: usize>(content: &[u8]) -> Result<&[u8; N]> {
    match content.try_into() {
        Ok(bytes) => Ok(bytes),
        Err(_) => malformed("expected names of the length of their type, got another"),
    }
}

fn in_range(item: Option<Item<'_>>) -> Result<Item<'_>> {
    item.map_or_else(
        || malformed("expected times in the years 1 to 9999, got another"),
        Ok,
    )
}

/// The integer as the binding makes it: in 64 bits where they suffice.
fn integer_of(content: &[u8]) -> Item<'_> {
    if content.len() > LONGEST_SMALL {
        return Item::Wide(content);
    }
    let mut bytes = [sign_of(content); 16];
    bytes[..content.len()].copy_from_slice(content);
    let value = i128::from_le_bytes(bytes);
    if let Ok(signed) = i64::try_from(value) {
        return Item::Signed(signed);
    }
    u64::try_from(value).map_or(Item::Wide(content), Item::Unsigned)
}

/// Bytes of an integer's little-endian two's complement in the form that [`Item::Wide`] has: an
/// eighth of the bits of its absolute value, rounded down, and one more. That is the fewest bytes,
/// and one more for the negative of a power of two whose bits would fill them.
fn integer_length(content: &[u8]) -> usize {
    let sign = sign_of(content);
    let zeros = content.iter().take_while(|&&byte| byte == 0).count();
    // The position after the last byte that differs from the sign.
    let significant = content.iter().rposition(|&byte| byte != sign);
    let used = significant.map_or(0, |position| position + 1);
    match used.checked_sub(1).map(|last| content[last]) {
        None => 1,
        Some(top) if (top ^ sign) & 0x80 != 0 => used + 1,
        Some(0x80) if zeros == used - 1 => used + 1,
        Some(_) => used,
    }
}

/// The byte that extends an integer; 0 for an empty one.
fn sign_of(content: &[u8]) -> u8 {
    match content.last() {
        Some(byte) if byte & 0x80 != 0 => 0xFF,
        _ => 0,
    }
}

fn length_of(length: usize) -> Result<u32> {
    u32::try_from(length)
        .map_err(|_| Error::parameter("names", "fewer than 2^32 names and bytes of one", length))
}
