//! The fields of a frame, as far as any kind of frame that is read has them.

use taut_types::{Lots, Price, parse_decimal};

use crate::error::{Expected, MarketDataError};
use crate::scan::Scanner;

/// A field that some kind of frame needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Stream,
    Kind,
    Symbol,
    EventTime,
    TransactionTime,
    FirstId,
    LastId,
    PreviousId,
    SnapshotId,
    /// `b`, `bids`: levels, or a best price.
    Bid,
    /// `a`, `asks`: levels, a best price, or the number of an aggregate trade.
    Ask,
    BidSize,
    AskSize,
    TradeId,
    Price,
    Size,
    BuyerIsMaker,
    Status,
}

const KEY_COUNT: usize = Key::Status as usize + 1;

impl Key {
    #[inline]
    const fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"stream" => Self::Stream,
            b"e" => Self::Kind,
            b"s" => Self::Symbol,
            b"E" => Self::EventTime,
            b"T" => Self::TransactionTime,
            b"U" => Self::FirstId,
            b"u" => Self::LastId,
            b"pu" => Self::PreviousId,
            b"lastUpdateId" => Self::SnapshotId,
            b"b" | b"bids" => Self::Bid,
            b"a" | b"asks" => Self::Ask,
            b"B" => Self::BidSize,
            b"A" => Self::AskSize,
            b"t" => Self::TradeId,
            b"p" => Self::Price,
            b"q" => Self::Size,
            b"m" => Self::BuyerIsMaker,
            b"cs" => Self::Status,
            _ => return None,
        })
    }

    /// Its name where it stands in a single frame.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Kind => "e",
            Self::Symbol => "s",
            Self::EventTime => "E",
            Self::TransactionTime => "T",
            Self::FirstId => "U",
            Self::LastId => "u",
            Self::PreviousId => "pu",
            Self::SnapshotId => "lastUpdateId",
            Self::Bid => "b",
            Self::Ask => "a",
            Self::BidSize => "B",
            Self::AskSize => "A",
            Self::TradeId => "t",
            Self::Price => "p",
            Self::Size => "q",
            Self::BuyerIsMaker => "m",
            Self::Status => "cs",
        }
    }
}

/// What stands in a field. Places are offsets: a frame is shorter than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// The frame does not have it, or it holds what no kind of frame needs.
    #[default]
    Absent,
    /// A string.
    Text { from: u32, to: u32 },
    /// An integer.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// Levels, by their places among all levels of the frame.
    Levels { from: u32, to: u32 },
}

/// A price and its size.
pub(super) type Quote = (Price, Lots);

/// The levels of a frame: room that is used again and again.
#[derive(Debug)]
pub(super) struct Levels {
    quotes: alloc::boxed::Box<[Quote]>,
    used: usize,
    size_decimals: u8,
}

impl Levels {
    pub(super) fn new(levels_max: usize, size_decimals: u8) -> Self {
        let quotes = alloc::vec![(Price(0), Lots::ZERO); levels_max].into_boxed_slice();
        Self { quotes, used: 0, size_decimals }
    }

    pub(super) const fn size_decimals(&self) -> u8 {
        self.size_decimals
    }

    pub(super) fn get(&self, from: u32, to: u32) -> &[Quote] {
        self.quotes.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Reads an array of `[price, size]` pairs. What a pair has behind the size is left out: older
    /// frames have an empty array there.
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<Value, MarketDataError> {
        let from = self.used;
        scanner.take(b'[')?;
        if !scanner.take_if(b']')? {
            loop {
                scanner.take(b'[')?;
                let price = price(scanner)?;
                scanner.take(b',')?;
                let size = size(scanner, self.size_decimals)?;
                while scanner.take_if(b',')? {
                    scanner.skip_value()?;
                }
                scanner.take(b']')?;
                self.push((price, size))?;
                if scanner.take_if(b']')? {
                    break;
                }
                scanner.take(b',')?;
            }
        }
        Ok(Value::Levels { from: place(from, scanner)?, to: place(self.used, scanner)? })
    }

    #[inline]
    fn push(&mut self, quote: Quote) -> Result<(), MarketDataError> {
        let levels_max = self.quotes.len();
        let slot = self.quotes.get_mut(self.used);
        *slot.ok_or(MarketDataError::TooManyLevels { levels_max })? = quote;
        self.used += 1;
        Ok(())
    }
}

#[inline]
fn price(scanner: &mut Scanner<'_>) -> Result<Price, MarketDataError> {
    let text = scanner.text()?;
    match Price::parse(text) {
        Ok(price) if price > Price(0) => Ok(price),
        _ => Err(scanner.wrong(Expected::Price)),
    }
}

#[inline]
fn size(scanner: &mut Scanner<'_>, decimals: u8) -> Result<Lots, MarketDataError> {
    let text = scanner.text()?;
    match parse_decimal(text, decimals) {
        Ok(lots) if lots >= 0 => Ok(Lots(lots)),
        _ => Err(scanner.wrong(Expected::Size)),
    }
}

#[inline]
fn place(offset: usize, scanner: &Scanner<'_>) -> Result<u32, MarketDataError> {
    u32::try_from(offset).map_err(|_| scanner.wrong(Expected::Json))
}

/// A frame, taken apart.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    frame: &'a [u8],
    values: [Value; KEY_COUNT],
}

impl<'a> Fields<'a> {
    /// Reads a frame: an object, alone or as the `data` of a combined stream or the `result` of a
    /// request.
    pub(super) fn read(frame: &'a [u8], levels: &mut Levels) -> Result<Self, MarketDataError> {
        let mut fields = Self { frame, values: [Value::Absent; KEY_COUNT] };
        let mut scanner = Scanner::new(frame);
        levels.used = 0;
        fields.read_object(&mut scanner, levels, true)?;
        if scanner.is_at_end() { Ok(fields) } else { Err(scanner.wrong(Expected::Json)) }
    }

    fn read_object(
        &mut self,
        scanner: &mut Scanner<'a>,
        levels: &mut Levels,
        is_outer: bool,
    ) -> Result<(), MarketDataError> {
        scanner.take(b'{')?;
        if scanner.take_if(b'}')? {
            return Ok(());
        }
        loop {
            scanner.peek()?;
            let name = scanner.key()?.unwrap_or_default();
            match Key::from_name(name) {
                Some(key) => {
                    let value = read_value(scanner, key, levels)?;
                    if let Some(slot) = self.values.get_mut(key as usize) {
                        *slot = value;
                    }
                }
                None if is_outer
                    && matches!(name, b"data" | b"result")
                    && scanner.peek()? == b'{' =>
                {
                    self.read_object(scanner, levels, false)?;
                }
                None => scanner.skip_value()?,
            }
            if scanner.take_if(b'}')? {
                return Ok(());
            }
            scanner.take(b',')?;
        }
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Value {
        self.values.get(key as usize).copied().unwrap_or_default()
    }

    /// A string, or an empty one when it is not there.
    #[inline]
    pub(super) fn text(&self, key: Key) -> &'a [u8] {
        match self.get(key) {
            Value::Text { from, to } => self.slice(from, to),
            _ => &[],
        }
    }

    #[inline]
    fn slice(&self, from: u32, to: u32) -> &'a [u8] {
        self.frame.get(from as usize..to as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn number(&self, key: Key) -> Result<u64, MarketDataError> {
        match self.get(key) {
            Value::Number(number) => Ok(number),
            _ => Err(self.lacks(key)),
        }
    }

    /// A price that may be zero, where nobody is.
    #[inline]
    pub(super) fn price(&self, key: Key) -> Result<Price, MarketDataError> {
        let Value::Text { from, to } = self.get(key) else { return Err(self.lacks(key)) };
        match Price::parse(self.slice(from, to)) {
            Ok(price) if price >= Price(0) => Ok(price),
            _ => Err(wrong(from, Expected::Price)),
        }
    }

    #[inline]
    pub(super) fn size(&self, key: Key, decimals: u8) -> Result<Lots, MarketDataError> {
        let Value::Text { from, to } = self.get(key) else { return Err(self.lacks(key)) };
        match parse_decimal(self.slice(from, to), decimals) {
            Ok(lots) if lots >= 0 => Ok(Lots(lots)),
            _ => Err(wrong(from, Expected::Size)),
        }
    }

    /// The frame does not have a field that its kind must have.
    #[cold]
    pub(super) const fn lacks(&self, key: Key) -> MarketDataError {
        let offset = self.frame.len();
        MarketDataError::Malformed { offset, expected: Expected::Field(key.name()) }
    }
}

const fn wrong(offset: u32, expected: Expected) -> MarketDataError {
    MarketDataError::Malformed { offset: offset as usize, expected }
}

/// Reads the value of a field. What no frame has there is skipped: other kinds of frames use the
/// same letters for other things.
#[inline]
fn read_value(
    scanner: &mut Scanner<'_>,
    key: Key,
    levels: &mut Levels,
) -> Result<Value, MarketDataError> {
    let byte = scanner.peek()?;
    let here = *scanner;
    let read = match byte {
        b'"' => {
            let from = place(scanner.offset() + 1, scanner)?;
            scanner.text().and_then(|text| {
                let to = place(from as usize + text.len(), scanner)?;
                Ok(Value::Text { from, to })
            })
        }
        b'0'..=b'9' => scanner.number().map(Value::Number),
        b'[' if matches!(key, Key::Bid | Key::Ask) => return levels.read(scanner),
        b't' | b'f' => {
            scanner.skip_value()?;
            return Ok(Value::Flag(byte == b't'));
        }
        _ => Err(scanner.wrong(Expected::Json)),
    };
    if read.is_err() {
        *scanner = here;
        scanner.skip_value()?;
    }
    Ok(read.unwrap_or_default())
}
