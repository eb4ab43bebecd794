//! A book's data as Deribit writes them: every field in its usual place, told by whole pieces of
//! text.
//!
//! What is written in any other way, or is wrong, is not read here but field by field, by
//! [`read_any_book`]: both say the same about what this one reads.

use taut_types::Side;

use super::levels::{BookHead, Reading, read_any_book};
use crate::chained::Link;
use crate::error::MarketDataError;
use crate::scan::Scanner;

/// Reads the data of a book's channel, and takes them.
#[inline]
pub(super) fn read_book(
    scanner: &mut Scanner<'_>,
    instrument: &[u8],
    mut reading: Reading<'_>,
) -> Result<BookHead, MarketDataError> {
    let mut usual = scanner.clone();
    if let Some(head) = read_usual(&mut usual, instrument, &mut reading) {
        scanner.back_to(usual.rest());
        return Ok(head);
    }
    read_any_book(scanner, &mut reading)
}

/// Reads the data of the channel of this instrument, or gives nothing if they have another form.
#[inline]
fn read_usual(
    scanner: &mut Scanner<'_>,
    instrument: &[u8],
    reading: &mut Reading<'_>,
) -> Option<BookHead> {
    let is_change = scanner.literal(b"{\"type\":\"change\",\"timestamp\":").is_some();
    if !is_change {
        scanner.literal(b"{\"type\":\"snapshot\",\"timestamp\":")?;
    }
    let time_ms = scanner.number()?;
    let mut previous = None;
    if is_change {
        scanner.literal(b",\"prev_change_id\":")?;
        previous = Some(scanner.number()?);
    }
    scanner.literal(b",\"instrument_name\":\"")?;
    scanner.back_to(scanner.rest().strip_prefix(instrument)?);
    scanner.literal(b"\",\"change_id\":")?;
    let id = scanner.number()?;
    scanner.literal(b",\"bids\":")?;
    reading.side(scanner, Side::Buy)?;
    scanner.literal(b",\"asks\":")?;
    reading.side(scanner, Side::Sell)?;
    scanner.literal(b"}")?;
    let link = previous.map_or(Link::Snapshot(id), |previous| Link::Change(previous, id));
    Some(BookHead { time_ms, link, has_unknown_action: reading.has_unknown_action })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::AmountScale;
    use crate::chained::FrameLevels;
    use crate::deribit::levels::Columns;
    use std::string::String;
    use std::vec::Vec;

    const SCALE: AmountScale = AmountScale::of_decimals(1);
    const FRAMES: [&str; 3] = [
        concat!(
            r#"{"type":"change","timestamp":5,"prev_change_id":6,"instrument_name":"X","#,
            r#""change_id":7,"bids":[],"asks":[["new",0.001,2.6],["delete",2.288e-5,0.0]]}"#,
        ),
        concat!(
            r#"{"type":"snapshot","timestamp":5,"instrument_name":"X","change_id":7,"#,
            r#""bids":[["new",0.0015,4714.0],["new",0.001,861.0]],"asks":[["new",0.5,1.0]]}"#,
        ),
        concat!(
            r#"{"type":"change","timestamp":5,"prev_change_id":6,"instrument_name":"X","#,
            r#""change_id":7,"bids":[["change",1.0,2.0],["replace",1.5,1.0]],"asks":[]}"#,
        ),
    ];

    type Read = (BookHead, [Vec<crate::chained::FrameLevel>; 2]);

    fn both(text: &str) -> (Option<Read>, Option<Read>) {
        let read = |is_usual: bool| {
            let (mut levels, mut columns) = (FrameLevels::new(8), Columns::default());
            let mut reading = Reading::begin(&mut levels, &mut columns, SCALE);
            let mut scanner = Scanner::new(text.as_bytes());
            let head = match is_usual {
                true => read_usual(&mut scanner, b"X", &mut reading)?,
                false => read_any_book(&mut scanner, &mut reading).ok()?,
            };
            Some((head, levels.sides().map(<[_]>::to_vec)))
        };
        (read(true), read(false))
    }

    #[test]
    fn what_is_read_here_is_read_alike_field_by_field() {
        for frame in FRAMES {
            let (usual, any) = both(frame);
            assert!(usual.is_some() && usual == any, "{frame}");
        }
        for other in ["\"Y\"", "\"\"", "7"] {
            let (usual, any) = both(&FRAMES[0].replace("\"X\"", other));
            assert!(usual.is_none() && any.is_some(), "{other}");
        }
    }

    #[test]
    fn what_is_changed_anywhere_is_read_alike_or_not_here() {
        for frame in FRAMES {
            for at in 0..frame.len() {
                for byte in *b" 09\",]}e." {
                    let mut text = frame.as_bytes().to_vec();
                    text[at] = byte;
                    let text = String::from_utf8(text).unwrap();
                    let (usual, any) = both(&text);
                    assert!(usual.is_none() || usual == any, "{text}");
                }
                assert_eq!(both(&frame[..at]).0, None);
            }
        }
    }
}
