//! A venue with a journal that is killed while a gateway trades with it.

use super::*;

/// The keys of a venue with a journal.
const JOURNAL: &str = "cancel_on_disconnect = false\nreset_on_logon = false\n\
                       journal = { folder = \"venue-journal\", segment_mb = 1 }\n";

/// Kills of the venue: `TAUT_KILLS=1000 cargo test -p taut-cli --test tools venue_journal`.
fn kills() -> u32 {
    let set = std::env::var("TAUT_KILLS").ok();
    set.map_or(3, |kills| kills.parse().expect("TAUT_KILLS is a number"))
}

#[test]
fn a_venue_that_is_killed_knows_every_order_and_trade_that_it_acknowledged() {
    let world = World::new();
    let mut venue = world.start_venue_with(JOURNAL);
    let gateway = world.start_gateway_with("[session]\nrequest_timeout_ms = 2000\n");
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 50);
    for kill in 0..kills() {
        venue.kill();
        let file = world.path("venue.toml");
        venue = Process::start(taut().args(["venue", "--config"]).arg(&file));
        venue.stderr_line("what the venue took up", |line| {
            (line.contains("did not stop in order") && line.contains("executed once more"))
                .then_some(())
        });
        world.until_orders(&format!("orders behind kill {kill}"), 20);
        // It was asked for what it holds before the first order left.
        let status = world.status();
        let differences = status["position_differences"].as_array().map(Vec::len);
        assert_eq!(differences, Some(0), "kill {kill}: {status}");
    }
    assert_eq!(world.count("position_differences"), 0);
    assert!(world.count("fills") > 0, "nothing traded");
    // In order, too.
    interrupt(&venue);
    assert_eq!(venue.end().code(), Some(0));
    let mut venue = world.start_venue_with(JOURNAL);
    world.until_orders("orders behind a stop in order", 20);
    assert_eq!(world.count("position_differences"), 0);
    venue.kill();
    drop((gateway, strategy));
}

/// A standby of this world's venue that has executed all that the venue has.
fn start_standby(world: &World) -> Process {
    let file = world.path("venue.toml");
    let mut standby = Process::start(taut().args(["venue", "--standby", "--config"]).arg(&file));
    standby.stderr_line("a standby", |line| line.contains("level with the venue").then_some(()));
    standby
}

/// How long after the venue's end it took over.
fn took_over(standby: &mut Process) -> u64 {
    standby.stderr_line("a standby that took over", |line| {
        let (us, _) = line.split_once("took over ")?.1.split_once(" us after")?;
        us.parse().ok()
    })
}

#[test]
fn a_standby_takes_the_place_of_a_venue_that_is_killed_or_stops() {
    let world = World::new();
    let mut venue = world.start_venue_with(JOURNAL);
    let mut standby = start_standby(&world);
    let gateway = world.start_gateway_with("[session]\nrequest_timeout_ms = 2000\n");
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 50);
    for kill in 0..kills() {
        venue.kill();
        let us = took_over(&mut standby);
        println!("took over within {us} us");
        venue = std::mem::replace(&mut standby, start_standby(&world));
        world.until_orders(&format!("orders behind kill {kill}"), 20);
        let status = world.status();
        let differences = status["position_differences"].as_array().map(Vec::len);
        assert_eq!(differences, Some(0), "kill {kill}: {status}");
    }
    interrupt(&venue);
    assert_eq!(venue.end().code(), Some(0));
    took_over(&mut standby);
    world.until_orders("orders behind a stop in order", 20);
    assert_eq!(world.count("position_differences"), 0);
    assert!(world.count("fills") > 0, "nothing traded");
    drop((gateway, strategy));
    // A standby ends at once, and the venue does not mind.
    let mut second = start_standby(&world);
    interrupt(&second);
    assert_eq!(second.end().code(), Some(0));
    interrupt(&standby);
    assert_eq!(standby.end().code(), Some(0));
}
