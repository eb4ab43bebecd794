//! What is said over the control socket: one message of JSON for each request and each reply.

use core::fmt;

use serde::{Deserialize, Serialize};
use taut_doctor::outliers::{OutlierTrace, Outliers};
use taut_lat::Summary;
use taut_oms::PositionReport;
use taut_types::Instrument;

/// What a strategy or an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ControlRequest {
    /// To trade as this strategy for as long as the connection stands.
    Attach {
        /// Its name in the gateway's settings.
        strategy: String,
    },
    /// To look at the market's shared memory, which cannot be written to then: nobody is attached,
    /// and the thread that trades does nothing for it.
    Observe,
    /// How the gateway is.
    Status,
    /// The open orders.
    Orders,
    /// What is held.
    Positions,
    /// The book of an instrument as it is, for who looks at the market ring from there on.
    Book {
        /// Its symbol.
        symbol: String,
    },
    /// Where the time of a tick goes.
    Stages,
    /// The worst orders since the gateway began, and why they took long.
    Outliers {
        /// Only those of so many nanoseconds until now.
        since_ns: Option<i64>,
    },
    /// What is in force of limits, and how much of it is used.
    Limits,
    /// The file of settings read again, and its limits and new instruments taken.
    Reload,
    /// No new order, and the open ones cancelled.
    Kill {
        /// Whose.
        scope: ScopeName,
    },
    /// New orders may pass again.
    Revive {
        /// Whose.
        scope: ScopeName,
    },
    /// The operator is there: what is killed without such a word lives on.
    Alive,
    /// All that it has at this moment.
    Snapshot,
    /// The end of the day: positions settled, profit and losses counted anew.
    Roll,
    /// Open orders cancelled.
    CancelAll {
        /// Which.
        filter: FilterNames,
    },
    /// This strategy's connection ended and its orders cancelled.
    Drop {
        /// Its name in the gateway's settings.
        strategy: String,
    },
    /// The open orders of a strategy that is not attached made another one's.
    HandOver {
        /// Whose they are, by its name in the gateway's settings.
        from: String,
        /// Whose they become.
        to: String,
    },
    /// The gateway's end: orders cancelled, the session logged out.
    Stop,
}

/// Whose trading is meant, by its name in the settings, or by its number where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScopeName {
    /// Everybody's.
    #[default]
    All,
    /// A user's.
    User(String),
    /// An account's.
    Account(String),
    /// A strategy's.
    Strategy(String),
    /// Everybody's in an instrument.
    Symbol(String),
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("everything"),
            Self::User(name) => write!(f, "user {name}"),
            Self::Account(name) => write!(f, "account {name}"),
            Self::Strategy(name) => write!(f, "strategy {name}"),
            Self::Symbol(name) => write!(f, "symbol {name}"),
        }
    }
}

/// A side of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideName {
    /// Orders that buy.
    Buy,
    /// Orders that sell.
    Sell,
}

/// Which orders are meant: those that have all of this; without any, all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterNames {
    /// The user's name, or its number where it has none; so the others.
    pub user: Option<String>,
    /// The account's.
    pub account: Option<String>,
    /// The strategy's.
    pub strategy: Option<String>,
    /// The instrument's symbol.
    pub symbol: Option<String>,
    /// The side.
    pub side: Option<SideName>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ControlReply {
    /// The strategy is attached. Descriptors come with it: the market's segment, the strategy's
    /// own, the gateway's doorbell and the strategy's.
    Attached {
        /// Whether the gateway sleeps in the kernel and must be woken.
        wake_gateway: bool,
    },
    /// Some of the instruments whose numbers the market's events have, and whether more of them
    /// follow in another reply. A descriptor comes with each: the market's segment, to read.
    Observed {
        /// One line for each.
        instruments: Vec<InstrumentLine>,
        /// Whether more follow.
        more: bool,
    },
    /// It is done.
    Done,
    /// It is not done, and why.
    Failed {
        /// In words.
        text: String,
    },
    /// How the gateway is.
    Status(Box<Status>),
    /// A book at one moment.
    Book(Box<BookLines>),
    /// Where the time of a tick goes, stage by stage, then the wholes.
    Stages(Vec<StageLine>),
    /// The worst orders, and what a trace of them is drawn from.
    Outliers(Box<(Outliers, OutlierTrace)>),
    /// All that it has at this moment.
    Snapshot(Box<Snapshot>),
    /// The limits of the file hold now, and its new instruments are traded.
    Reloaded {
        /// What differs from what held before, with both values, and what was added.
        changes: Vec<String>,
    },
    /// Some of the limits, and whether more of them follow in another reply.
    Limits {
        /// One line for each.
        limits: Vec<LimitLine>,
        /// Whether more follow.
        more: bool,
    },
    /// Some of the open orders, and whether more of them follow in another reply.
    Orders {
        /// One line for each.
        orders: Vec<OrderLine>,
        /// Whether more follow.
        more: bool,
    },
    /// Some of what is held, and whether more of it follows in another reply.
    Positions {
        /// One line for each instrument and account.
        positions: Vec<PositionLine>,
        /// Whether more follow.
        more: bool,
    },
}

impl ControlReply {
    /// Whether another part of the same answer follows.
    pub(super) const fn has_more(&self) -> bool {
        matches!(
            self,
            Self::Observed { more: true, .. }
                | Self::Limits { more: true, .. }
                | Self::Orders { more: true, .. }
                | Self::Positions { more: true, .. }
        )
    }
}

/// A book at one moment: pairs of a price, in units of 1e-9, and lots, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookLines {
    /// The number of its instrument.
    pub instrument: u32,
    /// The position in the market ring from which on events change it.
    pub position: u64,
    /// Whether it can be trusted.
    pub is_sound: bool,
    /// The bids.
    pub bids: Vec<(i64, i64)>,
    /// The offers.
    pub asks: Vec<(i64, i64)>,
}

/// An instrument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstrumentLine {
    /// Its number.
    pub number: u32,
    /// Its symbol.
    pub symbol: String,
    /// The price step, a decimal.
    pub tick: String,
    /// The quantity of a lot, a decimal.
    pub lot: String,
}

impl InstrumentLine {
    pub(crate) fn of(instrument: &Instrument) -> Self {
        Self {
            number: instrument.id().0,
            symbol: instrument.symbol().to_string(),
            tick: instrument.tick().to_string(),
            lot: instrument.lot().to_string(),
        }
    }
}

/// How a gateway is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its process.
    pub process: u32,
    /// The number of the thread that trades, as in `/proc/PROCESS/task`; 0 before it runs.
    #[serde(default)]
    pub thread: u32,
    /// How long it has run, in whole seconds.
    pub up_seconds: u64,
    /// Whose venue it is at: `taut` for taut's own, or `deribit`, `binance`, `okx`.
    #[serde(default)]
    pub venue: String,
    /// Whether orders can be sent.
    pub order_entry: bool,
    /// Where orders go, or are to go.
    pub order_address: String,
    /// The place of that address by priority: 0 is the primary.
    pub order_priority: usize,
    /// What the venue said when it last refused a session for orders, or ended one; empty when it
    /// said nothing.
    #[serde(default)]
    pub order_refusal: String,
    /// The same of market data.
    #[serde(default)]
    pub market_data_refusal: String,
    /// The venue's clock, where it is asked.
    #[serde(default)]
    pub venue_clock: Option<VenueClockLine>,
    /// Orders go to a venue within the process.
    #[serde(default)]
    pub paper: bool,
    /// Whether all books can be trusted.
    pub books_sound: bool,
    /// The instruments whose books cannot be trusted, and why.
    #[serde(default)]
    pub stale_books: Vec<StaleBook>,
    /// The instruments that a reload has added and of which the venue has not said that it has
    /// their ticks and lots: no order for them leaves until then.
    #[serde(default)]
    pub uncompared: Vec<String>,
    /// Whether it was killed and not revived.
    pub killed: bool,
    /// What is killed.
    #[serde(default)]
    pub latches: Vec<LatchLine>,
    /// Instruments.
    pub instruments: usize,
    /// Orders that are not over.
    pub open_orders: usize,
    /// Who may attach, and who has.
    pub strategies: Vec<StrategyLine>,
    /// Positions that were other ones at the venue when they were compared last, in words.
    #[serde(default)]
    pub position_differences: Vec<String>,
    /// What it has counted, by name.
    pub counters: Vec<(String, u64)>,
}

/// A venue's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenueClockLine {
    /// How far it is ahead of this machine's UTC, in microseconds.
    pub ahead_us: i64,
    /// How long the question and its answer took, in microseconds.
    pub round_trip_us: i64,
    /// How often it jumped.
    pub jumps: u64,
}

/// A book that cannot be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleBook {
    /// The instrument.
    pub symbol: String,
    /// The reason, in words.
    pub reason: String,
}

/// A strategy of the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyLine {
    /// Its name.
    pub name: String,
    /// Its user's number.
    pub user: u8,
    /// Its own.
    pub strategy: u8,
    /// Whether it is attached.
    pub attached: bool,
    /// Market events that it has not read yet.
    #[serde(default)]
    pub lag: u64,
    /// Market events that it lost since it attached, because it read too slowly.
    #[serde(default)]
    pub lapped: u64,
    /// Requests since it attached for which there was no room.
    #[serde(default)]
    pub full: u64,
    /// How often it was dropped because it left its replies unread.
    #[serde(default)]
    pub dropped: u64,
}

/// Something that is killed and was not revived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchLine {
    /// Whose trading.
    pub scope: ScopeName,
    /// By what.
    pub cause: String,
    /// Since when, in ns of UTC since 1970; nothing when that was before the gateway was started.
    pub since_ns: Option<i64>,
}

/// How long a stage took since the gateway began, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageLine {
    /// Its name.
    pub stage: String,
    /// How many times.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1,000.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl StageLine {
    pub(crate) fn of(stage: &str, summary: &Summary) -> Self {
        let Summary { count, p50, p99, p999, max, .. } = *summary;
        let stage = stage.to_owned();
        Self { stage, count, p50_ns: p50, p99_ns: p99, p999_ns: p999, max_ns: max }
    }
}

/// An open order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    /// The text of its id at the venue (ClOrdID).
    pub id: String,
    /// The name of its strategy; its numbers when the settings have none.
    pub strategy: String,
    /// Its instrument.
    pub symbol: String,
    /// Its account's number.
    pub account: u8,
    /// `buy` or `sell`.
    pub side: String,
    /// Its limit price, a decimal.
    pub price: String,
    /// Its quantity, a decimal.
    pub quantity: String,
    /// What may still trade, a decimal.
    pub open: String,
    /// Where it is in its life.
    pub state: String,
}

/// What a strategy holds of an instrument in an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionLine {
    /// The name of the strategy; its numbers when the settings have none.
    pub strategy: String,
    /// The instrument.
    pub symbol: String,
    /// The account's number.
    pub account: u8,
    /// Bought less sold, a decimal.
    pub quantity: String,
    /// The price at which it was bought or sold, a decimal.
    pub average_price: String,
    /// Bought since the day began, a decimal.
    #[serde(default)]
    pub bought: String,
    /// Sold since the day began, a decimal.
    #[serde(default)]
    pub sold: String,
    /// What it is valued at, a decimal; nothing before the first price.
    #[serde(default)]
    pub mark: Option<String>,
    /// Profit of what was closed since the day began, a decimal.
    pub realised: String,
    /// Profit of what is open, at the middle of the market, a decimal.
    pub unrealised: String,
    /// Fees since the day began, a decimal.
    pub fees: String,
}

impl PositionLine {
    /// A position in words; `?` where the instrument is not one of these.
    pub(crate) fn of(held: &PositionReport, strategy: String, instruments: &[Instrument]) -> Self {
        let instrument = instruments.get(held.key.instrument.0 as usize);
        let unknown = || "?".to_owned();
        let qty = |lots| {
            let qty = instrument.and_then(|instrument| instrument.qty(lots).ok());
            qty.map_or_else(unknown, |qty| qty.to_string())
        };
        Self {
            strategy,
            symbol: instrument.map_or_else(unknown, |it| it.symbol().to_string()),
            account: held.key.account.0,
            quantity: qty(held.lots),
            bought: qty(held.bought),
            sold: qty(held.sold),
            mark: held.mark.map(|mark| mark.to_string()),
            average_price: held.average.unwrap_or_default().to_string(),
            realised: held.realised.to_string(),
            unrealised: held.unrealised.to_string(),
            fees: held.fees.to_string(),
        }
    }
}

/// All that a gateway has at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The gateway's name.
    pub gateway: String,
    /// When, in ns of UTC since 1970.
    pub at_ns: i64,
    /// What is held; at the end of a day as it was settled, before it counts anew.
    pub positions: Vec<PositionLine>,
    /// The open orders.
    pub orders: Vec<OrderLine>,
    /// What accounts have of the currencies that are followed.
    pub balances: Vec<BalanceLine>,
    /// What is killed.
    pub latches: Vec<LatchLine>,
}

/// What an account has of a currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceLine {
    /// The account's number.
    pub account: u8,
    /// The currency.
    pub currency: String,
    /// How much, a decimal.
    pub amount: String,
}

/// A limit, and how much of it is used now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitLine {
    /// Of what: `gateway`, `user`, `account`, `strategy` or `instrument`.
    pub scope: String,
    /// Which of them.
    pub name: String,
    /// What is limited.
    pub limit: String,
    /// How much is used.
    pub used: String,
    /// How much may be; nothing where there is no limit.
    pub max: Option<String>,
}
