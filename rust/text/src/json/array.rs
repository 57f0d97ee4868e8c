//! The elements of a JSON array as rows, valid or not.
//!
//! Only what separates elements is read: brackets, commas and quotes. An element that is no JSON is
//! a row of its own, which the reader of rows finds malformed; it takes others with it only if its
//! brackets or quotes are open. Where an element is valid, every JSON parser ends it here too.
//!
//! Cost: 1 ns per byte.

use memchr::memchr2;

/// Return the elements of the one array in a body, each ended by a line feed; `None` if the body is
/// no array. Line feeds within an element become carriage returns: between tokens both are white
/// space, and in a string neither is JSON.
pub fn json_elements(body: &[u8]) -> Option<Vec<u8>> {
    let rest = after_space(body).strip_prefix(b"[")?;
    let mut rows = Vec::with_capacity(body.len());
    let mut rest = after_space(rest);
    if let Some(after) = rest.strip_prefix(b"]") {
        return after_space(after).is_empty().then_some(rows);
    }
    loop {
        let end = end_of_element(rest)?;
        let start = rows.len();
        rows.extend_from_slice(&rest[..end]);
        for byte in &mut rows[start..] {
            if *byte == b'\n' {
                *byte = b'\r';
            }
        }
        rows.push(b'\n');
        let is_last = rest[end] == b']';
        rest = after_space(&rest[end + 1..]);
        if is_last {
            return rest.is_empty().then_some(rows);
        }
    }
}

/// Return the position of the comma or bracket after an element.
fn end_of_element(rest: &[u8]) -> Option<usize> {
    let mut depth = 0_i64;
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b',' | b']' if depth == 0 => return Some(at),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'"' => at += length_of_string(&rest[at + 1..])?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Return the number of bytes up to and including the closing quote.
fn length_of_string(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', rest.get(at..)?)?;
        if rest[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn after_space(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = text.iter().position(|byte| !is_space(byte));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::json_elements;

    #[test]
    fn elements_are_rows() {
        for (body, rows) in [
            (&b"[]"[..], &b""[..]),
            (b" [ \n] ", b""),
            (b"[1,2]", b"1\n2\n"),
            (
                b"[{\"a\": [1, 2],\n\"b\": \"],\"}, \"\\\"]\" ]",
                b"{\"a\": [1, 2],\r\"b\": \"],\"}\n\"\\\"]\" \n",
            ),
            (b"[1,]", b"1\n\n"),
            (b"[,]", b"\n\n"),
            (b"[tru, \xff,\"a\nb\"]", b"tru\n\xff\n\"a\rb\"\n"),
            (b"[\"\\\\\", 2]", b"\"\\\\\"\n2\n"),
        ] {
            assert_eq!(json_elements(body).as_deref(), Some(rows), "{body:?}");
        }
    }

    #[test]
    fn what_is_no_array_has_no_elements() {
        for body in [
            &b""[..],
            b"{}",
            b"[",
            b"[1",
            b"[\"a]",
            b"[1] 2",
            b"[[1]",
            b"[}]",
            b"x[]",
            b"[\"\\",
            b"[{\"a\": 1]",
        ] {
            assert_eq!(json_elements(body), None, "{body:?}");
        }
    }
}
