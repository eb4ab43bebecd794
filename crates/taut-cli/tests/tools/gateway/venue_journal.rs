//! A venue with a journal that is killed while a gateway trades with it, and clients whose
//! histories are checked.

use std::net::SocketAddr;
use std::path::Path;

use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{Draw, Random, own_address, seeds};

use super::checked::{self, Clients};
use super::*;

/// The keys of a venue with a journal.
const JOURNAL: &str = "cancel_on_disconnect = false\nreset_on_logon = false\n\
                       journal = { folder = \"venue-journal\", segment_mb = 1 }\n";

/// Kills of the venue: `TAUT_KILLS=1000 cargo test -p taut-cli --test tools venue_journal`.
fn kills() -> u32 {
    let set = std::env::var("TAUT_KILLS").ok();
    set.map_or(1, |kills| kills.parse().expect("TAUT_KILLS is a number"))
}

/// A venue's file, with an instrument of the clients', of which the gateway knows nothing.
fn checked_file(world: &World, name: &str, more: &str) -> PathBuf {
    world.venue_file(name, more, &format!("{INSTRUMENTS}{}", checked::INSTRUMENT))
}

fn start_checked_venue(world: &World) -> Process {
    checked_file(world, "venue.toml", JOURNAL);
    let mut venue = world.start_venue_as_written();
    venue.stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
    venue
}

fn random() -> Random {
    let at = taut_sys::utc().0.unsigned_abs();
    Random::with_seed(seeds(at..at + 1).start)
}

/// Kills the venue while requests and answers are on their way.
fn kill_under_load(venue: &mut Process, clients: &Clients, random: &mut Random) {
    clients.grant(20 + random.below(60));
    (0..random.below(2_000)).for_each(|_| std::thread::yield_now());
    venue.kill();
}

#[test]
fn a_venue_that_is_killed_knows_every_order_and_trade_that_it_acknowledged() {
    let world = World::new();
    let (mut venue, mut random) = (start_checked_venue(&world), random());
    let clients = Clients::start(world.orders, random.fork());
    let gateway = world.start_gateway_with("[session]\nrequest_timeout_ms = 2000\n");
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 50);
    for kill in 0..kills() {
        kill_under_load(&mut venue, &clients, &mut random);
        venue = world.start_venue_as_written();
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
    clients.finish();
    // In order, too.
    interrupt(&venue);
    assert_eq!(venue.end().code(), Some(0));
    let mut venue = world.start_venue_as_written();
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
    let (mut venue, mut random) = (start_checked_venue(&world), random());
    let clients = Clients::start(world.orders, random.fork());
    let mut standby = start_standby(&world);
    let gateway = world.start_gateway_with("[session]\nrequest_timeout_ms = 2000\n");
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 50);
    for kill in 0..kills() {
        kill_under_load(&mut venue, &clients, &mut random);
        let us = took_over(&mut standby);
        println!("took over within {us} us");
        venue = std::mem::replace(&mut standby, start_standby(&world));
        world.until_orders(&format!("orders behind kill {kill}"), 20);
        let status = world.status();
        let differences = status["position_differences"].as_array().map(Vec::len);
        assert_eq!(differences, Some(0), "kill {kill}: {status}");
    }
    clients.finish();
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

const REPLICATED: &str = "acknowledge = \"replicated\", promote_after_ms = 1000";

/// The keys of one of two venues on two machines, as far as their files go: each has a journal of
/// its own, and a standby copies it over a connection.
fn copied_journal(folder: &World, own: usize, ships: [SocketAddr; 2], acknowledge: &str) -> String {
    let (name, other) = (["a", "b"][own], ships[1 - own]);
    let control = folder.path(&format!("control-{name}"));
    format!(
        "name = \"{}\"\ncancel_on_disconnect = false\nreset_on_logon = false\n\
         journal = {{ folder = \"journal-{name}\", segment_mb = 1, serve = \"{}\", \
         from = \"{other}\", {acknowledge} }}\n",
        control.display(),
        ships[own],
    )
}

fn promote(folder: &World, own: usize) {
    let name = folder.path(&format!("control-{}", ["a", "b"][own]));
    let promoted = taut().args(["venue", "promote"]).arg(&name).output().expect("taut");
    assert!(promoted.status.success(), "{promoted:?}");
}

fn start_one(file: &Path, as_standby: bool) -> Process {
    let mut command = taut();
    command.args(["venue", "--config"]).arg(file);
    let mut process = Process::start(command.args(as_standby.then_some("--standby")));
    let said = if as_standby { "level with the venue" } else { "orders at" };
    process.stderr_line(said, |line| line.contains(said).then_some(()));
    process
}

/// No answer leaves before the copy has its input.
#[test]
fn a_standby_with_a_copy_of_the_journal_is_promoted_with_all_that_was_acknowledged() {
    let world = World::new();
    let ships = [own_address(), own_address()];
    let file = |own: usize| {
        let name = ["a.toml", "b.toml"][own];
        checked_file(&world, name, &copied_journal(&world, own, ships, REPLICATED))
    };
    let (files, mut random) = ([file(0), file(1)], random());
    let mut venue = start_one(&files[0], false);
    let clients = Clients::start(world.orders, random.fork());
    let mut standby = start_one(&files[1], true);
    // Until then the venue may be alone, and its standby does not take its place by itself.
    let waits = |standby: &mut Process| {
        standby.stderr_line("a venue that waits for its copy", |line| {
            line.contains("acknowledges nothing without this copy").then_some(())
        });
    };
    waits(&mut standby);
    let gateway = world.start_gateway_with("[session]\nrequest_timeout_ms = 2000\n");
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 50);
    for change in 0..kills() {
        let own = 1 - change as usize % 2;
        kill_under_load(&mut venue, &clients, &mut random);
        // By itself, or by an operator.
        if change % 3 == 1 {
            promote(&world, own);
        }
        took_over(&mut standby);
        world.until_orders(&format!("orders of venue {own}, alone"), 20);
        venue = std::mem::replace(&mut standby, start_one(&files[1 - own], true));
        waits(&mut standby);
        world.until_orders(&format!("orders of venue {own} with its standby"), 20);
        let status = world.status();
        let differences = status["position_differences"].as_array().map(Vec::len);
        assert_eq!(differences, Some(0), "change {change}: {status}");
    }
    clients.finish();
    assert_eq!(world.count("position_differences"), 0);
    assert!(world.count("fills") > 0, "nothing traded");
    drop((gateway, strategy));
}

#[test]
fn a_venue_that_was_away_while_its_standby_took_its_place_ends() {
    let (here, there) = (World::new(), World::new());
    let ships = [own_address(), own_address()];
    let keys = |own| copied_journal(&here, own, ships, "acknowledge = \"memory\"");
    let mut venue = start_one(&here.venue_file("a.toml", &keys(0), INSTRUMENTS), false);
    // Its own addresses: the other one's are taken while that is only stopped.
    let mut standby = start_one(&there.venue_file("b.toml", &keys(1), INSTRUMENTS), true);
    signal_process(venue.id(), ProcessSignal::Pause).expect("it is there");
    promote(&here, 1);
    took_over(&mut standby);
    signal_process(venue.id(), ProcessSignal::Continue).expect("it is there");
    venue.stderr_line("the end", |line| {
        line.contains("its standby has become the venue").then_some(())
    });
    assert_eq!(venue.end().code(), Some(1));
    interrupt(&standby);
    assert_eq!(standby.end().code(), Some(0));
}

#[test]
fn a_venue_whose_standby_is_gone_says_to_who_asks_what_it_waits_for_and_ends_when_asked_to() {
    let world = World::new();
    let keys = copied_journal(&world, 0, [own_address(), own_address()], REPLICATED);
    let mut venue = start_one(&checked_file(&world, "a.toml", &keys), false);
    let clients = Clients::start(world.orders, random());
    let name = world.path("control-a");
    until("a venue that waits for its standby", DEADLINE, || {
        let state = taut().args(["venue", "state"]).arg(&name).output().expect("taut");
        String::from_utf8_lossy(&state.stderr).contains("for a standby to copy its last inputs")
    });
    interrupt(&venue);
    assert_eq!(venue.end().code(), Some(0));
    drop(clients);
}
