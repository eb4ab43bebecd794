//! `taut bench fix`: NewOrderSingle out, ExecutionReport back.

mod codec;
mod cost;
mod messages;
mod round_trip;

use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::bench::fix::cost::Cost;
use crate::exit::Failure;
use crate::terminal::print;

/// The arguments of `taut bench fix`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Round trips that are measured, of each kind.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(64..))]
    round_trips: u32,
}

/// The distribution of round trips, nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    min: u64,
    p50: u64,
    p99: u64,
    #[serde(rename = "p99.9")]
    p999: u64,
    #[serde(rename = "p99.99")]
    p9999: u64,
    max: u64,
    count: u64,
}

impl Spread {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            min: histogram.min(),
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            p9999: histogram.value_at_quantile(0.9999),
            max: histogram.max(),
            count: histogram.len(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    rtt_ns: Spread,
    bare_rtt_ns: Spread,
    index_ns: Cost,
    parse_ns: Cost,
    encode_ns: Cost,
    distinct_messages: usize,
    simd: &'static str,
    msgs_per_s: f64,
}

/// Measures and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let codec = codec::measure()?;
    let trips = round_trip::measure(arguments.round_trips)?;
    let report = Report {
        rtt_ns: Spread::of(&trips.session),
        bare_rtt_ns: Spread::of(&trips.bare),
        index_ns: codec.index,
        parse_ns: codec.parse,
        encode_ns: codec.encode,
        distinct_messages: messages::DISTINCT,
        simd: taut_fix::SIMD_LEVEL,
        msgs_per_s: trips.messages_per_second.round(),
    };
    let printed = if arguments.json {
        let text = serde_json::to_string(&report);
        print(text.map_err(|error| Failure::run("cannot print JSON", error))?)
    } else {
        print_lines(&report)
    };
    printed.map_err(|error| Failure::run("cannot print", error))
}

fn print_lines(report: &Report) -> std::io::Result<()> {
    let spread = |name: &str, s: &Spread| {
        print(format_args!(
            "{name:28} min {:7} p50 {:7} p99 {:7} p99.9 {:7} max {:8} ns, {} trips",
            s.min, s.p50, s.p99, s.p999, s.max, s.count
        ))
    };
    let cost = |name: &str, cost: &Cost| {
        print(format_args!("{name:28} {:7.1} ns an order, {:7.1} ns a report", cost.nos, cost.er))
    };
    spread("round trip over FIX", &report.rtt_ns)?;
    spread("bare TCP, the same sizes", &report.bare_rtt_ns)?;
    cost("index", &report.index_ns)?;
    cost("index and validation", &report.parse_ns)?;
    cost("encode", &report.encode_ns)?;
    print(format_args!("{:28} {:7.0} a second, 64 in flight", "messages", report.msgs_per_s))?;
    print(format_args!(
        "{} distinct messages, {}; monotonic clock, one process, two threads",
        report.distinct_messages, report.simd
    ))
}
