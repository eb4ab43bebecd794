//! The events that every venue's messages become.

use core::fmt;

use taut_book::{LevelBook, Order};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Side};

/// Something that happened in a market: what every venue's decoder hands over, and what books,
/// gateways, strategies and recorders take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instrument: the venue's number of it, or the one that
    /// [`Instruments`](crate::Instruments) gives its symbol.
    pub instrument: InstrumentId,
    /// When the venue says that it happened, UTC; [`Nanos::ZERO`] when it does not say.
    pub exchange_time: Nanos,
    /// When the frame that says it was received, as the caller of the decoder said; when something
    /// was noticed, if no frame said it.
    pub receive_time: Nanos,
    /// What happened.
    pub kind: EventKind,
}

/// How the venue names and numbers the message that an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a> {
    /// The venue's name of the instrument.
    pub instrument: InstrumentKey<'a>,
    /// Where the message stands in the venue's order of things.
    pub sequence: SequenceRange,
    /// How many decimal places the lots of the events have.
    pub lot_decimals: u8,
}

/// What the events of one message have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) instrument: InstrumentId,
    pub(crate) exchange_time: Nanos,
    pub(crate) receive_time: Nanos,
}

impl Origin<'_> {
    /// The same with the venue's numbers.
    #[inline]
    pub(crate) const fn numbered(mut self, sequence: SequenceRange) -> Self {
        self.context.sequence = sequence;
        self
    }

    /// Hands an event of the message to the sink.
    #[inline]
    pub(crate) fn hand(&self, kind: EventKind, sink: &mut impl MarketSink) {
        let Self { context, instrument, exchange_time, receive_time } = *self;
        sink.on_event(&context, &Event { instrument, exchange_time, receive_time, kind });
    }
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
#[repr(u8)] // A tag of its own: one in the niche of a field is slower to read than eight bytes are.
pub enum EventKind {
    /// Levels or orders follow, up to the [`End`](Self::End).
    Begin(Batch),
    /// A price level now has this total.
    Level(LevelUpdate),
    /// An order stands in the book.
    OrderAdd(BookOrder),
    /// An order has another price, quantity or priority.
    OrderChange(BookOrder),
    /// An order became smaller and kept its priority.
    OrderReduce {
        /// Which one.
        order_id: OrderId,
        /// Its side.
        side: Side,
        /// By how much.
        by: Lots,
        /// What is left of it, above zero.
        remaining: Lots,
        /// Why.
        reason: ReduceReason,
    },
    /// An order has left the book.
    OrderDelete {
        /// Which one.
        order_id: OrderId,
        /// Its side.
        side: Side,
    },
    /// The best prices: of a book, or of a stream that says nothing else.
    Top(BestPrices),
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
    /// Whether the book of the instrument can be trusted, from here on. Where single orders are
    /// told, they are listed ([`Batch::Orders`]) after each time that it says so, and none is told
    /// before.
    Book(Soundness),
    /// A figure of the session, where the venue says it.
    Statistic(Statistic),
}

/// What the levels and orders up to [`EventKind::End`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// The whole book as of [`SequenceRange::last`]: forget what was before.
    Snapshot,
    /// The best levels as of [`SequenceRange::last`], and nothing about those behind.
    BestLevels,
    /// What changed.
    Update,
    /// All orders that rest, as [`EventKind::OrderAdd`], those of a price in the order of their
    /// priority: forget the orders that were known before; the levels are as they were. An
    /// [`EventKind::End`] that is not final says that the orders are not known: none is told until
    /// they are listed again.
    Orders,
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

/// The best price and quantity of each side; nothing where a side is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BestPrices {
    /// The highest bid and its lots.
    pub bid: Option<(Price, Lots)>,
    /// The lowest offer and its lots.
    pub ask: Option<(Price, Lots)>,
}

impl BestPrices {
    /// Of a book.
    #[must_use]
    #[inline]
    pub fn of(book: &LevelBook) -> Self {
        let best = |side| book.best(side).map(|level| (level.price, level.lots));
        Self { bid: best(Side::Buy), ask: best(Side::Sell) }
    }

    /// Of two prices with their lots; zero lots say that nobody is there.
    #[must_use]
    #[inline]
    pub fn quoted(bid: (Price, Lots), ask: (Price, Lots)) -> Self {
        let some = |quote: (Price, Lots)| (quote.1 != Lots::ZERO).then_some(quote);
        Self { bid: some(bid), ask: some(ask) }
    }
}

/// How a level's price finds its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPlace {
    /// By itself: the level with this price is set to this total.
    ByPrice,
    /// By itself, and a book says that so many levels of its side are better.
    Behind(u32),
    /// A new level at this place, 1 for the best; those behind it move one back.
    Insert(u8),
    /// The level at this place is another one or has another total.
    Change(u8),
    /// The level at this place is gone; those behind it move up.
    Delete(u8),
}

/// An order that stands in a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookOrder {
    /// Which one.
    pub order_id: OrderId,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// What is left of it.
    pub lots: Lots,
    /// Its place in the queue of its price: lower ones come first. 0 when the venue does not say
    /// it, and the order joined the end of the queue.
    pub priority: u64,
}

impl BookOrder {
    /// An order of a book as it is told in a list ([`Batch::Orders`]), at the end of its queue;
    /// nothing of one whose price the instrument cannot have.
    #[must_use]
    pub fn listed(instrument: &Instrument, order: &Order) -> Option<Self> {
        let Order { id: order_id, side, lots, .. } = *order;
        let price = instrument.price(order.price).ok()?;
        Some(Self { order_id, side, price, lots, priority: 0 })
    }
}

/// Why an order became smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceReason {
    /// It traded.
    Execution,
    /// Its owner took a part of it back.
    Cancel,
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
    /// The order that rested; 0 when it is not disclosed.
    pub resting_order: OrderId,
}

/// A figure of the session as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The price that it opened at.
    Open(Price),
    /// The highest price that something traded at.
    High(Price),
    /// The lowest one.
    Low(Price),
    /// The last one.
    Last(Price),
    /// The price that positions are settled at.
    Settlement(Price),
    /// What has traded.
    Volume(Lots),
    /// Contracts that are open, as of the last time that they were counted.
    OpenInterest(Lots),
    /// The price at which the venue values positions.
    Mark(Price),
    /// The price of what the instrument is about, over several venues.
    Index(Price),
    /// What a perpetual's longs pay its shorts, as the venue says now, in billionths of the
    /// position for eight hours.
    Funding(i64),
    /// The volatility of an option's mark price, of a year, in billionths: 1_207_400_000 is
    /// 120.74 %.
    MarkVolatility(i64),
    /// That of its best bid; 0 when nobody bids.
    BidVolatility(i64),
    /// That of its best offer; 0 when nobody offers.
    AskVolatility(i64),
    /// The price from which the venue values an option: that of the future with its expiry, say.
    Underlying(Price),
    /// The interest rate with which it does, in billionths.
    InterestRate(i64),
    /// How far an option's price follows the underlying, in billionths, as are the other greeks.
    Delta(i64),
    /// How far the delta follows the underlying.
    Gamma(i64),
    /// What a day costs.
    Theta(i64),
    /// What a percent of volatility is worth.
    Vega(i64),
    /// What a percent of interest is worth.
    Rho(i64),
    /// The venue has taken this one back: it is not known any more.
    Withdrawn(Figure),
}

/// Which figure of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Figure {
    /// The price that it opened at.
    Open = 0,
    /// The highest price.
    High = 1,
    /// The lowest one.
    Low = 2,
    /// The last one.
    Last = 3,
    /// The price that positions are settled at.
    Settlement = 4,
    /// What has traded.
    Volume = 5,
    /// Contracts that are open.
    OpenInterest = 6,
    /// The price at which the venue values positions.
    Mark = 7,
    /// The price of what the instrument is about.
    Index = 8,
    /// What longs pay shorts.
    Funding = 9,
    /// The volatility of the mark price.
    MarkVolatility = 10,
    /// The volatility of the best bid.
    BidVolatility = 11,
    /// The volatility of the best offer.
    AskVolatility = 12,
    /// The price from which an option is valued.
    Underlying = 13,
    /// The interest rate with which it is.
    InterestRate = 14,
    /// How far an option's price follows the underlying.
    Delta = 15,
    /// How far the delta follows the underlying.
    Gamma = 16,
    /// What a day costs.
    Theta = 17,
    /// What volatility is worth.
    Vega = 18,
    /// What interest is worth.
    Rho = 19,
}

impl Figure {
    /// All of them, by their numbers.
    pub const ALL: [Self; 20] = [
        Self::Open,
        Self::High,
        Self::Low,
        Self::Last,
        Self::Settlement,
        Self::Volume,
        Self::OpenInterest,
        Self::Mark,
        Self::Index,
        Self::Funding,
        Self::MarkVolatility,
        Self::BidVolatility,
        Self::AskVolatility,
        Self::Underlying,
        Self::InterestRate,
        Self::Delta,
        Self::Gamma,
        Self::Theta,
        Self::Vega,
        Self::Rho,
    ];
}

/// The number that says that a figure is withdrawn.
const WITHDRAWN: u8 = 7;

impl Statistic {
    /// Its number and its value.
    pub(crate) const fn parts(self) -> (u8, i64) {
        match self {
            Self::Open(price) => (0, price.0),
            Self::High(price) => (1, price.0),
            Self::Low(price) => (2, price.0),
            Self::Last(price) => (3, price.0),
            Self::Settlement(price) => (4, price.0),
            Self::Volume(lots) => (5, lots.0),
            Self::OpenInterest(lots) => (6, lots.0),
            Self::Mark(price) => (8, price.0),
            Self::Index(price) => (9, price.0),
            Self::Funding(rate) => (10, rate),
            Self::MarkVolatility(volatility) => (11, volatility),
            Self::BidVolatility(volatility) => (12, volatility),
            Self::AskVolatility(volatility) => (13, volatility),
            Self::Underlying(price) => (14, price.0),
            Self::InterestRate(rate) => (15, rate),
            Self::Delta(greek) => (16, greek),
            Self::Gamma(greek) => (17, greek),
            Self::Theta(greek) => (18, greek),
            Self::Vega(greek) => (19, greek),
            Self::Rho(greek) => (20, greek),
            Self::Withdrawn(figure) => (WITHDRAWN, figure as i64),
        }
    }

    pub(crate) fn of_parts(number: u8, value: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Open(Price(value)),
            1 => Self::High(Price(value)),
            2 => Self::Low(Price(value)),
            3 => Self::Last(Price(value)),
            4 => Self::Settlement(Price(value)),
            5 => Self::Volume(Lots(value)),
            6 => Self::OpenInterest(Lots(value)),
            8 => Self::Mark(Price(value)),
            9 => Self::Index(Price(value)),
            10 => Self::Funding(value),
            11 => Self::MarkVolatility(value),
            12 => Self::BidVolatility(value),
            13 => Self::AskVolatility(value),
            14 => Self::Underlying(Price(value)),
            15 => Self::InterestRate(value),
            16 => Self::Delta(value),
            17 => Self::Gamma(value),
            18 => Self::Theta(value),
            19 => Self::Vega(value),
            20 => Self::Rho(value),
            WITHDRAWN => {
                let number = usize::try_from(value).ok()?;
                Self::Withdrawn(*Figure::ALL.get(number)?)
            }
            _ => return None,
        })
    }
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

/// Whether a book that follows a feed can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// It has everything that is known to have been sent.
    Sound,
    /// It has not, or nobody knows.
    Stale(Staleness),
}

/// Why a book cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// There is no state yet that changes could be applied to.
    Joining,
    /// Changes are missing.
    Gap,
    /// Packets were given up; what they changed comes with time.
    Refreshing,
    /// No line says anything, or the connection broke.
    Silent,
    /// A line begins again with old numbers: the venue may have restarted. Its next new packet ends
    /// this, or more of the same does, which makes the new run the one to follow.
    Restarting,
    /// It has more levels than there is room for.
    BookFull,
    /// It began with a snapshot of so many levels, and its best price lies behind them: better ones
    /// may be there that were never told. A new snapshot ends this, or a best price among them.
    BeyondSnapshot,
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joining => "the feed has brought no snapshot of it yet",
            Self::Gap => "changes are missing",
            Self::Refreshing => "packets were given up",
            Self::Silent => "the feed is silent",
            Self::Restarting => "the feed begins again with old numbers",
            Self::BookFull => "more levels than `levels` has room for",
            Self::BeyondSnapshot => "the best price is beyond the snapshot",
        })
    }
}

/// Who takes the events of a decoder or a feed handler.
///
/// A message that is malformed is not handed over in parts: an [`EventKind::Begin`] is always
/// followed by its [`EventKind::End`] in the same call of a decoder.
pub trait MarketSink {
    /// Takes an event.
    fn on_event(&mut self, context: &Context<'_>, event: &Event);

    /// Whether the orders of a list ([`Batch::Orders`]) are to be handed over one by one. One that
    /// looks them up ([`FeedHandler::orders`](crate::FeedHandler::orders)) does without them, and
    /// is handed the list's beginning and end.
    fn takes_listed_orders(&self) -> bool {
        true
    }
}

impl<F: FnMut(&Context<'_>, &Event)> MarketSink for F {
    #[inline]
    fn on_event(&mut self, context: &Context<'_>, event: &Event) {
        self(context, event);
    }
}
