//! The matrix: every rate, count of connections and wait strategy, through the loop, the bare
//! receiver and the peers, turn by turn, as medians over the rounds.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use taut_io::WaitStrategy;

use super::median::{Turn, median};
use super::meter::warm_up;
use super::parse_wait;
use super::plot::{Row, html, table};
use super::verdict::{Verdict, judge, markdown};
use crate::cpus;
use taut_report::terminal;
use taut_report::{Conditions, Failure, Progress, Watch};

/// The arguments of `taut-bench loop-matrix`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Messages per second of a connection
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1000],
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rates: Vec<u32>,
    /// Connections; with 256 of them, 1000 Hz becomes 200 Hz
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256],
          value_parser = clap::value_parser!(u32).range(1..=16_384))]
    connections: Vec<u32>,
    /// Cells instead of rates and connections: RATExCONNECTIONS, such as 1000x64
    #[arg(long, value_delimiter = ',', value_name = "RATExCONNECTIONS",
          conflicts_with_all = ["rates", "connections"])]
    cells: Vec<Cell>,
    /// Wait strategies: spin, pause, yield, backoff, block
    #[arg(long, value_delimiter = ',', value_parser = parse_wait, default_value = "spin")]
    waits: Vec<WaitStrategy>,
    /// Receivers: epoll, uring, hot, bare
    #[arg(long, value_delimiter = ',', default_value = "epoll,uring,bare")]
    receivers: Vec<String>,
    /// Another client, as NAME=PROGRAM; it takes the arguments of loop-client
    #[arg(long = "peer", value_name = "NAME=PROGRAM")]
    peers: Vec<String>,
    /// Rounds over the receivers of a cell
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long the sender sends in each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// The sender's CPU
    #[arg(long, default_value_t = 0)]
    server_cpu: usize,
    /// The receivers' CPU
    #[arg(long, default_value_t = 1)]
    client_cpu: usize,
    /// Where to write loop-matrix.md, loop-matrix.html and loop-matrix.json
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// Print one line of JSON: rows and verdicts
    #[arg(long)]
    json: bool,
}

/// A rate and a count of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    rate: u32,
    connections: u32,
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str, most| text.parse().ok().filter(|number: &u32| (1..=most).contains(number));
        let cell = text.split_once('x').and_then(|(rate, connections)| {
            Some(Self { rate: number(rate, 100_000)?, connections: number(connections, 16_384)? })
        });
        cell.ok_or_else(|| {
            format!("{text} is not RATExCONNECTIONS of at most 100000x16384, such as 1000x64")
        })
    }
}

impl Arguments {
    fn cells(&self) -> Vec<Cell> {
        if !self.cells.is_empty() {
            return self.cells.clone();
        }
        let mut cells = Vec::new();
        for &rate in &self.rates {
            for &connections in &self.connections {
                let rate = if connections >= 256 && rate == 1000 { 200 } else { rate };
                cells.push(Cell { rate, connections });
            }
        }
        cells
    }
}

/// What was measured, and what it says.
#[derive(Debug, Default, Serialize)]
struct Report {
    rows: Vec<Row>,
    verdicts: Vec<Verdict>,
    /// Every report of every round, as its receiver printed it.
    reports: Vec<Value>,
    /// Whether the machine was quiet meanwhile.
    conditions: Option<Conditions>,
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
    check_spans(arguments)?;
    cpus::check("--server-cpu", &[arguments.server_cpu])?;
    // The tables would be lost at the end.
    std::fs::create_dir_all(&arguments.out).map_err(|error| {
        let out = arguments.out.display();
        Failure::Usage(format!("--out {out}: it cannot be a directory ({error})"))
    })?;
    // The children inherit it; the sender pins itself.
    cpus::pin("--client-cpu", Some(arguments.client_cpu))?;
    let watch = Watch::start();
    let mut report = Report::default();
    let mut progress = Progress::start();
    for cell in arguments.cells() {
        for wait in arguments.waits.iter().map(|wait| wait.name()) {
            let what = format!("{} Hz x {}, {wait}", cell.rate, cell.connections);
            measure(arguments, &receivers, cell, wait, &mut report, &mut |receiver| {
                progress.tell(&format!("{what}, {receiver}"));
            })?;
        }
    }
    report.verdicts = judge(&report.rows);
    let conditions = watch.finish();
    let table = format!(
        "{}\n\n{}\n\nconditions: {conditions}",
        table(&report.rows).markdown(),
        markdown(&report.verdicts)
    );
    report.conditions = Some(conditions);
    let json = serde_json::to_string(&report).map_err(|error| Failure::run("write JSON", error))?;
    write(arguments, "loop-matrix.md", &table)?;
    write(arguments, "loop-matrix.html", &html(&report.rows))?;
    write(arguments, "loop-matrix.json", &json)?;
    let said = if arguments.json { json } else { table };
    terminal::print(said)
}

/// Refuses a run in which a connection would not get beyond its warm-up.
fn check_spans(arguments: &Arguments) -> Result<(), Failure> {
    let seconds = arguments.seconds;
    let is_short = |rate: u32| u64::from(rate) * u64::from(seconds) <= warm_up(rate);
    match arguments.cells().iter().find(|cell| is_short(cell.rate)) {
        Some(&Cell { rate, .. }) => Err(Failure::Usage(format!(
            "--seconds {seconds}: at {rate} Hz, the first {} messages of a connection are its \
             warm-up; send for more than {} s",
            warm_up(rate),
            warm_up(rate).div_ceil(u64::from(rate))
        ))),
        None => Ok(()),
    }
}

fn write(arguments: &Arguments, name: &str, text: &str) -> Result<(), Failure> {
    let path = arguments.out.join(name);
    std::fs::write(&path, text)
        .map_err(|error| Failure::run(&format!("write {}", path.display()), error))
}

fn receivers(arguments: &Arguments) -> Result<Vec<Receiver>, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::run("find this program", error))?;
    let words = |words: &[&str]| {
        ["loop-client"].iter().chain(words).map(|word| (*word).to_owned()).collect()
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
fn measure(
    arguments: &Arguments,
    receivers: &[Receiver],
    cell: Cell,
    wait: &str,
    report: &mut Report,
    tell: &mut impl FnMut(&str),
) -> Result<(), Failure> {
    let mut turns = vec![Vec::new(); receivers.len()];
    for _ in 0..arguments.rounds {
        for (receiver, turns) in receivers.iter().zip(&mut turns) {
            tell(&receiver.name);
            turns.push(once(arguments, receiver, cell, wait)?);
        }
    }
    for (receiver, turns) in receivers.iter().zip(turns) {
        report.rows.push(median(&receiver.name, (cell.rate, cell.connections), wait, &turns));
        report.reports.extend(turns.into_iter().map(|turn| turn.report));
    }
    Ok(())
}

fn once(
    arguments: &Arguments,
    receiver: &Receiver,
    cell: Cell,
    wait: &str,
) -> Result<Turn, Failure> {
    let Cell { rate, connections } = cell;
    let own = std::env::current_exe().map_err(|error| Failure::run("find this program", error))?;
    let mut server = Command::new(own);
    server.args(["loop-server", "--phase", "stagger"]);
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
    let warm_up = warm_up(rate) * u64::from(connections);
    let counted = sent["sent"].as_u64().unwrap_or(0).saturating_sub(warm_up);
    let lag_ns = sent["lag_ns_max"].as_u64().unwrap_or(u64::MAX);
    Ok(Turn { report, counted, lag_ns })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_rate_and_a_count_of_connections() {
        assert_eq!("1000x64".parse(), Ok(Cell { rate: 1000, connections: 64 }));
        for text in ["", "1000", "0x1", "1x0", "1x16385", "ax1", "100001x1"] {
            assert!(text.parse::<Cell>().is_err(), "{text}");
        }
    }
}
