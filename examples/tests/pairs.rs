//! Every pair runs, over real sockets and real shared memory, and says what it should.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use taut::channel::Closing;
use taut::market_data::native::{Message, TransactionWriter};
use taut::market_data::{LevelPlace, LevelUpdate};
use taut::prelude::*;
use taut::runner::service::{
    ControlClient, ControlReply, ControlRequest, Entry, GatewayFile, VenueFile, serve, serve_venue,
};
use taut_sys::{ProcessSignal, monotonic, signal_process};
use taut_testkit::{DEADLINE, Process, Run, own_address, until};

/// A program of this package, which `cargo test` has built beside this one.
fn program(name: &str) -> PathBuf {
    let tests = env::current_exe().expect("a path");
    let folder = tests.parent().and_then(Path::parent).expect("a target folder");
    folder.join("examples").join(name)
}

/// Starts a program that goes on until it is dropped, and waits for its first line.
fn start(name: &str, arguments: &[&str]) -> (Process, String) {
    let mut process = Process::start(Command::new(program(name)).args(arguments));
    let line = process.stdout_line("that it is ready", |line| Some(line.to_owned()));
    (process, line)
}

/// Asks it to stop, and returns what it said behind its first line.
fn stop(process: Process) -> String {
    signal_process(process.id(), ProcessSignal::Interrupt).expect("a signal");
    let text = text(&process.finish());
    text.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned())
}

fn run(name: &str, arguments: &[&str]) -> String {
    text(&Command::new(program(name)).args(arguments).run())
}

/// What a program that went well wrote.
fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A port of 127.0.0.1 with two behind it that nobody else of these tests takes.
fn three_ports() -> u16 {
    // Below the ports that the kernel gives away.
    let pid = u16::try_from(std::process::id() % 3_000).expect("small");
    20_000 + pid * 4
}

#[test]
fn messages_pass_over_every_channel_whoever_starts_first() {
    let at = own_address;
    let uris = [
        format!("ipc:example-{}", std::process::id()),
        format!("aeron:udp?endpoint={}|stream-id=7", at()),
        format!("tcp://{}?on-full=block", at()),
        format!("lease:udp?endpoint={}", at()),
    ];
    for (uri, subscriber_first) in uris.iter().flat_map(|uri| [(uri, true), (uri, false)]) {
        let start = |name: &str, arguments: &[&str]| {
            Process::start(Command::new(program(name)).args(arguments))
        };
        let publisher = [uri.as_str(), "200"];
        let pair = if subscriber_first {
            [start("subscriber", &[uri]), start("publisher", &publisher)]
        } else {
            [start("publisher", &publisher), start("subscriber", &[uri])]
        };
        let all = pair.map(|process| text(&process.finish())).concat();
        assert!(all.contains("sent 200 quotes, Closed"), "{uri}: {all}");
        assert!(all.contains("received 200 quotes up to number 200"), "{uri}: {all}");
    }
}

#[test]
fn a_follower_has_the_book_that_a_feed_publishes() {
    let channel = format!("ipc:example-feed-{}", std::process::id());
    let follower = Process::start(Command::new(program("follower")).arg(&channel));
    let uri: ChannelUri = channel.parse().expect("a channel");
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut publication = Publication::open(&uri, &opening).expect("a publication");
    until("the follower is there", DEADLINE, || {
        publication.work(monotonic());
        publication.is_connected()
    });
    let mut feed = TransactionWriter::new(7);
    let mut send = |_, packet: &[u8]| publication.offer(monotonic(), packet).map(drop);
    for price in 1..=100 {
        let (side, place) = (Side::Buy, LevelPlace::ByPrice);
        let price = Price(price * 1_000_000_000);
        let level = LevelUpdate { side, price, lots: Lots(1), order_count: 0, place };
        let message = Message::Event(InstrumentId(1), EventKind::Level(level));
        feed.push(Nanos(0), &message, &mut send).expect("room");
        feed.end(Nanos(0), &mut send).expect("room");
    }
    publication.close(monotonic());
    until("the follower has all of it", DEADLINE, || {
        publication.work(monotonic());
        publication.closing() == Closing::Closed
    });
    let told = text(&follower.finish());
    let expected = "100 packets, 100 changes, 0 gaps, 0 malformed; the book is sound: bid 100, ";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn a_strategy_trades_with_an_exchange() {
    let port = three_ports().to_string();
    let (exchange, line) = start("exchange", &[&port]);
    assert!(line.starts_with("open: orders at 127.0.0.1:"), "{line}");
    // On a busy machine a second may bring few ticks, and none that the strategy waits for.
    until("a run of a second has a fill", DEADLINE, || {
        let told = run("trader", &[&port, "1"]);
        assert!(told.contains(" fills"), "{told}");
        !told.contains(" 0 fills")
    });
    assert!(stop(exchange).contains("closed: "));
}

#[test]
fn orders_are_filled_over_fix() {
    let at = own_address().to_string();
    let (acceptor, line) = start("order-acceptor", &[&at]);
    assert_eq!(line, format!("listening on {at}"));
    let told = run("order-initiator", &[&at, "2"]);
    assert_eq!(told, "order 1 filled: 100 at 585.33\norder 2 filled: 100 at 585.33\n");
    assert_eq!(stop(acceptor), "logged on\nlogged out\n");
}

#[test]
fn an_echo_comes_back() {
    let at = own_address().to_string();
    let (server, line) = start("echo-server", &[&at]);
    assert_eq!(line, format!("listening on {at}"));
    let told = run("echo-client", &[&at, "100"]);
    assert!(told.starts_with("100 round trips: p50 "), "{told}");
    assert_eq!(stop(server), "");
}

/// Says which of the two a process of this program is, and by which file.
const ROLE: &str = "TAUT_EXAMPLES_ROLE";
/// The test that a process of this program plays its role in.
const SERVES: &str = "a_process_of_this_program_is_the_venue_or_the_gateway_that_it_is_asked_for";

#[test]
fn a_process_of_this_program_is_the_venue_or_the_gateway_that_it_is_asked_for() {
    let Ok(role) = env::var(ROLE) else { return };
    let (role, file) = role.split_once(':').expect("a role and a file");
    let (file, heard) = (Path::new(file), |what: &Entry| eprintln!("{}", what.logfmt()));
    let served = match role {
        "venue" => VenueFile::read(file).and_then(|file| serve_venue(&file, heard)),
        _ => GatewayFile::read(file).and_then(|file| serve(&file, heard)),
    };
    served.expect("it ends in good order");
}

/// Starts this program as a venue or a gateway, and waits until it says so.
fn serve_as(role: &str, file: &Path, said: &str) -> Process {
    let mut command = Command::new(env::current_exe().expect("a path"));
    command.args(["--exact", SERVES, "--nocapture"]);
    let mut process =
        Process::start(command.env(ROLE, format!("{role}:{}", file.to_str().expect("a path"))));
    process.stderr_line(role, |line| line.contains(said).then_some(()));
    process
}

#[test]
fn a_quoter_keeps_both_sides_of_two_instruments_at_a_gateway() {
    let folder = tempfile::tempdir().expect("a folder");
    let at: [_; 4] = std::array::from_fn(|_| own_address());
    let common = format!(
        "orders = \"{}\"\nincremental = \"{}\"\nsnapshot = \"{}\"\nretransmission = \"{}\"\n",
        at[0], at[1], at[2], at[3]
    );
    let instruments = "[[instruments]]\nsymbol = \"ONE\"\n[[instruments]]\nsymbol = \"TWO\"\n";
    let (venue, gateway) = (folder.path().join("venue.toml"), folder.path().join("gateway.toml"));
    let text = format!(
        "comp_id = \"VENUE\"\n{common}{instruments}[flow]\ncommands_per_second = 500\nlevels = 40\n"
    );
    fs::write(&venue, text).expect("a file");
    let text = format!(
        "name = \"desk\"\ncontrol = \"control\"\n[venue]\ntarget_comp_id = \"VENUE\"\n{common}\
         {instruments}[[strategies]]\nname = \"quoter\"\nnumber = 1\n"
    );
    fs::write(&gateway, text).expect("a file");
    let control = folder.path().join("control");
    let control = control.to_str().expect("a path");

    let venue = serve_as("venue", &venue, "orders at");
    let gateway = serve_as("gateway", &gateway, "meet it at");
    let arguments = [control, "quoter", "ONE", "TWO"];
    let quoter = Process::start(Command::new(program("quoter")).args(arguments));
    let mut operator = ControlClient::connect(control).expect("a gateway");
    let mut counted = |counter: &str| {
        let ControlReply::Status(status) = operator.ask(&ControlRequest::Status).expect("a status")
        else {
            panic!("no status")
        };
        status.counters.iter().find(|(name, _)| name == counter).expect(counter).1
    };
    until("quotes that follow the market", DEADLINE, || counted("replaced") > 20);
    let mut operator = ControlClient::connect(control).expect("a gateway");
    let mut quoted = |symbol: &str, side: &str| {
        let orders = operator.orders().expect("orders");
        orders.iter().filter(|order| order.symbol == symbol && order.side == side).count()
    };
    // Each side may be filled and quoted anew at any moment, and is never quoted twice.
    for (symbol, side) in [("ONE", "buy"), ("ONE", "sell"), ("TWO", "buy"), ("TWO", "sell")] {
        until("a quote of this side", DEADLINE, || {
            let count = quoted(symbol, side);
            assert!(count <= 1, "{count} {side} orders in {symbol}");
            count == 1
        });
    }
    signal_process(quoter.id(), ProcessSignal::Interrupt).expect("a signal");
    assert!(quoter.finish().status.success());
    assert!(operator.orders().expect("orders").is_empty(), "it has left orders");
    for process in [gateway, venue] {
        stop(process);
    }
}
