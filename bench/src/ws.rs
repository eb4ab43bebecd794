//! `taut-bench ws`: what a frame costs, and round trips of a text over loopback TCP.

mod codec;
mod round_trip;
mod texts;

use clap::Args;
use serde::Serialize;

use crate::ping_pong::print_trips;
use crate::ws::texts::{DISTINCT, PAYLOAD_BYTES, texts};
use taut_report::terminal::{print, print_json};
use taut_report::{Conditions, Failure, Spread, Watch};

/// The arguments of `taut-bench ws`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
    /// Round trips that are measured, of each kind.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(64..))]
    round_trips: u32,
}

#[derive(Debug, Serialize)]
struct Report {
    rtt_ns: Spread,
    bare_rtt_ns: Spread,
    #[serde(flatten)]
    codec: codec::Codec,
    payload_bytes: usize,
    distinct_messages: usize,
    simd: &'static str,
    conditions: Conditions,
}

/// Measures and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let watch = Watch::start();
    let texts = texts();
    let codec = codec::measure(&texts)?;
    let [rtt_ns, bare_rtt_ns] = round_trip::measure(&texts, arguments.round_trips)?;
    let report = Report {
        rtt_ns,
        bare_rtt_ns,
        codec,
        payload_bytes: PAYLOAD_BYTES,
        distinct_messages: DISTINCT,
        simd: taut_fix::SimdLevel::best().name(),
        conditions: watch.finish(),
    };
    if arguments.json { print_json(&report) } else { print_lines(&report) }
}

fn print_lines(report: &Report) -> Result<(), Failure> {
    let codec = &report.codec;
    print_trips("round trip over WebSocket", &report.rtt_ns)?;
    print_trips("bare TCP, the same sizes", &report.bare_rtt_ns)?;
    print(format_args!("{:28} {:7.1} ns a frame, borrowed", "parse a server's", codec.parse_ns))?;
    print(format_args!("{:28} {:7.1} ns, unmasked", "parse a client's", codec.parse_masked_ns))?;
    print(format_args!("{:28} {:7.1} ns", "encode a server's", codec.encode_ns))?;
    print(format_args!("{:28} {:7.1} ns, masked", "encode a client's", codec.encode_masked_ns))?;
    print(format_args!(
        "{} texts of {} bytes, hash {:016x}, {}; monotonic clock, one process, two threads",
        report.distinct_messages, report.payload_bytes, codec.hash, report.simd
    ))?;
    print(format_args!("conditions: {}", report.conditions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_runs_and_its_work_is_always_the_same() {
        let texts = texts();
        let hash = codec::measure(&texts).expect("the codec").hash;
        assert_eq!(codec::measure(&texts).expect("again").hash, hash);
        let spreads = round_trip::measure(&texts, 64).expect("round trips");
        assert_eq!(spreads.map(|spread| spread.count), [64, 64]);
    }
}
