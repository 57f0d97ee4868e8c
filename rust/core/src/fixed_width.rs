//! Values of one width, as arrays of NumPy hold them: code points of 32 bits each to UTF-8, and the
//! zeros that fill a value that is shorter.

use crate::simd::widest;

widest! {
    /// Writes the low byte of each code point to `out`, and all bits that one of them has to `bits`.
    fn low_bytes, low_bytes_at(points: &[u32], out: &mut [u8], bits: &mut u32) = low_bytes_loop
}

#[inline(always)]
fn low_bytes_loop(points: &[u32], out: &mut [u8], bits: &mut u32) {
    let mut seen = 0;
    for (out, &point) in out.iter_mut().zip(points) {
        seen |= point;
        *out = point as u8;
    }
    *bits = seen;
}

/// The part of a value before the zeros at its end.
#[inline]
pub fn without_zeros<T: Copy + Default + PartialEq>(value: &[T]) -> &[T] {
    let zero = T::default();
    if value.last().is_some_and(|&last| last != zero) {
        return value;
    }
    let mut end = value.len();
    // Short values of a wide type: eight zeros in one comparison.
    while end >= 8
        && value[end - 8..end]
            .iter()
            .fold(true, |all, &it| all & (it == zero))
    {
        end -= 8;
    }
    let last = value[..end].iter().rposition(|&unit| unit != zero);
    &value[..last.map_or(0, |last| last + 1)]
}

/// Code points as one ASCII text, written to the beginning of `out`, which is at least as long;
/// `None` if one of them is another character or none.
#[inline]
pub fn ascii_of<'a>(points: &[u32], out: &'a mut [u8]) -> Option<&'a str> {
    let (out, mut bits) = (&mut out[..points.len()], 0);
    low_bytes(points, out, &mut bits);
    if bits >= 0x80 {
        return None;
    }
    str::from_utf8(out).ok()
}

/// Code points as UTF-8, written to the beginning of `out`, which is at least four times as long;
/// `None` if one of them is no character.
#[inline]
pub fn utf8_of<'a>(points: &[u32], out: &'a mut [u8]) -> Option<&'a str> {
    let (mut bits, mut end) = (0, points.len());
    low_bytes(points, out, &mut bits);
    if bits >= 0x80 {
        end = 0;
        for &point in points {
            let character = char::from_u32(point)?;
            end += character.encode_utf8(&mut out[end..]).len();
        }
    }
    str::from_utf8(&out[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Width;

    #[test]
    fn bytes_and_bits_are_those_of_each_point_at_every_width() {
        for width in Width::all() {
            for length in 0..140 {
                for place in 0..length.max(1) {
                    for other in [0, 0x41, 0x7F, 0x80, 0x100, 0xFF00, 0x1_0000, 0xFFFF_FFFF] {
                        let mut points: Vec<u32> = (0..length).map(|at| 0x20 + at % 96).collect();
                        if let Some(point) = points.get_mut(place as usize) {
                            *point = other;
                        }
                        let (mut out, mut bits) = (vec![0xAA; points.len()], 0);
                        low_bytes_at(width, &points, &mut out, &mut bits);
                        assert_eq!(bits, points.iter().fold(0, |all, point| all | point));
                        for (&point, &byte) in points.iter().zip(&out) {
                            assert_eq!(byte, (point & 0xFF) as u8, "{width:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_are_left_out_at_the_end_alone() {
        for length in 0..40 {
            for end in 0..=length {
                let mut value: Vec<u32> = (0..length).map(|at| at % 3).collect();
                value[end as usize..].fill(0);
                let mut expected = value.clone();
                while expected.last() == Some(&0) {
                    expected.pop();
                }
                assert_eq!(without_zeros(&value), expected);
                let bytes: Vec<u8> = value.iter().map(|&unit| unit as u8).collect();
                assert_eq!(without_zeros(&bytes).len(), expected.len());
            }
        }
    }

    #[test]
    fn texts_equal_those_of_the_standard_library() {
        let beside = [
            "",
            "a",
            "\0",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{ffff}",
            "\u{10ffff}",
        ];
        for text in beside {
            for length in [0, 1, 15, 16, 17, 64, 200] {
                let whole = "x".repeat(length) + text + &"y".repeat(length);
                let points: Vec<u32> = whole.chars().map(u32::from).collect();
                let mut out = vec![0xAA; 4 * points.len()];
                let expected = whole.is_ascii().then_some(whole.as_str());
                assert_eq!(ascii_of(&points, &mut out), expected);
                assert_eq!(utf8_of(&points, &mut out), Some(whole.as_str()));
            }
        }
    }

    #[test]
    fn what_is_no_character_is_no_text() {
        for other in [0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x11_0000, u32::MAX] {
            let (points, mut out) = ([0x61, other, 0x61], [0; 12]);
            assert_eq!(ascii_of(&points, &mut out), None);
            assert_eq!(utf8_of(&points, &mut out), None);
        }
    }
}
