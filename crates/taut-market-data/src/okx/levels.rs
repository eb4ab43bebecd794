//! The data of a book's channel.

use taut_types::{Lots, Price, Side, parse_decimal};

use crate::amount::AmountScale;
use crate::chained::{Action, FrameLevel, FrameLevels, Link};
use crate::error::{Expected, MarketDataError};
use crate::scan::{Column, Scanner};

/// What a frame says of a book beside its levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BookHead {
    /// Milliseconds; 0 when it is not said.
    pub(super) time_ms: u64,
    /// Of the book behind the frame; nothing when it is not said. A zero says nothing either: the
    /// venue sends it in each frame since it has stopped to count.
    pub(super) checksum: Option<u32>,
    id: Option<u64>,
    /// Nothing in a snapshot, or -1.
    previous: Option<u64>,
}

impl BookHead {
    /// How it is chained. Frames of before 2022 have no ids.
    pub(super) fn link(&self, is_snapshot: bool) -> Result<Link, MarketDataError> {
        let lacks = Expected::Field("prevSeqId");
        match (is_snapshot, self.id, self.previous) {
            (true, id, _) => Ok(Link::Snapshot(id.unwrap_or(0))),
            (false, Some(id), Some(previous)) => Ok(Link::Change(previous, id)),
            (false, None, _) => Ok(Link::Next),
            (false, Some(_), None) => {
                Err(MarketDataError::Malformed { offset: 0, expected: lacks })
            }
        }
    }
}

/// Reads the data of a book's channel: an array of one.
#[inline]
pub(super) fn read_book(
    scanner: &mut Scanner<'_>,
    levels: &mut FrameLevels,
    scale: AmountScale,
) -> Result<BookHead, MarketDataError> {
    levels.clear();
    let mut head = BookHead::default();
    let (mut prices, mut amounts) = (Column::new(Price::DECIMALS), Column::new(scale.decimals()));
    let mut read = || {
        scanner.take(b'[')?;
        scanner.object(|scanner, key| {
            let side = match key {
                b"bids" => Side::Buy,
                b"asks" => Side::Sell,
                b"ts" => return text_number(scanner).map(|time| head.time_ms = time),
                b"checksum" => {
                    let checksum = scanner.decimal(0)?;
                    let checksum = i32::try_from(checksum).ok().filter(|&checksum| checksum != 0);
                    head.checksum = checksum.map(i32::cast_unsigned);
                    return Some(());
                }
                b"seqId" => return id(scanner).map(|id| head.id = id),
                b"prevSeqId" => return id(scanner).map(|id| head.previous = id),
                _ => return scanner.skip_value(),
            };
            levels.read_side(scanner, side, |scanner| {
                let compact = compact_level(scanner.rest(), &mut prices, &mut amounts);
                if let Some((price, amount, rest)) = compact
                    && let Some(lots) = scale.lots(amount)
                {
                    scanner.back_to(rest);
                    return Some(Some(level(price, lots)));
                }
                any_level(scanner, scale).map(Some)
            })
        })?;
        scanner.take(b']')
    };
    if read().is_none() {
        return Err(scanner.error());
    }
    for (side, name) in [(Side::Buy, "bids"), (Side::Sell, "asks")] {
        if !levels.has(side) {
            let (offset, expected) = (scanner.offset(), Expected::Field(name));
            return Err(MarketDataError::Malformed { offset, expected });
        }
    }
    Ok(head)
}

/// An id; nothing inside for -1, which stands for none.
fn id(scanner: &mut Scanner<'_>) -> Option<Option<u64>> {
    scanner.decimal(0).map(|id| u64::try_from(id).ok())
}

/// An integer in a string.
fn text_number(scanner: &mut Scanner<'_>) -> Option<u64> {
    let digits = scanner.text()?;
    match Scanner::new(digits).number() {
        Some(number) => Some(number),
        None => scanner.refuse(Expected::Number),
    }
}

/// A level without white space, as it mostly comes: its price, its amount and what follows it.
#[inline]
fn compact_level<'a>(
    text: &'a [u8],
    prices: &mut Column,
    amounts: &mut Column,
) -> Option<(i64, i64, &'a [u8])> {
    let (price, text) = prices.read(text.strip_prefix(b"[\"")?)?;
    let (amount, text) = amounts.read(text.strip_prefix(b",\"")?)?;
    let text = text.strip_prefix(b",\"0\",\"")?;
    // How many orders there are.
    let end = text.iter().position(|&byte| byte == b'"')?;
    let rest = text.get(end..)?.strip_prefix(b"\"]")?;
    Some((price, amount, rest))
}

/// A level in any form, or what is wrong with it.
#[cold]
fn any_level(scanner: &mut Scanner<'_>, scale: AmountScale) -> Option<FrameLevel> {
    scanner.take(b'[')?;
    let Ok(price) = parse_decimal(scanner.text()?, Price::DECIMALS) else {
        return scanner.refuse(Expected::Decimal);
    };
    scanner.take(b',')?;
    let amount = parse_decimal(scanner.text()?, scale.decimals()).ok();
    let Some(lots) = amount.and_then(|amount| scale.lots(amount)) else {
        return scanner.refuse(Expected::Size);
    };
    while scanner.take_if(b',')? {
        scanner.skip_value()?;
    }
    scanner.take(b']')?;
    Some(level(price, lots))
}

#[inline]
fn level(price: i64, lots: Lots) -> FrameLevel {
    FrameLevel::of(Action::Unsaid, Price(price), lots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(BookHead, FrameLevels), MarketDataError> {
        let mut levels = FrameLevels::new(2);
        let scale = AmountScale::of_decimals(1);
        let head = read_book(&mut Scanner::new(text.as_bytes()), &mut levels, scale)?;
        Ok((head, levels))
    }

    #[test]
    fn ids_and_checksums_come_and_go() {
        let (head, levels) = read(concat!(
            r#"[{"asks":[["8476.98","415","0","13"]],"bids":[ ["8476.97", "256.5"] ],"#,
            r#""ts":"1597026383085","checksum":-855196043,"prevSeqId":-1,"seqId":123456}]"#,
        ))
        .unwrap();
        let [bids, asks] = levels.sides();
        assert_eq!((bids[0].price, bids[0].lots), (Price(8_476_970_000_000), Lots(2_565)));
        assert_eq!((asks[0].price, asks[0].lots), (Price(8_476_980_000_000), Lots(4_150)));
        assert_eq!(head.checksum, Some(-855_196_043_i32 as u32));
        assert_eq!(head.link(true), Ok(Link::Snapshot(123_456)));
        assert!(head.link(false).is_err());
        let (head, _) = read(r#"[{"asks":[],"bids":[]}]"#).unwrap();
        assert_eq!([head.link(true), head.link(false)], [Ok(Link::Snapshot(0)), Ok(Link::Next)]);
        let (head, _) =
            read(r#"[{"asks":[],"bids":[],"checksum":0,"prevSeqId":5,"seqId":9}]"#).unwrap();
        assert_eq!((head.link(false), head.checksum), (Ok(Link::Change(5, 9)), None));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for text in [
            r#"[{"asks":[]}]"#,
            r#"{"asks":[],"bids":[]}"#,
            r#"[{"asks":[],"bids":[]},{"asks":[],"bids":[]}]"#,
            r#"[{"asks":[["x","1"]],"bids":[]}]"#,
            r#"[{"asks":[["1","0.05"]],"bids":[]}]"#,
            r#"[{"asks":[["1","1"],["2","1"],["3","1"]],"bids":[]}]"#,
            r#"[{"asks":[],"bids":[],"ts":"soon"}]"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
