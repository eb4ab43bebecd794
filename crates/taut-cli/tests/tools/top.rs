//! `taut top`: a frame of a gateway that trades, and of one that hangs.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use taut_testkit::{DEADLINE, Process, odd_json_keys, until, until_some};

use crate::gateway::{World, run, signal, taut, text};

/// What a frame of this page shows.
fn frame(world: &World, more: &[&str]) -> String {
    let control = world.control();
    let arguments = ["top", "--once", "--size", "120x40", "--gateway", &control];
    let said = run(&[&arguments, more].concat());
    assert!(said.status.success(), "{}", text(&said.stderr));
    text(&said.stdout)
}

#[test]
fn a_frame_shows_what_a_gateway_does_and_that_one_hangs() {
    let world = World::new();
    let venue = world.start_venue();
    let gateway = world.start_gateway();
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 20);
    let overview = frame(&world, &[]);
    assert!(overview.contains("> control        taut "), "{overview}");
    let page = |name: &str| frame(&world, &["--page", name]);
    let stages = page("stages");
    for words in ["decode", "to_strategy", "tick to trade", "order round trip", " µs"] {
        assert!(stages.contains(words), "{words}\n{stages}");
    }
    // The books are there, with their depth, of both sides.
    let books = page("books");
    assert!(books.contains("ONE") && books.contains("TWO"), "{books}");
    let depth = books.lines().filter(|line| line.contains(" | ")).count();
    assert!(depth >= 2, "{books}");
    // What was sent has its own times.
    let orders = page("orders");
    assert!(orders.contains(" over "), "{orders}");
    assert!(page("strategies").contains("first"));
    assert!(page("connections").contains("market data"));
    assert!(page("counters").contains("ticks"));
    let said = run(&["top", "--once", "--json", "--gateway", &world.control()]);
    let told = text(&said.stdout);
    assert_eq!(odd_json_keys(&told), [""; 0], "{told}");
    let seen: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    let told = &seen["gateways"][0];
    assert_eq!((&told["state"], &told["venue"]), (&json!("up"), &json!("taut")));
    assert!(told["recent"][0]["tick_to_trade_ns"].as_u64() > Some(0), "{told}");
    assert_eq!(told["instruments"][0]["symbol"], "ONE");

    signal(&gateway, "-STOP");
    let silent = frame(&world, &[]);
    let metrics = run(&["metrics", "--once", "--gateway", &world.control()]);
    signal(&gateway, "-CONT");
    assert!(silent.contains("silent") && silent.contains("no-answer"), "{silent}");
    let up = format!("taut_up{{gateway=\"{}\"}} 0", world.control());
    assert!(text(&metrics.stdout).contains(&up), "{}", text(&metrics.stdout));
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    let gone = frame(&world, &[]);
    assert!(gone.contains("ended") && gone.contains("gone"), "{gone}");
    drop((strategy, venue));
}

#[test]
fn nobody_to_look_at_no_terminal_and_wrong_words_are_said() {
    let refused = run(&["top"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--once"), "{}", text(&refused.stderr));
    for wrong in [&["--size", "80"][..], &["--interval", "1"], &["--page", "everything"]] {
        let refused = run(&[&["top", "--once"], wrong].concat());
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_run_is_seen_while_it_goes_on_and_is_no_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let gentle = ["--seconds", "100", "--wait", "block", "--ticks", "500", "--rate", "50"];
    let mut demo = Process::start(taut().current_dir(&folder).arg("demo").args(gentle));
    let name = format!("run-{}", demo.id());
    let mut seen = String::new();
    until("its market data and orders", DEADLINE, || {
        assert!(demo.is_running(), "{}", demo.stderr());
        let said = run(&["top", "--once", "--json", "--gateway", &name]);
        seen = text(&said.stdout);
        let seen: Value = serde_json::from_str(&seen).unwrap_or_default();
        let gateway = &seen["gateways"][0];
        gateway["recent"].as_array().is_some_and(|recent| !recent.is_empty())
            && !gateway["instruments"][0]["bid"].is_null()
    });
    assert!(seen.contains("\"state\":\"up\""), "{seen}");
    // It is found without its name, too.
    let all = run(&["top", "--once", "--json"]);
    assert!(text(&all.stdout).contains(&name), "{}{}", text(&all.stdout), text(&all.stderr));
    let refused = run(&["gateway", "kill", "--gateway", &name]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("Ctrl-C"), "{}", text(&refused.stderr));
    signal(&demo, "-INT");
    assert!(demo.finish().status.success());
}

/// A terminal that is closed, or a connection to it that breaks, leaves nobody behind who looks.
#[test]
fn it_ends_with_its_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no script(1) to have a terminal of");
        return;
    }
    let taut = env!("CARGO_BIN_EXE_taut");
    let top = format!("stty rows 24 cols 80; exec {taut} top --gateway nowhere");
    let mut terminal = Process::start(Command::new("script").args(["-q", "-c", &top, "/dev/null"]));
    let id = terminal.id();
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe")).ok();
    // Before it has the terminal, the signal of its end ends it by itself.
    until("a screen", DEADLINE, || terminal.stdout().contains("taut top"));
    let looks = until_some("who draws it", DEADLINE, || {
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let mut children = children.split_ascii_whitespace();
        children.find(|child| program(child).is_some_and(|it| it == *taut)).map(str::to_owned)
    });
    terminal.kill();
    until("it is gone, too", DEADLINE, || program(&looks).is_none_or(|it| it != *taut));
}
