//! `taut metrics`: what Prometheus is told is what the gateway says of itself.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, until};

use crate::gateway::{World, run, signal, taut, text};

/// Each sample by its name and labels.
fn samples(told: &str) -> BTreeMap<&str, f64> {
    let lines = told.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &'_ str| -> Option<(usize, f64)> {
        let at = line.rfind(' ')?;
        Some((at, line[at + 1..].parse().ok()?))
    };
    lines
        .map(|line| {
            let (at, value) = sample(line).unwrap_or_else(|| panic!("no sample: {line:?}"));
            (&line[..at], value)
        })
        .collect()
}

fn once(world: &World) -> String {
    let said = run(&["metrics", "--once", "--gateway", &world.control()]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    text(&said.stdout)
}

/// What the page at this address says, its head before it.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("sent");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("a reply");
    told
}

#[test]
fn what_is_told_is_what_the_gateway_counts_and_a_gateway_that_ended_is_down() {
    let world = World::new();
    let venue = world.start_venue();
    let gateway = world.start_gateway();
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 5);
    let control = world.control();
    let mut server =
        Process::start(taut().args(["metrics", "--listen", "127.0.0.1:0", "--gateway", &control]));
    let address = server.stdout_line("where it listens", |line| {
        Some(line.strip_prefix("http://")?.strip_suffix("/metrics")?.to_owned())
    });
    let label = format!("{{gateway=\"{control}\"}}");
    // A scrape waits for 300 ms at most: on a machine that is busy another one has it.
    let up = format!("taut_up{label} 1");
    let (mut before, mut told) = (Value::Null, String::new());
    until("an answer in time", DEADLINE, || {
        before = world.status();
        told = get(&address, "/metrics");
        told.lines().any(|line| line == up)
    });
    let after = world.status();
    let (head, body) = told.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let samples_now = samples(body);
    let sample = |name: &str| samples_now[&*format!("{name}{label}")];
    for counter in ["ticks", "orders", "acks", "fills"] {
        let told = sample(&format!("taut_gateway_{counter}_total"));
        let [least, most] =
            [&before, &after].map(|it| it["counters"][counter].as_f64().expect("a count"));
        assert!(least <= told && told <= most, "{counter}: {least} {told} {most}");
    }
    assert_eq!((sample("taut_up"), sample("taut_gateway_order_entry_up")), (1.0, 1.0));
    assert_eq!(sample("taut_gateway_instruments"), 2.0);
    let of_first =
        |name: &str| samples_now[&*format!("{name}{{gateway=\"{control}\",strategy=\"first\"}}")];
    assert_eq!(of_first("taut_strategy_attached"), 1.0);
    // Every order has its stages, and the send call ends all of them.
    assert!(sample("taut_tick_to_trade_seconds_count") >= 5.0, "{body}");
    assert!(sample("taut_tick_to_trade_seconds_sum") > 0.0, "{body}");
    // The same without a server.
    let other = once(&world);
    assert!(samples(&other).keys().eq(samples_now.keys()));
    promtool_agrees(&other);

    assert!(get(&address, "/").contains("href=\"/metrics\""));
    assert!(get(&address, "/x").starts_with("HTTP/1.1 404 "));
    let is_up = || {
        let told = get(&address, "/metrics");
        let (_, body) = told.split_once("\r\n\r\n").expect("a head and a body");
        samples(body)[&*format!("taut_up{label}")] == 1.0
    };
    until("an answer in time", DEADLINE, is_up);
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    assert!(!is_up(), "it has ended");
    // One of the same name is another process: what was held of the first one is over.
    let again = world.start_gateway();
    until("the next gateway is found", DEADLINE, is_up);
    world.ask(&["stop"]);
    assert!(again.finish().status.success());
    signal(&server, "-INT");
    assert!(server.finish().status.success());
    drop((strategy, venue));
}

#[test]
fn nobody_to_look_at_and_a_taken_port_are_said() {
    let world = World::new();
    let said = once(&world);
    assert_eq!(samples(&said)[&*format!("taut_up{{gateway=\"{}\"}}", world.control())], 0.0);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let refused = run(&["metrics", "--listen", &address]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains(&address), "{}", text(&refused.stderr));
}

/// promtool reads it and finds nothing to mend, and the rules of docs/operate are right.
fn promtool_agrees(told: &str) {
    let promtool = |arguments: &[&str], input: &str| {
        let mut command = Command::new("promtool");
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no promtool");
                return;
            }
            Err(error) => panic!("promtool: {error}"),
        };
        let mut to = child.stdin.take().expect("its input");
        to.write_all(input.as_bytes()).expect("it reads");
        drop(to);
        let said = child.wait_with_output().expect("it ends");
        let words = [&said.stdout, &said.stderr].map(|it| text(it)).concat();
        assert!(said.status.success(), "promtool {arguments:?}: {words}");
    };
    promtool(&["check", "metrics"], told);
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/prometheus-alerts.yml");
    promtool(&["check", "rules", rules], "");
}
