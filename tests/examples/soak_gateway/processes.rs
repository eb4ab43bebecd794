//! The processes: each started, killed and asked as a person would.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, Run, own_address, until};
use tempfile::TempDir;

use crate::witness::{Positions, Witness};

/// Their names; their numbers are 1 and 2.
pub const STRATEGIES: [&str; 2] = ["first", "second"];
/// Segments of the journal that may be there: four that are full, one that is written, one that is
/// ready, and what one turn of housekeeping leaves.
const SEGMENTS_MAX: usize = 7;

/// What they have to do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Orders per second of each strategy.
    pub rate: u64,
    pub instruments: u64,
    /// Commands per second of the venue's own market.
    pub flow: u64,
}

/// What the gateway says of its market data and of who reads them.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    pub is_live: bool,
    pub highest_packet: u64,
    pub applied_packets: u64,
    /// Not applied, because a snapshot has what they say.
    pub missed_packets: u64,
    pub gaps: u64,
    pub packets_again: u64,
    /// Strategies that are attached, the events that they were too slow for, and their requests
    /// that found no room.
    pub attached: usize,
    pub lost_events: u64,
    pub refused_requests: u64,
}

/// All of them, and what they share.
pub struct Processes {
    program: PathBuf,
    load: Load,
    folder: TempDir,
    shared_before: BTreeSet<String>,
    /// Where the venue takes orders, and line A, line B, snapshots, packets that are sent again.
    addresses: [SocketAddr; 5],
    venue: Process,
    gateway: Process,
    strategies: [Process; STRATEGIES.len()],
    pub witness: Witness,
}

impl Processes {
    pub fn start(program: &str, load: Load) -> Self {
        let (program, folder) = (PathBuf::from(program), tempfile::tempdir().expect("a folder"));
        let addresses = std::array::from_fn(|_| own_address());
        let (witness, orders) = Witness::listen(addresses[0]);
        let shared_before = shared();
        write_gateway(folder.path(), load, orders, &addresses);
        let venue = start_venue(&program, folder.path(), load, &addresses, true);
        let gateway = start_gateway(&program, folder.path());
        let strategies = STRATEGIES.map(|name| start_strategy(&program, folder.path(), load, name));
        let processes = Self {
            program,
            load,
            folder,
            shared_before,
            addresses,
            venue,
            gateway,
            strategies,
            witness,
        };
        until("a session at first", DEADLINE, || processes.is_up());
        processes
    }

    pub fn restart_gateway(&mut self) {
        assert!(self.gateway.is_running(), "the gateway has ended: {}", self.gateway.stderr());
        self.gateway.kill();
        self.gateway = start_gateway(&self.program, self.folder.path());
    }

    pub fn restart_strategy(&mut self, which: usize) {
        let strategy = &mut self.strategies[which];
        assert!(strategy.is_running(), "a strategy has ended: {}", strategy.stderr());
        strategy.kill();
        *strategy = start_strategy(&self.program, self.folder.path(), self.load, STRATEGIES[which]);
    }

    /// The gateway hears everything that the venue told before it dies.
    pub fn restart_venue(&mut self, cancels_on_disconnect: bool) {
        until("a session before the venue dies", DEADLINE, || self.is_up());
        assert!(self.venue.is_running(), "the venue has ended: {}", self.venue.stderr());
        self.venue.kill();
        until("an end of the session", DEADLINE, || !self.is_up());
        self.witness.next_venue();
        let folder = self.folder.path();
        let (load, addresses) = (self.load, &self.addresses);
        self.venue = start_venue(&self.program, folder, load, addresses, cancels_on_disconnect);
    }

    /// Whether orders can be sent.
    pub fn is_up(&self) -> bool {
        self.status("order entry").is_some_and(|word| word.starts_with("up"))
    }

    pub fn open_orders(&self) -> Option<u64> {
        self.status("open orders")?.parse().ok()
    }

    /// A line of the gateway's status; nothing while there is no gateway.
    fn status(&self, name: &str) -> Option<String> {
        let said = self.run(&["status"]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = said.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(|rest| rest.trim().to_owned())
    }

    /// What the gateway says of its market data; nothing while there is no gateway.
    pub fn feed(&self) -> Option<Feed> {
        let said = self.run(&["status", "--json"]);
        let said: Value = serde_json::from_slice(&said.stdout).ok()?;
        let counter = |name: &str| said["counters"][name].as_u64();
        let strategies = said["strategies"].as_array()?;
        let sum = |name: &str| strategies.iter().filter_map(|it| it[name].as_u64()).sum();
        Some(Feed {
            is_live: counter("live")? == 1,
            highest_packet: counter("highest_seen")?,
            applied_packets: counter("ticks")?,
            missed_packets: counter("recovered")?,
            gaps: counter("gaps")?,
            packets_again: counter("retransmitted")?,
            attached: strategies.iter().filter(|it| it["attached"] == true).count(),
            lost_events: sum("lapped"),
            refused_requests: sum("full"),
        })
    }

    /// What the gateway says that it holds, but for what is flat.
    pub fn positions(&self) -> Positions {
        let said = self.ask(&["positions"]);
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = STRATEGIES.iter().position(|name| Some(name) == words.first())? as u8 + 1;
            let lots: i64 = words.get(3)?.parse().ok()?;
            (lots != 0).then(|| ((number, words[1].to_owned()), lots))
        };
        said.lines().filter_map(line).collect()
    }

    /// Asks the gateway as its operator.
    pub fn ask(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    fn run(&self, words: &[&str]) -> Output {
        let control = control(self.folder.path());
        Command::new(&self.program).arg("gateway").args(words).args(["--gateway", &control]).run()
    }

    /// They cancel their orders and end.
    pub fn stop_strategies(&mut self) {
        for (name, strategy) in STRATEGIES.iter().zip(&mut self.strategies) {
            until("an attachment", DEADLINE, || strategy.stderr().contains("attached to"));
            interrupt(strategy);
            let status = strategy.end();
            assert!(status.success(), "{name}: {status}: {}", strategy.stderr());
        }
    }

    /// Ends gateway and venue in good order; nothing is left of them.
    pub fn end(mut self) {
        self.ask(&["stop"]);
        let status = self.gateway.end();
        assert!(status.success(), "gateway: {status}: {}", self.gateway.stderr());
        interrupt(&self.venue);
        let status = self.venue.end();
        assert!(status.success(), "venue: {status}: {}", self.venue.stderr());
        let journal = self.folder.path().join("journal");
        let mut check = Command::new(&self.program);
        let checked = check.args(["journal", "check"]).arg(&journal).run();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let (segments, others): (BTreeSet<_>, BTreeSet<_>) =
            names(&journal).into_iter().partition(|name| name.ends_with(".journal"));
        assert!(segments.len() <= SEGMENTS_MAX, "{segments:?}");
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        assert_eq!(others, ["instruments", "lock", "session"]);
        let files: Vec<String> = names(self.folder.path()).into_iter().collect();
        assert_eq!(files, ["gateway.toml", "journal", "venue.toml"]);
        let left: Vec<String> = shared().difference(&self.shared_before).cloned().collect();
        assert!(left.is_empty(), "left in shared memory: {left:?}");
        let processes = [&self.venue, &self.gateway].into_iter().chain(&self.strategies);
        for process in processes {
            assert!(!Path::new(&format!("/proc/{}", process.id())).exists());
        }
    }
}

fn interrupt(process: &Process) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    assert!(sent.success());
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// What of taut's is in shared memory.
fn shared() -> BTreeSet<String> {
    names(Path::new("/dev/shm")).into_iter().filter(|name| name.contains("taut")).collect()
}

fn control(folder: &Path) -> String {
    folder.join("control").to_string_lossy().into_owned()
}

fn instruments(load: Load) -> String {
    let one = |number| format!("[[instruments]]\nsymbol = \"S{number}\"\ntick = \"0.01\"\n");
    (1..=load.instruments).map(one).collect()
}

fn lines(orders: SocketAddr, [_, a, b, snapshot, again]: &[SocketAddr; 5]) -> String {
    format!(
        "orders = \"{orders}\"\nincremental = \"{a}\"\nincremental_b = \"{b}\"\n\
         snapshot = \"{snapshot}\"\nretransmission = \"{again}\"\n"
    )
}

fn write_gateway(folder: &Path, load: Load, orders: SocketAddr, addresses: &[SocketAddr; 5]) {
    let strategies: String = (1..)
        .zip(STRATEGIES)
        .map(|(number, name)| format!("[[strategies]]\nname = \"{name}\"\nnumber = {number}\n"))
        .collect();
    let text = format!(
        "name = \"soak\"\ncontrol = \"{}\"\nwait = \"block\"\n[venue]\n{}\
         target_comp_id = \"VENUE\"\nheartbeat_seconds = 2\n{}{strategies}\
         [session]\nrequest_timeout_ms = 2000\nreconnect_ms = [20, 200]\n\
         [journal]\nfolder = \"journal\"\nsegment_mb = 4\n\
         [gateway]\nlevels = 512\norders = 8192\n",
        control(folder),
        lines(orders, addresses),
        instruments(load),
    );
    fs::write(folder.join("gateway.toml"), text).expect("a file");
}

fn start_venue(
    program: &Path,
    folder: &Path,
    load: Load,
    addresses: &[SocketAddr; 5],
    cancels_on_disconnect: bool,
) -> Process {
    let file = folder.join("venue.toml");
    let text = format!(
        "comp_id = \"VENUE\"\ncancel_on_disconnect = {cancels_on_disconnect}\n\
         reset_on_logon = false\n{}{}[flow]\ncommands_per_second = {}\nlevels = 40\n",
        lines(addresses[0], addresses),
        instruments(load),
        load.flow,
    );
    fs::write(&file, text).expect("a file");
    Process::start(Command::new(program).args(["venue", "--config"]).arg(file))
}

fn start_gateway(program: &Path, folder: &Path) -> Process {
    let file = folder.join("gateway.toml");
    Process::start(Command::new(program).args(["gateway", "--config"]).arg(file))
}

fn start_strategy(program: &Path, folder: &Path, load: Load, name: &str) -> Process {
    let (control, rate) = (control(folder), load.rate.to_string());
    let words = ["strategy", "touch", "--gateway", &control, "--as", name];
    Process::start(Command::new(program).args(words).args(["--rate", &rate, "--rest", "20"]))
}
