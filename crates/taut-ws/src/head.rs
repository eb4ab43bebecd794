//! The head of an HTTP/1.1 message (RFC 9112): a start line and headers, to the empty line.
//!
//! It arrives in any pieces and is kept whole, up to a limit; each byte is looked at once while it
//! arrives, and a few times when it is there.

use crate::error::HandshakeFault;

const END: &[u8] = b"\r\n\r\n";

/// How much of a head has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    bytes: usize,
}

impl Collected {
    /// Takes bytes into the buffer, and none beyond the head's end: how many, and whether it is
    /// there. `may_start` says whether a head can start with these bytes.
    ///
    /// # Errors
    /// Another start, or a head that is longer than the buffer.
    pub fn take(
        &mut self,
        buffer: &mut [u8],
        bytes: &[u8],
        may_start: fn(&[u8]) -> bool,
    ) -> Result<(usize, bool), HandshakeFault> {
        let before = self.bytes;
        let room = buffer.get_mut(before..).unwrap_or(&mut []);
        let taken = bytes.len().min(room.len());
        if let (Some(place), Some(bytes)) = (room.get_mut(..taken), bytes.get(..taken)) {
            place.copy_from_slice(bytes);
        }
        self.bytes += taken;
        let head = buffer.get(..self.bytes).unwrap_or(&[]);
        if !may_start(head) {
            return Err(HandshakeFault::NotHttp);
        }
        // The end may have begun three bytes ago.
        let from = before.saturating_sub(END.len() - 1);
        let unseen = head.get(from..).unwrap_or(&[]);
        match unseen.windows(END.len()).position(|window| window == END) {
            Some(at) => {
                self.bytes = from + at + END.len();
                Ok((self.bytes - before, true))
            }
            None if self.bytes == buffer.len() => Err(HandshakeFault::HeadBytes),
            None => Ok((taken, false)),
        }
    }

    /// How long the head is so far.
    pub const fn bytes(self) -> usize {
        self.bytes
    }
}

/// Whether a request can start so: with a method in capitals.
pub fn may_be_request(head: &[u8]) -> bool {
    head.iter().take(8).take_while(|byte| **byte != b' ').all(u8::is_ascii_uppercase)
}

/// Whether an answer can start so.
pub fn may_be_answer(head: &[u8]) -> bool {
    head.iter().zip(b"HTTP/1.1 ").all(|(found, expected)| found == expected)
}

/// A head that is whole, and every line of it well formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    start_line: &'a str,
    headers: &'a str,
}

impl<'a> Head<'a> {
    /// # Errors
    /// A line is malformed, or folded, or not UTF-8.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, HandshakeFault> {
        let text = core::str::from_utf8(bytes).map_err(|_| HandshakeFault::Head)?;
        let text = text.strip_suffix("\r\n\r\n").ok_or(HandshakeFault::Head)?;
        let (start_line, headers) = text.split_once("\r\n").unwrap_or((text, ""));
        let head = Self { start_line, headers };
        let well_formed = |line| split(line).is_some_and(|(_, value)| is_value(value));
        let all = head.lines().all(well_formed) && is_value(start_line);
        if all { Ok(head) } else { Err(HandshakeFault::Head) }
    }

    pub const fn start_line(&self) -> &'a str {
        self.start_line
    }

    fn lines(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let lines = self.headers.split("\r\n");
        // Nothing at all is no line.
        lines.take(if self.headers.is_empty() { 0 } else { usize::MAX })
    }

    /// Names and values, as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.lines().filter_map(split)
    }

    /// The values of a header, in order.
    pub fn all<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        let named = move |(found, value): (&str, &'a str)| {
            found.eq_ignore_ascii_case(name).then_some(value)
        };
        self.headers().filter_map(named)
    }

    /// The value of a header that is there once.
    pub fn once(&self, name: &str) -> Option<&'a str> {
        let mut values = self.all(name);
        let first = values.next()?;
        values.next().is_none().then_some(first)
    }

    /// The items of a header that is a list.
    pub fn items<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        let items = self.all(name).flat_map(|value| value.split(','));
        items.map(|item| item.trim_matches([' ', '\t'])).filter(|item| !item.is_empty())
    }

    /// Whether a list has an item, whatever its case.
    pub fn has_item(&self, name: &str, item: &str) -> bool {
        self.items(name).any(|found| found.eq_ignore_ascii_case(item))
    }
}

impl core::fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Headers hold cookies and tokens.
        f.debug_struct("Head").field("start_line", &self.start_line).finish_non_exhaustive()
    }
}

fn split(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    is_token(name).then(|| (name, value.trim_matches([' ', '\t'])))
}

/// Whether it is a token (RFC 9110, 5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_good)
}

/// Whether it can be a header's value, or a part of a line: no control characters but the tab.
pub fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX: 1,, 2 \r\nx:\t3\t\r\nEmpty:\r\n\r\n";

    #[test]
    fn a_head_in_any_two_pieces_or_byte_by_byte_is_the_same_head() {
        for cut in 0..=HEAD.len() {
            let mut buffer = [0; 100];
            let mut collected = Collected::default();
            let first = collected.take(&mut buffer, &HEAD[..cut], may_be_request).unwrap();
            assert_eq!(first, (cut, cut == HEAD.len()));
            if !first.1 {
                let rest = [&HEAD[cut..], b"beyond"].concat();
                let second = collected.take(&mut buffer, &rest, may_be_request).unwrap();
                assert_eq!(second, (HEAD.len() - cut, true), "cut at {cut}");
            }
            assert_eq!(&buffer[..collected.bytes()], HEAD);
        }
        let (mut buffer, mut collected) = ([0; 100], Collected::default());
        for (at, byte) in HEAD.iter().enumerate() {
            let taken = collected.take(&mut buffer, &[*byte], may_be_request).unwrap();
            assert_eq!(taken, (1, at + 1 == HEAD.len()));
        }
    }

    #[test]
    fn a_head_longer_than_the_buffer_or_with_another_start_is_refused_at_once() {
        let mut buffer = vec![0; HEAD.len() - 1];
        let made = Collected::default().take(&mut buffer, HEAD, may_be_request);
        assert_eq!(made, Err(HandshakeFault::HeadBytes));
        let mut collected = Collected::default();
        assert!(collected.take(&mut buffer, b"GE", may_be_request).is_ok());
        assert_eq!(
            collected.take(&mut buffer, b"\0", may_be_request),
            Err(HandshakeFault::NotHttp)
        );
        let made = Collected::default().take(&mut buffer, b"\x16\x03\x01", may_be_request);
        assert_eq!(made, Err(HandshakeFault::NotHttp), "TLS on a plain port");
        let made = Collected::default().take(&mut buffer, b"HTTP/2", may_be_answer);
        assert_eq!(made, Err(HandshakeFault::NotHttp));
    }

    #[test]
    fn headers_are_found_whatever_their_case_and_lists_over_several_lines() {
        let head = Head::parse(HEAD).unwrap();
        assert_eq!(head.start_line(), "GET / HTTP/1.1");
        assert_eq!((head.once("host"), head.once("HOST")), (Some("a"), Some("a")));
        assert_eq!(head.items("x").collect::<Vec<_>>(), ["1", "2", "3"]);
        assert_eq!((head.once("x"), head.once("empty"), head.once("y")), (None, Some(""), None));
        assert!(head.has_item("X", "3") && !head.has_item("x", ""));
        assert!(Head::parse(b"GET / HTTP/1.1\r\n\r\n").unwrap().headers().next().is_none());
    }

    #[test]
    fn malformed_lines_are_refused() {
        for line in ["no colon", " folded: 1", "a b: 1", ": 1", "a: \u{1}", "a: b\nc", "a\t: 1"] {
            let text = std::format!("GET / HTTP/1.1\r\n{line}\r\n\r\n");
            assert_eq!(Head::parse(text.as_bytes()), Err(HandshakeFault::Head), "{line:?}");
        }
        assert_eq!(Head::parse(b"GET / HTTP/1.1\r\na: \xff\r\n\r\n"), Err(HandshakeFault::Head));
    }
}
