//! The program that plays the other end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_testkit::Process;

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/target");
const DICTIONARY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/dictionaries/FIX44.xml");

/// Where it is; it is said where it is not.
pub fn find() -> Option<PathBuf> {
    let built = std::env::var_os("TAUT_FIX_PEERS").map_or_else(|| PEERS.into(), PathBuf::from);
    let program = built.join("fix-peer-go");
    if !program.exists() {
        println!("skipped: no QuickFIX ({} is not there)", program.display());
        return None;
    }
    Some(program)
}

/// It validates what it is sent where the dictionary is there.
fn start(program: &Path, arguments: &[&str]) -> Process {
    let dictionary = if Path::new(DICTIONARY).is_file() { DICTIONARY } else { "-" };
    Process::start(Command::new(program).args(arguments).arg(dictionary))
}

/// A venue, and where it takes orders.
pub struct Venue {
    process: Process,
    pub address: SocketAddr,
}

impl Venue {
    pub fn start(program: &Path) -> Self {
        let mut process = start(program, &["venue"]);
        let port = process.stdout_line("its port", |line| {
            line.strip_prefix("listening ").and_then(|port| port.parse::<u16>().ok())
        });
        Self { process, address: ([127, 0, 0, 1], port).into() }
    }

    /// All that it has said.
    pub fn said(&self) -> String {
        self.process.stdout()
    }

    /// How often it said a line that begins so.
    pub fn count(&self, begin: &str) -> usize {
        self.said().lines().filter(|line| line.starts_with(begin)).count()
    }

    /// Bought less sold, by symbol, as it counts its trades.
    pub fn positions(&self) -> BTreeMap<String, i64> {
        let mut positions = BTreeMap::new();
        for line in whole_lines(&self.said()).filter_map(|line| line.strip_prefix("trade ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, side, quantity, symbol, _] = words[..] else { panic!("{line}") };
            let quantity: i64 = quantity.parse().expect("a quantity");
            *positions.entry(symbol.to_owned()).or_default() +=
                if side == "1" { quantity } else { -quantity };
        }
        positions
    }
}

/// A reader of drop copies.
pub struct Reader {
    process: Process,
}

/// An ExecutionReport that it read.
#[derive(Debug)]
pub struct Report {
    pub exec_id: String,
    pub exec_type: String,
    pub created_as: String,
    pub symbol: String,
    pub side: String,
    pub last_quantity: i64,
    pub total: i64,
    pub text: String,
}

impl Reader {
    pub fn start(program: &Path, at: SocketAddr) -> Self {
        Self { process: start(program, &["reader", &at.port().to_string()]) }
    }

    pub fn said(&self) -> String {
        self.process.stdout()
    }

    /// How often it said a line that begins so.
    pub fn count(&self, begin: &str) -> usize {
        self.said().lines().filter(|line| line.starts_with(begin)).count()
    }

    /// Everything that it read, told again or not.
    pub fn reports(&self) -> Vec<Report> {
        let said = self.said();
        let reports = whole_lines(&said).filter_map(|line| {
            line.strip_prefix("report ").or_else(|| line.strip_prefix("again "))
        });
        let read = |line: &str| {
            let words: Vec<&str> = line.splitn(10, ' ').collect();
            let [exec_id, exec_type, created_as, symbol, side, last, _, total, _, text] = words[..]
            else {
                panic!("{line}");
            };
            Report {
                exec_id: exec_id.to_owned(),
                exec_type: exec_type.to_owned(),
                created_as: created_as.to_owned(),
                symbol: symbol.to_owned(),
                side: side.to_owned(),
                last_quantity: last.parse().unwrap_or(0),
                total: total.parse().expect("a total"),
                text: text.to_owned(),
            }
        };
        reports.map(read).collect()
    }
}

/// What is not yet followed by the end of its line is still being written.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}
