//! `taut-bench ipc`: shared memory between processes, beside the floor of the machine.
//!
//! This process writes; copies of it read, on other CPUs. The run goes in rounds of three phases:
//! a bare cache-line ping-pong, a bare stream of lines, and the ring, so that all three meet the
//! same minute of the machine. Figures are medians over the rounds or spreads over all of them.

mod content;
mod plan;
mod reader;
mod rings;
mod writer;

use serde_json::{Value, json};
use taut_ipc::{Channel, ChannelOptions, Region, Segment};
use taut_sys::{
    Anchoring, Clock, ControlSocket, ProcessSignal, Received, available_cpus, fork, monotonic,
    pin_to_cpu, process_id, signal_process, wait_for_child,
};
use taut_types::Nanos;

pub use crate::ipc::plan::Arguments;
use crate::ipc::plan::{CONTROL, GRACE, Mode, ROUND_S, Shared, streams};
use crate::{floor, load};
use taut_report::exit::catch_stop_signals;
use taut_report::terminal::print;
use taut_report::{Conditions, Failure, Watch};

/// The CPUs of the writer and of the readers.
fn cpus(arguments: &Arguments) -> Result<Vec<usize>, Failure> {
    if !arguments.cpus.is_empty() {
        return Ok(arguments.cpus.clone());
    }
    available_cpus().map_err(|error| Failure::run("CPUs", error))
}

/// Measures, and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let cpus = cpus(arguments)?;
    // Interrupted, it still takes its channel along.
    catch_stop_signals()?;
    let name = format!("bench-{}", process_id());
    let measured = measure(arguments, &cpus, name.clone());
    // The last to leave takes the channel along; when both left at once, nobody was the last.
    let _ = taut_ipc::prune(&name, &ChannelOptions::default());
    measured
}

fn measure(arguments: &Arguments, cpus: &[usize], name: String) -> Result<(), Failure> {
    let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &streams(arguments), &options).map_err(failed)?;
    let lines = Region { id: 2, version: 1, words: floor::words_for(arguments.capacity) };
    let segment = Segment::create("taut-bench", &[CONTROL, lines]).map_err(failed)?;
    let mut anchoring = Anchoring::start();
    let rounds = (arguments.seconds / ROUND_S).ceil().max(1.0);
    let shared = Shared {
        arguments,
        name: &name,
        control: segment.region(CONTROL).map_err(failed)?,
        floor: segment.region(lines).map_err(failed)?,
        clock: Clock::new(anchoring.renew()),
        phases: 3 * rounds as u64,
    };
    let watch = Watch::start();
    let begun = (monotonic(), load::cpu_ticks());
    let mut readers = Readers::default();
    for reader in 0..arguments.readers {
        let cpu = cpus[1.min(cpus.len() - 1)..].iter().cycle().nth(reader).copied();
        readers.0.push(start(&shared, reader, cpu)?);
    }
    pin_to_cpu(cpus[0]).map_err(|error| Failure::run("--cpus", error))?;
    let written = writer::run(&shared, &channel)?;
    let elapsed = monotonic().since(begun.0);
    let reports = readers.reports()?;
    let ticks = load::cpu_ticks() - begun.1;
    report(arguments, written, &reports, &Cost { ticks, elapsed, conditions: watch.finish() })
}

/// The reading processes. None of them outlives the run, however it ends.
#[derive(Default)]
struct Readers(Vec<(u32, ControlSocket)>);

impl Readers {
    fn reports(mut self) -> Result<Vec<Value>, Failure> {
        let mut reports = Vec::new();
        while !self.0.is_empty() {
            reports.push(report_of(&self.0[0].1)?);
            let (process, _) = self.0.remove(0);
            wait_for_child(process).map_err(|error| Failure::run("reader", error))?;
        }
        Ok(reports)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for (process, _) in &self.0 {
            let _ = signal_process(*process, ProcessSignal::Kill);
            let _ = wait_for_child(*process);
        }
    }
}

/// Starts a reader.
fn start(
    shared: &Shared<'_>,
    reader: usize,
    cpu: Option<usize>,
) -> Result<(u32, ControlSocket), Failure> {
    let failed = |error| Failure::run("reader", error);
    let (near, far) = ControlSocket::pair().map_err(failed)?;
    let child = || {
        if let Some(cpu) = cpu {
            let _ = pin_to_cpu(cpu);
        }
        match reader::run(shared, reader) {
            Ok(report) => i32::from(far.send(report.to_string().as_bytes(), &[]).is_err()),
            Err(failure) => {
                taut_report::terminal::tell(format_args!("taut: reader: {failure}"));
                1
            }
        }
    };
    Ok((fork(child).map_err(failed)?, near))
}

fn report_of(socket: &ControlSocket) -> Result<Value, Failure> {
    let mut buffer = vec![0; taut_sys::CONTROL_BYTES_MAX];
    let deadline = monotonic() + GRACE;
    while monotonic() < deadline {
        match socket.recv(&mut buffer).map_err(|error| Failure::run("reader", error))? {
            Received::Message(bytes, _) => {
                return serde_json::from_slice(&buffer[..bytes])
                    .map_err(|error| Failure::run("reader", error));
            }
            Received::Nothing => taut_sys::yield_cpu(),
            Received::Closed => break,
        }
    }
    Err(Failure::Run("a reader ended without a report".to_owned()))
}

/// What the measurement itself took of the machine, and what else did.
struct Cost {
    ticks: u64,
    elapsed: Nanos,
    conditions: Conditions,
}

fn report(
    arguments: &Arguments,
    mut written: writer::Written,
    reports: &[Value],
    cost: &Cost,
) -> Result<(), Failure> {
    let &Cost { ticks, elapsed, .. } = cost;
    let sum = |key: &str| reports.iter().filter_map(|report| report[key].as_u64()).sum::<u64>();
    let first = &reports[0];
    // Ticks of 10 ms: a hundred of them are one CPU for one second.
    let percent = |ticks: u64| ticks as f64 * 1e9 / elapsed.0.max(1) as f64;
    let ratio = |a: &Value, b: &Value| {
        a.as_f64().zip(b.as_f64()).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b)
    };
    let rtt = json!(written.rtt.spread());
    let floor_rtt = json!(written.floor_rtt.spread());
    let text = json!({
        "mode": arguments.mode, "kind": arguments.kind,
        "size": arguments.message_bytes(), "batch": arguments.batch,
        "capacity": arguments.capacity, "readers": arguments.readers,
        "lossless": !arguments.overwriting, "in_place": arguments.in_place,
        "msgs_per_s": written.messages_per_s, "lost": sum("lost"), "torn": sum("torn"),
        "rtt_ns": rtt, "latency_ns": first["latency_ns"], "intended_ns": first["intended_ns"],
        "cpu_percent": percent(ticks + sum("cpu_ticks")).round(),
        "rss_bytes": load::rss_bytes() + sum("rss_bytes"),
        "floor_rtt_ns": floor_rtt, "floor_msgs_per_s": written.floor_per_s,
        "ratio_to_floor": match arguments.mode {
            Mode::Rtt => ratio(&rtt["p50"], &floor_rtt["p50"]),
            _ => ratio(&json!(written.messages_per_s), &json!(written.floor_per_s)),
        },
        "conditions": cost.conditions,
    });
    if arguments.json {
        print(&text)?;
    } else {
        print(format_args!("{}\nconditions: {}", human(&text), cost.conditions))?;
    }
    if sum("torn") == 0 && (arguments.overwriting || sum("lost") == 0) {
        return Ok(());
    }
    Err(Failure::Run("messages were torn or lost".to_owned()))
}

/// A ratio, however small: never 0 when it is not.
fn three_digits(ratio: f64) -> String {
    let decimals = (2.0 - ratio.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{ratio:.decimals$}")
}

/// The report for a reader.
fn human(report: &Value) -> String {
    let mut text = format!(
        "{} {} messages of {} bytes, batch {}, capacity {} lines, {} readers\n",
        report["mode"].as_str().unwrap_or_default(),
        report["kind"].as_str().unwrap_or_default(),
        report["size"],
        report["batch"],
        report["capacity"],
        report["readers"],
    );
    let per_s = |key: &str| report[key].as_f64().unwrap_or_default();
    let mut say = |name: &str, said: String| text.push_str(&format!("{name:<18}{said}\n"));
    say("messages/s", format!("{:.0}", per_s("msgs_per_s")));
    say("floor messages/s", format!("{:.0}", per_s("floor_msgs_per_s")));
    if let Some(ratio) = report["ratio_to_floor"].as_f64() {
        say("ratio to floor", three_digits(ratio));
    }
    say("lost, torn", format!("{}, {}", report["lost"], report["torn"]));
    for (name, key) in [
        ("round trip ns", "rtt_ns"),
        ("latency ns", "latency_ns"),
        ("from intended ns", "intended_ns"),
        ("floor trip ns", "floor_rtt_ns"),
    ] {
        let spread = &report[key];
        if spread.is_null() {
            continue;
        }
        let figures = ["min", "p50", "p99", "p999", "p9999", "max"];
        say(name, figures.map(|figure| format!("{figure} {}", spread[figure])).join("  "));
    }
    say("CPU, memory", format!("{} %, {} bytes", report["cpu_percent"], report["rss_bytes"]));
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_three_digits_however_small_it_is() {
        let ratios = [123.4, 1.234, 0.876_6, 0.001_234, 0.0].map(three_digits);
        assert_eq!(ratios, ["123", "1.23", "0.877", "0.00123", "0.000000"]);
    }

    /// Of a run that is measured in latency alone there is none.
    #[test]
    fn a_ratio_that_is_not_known_is_not_told() {
        let report = |ratio: Value| json!({ "mode": "rtt", "ratio_to_floor": ratio });
        assert!(!human(&report(Value::Null)).contains("ratio to floor"));
        assert!(human(&report(json!(0.004))).contains("ratio to floor    0.00400"));
    }
}
