//! Messages whose numbers are not those that come next.

use crate::front::Output;

/// How far off they are.
const OFF: u64 = 1_000;
const SOH: u8 = 1;

/// The same with other numbers: `change_id` and `prev_change_id`, `seqId` and `prevSeqId`, `U` and
/// `u` of a depth update, in SBE too, MsgSeqNum (34) of the first message of FIX. Nothing of a
/// message that has none.
pub(super) fn shifted(output: &Output) -> Option<Output> {
    match output {
        Output::Text { connection, text } => {
            let text = if text.contains("\"e\":\"depthUpdate\"") {
                shift_after(&shift_after(text, "\"U\":")?, "\"u\":")?
            } else if text.contains("\"prevSeqId\":") {
                shift_after(&shift_after(text, "\"seqId\":")?, "\"prevSeqId\":").or_else(|| {
                    // A snapshot has none before it.
                    shift_after(text, "\"seqId\":")
                })?
            } else {
                shift_after(text, "change_id\":")?
            };
            Some(Output::Text { connection: *connection, text })
        }
        Output::Message { connection, bytes } => {
            Some(Output::Message { connection: *connection, bytes: shift_sbe(bytes)? })
        }
        Output::Bytes { connection, bytes } => {
            Some(Output::Bytes { connection: *connection, bytes: shift_fix(bytes)? })
        }
        _ => None,
    }
}

/// Each number behind this key is larger; nothing where there is none.
fn shift_after(text: &str, key: &str) -> Option<String> {
    let mut parts = text.split(key);
    let mut shifted = parts.next()?.to_owned();
    let mut count = 0;
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        shifted += key;
        match number.parse::<u64>() {
            Ok(number) => {
                shifted += &(number + OFF).to_string();
                count += 1;
            }
            Err(_) => shifted += number,
        }
        shifted += rest;
    }
    (count > 0).then_some(shifted)
}

/// A depth update of the SBE streams with larger numbers; nothing of another message.
fn shift_sbe(message: &[u8]) -> Option<Vec<u8>> {
    /// Its template, where that stands in the header, and where its two numbers stand.
    const TEMPLATE: [u8; 2] = 10_003_u16.to_le_bytes();
    const TEMPLATE_AT: usize = 2;
    const NUMBERS_AT: [usize; 2] = [8 + 8, 8 + 16];
    if message.get(TEMPLATE_AT..TEMPLATE_AT + 2)? != TEMPLATE {
        return None;
    }
    let mut shifted = message.to_vec();
    for at in NUMBERS_AT {
        let number: &mut [u8; 8] = shifted.get_mut(at..at + 8)?.try_into().ok()?;
        *number = u64::from_le_bytes(*number).wrapping_add(OFF).to_le_bytes();
    }
    Some(shifted)
}

/// The first message with another MsgSeqNum (34), its BodyLength (9) and CheckSum (10) to it.
fn shift_fix(bytes: &[u8]) -> Option<Vec<u8>> {
    let find = |from: usize, tag: &[u8]| {
        let at = bytes.get(from..)?.windows(tag.len()).position(|it| it == tag)?;
        Some(from + at + 1)
    };
    let length = find(0, b"\x019=")?;
    let body = find(length, b"\x01")?;
    let trailer = find(body, b"\x0110=")?;
    let number = find(body, b"\x0134=")? + 3;
    let number_end = find(number, b"\x01")? - 1;
    let end = find(trailer, b"\x01")?;
    let was: u64 = std::str::from_utf8(bytes.get(number..number_end)?).ok()?.parse().ok()?;
    let mut inner = bytes.get(body..number)?.to_vec();
    inner.extend((was + OFF).to_string().bytes());
    inner.extend(bytes.get(number_end..trailer)?);
    let mut message = bytes.get(..length)?.to_vec();
    message.extend(format!("9={}", inner.len()).bytes());
    message.push(SOH);
    message.extend(inner);
    let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    message.extend(format!("10={sum:03}").bytes());
    message.push(SOH);
    message.extend(bytes.get(end..)?);
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_each_language_are_shifted_and_nothing_else() {
        let text = |text: &str| Output::Text { connection: 1, text: text.to_owned() };
        for (was, is) in [
            (
                r#"{"prev_change_id":7,"change_id":9,"price":5}"#,
                r#"{"prev_change_id":1007,"change_id":1009,"price":5}"#,
            ),
            (
                r#"{"e":"depthUpdate","E":1,"U":10,"u":12,"b":[["1","2"]]}"#,
                r#"{"e":"depthUpdate","E":1,"U":1010,"u":1012,"b":[["1","2"]]}"#,
            ),
            (r#"{"seqId":9,"prevSeqId":7}"#, r#"{"seqId":1009,"prevSeqId":1007}"#),
            (r#"{"seqId":9,"prevSeqId":-1}"#, r#"{"seqId":1009,"prevSeqId":-1}"#),
        ] {
            assert_eq!(shifted(&text(was)), Some(text(is)));
        }
        assert_eq!(shifted(&text(r#"{"u":12,"b":"1"}"#)), None);
        let sbe = |template: u16, number: u64| {
            let numbers = [number, number + 2].map(u64::to_le_bytes).concat();
            let head = [26, template, 1, 0].map(u16::to_le_bytes).concat();
            Output::Message { connection: 3, bytes: [head, vec![7; 8], numbers, vec![9]].concat() }
        };
        assert_eq!(shifted(&sbe(10_003, 5)), Some(sbe(10_003, 1_005)));
        assert_eq!(shifted(&sbe(10_000, 5)), None);
        let fix = |sequence: u32, length: u32, sum: &str| {
            let text = format!("8=FIX.4.4|9={length}|35=0|49=A|34={sequence}|10={sum}|8=NEXT");
            let bytes = text.replace('|', "\x01").into_bytes();
            Output::Bytes { connection: 2, bytes }
        };
        let sum = |text: &str| {
            let sum: u32 = text.replace('|', "\x01").bytes().map(u32::from).sum();
            format!("{:03}", sum % 256)
        };
        let is = sum("8=FIX.4.4|9=18|35=0|49=A|34=1007|");
        assert_eq!(shifted(&fix(7, 15, "000")), Some(fix(1_007, 18, &is)));
    }
}
