//! `taut bench waits`: sender and receiver over the wait strategies, pinned and not.

use std::net::Ipv4Addr;

use clap::Args;
use serde_json::{Value, json};
use taut_report::Watch;
use taut_report::page::Table;
use taut_sys::available_cpus;
use taut_types::Nanos;

use crate::channel::arguments::channel;
use crate::channel::pair;
use crate::exit::{Failure, catch_stop_signals};
use crate::progress::Progress;
use crate::terminal;

/// Run `taut send` and `taut receive` over every wait strategy, pinned and not, and print latency
/// and cost of each.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The channel; by default leased UDP on loopback, on a free port
    #[arg(long, value_name = "URI")]
    channel: Option<String>,
    /// Bytes of a message
    #[arg(long, default_value_t = 70)]
    size: usize,
    /// Messages a second
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// How long each run takes
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Run the pinned ones as SCHED_FIFO with this priority too
    #[arg(long, value_name = "PRIO", value_parser = clap::value_parser!(i32).range(1..=99))]
    fifo: Option<i32>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

const WAITS: [&str; 5] = ["spin", "pause", "yield", "backoff", "block"];

/// One configuration.
#[derive(Clone, Copy, Debug)]
struct Cell {
    wait: &'static str,
    is_pinned: bool,
    fifo: Option<i32>,
}

/// Measures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !(0.01..=3600.0).contains(&arguments.seconds) {
        let text = format!("--seconds {}: must be 0.01 to 3600", arguments.seconds);
        return Err(Failure::Usage(text));
    }
    let uri = match &arguments.channel {
        Some(text) => text.clone(),
        None => format!("lease:udp?endpoint={}:4000", own_address()),
    };
    channel(Some(&uri))?;
    catch_stop_signals()?;
    let cpus = available_cpus().map_err(|error| Failure::run("cpus", error))?;
    let mut cells: Vec<Cell> = [false, true]
        .into_iter()
        .flat_map(|is_pinned| WAITS.map(|wait| Cell { wait, is_pinned, fifo: None }))
        .collect();
    let fifo = arguments.fifo;
    cells.extend(fifo.map(|_| Cell { wait: "spin", is_pinned: true, fifo }));
    let watch = Watch::start();
    let mut progress = Progress::start();
    let mut rows = Vec::new();
    for cell in cells {
        rows.push(measure(arguments, &uri, cell, &cpus)?);
        progress.tell(&format!("{} of {} runs", rows.len(), 10 + usize::from(fifo.is_some())));
    }
    let conditions = watch.finish();
    let text = if arguments.json {
        json!({
            "channel": uri, "rate": arguments.rate, "size": arguments.size, "runs": rows,
            "conditions": conditions,
        })
        .to_string()
    } else {
        format!("{}\nconditions: {conditions}", table(&rows))
    };
    terminal::print(text)
}

/// An address of the loopback interface that no other process takes: the number of this one, which
/// is below 2^22, in 127.128.0.0/10.
fn own_address() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | high & 63, middle, low)
}

fn measure(arguments: &Arguments, uri: &str, cell: Cell, cpus: &[usize]) -> Result<Value, Failure> {
    let count = (arguments.rate as f64 * arguments.seconds).ceil().max(1.0);
    let common = |verb: &str, cpu: Option<usize>| {
        let mut words = vec![verb.to_owned(), "--channel".to_owned(), uri.to_owned()];
        words.extend(["--wait", cell.wait].map(str::to_owned));
        if let Some(cpu) = cpu.filter(|_| cell.is_pinned) {
            words.extend(["--cpu".to_owned(), cpu.to_string()]);
        }
        if let Some(priority) = cell.fifo {
            words.extend(["--fifo".to_owned(), priority.to_string()]);
        }
        words
    };
    let receive = common("receive", cpus.last().copied());
    let mut send = common("send", cpus.first().copied());
    let numbers = [("--rate", arguments.rate), ("--count", count as u64)];
    send.extend(numbers.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]));
    send.extend(["--size".to_owned(), arguments.size.to_string()]);
    let patience = Nanos((arguments.seconds * 2e9) as i64) + Nanos::from_secs(30);
    let outcome = pair::run(&receive, &send, patience)?;
    Ok(json!({
        "wait": cell.wait, "pinned": cell.is_pinned, "fifo": cell.fifo,
        "latency_ns": outcome.received["latency_ns"],
        "intended_ns": outcome.received["intended_ns"],
        "lost": outcome.received["lost"], "received": outcome.received["received"],
        "context_switches": outcome.received["context_switches"],
        "receiver_cpu_seconds": outcome.received["cpu_seconds"], "cpu_seconds": outcome.cpu_s,
    }))
}

fn table(rows: &[Value]) -> String {
    let heads = [
        "wait",
        "pinned",
        "fifo",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "max us",
        "receiver CPU s",
        "switches",
        "lost",
    ];
    let row = |row: &Value| {
        let us = |name: &str| row["latency_ns"][name].as_f64().unwrap_or(f64::NAN) / 1000.0;
        let yes = |value: bool| if value { "yes" } else { "no" };
        vec![
            row["wait"].as_str().unwrap_or("?").to_owned(),
            yes(row["pinned"] == true).to_owned(),
            yes(!row["fifo"].is_null()).to_owned(),
            format!("{:.1}", us("p50")),
            format!("{:.1}", us("p99")),
            format!("{:.1}", us("p999")),
            format!("{:.0}", us("max")),
            format!("{:.2}", row["receiver_cpu_seconds"].as_f64().unwrap_or(f64::NAN)),
            row["context_switches"].to_string(),
            row["lost"].to_string(),
        ]
    };
    Table { heads: &heads, rows: rows.iter().map(row).collect() }.markdown()
}
