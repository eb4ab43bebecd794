//! Everything around: taut's venue for market data, QuickFIX for orders behind a wire that can be
//! cut, and a gateway between them.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, Run, own_address, until};
use tempfile::TempDir;

use crate::peer::Venue;
use crate::wire::Wire;

const INSTRUMENTS: &str = "[[instruments]]\nsymbol = \"ONE\"\ntick = \"0.01\"\n";

pub struct World {
    folder: TempDir,
    feed: String,
    /// Market data alone: nobody trades there.
    _market: Process,
    pub venue: Venue,
    pub wire: Wire,
}

fn taut() -> Command {
    Command::new(env!("CARGO_BIN_EXE_taut"))
}

impl World {
    pub fn start(quickfix: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [orders, a, b, snapshot, again]: [SocketAddr; 5] =
            std::array::from_fn(|_| own_address());
        let feed = format!(
            "incremental = \"{a}\"\nincremental_b = \"{b}\"\nsnapshot = \"{snapshot}\"\n\
             retransmission = \"{again}\"\n"
        );
        let file = folder.path().join("venue.toml");
        let settings = format!(
            "comp_id = \"MARKET\"\norders = \"{orders}\"\n{feed}{INSTRUMENTS}[flow]\n\
             commands_per_second = 200\nlevels = 40\n"
        );
        fs::write(&file, settings).expect("room");
        let market = Process::start(taut().args(["venue", "--config"]).arg(&file));
        let venue = Venue::start(quickfix);
        let wire = Wire::to(venue.address);
        Self { folder, feed, _market: market, venue, wire }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn control(&self) -> PathBuf {
        self.path("control")
    }

    /// Starts a gateway with these settings besides, and waits until it can trade.
    pub fn start_gateway(&self, more: &str) -> Process {
        let file = self.path("gateway.toml");
        let settings = format!(
            "name = \"own\"\ncontrol = {:?}\nwait = \"block\"\n[venue]\norders = \"{}\"\n{}\
             target_comp_id = \"QUICKFIX\"\n{INSTRUMENTS}\
             [[strategies]]\nname = \"scripted\"\nnumber = 7\n\
             [session]\nstore = {:?}\nrequest_timeout_ms = 1000\nreconnect_ms = [20, 200]\n{more}",
            self.control(),
            self.wire.address,
            self.feed,
            self.path("numbers"),
        );
        fs::write(&file, settings).expect("room");
        let mut gateway = Process::start(taut().args(["gateway", "--config"]).arg(&file));
        gateway.stderr_line("a gateway that can be asked", |line| {
            line.contains("meet it at").then_some(())
        });
        self.until_it_trades();
        gateway
    }

    pub fn until_it_trades(&self) {
        until("a session and sound books", DEADLINE, || {
            let status = self.ask("status");
            status["order_entry"] == true && status["books_sound"] == true
        });
    }

    pub fn ask(&self, verb: &str) -> Value {
        let said = taut().args(["gateway", verb, "--json", "--gateway"]).arg(self.control()).run();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success(), "{verb}: {words}");
        serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{verb}: {error}"))
    }

    pub fn count(&self, counter: &str) -> u64 {
        let status = self.ask("status");
        let found = status["counters"][counter].as_u64();
        found.unwrap_or_else(|| panic!("{counter}: {status}"))
    }

    /// What the gateway holds, by symbol.
    pub fn positions(&self) -> BTreeMap<String, i64> {
        let mut positions = BTreeMap::new();
        for line in self.ask("positions").as_array().expect("positions") {
            let word = |key: &str| line[key].as_str().expect("a word").to_owned();
            let quantity: i64 = word("quantity").parse().expect("a whole quantity");
            *positions.entry(word("symbol")).or_default() += quantity;
        }
        positions
    }

    /// Ends the gateway as its operator does.
    pub fn stop(&self, gateway: Process) {
        self.ask("stop");
        let said = gateway.finish();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
}
