//! `taut-bench fix`: NewOrderSingle out, ExecutionReport back.

mod codec;
mod messages;
mod round_trip;

use clap::Args;
use serde::Serialize;
use taut_fix::SimdLevel;

use crate::fix::codec::Cost;
use crate::ping_pong::print_trips;
use taut_report::terminal::{print, print_json};
use taut_report::{Conditions, Failure, Spread, Watch};

/// The arguments of `taut-bench fix`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Round trips that are measured, of each kind.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(64..))]
    round_trips: u32,
    /// The instructions that index and sum: `avx2`, `sse2` or `portable`; the best of this
    /// processor unless told otherwise.
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    simd: Option<SimdLevel>,
}

fn parse_level(name: &str) -> Result<SimdLevel, String> {
    let names = || SimdLevel::all().map(SimdLevel::name).collect::<Vec<_>>().join(", ");
    SimdLevel::named(name).ok_or_else(|| format!("this processor has {}", names()))
}

#[derive(Debug, Serialize)]
struct Report {
    rtt_ns: Spread,
    bare_rtt_ns: Spread,
    index_ns: Cost,
    parse_ns: Cost,
    /// Header, body, length and checksum.
    encode_ns: Cost,
    /// The same, and the copy in a store in memory.
    encode_kept_ns: Cost,
    distinct_messages: usize,
    simd: &'static str,
    msgs_per_s: f64,
    conditions: Conditions,
}

/// Measures and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let watch = Watch::start();
    let level = arguments.simd.unwrap_or_else(SimdLevel::best);
    let codec = codec::measure(level)?;
    let trips = round_trip::measure(arguments.round_trips, level)?;
    let report = Report {
        rtt_ns: trips.session,
        bare_rtt_ns: trips.bare,
        index_ns: codec.index,
        parse_ns: codec.parse,
        encode_ns: codec.encode,
        encode_kept_ns: codec.kept,
        distinct_messages: messages::DISTINCT,
        simd: level.name(),
        msgs_per_s: trips.messages_per_second.round(),
        conditions: watch.finish(),
    };
    if arguments.json { print_json(&report) } else { print_lines(&report) }
}

fn print_lines(report: &Report) -> Result<(), Failure> {
    let cost = |name: &str, cost: &Cost| {
        print(format_args!("{name:28} {:7.1} ns an order, {:7.1} ns a report", cost.nos, cost.er))
    };
    print_trips("round trip over FIX", &report.rtt_ns)?;
    print_trips("bare TCP, the same sizes", &report.bare_rtt_ns)?;
    cost("index", &report.index_ns)?;
    cost("index and validation", &report.parse_ns)?;
    cost("encode", &report.encode_ns)?;
    cost("encode and keep", &report.encode_kept_ns)?;
    print(format_args!("{:28} {:7.0} a second, 64 in flight", "messages", report.msgs_per_s))?;
    print(format_args!(
        "{} distinct messages, {}; monotonic clock, one process, two threads",
        report.distinct_messages, report.simd
    ))?;
    print(format_args!("conditions: {}", report.conditions))
}
