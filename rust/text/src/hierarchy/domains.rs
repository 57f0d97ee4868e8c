//! Domains of DNS names.

use memchr::memrchr_iter;

/// Most characters of a DNS name.
const LONGEST: usize = 253;

/// Calls with the domains of 1 to `depth` labels, and the whole name, in lower case and without the
/// final dot.
pub(super) fn split(text: &str, depth: usize, with: &mut impl FnMut(usize, &[u8])) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if text.as_bytes().iter().all(is_plain) {
        return split_plain(text, depth, with);
    }
    split_plain(&text.to_lowercase(), depth, with)
}

fn split_plain(name: &str, depth: usize, with: &mut impl FnMut(usize, &[u8])) -> bool {
    if name == "." {
        (0..=depth).for_each(|level| with(level, b"."));
        return true;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_long = name.len() > LONGEST && name.chars().count() > LONGEST;
    let name = name.as_bytes();
    let is_empty = |label: &[u8]| label.is_empty();
    if is_long || name.split(|&byte| byte == b'.').any(is_empty) {
        return false;
    }
    let mut begins = memrchr_iter(b'.', name);
    for level in 0..depth {
        let begin = begins.next().map_or(0, |dot| dot + 1);
        with(level, &name[begin..]);
    }
    with(depth, name);
    true
}
