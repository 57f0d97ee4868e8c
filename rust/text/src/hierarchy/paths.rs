//! Directories of URL paths.

use memchr::{memchr, memchr_iter, memchr2};

/// Calls with the directories of 1 to `depth` segments, and the whole path. Query, fragment, scheme
/// and host are dropped.
pub(super) fn split(text: &str, depth: usize, with: &mut impl FnMut(usize, &[u8])) -> bool {
    let text = text.as_bytes();
    let text = &text[..memchr2(b'?', b'#', text).unwrap_or(text.len())];
    let path = without_host(text);
    if path.first() != Some(&b'/') {
        return false;
    }
    let mut ends = memchr_iter(b'/', &path[1..]);
    for level in 0..depth {
        // Without another slash the path is its own name, here and below.
        let end = ends.next().map_or(path.len(), |slash| slash + 2);
        with(level, &path[..end]);
    }
    with(depth, path);
    true
}

/// Returns what follows a scheme and a host, or all of a text without them.
fn without_host(text: &[u8]) -> &[u8] {
    let Some(mark) = memchr::memmem::find(text, b"://") else {
        return text;
    };
    if memchr(b'/', &text[..mark]).is_some() {
        return text;
    }
    let rest = &text[mark + 3..];
    memchr(b'/', rest).map_or(b"/", |slash| &rest[slash..])
}
