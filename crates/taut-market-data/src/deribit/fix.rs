//! Deribit's market data over FIX 4.4: MarketDataSnapshotFullRefresh (W) and
//! MarketDataIncrementalRefresh (X), as <https://docs.deribit.com/fix-api> has them.
//!
//! | field | what |
//! |---|---|
//! | 34, 52 | the message's number in the session, and its time |
//! | 55, 231 | the instrument, and what a contract is of its amounts; 1 where it is not said |
//! | 268 | how many entries follow |
//! | 279, 269 | of each: new, change or delete (X alone); bid, offer or trade |
//! | 270, 271 | its price, its contracts |
//! | 272, 54, 100009 | of a trade: its time, the taker's side, its id |

mod fields;

use alloc::vec::Vec;

use taut_types::{InstrumentError, Lots, Nanos, OrderId, Price, Side, parse_decimal};

use self::fields::{Fields, number, time};
use super::fields::number_of;
use crate::amount::AmountScale;
use crate::chained::{
    Action, BookFrame, ChainConfig, ChainedBooks, ChainedDecoder, ChainedFeed, FrameLevel,
    InstrumentTable, Link, NamedInstrument,
};
use crate::error::{Expected, MarketDataError};
use crate::event::{MarketSink, Trade};
use crate::handler::Source;

/// Books that follow Deribit's FIX session: each is a W, and then the X behind it.
///
/// The frames are the session's messages of the market, each once and in their order: whoever has
/// the session sees to that, and ends it where one is missing. They are
/// [`Source::LINE_A`]'s. [`FeedRequest::Snapshot`](crate::FeedRequest::Snapshot) asks for another
/// W. FIX tells no trading status and no figures.
pub type DeribitFixFeed = ChainedFeed<DeribitFix>;

impl DeribitFixFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when amounts cannot be counted in an instrument's lot,
    /// [`InstrumentError::OutOfRange`] when an instrument's number is 2^20 or more.
    pub fn new(config: &ChainConfig<'_>, now: Nanos) -> Result<Self, InstrumentError> {
        let levels_max = config.level_capacity.min(DeribitFix::LEVELS_MAX);
        Self::with_decoder(DeribitFix::new(levels_max, config.instruments)?, config, now)
    }
}

/// Reads messages. It allocates when it is built and never again.
#[derive(Debug)]
pub struct DeribitFix {
    instruments: InstrumentTable,
    /// The levels of the message at hand.
    sides: [Vec<FrameLevel>; 2],
    levels_max: usize,
    trades: Vec<NumberedTrade>,
    /// Some entry is to be done in a way that is not documented.
    has_unknown_action: bool,
}

/// A message that was taken apart; its entries stand in the decoder.
#[derive(Clone, Copy, Debug)]
pub struct FixBody {
    /// The instrument's.
    place: usize,
    /// MsgSeqNum (34) of a whole book.
    whole: Option<u64>,
    exchange_time: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct NumberedTrade {
    number: u64,
    time: Nanos,
    trade: Trade,
}

/// What stands before the entries.
#[derive(Clone, Copy, Debug, Default)]
struct Head<'a> {
    kind: &'a [u8],
    number: &'a [u8],
    time: &'a [u8],
    symbol: &'a [u8],
    contract: Option<&'a [u8]>,
}

/// An entry.
#[derive(Clone, Copy, Debug, Default)]
struct Entry<'a> {
    action: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    price: Option<&'a [u8]>,
    contracts: Option<&'a [u8]>,
    time: Option<&'a [u8]>,
    side: Option<&'a [u8]>,
    trade_id: Option<&'a [u8]>,
}

/// How the entries of a message are read.
#[derive(Clone, Copy, Debug)]
struct Terms {
    is_whole: bool,
    scale: AmountScale,
    /// The amount of a contract, at 1e-9.
    contract: i64,
    time: Nanos,
}

/// Decimal places of contracts and of what one is.
const DECIMALS: u8 = 9;

impl DeribitFix {
    /// The most levels of a side in a message.
    const LEVELS_MAX: usize = 1 << 14;
    /// The most trades in a message.
    const TRADES_MAX: usize = 1 << 10;

    fn new(
        levels_max: usize,
        instruments: &[NamedInstrument<'_>],
    ) -> Result<Self, InstrumentError> {
        Ok(Self {
            instruments: InstrumentTable::new(instruments)?,
            sides: [Vec::with_capacity(levels_max), Vec::with_capacity(levels_max)],
            levels_max,
            trades: Vec::with_capacity(Self::TRADES_MAX),
            has_unknown_action: false,
        })
    }

    /// Takes an entry that is whole.
    fn take(&mut self, entry: &Entry<'_>, terms: &Terms) -> Result<(), MarketDataError> {
        let side = match entry.kind {
            Some(b"0") => Side::Buy,
            Some(b"1") => Side::Sell,
            // Those of a whole book are older than it is.
            Some(b"2") if !terms.is_whole => return self.take_trade(entry, terms),
            _ => return Ok(()),
        };
        let action = match entry.action {
            None => Action::Unsaid,
            Some(b"0") => Action::New,
            Some(b"1") => Action::Change,
            Some(b"2") => Action::Delete,
            Some(_) => {
                self.has_unknown_action = true;
                return Ok(());
            }
        };
        let price = price(entry.price)?;
        let lots = match action {
            Action::Delete => Lots::ZERO,
            _ => lots(entry.contracts, terms)?,
        };
        let levels_max = self.levels_max;
        let Some(levels) = self.sides.get_mut(side.index()).filter(|it| it.len() < levels_max)
        else {
            return Err(MarketDataError::TooManyLevels { levels_max });
        };
        levels.push(FrameLevel::of(action, price, lots));
        Ok(())
    }

    fn take_trade(&mut self, entry: &Entry<'_>, terms: &Terms) -> Result<(), MarketDataError> {
        let id = entry.trade_id.ok_or(lacks("DeribitTradeId (100009)"))?;
        let trade = Trade {
            trade_id: number_of(id),
            price: price(entry.price)?,
            lots: lots(entry.contracts, terms)?,
            aggressor: match entry.side {
                Some(b"1") => Some(Side::Buy),
                Some(b"2") => Some(Side::Sell),
                _ => None,
            },
            resting_order: OrderId(0),
        };
        if self.trades.len() == Self::TRADES_MAX {
            return Err(malformed(Expected::Value));
        }
        let time = entry.time.and_then(time).unwrap_or(terms.time);
        self.trades.push(NumberedTrade { number: trade.trade_id, time, trade });
        Ok(())
    }

    /// Takes the entries up to the message's end.
    fn take_entries(
        &mut self,
        fields: &mut Fields<'_>,
        terms: &Terms,
    ) -> Result<(), MarketDataError> {
        self.sides.iter_mut().for_each(Vec::clear);
        self.trades.clear();
        self.has_unknown_action = false;
        let mut entry = Entry::default();
        for (tag, value) in fields.by_ref() {
            // An entry begins with what is to be done with it, or else with its kind.
            if tag == 279 || (tag == 269 && entry.kind.is_some()) {
                self.take(&core::mem::take(&mut entry), terms)?;
            }
            let field = match tag {
                279 => &mut entry.action,
                269 => &mut entry.kind,
                270 => &mut entry.price,
                271 => &mut entry.contracts,
                272 => &mut entry.time,
                54 => &mut entry.side,
                100_009 => &mut entry.trade_id,
                _ => continue,
            };
            *field = Some(value);
        }
        if !fields.is_at_end() {
            let (offset, expected) = (fields.offset(), Expected::Value);
            return Err(MarketDataError::Malformed { offset, expected });
        }
        self.take(&entry, terms)
    }
}

impl ChainedDecoder for DeribitFix {
    type Body<'f> = FixBody;

    #[inline]
    fn read(&mut self, frame: &[u8]) -> Result<Option<FixBody>, MarketDataError> {
        let mut fields = Fields::new(frame);
        let head = Head::read(&mut fields);
        let is_whole = match head.kind {
            b"W" => true,
            b"X" => false,
            _ => return Ok(None),
        };
        let number = number(head.number).ok_or(lacks("MsgSeqNum (34)"))?;
        let (Some(place), _, scale) = self.instruments.find(head.symbol) else { return Ok(None) };
        let contract = parse_decimal(head.contract.unwrap_or(b"1"), DECIMALS);
        let contract = contract.map_err(|_| malformed(Expected::Decimal))?;
        let exchange_time = time(head.time).unwrap_or(Nanos::ZERO);
        let terms = Terms { is_whole, scale, contract, time: exchange_time };
        self.take_entries(&mut fields, &terms)?;
        Ok(Some(FixBody { place, whole: is_whole.then_some(number), exchange_time }))
    }

    #[inline]
    fn apply(
        &self,
        received: Nanos,
        source: Source,
        body: FixBody,
        books: &mut ChainedBooks,
        sink: &mut impl MarketSink,
    ) -> Result<bool, MarketDataError> {
        let FixBody { place, whole, exchange_time } = body;
        if self.has_unknown_action {
            books.note_unknown_action(received, place);
            return Ok(false);
        }
        for &NumberedTrade { number, time, trade } in &self.trades {
            books.apply_trade([received, time], place, (number, false), trade, sink);
        }
        let [bids, asks] = &self.sides;
        if whole.is_none() && bids.is_empty() && asks.is_empty() {
            return Ok(false);
        }
        let link = whole.map_or(Link::Next, Link::Snapshot);
        let frame = BookFrame { received, source, exchange_time, link };
        Ok(books.apply(place, &frame, [bids, asks], |_| true, sink))
    }

    fn events_max(&self) -> usize {
        // Every level and trade of a message, and the top.
        2 * Self::LEVELS_MAX + Self::TRADES_MAX + 1
    }
}

impl<'a> Head<'a> {
    /// Reads up to the entries.
    #[inline]
    fn read(fields: &mut Fields<'a>) -> Self {
        let mut head = Self::default();
        for (tag, value) in fields {
            match tag {
                35 => head.kind = value,
                34 => head.number = value,
                52 => head.time = value,
                55 => head.symbol = value,
                231 => head.contract = Some(value),
                268 => break,
                _ => {}
            }
        }
        head
    }
}

fn price(text: Option<&[u8]>) -> Result<Price, MarketDataError> {
    let text = text.ok_or(lacks("MDEntryPx (270)"))?;
    Price::parse(text).map_err(|_| malformed(Expected::Decimal))
}

/// Contracts as lots.
fn lots(text: Option<&[u8]>, terms: &Terms) -> Result<Lots, MarketDataError> {
    let text = text.ok_or(lacks("MDEntrySize (271)"))?;
    let contracts = parse_decimal(text, DECIMALS).map_err(|_| malformed(Expected::Decimal))?;
    let amount = i128::from(contracts) * i128::from(terms.contract);
    // From two times nine decimals to those that amounts are read with.
    let decimals = (2 * DECIMALS).saturating_sub(terms.scale.decimals());
    let unit = 10_i128.pow(decimals.into());
    let whole = (amount % unit == 0).then_some(amount / unit);
    let lots = whole.and_then(|it| terms.scale.lots(i64::try_from(it).ok()?));
    lots.ok_or(malformed(Expected::Size))
}

const fn lacks(field: &'static str) -> MarketDataError {
    malformed(Expected::Field(field))
}

const fn malformed(expected: Expected) -> MarketDataError {
    MarketDataError::Malformed { offset: 0, expected }
}

#[cfg(test)]
mod tests;
