//! Venue, gateway and strategies, each a process of its own that comes and goes by itself.
// size: one world of processes, and all that is played in it

/// Clients whose histories are checked, at a venue that is killed.
mod checked;
/// Two strategies, of which one has the other's orders: `hand-over`.
mod hand_over;
/// A program that looks at the market and trades nothing.
mod observe;
/// Gateways that are recorded, and do again what they did: `--record`, `replay`.
mod recorded;
/// A venue with a journal that is killed and goes on.
mod venue_journal;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use taut_gateway::{GatewayEvent, OrderUpdate, Strategy, Trading};
use taut_market_data::Event;
use taut_runner::service::Attach;
use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taut_testkit::{DEADLINE, Process, odd_json_keys, own_address, until};
use taut_types::{InstrumentId, Lots, Nanos, OrderTerms, Price, Side};
use tempfile::TempDir;

pub fn taut() -> Command {
    Command::new(env!("CARGO_BIN_EXE_taut"))
}

pub fn run(arguments: &[&str]) -> Output {
    taut().args(arguments).output().expect("it runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_samples_are_right_and_what_is_wrong_in_a_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file.toml");
    let path = file.to_str().expect("a path");
    for (verb, wrongs) in [
        (
            "gateway",
            &[
                ("symbol = \"TAUT\"", "symbl = \"TAUT\"", "did you mean `symbol`?"),
                ("tick = \"0.01\"", "tick = \"zero\"", "instruments[0].tick = zero"),
                ("number = 1", "number = 300", "300"),
                ("name = \"touch\"", "name = \"\"", "strategies[0].name"),
                ("levels = 8192", "levels = 0", "gateway.levels = 0: must be from 1"),
                ("orders = 65536", "orders = 0", "gateway.orders = 0: must be from 1"),
                ("# cpu = 1", "cpu = 999", "cpu = 999: must be a CPU that this process may use"),
                ("worst = 50", "worst = 0", "outliers.worst = 0: must be from 1 to 1000"),
                ("interface = \"lo\"", "interface = \"nowhere0\"", "a network interface of this"),
                (LONG.0, LONG.1, "strategies[0].name"),
                ("name = \"taut\"", LONG.1, "so short that the path of the control socket"),
                ("\"GATEWAY\"", "\"GATEWAY-GATEWAY-GATEWAY-GATEWAY-1\"", "1 to 31 printable"),
                ("orders = \"127.0.0.1:9880\"", "orders = \"127.0.0.1:0\"", "venue.orders"),
                ("reconnect_ms = [100, 30000]", "reconnect_ms = [9, 3]", "reconnect_ms = [9, 3]"),
                ("[venue]\n", "[deribit]\n[venue]\n", "[venue] and [deribit] name two venues"),
                (
                    "# [drop_copy]",
                    "[drop_copy]\nlisten = \"127.0.0.1:9\"\nstore = \"x\"\nsessions = []",
                    "drop_copy.sessions: none is named",
                ),
                (
                    "# [drop_copy_reader]",
                    "[drop_copy_reader]\naddress = \"x\"\nsender_comp_id = \"R\"\nstore = \"x\"",
                    "drop_copy_reader.address = x",
                ),
            ][..],
        ),
        (
            "venue",
            &[
                ("comp_id = \"VENUE\"", "comp_id = \"\"", "comp_id"),
                ("levels = 100", "levels = 1", "levels = 1"),
                ("seed = 1", "sed = 1", "did you mean `seed`?"),
            ][..],
        ),
        (
            "strategy",
            &[
                ("gateways = [\"taut\"]", "gateway = [\"taut\"]", "did you mean `gateways`?"),
                ("gateways = [\"taut\"]", "gateways = []", "gateways: none is named"),
                ("name = \"touch\"", "name = \"\"", "name = : must be the strategy's name"),
                ("# cpu = 1", "cpu = 999", "cpu = 999: must be a CPU that this process may use"),
                ("rate = 100", "rat = 100", "did you mean `rate`?"),
                ("lots = 1", "lots = 0", "parameters.lots"),
            ][..],
        ),
    ] {
        let sample = text(&run(&[verb, "sample"]).stdout);
        std::fs::write(&file, &sample).expect("a file");
        let checked = run(&[verb, "check", path]);
        assert!(checked.status.success(), "{verb}: {}", text(&checked.stderr));
        for (right, wrong, words) in wrongs {
            assert!(sample.contains(right), "{right}");
            std::fs::write(&file, sample.replacen(right, wrong, 1)).expect("a file");
            let checked = run(&[verb, "check", path]);
            let said = text(&checked.stderr);
            assert_eq!(checked.status.code(), Some(2), "{wrong}: {said}");
            assert!(said.contains(words) && said.contains(path), "{wrong}: {said}");
            if verb != "venue" && !wrong.contains('\n') {
                let before = sample.split(right).next().unwrap_or_default();
                let line = 1 + before.lines().count() - usize::from(!before.ends_with('\n'));
                assert!(said.contains(&format!(":{line}: ")), "{wrong} in {line}: {said}");
            }
        }
    }
    let missing = run(&["gateway", "--config", "/nowhere.toml"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
    let nobody = run(&["gateway", "status", "--gateway", path]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("does it run"), "{}", text(&nobody.stderr));
}

#[test]
fn a_gateway_with_nothing_to_show_says_so_and_its_json_stays_a_list() {
    let world = World::new();
    // Nobody plays the venue.
    let gateway = world.start_gateway();
    let control = world.control();
    for (verb, words) in [("orders", "no open orders"), ("positions", "no positions")] {
        let said = run(&["gateway", verb, "--gateway", &control]);
        assert!(said.status.success(), "{verb}: {}", text(&said.stderr));
        assert_eq!(text(&said.stderr).trim_end(), words, "{verb}");
        assert_eq!(text(&said.stdout).lines().count(), 1, "{verb}: the heads alone");
        assert_eq!(world.ask(&[verb]), Value::Array(Vec::new()), "{verb}");
    }
    // Some limits always hold, and stages have their names.
    let said = run(&["gateway", "limits", "--gateway", &control]);
    assert!(text(&said.stdout).contains("orders at once"), "{}", text(&said.stdout));
    assert!(said.stderr.is_empty(), "{}", text(&said.stderr));
    assert!(world.ask(&["limits"]).as_array().is_some_and(|limits| !limits.is_empty()));
    assert_eq!(world.ask(&["stages"])["stages_ns"]["tick_to_trade"]["p999"], 0);
    let said = run(&["gateway", "outliers", "--gateway", &control]);
    let words = "no order was kept: 0 were measured, none above 0 ns";
    assert_eq!(text(&said.stdout).trim_end(), words, "{}", text(&said.stderr));
    assert_eq!(world.ask(&["outliers"])["worst"], Value::Array(Vec::new()));
    world.ask(&["cancel-all"]);
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
}

#[test]
fn a_file_of_okx_is_checked_with_its_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("okx.toml");
    let sample = text(&run(&["gateway", "sample", "--venue", "okx"]).stdout);
    let check = |wrong: (&str, &str), secrets: bool| {
        assert!(sample.contains(wrong.0), "{}", wrong.0);
        std::fs::write(&file, sample.replacen(wrong.0, wrong.1, 1)).expect("a file");
        let mut command = taut();
        command.args(["gateway", "check"]).arg(&file);
        for name in ["OKX_SECRET", "OKX_PASSPHRASE"] {
            match secrets {
                true => command.env(name, "hunter2"),
                false => command.env_remove(name),
            };
        }
        let output = command.output().expect("it runs");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("hunter2"), "{said}");
        (output.status.success(), said)
    };
    assert!(check(("", ""), true).0);
    let (_, said) = check(("", ""), false);
    assert!(said.contains("OKX_SECRET") && said.contains("OKX_PASSPHRASE"), "{said}");
    for (right, wrong, words) in [
        ("\"API_KEY\"", "\"\"", "who trades"),
        ("https://www.okx.com", "www.okx.com", "https://HOST"),
        ("heartbeat_seconds = 20", "heartbeat_seconds = 26", "at most 25"),
        ("books = ", "book = ", "did you mean `books`?"),
        ("[[strategies]]", "[deribit]\n[[strategies]]", "two venues"),
    ] {
        let (is_right, said) = check((right, wrong), true);
        assert!(!is_right && said.contains(words), "{wrong}: {said}");
    }
}

/// A name that is too long.
const LONG: (&str, &str) = (
    "name = \"touch\"",
    "name = \"a-name-of-more-than-a-hundred-and-seven-bytes-which-no-path-of-a-socket-has-room-for-\
     not-even-in-the-root-of-all-folders\"",
);

/// A folder with the settings of a world of its own.
pub struct World {
    folder: TempDir,
    orders: SocketAddr,
    /// Line A, line B, snapshots, packets that are sent again.
    pub feed: [SocketAddr; 4],
}

pub const INSTRUMENTS: &str = "[[instruments]]\nsymbol = \"ONE\"\ntick = \"0.01\"\n\
                           [[instruments]]\nsymbol = \"TWO\"\ntick = \"0.01\"\n";

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let feed = std::array::from_fn(|_| own_address());
        Self { folder, orders: own_address(), feed }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn lines(&self) -> String {
        let (orders, [a, b, snapshot, again]) = (self.orders, self.feed);
        format!(
            "orders = \"{orders}\"\nincremental = \"{a}\"\nincremental_b = \"{b}\"\n\
             snapshot = \"{snapshot}\"\nretransmission = \"{again}\"\n"
        )
    }

    /// Where the gateway listens.
    pub fn control(&self) -> String {
        self.path("control").to_str().expect("a path").to_owned()
    }

    pub fn start_venue(&self) -> Process {
        self.start_venue_with("")
    }

    fn start_venue_with(&self, more: &str) -> Process {
        self.write_venue(more, INSTRUMENTS);
        let mut venue = self.start_venue_as_written();
        venue.stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
        venue
    }

    fn write_venue(&self, more: &str, instruments: &str) {
        self.venue_file("venue.toml", more, instruments);
    }

    /// A venue's file with these keys.
    fn venue_file(&self, name: &str, more: &str, instruments: &str) -> PathBuf {
        let file = self.path(name);
        let settings = format!(
            "comp_id = \"VENUE\"\n{more}{}{instruments}[flow]\n\
             commands_per_second = 1000\nlevels = 40\n",
            self.lines()
        );
        std::fs::write(&file, settings).expect("a file");
        file
    }

    fn start_venue_as_written(&self) -> Process {
        let file = self.path("venue.toml");
        Process::start(taut().args(["venue", "--config"]).arg(&file))
    }

    /// With its journal, in small segments, beside its file.
    fn start_journalled(&self) -> Process {
        self.start_gateway_with("[journal]\nfolder = \"journal\"\nsegment_mb = 1\n")
    }

    /// Writes the gateway's settings: two strategies, and what else a test says.
    pub fn write_settings(&self, more: &str) {
        let settings = format!(
            "name = \"own\"\ncontrol = \"control\"\nwait = \"block\"\n[venue]\n{}\
             target_comp_id = \"VENUE\"\n{INSTRUMENTS}\
             [[strategies]]\nname = \"first\"\nnumber = 1\n\
             [[strategies]]\nname = \"second\"\nnumber = 2\n{more}",
            self.lines()
        );
        std::fs::write(self.path("gateway.toml"), settings).expect("a file");
    }

    pub fn start_gateway(&self) -> Process {
        self.start_gateway_with("")
    }

    pub fn start_gateway_with(&self, more: &str) -> Process {
        self.write_settings(more);
        self.start_written(&[])
    }

    pub fn start_written(&self, more: &[&str]) -> Process {
        let file = self.path("gateway.toml");
        let mut gateway =
            Process::start(taut().args(["gateway", "--config"]).arg(&file).args(more));
        gateway.stderr_line("a gateway that can be found", |line| {
            line.contains("meet it at").then_some(())
        });
        gateway
    }

    pub fn start_strategy(&self, name: &str) -> Process {
        self.start_strategy_with(name, &[])
    }

    pub fn start_strategy_with(&self, name: &str, more: &[&str]) -> Process {
        let control = self.control();
        let arguments = ["strategy", "touch", "--gateway", &control, "--as", name, "--rate", "200"];
        let mut strategy = Process::start(taut().args(arguments).arg("--json").args(more));
        strategy.stderr_line("an attachment", |line| line.contains("attached to").then_some(()));
        strategy
    }

    pub fn ask(&self, arguments: &[&str]) -> Value {
        let control = self.control();
        let said = taut()
            .arg("gateway")
            .args(arguments)
            .args(["--gateway", &control, "--json"])
            .output()
            .expect("it runs");
        let words = format!("{arguments:?}: {}{}", text(&said.stdout), text(&said.stderr));
        assert!(said.status.success(), "{words}");
        assert_eq!(odd_json_keys(&text(&said.stdout)), [""; 0], "{words}");
        serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
    }

    pub fn status(&self) -> Value {
        self.ask(&["status"])
    }

    pub fn count(&self, counter: &str) -> u64 {
        let status = self.status();
        let found = status["counters"][counter].as_u64();
        found.unwrap_or_else(|| panic!("{counter}: {status}"))
    }

    fn is_attached(&self, name: &str) -> bool {
        let status = self.status();
        let strategies = status["strategies"].as_array().expect("strategies");
        strategies.iter().any(|line| line["name"] == name && line["attached"] == true)
    }

    /// What the status says of a strategy.
    pub fn strategy(&self, name: &str) -> Value {
        let status = self.status();
        let mut strategies = status["strategies"].as_array().into_iter().flatten();
        strategies.find(|line| line["name"] == name).expect("a strategy of the settings").clone()
    }

    /// Whose trading is killed, and by what.
    fn latches(&self) -> Value {
        let status = self.status();
        let latches = status["latches"].as_array().into_iter().flatten();
        latches.map(|line| json!([line["scope"], line["cause"]])).collect()
    }

    /// Open orders of which this is so.
    fn open_orders(&self, what: &str, is: &str) -> usize {
        let orders = self.ask(&["orders"]);
        orders.as_array().into_iter().flatten().filter(|order| order[what] == is).count()
    }

    pub fn until_orders(&self, what: &str, more: u64) {
        let before = self.count("acks");
        until(what, DEADLINE, || self.count("acks") >= before + more);
    }
}

fn interrupt(program: &Process) {
    signal(program, "-INT");
}

pub fn signal(program: &Process, name: &str) {
    let id = program.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status().expect("kill runs");
    assert!(sent.success());
}

/// What an operator sees of these lines that does not depend on the market or the session.
pub fn lasting(lines: &Value) -> Vec<String> {
    let is_lasting = |key: &&String| !matches!(key.as_str(), "unrealised" | "mark" | "state");
    let line = |line: &Value| {
        let line = line.as_object().expect("an object");
        let fields = line.keys().filter(is_lasting).map(|key| format!("{key} {}", line[key]));
        fields.collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<_> = lines.as_array().expect("lines").iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn strategies_come_and_go_at_a_gateway_that_is_watched_stopped_and_started_again() {
    let world = World::new();
    let mut venue = world.start_venue();
    let mut gateway = world.start_gateway();
    until("a session and sound books", DEADLINE, || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    });
    assert_eq!(world.status()["instruments"], 2);

    // Two strategies at once; a third of a taken name, and one that nobody knows, are refused.
    let first = world.start_strategy("first");
    let mut second = world.start_strategy("second");
    world.until_orders("orders of both", 100);
    assert!(world.is_attached("first") && world.is_attached("second"));
    let control = world.control();
    for (name, words) in [("first", "attached already"), ("third", "there are: first, second")] {
        let refused = run(&["strategy", "touch", "--gateway", &control, "--as", name, "--no-wait"]);
        assert_eq!(refused.status.code(), Some(1), "{name}");
        assert!(text(&refused.stderr).contains(words), "{}", text(&refused.stderr));
    }

    // One that dies has its orders cancelled, and the other does not notice.
    second.kill();
    until("the end of its attachment", DEADLINE, || !world.is_attached("second"));
    until("no order of the one that died", DEADLINE, || {
        let orders = world.ask(&["orders"]);
        orders.as_array().expect("orders").iter().all(|order| order["strategy"] != "second")
    });
    world.until_orders("orders of the other", 50);
    let second = world.start_strategy("second");
    world.until_orders("orders of both again", 50);

    // Killed, nothing new leaves; revived, it does.
    world.ask(&["kill"]);
    assert_eq!(world.status()["killed"], true);
    until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
    let sent = world.count("orders");
    let refused = world.count("risk_rejects");
    until("refused orders", DEADLINE, || world.count("risk_rejects") > refused + 5);
    assert_eq!(world.count("orders"), sent);
    world.ask(&["revive"]);
    world.until_orders("orders after the revival", 20);

    // Dropped by its operator it attaches again by itself.
    world.ask(&["drop", "first"]);
    until("another attachment", DEADLINE, || world.is_attached("first"));

    // The venue dies and is started again: the gateway connects anew, and nobody else need know.
    venue.kill();
    until("no session", DEADLINE, || world.status()["order_entry"] == false);
    let venue = world.start_venue();
    until("a session with the next venue, and its books", DEADLINE, || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    });
    world.until_orders("orders to the next venue", 50);
    assert!(world.is_attached("first") && world.is_attached("second"));

    // The gateway dies; strategies wait for the next one.
    gateway.kill();
    let gateway = world.start_gateway();
    until("both strategies at the next gateway", DEADLINE, || {
        world.is_attached("first") && world.is_attached("second")
    });
    world.until_orders("orders through the next gateway", 50);
    let at_start = world.count("recovered_at_start");
    assert!(at_start > 0, "the venue had sent packets before");
    until("positions of both strategies in both instruments", DEADLINE, || {
        let held = world.ask(&["positions"]);
        let held = held.as_array().expect("positions");
        let has = |strategy: &str, symbol: &str| {
            held.iter().any(|line| line["strategy"] == strategy && line["symbol"] == symbol)
        };
        ["first", "second"].iter().all(|name| has(name, "ONE") && has(name, "TWO"))
    });

    for strategy in [first, second] {
        interrupt(&strategy);
        let said = strategy.finish();
        assert!(said.status.success(), "{}", text(&said.stderr));
        assert!(text(&said.stderr).contains("\nended: "), "{}", text(&said.stderr));
        let line = text(&said.stdout);
        assert_eq!(odd_json_keys(&line), [""; 0], "{line}");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(told["drained"], true, "{line}");
    }
    world.ask(&["stop"]);
    let said = gateway.finish();
    assert!(said.status.success(), "{}", text(&said.stderr));
    let end = "msg=\"ended: no order was open, logged out\"\n";
    assert!(text(&said.stderr).ends_with(end), "{}", text(&said.stderr));
    assert!(!Path::new(&control).exists(), "the control socket is left");
    interrupt(&venue);
    assert!(venue.finish().status.success());
}

/// Asks until it is told to stop, and reads next to nothing: each answer that it takes has it ask a
/// thousand times more. Once stopped it asks one more time.
struct Flood<'a> {
    is_over: &'a AtomicBool,
    answers: &'a AtomicU64,
}

impl Flood<'_> {
    fn ask(&self, trading: &mut impl Trading) {
        // More than an order may have: the gateway refuses it by itself.
        let order = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1), Lots(i64::MAX));
        for _ in 0..1_000 {
            while trading.create(&order).is_none() {
                if self.is_over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::yield_now();
            }
        }
    }
}

impl Strategy for Flood<'_> {
    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        if *event == GatewayEvent::DownloadEnd {
            let order = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1), Lots(i64::MAX));
            trading.create(&order);
        }
    }

    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_order(&mut self, _: Nanos, _: &OrderUpdate, trading: &mut impl Trading) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        if !self.is_over.load(Ordering::Relaxed) {
            self.ask(trading);
        }
    }
}

#[test]
fn a_strategy_that_leaves_its_replies_unread_is_dropped_and_attaches_again() {
    let world = World::new();
    let _venue = world.start_venue();
    let mut gateway = world.start_gateway();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let line = |name: &str| world.strategy(name);
    let (is_over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut attach = Attach::new(&world.control(), "first");
    attach.waits = false;
    let run = || {
        let flood = Flood { is_over: &is_over, answers: &answers };
        attach.run(|_| flood, |_| {})
    };
    std::thread::scope(|scope| {
        // A gateway that has no turn for two seconds answers too late: then once more.
        let first = scope.spawn(|| {
            loop {
                let ended = run().expect_err("a connection that is ended");
                if world.count("strategies_dropped") == 1 {
                    return ended;
                }
                eprintln!("not dropped: {ended}");
            }
        });
        until("a strategy that is dropped", DEADLINE, || line("first")["dropped"] == 1);
        is_over.store(true, Ordering::Relaxed);
        let ended = first.join().expect("a thread");
        assert!(ended.to_string().contains("is gone"), "{ended}");
    });
    assert_eq!(world.count("strategies_dropped"), 1);
    assert_eq!(line("first")["attached"], false);
    gateway.stderr_line("who was dropped, and why", |line| {
        line.contains("'first' left its replies unread").then_some(())
    });

    // It is told everything anew, and its requests are read.
    let before = answers.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let again = scope.spawn(|| {
            until("a place for its next attachment", DEADLINE, || {
                let refused = run().expect_err("it does not end before the gateway").to_string();
                refused.contains("is gone") || refused.contains("ended the connection")
            });
        });
        until("an answer to the next one", DEADLINE, || answers.load(Ordering::Relaxed) > before);
        until("its housekeeping", DEADLINE, || line("first")["attached"] == true);
        world.ask(&["stop"]);
        again.join().expect("a thread");
    });
    assert!(gateway.finish().status.success());
}

#[test]
fn a_stopped_strategy_that_was_dropped_attaches_again_when_it_goes_on() {
    let world = World::new();
    let _venue = world.start_venue();
    let _gateway = world.start_gateway();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let first = world.start_strategy("first");
    world.until_orders("orders of the first", 20);
    signal(&first, "-STOP");
    until("how far it is behind", DEADLINE, || world.strategy("first")["lag"].as_u64() > Some(0));
    world.ask(&["drop", "first"]);
    assert!(!world.is_attached("first"));
    // Its place is still its own: it may be about to read and to write there.
    let _second = world.start_strategy("second");
    world.until_orders("orders of the second", 20);
    signal(&first, "-CONT");
    until("another attachment", DEADLINE, || world.is_attached("first"));
    until("orders of both", DEADLINE, || {
        let orders = world.ask(&["orders"]);
        let has = |name| {
            let orders = orders.as_array().into_iter().flatten();
            orders.into_iter().any(|order| order["strategy"] == name)
        };
        has("first") && has("second")
    });
    assert_eq!(world.strategy("first")["dropped"], 0, "an operator's drop is none of these");
}

#[test]
fn a_kill_is_of_one_scope_and_the_status_says_whose_by_what_and_since_when() {
    let world = World::new();
    let _venue = world.start_venue();
    let gateway = world.start_gateway();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let _first = world.start_strategy("first");
    let _second = world.start_strategy("second");
    let goes_on = |strategy: &'static str| {
        until("orders of the one that is not killed", DEADLINE, || {
            world.open_orders("strategy", strategy) > 0
        });
    };
    goes_on("first");
    world.ask(&["kill", "--strategy", "first"]);
    assert_eq!(world.latches(), json!([[{"strategy": "first"}, "command"]]));
    assert!(world.status()["latches"][0]["since_ns"].as_i64() > Some(0));
    until("no order of it", DEADLINE, || world.open_orders("strategy", "first") == 0);
    goes_on("second");
    assert_eq!(world.open_orders("strategy", "first"), 0);
    let control = world.control();
    let said = text(&run(&["gateway", "status", "--gateway", &control]).stdout);
    assert!(said.contains("killed       strategy first: command, "), "{said}");
    world.ask(&["revive", "--strategy", "first"]);
    goes_on("first");

    world.ask(&["kill", "--symbol", "ONE"]);
    until("no order in it", DEADLINE, || world.open_orders("symbol", "ONE") == 0);
    until("orders in the other one", DEADLINE, || world.open_orders("symbol", "TWO") > 0);
    world.ask(&["kill", "--account", "0"]);
    world.ask(&["kill", "--user", "0"]);
    until("no order at all", DEADLINE, || world.status()["open_orders"] == 0);
    let all = json!([
        [{"user": "0"}, "command"], [{"account": "0"}, "command"], [{"symbol": "ONE"}, "command"],
    ]);
    assert_eq!(world.latches(), all);
    for scope in [["--symbol", "ONE"], ["--account", "0"], ["--user", "0"]] {
        world.ask(&["revive", scope[0], scope[1]]);
    }
    assert_eq!(world.latches(), json!([]));
    goes_on("first");
    for (arguments, words) in [
        (&["revive", "--strategy", "first"][..], "strategy first is not killed"),
        (&["kill", "--symbol", "NONE"], "no instrument is called 'NONE'"),
        (&["kill", "--strategy", "third"], "there are: first, second"),
        (&["alive"], "no operator_dead_man_ms"),
    ] {
        let said = taut().arg("gateway").args(arguments).args(["--gateway", &control]).output();
        let said = said.expect("it runs");
        assert_eq!(said.status.code(), Some(1), "{arguments:?}");
        assert!(text(&said.stderr).contains(words), "{}", text(&said.stderr));
    }

    // A signal kills everything.
    signal(&gateway, "-USR1");
    until("a kill by a signal", DEADLINE, || world.latches() == json!([["all", "signal"]]));
    until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
    world.ask(&["revive"]);
    goes_on("second");
}

#[test]
fn orders_are_cancelled_by_what_they_have_in_common() {
    let world = World::new();
    let _venue = world.start_venue();
    let _gateway = world.start_gateway();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    until("resting orders of both sides", DEADLINE, || {
        world.open_orders("side", "buy") > 2 && world.open_orders("side", "sell") > 2
    });
    signal(&strategy, "-STOP");
    until("an answer to every request", DEADLINE, || world.count("unanswered") == 0);
    let (buys, before) = (world.open_orders("side", "buy"), world.count("cancel_requests"));
    world.ask(&["cancel-all", "--side", "buy", "--strategy", "second"]);
    world.ask(&["cancel-all", "--side", "buy", "--account", "7"]);
    assert_eq!(world.count("cancel_requests"), before);
    world.ask(&["cancel-all", "--side", "buy", "--user", "0", "--account", "0"]);
    until("no order that buys", DEADLINE, || world.open_orders("side", "buy") == 0);
    assert!(world.count("cancel_requests") - before <= buys as u64, "others were cancelled, too");
    world.ask(&["cancel-all", "--symbol", "ONE"]);
    until("no order in one", DEADLINE, || world.open_orders("symbol", "ONE") == 0);
    world.ask(&["cancel-all"]);
    until("no order", DEADLINE, || world.status()["open_orders"] == 0);
    signal(&strategy, "-CONT");
}

#[test]
fn a_strategy_or_an_operator_without_a_sign_of_life_is_killed() {
    let world = World::new();
    let _venue = world.start_venue();
    // Of the second strategy.
    let dead_man = "dead_man_ms = 2000\n";
    let _gateway = world.start_gateway_with(dead_man);
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let _first = world.start_strategy("first");
    let second = world.start_strategy("second");
    until("its orders", DEADLINE, || world.open_orders("strategy", "second") > 0);
    signal(&second, "-STOP");
    let by_timer = json!([[{"strategy": "second"}, "dead man's timer"]]);
    until("a kill", DEADLINE, || world.latches() == by_timer);
    until("no order of it", DEADLINE, || world.open_orders("strategy", "second") == 0);
    until("orders of the other", DEADLINE, || world.open_orders("strategy", "first") > 0);
    signal(&second, "-CONT");
    assert_eq!(world.latches(), by_timer, "it lives again, and stays killed");
    until("another try", DEADLINE, || {
        world.ask(&["revive", "--strategy", "second"]);
        until("orders again, or another kill of one that is late", DEADLINE, || {
            world.open_orders("strategy", "second") > 0 || world.latches() == by_timer
        });
        world.latches() == json!([])
    });

    world.write_settings(&format!("{dead_man}[risk]\noperator_dead_man_ms = 500\n"));
    world.ask(&["reload"]);
    until("a kill of everything", DEADLINE, || {
        world.latches()[0] == json!(["all", "dead man's timer"])
    });
    world.ask(&["alive"]);
    assert_eq!(world.latches()[0], json!(["all", "dead man's timer"]), "it stays killed");
    world.write_settings(dead_man);
    world.ask(&["reload"]);
    world.ask(&["revive"]);
    until("orders again", DEADLINE, || world.open_orders("strategy", "first") > 0);
}

#[test]
fn an_account_that_lost_too_much_is_killed_and_may_trade_again_within_another_limit() {
    let world = World::new();
    let _venue = world.start_venue();
    let _gateway = world.start_gateway_with("[risk]\nloss_max = \"0.01\"\n");
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let _first = world.start_strategy("first");
    let lost = json!([[{"account": "0"}, "loss limit"]]);
    until("a loss", DEADLINE, || world.latches() == lost);
    until("no order", DEADLINE, || world.status()["open_orders"] == 0);
    world.write_settings("[risk]\nloss_max = 1000000\n");
    world.ask(&["reload"]);
    world.ask(&["revive", "--account", "0"]);
    until("orders again", DEADLINE, || world.status()["open_orders"].as_u64() > Some(0));
    assert_eq!(world.latches(), json!([]));
}

#[test]
fn a_gateway_that_is_killed_comes_back_with_its_orders_positions_and_kill_switch() {
    let world = World::new();
    // Orders and what was missed are the client's own when it is back.
    let keeps = "cancel_on_disconnect = false\nreset_on_logon = false\n";
    let venue = world.start_venue_with(keeps);
    let mut gateway = world.start_journalled();
    let is_up = || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    };
    until("a session and sound books", DEADLINE, is_up);
    let strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    until("resting orders and fills", DEADLINE, || {
        world.count("fills") > 10 && world.status()["open_orders"].as_u64() > Some(20)
    });
    // Nothing moves any more: neither the strategy nor the venue.
    signal(&strategy, "-STOP");
    until("an answer to every request", DEADLINE, || world.count("unanswered") == 0);
    signal(&venue, "-STOP");
    let seen = || ["orders", "positions"].map(|what| lasting(&world.ask(&[what])));
    until("quiet", DEADLINE, || seen() == seen());
    let before = seen();
    assert!(before.iter().all(|lines| !lines.is_empty()), "{before:?}");
    gateway.kill();

    // An instrument that becomes another one is not taken for it.
    let file = world.path("gateway.toml");
    let settings = std::fs::read_to_string(&file).expect("a file");
    let other = settings.replacen("symbol = \"ONE\"", "symbol = \"OTHER\"", 1);
    std::fs::write(&file, other).expect("a file");
    let refused = run(&["gateway", "--config", file.to_str().expect("a path")]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("[[instruments]] says OTHER"));

    let mut gateway = world.start_journalled();
    assert_eq!(seen(), before);
    assert_eq!(world.status()["killed"], false);

    // Killed, it stays so; and it is killed before it has a session.
    world.ask(&["kill"]);
    gateway.kill();
    let mut gateway = world.start_journalled();
    assert_eq!(seen(), before);
    assert_eq!(world.status()["killed"], true);
    world.ask(&["revive"]);
    gateway.kill();
    let gateway = world.start_journalled();
    assert_eq!((world.status()["killed"].clone(), seen()), (Value::Bool(false), before));

    // The venue goes on, and the strategy is told its orders: it ends them itself.
    signal(&venue, "-CONT");
    until("a session again", DEADLINE, is_up);
    signal(&strategy, "-CONT");
    until("the strategy at the next gateway", DEADLINE, || world.is_attached("first"));
    world.until_orders("orders with numbers of their own", 20);
    assert_eq!(world.count("order_rejects"), 0, "a number was used twice");
    assert_eq!(world.count("foreign_reports"), 0, "a report of an order that is forgotten");
    interrupt(&strategy);
    let said = strategy.finish();
    assert!(said.status.success(), "{}", text(&said.stderr));
    until("no order is left", DEADLINE, || world.status()["open_orders"] == 0);
    world.ask(&["stop"]);
    let said = gateway.finish();
    assert!(said.status.success(), "{}", text(&said.stderr));

    // Stopped is not killed: the next one may trade.
    let gateway = world.start_journalled();
    until("a session of the last one", DEADLINE, is_up);
    assert_eq!(world.status()["killed"], false);
    drop((gateway, venue));
}

/// Halts both instruments of the venue with this control socket, or has them trade again.
fn at_venue(control: &str, verb: &str) {
    for symbol in ["ONE", "TWO"] {
        let said = run(&["venue", verb, control, symbol]);
        assert!(said.status.success(), "{verb} {symbol}: {}", text(&said.stderr));
    }
}

#[test]
fn one_strategy_trades_in_the_gateways_thread_as_others_do_beside_it() {
    let world = World::new();
    let venue_control = world.path("venue-control");
    let venue_control = venue_control.to_str().expect("a path");
    let venue = world.start_venue_with(&format!(
        "name = \"{venue_control}\"\ncancel_on_disconnect = false\nreset_on_logon = false\n"
    ));
    let at_venue = |verb: &str| at_venue(venue_control, verb);
    let keys = "name = \"first\"\n[parameters]\nrate = 200\nrest_ms = 3000000\n";
    let file = world.path("strategy.toml");
    std::fs::write(&file, keys).expect("a file");
    let journal = "[journal]\nfolder = \"journal\"\nsegment_mb = 1\nreattach_ms = 1\n\
                   [risk]\nlots_max = 100\n";
    world.write_settings(journal);
    let fused = ["--fused", "touch", "--strategy", file.to_str().expect("a path")];
    // Without the file its name is `touch`, which this gateway does not know.
    let settings = world.path("gateway.toml");
    let unknown =
        run(&["gateway", "--config", settings.to_str().expect("a path"), "--fused", "touch"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("called 'touch' here; there are: first, second"));

    // Another one has traded beside the gateway before, and left orders.
    let of_second = || {
        let orders = world.ask(&["orders"]);
        let orders = orders.as_array().expect("orders").iter();
        orders.filter(|order| order["strategy"] == "second").count()
    };
    let mut gateway = world.start_written(&[]);
    let mut second = world.start_strategy_with("second", &["--rest", "3000000"]);
    until("resting orders of another strategy", DEADLINE, || of_second() > 15);
    // Nothing trades until its orders are cancelled.
    at_venue("halt");
    gateway.kill();
    second.kill();

    let mut gateway = world.start_written(&fused);
    until("cancels of what nobody here has", DEADLINE, || {
        world.count("cancels") > 0 && of_second() == 0
    });
    at_venue("resume");
    until("resting orders and fills", DEADLINE, || {
        world.count("fills") > 10 && world.status()["open_orders"].as_u64() > Some(15)
    });
    assert!(world.is_attached("first") && !world.is_attached("second"));
    let control = world.control();
    let attach = ["strategy", "touch", "--gateway", &control, "--as", "second", "--no-wait"];
    for (arguments, words) in [
        (&attach[..], "nobody attaches"),
        (&["gateway", "drop", "first", "--gateway", &control][..], "ends both"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        assert!(text(&refused.stderr).contains(words), "{}", text(&refused.stderr));
    }

    // Killed, it comes back with its orders, and the strategy goes on behind their numbers.
    signal(&venue, "-STOP");
    let seen = || ["orders", "positions"].map(|what| lasting(&world.ask(&[what])));
    until("an answer to every request, or none", DEADLINE, || seen() == seen());
    let before = seen();
    assert!(before.iter().all(|lines| !lines.is_empty()), "{before:?}");
    gateway.kill();
    let gateway = world.start_written(&fused);
    assert_eq!(seen(), before);
    signal(&venue, "-CONT");
    world.until_orders("orders through the next gateway", 5);

    // Limits, the kill switch and the end are its operator's as ever.
    world.write_settings(&journal.replace("100", "50"));
    let changes = world.ask(&["reload"])["changes"].to_string();
    assert!(changes.contains("lots_max"), "{changes}");
    world.ask(&["kill"]);
    until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
    let refused = world.count("risk_rejects");
    until("refused orders", DEADLINE, || world.count("risk_rejects") > refused + 5);
    world.ask(&["revive"]);
    world.until_orders("orders after the revival", 5);
    world.ask(&["stop"]);
    let said = gateway.finish();
    assert!(said.status.success(), "{}", text(&said.stderr));
    interrupt(&venue);
    assert!(venue.finish().status.success());
}

#[test]
fn orders_whose_strategy_does_not_come_back_are_cancelled() {
    let world = World::new();
    let control = world.path("venue-control");
    let control = control.to_str().expect("a path");
    let venue = world.start_venue_with(&format!(
        "name = \"{control}\"\ncancel_on_disconnect = false\nreset_on_logon = false\n"
    ));
    let mut gateway = world.start_journalled();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    // A venue that was stopped makes up for it, and would trade them all before their cancels.
    until("resting orders that nobody trades with", DEADLINE, || {
        at_venue(control, "halt");
        let rest = world.status()["open_orders"].as_u64() > Some(0);
        if !rest {
            at_venue(control, "resume");
        }
        rest
    });
    // It does not answer while there is no gateway, which does not hear of the strategy's end.
    signal(&venue, "-STOP");
    gateway.kill();
    drop(strategy);
    let more = "[journal]\nfolder = \"journal\"\nsegment_mb = 1\nreattach_ms = 1\n";
    let gateway = world.start_gateway_with(more);
    signal(&venue, "-CONT");
    until("cancels of all", DEADLINE, || {
        world.count("cancels") > 0 && world.status()["open_orders"] == 0
    });
    drop((gateway, venue));
}

#[test]
fn a_day_ends_once_and_a_snapshot_says_what_it_was() {
    let world = World::new();
    let seconds = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
    if seconds.as_secs() % 86_400 > 86_400 - 180 {
        println!("skipped: too near to midnight for a day that ends at 23:59");
        return;
    }
    let venue = world.start_venue_with("cancel_on_disconnect = false\nreset_on_logon = false\n");
    let journal = "[journal]\nfolder = \"journal\"\nsegment_mb = 1\nreattach_ms = 0\n";
    let day = |ends: &str| {
        format!("{journal}[risk]\nday_ends = \"{ends}\"\nsnapshot_folder = \"days\"\n")
    };
    // Yesterday's day goes on until one minute before midnight.
    let mut gateway = world.start_gateway_with(&day("23:59"));
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    let rest = |rests: bool| {
        if rests {
            signal(&strategy, "-STOP");
            until("an answer to every request", DEADLINE, || world.count("unanswered") == 0);
        }
        signal(&venue, if rests { "-STOP" } else { "-CONT" });
        if !rests {
            signal(&strategy, "-CONT");
        }
    };
    let held = |key: &str| -> Vec<String> {
        let held = world.ask(&["positions"]);
        let held = held.as_array().into_iter().flatten();
        held.map(|line| line[key].as_str().unwrap_or("none").to_owned()).collect()
    };
    let is_begun = || ["bought", "sold", "realised"].iter().all(|key| is_zero(&held(key)));
    until("trades and resting orders", DEADLINE, || {
        let resting = world.status()["open_orders"].as_u64();
        world.count("fills") > 10 && !is_zero(&held("realised")) && resting > Some(20)
    });
    rest(true);
    let seen = || ["orders", "positions"].map(|what| lasting(&world.ask(&[what])));
    until("quiet", DEADLINE, || seen() == seen());
    let (quantities, bought) = (held("quantity"), held("bought"));

    // Today's has ended already: it is settled at once, and its snapshot has it as it was.
    world.write_settings(&day("00:00"));
    world.ask(&["reload"]);
    until("a new day", DEADLINE, is_begun);
    assert_eq!(held("quantity"), quantities);
    let file = gateway.stderr_line("a snapshot", |line| {
        let (_, file) = line.split_once("settled, see ")?;
        Some(file.trim_end_matches('"').to_owned())
    });
    let snapshot = std::fs::read_to_string(&file).expect("a snapshot");
    let snapshot: Value = serde_json::from_str(&snapshot).expect("JSON");
    let of = |key: &str| -> Vec<String> {
        let lines = snapshot["positions"].as_array().into_iter().flatten();
        lines.map(|line| line[key].as_str().unwrap_or("none").to_owned()).collect()
    };
    assert_eq!((of("quantity"), of("bought")), (quantities, bought));
    assert!(is_zero(&of("unrealised")) && !is_zero(&of("realised")), "{snapshot}");
    assert!(snapshot["orders"].as_array().is_some_and(|orders| !orders.is_empty()));

    // Killed and started again in the new day, it goes on with it.
    rest(false);
    until("trades of the new day", DEADLINE, || !is_zero(&held("bought")));
    rest(true);
    until("quiet", DEADLINE, || seen() == seen());
    let before = seen();
    gateway.kill();
    let mut gateway = world.start_gateway_with(&day("00:00"));
    assert_eq!(seen(), before, "a day that was over was ended again");

    // By hand, in the middle of it.
    let by_hand = world.path("snapshot.json");
    world.ask(&["roll"]);
    until("another day", DEADLINE, is_begun);
    let said = taut()
        .args(["gateway", "snapshot", "--gateway", &world.control()])
        .arg(&by_hand)
        .output()
        .expect("it runs");
    assert!(said.status.success(), "{}", text(&said.stderr));
    let mut snapshot: Value =
        serde_json::from_str(&std::fs::read_to_string(&by_hand).expect("a file")).expect("JSON");
    let mut printed = world.ask(&["snapshot"]);
    for value in [&mut snapshot, &mut printed] {
        value["at_ns"].take();
        value["positions"] = json!(lasting(&value["positions"]));
    }
    assert_eq!(snapshot, printed);
    let before = seen();
    gateway.kill();
    let _gateway = world.start_gateway_with(&day("00:00"));
    assert_eq!(seen(), before);
    assert!(is_begun());
    rest(false);
}

/// Whether all these decimals are 0, of which there is one.
fn is_zero(decimals: &[String]) -> bool {
    let is_zero = |decimal: &String| decimal.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    !decimals.is_empty() && decimals.iter().all(is_zero)
}

#[test]
fn the_orders_of_a_strategy_that_dies_are_kept_for_its_return_where_it_is_said_so() {
    let world = World::new();
    let venue = world.start_venue();
    // Of the second strategy.
    let _gateway = world.start_gateway_with("when_gone = \"keep\"\n");
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let has = || world.open_orders("strategy", "second");
    let start = || {
        let strategy = world.start_strategy_with("second", &["--rest", "3000000"]);
        until("resting orders", DEADLINE, || has() > 10);
        strategy
    };
    let mut second = start();
    // Nothing trades any more.
    signal(&venue, "-STOP");
    second.kill();
    until("the end of its attachment", DEADLINE, || !world.is_attached("second"));
    assert!(has() > 0);
    assert_eq!(world.count("cancel_requests"), 0);
    signal(&venue, "-CONT");
    let mut second = start();
    assert_eq!(world.count("cancel_requests"), 0);
    // From its next end on they wait a moment alone.
    world.write_settings("when_gone = \"keep\"\nkeep_ms = 1\n");
    world.ask(&["reload"]);
    until("resting orders", DEADLINE, || has() > 10);
    signal(&venue, "-STOP");
    second.kill();
    until("cancels", DEADLINE, || world.count("cancel_requests") > 0);
    signal(&venue, "-CONT");
    until("no order of it", DEADLINE, || has() == 0);
    world.write_settings("when_gone = \"cancel\"\nkeep_ms = 1\n");
    let said = run(&["gateway", "reload", "--gateway", &world.control()]);
    assert!(text(&said.stderr).contains("beside when_gone"), "{}", text(&said.stderr));
}

#[test]
fn one_strategy_trades_at_two_gateways_of_which_one_goes_and_comes_again() {
    let worlds = [World::new(), World::new()];
    let _venues = worlds.each_ref().map(World::start_venue);
    let [_one, two] = worlds.each_ref().map(World::start_gateway);
    let controls = worlds.each_ref().map(World::control);
    let mut arguments = vec!["strategy", "touch", "--as", "first", "--rate", "200"];
    controls.iter().for_each(|control| arguments.extend(["--gateway", control]));
    let mut strategy = Process::start(taut().args(arguments));
    for world in &worlds {
        until("a strategy at both", DEADLINE, || world.is_attached("first"));
        world.until_orders("orders at both", 50);
    }

    interrupt(&two);
    strategy.stderr_line("the loss of one", |line| line.contains("is gone").then_some(()));
    worlds[0].until_orders("orders at the one that stayed", 50);
    drop(two);
    let _two = worlds[1].start_gateway();
    until("its return", DEADLINE, || worlds[1].is_attached("first"));
    worlds.iter().for_each(|world| world.until_orders("orders at both again", 50));

    interrupt(&strategy);
    assert!(strategy.end().success());
    for world in &worlds {
        until("no order open", DEADLINE, || world.status()["open_orders"] == 0);
    }
}

#[test]
fn a_strategy_is_told_by_its_file_and_by_flags_over_it() {
    // Without a venue: a gateway that waits for one has strategies attached.
    let world = World::new();
    let gateway = world.start_gateway();
    let file = world.path("strategy.toml");
    let keys = "gateways = [\"./control\"]\nname = \"first\"\nidle = true\n\
                [parameters]\nrate = 200\n";
    std::fs::write(&file, keys).expect("a file");
    let path = file.to_str().expect("a path");
    let checked = told(&run(&["strategy", "check", path]));
    assert!(checked.contains("while nobody else wants it") && checked.contains("200"), "{checked}");
    let own = format!("{keys}edge = 3\n");
    std::fs::write(&file, &own).expect("a file");
    let refused = run(&["strategy", "check", path]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains(":6: parameters.edge"), "{}", text(&refused.stderr));
    let checked = told(&run(&["strategy", "check", path, "--parameters", "own"]));
    assert!(checked.contains("not looked at: edge, rate"), "{checked}");
    std::fs::write(&file, keys).expect("a file");

    let start = |more: &[&str]| {
        let arguments = ["strategy", "touch", "--config", path];
        let mut strategy = Process::start(taut().args(arguments).args(more));
        strategy.stderr_line("an attachment", |line| line.contains("attached to").then_some(()));
        strategy
    };
    let strategies = [start(&[]), start(&["--as", "second"])];
    assert!(world.is_attached("first") && world.is_attached("second"));
    for strategy in strategies {
        assert_eq!(policy(&strategy), "5", "SCHED_IDLE");
        interrupt(&strategy);
        assert!(strategy.finish().status.success());
    }
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
}

/// What a program that went well said.
fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The number of a program's way to be scheduled.
fn policy(program: &Process) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", program.id())).expect("stat");
    // Field 41; the second one, the program's name, ends with the last bracket.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    fields.split(' ').nth(38).expect("a policy").to_owned()
}

#[test]
fn instruments_are_chosen_by_a_pattern_among_what_the_venue_defines() {
    let world = World::new();
    let file = world.path("gateway.toml");
    let write = |pattern: &str, risk: &str| {
        world.write_settings(risk);
        let settings = std::fs::read_to_string(&file).expect("a file");
        let chosen = format!("[[subscribe]]\npattern = \"{pattern}\"\n");
        std::fs::write(&file, settings.replace(INSTRUMENTS, &chosen)).expect("a file");
    };
    write("T.*", "");
    // It waits for a venue that is not there.
    let mut gateway = Process::start(taut().args(["gateway", "--config"]).arg(&file));
    gateway.stderr_line("a wait", |line| line.contains("waiting for the venue").then_some(()));
    let venue = world.start_venue();
    gateway.stderr_line("a choice", |line| {
        line.contains("1 instruments of the 2 that the venue defines").then_some(())
    });
    gateway.stderr_line("a gateway", |line| line.contains("meet it at").then_some(()));
    let strategy = world.start_strategy("first");
    until("fills", DEADLINE, || world.count("fills") > 5);
    let positions = world.ask(&["positions"]);
    let positions = positions.as_array().expect("positions");
    assert!(positions.iter().all(|line| line["symbol"] == "TWO"), "{positions:?}");

    write("T.*", "[risk]\nlots_max = 100\n");
    let changes = world.ask(&["reload"])["changes"].to_string();
    assert!(changes.contains("risk.lots_max"), "{changes}");
    write(".*", "[risk]\nlots_max = 100\n");
    let refused = run(&["gateway", "reload", "--gateway", &world.control()]);
    assert_eq!(refused.status.code(), Some(1));
    // Only at a multicast group a gateway that runs hears what the venue defines.
    assert!(text(&refused.stderr).contains("[[subscribe]], and"), "{}", text(&refused.stderr));
    interrupt(&strategy);
    assert!(strategy.finish().status.success());
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    drop(venue);
}

#[test]
fn limits_change_while_orders_go_on_all_of_them_or_none() {
    let world = World::new();
    let venue = world.start_venue();
    let limits = "[[users]]\nname = \"alice\"\nid = 0\nthrottle = { orders_per_second = 100000 }\n\
                  [risk]\nlast_trade_collar_ppm = 900000\nloss_max = 1000000\n";
    let mut gateway = world.start_gateway_with(limits);
    until("a session and sound books", DEADLINE, || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    });
    // Orders pass once there was a trade to compare them with.
    let strategy = world.start_strategy("first");
    world.until_orders("orders within the limits", 20);
    let lines = world.ask(&["limits"]);
    let line = |scope: &str, limit: &str| {
        let lines = lines.as_array().expect("limits");
        let found = lines.iter().find(|line| line["scope"] == scope && line["limit"] == limit);
        found.unwrap_or_else(|| panic!("{scope} {limit}: {lines:?}")).clone()
    };
    assert_eq!(line("account", "loss")["max"], "1000000");
    assert_eq!(line("user", "open orders")["name"], "alice");
    assert_eq!(line("strategy", "open orders")["max"], "1000");
    assert_eq!(line("gateway", "orders at once")["max"], "1000, 100000 a second");

    // Smaller ones hold at once, by command and by signal.
    world.write_settings(&format!("{limits}lots_max = 0\n"));
    let told = world.ask(&["reload"]);
    assert_eq!(told["changes"], serde_json::json!(["risk.lots_max: 1000 -> 0"]));
    let (sent, refused) = (world.count("orders"), world.count("risk_rejects"));
    until("refused orders", DEADLINE, || world.count("risk_rejects") > refused + 5);
    assert_eq!(world.count("orders"), sent);
    world.write_settings(limits);
    signal(&gateway, "-HUP");
    gateway.stderr_line("a reload", |line| line.contains("risk.lots_max: 0 -> 1000").then_some(()));
    world.until_orders("orders within the wider limits", 20);

    // What cannot change is named, and nothing is taken; the same for what is wrong.
    let control = world.control();
    for (more, words) in [
        ("lots_max = 0\n[session]\nrequest_timeout_ms = 7\n", "session.request_timeout_ms cannot"),
        ("lots_max = 0\ncollar_pmm = 7\n", "did you mean `collar_ppm`?"),
    ] {
        world.write_settings(&format!("{limits}{more}"));
        let said = run(&["gateway", "reload", "--gateway", &control]);
        assert_eq!(said.status.code(), Some(1));
        assert!(text(&said.stderr).contains(words), "{}", text(&said.stderr));
        world.until_orders("orders within the limits that hold on", 10);
    }
    gateway.stderr_line("that nothing was taken", |line| {
        line.contains("nothing was taken").then_some(())
    });

    interrupt(&strategy);
    assert!(strategy.finish().status.success());
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    interrupt(&venue);
    assert!(venue.finish().status.success());
}

#[test]
fn a_secret_is_on_the_wire_and_nowhere_else() {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    const SECRET: &str = "hunter2-of-the-venue";
    let world = World::new();
    let listener = std::net::TcpListener::bind(world.orders).expect("the venue's address");
    let secret = world.path("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).expect("a file");
    let set_mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&secret, permissions).expect("its mode");
    };
    let place =
        |place: &str| format!("[session.credentials]\nusername = \"me\"\npassword = {place}\n");
    let file = world.path("gateway.toml");
    let file = file.to_str().expect("a path");
    let mut said = String::new();
    let mut check = |mode, at: &str, words: &str| {
        set_mode(mode);
        world.write_settings(&place(at));
        let checked = taut().args(["gateway", "check", file]).env("OWN", SECRET).output();
        let checked = checked.expect("it runs");
        said += &(text(&checked.stdout) + &text(&checked.stderr));
        assert!(said.contains(words), "{at}: {said}");
        assert_eq!(checked.status.success(), words.contains("secret in"), "{at}: {said}");
    };
    check(0o644, "{ file = \"secret\" }", "mode 0644");
    check(0o600, &format!("\"{SECRET}\""), "a secret does not stand in this file");
    check(0o600, "{ env = \"NOT_SET_HERE\" }", "NOT_SET_HERE");
    check(0o600, "{ env = \"OWN\" }", "secret in environment variable OWN");
    check(0o600, "{ file = \"secret\" }", "secret in file");

    let gateway = world.start_gateway_with(&place("{ file = \"secret\" }"));
    let (mut line, _) = listener.accept().expect("a connection");
    line.set_read_timeout(Some(DEADLINE)).expect("a bound");
    let mut logon = [0; 1_024];
    let length = line.read(&mut logon).expect("a Logon");
    let logon = text(&logon[..length]);
    assert!(logon.contains(&format!("\u{1}553=me\u{1}554={SECRET}\u{1}")), "{logon}");
    for verb in ["status", "orders", "positions", "limits", "reload"] {
        said += &world.ask(&[verb]).to_string();
    }
    // What is in use is not read again: a file that is gone by now forbids no reload.
    std::fs::remove_file(&secret).expect("the secret's file");
    said += &world.ask(&["reload"]).to_string();
    drop(line);
    world.ask(&["stop"]);
    let ended = gateway.finish();
    said += &(text(&ended.stdout) + &text(&ended.stderr));
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn an_operator_halts_an_instrument_of_a_venue_that_runs_and_has_it_trade_again() {
    let world = World::new();
    let control = world.path("venue-control");
    let control = control.to_str().expect("a path");
    let venue = world.start_venue_with(&format!("name = \"{control}\"\n"));
    let say = |verb: &str, symbol: &str| run(&["venue", verb, control, symbol]);
    for (verb, said) in [
        ("halt", "TWO is halted\n"),
        ("halt", "TWO is halted, as before\n"),
        ("resume", "TWO trades\n"),
        ("resume", "TWO trades, as before\n"),
    ] {
        let output = say(verb, "TWO");
        assert_eq!(text(&output.stdout), said, "{}", text(&output.stderr));
    }
    let nothing = say("halt", "THREE");
    assert_eq!(nothing.status.code(), Some(1));
    let told = text(&nothing.stderr);
    assert!(told.contains("no instrument 'THREE'; it trades ONE, TWO"), "{told}");
    let nobody = run(&["venue", "halt", &format!("{control}-no"), "TWO"]);
    assert!(text(&nobody.stderr).contains("does it run"), "{}", text(&nobody.stderr));
    let faults = run(&["venue", "faults", control]);
    assert!(text(&faults.stderr).contains("speaks as another"), "{}", text(&faults.stderr));
    interrupt(&venue);
    assert!(venue.finish().status.success());
}

/// What is held, by the name of the strategy, that is not nothing.
fn held(world: &World) -> Vec<String> {
    let lines = world.ask(&["positions"]);
    let lines = lines.as_array().expect("lines").iter();
    let held = lines.filter(|line| line["quantity"] != "0");
    held.map(|line| line["strategy"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_gateway_reads_the_venues_copies_and_compares_positions_after_each_logon() {
    let world = World::new();
    let copies = own_address();
    // The keys of the file come before its tables.
    let venue = format!(
        "drop_copy = {{ listen = \"{copies}\", readers = {{ RISK = \"GATEWAY\" }}, \
         store = {:?} }}\n",
        world.path("members")
    );
    let _venue = world.start_venue_with(&venue);
    let reader = format!(
        "[drop_copy_reader]\naddress = \"{copies}\"\nsender_comp_id = \"RISK\"\n\
         store = \"venue-copies\"\n"
    );
    let mut gateway = world.start_gateway_with(&reader);
    let mut first = world.start_strategy("first");
    world.until_orders("orders", 50);
    until("copies that are read", DEADLINE, || world.count("drop_copies_read") > 50);
    assert_eq!(world.count("drop_copy_corrections"), 0);
    assert_eq!(world.status()["position_differences"].as_array().map(Vec::len), Some(0));
    // Stopped, so that it stays what it is.
    until("a position that stays", DEADLINE, || {
        world.ask(&["kill"]);
        until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
        let is_held = !held(&world).is_empty();
        if !is_held {
            world.ask(&["revive"]);
        }
        is_held
    });
    gateway.kill();
    first.kill();

    // It remembers nothing, and the venue does.
    let mut gateway = world.start_gateway_with("");
    until("a comparison", DEADLINE, || world.count("position_differences") > 0);
    gateway.stderr_line("the difference", |line| {
        (line.contains("at the venue; told only")).then_some(())
    });
    assert!(held(&world).is_empty());
    gateway.kill();
    let _gateway = world.start_gateway_with("[session]\npositions = \"repair\"\n");
    until("a repair", DEADLINE, || world.count("positions_repaired") > 0);
    assert_eq!(held(&world)[0], "255/255");
    let status = text(&run(&["gateway", "status", "--gateway", &world.control()]).stdout);
    assert!(status.contains("made the venue's"), "{status}");
}
