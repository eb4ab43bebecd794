//! The matrix: every rate, count of connections and wait strategy, through the loop, the bare
//! receiver and the peers, turn by turn, as medians over the rounds.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use clap::Args;
use serde_json::Value;
use taut_sys::pin_to_cpu;

use super::loop_plot::{Row, html, markdown};
use crate::exit::Failure;
use crate::terminal;

/// The arguments of `taut bench loop-matrix`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Messages per second of a connection
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1000])]
    rates: Vec<u32>,
    /// Connections; with 256 of them, 1000 Hz becomes 200 Hz
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256])]
    connections: Vec<u32>,
    /// Wait strategies: spin, pause, yield, backoff, block
    #[arg(long, value_delimiter = ',', default_value = "spin")]
    waits: Vec<String>,
    /// Receivers: epoll, uring, hot, bare
    #[arg(long, value_delimiter = ',', default_value = "epoll,uring,bare")]
    receivers: Vec<String>,
    /// Another client, as NAME=PROGRAM; it takes the arguments of loop-client
    #[arg(long = "peer", value_name = "NAME=PROGRAM")]
    peers: Vec<String>,
    /// Rounds over the receivers of a cell
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// How long the sender sends in each
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// The sender's CPU
    #[arg(long, default_value_t = 0)]
    server_cpu: usize,
    /// The receivers' CPU
    #[arg(long, default_value_t = 1)]
    client_cpu: usize,
    /// Where to write loop-matrix.md and loop-matrix.html
    #[arg(long, default_value = ".")]
    out: PathBuf,
}

/// One receiver of a cell: a name, its program and what it is told besides.
#[derive(Clone, Debug)]
struct Receiver {
    name: String,
    program: PathBuf,
    words: Vec<String>,
}

/// Runs the matrix.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let receivers = receivers(arguments)?;
    // The children inherit it; the sender pins itself.
    pin_to_cpu(arguments.client_cpu).map_err(|error| Failure::run("pin the receivers", error))?;
    let mut rows = Vec::new();
    for &rate in &arguments.rates {
        for &connections in &arguments.connections {
            let rate = if connections >= 256 && rate == 1000 { 200 } else { rate };
            for wait in &arguments.waits {
                rows.extend(cell(arguments, &receivers, rate, connections, wait)?);
            }
        }
    }
    let table = markdown(&rows);
    write(arguments, "loop-matrix.md", &table)?;
    write(arguments, "loop-matrix.html", &html(&rows))?;
    terminal::print(table).map_err(|error| Failure::run("print", error))
}

fn write(arguments: &Arguments, name: &str, text: &str) -> Result<(), Failure> {
    let path = arguments.out.join(name);
    let written =
        std::fs::create_dir_all(&arguments.out).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| Failure::run(&format!("write {}", path.display()), error))
}

fn receivers(arguments: &Arguments) -> Result<Vec<Receiver>, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::run("find this program", error))?;
    let words = |words: &[&str]| {
        ["bench", "loop-client"].iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    let mut receivers = Vec::new();
    for name in &arguments.receivers {
        let words = match name.as_str() {
            "epoll" => words(&["--backend", "epoll"]),
            "uring" => words(&["--backend", "uring"]),
            "hot" => words(&["--hot"]),
            "bare" => words(&["--bare"]),
            other => {
                let text = format!("--receivers {other}: choose from epoll, uring, hot, bare");
                return Err(Failure::Usage(text));
            }
        };
        receivers.push(Receiver { name: name.clone(), program: own.clone(), words });
    }
    for peer in &arguments.peers {
        let Some((name, program)) = peer.split_once('=') else {
            return Err(Failure::Usage(format!("--peer {peer}: it is NAME=PROGRAM")));
        };
        let program = PathBuf::from(program);
        receivers.push(Receiver { name: name.to_owned(), program, words: Vec::new() });
    }
    Ok(receivers)
}

/// All rounds of a cell, the receivers taking turns: one row for each, of medians.
fn cell(
    arguments: &Arguments,
    receivers: &[Receiver],
    rate: u32,
    connections: u32,
    wait: &str,
) -> Result<Vec<Row>, Failure> {
    let mut rounds = vec![Vec::new(); receivers.len()];
    for _ in 0..arguments.rounds {
        for (receiver, rounds) in receivers.iter().zip(&mut rounds) {
            rounds.push(once(arguments, receiver, rate, connections, wait)?);
        }
    }
    let rows = receivers.iter().zip(rounds);
    Ok(rows.map(|(receiver, rounds)| median(receiver, rate, connections, wait, &rounds)).collect())
}

fn once(
    arguments: &Arguments,
    receiver: &Receiver,
    rate: u32,
    connections: u32,
    wait: &str,
) -> Result<(Value, u64), Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::run("find this program", error))?;
    let mut server = Command::new(own);
    server.args(["bench", "loop-server", "--phase", "stagger"]);
    server.args(["--connections", &connections.to_string(), "--rate", &rate.to_string()]);
    server.args(["--seconds", &arguments.seconds.to_string()]);
    server.args(["--cpu", &arguments.server_cpu.to_string()]);
    let mut server = server
        .stdout(Stdio::piped())
        .spawn()
        .map(Reaped)
        .map_err(|error| Failure::run("start the sender", error))?;
    let Some(output) = server.0.stdout.take() else {
        return Err(Failure::Run("the sender has no output".to_owned()));
    };
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line).map_err(|error| Failure::run("read the sender", error))?;
    let Some(address) = line.trim().strip_prefix("listening on ") else {
        return Err(Failure::Run(format!("the sender said: {line}")));
    };
    let client = Command::new(&receiver.program)
        .args(&receiver.words)
        .args(["--connect", address, "--connections", &connections.to_string()])
        .args(["--rate", &rate.to_string(), "--wait", wait, "--json"])
        .args(["--seconds", &(arguments.seconds + 3).to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::run(&format!("run {}", receiver.program.display()), error))?;
    let report = serde_json::from_slice(&client.stdout)
        .map_err(|error| Failure::run(&format!("read the report of {}", receiver.name), error))?;
    let mut rest = String::new();
    output.read_to_string(&mut rest).map_err(|error| Failure::run("read the sender", error))?;
    let sent: Value =
        serde_json::from_str(&rest).map_err(|error| Failure::run("read the sender", error))?;
    let warm_up = super::loop_meter::warm_up(rate) * u64::from(connections);
    let counted = sent["sent"].as_u64().unwrap_or(0).saturating_sub(warm_up);
    Ok((report, counted))
}

/// A child that does not outlive its use.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn median(
    receiver: &Receiver,
    rate: u32,
    connections: u32,
    wait: &str,
    rounds: &[(Value, u64)],
) -> Row {
    let middle = |path: &str| {
        let mut values: Vec<f64> =
            rounds.iter().filter_map(|(report, _)| report.pointer(path)?.as_f64()).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let sum = |path: &str| {
        let value = |(report, _): &(Value, u64)| report.pointer(path).and_then(Value::as_u64);
        rounds.iter().filter_map(value).sum::<u64>()
    };
    let sent: u64 = rounds.iter().map(|(_, sent)| sent).sum();
    Row {
        receiver: receiver.name.clone(),
        rate,
        connections,
        wait: wait.to_owned(),
        p50_us: middle("/latency_ns/p50") / 1000.0,
        p99_us: middle("/latency_ns/p99") / 1000.0,
        p999_us: middle("/latency_ns/p999") / 1000.0,
        max_us: middle("/latency_ns/max") / 1000.0,
        syscalls: middle("/syscalls_per_message"),
        idle_calls: middle("/idle_calls_per_message"),
        cpu_percent: middle("/cpu_percent"),
        switches: middle("/context_switches"),
        out_of_sequence: sum("/out_of_sequence"),
        missing: sent.saturating_sub(sum("/count")),
    }
}
