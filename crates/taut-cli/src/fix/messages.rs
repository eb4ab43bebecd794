//! Messages out of files: with SOH, `|` or `^A` between the fields, one on a line or one after the
//! other, with whatever a log puts in front of them.

use std::path::Path;

use crate::exit::Failure;

const SOH: u8 = 1;
/// The first field and its delimiter: FIXT.1.1 is the longest, and a dialect may have a longer one.
const BEGIN_BYTES_MAX: usize = 64;

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
/// A delimiter of two bytes leaves the length unknown.
fn announced_length(message: &[u8], delimiter: &[u8]) -> Option<usize> {
    let [delimiter] = *delimiter else { return None };
    let head = message.get(..2 * BEGIN_BYTES_MAX).unwrap_or(message);
    let mut fields = head.split(|byte| *byte == delimiter);
    let (begin, length) = (fields.next()?, fields.next()?);
    let digits = std::str::from_utf8(length.strip_prefix(b"9=")?).ok()?;
    let body = begin.len() + length.len() + 2;
    let sum = body.checked_add(digits.parse().ok()?)?;
    let is_delimited = message.get(sum.checked_sub(1)?) == Some(&delimiter);
    match message.get(sum..sum.checked_add(7)?)? {
        [b'1', b'0', b'=', digits @ .., last]
            if is_delimited && *last == delimiter && digits.iter().all(u8::is_ascii_digit) =>
        {
            Some(sum + 7)
        }
        _ => None,
    }
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
    use super::split;

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
