//! A strategy that dies, and another one that goes on with its orders.

use super::*;

/// A world whose instruments may be halted: then nothing trades, and no strategy asks for anything.
struct Halting {
    world: World,
    venue_control: String,
    _venue: Process,
}

impl Halting {
    fn new() -> Self {
        let world = World::new();
        let venue_control = world.path("venue-control").to_str().expect("a path").to_owned();
        let venue = world.start_venue_with(&format!(
            "name = \"{venue_control}\"\ncancel_on_disconnect = false\nreset_on_logon = false\n"
        ));
        Self { world, venue_control, _venue: venue }
    }

    fn at_venue(&self, verb: &str) {
        for symbol in ["ONE", "TWO"] {
            let said = run(&["venue", verb, &self.venue_control, symbol]);
            assert!(said.status.success(), "{verb} {symbol}: {}", text(&said.stderr));
        }
    }

    /// The ids of a strategy's open orders, sorted.
    fn orders_of(&self, strategy: &str) -> Vec<String> {
        let orders = self.world.ask(&["orders"]);
        let orders = orders.as_array().into_iter().flatten();
        let own = orders.filter(|order| order["strategy"] == strategy);
        let mut ids: Vec<_> = own.map(|order| order["id"].to_string()).collect();
        ids.sort();
        ids
    }

    /// Has the strategy trade until some of its orders rest, and nothing more happen.
    fn rest(&self, name: &str) -> Process {
        self.at_venue("resume");
        let strategy = self.world.start_strategy_with(name, &["--rest", "3000000"]);
        until("resting orders", DEADLINE, || self.orders_of(name).len() > 10);
        self.at_venue("halt");
        until("an answer to every request", DEADLINE, || self.world.count("unanswered") == 0);
        strategy
    }
}

/// The settings of `second`, and of the gateway.
fn settings(when_gone: &str) -> String {
    format!("when_gone = {when_gone}\n[journal]\nfolder = \"journal\"\nsegment_mb = 1\n")
}

#[test]
fn the_orders_of_a_strategy_that_dies_become_those_of_its_heir_and_stay_so_after_a_kill() {
    let play = Halting::new();
    let world = &play.world;
    let mut gateway = world.start_gateway_with(&settings("{ hand_over_to = \"first\" }"));
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let _first = play.rest("first");
    let mut second = play.rest("second");
    let mut all = [play.orders_of("first"), play.orders_of("second")].concat();
    all.sort();
    second.kill();
    until("the orders of both in one hand", DEADLINE, || play.orders_of("first") == all);
    assert!(!world.is_attached("second") && play.orders_of("second").is_empty());
    assert_eq!(world.count("cancel_requests"), 0);

    // What both held stays with them; whose the orders are is in the journal.
    let positions = lasting(&world.ask(&["positions"]));
    gateway.kill();
    let _gateway = world.start_gateway_with(&settings("{ hand_over_to = \"first\" }"));
    assert_eq!(play.orders_of("first"), all);
    assert_eq!(lasting(&world.ask(&["positions"])), positions);
    until("the heir's return", DEADLINE, || {
        world.is_attached("first") && world.status()["order_entry"] == true
    });
    assert_eq!(play.orders_of("first"), all);

    // Who sent them may come again and has none; its end is no matter of theirs.
    world.ask(&["kill", "--strategy", "second"]);
    assert_eq!(play.orders_of("first"), all);
    world.ask(&["kill", "--strategy", "first"]);
    until("no open order", DEADLINE, || world.status()["open_orders"] == 0);
    assert_eq!(world.count("cancels"), all.len() as u64);
}

#[test]
fn orders_wait_for_an_heir_and_an_operator_hands_over_what_nobody_has() {
    let play = Halting::new();
    let world = &play.world;
    let _gateway = world.start_gateway_with(&settings("{ hand_over_to = \"first\" }"));
    until("a session", DEADLINE, || world.status()["order_entry"] == true);
    let mut second = play.rest("second");
    let all = play.orders_of("second");
    let control = world.control();
    let hand_over = |from: &str, to: &str| {
        let said = run(&["gateway", "hand-over", from, to, "--gateway", &control]);
        (said.status.code(), text(&said.stderr))
    };
    let (code, said) = hand_over("second", "first");
    assert!(code == Some(1) && said.contains("it is attached"), "{said}");
    let (code, said) = hand_over("first", "second");
    assert!(code == Some(1) && said.contains("'first' has no open order"), "{said}");
    let (code, said) = hand_over("second", "third");
    assert!(code == Some(1) && said.contains("there are: first, second"), "{said}");

    second.kill();
    until("the orders in the hand of who is not here", DEADLINE, || play.orders_of("first") == all);
    world.ask(&["hand-over", "first", "second"]);
    assert_eq!(play.orders_of("second"), all);
    // It is back, has them, and its next end leaves them to the other one, who comes later.
    let mut second = world.start_strategy_with("second", &["--rest", "3000000"]);
    second.kill();
    until("the orders in the hand of who is not here", DEADLINE, || play.orders_of("first") == all);
    let first = world.start_strategy_with("first", &["--rest", "1"]);
    // It has each of them for long enough at once, and cancels it: by its own hand.
    until("cancels by the heir", DEADLINE, || world.status()["open_orders"] == 0);
    assert_eq!(world.count("cancels"), all.len() as u64);
    assert!(world.is_attached("first"));
    drop(first);
}

#[test]
fn an_heir_that_cannot_be_is_named_and_none_is_for_a_strategy_in_the_gateways_thread() {
    let world = World::new();
    let path = world.path("gateway.toml");
    let path = path.to_str().expect("a path");
    for (when_gone, words) in [
        ("{ hand_over_to = \"third\" }", "hand_over_to = third: must be another strategy of"),
        ("{ hand_over_to = \"second\" }", "hand_over_to = second: must be another strategy of"),
        ("{ hand_over = \"first\" }", "did you mean `hand_over_to`?"),
        ("\"hand_over_to\"", "when_gone"),
    ] {
        world.write_settings(&format!("when_gone = {when_gone}\n"));
        let checked = run(&["gateway", "check", path]);
        let said = text(&checked.stderr);
        assert_eq!(checked.status.code(), Some(2), "{when_gone}: {said}");
        assert!(said.contains(words), "{when_gone}: {said}");
    }
    world.write_settings("when_gone = { hand_over_to = \"first\" }\nkeep_ms = 1000\n");
    let checked = run(&["gateway", "check", path]);
    let said = told(&checked);
    assert!(said.contains("become those of first") && said.contains("1000 ms long"), "{said}");

    let keys = world.path("strategy.toml");
    std::fs::write(&keys, "name = \"second\"\n").expect("a file");
    let keys = keys.to_str().expect("a path");
    for (settings, words) in [
        ("when_gone = { hand_over_to = \"first\" }", "when_gone = { hand_over_to = \"first\" }"),
        ("when_gone = \"keep\"", "when_gone = \"keep\""),
        ("when_gone = \"keep\"\nkeep_ms = 1000", "keep_ms = 1000"),
        ("dead_man_ms = 2000", "dead_man_ms = 2000"),
    ] {
        world.write_settings(&format!("{settings}\n"));
        let fused = run(&["gateway", "--config", path, "--fused", "touch", "--strategy", keys]);
        let said = text(&fused.stderr);
        assert_eq!(fused.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("strategy 'second': {words}: must be left out")), "{said}");
    }
}
