//! Messages out of files: with SOH, `|` or `^A` between the fields, one on a line or one after the
//! other, with whatever a log puts in front of them.

use std::path::Path;

use crate::exit::Failure;

const SOH: u8 = 1;
/// The first field and its delimiter: FIXT.1.1 is the longest, and a dialect may have a longer one.
const BEGIN_BYTES_MAX: usize = 64;
/// A message that is longer is taken as it is, whole or not.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// One message and where it starts in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// With SOH as the delimiter.
    pub bytes: Vec<u8>,
    /// From the start of the file.
    pub offset: usize,
}

/// What is said of a file in which nothing is a message.
pub fn none_in(path: &Path) -> Failure {
    Failure::Usage(format!("{}: no FIX message; each must begin with 8=FIX", path.display()))
}

/// The messages in the bytes: each from `8=FIX` to the end of its CheckSum (10), or to where the
/// next one or the next line starts.
pub fn split(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = position(bytes, at, b"8=FIX") {
        let rest = bytes.get(start..).unwrap_or_default();
        let delimiter = delimiter(rest);
        let end = start + length(rest, delimiter);
        let raw = bytes.get(start..end).unwrap_or_default();
        found.push(Found { bytes: with_soh(raw, delimiter), offset: start });
        at = end.max(start + 1);
    }
    found
}

/// Splits bytes that come piece by piece, each message as soon as it is whole.
#[derive(Debug, Default)]
pub struct Splitter {
    /// What is not done with.
    rest: Vec<u8>,
    /// Where it begins.
    offset: usize,
}

impl Splitter {
    /// The messages that are whole with this piece.
    pub fn push(&mut self, piece: &[u8]) -> Vec<Found> {
        self.rest.extend_from_slice(piece);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(start) = position(&self.rest, at, b"8=FIX") {
            at = start;
            let message = self.rest.get(start..).unwrap_or_default();
            let delimiter = delimiter(message);
            let len = length(message, delimiter);
            if !is_whole(message, len, delimiter) {
                break;
            }
            let raw = message.get(..len).unwrap_or_default();
            let offset = self.offset + start;
            found.push(Found { bytes: with_soh(raw, delimiter), offset });
            at = start + len.max(1);
        }
        if at == 0 || position(&self.rest, at, b"8=FIX").is_none() {
            // Nothing begins here but what may be the first bytes of the next message.
            let has_begun = self.rest.get(at..).is_some_and(|rest| rest.starts_with(b"8=FIX"));
            at = if has_begun { at } else { at.max(self.rest.len().saturating_sub(4)) };
        }
        self.rest.drain(..at);
        self.offset += at;
        found
    }

    /// What is left at the end of the input.
    pub fn finish(&mut self) -> Vec<Found> {
        let rest = std::mem::take(&mut self.rest);
        let offset = self.offset;
        let found = split(&rest).into_iter();
        found.map(|it| Found { offset: offset + it.offset, ..it }).collect()
    }
}

/// Whether more bytes would not make a message longer.
fn is_whole(message: &[u8], len: usize, delimiter: &[u8]) -> bool {
    // Texts of messages that SOH delimits may hold what looks like an end.
    if delimiter == [SOH]
        && announced_end(message, delimiter).is_some_and(|end| end > message.len())
    {
        return message.len() > MESSAGE_BYTES_MAX;
    }
    let has_sum = || {
        let own = message.get(..len)?.strip_suffix(delimiter)?;
        let sum = own.get(own.len().checked_sub(6 + delimiter.len())?..)?;
        let digits = sum.strip_prefix(delimiter)?.strip_prefix(b"10=")?;
        Some(digits.iter().all(u8::is_ascii_digit))
    };
    len < message.len() || has_sum() == Some(true) || message.len() > MESSAGE_BYTES_MAX
}

/// What stands between the fields of the message: it comes first behind `8=FIX...`.
fn delimiter(message: &[u8]) -> &'static [u8] {
    let known: [&'static [u8]; 3] = [b"\x01", b"|", b"^A"];
    let begin = message.get(..BEGIN_BYTES_MAX).unwrap_or(message);
    let first = |delimiter: &&[u8]| position(begin, 0, delimiter).unwrap_or(usize::MAX);
    known.into_iter().min_by_key(first).unwrap_or(b"\x01")
}

/// To behind the delimiter of CheckSum (10), or to the next start or line.
fn length(message: &[u8], delimiter: &[u8]) -> usize {
    if let Some(length) = announced_length(message, delimiter) {
        return length;
    }
    let trailer = [delimiter, b"10="].concat();
    // No search goes beyond the next message: files are long.
    let next = position(message, 1, b"8=FIX").unwrap_or(message.len());
    let own = message.get(..next).unwrap_or(message);
    // A line ends only a message that is not delimited by SOH: texts of those may hold line feeds.
    let line = position(own, 0, b"\n").filter(|_| delimiter != [SOH]).unwrap_or(next);
    let own = own.get(..line).unwrap_or(own);
    let Some(sum) = position(own, 0, &trailer) else { return line };
    let behind = sum + trailer.len();
    let digits =
        message.get(behind..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit());
    let end = behind + digits.count();
    let closes = message.get(end..).is_some_and(|rest| rest.starts_with(delimiter));
    end + if closes { delimiter.len() } else { 0 }
}

/// What BodyLength (9) says, when a CheckSum stands there: a data field may hold what looks like
/// one.
fn announced_length(message: &[u8], delimiter: &[u8]) -> Option<usize> {
    let end = announced_end(message, delimiter)?;
    let sum = end.checked_sub(7)?;
    let is_delimited = message.get(..sum)?.ends_with(delimiter);
    match message.get(sum..end)? {
        [b'1', b'0', b'=', digits @ .., last]
            if is_delimited && [*last] == delimiter && digits.iter().all(u8::is_ascii_digit) =>
        {
            Some(end)
        }
        _ => None,
    }
}

/// Where a message ends by its BodyLength (9). A delimiter of two bytes leaves it unknown.
fn announced_end(message: &[u8], delimiter: &[u8]) -> Option<usize> {
    let [delimiter] = *delimiter else { return None };
    let head = message.get(..2 * BEGIN_BYTES_MAX).unwrap_or(message);
    let mut fields = head.split(|byte| *byte == delimiter);
    let (begin, length) = (fields.next()?, fields.next()?);
    let digits = std::str::from_utf8(length.strip_prefix(b"9=")?).ok()?;
    let body = begin.len() + length.len() + 2;
    body.checked_add(digits.parse().ok()?)?.checked_add(7)
}

fn with_soh(message: &[u8], delimiter: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len() + 1);
    let mut at = 0;
    while let Some(next) = position(message, at, delimiter) {
        bytes.extend_from_slice(message.get(at..next).unwrap_or_default());
        bytes.push(SOH);
        at = next + delimiter.len();
    }
    let tail = message.get(at..).unwrap_or_default();
    bytes.extend_from_slice(tail.trim_ascii_end());
    if bytes.last() != Some(&SOH) {
        bytes.push(SOH);
    }
    bytes
}

fn position(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::{Splitter, split};

    fn texts(bytes: &[u8]) -> Vec<String> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace('\x01', "|");
        split(bytes).into_iter().map(|found| text(found.bytes)).collect()
    }

    #[test]
    fn finds_messages_with_every_delimiter() {
        let expected = ["8=FIX.4.4|9=5|35=0|10=161|", "8=FIX.4.2|9=5|35=1|10=160|"];
        for delimiter in ["\x01", "|", "^A"] {
            for between in ["", "\n", "\r\n", "\n20240101-00:00:00 < "] {
                let bytes = expected.join(between).replace('|', delimiter);
                assert_eq!(texts(bytes.as_bytes()), expected, "{delimiter:?} {between:?}");
            }
        }
    }

    /// However the pieces are cut, what is found is what is found in the whole.
    #[test]
    fn pieces_give_the_messages_of_the_whole_and_none_waits_for_the_next() {
        let soh = "8=FIX.4.4\x019=22\x0135=B\x0158=a\nb|c\x0110=x8=F\x0110=000\x01";
        let texts = ["8=FIX.4.4|35=D|11=1|10=000|", "8=FIX.4.2|9=5|35=1|11=2|10=160|", soh];
        let whole = texts.map(|text| format!("noise 8=F {text}\n")).concat();
        let expected = split(whole.as_bytes());
        assert_eq!(expected.len(), 3, "{expected:?}");
        for size in 1..whole.len() {
            let mut splitter = Splitter::default();
            let mut found = Vec::new();
            whole.as_bytes().chunks(size).for_each(|piece| found.extend(splitter.push(piece)));
            assert_eq!(found, expected, "pieces of {size}");
            assert!(splitter.finish().is_empty(), "pieces of {size}");
        }
        // A whole message is found before anything follows it; a cut one at the end.
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push(b"8=FIX.4.4|35=D|10=00").len(), 0);
        assert_eq!(splitter.push(b"0|").len(), 1);
        assert_eq!(splitter.push(b"8=FIX.4.4|35=D").len(), 0);
        let last = splitter.finish();
        assert_eq!((last.len(), last[0].offset), (1, 22));
    }

    /// Half a minute and more when every message is a search through all that follow.
    #[test]
    fn a_long_file_is_gone_through_once() {
        for message in ["8=FIX.4.4|35=D|11=1|\n", "8=FIX.4.4\x019=5\x0135=0\x0110=161\x01"] {
            let count = 2_000_000 / message.len();
            assert_eq!(split(message.repeat(count).as_bytes()).len(), count);
        }
    }

    #[test]
    fn messages_may_be_cut() {
        assert_eq!(
            texts(b"8=FIX.4.4|9=5|35=0\n8=FIX.4.4|9"),
            ["8=FIX.4.4|9=5|35=0|", "8=FIX.4.4|9|"]
        );
        assert_eq!(texts(b"8=FIX.4.4|10=1"), ["8=FIX.4.4|10=1|"]);
        assert_eq!(texts(b"nothing"), Vec::<String>::new());
    }
}
