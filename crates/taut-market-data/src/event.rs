//! The events that every venue's messages become.

use taut_types::{Lots, Nanos, OrderId, Price, Side};

/// Whom an event is about, and when it was: the same for all events of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a> {
    /// The instrument.
    pub instrument: InstrumentKey<'a>,
    /// When the venue says that it happened, UTC; [`Nanos::ZERO`] when it does not say.
    pub exchange_time: Nanos,
    /// When the message was received, as the caller of the decoder said.
    pub receive_time: Nanos,
    /// Where the message stands in the venue's order of things.
    pub sequence: SequenceRange,
    /// How many decimal places the lots of the events have.
    pub lot_decimals: u8,
}

/// How a venue names an instrument in its market data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstrumentKey<'a> {
    /// By its symbol.
    Symbol(&'a [u8]),
    /// By a number that other messages explain.
    Id(u32),
    /// All instruments of the channel that the message came on.
    Channel,
}

/// The venue's numbers that a message stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceRange {
    /// The first of them.
    pub first: u64,
    /// The last; the same number when the message is one step.
    pub last: u64,
    /// The last of the message before, if the venue says it.
    pub previous: Option<u64>,
}

impl SequenceRange {
    /// One number.
    #[must_use]
    pub const fn one(number: u64) -> Self {
        Self { first: number, last: number, previous: None }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Levels or orders follow, up to the [`End`](Self::End).
    Begin(Batch),
    /// A price level now has this total.
    Level(LevelUpdate),
    /// An order stands in the book.
    OrderAdd(OrderState),
    /// An order has another price, quantity or priority.
    OrderChange(OrderState),
    /// An order has left the book.
    OrderDelete {
        /// Which one.
        order_id: OrderId,
        /// Its side.
        side: Side,
    },
    /// The best prices, from a stream that says nothing else; lots of zero: nobody is there.
    Top {
        /// The highest bid and its lots.
        bid: (Price, Lots),
        /// The lowest offer and its lots.
        ask: (Price, Lots),
    },
    /// Two orders traded.
    Trade(Trade),
    /// The instrument trades, or does not.
    Status(TradingStatus),
    /// The book is empty now; when it is about a channel, all of its books are.
    Reset,
    /// The best levels of a side are gone: so many of them, or all.
    DeleteLevels {
        /// Which side.
        side: Side,
        /// How many, counted from the best; all when nothing is said.
        count: Option<u8>,
    },
    /// The message has said everything.
    End {
        /// Whether the venue says that what began with one or more messages is complete: only then
        /// may the book be acted upon.
        is_final: bool,
    },
}

/// What the levels and orders up to [`Event::End`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// The whole book as of [`SequenceRange::last`]: forget what was before.
    Snapshot,
    /// The best levels as of [`SequenceRange::last`], and nothing about those behind.
    BestLevels,
    /// What changed.
    Update,
}

/// The state of a price level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelUpdate {
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// Its total; zero says that the level is gone.
    pub lots: Lots,
    /// The number of orders, 0 when the venue does not say it.
    pub order_count: u32,
    /// Where it stands among the levels of its side.
    pub place: LevelPlace,
}

/// How a level's price finds its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPlace {
    /// By itself: the level with this price is set to this total.
    ByPrice,
    /// A new level at this place, 1 for the best; those behind it move one back.
    Insert(u8),
    /// The level at this place is another one or has another total.
    Change(u8),
    /// The level at this place is gone; those behind it move up.
    Delete(u8),
}

/// The state of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderState {
    /// Which one.
    pub order_id: OrderId,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// What is left of it.
    pub lots: Lots,
    /// Its place in the queue of its price: lower ones come first.
    pub priority: u64,
}

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// The venue's number of it, 0 when it has none.
    pub trade_id: u64,
    /// Its price.
    pub price: Price,
    /// Its quantity.
    pub lots: Lots,
    /// The side of the order that came to the one that rested, if the venue says it.
    pub aggressor: Option<Side>,
}

/// Whether an instrument trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradingStatus {
    /// Orders can be entered, and do not match yet.
    PreOpen,
    /// Continuous trading.
    Trading,
    /// Interrupted.
    Halted,
    /// Not any more today, or ever.
    Closed,
    /// The venue says something that has no place here.
    Other,
}

/// Who takes events.
///
/// A message that is malformed is not handed over in parts: an [`Event::Begin`] is always followed
/// by its [`Event::End`] in the same call of a decoder.
pub trait EventSink {
    /// Takes an event.
    fn on_event(&mut self, context: &Context<'_>, event: &Event);
}

impl<F: FnMut(&Context<'_>, &Event)> EventSink for F {
    #[inline]
    fn on_event(&mut self, context: &Context<'_>, event: &Event) {
        self(context, event);
    }
}
