//! For clients that write their header in another order: MsgType (35) put where it belongs.

use crate::codec::number::parse_u64;

const SOH: u8 = 1;

/// Moves MsgType (35) of the whole message at the start of the bytes to its place behind
/// BodyLength (9), when it stands elsewhere. Length and sum stay right; anything else than such a
/// message stays as it is.
///
/// The standard wants 8, 9 and 35 first, and a session takes everything else for garbled. Some
/// clients sort their fields by tag instead, and some venues let them.
pub fn lead_with_msg_type(stream: &mut [u8]) {
    let Some((start, end)) = body(stream) else { return };
    let Some(rest) = stream.get_mut(start..end) else { return };
    if rest.starts_with(b"35=") {
        return;
    }
    let Some(before) = rest.windows(4).position(|window| window == b"\x0135=") else { return };
    let tail = rest.get(before + 1..).unwrap_or_default();
    let Some(len) = tail.iter().position(|byte| *byte == SOH).map(|at| at + 1) else { return };
    if let Some(moved) = rest.get_mut(..before + 1 + len) {
        moved.rotate_right(len);
    }
}

/// Where the fields behind BodyLength (9) start, and CheckSum (10).
fn body(stream: &[u8]) -> Option<(usize, usize)> {
    let begin =
        stream.iter().position(|byte| *byte == SOH).filter(|_| stream.starts_with(b"8="))?;
    let length = stream.get(begin + 1..)?.strip_prefix(b"9=")?;
    let digits = length.iter().take(12).position(|byte| *byte == SOH)?;
    let bytes = usize::try_from(parse_u64(length.get(..digits)?)?).ok()?;
    let start = begin + 1 + 2 + digits + 1;
    let end = start.checked_add(bytes)?;
    stream.get(end..)?.starts_with(b"10=").then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::lead_with_msg_type;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    fn led(text: &str) -> String {
        let mut bytes = text.replace('|', "\x01").into_bytes();
        lead_with_msg_type(&mut bytes);
        String::from_utf8(bytes).unwrap().replace('\x01', "|")
    }

    #[test]
    fn the_type_comes_first_and_the_rest_stays_in_order() {
        let sorted = "8=FIX.4.4|9=23|34=1|35=A|49=B|56=C|0=|10=000|8=FIX.4.4|9=";
        let led_one = "8=FIX.4.4|9=23|35=A|34=1|49=B|56=C|0=|10=000|8=FIX.4.4|9=";
        assert_eq!(led(sorted), led_one);
        assert_eq!(led(led_one), led_one);
    }

    #[test]
    fn what_is_no_whole_message_stays_as_it_is() {
        for text in [
            "",
            "8=FIX.4.4|9=23|34=1|35=A|49=B|",
            "8=FIX.4.4|9=22|34=1|35=A|49=B|56=C|0=|10=000|",
            "9=5|34=1|35=A|10=000|",
            "8=F|9=99999999999999999999|34=1|35=A|10=000|",
            "8=F|9=5|34=1|10=000|",
        ] {
            assert_eq!(led(text), text);
        }
    }

    proptest! {
        #[test]
        fn bytes_are_moved_and_never_changed(
            mut bytes in prop::collection::vec(prop::sample::select(&b"\x01=|3589A10"[..]), 0..60),
        ) {
            let mut sorted: Vec<u8> = bytes.clone();
            lead_with_msg_type(&mut bytes);
            bytes.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(bytes, sorted);
        }
    }
}
