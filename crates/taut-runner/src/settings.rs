//! What a run is told: mode, time, places, instrument, venue, limits.
//!
//! [`Settings`] is plain data, from code or from TOML; [`Settings::check`] says what is wrong
//! before any process starts.

mod instrument;
mod risk;
mod venue;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_sys::Wait;
use taut_types::Instrument;
use toml::Table;

pub(crate) use instrument::Contract;
pub use instrument::InstrumentSettings;
pub(crate) use instrument::{INSTRUMENTS_MAX, build_fees, build_instruments};
pub use risk::RiskSettings;
pub use venue::{FeedTransport, RemoteVenue, Replay, Simulator, SimulatorOrders, VenueKind};

pub(crate) use venue::{Market, address_mistakes, comp_id, fix_version};

use crate::error::RunnerError;
use crate::outliers::OutlierSettings;

/// A file of settings with every key and its default, for people to start from.
pub const SAMPLE: &str = include_str!("settings/sample.toml");

/// The longest run that makes sense: the time axis and the sequence numbers hold far more, but a
/// slip of the keyboard should not start a year.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// Where the strategy runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In a process of its own, behind shared memory.
    #[default]
    Split,
    /// In the gateway's thread.
    Fused,
    /// In one thread with gateway and venue simulator, on a simulated network and virtual time: the
    /// same settings give the same run.
    Simulated,
}

impl Mode {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Fused => "fused",
            Self::Simulated => "simulated",
        }
    }
}

/// The CPUs of the processes; what is not named is chosen from those that this process may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cpus {
    /// The venue simulator's.
    pub venue: Option<usize>,
    /// The gateway's; in fused mode the strategy's too.
    pub gateway: Option<usize>,
    /// The strategy's, in split mode.
    pub strategy: Option<usize>,
}

/// The gateway's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewaySettings {
    /// Price levels of a side of the book.
    pub levels: usize,
    /// Orders that are remembered; a place is taken again when its order is done.
    pub orders: usize,
    /// The gateway runs the code of a new order up to its message, without sending, while
    /// strategies in other processes decide about a tick, and, where it spins or yields, while
    /// there is nothing to do: an order finds code and memory in the caches.
    pub keep_warm: bool,
    /// Strategies are told of single orders of the market too, where the feed has them.
    pub market_by_order: bool,
    /// Single orders of a book that are followed for them. Of a book with more they are not told.
    pub book_orders: usize,
    /// For how many instruments a gateway that runs by itself takes room: those that a reload of
    /// its file adds have it. Without it a quarter more than there are at the start, 16 at least.
    pub instruments_max: Option<usize>,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            levels: 1 << 13,
            orders: 1 << 16,
            keep_warm: true,
            market_by_order: false,
            book_orders: 1 << 14,
            instruments_max: None,
        }
    }
}

impl GatewaySettings {
    /// Every value that cannot be.
    pub(crate) fn mistakes(&self) -> Vec<RunnerError> {
        let sizes = [
            ("gateway.levels", self.levels),
            ("gateway.orders", self.orders),
            ("gateway.book_orders", self.book_orders),
        ];
        let wrong = sizes.into_iter().filter(|(_, size)| !(1..=1 << 24).contains(size));
        wrong.map(|(key, size)| RunnerError::setting(key, size, "from 1 to 16777216")).collect()
    }
}

/// A run's settings. Start from the default and change what differs, or read TOML. All that a file
/// can say ([`SAMPLE`]):
///
/// ```toml
#[doc = include_str!("settings/sample.toml")]
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Where the strategy runs.
    pub mode: Mode,
    /// How long it trades; without it until Ctrl-C, or the end of a recording.
    pub seconds: Option<f64>,
    /// How gateway and strategy wait; without it they spin on a CPU of their own and yield on a
    /// shared one.
    #[serde(with = "wait")]
    pub wait: Option<Wait>,
    /// A new folder in which everything that the gateway hears is written down, so that the run can
    /// be done again ([`Recording`](crate::Recording)). A bare send is not measured then.
    pub record: Option<PathBuf>,
    /// Who runs where.
    pub cpus: Cpus,
    /// What is traded, when it is one thing.
    pub instrument: InstrumentSettings,
    /// What is traded, when it is more; not both. A recorded stream is the first one's.
    pub instruments: Vec<InstrumentSettings>,
    /// A venue simulator as a process of the run.
    pub simulator: Option<Simulator>,
    /// A venue that runs elsewhere. Neither it nor a simulator: the simulator by its defaults.
    pub venue: Option<RemoteVenue>,
    /// Sizes of the gateway.
    pub gateway: GatewaySettings,
    /// Pre-trade limits.
    pub risk: RiskSettings,
    /// Which orders are kept to be explained.
    pub outliers: OutlierSettings,
    /// The strategy's own; see [`Runner::parameters`](crate::Runner::parameters).
    pub parameters: Table,
}

impl Settings {
    /// Looks at every value before anything starts.
    ///
    /// # Errors
    /// The first setting that cannot be, its value and what would be right.
    pub fn check(&self) -> Result<(), RunnerError> {
        if let Some(seconds) = self.seconds
            && !(seconds > 0.0 && seconds <= SECONDS_MAX)
        {
            return Err(RunnerError::setting(
                "seconds",
                seconds,
                format!("above 0 and at most {SECONDS_MAX}"),
            ));
        }
        let mistakes = self.gateway.mistakes().into_iter().chain(self.outliers.mistakes());
        if let Some(mistake) = mistakes.into_iter().next() {
            return Err(mistake);
        }
        if let Some(room) = self.gateway.instruments_max {
            let remedy = "left out here: it is for a gateway that runs by itself";
            return Err(RunnerError::setting("gateway.instruments_max", room, remedy));
        }
        self.instruments()?;
        let market = self.market()?;
        self.check_record()?;
        self.check_standby(&market)?;
        if self.mode == Mode::Simulated && matches!(market, Market::Remote(_)) {
            let remedy = "a venue that runs elsewhere does not live on virtual time; leave [venue] \
                          out";
            return Err(RunnerError::Settings(format!("mode = simulated: {remedy}")));
        }
        if let (Mode::Simulated, Market::Simulator(Simulator { kind, .. })) = (self.mode, &market)
            && *kind != VenueKind::Taut
        {
            let remedy = "\"taut\" with mode = \"simulated\"";
            return Err(RunnerError::setting("simulator.kind", kind.name(), remedy));
        }
        market.check(self.instruments.len().max(1))
    }

    /// Where a venue cannot be killed in the middle of the run.
    fn check_standby(&self, market: &Market) -> Result<(), RunnerError> {
        if !matches!(market, Market::Simulator(Simulator { standby: true, .. })) {
            return Ok(());
        }
        let refuse = |remedy| Err(RunnerError::setting("simulator.standby", true, remedy));
        if self.mode == Mode::Simulated {
            return refuse("left out with mode = simulated: the venue is no process there");
        }
        if self.record.is_some() {
            return refuse("left out with record: a replay has one venue");
        }
        if self.seconds.is_none() {
            return refuse("together with seconds: the venue is killed in the middle of the run");
        }
        Ok(())
    }

    /// What cannot be written down, and where it cannot be written.
    fn check_record(&self) -> Result<(), RunnerError> {
        let Some(folder) = &self.record else { return Ok(()) };
        let refuse = |remedy| Err(RunnerError::setting("record", folder.display(), remedy));
        if self.mode == Mode::Simulated {
            return refuse("left out with mode = simulated: the same settings give the same run");
        }
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
            Ok(true) => refuse("a folder that is empty or not there: nothing is overwritten"),
            _ => Ok(()),
        }
    }

    /// What is traded: `[[instruments]]`, numbered from 0, or else the `[instrument]`.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn instruments(&self) -> Result<Vec<Instrument>, RunnerError> {
        instrument::build_all(&self.instrument, &self.instruments)
    }

    /// The instruments' parts of the simulator's commands.
    pub(crate) fn weights(&self) -> Vec<u32> {
        match self.instruments.as_slice() {
            [] => vec![1],
            all => all.iter().map(|instrument| instrument.weight).collect(),
        }
    }

    /// The venue: exactly one.
    pub(crate) fn market(&self) -> Result<Market, RunnerError> {
        match (&self.simulator, &self.venue) {
            (Some(_), Some(_)) => Err(RunnerError::Settings(
                "[simulator] and [venue] name two venues; leave one of them out".to_owned(),
            )),
            (None, Some(venue)) => Ok(Market::Remote(venue.clone())),
            (simulator, None) => Ok(Market::Simulator(simulator.clone().unwrap_or_default())),
        }
    }
}

/// [`Wait`] by its name.
pub(crate) mod wait {
    use serde::{Deserialize, Deserializer, Serializer};
    use taut_sys::Wait;

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Name {
        Spin,
        Yield,
        Block,
    }

    #[expect(clippy::ref_option, reason = "serde hands out a reference to the field")]
    pub fn serialize<S: Serializer>(wait: &Option<Wait>, to: S) -> Result<S::Ok, S::Error> {
        match wait {
            Some(wait) => to.serialize_some(wait.name()),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Wait>, D::Error> {
        Ok(Option::<Name>::deserialize(from)?.map(|name| match name {
            Name::Spin => Wait::Spin,
            Name::Yield => Wait::Yield,
            Name::Block => Wait::Block,
        }))
    }
}

#[cfg(test)]
mod tests;
