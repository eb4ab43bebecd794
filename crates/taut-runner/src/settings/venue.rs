//! The venue of a run: a simulator in a process of its own, or one that runs elsewhere.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use taut_fix::CompId;
use taut_sys::{interface_index, interfaces};
use taut_venue::FixVersion;

use crate::error::RunnerError;

/// How the simulator's market data travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeedTransport {
    /// Multicast on loopback, or unicast where the machine has none.
    #[default]
    Auto,
    /// Multicast on loopback.
    Multicast,
    /// Unicast on loopback.
    Unicast,
}

/// Whose interfaces a simulator speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VenueKind {
    /// Its own: market data in SBE over UDP, orders over FIX 4.4.
    #[default]
    Taut,
    /// Deribit's: JSON-RPC over WebSocket for both.
    Deribit,
    /// Those of Binance's spot market: streams over WebSocket, and the WebSocket API.
    Binance,
}

impl VenueKind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Taut => "taut",
            Self::Deribit => "deribit",
            Self::Binance => "binance",
        }
    }
}

/// What orders go over at a simulator that speaks as another venue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SimulatorOrders {
    /// JSON over WebSocket, as its market data.
    #[default]
    Json,
    /// The venue's own FIX 4.4.
    Fix,
}

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a number above 0, or \"max\"")]
pub enum Replay {
    /// A multiple of recorded time.
    Factor(f64),
    /// As fast as the venue can.
    Named(AsFastAsPossible),
}

/// The one speed with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AsFastAsPossible {
    /// `"max"`.
    #[serde(rename = "max")]
    Max,
}

impl Replay {
    /// As fast as the venue can.
    pub const MAX: Self = Self::Named(AsFastAsPossible::Max);
}

/// `max`, or a number, as a user writes it.
impl FromStr for Replay {
    type Err = RunnerError;

    fn from_str(text: &str) -> Result<Self, RunnerError> {
        if text == "max" {
            return Ok(Self::MAX);
        }
        let factor = text.parse().ok().filter(|factor| *factor > 0.0 && *factor <= 1e6);
        factor.map(Self::Factor).ok_or_else(|| {
            let text = "must be `max` or a number above 0 and at most 1000000";
            RunnerError::Settings(text.to_owned())
        })
    }
}

/// The venue simulator: matching engine, order entry, market data, and a crowd that trades.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Simulator {
    /// Whose interfaces it speaks.
    pub kind: VenueKind,
    /// What orders go over where it speaks as another venue; without it JSON over WebSocket.
    pub orders: Option<SimulatorOrders>,
    /// Where it speaks as another venue: market data and orders go over TLS, with a certificate
    /// that is made for the run.
    pub tls: bool,
    /// The crowd's seed; a seed of what is lost on purpose, too.
    pub seed: u64,
    /// The crowd's commands a second.
    pub commands_per_second: u32,
    /// Price levels a side of the crowd's book.
    pub levels: u32,
    /// Replays this recording instead of the crowd: a LOBSTER message file, or a capture of
    /// Binance's frames (`.gz`), which the gateway then gets as they were recorded, over WebSocket.
    pub data: Option<PathBuf>,
    /// The replay's speed.
    pub speed: Replay,
    /// Levels a side that the gateway asks a snapshot of Binance's book for, and behind which it
    /// knows that others may be; without it 5,000, and the answer says whether it is cut.
    pub snapshot_levels: Option<u32>,
    /// TCP port of order entry on 127.0.0.1; 0 picks a free one, as for all that is not order
    /// entry.
    pub port: u16,
    /// How market data travels.
    pub feed: FeedTransport,
    /// Datagrams that line A and line B lose on purpose, in a thousand.
    pub lose_per_mille: [u16; 2],
    /// Requests for lost packets are refused: snapshots must make up for them.
    pub refuse_retransmission: bool,
    /// The venue has a journal and a standby; in the middle of the run it is killed, and the
    /// standby takes its place.
    pub standby: bool,
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            kind: VenueKind::Taut,
            orders: None,
            tls: false,
            seed: 1,
            commands_per_second: 20_000,
            levels: 600,
            data: None,
            speed: Replay::Factor(1.0),
            snapshot_levels: None,
            port: 0,
            feed: FeedTransport::Auto,
            lose_per_mille: [0; 2],
            refuse_retransmission: false,
            standby: false,
        }
    }
}

/// A venue that runs elsewhere: FIX 4.4 for orders, taut's own feed for market data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RemoteVenue {
    /// Where it takes orders.
    pub orders: SocketAddrV4,
    /// Line A of its feed: a multicast group, or an address of this host.
    pub incremental: SocketAddrV4,
    /// Line B: the same packets again.
    #[serde(default)]
    pub incremental_b: Option<SocketAddrV4>,
    /// Its snapshots.
    pub snapshot: SocketAddrV4,
    /// Where it sends packets again; without it a snapshot closes a gap.
    #[serde(default)]
    pub retransmission: Option<SocketAddrV4>,
    /// The network interface on which the groups are joined.
    #[serde(default = "loopback")]
    pub interface: String,
    /// The feed's stream; without it the first one that comes.
    #[serde(default)]
    pub stream_id: Option<u32>,
    /// SenderCompID (49).
    #[serde(default = "sender")]
    pub sender_comp_id: String,
    /// TargetCompID (56).
    pub target_comp_id: String,
    /// HeartBtInt (108).
    #[serde(default = "heartbeat")]
    pub heartbeat_seconds: u32,
}

fn loopback() -> String {
    "lo".to_owned()
}

fn sender() -> String {
    "GATEWAY".to_owned()
}

const fn heartbeat() -> u32 {
    5
}

impl RemoteVenue {
    /// A venue at these addresses; what else there is has its default.
    #[must_use]
    pub fn new(
        orders: SocketAddrV4,
        incremental: SocketAddrV4,
        snapshot: SocketAddrV4,
        target_comp_id: &str,
    ) -> Self {
        Self {
            orders,
            incremental,
            incremental_b: None,
            snapshot,
            retransmission: None,
            interface: loopback(),
            stream_id: None,
            sender_comp_id: sender(),
            target_comp_id: target_comp_id.to_owned(),
            heartbeat_seconds: heartbeat(),
        }
    }
}

/// The venue that a run has.
#[derive(Clone, Debug)]
pub(crate) enum Market {
    Simulator(Simulator),
    Remote(RemoteVenue),
}

impl Market {
    pub(crate) fn check(&self, instruments: usize) -> Result<(), RunnerError> {
        match self {
            Self::Simulator(simulator) => simulator.check(instruments),
            Self::Remote(venue) => venue.check(),
        }
    }
}

/// The most levels a side of all books of a crowd together: some 3 KB of memory each.
const LEVELS_OF_ALL: usize = 200_000;

impl Simulator {
    /// Whether it replays a venue's own stream, which is the gateway's feed then.
    #[must_use]
    pub fn replays_a_stream(&self) -> bool {
        self.data.as_ref().is_some_and(|file| file.extension().is_some_and(|kind| kind == "gz"))
    }

    /// What only taut's own venue can do, and what only others can.
    fn check_kind(&self) -> Result<(), RunnerError> {
        let only_taut = [
            ("data", self.data.is_some()),
            ("feed", self.feed != FeedTransport::Auto),
            ("lose_per_mille", self.lose_per_mille != [0; 2]),
            ("refuse_retransmission", self.refuse_retransmission),
            ("standby", self.standby),
        ];
        let only_others = [("orders", self.orders.is_some()), ("tls", self.tls)];
        let misplaced = match self.kind {
            VenueKind::Taut => &only_others[..],
            VenueKind::Deribit | VenueKind::Binance => &only_taut[..],
        };
        let wrong = misplaced.iter().find(|(_, is_set)| *is_set);
        wrong.map_or(Ok(()), |(key, _)| {
            let (key, remedy) = (format!("simulator.{key}"), "left out");
            let at = format!("with kind = \"{}\"", self.kind.name());
            Err(RunnerError::setting(&key, at, remedy))
        })
    }

    fn check(&self, instruments: usize) -> Result<(), RunnerError> {
        self.check_kind()?;
        let Self { commands_per_second, levels, lose_per_mille, .. } = self;
        if !(1..=1_000_000).contains(commands_per_second) {
            let key = "simulator.commands_per_second";
            return Err(RunnerError::setting(key, commands_per_second, "from 1 to 1000000"));
        }
        if !(10..=4_000).contains(levels) {
            return Err(RunnerError::setting("simulator.levels", levels, "from 10 to 4000"));
        }
        // Every level has room for some orders on both sides.
        if self.data.is_none() && instruments * *levels as usize > LEVELS_OF_ALL {
            let most = LEVELS_OF_ALL / instruments;
            let right =
                format!("at most {most} for {instruments} instruments, {LEVELS_OF_ALL} in all");
            return Err(RunnerError::setting("simulator.levels", levels, right));
        }
        if let Some(per_mille) = lose_per_mille.iter().find(|per_mille| **per_mille > 1_000) {
            return Err(RunnerError::setting(
                "simulator.lose_per_mille",
                per_mille,
                "from 0 to 1000",
            ));
        }
        if let Replay::Factor(factor) = self.speed
            && !(factor > 0.0 && factor <= 1e6)
        {
            return Err(RunnerError::setting(
                "simulator.speed",
                factor,
                "\"max\", or above 0 and at most 1000000",
            ));
        }
        match &self.data {
            Some(_) if self.standby => Err(RunnerError::setting(
                "simulator.standby",
                true,
                "left out with a recording: a standby would begin it anew",
            )),
            Some(file) if !file.is_file() => Err(RunnerError::setting(
                "simulator.data",
                file.display(),
                "a recording that exists",
            )),
            _ => Ok(()),
        }
    }
}

impl RemoteVenue {
    fn check(&self) -> Result<(), RunnerError> {
        self.mistakes().into_iter().next().map_or(Ok(()), Err)
    }

    /// Every value that cannot be.
    pub(crate) fn mistakes(&self) -> Vec<RunnerError> {
        let ids = [
            ("venue.sender_comp_id", &self.sender_comp_id),
            ("venue.target_comp_id", &self.target_comp_id),
        ];
        let ids = ids.into_iter().filter_map(|(key, text)| comp_id(key, text).err());
        let mut mistakes: Vec<_> = ids.collect();
        let addresses = [
            ("orders", Some(self.orders)),
            ("incremental", Some(self.incremental)),
            ("incremental_b", self.incremental_b),
            ("snapshot", Some(self.snapshot)),
            ("retransmission", self.retransmission),
        ];
        mistakes.extend(address_mistakes("venue", &addresses));
        mistakes.extend(interface_mistake(&self.interface));
        if self.heartbeat_seconds == 0 {
            mistakes.push(RunnerError::setting("venue.heartbeat_seconds", 0, "at least 1"));
        }
        mistakes
    }
}

/// The addresses of a table that nobody can be at.
pub(crate) fn address_mistakes(
    table: &str,
    addresses: &[(&str, Option<SocketAddrV4>)],
) -> Vec<RunnerError> {
    let named = addresses.iter().filter_map(|(key, at)| Some((key, (*at)?)));
    let wrong = named.filter(|(_, at)| at.port() == 0 || *at.ip() == Ipv4Addr::UNSPECIFIED);
    let told = |(key, at): (&&str, SocketAddrV4)| {
        RunnerError::setting(&format!("{table}.{key}"), at, "an address with a port")
    };
    wrong.map(told).collect()
}

/// An interface that this machine has not.
fn interface_mistake(name: &str) -> Option<RunnerError> {
    interface_index(name).err()?;
    let have: Vec<String> = interfaces().ok()?.into_iter().map(|it| it.name).collect();
    let remedy = format!("a network interface of this machine: {}", have.join(", "));
    Some(RunnerError::setting("venue.interface", name, remedy))
}

/// A version of FIX in which a venue's clients may trade.
///
/// # Errors
/// When the text is none.
pub(crate) fn fix_version(key: &str, text: &str) -> Result<FixVersion, RunnerError> {
    FixVersion::named(text).ok_or_else(|| {
        let names = FixVersion::ALL.map(FixVersion::as_str).join(", ");
        RunnerError::setting(key, text, format!("one of {names}"))
    })
}

/// A CompID.
///
/// # Errors
/// When the text is none.
pub(crate) fn comp_id(key: &str, text: &str) -> Result<CompId, RunnerError> {
    let remedy = "a FIX CompID: 1 to 31 printable letters";
    CompId::new(text.as_bytes()).ok_or_else(|| RunnerError::setting(key, text, remedy))
}
