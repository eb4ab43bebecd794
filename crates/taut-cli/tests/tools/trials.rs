//! What goes wrong is named within two seconds by each tool that looks at a gateway. Real causes on
//! real CPUs: `cargo xtask soak observers` plays them, on a machine that has nothing else to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use taut_gateway::{Regions, Views};
use taut_lat::{PathSnapshot, Snapshot};
use taut_runner::service::ControlClient;
use taut_sys::monotonic;
use taut_testkit::{DEADLINE, Process, until};
use taut_types::Nanos;

use crate::desk::{get, start as start_desk};
use crate::gateway::{World, run, signal, taut, text};

/// Where all others run, and where the gateway does, alone.
const OTHERS: usize = 0;
const OWN: usize = 1;
/// Within this time a cause is named.
const SOON: Duration = Duration::from_secs(2);

/// What each tool says of a cause.
struct Cause {
    name: &'static str,
    /// The code of the warning that `top`, `desk` and `doctor` show.
    codes: &'static [&'static str],
    /// The metric that says it, and whether these two readings of it do.
    metric: (&'static str, fn(f64, f64) -> bool),
    /// What the report of the worst orders names, where orders leave at all.
    outlier: Option<&'static [&'static str]>,
}

/// Everything that looks.
struct Observers {
    world: World,
    file: PathBuf,
    desk: String,
    _desk: Process,
}

impl Observers {
    /// The codes of the warnings in a snapshot of the desk.
    fn of_desk(&self) -> Vec<String> {
        let said: Value =
            serde_json::from_str(&get(&self.desk, "/snapshot", &[]).body).expect("JSON");
        let gateways = said["snapshot"]["gateways"].as_array().expect("gateways").iter();
        codes(gateways.map(|gateway| &gateway["warnings"]))
    }

    fn of_doctor(&self) -> Vec<String> {
        let file = self.file.to_str().expect("a path");
        let said = run(&["doctor", "--json", "--for", file]);
        let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        let gateways = said["gateways"].as_array().into_iter().flatten();
        codes(gateways.map(|gateway| &gateway["warnings"]))
    }

    fn of_top(&self) -> String {
        let control = self.world.control();
        let page = ["--page", "warnings", "--size", "160x50"];
        let said = run(&[&["top", "--once", "--gateway", &control][..], &page].concat());
        assert!(said.status.success(), "{}", text(&said.stderr));
        text(&said.stdout)
    }

    /// A metric's value, all of its samples together.
    fn metric(&self, name: &str) -> f64 {
        let said = run(&["metrics", "--once", "--gateway", &self.world.control()]);
        let said = text(&said.stdout);
        let samples = said.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    fn outliers(&self) -> Value {
        self.world.ask(&["outliers"])
    }

    /// Holds that nothing is wrong, before something is made so.
    fn until_well(&self) {
        until("nothing is wrong", DEADLINE, || self.of_desk().is_empty());
    }

    /// Holds that each tool names the cause within two seconds of its beginning.
    fn name(&self, cause: &Cause, begin: &mut dyn FnMut() -> Box<dyn FnOnce()>) {
        let has =
            |found: &[String]| cause.codes.iter().any(|code| found.iter().any(|it| it == code));
        let of_top = || cause.codes.iter().any(|code| self.of_top().contains(code));
        let tools: [(&str, &dyn Fn() -> bool); 3] = [
            ("desk", &|| has(&self.of_desk())),
            ("top", &of_top),
            ("doctor", &|| has(&self.of_doctor())),
        ];
        for (tool, names_it) in tools {
            self.until_well();
            let end = begin();
            let begun = monotonic();
            until(&format!("{}: {tool} names it", cause.name), DEADLINE, names_it);
            self.told(cause, tool, since(begun));
            end();
        }
        self.until_well();
        let (name, says) = cause.metric;
        let before = self.metric(name);
        let end = begin();
        let begun = monotonic();
        until(&format!("{}: {name} says it", cause.name), DEADLINE, || {
            says(before, self.metric(name))
        });
        self.told(cause, name, since(begun));
        if let Some(words) = cause.outlier {
            let begun = monotonic();
            until(&format!("{}: the worst orders say it", cause.name), DEADLINE, || {
                let said = self.outliers();
                let causes = said["causes"].as_array().into_iter().flatten();
                let mut causes = causes.filter_map(|it| it["cause"].as_str());
                causes.any(|it| words.contains(&it))
            });
            self.told(cause, "outliers", since(begun));
            println!("    {}", self.outliers()["causes"]);
        }
        end();
    }

    fn told(&self, cause: &Cause, tool: &str, took: Duration) {
        println!("{:<18} {tool:<34} {:>5} ms", cause.name, took.as_millis());
        assert!(took <= SOON, "{}: {tool} took {took:?}", cause.name);
    }
}

fn since(begun: Nanos) -> Duration {
    Duration::from_nanos(monotonic().since(begun).0.unsigned_abs())
}

fn codes<'v>(all: impl Iterator<Item = &'v Value>) -> Vec<String> {
    let warnings = all.flat_map(|warnings| warnings.as_array().into_iter().flatten());
    warnings.filter_map(|it| Some(it["code"].as_str()?.to_owned())).collect()
}

/// Whether the two CPUs are there, which is said where they are not.
fn has_both_cpus() -> bool {
    let cpus = taut_sys::available_cpus().expect("CPUs");
    let has_both = cpus.contains(&OTHERS) && cpus.contains(&OWN);
    if !has_both {
        println!("skipped: CPUs {OTHERS} and {OWN} are not both there");
    }
    has_both
}

/// The settings of a gateway that spins on a CPU of its own; their file.
fn write_pinned(world: &World) -> PathBuf {
    world.write_settings("");
    let file = world.path("gateway.toml");
    let settings = fs::read_to_string(&file).expect("a file");
    let own = format!("wait = \"spin\"\ncpu = {OWN}\n");
    let pinned = settings.replacen("wait = \"block\"\n", &own, 1);
    assert_ne!(pinned, settings, "how it waits");
    fs::write(&file, pinned).expect("a file");
    file
}

/// A program that has a CPU for itself alone, until it is dropped.
fn busy_loop(cpu: usize) -> Process {
    let mut shell = Command::new("taskset");
    Process::start(shell.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]))
}

/// A control group of its own for who is started in it; nothing where none can be made.
struct Quota {
    folder: PathBuf,
    /// The file of its quota, what says half of a CPU there, and what says as much as there is.
    words: (&'static str, &'static str, &'static str),
}

impl Quota {
    fn make() -> Option<Self> {
        let name = format!("taut-test-{}", std::process::id());
        for (root, words) in [
            ("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", "50000", "-1")),
            ("/sys/fs/cgroup", ("cpu.max", "50000 100000", "max 100000")),
        ] {
            let made = Self { folder: Path::new(root).join(&name), words };
            if fs::create_dir(&made.folder).is_ok() && fs::write(made.quota(), words.2).is_ok() {
                return Some(made);
            }
        }
        None
    }

    fn quota(&self) -> PathBuf {
        self.folder.join(self.words.0)
    }

    fn limit(&self, is_limited: bool) {
        let (_, half, all) = self.words;
        fs::write(self.quota(), if is_limited { half } else { all }).expect("a quota");
    }

    /// Moves this process in, or out again: what it starts meanwhile is in it.
    fn hold(&self, is_held: bool) {
        let folder = if is_held { Some(self.folder.as_path()) } else { self.folder.parent() };
        let file = folder.expect("a group has a parent").join("cgroup.procs");
        fs::write(file, std::process::id().to_string()).expect("a process moves");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
#[ignore = "it needs two CPUs with nothing else to do: `cargo xtask soak observers`"]
fn every_cause_is_named_by_every_tool_within_two_seconds() {
    if !has_both_cpus() {
        return;
    }
    // What is started from here on stays off the gateway's CPU.
    taut_sys::pin_to_cpu(OTHERS).expect("a CPU");
    let world = World::new();
    let mut venue = world.start_venue();
    let file = write_pinned(&world);
    let quota = Quota::make().map(std::rc::Rc::new);
    quota.iter().for_each(|it| it.hold(true));
    let gateway = world.start_written(&[]);
    quota.iter().for_each(|it| it.hold(false));
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 200);
    let (desk, address) = start_desk(&["--gateway", &world.control()]);
    let observers = Observers { world, file, desk: address, _desk: desk };

    let grown: fn(f64, f64) -> bool = |before, now| now > before + 0.02;
    let busy = Cause {
        name: "a busy loop",
        codes: &["cpu-taken"],
        metric: ("taut_thread_wait_seconds_total", grown),
        outlier: Some(&["descheduled", "neighbour_thread"]),
    };
    observers.name(&busy, &mut || {
        let busy = busy_loop(OWN);
        Box::new(|| drop(busy))
    });

    match &quota {
        None => println!("skipped: no control group with a quota can be made"),
        Some(quota) => {
            let throttled = Cause {
                name: "a quota of CPU",
                codes: &["throttled"],
                metric: ("taut_cgroup_throttled_seconds_total", grown),
                outlier: Some(&["throttled"]),
            };
            observers.name(&throttled, &mut || {
                quota.limit(true);
                let quota = quota.clone();
                Box::new(move || quota.limit(false))
            });
        }
    }

    // Last of those after which orders leave: they wait longest, and the worst are told.
    let slow = Cause {
        name: "a slow subscriber",
        codes: &["lag"],
        metric: ("taut_strategy_lag_events", |_, now| now > 64.0),
        outlier: None,
    };
    observers.name(&slow, &mut || {
        signal(&strategy, "-STOP");
        let id = strategy.id().to_string();
        Box::new(move || {
            let went_on = Command::new("kill").args(["-CONT", &id]).status();
            assert!(went_on.is_ok_and(|status| status.success()));
        })
    });

    let cut = Cause {
        name: "a cut connection",
        codes: &["orders-down"],
        metric: ("taut_gateway_order_entry_up", |_, now| now == 0.0),
        outlier: None,
    };
    let is_cut = |found: Vec<String>| found.iter().any(|it| cut.codes.contains(&it.as_str()));
    observers.until_well();
    venue.kill();
    let begun = monotonic();
    until("a cut connection: the desk names it", DEADLINE, || is_cut(observers.of_desk()));
    observers.told(&cut, "desk", since(begun));
    until("a cut connection: top names it", DEADLINE, || observers.of_top().contains(cut.codes[0]));
    observers.told(&cut, "top", since(begun));
    let mut venue = observers.world.start_venue();
    // A venue that began anew knows nothing of what is held, which stays a warning.
    until("a session with the next venue", DEADLINE, || !is_cut(observers.of_desk()));
    venue.kill();
    let begun = monotonic();
    let (name, says) = cut.metric;
    until("a cut connection: a metric says it", DEADLINE, || says(1.0, observers.metric(name)));
    observers.told(&cut, name, since(begun));
    until("a cut connection: the doctor names it", DEADLINE, || is_cut(observers.of_doctor()));
    observers.told(&cut, "doctor", since(begun));
    drop((strategy, gateway, venue));
}

/// From the packet to the send call, of all orders so far.
fn tick_to_send(client: &mut ControlClient) -> Snapshot {
    let (segment, _) = client.observe().expect("its memory");
    let regions = Regions::of(&segment).expect("regions");
    let views = Views::new(&regions).expect("histograms");
    PathSnapshot::of(&views.path).tick_to_send
}

/// A page, a terminal and a scraper that look as often as people have them look.
fn all_observers(control: &str) -> Vec<Process> {
    let top = format!("{} top --gateway {control}", env!("CARGO_BIN_EXE_taut"));
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-c", &top, "/dev/null"]).env("TERM", "xterm");
    let metrics = format!(
        "while :; do {} metrics --once --gateway {control} >/dev/null; sleep 1; done",
        env!("CARGO_BIN_EXE_taut")
    );
    vec![
        Process::start(taut().args(["desk", "--listen", "127.0.0.1:0", "--gateway", control])),
        Process::start(&mut terminal),
        Process::start(Command::new("sh").args(["-c", &metrics])),
    ]
}

#[test]
#[ignore = "it needs two CPUs with nothing else to do: `cargo xtask soak observers`"]
fn every_observer_attached_changes_no_stage() {
    /// So many windows without observers, each before one with them, and how long one is.
    const PAIRS: usize = 21;
    const WINDOW: Duration = Duration::from_millis(1_500);
    let ratio = |(without, with): &(u64, u64)| *with as f64 / *without as f64;
    if !has_both_cpus() {
        return;
    }
    taut_sys::pin_to_cpu(OTHERS).expect("a CPU");
    let world = World::new();
    let venue = world.start_venue();
    write_pinned(&world);
    let strategy = world.path("strategy.toml");
    fs::write(&strategy, "name = \"first\"\n[parameters]\nrate = 500\n").expect("a file");
    let strategy = strategy.to_str().expect("a path");
    // All stages are in the gateway's thread: what else runs here is on another CPU.
    let gateway = world.start_written(&["--fused", "touch", "--strategy", strategy]);
    world.until_orders("orders", 500);
    let mut client = ControlClient::connect(&world.control()).expect("a gateway");
    let mut window = |is_observed: bool| {
        let observers = is_observed.then(|| all_observers(&world.control()));
        // PACE: programs that start, or end, are none that look.
        std::thread::sleep(Duration::from_millis(1_500));
        let before = tick_to_send(&mut client);
        // PACE: orders of this time are compared.
        std::thread::sleep(WINDOW);
        let median = tick_to_send(&mut client).since(&before).summary().p50;
        drop(observers);
        median
    };
    // Whatever else changes on the machine changes both of a pair.
    let mut pairs: Vec<_> = (0..PAIRS).map(|_| (window(false), window(true))).collect();
    pairs.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (without, with) = pairs[PAIRS / 2];
    let (least, median, most) = (&pairs[0], ratio(&pairs[PAIRS / 2]), &pairs[PAIRS - 1]);
    println!(
        "tick to send, {PAIRS} pairs of windows: observed {median:.3} of alone in the median \
         ({with} and {without} ns), {:.3} to {:.3}",
        ratio(least),
        ratio(most)
    );
    assert!(median < 1.05, "observers change the stages: {median:.3}");
    drop((gateway, venue));
}
