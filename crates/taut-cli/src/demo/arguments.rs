//! What the user says.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use taut_runner::{FeedTransport, Mode, SimulatorOrders, VenueKind};
use taut_sys::Wait;
use taut_types::Nanos;

pub type Choices<T> = [(&'static str, T, &'static str)];

/// Names, what they stand for, and their help.
const MODES: &Choices<Mode> = &[
    ("split", Mode::Split, "In a process of its own, behind shared memory"),
    ("fused", Mode::Fused, "In the gateway's thread"),
];
pub const WAITS: &Choices<Wait> = &[
    ("spin", Wait::Spin, "Look again at once"),
    ("yield", Wait::Yield, "Let others of the same CPU run, then look again"),
    ("block", Wait::Block, "Sleep in the kernel"),
];
const VENUES: &Choices<VenueKind> = &[
    ("taut", VenueKind::Taut, "taut's own: market data in SBE over UDP, orders over FIX 4.4"),
    ("deribit", VenueKind::Deribit, "As Deribit: JSON over WebSocket, orders by FIX where asked"),
    ("binance", VenueKind::Binance, "As Binance's spot market: depth each 100 ms, WebSocket API"),
];
const ORDERS: &Choices<SimulatorOrders> = &[
    ("json", SimulatorOrders::Json, "JSON over WebSocket, as market data"),
    ("fix", SimulatorOrders::Fix, "The venue's own FIX 4.4"),
];
const FEEDS: &Choices<FeedTransport> = &[
    ("auto", FeedTransport::Auto, "Multicast on loopback, or unicast where the machine has none"),
    ("multicast", FeedTransport::Multicast, "Multicast on loopback"),
    ("unicast", FeedTransport::Unicast, "Unicast on loopback"),
];

/// One of these names, as an argument.
pub fn one_of<T: Copy + Send + Sync>(
    choices: &'static Choices<T>,
) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(|text| {
        let found = choices.iter().find(|(name, ..)| *name == text);
        found.map(|(_, value, _)| *value).ok_or("no such choice")
    })
}

/// What the venue's book is made of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FlowArgument {
    /// Made from a seed.
    Synthetic,
}

/// Run a venue, a gateway and a strategy on this machine and report every stage.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Where the strategy runs: in a process of its own behind shared memory, or in the gateway's
    /// thread
    #[arg(long, value_parser = one_of(MODES), default_value = "split")]
    pub mode: Mode,
    /// Whose interfaces the venue speaks, and the gateway to it
    #[arg(long, value_parser = one_of(VENUES), default_value = "taut")]
    pub venue: VenueKind,
    /// What orders go over at Deribit and Binance [default: json]
    #[arg(long, value_parser = one_of(ORDERS))]
    pub orders: Option<SimulatorOrders>,
    /// Market data and orders go over TLS at Deribit and Binance, with a certificate that is made
    /// for the run
    #[arg(long)]
    pub tls: bool,
    /// The venue's order flow
    #[arg(long, value_enum, default_value = "synthetic", conflicts_with = "data")]
    pub flow: FlowArgument,
    /// Replay a recording in the venue instead of the synthetic flow: a LOBSTER message file, or a
    /// capture of Binance's frames (.gz), whose market is the venue's flow and, frame by frame over
    /// WebSocket, the gateway's feed
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Pace of the replay: a factor of recorded time, or `max` [default: 1]
    #[arg(long, value_name = "X|max")]
    pub speed: Option<String>,
    /// Seed of the synthetic flow
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "data")]
    pub seed: u64,
    /// Instruments of the synthetic market: what its crowd sends is shared out evenly
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "data",
        value_parser = clap::value_parser!(u32).range(1..=2_000))]
    pub instruments: u32,
    /// Synthetic order-flow commands a second, over all instruments [default: 20000; 2000 at
    /// Binance, where a tenth of a second is one change of a book]
    #[arg(long, value_name = "HZ", conflicts_with = "data",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub ticks: Option<u32>,
    /// Price levels a side of a synthetic book [default: 600, fewer where more than 20 instruments
    /// share 12,000, and 20 at least]
    #[arg(long, value_name = "N", conflicts_with = "data",
        value_parser = clap::value_parser!(u32).range(10..=4_000))]
    pub levels: Option<u32>,
    /// The strategy's orders a second, at the most; 0 only watches
    #[arg(long, value_name = "HZ", default_value_t = 1_000,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub rate: u32,
    /// How long to run [default: 10; with --data: to the end of the file]
    #[arg(long, value_name = "N")]
    pub seconds: Option<f64>,
    /// How gateway and strategy wait [default: spin on a CPU of one's own, yield on a shared one]
    #[arg(long, value_parser = one_of(WAITS))]
    pub wait: Option<Wait>,
    /// CPUs of venue, gateway and strategy, such as 0,0,1 (in fused mode the third is not used)
    #[arg(long, value_name = "V,G,S")]
    pub cpus: Option<String>,
    /// Do not keep the code and memory of an order in the caches while there is nothing to do
    #[arg(long)]
    pub cold: bool,
    /// How market data travels
    #[arg(long, value_parser = one_of(FEEDS), default_value = "auto")]
    pub feed: FeedTransport,
    /// Datagrams that the venue loses on purpose on line A and line B of the feed, in a thousand,
    /// such as 1000,5: the other line, requests for packets and snapshots make up for it
    #[arg(long, value_name = "A,B", value_parser = parse_loss)]
    pub lose: Option<(u16, u16)>,
    /// The venue refuses to send packets again: what both lines lose is left to its snapshots
    #[arg(long)]
    pub refuse_retransmission: bool,
    /// Kill the venue in the middle of the run: its standby takes its place, and the report says
    /// how long nobody could trade (the bare send is not measured then)
    #[arg(long, conflicts_with = "data", conflicts_with = "record")]
    pub standby: bool,
    /// TCP port of the venue's order entry; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Write everything that the gateway hears into this new folder: `taut replay DIR` does the run
    /// once more and compares (the bare send is not measured then)
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Keep only orders that took longer from tick to trade, such as 100us or 2ms, in the report of
    /// the worst [default: the worst 50, whatever they took]
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse)]
    pub outliers_above: Option<Nanos>,
    /// Write the worst orders as a trace: their stages on their threads and CPUs, for
    /// ui.perfetto.dev (Chrome's trace event format). A file that is there is replaced only with
    /// `--overwrite`
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Directory of the report [default: a new taut-out/<time>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the report of another run in that directory
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Print one JSON object, and the tables on standard error
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// Commands of the synthetic flow a second.
    pub fn ticks(&self) -> u32 {
        self.ticks.unwrap_or(if self.venue == VenueKind::Binance { 2_000 } else { 20_000 })
    }

    /// Price levels a side of each synthetic book.
    pub fn levels(&self) -> u32 {
        self.levels.unwrap_or_else(|| (12_000 / self.instruments.max(1)).clamp(20, 600))
    }
}

fn parse_loss(text: &str) -> Result<(u16, u16), String> {
    let one = |part: &str| part.trim().parse::<u16>().ok().filter(|per_mille| *per_mille <= 1_000);
    text.split_once(',')
        .and_then(|(a, b)| Some((one(a)?, one(b)?)))
        .ok_or_else(|| "two numbers from 0 to 1000 are needed, such as 1000,5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_two_numbers_up_to_a_thousand() {
        assert_eq!(parse_loss("1000, 5"), Ok((1_000, 5)));
        for bad in ["", "5", "5,", "1001,0", "-1,0", "1,2,3", "0.5,0"] {
            assert!(parse_loss(bad).is_err(), "{bad}");
        }
    }
}
