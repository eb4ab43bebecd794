//! Instruments that a gateway takes while it trades: its file is read again.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use serde_json::Value;
use taut_testkit::{DEADLINE, Process, own_address, own_group, until};

use crate::gateway::{INSTRUMENTS, World, lasting, run, signal, taut, text};

const SIX: &str = "[[instruments]]\nsymbol = \"SIX\"\ntick = \"0.01\"\n";
const JOURNAL: &str = "[journal]\nfolder = \"journal\"\nsegment_mb = 1\n";

/// A venue of three instruments: ONE, TWO, SIX. Orders outlive a gateway's end there.
fn start_venue(world: &World) -> Process {
    let file = world.path("venue.toml");
    let settings = format!(
        "comp_id = \"VENUE\"\ncancel_on_disconnect = false\nreset_on_logon = false\n\
         {}{INSTRUMENTS}{SIX}[flow]\ncommands_per_second = 1000\nlevels = 40\n",
        world.lines()
    );
    std::fs::write(&file, settings).expect("a file");
    let mut venue = Process::start(taut().args(["venue", "--config"]).arg(&file));
    venue.stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
    venue
}

/// Writes the gateway's settings with these lines in the place of its two instruments.
fn write(world: &World, instruments: &str, more: &str) {
    world.write_settings(more);
    let file = world.path("gateway.toml");
    let settings = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, settings.replace(INSTRUMENTS, instruments)).expect("a file");
}

/// What a reload that is refused says.
fn refused(world: &World) -> String {
    let said = run(&["gateway", "reload", "--gateway", &world.control()]);
    assert_eq!(said.status.code(), Some(1), "{}", text(&said.stdout));
    text(&said.stderr)
}

/// Whether something is held, or was, in an instrument.
fn has_traded(world: &World, symbol: &str) -> bool {
    let positions = world.ask(&["positions"]);
    let mut positions = positions.as_array().into_iter().flatten();
    positions.any(|line| line["symbol"] == symbol && line["bought"] != "0")
}

fn until_sound(world: &World) {
    until("a session and sound books", DEADLINE, || {
        let status = world.status();
        status["order_entry"] == true && status["books_sound"] == true
    });
}

#[test]
fn a_new_symbol_is_traded_by_who_is_attached_and_kept_over_a_kill() {
    let world = World::new();
    let venue = start_venue(&world);
    let room = format!("[gateway]\ninstruments_max = 3\n{JOURNAL}");
    write(&world, INSTRUMENTS, &room);
    let mut gateway = world.start_written(&[]);
    until_sound(&world);
    let mut strategy = world.start_strategy_with("first", &["--rest", "3000000"]);
    world.until_orders("orders in what there is", 20);
    assert!(!has_traded(&world, "SIX"));

    let (gaps, acks) = (world.count("gaps"), world.count("acks"));
    write(&world, &format!("{INSTRUMENTS}{SIX}"), &room);
    let changes = world.ask(&["reload"])["changes"].clone();
    assert_eq!(changes, serde_json::json!(["instruments[2] SIX: added"]));
    gateway.stderr_line("what was added", |line| line.contains("SIX: added").then_some(()));
    assert_eq!(world.status()["instruments"], 3);
    until("trades in the new one", DEADLINE, || has_traded(&world, "SIX"));
    until_sound(&world);
    assert_eq!((world.count("gaps"), world.strategy("first")["lapped"].as_u64()), (gaps, Some(0)));
    assert!(world.count("acks") > acks);

    refuses_what_would_make_an_instrument_another_one(&world, &room);

    // Nothing moves any more: neither the strategy nor the venue.
    signal(&strategy, "-STOP");
    until("an answer to every request", DEADLINE, || world.count("unanswered") == 0);
    signal(&venue, "-STOP");
    let seen = || ["orders", "positions"].map(|what| lasting(&world.ask(&[what])));
    until("quiet", DEADLINE, || seen() == seen());
    let before = seen();
    assert!(before[1].iter().any(|line| line.contains("SIX")), "{before:?}");
    gateway.kill();
    strategy.kill();

    // Its number is its own from now on.
    write(&world, &format!("{INSTRUMENTS}{}", SIX.replace("SIX", "OTHER")), &room);
    let file = world.path("gateway.toml");
    let said = run(&["gateway", "--config", file.to_str().expect("a path")]);
    assert!(text(&said.stderr).contains("[[instruments]] says OTHER"), "{}", text(&said.stderr));
    write(&world, &format!("{INSTRUMENTS}{SIX}"), &room);
    let _gateway = world.start_written(&[]);
    assert_eq!((seen(), &world.status()["instruments"]), (before, &Value::from(3)));
    signal(&venue, "-CONT");
    until_sound(&world);
    let _strategy = world.start_strategy("second");
    world.until_orders("orders at the next gateway", 20);
}

/// And what there is no room for; the gateway trades on as it is.
fn refuses_what_would_make_an_instrument_another_one(world: &World, room: &str) {
    let (one, two) = INSTRUMENTS.split_at(INSTRUMENTS.len() / 2);
    let all = format!("{INSTRUMENTS}{SIX}");
    let ten = SIX.replace("SIX", "TEN");
    for (instruments, words) in [
        (format!("{one}{SIX}"), "instruments[1] TWO (the file says SIX) cannot change"),
        (format!("{two}{one}{SIX}"), "instruments[0] ONE (the file says TWO) cannot change"),
        (INSTRUMENTS.to_owned(), "instruments[2] SIX (the file names it no more) cannot change"),
        (all.replacen("0.01", "0.05", 1), "instruments[0].tick of ONE cannot change"),
        (format!("{all}{ten}"), "gateway.instruments_max = 3: must be no less than the 4"),
    ] {
        write(world, &instruments, &format!("{room}[risk]\nlots_max = 7\n"));
        let said = refused(world);
        assert!(said.contains(words) && said.contains("nothing was taken"), "{said}");
    }
    write(world, &format!("{all}{ten}"), JOURNAL);
    assert!(refused(world).contains("gateway.instruments_max cannot change"));
    write(world, &all, room);
    assert_eq!(world.ask(&["reload"])["changes"], serde_json::json!([]));
    world.until_orders("orders all the while", 10);
}

#[test]
fn a_strategy_in_the_gateways_thread_trades_a_new_symbol_once_its_limits_let_it() {
    let world = World::new();
    let _venue = start_venue(&world);
    let file = world.path("strategy.toml");
    std::fs::write(&file, "name = \"first\"\n[parameters]\nrate = 200\n").expect("a file");
    write(&world, INSTRUMENTS, "");
    let fused = ["--fused", "touch", "--strategy", file.to_str().expect("a path")];
    let _gateway = world.start_written(&fused);
    until("trades in what there is", DEADLINE, || has_traded(&world, "TWO"));

    // Nobody may trade it yet: the limits for it hold from its first order on.
    let all = format!("{INSTRUMENTS}{SIX}");
    write(&world, &all, "[risk]\nrestricted = [\"SIX\"]\n");
    let changes = world.ask(&["reload"])["changes"].to_string();
    assert!(changes.contains("SIX: added") && changes.contains("risk.restricted"), "{changes}");
    let rejects = world.count("risk_rejects");
    until("orders that are refused", DEADLINE, || world.count("risk_rejects") > rejects + 5);
    assert!(!has_traded(&world, "SIX"));
    write(&world, &all, "");
    world.ask(&["reload"]);
    until("trades in the new one", DEADLINE, || has_traded(&world, "SIX"));
}

/// Whether datagrams to groups arrive on loopback here.
fn has_multicast() -> bool {
    let group = own_group();
    let heard = || {
        let socket = UdpSocket::bind((group, 0))?;
        socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)?;
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        sender.set_multicast_loop_v4(true)?;
        sender.send_to(b"x", socket.local_addr()?)?;
        socket.recv(&mut [0; 8])
    };
    heard().is_ok()
}

#[test]
fn patterns_that_mean_more_add_what_they_mean_and_each_keeps_its_number() {
    if !has_multicast() {
        println!("skipped: no multicast on loopback here");
        return;
    }
    let mut world = World::new();
    for address in world.feed.iter_mut().take(3) {
        *address = SocketAddr::V4(SocketAddrV4::new(own_group(), own_address().port()));
    }
    let mut venue = start_venue(&world);
    let subscribe = |pattern: &str, more: &str| {
        let chosen = format!("[[subscribe]]\npattern = \"{pattern}\"\n");
        write(&world, &chosen, &format!("{JOURNAL}{more}"));
    };
    subscribe("TWO", "");
    let mut gateway = world.start_written(&[]);
    until_sound(&world);
    let _strategy = world.start_strategy("first");
    until("trades in what was meant", DEADLINE, || has_traded(&world, "TWO"));

    // What comes is behind what there is, whatever its number at the venue.
    subscribe("TWO|ONE", "[risk]\nlots_max = 900\n");
    let changes = world.ask(&["reload"])["changes"].to_string();
    for words in ["instruments[1] ONE: added", "subscribe[0].pattern", "risk.lots_max"] {
        assert!(changes.contains(words), "{words}: {changes}");
    }
    until("trades in what is meant now", DEADLINE, || has_traded(&world, "ONE"));
    subscribe("ONE", "");
    assert!(refused(&world).contains("instruments[0] TWO (the file says ONE) cannot change"));

    // Killed, it has the numbers of its journal.
    subscribe("TWO|ONE", "");
    gateway.kill();
    let mut gateway = world.start_written(&[]);
    until_sound(&world);
    let numbers = std::fs::read_to_string(world.path("journal/instruments")).expect("a file");
    let symbols: Vec<_> = numbers.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(symbols, ["TWO", "ONE"]);
    subscribe(".*", "");
    let changes = world.ask(&["reload"])["changes"].to_string();
    assert!(changes.contains("instruments[2] SIX: added"), "{changes}");
    until("trades in all of them", DEADLINE, || has_traded(&world, "SIX"));

    // A venue that is silent holds back no limit, and no instrument is added without its word.
    venue.kill();
    subscribe(".*", "[risk]\nlots_max = 800\n");
    let changes = world.ask(&["reload"])["changes"].to_string();
    assert!(changes.contains("risk.lots_max"), "{changes}");
    gateway.stderr_line("why no more", |line| line.contains("those that are traded").then_some(()));
    subscribe("TWO|ONE|SIX", "");
    assert!(refused(&world).contains("within 3 s: without that no instrument is added"));
}
