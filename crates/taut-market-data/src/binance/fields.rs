//! The fields of a frame, as far as any kind of frame that is read has them.

use alloc::boxed::Box;

use taut_types::{Lots, Price, parse_decimal};

use crate::error::{Expected, MarketDataError};
use crate::scan::{Column, Scanner, decimal_and_quote};

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
    /// The price of what a future is about.
    Index,
    /// What is paid for holding it.
    Funding,
    Status,
}

/// What a key of an object is.
enum Name {
    /// That of a field.
    Field(Key),
    /// That of the frame itself within what it comes in.
    Wrapper,
    /// None that is looked for.
    Other,
}

impl Name {
    #[inline]
    fn of(name: &[u8]) -> Self {
        match Key::from_name(name) {
            Some(key) => Self::Field(key),
            None if matches!(name, b"data" | b"result") => Self::Wrapper,
            None => Self::Other,
        }
    }
}

const KEY_COUNT: usize = Key::Status as usize + 1;

impl Key {
    #[inline]
    fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            [letter] => Self::from_letter(*letter),
            b"pu" => Some(Self::PreviousId),
            b"cs" => Some(Self::Status),
            b"stream" => Some(Self::Stream),
            b"lastUpdateId" => Some(Self::SnapshotId),
            b"bids" => Some(Self::Bid),
            b"asks" => Some(Self::Ask),
            _ => None,
        }
    }

    const fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            b'e' => Self::Kind,
            b's' => Self::Symbol,
            b'E' => Self::EventTime,
            b'T' => Self::TransactionTime,
            b'U' => Self::FirstId,
            b'u' => Self::LastId,
            b'b' => Self::Bid,
            b'a' => Self::Ask,
            b'B' => Self::BidSize,
            b'A' => Self::AskSize,
            b't' => Self::TradeId,
            b'p' => Self::Price,
            b'q' => Self::Size,
            b'm' => Self::BuyerIsMaker,
            b'i' => Self::Index,
            b'r' => Self::Funding,
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
            Self::Index => "i",
            Self::Funding => "r",
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
    /// A string without escapes, in the frame.
    Text(Span),
    /// A string that had escapes, in the room for those; the byte behind it is a quote.
    Unescaped(Span),
    /// An integer.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// Levels, by their places among all levels of the frame.
    Levels(Span),
}

/// From one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    from: u32,
    to: u32,
}

impl Span {
    /// Both places are below 2^32: see [`Fields::read`] and [`Fields::new`].
    #[inline]
    const fn new(from: usize, to: usize) -> Self {
        Self { from: from as u32, to: to as u32 }
    }

    #[inline]
    fn of<T>(self, all: &[T]) -> &[T] {
        all.get(self.from as usize..self.to as usize).unwrap_or_default()
    }
}

/// Strings of one frame that have escapes have so much room, which is more than any names and
/// numbers need.
const TEXTS_BYTES: usize = 1_024;
/// The longest key that is looked at when it has escapes, and the longest price or size.
const SHORT_BYTES: usize = 40;

/// A price and its size.
pub(super) type Quote = (Price, Lots);

/// A frame, taken apart: room that is used again and again.
#[derive(Debug)]
pub(super) struct Fields {
    values: [Value; KEY_COUNT],
    quotes: Box<[Quote]>,
    used: usize,
    /// Strings that had escapes.
    texts: Box<[u8]>,
    texts_used: usize,
    prices: Column,
    sizes: Column,
    size_decimals: u8,
}

impl Fields {
    pub(super) fn new(levels_max: usize, size_decimals: u8) -> Self {
        let levels_max = levels_max.min(u32::MAX as usize);
        let quotes = alloc::vec![(Price(0), Lots::ZERO); levels_max].into_boxed_slice();
        Self {
            values: [Value::Absent; KEY_COUNT],
            quotes,
            used: 0,
            texts: alloc::vec![0; TEXTS_BYTES].into_boxed_slice(),
            texts_used: 0,
            prices: Column::new(Price::DECIMALS),
            sizes: Column::new(size_decimals),
            size_decimals,
        }
    }

    pub(super) const fn size_decimals(&self) -> u8 {
        self.size_decimals
    }

    /// Reads a frame: an object, alone or as the `data` of a combined stream or the `result` of a
    /// request.
    pub(super) fn read(&mut self, frame: &[u8]) -> Result<(), MarketDataError> {
        self.values = [Value::Absent; KEY_COUNT];
        (self.used, self.texts_used) = (0, 0);
        let mut scanner = Scanner::new(frame);
        let is_short = u32::try_from(frame.len()).is_ok();
        if is_short && self.read_object(&mut scanner, true).is_some() && scanner.is_at_end() {
            return Ok(());
        }
        Err(scanner.error())
    }

    /// The fields of an object, or of the one within it that it wraps: then of those outside only
    /// the stream's name counts.
    fn read_object(&mut self, scanner: &mut Scanner<'_>, is_outer: bool) -> Option<()> {
        scanner.take(b'{')?;
        if scanner.take_if(b'}')? {
            return Some(());
        }
        let (mut wraps, mut room) = (false, [0; SHORT_BYTES]);
        loop {
            let name = Name::of(scanner.key(&mut room)?);
            if let Name::Field(key) = name
                && (!wraps || key == Key::Stream)
            {
                let value = self.read_value(scanner, key)?;
                if let Some(slot) = self.values.get_mut(key as usize) {
                    *slot = value;
                }
            } else if is_outer && matches!(name, Name::Wrapper) && scanner.peek()? == b'{' {
                let stream = self.get(Key::Stream);
                self.values = [Value::Absent; KEY_COUNT];
                self.used = 0;
                self.read_object(scanner, false)?;
                if let Some(slot) = self.values.get_mut(Key::Stream as usize) {
                    *slot = stream;
                }
                wraps = true;
            } else {
                scanner.skip_value()?;
            }
            if !scanner.take_if(b',')? {
                return scanner.take(b'}');
            }
        }
    }

    /// Reads the value of a field. What no frame has there is skipped: other kinds of frames use
    /// the same letters for other things.
    #[inline]
    fn read_value(&mut self, scanner: &mut Scanner<'_>, key: Key) -> Option<Value> {
        let first = scanner.peek()?;
        let here = scanner.rest();
        let read = match first {
            b'"' => {
                let from = scanner.offset() + 1;
                match scanner.text() {
                    Some(text) => Some(Value::Text(Span::new(from, from + text.len()))),
                    None => {
                        scanner.back_to(here);
                        self.read_escaped(scanner).map(Value::Unescaped)
                    }
                }
            }
            b'0'..=b'9' => scanner.number().map(Value::Number),
            b'[' if matches!(key, Key::Bid | Key::Ask) => {
                return self.read_levels(scanner).map(Value::Levels);
            }
            b't' | b'f' => {
                scanner.skip_value()?;
                return Some(Value::Flag(first == b't'));
            }
            _ => None,
        };
        if read.is_none() {
            scanner.back_to(here);
            scanner.skip_value()?;
        }
        Some(read.unwrap_or_default())
    }

    /// Reads a string that has escapes.
    #[cold]
    fn read_escaped(&mut self, scanner: &mut Scanner<'_>) -> Option<Span> {
        let from = self.texts_used;
        let to = from + scanner.unescaped(self.texts.get_mut(from..)?)?.len();
        // A number is read up to the quote behind it.
        match self.texts.get_mut(to) {
            Some(behind) => *behind = b'"',
            None => return scanner.refuse(Expected::Text),
        }
        self.texts_used = to + 1;
        Some(Span::new(from, to))
    }

    /// Makes room for a frame's levels.
    pub(super) const fn forget_levels(&mut self) {
        self.used = 0;
    }

    /// Reads an array of `[price, size]` pairs.
    pub(super) fn read_levels(&mut self, scanner: &mut Scanner<'_>) -> Option<Span> {
        let from = self.used;
        scanner.take(b'[')?;
        if scanner.take_if(b']')? {
            return Some(Span::new(from, from));
        }
        let levels_max = self.quotes.len();
        let mut slots = self.quotes.get_mut(from..).unwrap_or_default().iter_mut();
        let mut used = from;
        loop {
            let Some(slot) = slots.next() else { return scanner.overflow(levels_max) };
            *slot = match compact_quote(scanner.rest(), &mut self.prices, &mut self.sizes) {
                Some((quote, rest)) => {
                    scanner.back_to(rest);
                    quote
                }
                None => any_quote(scanner, self.size_decimals)?,
            };
            used += 1;
            if !scanner.take_if(b',')? {
                break;
            }
        }
        self.used = used;
        scanner.take(b']')?;
        Some(Span::new(from, used))
    }

    /// A price whose first quote is taken; zero where nobody is.
    #[inline]
    pub(super) fn read_price(&mut self, scanner: &mut Scanner<'_>) -> Option<Price> {
        scanner.decimal_tail(&mut self.prices).map(Price)
    }

    /// A size whose first quote is taken.
    #[inline]
    pub(super) fn read_size(&mut self, scanner: &mut Scanner<'_>) -> Option<Lots> {
        scanner.decimal_tail(&mut self.sizes).map(Lots)
    }

    /// Levels that were read, to be made others.
    pub(super) fn quotes_mut(&mut self, span: Span) -> &mut [Quote] {
        self.quotes.get_mut(span.from as usize..span.to as usize).unwrap_or_default()
    }

    /// Levels that were read.
    #[inline]
    pub(super) fn quotes(&self, span: Span) -> &[Quote] {
        span.of(&self.quotes)
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Value {
        self.values.get(key as usize).copied().unwrap_or_default()
    }

    /// A string, or an empty one when it is not there.
    #[inline]
    pub(super) fn text<'a>(&'a self, frame: &'a [u8], key: Key) -> &'a [u8] {
        match self.get(key) {
            Value::Text(span) => span.of(frame),
            Value::Unescaped(span) => span.of(&self.texts),
            _ => &[],
        }
    }

    #[inline]
    pub(super) fn number(&self, key: Key) -> Result<u64, MarketDataError> {
        match self.get(key) {
            Value::Number(number) => Ok(number),
            _ => Err(lacks(key)),
        }
    }

    /// The levels of a side.
    #[inline]
    pub(super) fn levels(&self, key: Key) -> Result<&[Quote], MarketDataError> {
        match self.get(key) {
            Value::Levels(span) => Ok(span.of(&self.quotes)),
            _ => Err(lacks(key)),
        }
    }

    /// A price that may be zero, where nobody is.
    #[inline]
    pub(super) fn price(&self, frame: &[u8], key: Key) -> Result<Price, MarketDataError> {
        self.decimal(frame, key, Price::DECIMALS, Expected::Price).map(Price)
    }

    #[inline]
    pub(super) fn size(&self, frame: &[u8], key: Key) -> Result<Lots, MarketDataError> {
        self.decimal(frame, key, self.size_decimals, Expected::Size).map(Lots)
    }

    /// A decimal that may be below zero, where there is one: some instruments have an empty text.
    pub(super) fn signed(
        &self,
        frame: &[u8],
        key: Key,
        decimals: u8,
    ) -> Result<Option<i64>, MarketDataError> {
        let offset = match self.get(key) {
            Value::Text(span) => span.from as usize,
            _ => 0,
        };
        match self.text(frame, key) {
            b"" => Ok(None),
            text => parse_decimal(text, decimals)
                .map(Some)
                .map_err(|_| MarketDataError::Malformed { offset, expected: Expected::Decimal }),
        }
    }

    #[inline]
    fn decimal(
        &self,
        frame: &[u8],
        key: Key,
        decimals: u8,
        expected: Expected,
    ) -> Result<i64, MarketDataError> {
        let (text, span) = match self.get(key) {
            Value::Text(span) => (frame, span),
            Value::Unescaped(span) => (&*self.texts, span),
            _ => return Err(lacks(key)),
        };
        // The quote behind the text ends the number: a scan of the frame need not be told where.
        let read = decimal_and_quote(text.get(span.from as usize..).unwrap_or_default(), decimals);
        match read {
            Some((value, _)) if value >= 0 => Ok(value),
            _ => Err(MarketDataError::Malformed { offset: span.from as usize, expected }),
        }
    }
}

/// The frame does not have a field that its kind must have.
#[cold]
pub(super) const fn lacks(key: Key) -> MarketDataError {
    MarketDataError::Malformed { offset: 0, expected: Expected::Field(key.name()) }
}

/// A pair without white space, as it comes, and what follows it.
#[inline]
fn compact_quote<'a>(
    text: &'a [u8],
    prices: &mut Column,
    sizes: &mut Column,
) -> Option<(Quote, &'a [u8])> {
    let (price, text) = prices.read(text.strip_prefix(b"[\"")?)?;
    let (lots, text) = sizes.read(text.strip_prefix(b",\"")?)?;
    let rest = text.strip_prefix(b"]")?;
    (price > 0 && lots >= 0).then_some(((Price(price), Lots(lots)), rest))
}

/// A pair in any form, or what is wrong with it. What it has behind the size is left out: older
/// frames have an empty array there.
#[cold]
fn any_quote(scanner: &mut Scanner<'_>, size_decimals: u8) -> Option<Quote> {
    let mut room = [0; SHORT_BYTES];
    scanner.take(b'[')?;
    let price = match Price::parse(scanner.unescaped(&mut room)?) {
        Ok(price) if price > Price(0) => price,
        _ => return scanner.refuse(Expected::Price),
    };
    scanner.take(b',')?;
    let lots = match parse_decimal(scanner.unescaped(&mut room)?, size_decimals) {
        Ok(lots) if lots >= 0 => Lots(lots),
        _ => return scanner.refuse(Expected::Size),
    };
    while scanner.take_if(b',')? {
        scanner.skip_value()?;
    }
    scanner.take(b']')?;
    Some((price, lots))
}
