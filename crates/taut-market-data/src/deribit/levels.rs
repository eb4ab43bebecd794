//! The data of a book's channel.

use taut_types::{Price, Side};

use crate::amount::AmountScale;
use crate::chained::{Action, FrameLevel, FrameLevels, Link};
use crate::error::{Expected, MarketDataError};
use crate::scan::{Column, Scanner};

/// What a frame says of a book beside its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BookHead {
    /// Milliseconds; 0 when it is not said.
    pub(super) time_ms: u64,
    pub(super) link: Link,
    /// Some level has an action that is not documented: what it means is not known.
    pub(super) has_unknown_action: bool,
}

/// How the prices and amounts of the levels before were written.
#[derive(Debug)]
pub(super) struct Columns {
    prices: Column,
    amounts: Column,
}

impl Default for Columns {
    fn default() -> Self {
        Self { prices: Column::new(Price::DECIMALS), amounts: Column::new(0) }
    }
}

/// The levels of a frame while they are read.
pub(super) struct Reading<'l> {
    levels: &'l mut FrameLevels,
    columns: &'l mut Columns,
    scale: AmountScale,
    pub(super) has_unknown_action: bool,
}

impl<'l> Reading<'l> {
    /// Of an instrument whose amounts have this scale.
    #[inline]
    pub(super) fn begin(
        levels: &'l mut FrameLevels,
        columns: &'l mut Columns,
        scale: AmountScale,
    ) -> Self {
        columns.amounts.set_decimals(scale.decimals());
        levels.clear();
        Self { levels, columns, scale, has_unknown_action: false }
    }

    /// Forgets what was read.
    #[inline]
    const fn clear(&mut self) {
        self.levels.clear();
        self.has_unknown_action = false;
    }

    /// Reads an array of levels.
    #[inline]
    pub(super) fn side(&mut self, scanner: &mut Scanner<'_>, side: Side) -> Option<()> {
        let Self { levels, columns, scale, has_unknown_action } = self;
        levels.read_side(scanner, side, |scanner| {
            let compact = compact_level(scanner.rest(), columns);
            if let Some((action, price, amount, rest)) = compact
                && let Some(lots) = scale.lots(amount)
            {
                scanner.back_to(rest);
                return Some(Some(FrameLevel::of(action, price, lots)));
            }
            let level = any_level(scanner, *scale)?;
            *has_unknown_action |= level.is_none();
            Some(level)
        })
    }
}

/// Reads the data of a book's channel, whatever the order of the fields, and takes them.
#[cold]
pub(super) fn read_any_book(
    scanner: &mut Scanner<'_>,
    reading: &mut Reading<'_>,
) -> Result<BookHead, MarketDataError> {
    reading.clear();
    let (mut time_ms, mut change_id, mut previous) = (0, None, None);
    let mut kind: &[u8] = b"";
    let read = scanner.object(|scanner, key| match key {
        b"bids" => reading.side(scanner, Side::Buy),
        b"asks" => reading.side(scanner, Side::Sell),
        b"change_id" => scanner.number().map(|id| change_id = Some(id)),
        b"prev_change_id" if scanner.peek()? != b'n' => {
            scanner.number().map(|id| previous = Some(id))
        }
        b"timestamp" => scanner.number().map(|ms| time_ms = ms),
        b"type" => scanner.text().map(|text| kind = text),
        _ => scanner.skip_value(),
    });
    if read.is_none() {
        return Err(scanner.error());
    }
    let wrong = |expected| MarketDataError::Malformed { offset: scanner.offset(), expected };
    let lacks = |name| wrong(Expected::Field(name));
    if !reading.levels.has(Side::Buy) || !reading.levels.has(Side::Sell) {
        return Err(lacks(if reading.levels.has(Side::Buy) { "asks" } else { "bids" }));
    }
    let id = change_id.ok_or_else(|| lacks("change_id"))?;
    // A grouped book has neither kind nor chain.
    let link = match (kind, previous) {
        (b"snapshot", _) | (b"", None) => Link::Snapshot(id),
        (b"change" | b"", Some(previous)) => Link::Change(previous, id),
        (b"change", None) => return Err(lacks("prev_change_id")),
        _ => return Err(wrong(Expected::Value)),
    };
    Ok(BookHead { time_ms, link, has_unknown_action: reading.has_unknown_action })
}

/// A level without white space and exponents, as it mostly comes, and what follows it.
#[inline]
fn compact_level<'a>(
    text: &'a [u8],
    columns: &mut Columns,
) -> Option<(Action, Price, i64, &'a [u8])> {
    let (action, text) = match text {
        [b'[', b'"', b'n', b'e', b'w', b'"', b',', rest @ ..] => (Action::New, rest),
        [b'[', b'"', rest @ ..] => {
            if let Some(rest) = rest.strip_prefix(b"change\",") {
                (Action::Change, rest)
            } else {
                (Action::Delete, rest.strip_prefix(b"delete\",")?)
            }
        }
        [b'[', rest @ ..] => (Action::Unsaid, rest),
        _ => return None,
    };
    let (price, text) = columns.prices.read_until::<b','>(text)?;
    let (amount, rest) = columns.amounts.read_until::<b']'>(text)?;
    Some((action, Price(price), amount, rest))
}

/// A level in any form, or what is wrong with it; nothing inside when its action is not known. What
/// it has behind the amount is left out.
#[cold]
fn any_level(scanner: &mut Scanner<'_>, scale: AmountScale) -> Option<Option<FrameLevel>> {
    scanner.take(b'[')?;
    let mut action = Some(Action::Unsaid);
    if scanner.peek()? == b'"' {
        action = match scanner.text()? {
            b"new" => Some(Action::New),
            b"change" => Some(Action::Change),
            b"delete" => Some(Action::Delete),
            _ => None,
        };
        scanner.take(b',')?;
    }
    let price = Price(scanner.decimal(Price::DECIMALS)?);
    scanner.take(b',')?;
    let lots = scale.read(scanner)?;
    while scanner.take_if(b',')? {
        scanner.skip_value()?;
    }
    scanner.take(b']')?;
    Some(action.map(|action| FrameLevel::of(action, price, lots)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use taut_types::Lots;

    fn read(levels: &mut FrameLevels, text: &str) -> Result<BookHead, MarketDataError> {
        let (mut columns, scale) = (Columns::default(), AmountScale::of_decimals(1));
        let mut reading = Reading::begin(levels, &mut columns, scale);
        read_any_book(&mut Scanner::new(text.as_bytes()), &mut reading)
    }

    fn at(action: Action, price: i64, lots: i64) -> FrameLevel {
        FrameLevel { action, price: Price(price), lots: Lots(lots) }
    }

    #[test]
    fn bids_and_asks_are_told_apart_in_any_order_and_any_form() {
        let bids = r#""bids":[["new",0.0015,4714.0],["change",2.288e-5,7]]"#;
        let asks = r#""asks":[[ "delete", 0.003, 167.0, "more" ],[0.004,5.0]]"#;
        for (first, second) in [(bids, asks), (asks, bids)] {
            let text = format!(r#"{{"type":"snapshot",{first},"x":[1],{second},"change_id":7}}"#);
            let mut levels = FrameLevels::new(8);
            let head = read(&mut levels, &text).unwrap();
            let [bids, asks] = levels.sides();
            assert_eq!(bids, [at(Action::New, 1_500_000, 47_140), at(Action::Change, 22_880, 70)]);
            let gone = at(Action::Delete, 3_000_000, 0);
            assert_eq!(asks, [gone, at(Action::Unsaid, 4_000_000, 50)]);
            assert_eq!((head.link, head.time_ms), (Link::Snapshot(7), 0));
        }
    }

    #[test]
    fn an_action_that_nobody_documented_is_noted_and_its_level_left_out() {
        let text = r#"{"bids":[["replace",1,1.0],["new",2,1.0]],"asks":[],"change_id":1,
            "prev_change_id":null,"timestamp":5}"#;
        let mut levels = FrameLevels::new(8);
        assert!(read(&mut levels, text).unwrap().has_unknown_action);
        assert_eq!(levels.sides()[0], [at(Action::New, 2_000_000_000, 10)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut levels = FrameLevels::new(2);
        let mut error = |text: &str| read(&mut levels, text).unwrap_err();
        let expected = |error| match error {
            MarketDataError::Malformed { expected, .. } => expected,
            other => panic!("{other}"),
        };
        let with = |bids: &str| format!(r#"{{"change_id":1,"bids":[{bids}],"asks":[]}}"#);
        assert_eq!(expected(error(r#"{"bids":[],"asks":[]}"#)), Expected::Field("change_id"));
        assert_eq!(expected(error(r#"{"change_id":1,"asks":[]}"#)), Expected::Field("bids"));
        assert_eq!(expected(error(r#"{"change_id":1,"bids":[]}"#)), Expected::Field("asks"));
        assert_eq!(expected(error(&with("[\"new\",1e-10,1]"))), Expected::Decimal);
        assert_eq!(expected(error(&with("[\"new\",1,-1]"))), Expected::Size);
        assert_eq!(expected(error(&with("[\"new\",1]"))), Expected::Json);
        let unchained = with("").replace('{', "{\"type\":\"change\",");
        assert_eq!(expected(error(&unchained)), Expected::Field("prev_change_id"));
        let stranger = with("").replace('{', "{\"type\":\"patch\",");
        assert_eq!(expected(error(&stranger)), Expected::Value);
        let three = with("[1,1.0],[2,1.0],[3,1.0]");
        assert_eq!(error(&three), MarketDataError::TooManyLevels { levels_max: 2 });
    }
}
