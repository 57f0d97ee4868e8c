//! Networks of addresses.

use super::named::Named;
use std::net::Ipv6Addr;

/// Decimal digits of 0 to 255 and a dot, and how many digits there are.
const OCTETS: [([u8; 4], u8); 256] = octets();

/// Longest name of a network of IPv4 addresses, but for what is written beyond its end.
const LONGEST_IPV4: usize = "255.255.255.255/31..".len();
/// Longest name of a network of IPv6 addresses.
const LONGEST_IPV6: usize = 8 * "ffff:".len() + "/127.".len();

const fn octets() -> [([u8; 4], u8); 256] {
    let mut octets = [([b'.'; 4], 1); 256];
    let mut value = 0;
    while value < 256 {
        let digits = [
            b'0' + (value / 100) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        ];
        octets[value] = match value {
            0..=9 => ([digits[2], b'.', b'.', b'.'], 1),
            10..=99 => ([digits[1], digits[2], b'.', b'.'], 2),
            _ => ([digits[0], digits[1], digits[2], b'.'], 3),
        };
        value += 1;
    }
    octets
}

/// Text of limited length that is built on the stack.
struct Built<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Built<N> {
    fn new() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// Appends digits; the dots after them are beyond the end. Copying a fixed number of bytes takes
    /// less time than counting them.
    #[inline]
    fn push_decimal(&mut self, value: u8) {
        let (text, digits) = OCTETS[usize::from(value)];
        self.bytes[self.length..self.length + text.len()].copy_from_slice(&text);
        self.length += usize::from(digits);
    }

    fn push_hexadecimal(&mut self, value: u16) {
        let digits = (16 - value.leading_zeros()).div_ceil(4).max(1);
        for position in (0..digits).rev() {
            self.push(b"0123456789abcdef"[usize::from(value >> (4 * position) & 15)]);
        }
    }

    /// Appends the bits of a prefix, unless they are all bits of the address.
    #[inline]
    fn push_length(&mut self, length: u32, bits: u32) {
        if length < bits {
            self.push(b'/');
            self.push_decimal(length as u8);
        }
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Returns the address that an item is: four decimal numbers without leading zeros, or an integer.
#[inline]
pub(super) fn ipv4(item: Named<'_>) -> Option<u32> {
    let text = match item {
        Named::Text(text) => text.as_bytes(),
        Named::Number(number) => return u32::try_from(number).ok(),
    };
    let (mut address, mut dots) = (0_u32, 0);
    let (mut octet, mut digits) = (0_u32, 0);
    for &byte in text {
        if byte == b'.' {
            if digits == 0 || dots == 3 {
                return None;
            }
            address = address << 8 | octet;
            (octet, digits) = (0, 0);
            dots += 1;
            continue;
        }
        let digit = byte.wrapping_sub(b'0');
        // A zero is followed by no digit.
        if digit > 9 || (digits > 0 && octet == 0) {
            return None;
        }
        octet = 10 * octet + u32::from(digit);
        digits += 1;
        if octet > 255 {
            return None;
        }
    }
    (dots == 3 && digits > 0).then_some(address << 8 | octet)
}

/// Returns the address that an item is; a zone, as in `fe80::1%eth0`, is dropped.
pub(super) fn ipv6(item: Named<'_>) -> Option<u128> {
    let text = match item {
        Named::Text(text) => text,
        Named::Number(number) => return Some(number),
    };
    let address = match text.split_once('%') {
        None => text,
        Some((address, zone)) if !zone.is_empty() && !zone.contains(['%', '/']) => address,
        Some(_) => return None,
    };
    address.parse::<Ipv6Addr>().ok().map(u128::from)
}

/// Calls with the name of the network of an address.
#[inline]
pub(super) fn with_ipv4(address: u32, length: u32, with: impl FnOnce(&[u8])) {
    let rest = 32 - length;
    let mut name = Built::<LONGEST_IPV4>::new();
    for octet in (address >> rest << rest).to_be_bytes() {
        name.push_decimal(octet);
        name.length += 1; // the dot
    }
    name.length -= 1;
    name.push_length(length, 32);
    with(name.as_bytes());
}

/// Calls with the name of the network of an address, in lower case. The longest run of two groups
/// or more that are zero is left out, the first one of equal runs. The last groups are never
/// decimal: the same name in every version of Python.
pub(super) fn with_ipv6(address: u128, length: u32, with: impl FnOnce(&[u8])) {
    let rest = 128 - length;
    let first = address >> rest << rest;
    let groups: [u16; 8] = std::array::from_fn(|at| (first >> (16 * (7 - at))) as u16);
    let (begin, end) = longest_zeros(&groups);
    let mut name = Built::<LONGEST_IPV6>::new();
    for (position, &group) in groups.iter().enumerate() {
        if (begin..end).contains(&position) {
            if position == begin {
                name.push(b':');
                name.push(b':');
            }
            continue;
        }
        if position > 0 && position != end {
            name.push(b':');
        }
        name.push_hexadecimal(group);
    }
    name.push_length(length, 128);
    with(name.as_bytes());
}

/// Returns where the longest run of zeros begins and ends; beyond the last group without a run.
fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let (mut begin, mut end, mut length) = (8, 8, 1);
    let mut zeros = 0;
    for (position, &group) in groups.iter().enumerate() {
        zeros = if group == 0 { zeros + 1 } else { 0 };
        if zeros > length {
            (begin, end, length) = (position + 1 - zeros, position + 1, zeros);
        }
    }
    (begin, end)
}
