//! Venue, gateway and strategies, each a process of its own that comes and goes by itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, own_address, until};
use tempfile::TempDir;

fn taut() -> Command {
    Command::new(env!("CARGO_BIN_EXE_taut"))
}

fn run(arguments: &[&str]) -> Output {
    taut().args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
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
            if verb == "gateway" && !wrong.contains('\n') {
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
struct World {
    folder: TempDir,
    orders: SocketAddr,
    /// Line A, line B, snapshots, packets that are sent again.
    feed: [SocketAddr; 4],
}

const INSTRUMENTS: &str = "[[instruments]]\nsymbol = \"ONE\"\ntick = \"0.01\"\n\
                           [[instruments]]\nsymbol = \"TWO\"\ntick = \"0.01\"\n";

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let feed = std::array::from_fn(|_| own_address());
        Self { folder, orders: own_address(), feed }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self) -> String {
        let (orders, [a, b, snapshot, again]) = (self.orders, self.feed);
        format!(
            "orders = \"{orders}\"\nincremental = \"{a}\"\nincremental_b = \"{b}\"\n\
             snapshot = \"{snapshot}\"\nretransmission = \"{again}\"\n"
        )
    }

    /// Where the gateway listens.
    fn control(&self) -> String {
        self.path("control").to_str().expect("a path").to_owned()
    }

    fn start_venue(&self) -> Process {
        self.start_venue_with("")
    }

    fn start_venue_with(&self, more: &str) -> Process {
        let file = self.path("venue.toml");
        let settings = format!(
            "comp_id = \"VENUE\"\n{more}{}{INSTRUMENTS}[flow]\n\
             commands_per_second = 1000\nlevels = 40\n",
            self.lines()
        );
        std::fs::write(&file, settings).expect("a file");
        let mut venue = Process::start(taut().args(["venue", "--config"]).arg(&file));
        venue.stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
        venue
    }

    /// With its journal, in small segments, beside its file.
    fn start_journalled(&self) -> Process {
        self.start_gateway_with("[journal]\nfolder = \"journal\"\nsegment_mb = 1\n")
    }

    /// Writes the gateway's settings: two strategies, and what else a test says.
    fn write_settings(&self, more: &str) {
        let settings = format!(
            "name = \"own\"\ncontrol = \"control\"\nwait = \"block\"\n[venue]\n{}\
             target_comp_id = \"VENUE\"\n{INSTRUMENTS}\
             [[strategies]]\nname = \"first\"\nnumber = 1\n\
             [[strategies]]\nname = \"second\"\nnumber = 2\n{more}",
            self.lines()
        );
        std::fs::write(self.path("gateway.toml"), settings).expect("a file");
    }

    fn start_gateway(&self) -> Process {
        self.start_gateway_with("")
    }

    fn start_gateway_with(&self, more: &str) -> Process {
        self.write_settings(more);
        let file = self.path("gateway.toml");
        let mut gateway = Process::start(taut().args(["gateway", "--config"]).arg(&file));
        gateway.stderr_line("a gateway that can be found", |line| {
            line.contains("meet it at").then_some(())
        });
        gateway
    }

    fn start_strategy(&self, name: &str) -> Process {
        self.start_strategy_with(name, &[])
    }

    fn start_strategy_with(&self, name: &str, more: &[&str]) -> Process {
        let control = self.control();
        let arguments = ["strategy", "touch", "--gateway", &control, "--as", name, "--rate", "200"];
        let mut strategy = Process::start(taut().args(arguments).args(more));
        strategy.stderr_line("an attachment", |line| line.contains("attached to").then_some(()));
        strategy
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let control = self.control();
        let said = taut()
            .arg("gateway")
            .args(arguments)
            .args(["--gateway", &control, "--json"])
            .output()
            .expect("it runs");
        let words = format!("{arguments:?}: {}{}", text(&said.stdout), text(&said.stderr));
        assert!(said.status.success(), "{words}");
        serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
    }

    fn status(&self) -> Value {
        self.ask(&["status"])
    }

    fn count(&self, counter: &str) -> u64 {
        let status = self.status();
        let counters = status["counters"].as_array().expect("counters");
        let found = counters.iter().find(|pair| pair[0] == counter);
        found.and_then(|pair| pair[1].as_u64()).unwrap_or_else(|| panic!("{counter}: {status}"))
    }

    fn is_attached(&self, name: &str) -> bool {
        let status = self.status();
        let strategies = status["strategies"].as_array().expect("strategies");
        strategies.iter().any(|line| line["name"] == name && line["attached"] == true)
    }

    fn until_orders(&self, what: &str, more: u64) {
        let before = self.count("acks");
        until(what, DEADLINE, || self.count("acks") >= before + more);
    }
}

fn interrupt(program: &Process) {
    signal(program, "-INT");
}

fn signal(program: &Process, name: &str) {
    let id = program.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status().expect("kill runs");
    assert!(sent.success());
}

/// What an operator sees of these lines that does not depend on the market or the session.
fn lasting(lines: &Value) -> Vec<String> {
    let is_lasting = |key: &&String| !matches!(key.as_str(), "unrealised" | "state");
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
    }
    world.ask(&["stop"]);
    let said = gateway.finish();
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(!Path::new(&control).exists(), "the control socket is left");
    interrupt(&venue);
    assert!(venue.finish().status.success());
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

#[test]
fn orders_whose_strategy_does_not_come_back_are_cancelled() {
    let world = World::new();
    let venue = world.start_venue_with("cancel_on_disconnect = false\nreset_on_logon = false\n");
    let mut gateway = world.start_journalled();
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    until("resting orders", DEADLINE, || world.status()["open_orders"].as_u64() > Some(20));
    // Nothing trades while there is no gateway, which does not hear of the strategy's end.
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
