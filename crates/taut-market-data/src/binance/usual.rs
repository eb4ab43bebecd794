//! Frames as Binance writes them: every field in its usual place, told by whole pieces of text.
//!
//! What is written in any other way, or is wrong, is not read here but field by field, by
//! [`Fields::read`]: both say the same about a frame that this one reads.

use taut_types::{Lots, OrderId, Price, Side};

use super::fields::{Fields, Span};
use crate::event::{SequenceRange, Trade};
use crate::scan::Scanner;

/// A frame of a combined stream.
pub(super) struct Usual<'a> {
    /// The stream's name.
    pub(super) stream: &'a [u8],
    pub(super) symbol: &'a [u8],
    /// When it happened, in the venue's unit; nothing when it does not say.
    pub(super) time: Option<u64>,
    pub(super) sequence: SequenceRange,
    pub(super) body: Body,
}

/// What it says.
pub(super) enum Body {
    /// The bids and the asks, which stand in [`Fields`].
    Depth(Span, Span),
    /// The best bid and the best ask.
    Top((Price, Lots), (Price, Lots)),
    Trade(Trade),
}

/// Reads a frame, or gives nothing if it has another form.
#[inline]
pub(super) fn read<'a>(fields: &mut Fields, frame: &'a [u8]) -> Option<Usual<'a>> {
    let mut scanner = Scanner::new(frame);
    scanner.literal(b"{\"stream\":\"")?;
    let stream = scanner.text_tail()?;
    scanner.literal(b",\"data\":{")?;
    let usual = if scanner.literal(b"\"e\":\"depthUpdate\",\"E\":").is_some() {
        depth(fields, &mut scanner, stream)?
    } else if scanner.literal(b"\"e\":\"trade\",\"E\":").is_some() {
        trade(fields, &mut scanner, stream)?
    } else {
        // Spot frames do not say what they are, their streams do.
        let says_kind = scanner.literal(b"\"e\":\"bookTicker\",").is_some();
        if !says_kind && !stream.ends_with(b"@bookTicker") {
            return None;
        }
        book_ticker(fields, &mut scanner, stream)?
    };
    scanner.literal(b"}}")?;
    (scanner.rest().is_empty() && !usual.symbol.is_empty()).then_some(usual)
}

#[inline]
fn book_ticker<'a>(
    fields: &mut Fields,
    scanner: &mut Scanner<'a>,
    stream: &'a [u8],
) -> Option<Usual<'a>> {
    scanner.literal(b"\"u\":")?;
    let last_id = scanner.number()?;
    scanner.literal(b",\"s\":\"")?;
    let symbol = scanner.text_tail()?;
    scanner.literal(b",\"b\":\"")?;
    let bid = fields.read_price(scanner)?;
    scanner.literal(b",\"B\":\"")?;
    let bid_size = fields.read_size(scanner)?;
    scanner.literal(b",\"a\":\"")?;
    let ask = fields.read_price(scanner)?;
    scanner.literal(b",\"A\":\"")?;
    let ask_size = fields.read_size(scanner)?;
    let mut time = None;
    if scanner.literal(b",\"T\":").is_some() {
        time = Some(scanner.number()?);
        scanner.literal(b",\"E\":")?;
        scanner.number()?;
    }
    let body = Body::Top((bid, bid_size), (ask, ask_size));
    Some(Usual { stream, symbol, time, sequence: SequenceRange::one(last_id), body })
}

#[inline]
fn trade<'a>(
    fields: &mut Fields,
    scanner: &mut Scanner<'a>,
    stream: &'a [u8],
) -> Option<Usual<'a>> {
    scanner.number()?;
    // Futures frames have their second time here, spot frames behind the size.
    let mut time = number_of(scanner, b",\"T\":")?;
    scanner.literal(b",\"s\":\"")?;
    let symbol = scanner.text_tail()?;
    scanner.literal(b",\"t\":")?;
    let trade_id = scanner.number()?;
    scanner.literal(b",\"p\":\"")?;
    let price = fields.read_price(scanner)?;
    scanner.literal(b",\"q\":\"")?;
    let lots = fields.read_size(scanner)?;
    if time.is_some() {
        scanner.literal(b",\"X\":\"")?;
        scanner.text_tail()?;
    } else {
        scanner.literal(b",\"T\":")?;
        time = Some(scanner.number()?);
    }
    scanner.literal(b",\"m\":")?;
    let aggressor = Some(if flag(scanner)? { Side::Sell } else { Side::Buy });
    if scanner.literal(b",\"M\":").is_some() {
        flag(scanner)?;
    }
    let trade = Trade { trade_id, price, lots, aggressor, resting_order: OrderId(0) };
    let body = Body::Trade(trade);
    Some(Usual { stream, symbol, time, sequence: SequenceRange::one(trade_id), body })
}

#[inline]
fn depth<'a>(
    fields: &mut Fields,
    scanner: &mut Scanner<'a>,
    stream: &'a [u8],
) -> Option<Usual<'a>> {
    let event_time = scanner.number()?;
    let time = Some(number_of(scanner, b",\"T\":")?.unwrap_or(event_time));
    scanner.literal(b",\"s\":\"")?;
    let symbol = scanner.text_tail()?;
    scanner.literal(b",\"U\":")?;
    let first = scanner.number()?;
    scanner.literal(b",\"u\":")?;
    let last = scanner.number()?;
    let previous = number_of(scanner, b",\"pu\":")?;
    if first > last {
        return None;
    }
    fields.forget_levels();
    scanner.literal(b",\"b\":")?;
    let bids = fields.read_levels(scanner)?;
    scanner.literal(b",\"a\":")?;
    let asks = fields.read_levels(scanner)?;
    let sequence = SequenceRange { first, last, previous };
    Some(Usual { stream, symbol, time, sequence, body: Body::Depth(bids, asks) })
}

/// The number of a field that a frame may have here.
#[inline]
fn number_of<const N: usize>(scanner: &mut Scanner<'_>, name: &[u8; N]) -> Option<Option<u64>> {
    match scanner.literal(name) {
        Some(()) => scanner.number().map(Some),
        None => Some(None),
    }
}

#[inline]
fn flag(scanner: &mut Scanner<'_>) -> Option<bool> {
    let is_false = scanner.literal(b"false").is_some();
    if !is_false {
        scanner.literal(b"true")?;
    }
    Some(!is_false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [&str; 6] = [
        concat!(
            r#"{"stream":"abc@depth@0ms","data":{"#,
            r#""e":"depthUpdate","E":2,"T":1,"s":"ABC","U":3,"u":5,"pu":2,"b":[["1.50","#,
            r#""0.014"],["1.40","12.111"]],"a":[]}}"#,
        ),
        concat!(
            r#"{"stream":"abc@depth@100ms","data":{"#,
            r#""e":"depthUpdate","E":2,"s":"ABC","U":3,"u":5,"b":[],"a":[["61837.64000000","#,
            r#""1.54698000"]]}}"#,
        ),
        concat!(
            r#"{"stream":"abc@bookTicker","data":{"#,
            r#""e":"bookTicker","u":5,"s":"ABC","b":"1.50","B":"2.507","a":"1.60","A":"2.510","#,
            r#""T":1,"E":2}}"#,
        ),
        concat!(
            r#"{"stream":"abc@bookTicker","data":{"#,
            r#""u":5,"s":"ABC","b":"61837.63000000","B":"3.78826000","a":"61837.64000000","#,
            r#""A":"1.54698000"}}"#,
        ),
        concat!(
            r#"{"stream":"abc@trade","data":{"#,
            r#""e":"trade","E":2,"T":1,"s":"ABC","t":5,"p":"1.60","q":"0.006","X":"MARKET","#,
            r#""m":false}}"#,
        ),
        concat!(
            r#"{"stream":"abc@trade","data":{"#,
            r#""e":"trade","E":2,"s":"ABC","t":5,"p":"61837.63000000","q":"0.02000000","T":1,"#,
            r#""m":true,"M":true}}"#,
        ),
    ];

    #[test]
    fn spot_and_futures_frames_of_every_kind_come_in_the_usual_order() {
        let mut fields = Fields::new(4, 8);
        for frame in FRAMES {
            let usual = read(&mut fields, frame.as_bytes()).expect(frame);
            assert_eq!((usual.symbol, usual.sequence.last), (&b"ABC"[..], 5), "{frame}");
        }
    }

    #[test]
    fn a_frame_that_is_cut_or_goes_on_is_left_to_the_other_reader() {
        let mut fields = Fields::new(4, 8);
        for frame in FRAMES {
            for len in 0..frame.len() {
                assert!(read(&mut fields, &frame.as_bytes()[..len]).is_none(), "{frame} {len}");
            }
            assert!(read(&mut fields, std::format!("{frame}}}").as_bytes()).is_none(), "{frame}");
        }
    }
}
