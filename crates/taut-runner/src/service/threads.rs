//! What the two threads of a gateway's process say to each other.

use taut_gateway::{ClockReading, NewInstrument, OpenOrder, OrderFilter, Owner, RiskRules};
use taut_market_data::Staleness;
use taut_oms::{Balance, KillScope, Latched, PositionReport};
use taut_sys::Address;
use taut_types::{InstrumentId, Lots, Nanos, Price};

use crate::service::dead_men::Watched;
use crate::service::file::GatewayFile;
use crate::service::usage::Usage;

/// A command or an answer with the number of the command: an answer that comes when nobody waits
/// for it any more is not taken for the next one.
pub type Numbered<T> = (u64, T);

/// The number of an answer to no command.
pub const UNASKED: u64 = 0;

/// What the listening thread asks the trading one for.
#[derive(Debug)]
pub enum Command {
    /// A place for this owner; whether it got it.
    Attach(usize, Owner),
    /// The strategy of this place is gone.
    Detach(usize),
    /// The strategy of this place is sent away.
    Evict(usize),
    Status,
    Orders,
    Positions,
    /// The book of an instrument.
    Book(InstrumentId),
    Usage,
    /// Other limits from now on: those of this file.
    SetRules(Box<RiskRules>, Box<Watched>, Box<GatewayFile>),
    /// One more instrument.
    AddInstrument(Box<NewInstrument>),
    /// All that there is.
    Picture,
    /// The end of the day.
    Roll,
    Kill(KillScope),
    Revive(KillScope),
    /// The operator is there; whether that is asked for.
    Alive,
    CancelAll(OrderFilter),
    /// The open orders of the first made the second's: how many.
    HandOver(Owner, Owner),
    /// The end.
    Stop,
}

impl Command {
    /// Whether it changes nothing.
    pub const fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::Status
                | Self::Orders
                | Self::Positions
                | Self::Book(_)
                | Self::Usage
                | Self::Picture
        )
    }
}

/// What it answers.
#[derive(Debug)]
pub enum Answer {
    Done(bool),
    HandedOver(usize),
    Status(Box<Glance>),
    Orders(Vec<(Owner, OpenOrder)>),
    Positions(Vec<PositionReport>),
    Book(Box<BookPicture>),
    Usage(Box<Usage>),
    Picture(Box<Picture>),
    /// Unasked: a day is over, and was this.
    Rolled(Box<Picture>),
    /// Unasked: the strategy of this place was dropped because it left its replies unread.
    Dropped(usize),
    /// Unasked: a line for whoever runs the gateway.
    Told(About, String),
    Failed(String),
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// What comparing positions with the venue's came to.
    Positions,
    /// The recording of what it hears.
    Recording,
}

/// A book at one moment.
#[derive(Debug)]
pub struct BookPicture {
    /// Where in the market ring what changes it from then on begins.
    pub position: u64,
    pub is_sound: bool,
    /// Bids and offers, best first.
    pub levels: [Vec<(Price, Lots)>; 2],
}

/// All that the gateway has at one moment.
#[derive(Debug)]
pub struct Picture {
    pub utc: Nanos,
    pub positions: Vec<PositionReport>,
    /// With whose they are.
    pub orders: Vec<(Owner, OpenOrder)>,
    pub balances: Vec<Balance>,
    pub killed: Vec<(Latched, Option<Nanos>)>,
}

/// How the gateway is.
#[derive(Debug)]
pub struct Glance {
    pub order_entry: bool,
    /// Where orders go, and its place by priority.
    pub order_address: (usize, Address),
    /// What the venue said when it refused a session, for orders and for market data.
    pub refusals: [String; 2],
    pub venue_clock: Option<ClockReading>,
    pub books_sound: bool,
    /// The instruments whose books are not, and why.
    pub stale_books: Vec<(InstrumentId, Staleness)>,
    /// The instruments that were added and that the venue has not told yet.
    pub uncompared: Vec<InstrumentId>,
    /// What is killed, and since which UTC.
    pub killed: Vec<(Latched, Option<Nanos>)>,
    pub open_orders: usize,
    /// By place: whether somebody is there.
    pub attached: Vec<bool>,
    /// Events that the market ring has had.
    pub market_position: u64,
    /// Positions that were other ones at the venue when they were compared last, in words.
    pub position_differences: Vec<String>,
    pub counters: Vec<(String, u64)>,
}
