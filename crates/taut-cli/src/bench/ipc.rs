//! `taut bench ipc`: shared memory between processes, beside the floor of the machine.
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
    Anchoring, Clock, ControlSocket, Received, available_cpus, fork, monotonic, pin_to_cpu,
    process_id, wait_for_child,
};
use taut_types::Nanos;

pub use crate::bench::ipc::plan::Arguments;
use crate::bench::ipc::plan::{
    CONTROL, GRACE, InPlace, Kind, Mode, READERS_MAX, ROUND_S, Shared, streams,
};
use crate::bench::{floor, load};
use crate::exit::Failure;
use crate::terminal::print;

fn check(arguments: &Arguments) -> Result<(), Failure> {
    let bad = |text: String| Err(Failure::Usage(text));
    if !arguments.capacity.is_power_of_two() || !(16..=1 << 24).contains(&arguments.capacity) {
        return bad("--capacity: a power of two from 16 to 16777216 lines".to_owned());
    }
    let size_max = arguments.capacity * 8 - 8;
    if arguments.kind == Kind::Log && !(24..=size_max).contains(&arguments.size) {
        return bad(format!("--size: 24 to {size_max} bytes with this capacity"));
    }
    if !(1..=READERS_MAX).contains(&arguments.readers) {
        return bad(format!("--readers: 1 to {READERS_MAX}"));
    }
    if arguments.in_place != InPlace::None && arguments.kind == Kind::Tick {
        return bad("--in-place: for --kind log".to_owned());
    }
    if arguments.in_place == InPlace::Both && arguments.batch > 1 {
        return bad("--in-place both: a claim is no part of a batch".to_owned());
    }
    if arguments.batch == 0 || arguments.batch > arguments.capacity / 8 {
        return bad(format!("--batch: 1 to {}, an eighth", arguments.capacity / 8));
    }
    if !(0.1..=86_400.0).contains(&arguments.seconds) || arguments.rate == 0 {
        return bad("--seconds: 0.1 to 86400; --rate: at least 1".to_owned());
    }
    Ok(())
}

/// The CPUs of the writer and of the readers.
fn cpus(arguments: &Arguments) -> Result<Vec<usize>, Failure> {
    if !arguments.cpus.is_empty() {
        return Ok(arguments.cpus.clone());
    }
    available_cpus().map_err(|error| Failure::run("CPUs", error))
}

/// Measures, and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check(arguments)?;
    let cpus = cpus(arguments)?;
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
    let begun = (monotonic(), load::cpu_ticks());
    let mut children = Vec::new();
    for reader in 0..arguments.readers {
        let cpu = cpus[1.min(cpus.len() - 1)..].iter().cycle().nth(reader).copied();
        children.push(start(&shared, reader, cpu)?);
    }
    pin_to_cpu(cpus[0]).map_err(|error| Failure::run("--cpus", error))?;
    let written = writer::run(&shared, &channel)?;
    let elapsed = monotonic().since(begun.0);
    let mut reports = Vec::new();
    for (process, socket) in children {
        reports.push(report_of(&socket)?);
        wait_for_child(process).map_err(|error| Failure::run("reader", error))?;
    }
    let ticks = load::cpu_ticks() - begun.1;
    report(arguments, &written, &reports, ticks, elapsed)
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
                crate::terminal::tell(format_args!("taut: reader: {failure}"));
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

fn report(
    arguments: &Arguments,
    written: &writer::Written,
    reports: &[Value],
    ticks: u64,
    elapsed: Nanos,
) -> Result<(), Failure> {
    let sum = |key: &str| reports.iter().filter_map(|report| report[key].as_u64()).sum::<u64>();
    let first = &reports[0];
    // Ticks of 10 ms: a hundred of them are one CPU for one second.
    let percent = |ticks: u64| ticks as f64 * 1e9 / elapsed.0.max(1) as f64;
    let size = if arguments.kind == Kind::Tick { 56 } else { arguments.size };
    let ratio = |a: &Value, b: &Value| {
        a.as_f64().zip(b.as_f64()).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b)
    };
    let rtt = written.rtt.json();
    let floor_rtt = written.floor_rtt.json();
    let text = json!({
        "mode": arguments.mode, "kind": arguments.kind, "size": size, "batch": arguments.batch,
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
    });
    let line = if arguments.json { text.to_string() } else { format!("{text:#}") };
    print(line).map_err(|error| Failure::run("standard output", error))?;
    if sum("torn") == 0 && (arguments.overwriting || sum("lost") == 0) {
        return Ok(());
    }
    Err(Failure::Run("messages were torn or lost".to_owned()))
}
