//! What is seen of gateways, in plain values: what is shown, and written as JSON.

use serde::Serialize;
use taut_lat::Summary;
use taut_runner::service::{LatchLine, OrderLine, PositionLine, StrategyLine, VenueClockLine};

use super::channels::ChannelSeen;
use super::processes::ProcessSeen;

/// All gateways and channels at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// When, in ns of UTC since 1970.
    pub at_ns: i64,
    /// By name.
    pub gateways: Vec<GatewaySeen>,
    /// Channels in shared memory, by name.
    pub channels: Vec<ChannelSeen>,
    /// The processes of `taut`, by their numbers.
    pub processes: Vec<ProcessSeen>,
}

/// Whether a gateway answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does.
    Up,
    /// It has not in time; what is told of it is old.
    Silent,
    /// It is gone, or was never there.
    #[default]
    Ended,
}

impl State {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Silent => "silent",
            Self::Ended => "ended",
        }
    }
}

/// A gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GatewaySeen {
    /// Its name, or the path of its control socket.
    pub name: String,
    /// Whether it answers.
    pub state: State,
    /// When what follows was so, in ns of UTC since 1970; 0 when it never answered.
    pub as_of_ns: i64,
    /// Its process.
    pub process: u32,
    /// How long it has run, in seconds.
    pub up_seconds: u64,
    /// Whose venue it is at: `taut`, `deribit`, `binance`, `okx`.
    pub venue: String,
    /// Orders go to a venue within the process.
    pub paper: bool,
    /// Orders, then market data.
    pub connections: Vec<Connection>,
    /// The venue's clock, where it is asked.
    pub venue_clock: Option<VenueClockLine>,
    /// Who may attach, and who has: with lag and losses.
    pub strategies: Vec<StrategyLine>,
    /// With best prices, and the depth of those that are followed.
    pub instruments: Vec<InstrumentSeen>,
    /// Whether orders, positions and profit are known: those of a run are not.
    pub knows_orders: bool,
    /// Orders that are not over.
    pub orders: Vec<OrderLine>,
    /// How many there are.
    pub open_orders: usize,
    /// What is held.
    pub positions: Vec<PositionLine>,
    /// Of all positions, where they are in one currency.
    pub profit: Profit,
    /// What is killed and was not revived.
    pub latches: Vec<LatchLine>,
    /// What it has counted.
    pub counters: Vec<Counter>,
    /// What its thread that trades had of its CPU in the last second.
    pub thread: Option<ThreadSeen>,
    /// Where the time of an order goes: the stages, then the wholes.
    pub stages: Vec<StageTimes>,
    /// The last orders that were sent, with their own times; the latest first.
    pub recent: Vec<OrderTimes>,
    /// Events of the market ring that this observer was too slow for.
    pub ring_lost: u64,
    /// What is wrong.
    pub warnings: Vec<Warning>,
}

impl GatewaySeen {
    /// What a counter has, and how fast it counts; 0 where there is none of this name.
    pub fn counter(&self, name: &str) -> (u64, f64) {
        let found = self.counters.iter().find(|counter| counter.name == name);
        found.map_or((0, 0.0), |counter| (counter.value, counter.per_second))
    }

    /// The times of a stage or a whole, by its name.
    pub fn stage(&self, name: &str) -> Option<&StageTimes> {
        self.stages.iter().find(|stage| stage.stage == name)
    }
}

/// Of the thread that trades, from the look before to this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadSeen {
    /// The CPU that it ran on last.
    pub cpu: usize,
    /// The parts of the time, 0 to 1: it ran.
    pub ran: f64,
    /// It could have run, and another task did, or its control group was stopped.
    pub waited: f64,
    /// Its control groups were stopped, because their quota of CPU time was used up.
    pub throttled: f64,
    /// The hypervisor had its CPU.
    pub stolen: f64,
    /// Times a second: the CPU was taken from it.
    pub switches_per_second: f64,
    /// It missed a page.
    pub faults_per_second: f64,
}

/// A connection of a gateway to its venue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Connection {
    /// `orders` or `market data`.
    pub name: String,
    /// Whether it stands, and is good for what it is for.
    pub is_up: bool,
    /// To where; empty where that is not told.
    pub address: String,
    /// How often it ended unasked.
    pub ended: u64,
    /// What the venue said when it last refused it, or ended it.
    pub refusal: String,
}

/// An instrument.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InstrumentSeen {
    /// Its symbol.
    pub symbol: String,
    /// The price step, a decimal.
    pub tick: String,
    /// The quantity of a lot, a decimal.
    pub lot: String,
    /// Whether its book can be trusted.
    pub is_sound: bool,
    /// Why not.
    pub stale_reason: String,
    /// The best bid; nothing when there is none, or none was seen yet.
    pub bid: Option<Level>,
    /// The best offer.
    pub ask: Option<Level>,
    /// Bids, best first; empty where the book is not followed.
    pub bids: Vec<Level>,
    /// Offers, best first.
    pub asks: Vec<Level>,
    /// The price of the last trade that was seen.
    pub last: Option<String>,
    /// Trades that were seen.
    pub trades: u64,
    /// Market events that were seen.
    pub events: u64,
    /// Market events of the last second.
    pub events_per_second: f64,
}

/// A price with its quantity, decimals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Level {
    /// The price.
    pub price: String,
    /// The quantity.
    pub quantity: String,
}

/// Profit since the day began: decimals, `?` where it cannot be said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profit {
    /// Of what was closed.
    pub realised: String,
    /// Of what is open.
    pub unrealised: String,
    /// Fees.
    pub fees: String,
    /// Both less fees.
    pub total: String,
}

impl Profit {
    /// Of positions that are not known.
    pub fn unknown() -> Self {
        let [realised, unrealised, fees, total] = std::array::from_fn(|_| "?".to_owned());
        Self { realised, unrealised, fees, total }
    }
}

/// A counter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What it has counted since the gateway began.
    pub value: u64,
    /// By how much it grew in the last second.
    pub per_second: f64,
}

/// How long a stage took in three windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageTimes {
    /// Its name.
    pub stage: String,
    /// In the last second.
    pub second: Times,
    /// In the last minute.
    pub minute: Times,
    /// Since the gateway began.
    pub start: Times,
}

/// Percentiles of durations, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// How many there were.
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

impl From<Summary> for Times {
    fn from(summary: Summary) -> Self {
        let Summary { count, p50, p99, p999, max, .. } = summary;
        Self { count, p50_ns: p50, p99_ns: p99, p999_ns: p999, max_ns: max }
    }
}

/// Where the time of one order went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderTimes {
    /// The text of its id at the venue (ClOrdID).
    pub id: String,
    /// When the packet that caused it was received, CLOCK_MONOTONIC ns.
    pub received_ns: i64,
    /// Each stage, ns, in the order of [`taut_lat::Stage::ALL`].
    pub stages_ns: Vec<u64>,
    /// All of them.
    pub tick_to_trade_ns: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A word for programs, which stays the same from version to version.
    pub code: String,
    /// In words, with what can be done.
    pub text: String,
}
