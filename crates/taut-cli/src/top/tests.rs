//! Frames and keys of a made-up snapshot: no gateway is needed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use taut_lat::Stage;
use taut_runner::service::{OrderLine, PositionLine, StrategyLine};

use super::app::{App, Page, Tab, Wish};
use super::keys::{Key, wish};
use super::{frame, size};
use crate::observed::channels::{ChannelReader, ChannelSeen, ChannelStream};
use crate::observed::model::{
    Connection, Counter, GatewaySeen, InstrumentSeen, Level, OrderTimes, Profit, Snapshot,
    StageTimes, State, Times, Warning,
};
use crate::observed::processes::ProcessSeen;

fn times(count: u64, p50_ns: u64) -> Times {
    Times { count, p50_ns, p99_ns: p50_ns * 3, p999_ns: p50_ns * 7, max_ns: p50_ns * 20 }
}

fn counter(name: &str, value: u64, per_second: f64) -> Counter {
    Counter { name: name.to_owned(), value, per_second }
}

fn instrument(symbol: &str, bid: &str, ask: &str) -> InstrumentSeen {
    let level = |price: &str, quantity: &str| Level {
        price: price.to_owned(),
        quantity: quantity.to_owned(),
    };
    InstrumentSeen {
        symbol: symbol.to_owned(),
        tick: "0.01".to_owned(),
        lot: "1".to_owned(),
        is_sound: true,
        bid: Some(level(bid, "12")),
        ask: Some(level(ask, "7")),
        bids: vec![level(bid, "12"), level("585.10", "40")],
        asks: vec![level(ask, "7")],
        last: Some(ask.to_owned()),
        trades: 17,
        events: 4_000,
        events_per_second: 812.4,
        ..InstrumentSeen::default()
    }
}

fn order(id: &str, side: &str) -> OrderLine {
    OrderLine {
        id: id.to_owned(),
        strategy: "touch".to_owned(),
        symbol: "TAUT".to_owned(),
        side: side.to_owned(),
        price: "585.32".to_owned(),
        quantity: "5".to_owned(),
        open: "3".to_owned(),
        state: "Live".to_owned(),
        ..OrderLine::default()
    }
}

fn sent(id: &str) -> OrderTimes {
    let stages_ns = vec![400, 300, 200, 900, 1_500, 700, 250, 350, 5_400];
    let tick_to_trade_ns = stages_ns.iter().sum();
    OrderTimes { id: id.to_owned(), received_ns: 1, stages_ns, tick_to_trade_ns }
}

/// A gateway that is well.
fn one() -> GatewaySeen {
    let wholes = [("tick to trade", 10_000), ("less send", 4_600), ("order round trip", 80_000)];
    let stages = Stage::ALL.map(|stage| (stage.name(), 700)).into_iter().chain(wholes);
    let stages = stages.map(|(stage, p50)| StageTimes {
        stage: stage.to_owned(),
        second: times(101, p50),
        minute: times(5_900, p50 + 10),
        start: times(1_234_567, p50 + 20),
    });
    let touch = StrategyLine { name: "touch".to_owned(), attached: true, lag: 2, ..<_>::default() };
    let idle = StrategyLine { name: "quoter".to_owned(), ..<_>::default() };
    GatewaySeen {
        name: "taut".to_owned(),
        state: State::Up,
        as_of_ns: 1,
        process: 4711,
        up_seconds: 7_260,
        venue: "taut".to_owned(),
        connections: vec![
            Connection {
                name: "orders".to_owned(),
                is_up: true,
                address: "127.0.0.1:9880".to_owned(),
                ..Connection::default()
            },
            Connection { name: "market data".to_owned(), is_up: true, ..Connection::default() },
        ],
        strategies: vec![touch, idle],
        instruments: vec![instrument("TAUT", "585.32", "585.33"), instrument("TWO", "1.5", "1.6")],
        orders: vec![order("0G000000000040G1", "buy"), order("0G000000000040H1", "sell")],
        knows_orders: true,
        open_orders: 2,
        positions: vec![PositionLine {
            strategy: "touch".to_owned(),
            symbol: "TAUT".to_owned(),
            quantity: "-4".to_owned(),
            average_price: "585.316666666666666666".to_owned(),
            realised: "12.5".to_owned(),
            unrealised: "-0.173333333333333334".to_owned(),
            fees: "0.25".to_owned(),
            ..PositionLine::default()
        }],
        profit: Profit {
            realised: "12.5".to_owned(),
            unrealised: "-0.173333333333333334".to_owned(),
            fees: "0.25".to_owned(),
            total: "12.076666666666666666".to_owned(),
        },
        counters: vec![
            counter("ticks", 8_123_456, 1_204.2),
            counter("orders", 61_234, 101.0),
            counter("fills", 4_321, 7.5),
            counter("gaps", 0, 0.0),
        ],
        stages: stages.collect(),
        recent: vec![sent("0G000000000040H1"), sent("0G000000000040F1")],
        ..GatewaySeen::default()
    }
}

/// Three gateways, of which one is killed and one is silent, and a channel with a slow reader.
fn snapshot() -> Snapshot {
    let warning = |code: &str, text: &str| Warning { code: code.to_owned(), text: text.to_owned() };
    let mut deribit = one();
    deribit.name = "deribit-options".to_owned();
    deribit.venue = "deribit".to_owned();
    deribit.latches = vec![<_>::default()];
    deribit.counters[0].per_second = 90.0;
    deribit.profit.total = "-3".to_owned();
    deribit.instruments[1].is_sound = false;
    deribit.instruments[1].stale_reason = "changes are missing".to_owned();
    deribit.warnings = vec![
        warning(
            "killed",
            "everything is killed (command); `taut gateway revive` lets orders pass again",
        ),
        warning("stale-book", "TWO: changes are missing"),
    ];
    let mut binance = one();
    binance.name = "binance".to_owned();
    binance.venue = "binance".to_owned();
    binance.state = State::Silent;
    binance.counters[0].per_second = 3_000.0;
    binance.warnings = vec![warning("no-answer", "it does not answer")];
    let readers = vec![
        ChannelReader { process: Some(10), lag: 3, ..ChannelReader::default() },
        ChannelReader { process: Some(11), lag: 900, lost: 12, is_evicted: false },
    ];
    let streams = vec![ChannelStream {
        name: "ticks".to_owned(),
        writer: "alive".to_owned(),
        process: Some(9),
        position: 123_456,
        per_second: 5_000.0,
        readers,
        ..ChannelStream::default()
    }];
    let channel = ChannelSeen { name: "market-data".to_owned(), error: None, streams };
    Snapshot {
        at_ns: 1_795_172_103_000_000_000,
        gateways: vec![binance, deribit, one()],
        channels: vec![channel],
        processes: vec![
            ProcessSeen {
                process: 4711,
                command: "gateway --config gateway.toml".to_owned(),
                cpus: 1.0,
                resident_bytes: 64 << 20,
            },
            ProcessSeen { process: 4712, command: "venue".to_owned(), ..ProcessSeen::default() },
        ],
    }
}

fn app() -> App {
    let mut app = App::new(false);
    app.see(snapshot());
    app
}

fn press(app: &mut App, keys: &[Key]) -> Wish {
    let mut last = Wish::Nothing;
    for key in keys {
        // What a frame says of how many lines there are is known to the next key.
        let _ = frame(app, 80, 24);
        last = app.on_key(*key);
    }
    last
}

fn typed(app: &mut App, text: &str) -> Wish {
    let keys: Vec<_> = text.chars().map(Key::Char).collect();
    press(app, &keys)
}

/// The frame is the one of its file; with `TAUT_BLESS=1` in the environment it becomes it.
fn holds(app: &mut App, (columns, rows): (u16, u16), name: &str) {
    let now = frame(app, columns, rows).join("\n") + "\n";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/top/golden");
    let path = format!("{folder}/{name}-{columns}x{rows}.txt");
    if std::env::var_os("TAUT_BLESS").is_some() {
        std::fs::write(&path, &now).expect("a file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(now == golden, "{path} is another one; the frame now:\n{now}");
}

#[test]
fn the_overview_is_as_in_its_files() {
    holds(&mut app(), (80, 24), "overview");
    holds(&mut app(), (160, 50), "overview");
}

#[test]
fn the_pages_of_a_gateway_are_as_in_their_files() {
    let mut app = app();
    press(&mut app, &[Key::Down, Key::Down, Key::Enter]);
    assert_eq!((&*app.gateway, &app.page), ("taut", &Page::Gateway(Tab::Stages)));
    holds(&mut app, (80, 24), "stages");
    holds(&mut app, (160, 50), "stages");
    assert_eq!(press(&mut app, &[Key::Char('2')]), Wish::Follow);
    holds(&mut app, (80, 24), "books");
    press(&mut app, &[Key::Right]);
    holds(&mut app, (160, 50), "orders");
    press(&mut app, &[Key::Down, Key::Enter]);
    assert_eq!(app.page, Page::Order("0G000000000040H1".to_owned()));
    holds(&mut app, (80, 24), "order");
    press(&mut app, &[Key::Escape, Key::Escape]);
    assert_eq!(app.page, Page::Overview);
}

#[test]
fn every_page_fits_every_size_and_says_what_it_is_for() {
    let mut app = app();
    app.gateway = "deribit-options".to_owned();
    for (tab, words) in [
        (Tab::Positions, "-0.17"),
        (Tab::Strategies, "quoter"),
        (Tab::Connections, "127.0.0.1:9880"),
        (Tab::Counters, "8,123,456"),
        (Tab::Warnings, "stale-book"),
        (Tab::Books, "STALE changes are missing"),
    ] {
        app.open(tab);
        for (columns, rows) in [(40, 10), (100, 30), (200, 60)] {
            let lines = frame(&mut app, columns, rows);
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(columns)));
        }
        let text = frame(&mut app, 100, 24).join("\n");
        assert!(text.contains(words), "{}: {words}\n{text}", tab.name());
        assert!(text.contains("KILLED"), "{text}");
    }
    press(&mut app, &[Key::Char('c')]);
    let text = frame(&mut app, 80, 24).join("\n");
    assert!(text.contains("10 lag 3"), "{text}");
    assert!(frame(&mut app, 100, 24).join("\n").contains("11 lag 900 LOST 12"));
    press(&mut app, &[Key::Char('p')]);
    let text = frame(&mut app, 80, 24).join("\n");
    assert!(text.contains("4711   100%    64 MiB gateway --config"), "{text}");
    assert_eq!(press(&mut app, &[Key::Char('k')]), Wish::Nothing);
    assert!(app.confirmation.is_none());
}

#[test]
fn gateways_are_sorted_and_the_selected_one_stays_selected() {
    let mut app = app();
    assert_eq!(app.gateway, "binance");
    // By venue, by ticks.
    press(&mut app, &[Key::Char('s'), Key::Char('s')]);
    let names = |app: &App| -> Vec<String> {
        app.sorted().iter().map(|gateway| gateway.name.clone()).collect()
    };
    assert_eq!(names(&app), ["binance", "taut", "deribit-options"]);
    press(&mut app, &[Key::Char('r')]);
    assert_eq!(names(&app), ["deribit-options", "taut", "binance"]);
    assert_eq!((&*app.gateway, app.line), ("binance", 2));
    press(&mut app, &[Key::Home]);
    assert_eq!(app.gateway, "deribit-options");
}

#[test]
fn what_is_frozen_stays_and_one_that_went_is_left() {
    let mut app = app();
    press(&mut app, &[Key::Enter, Key::Char(' ')]);
    app.see(Snapshot::default());
    assert_eq!(app.snapshot.gateways.len(), 3);
    assert!(frame(&mut app, 80, 24)[0].contains("FROZEN"));
    press(&mut app, &[Key::Char(' ')]);
    app.see(Snapshot::default());
    assert_eq!((&app.page, app.selected()), (&Page::Overview, None));
    assert!(frame(&mut app, 80, 24).join("\n").contains("no gateway of this user runs"));
    assert_eq!(press(&mut app, &[Key::Char('k')]), Wish::Nothing);
    assert!(app.confirmation.is_none());
}

#[test]
fn only_the_name_typed_in_full_kills() {
    let mut app = app();
    press(&mut app, &[Key::Char('k')]);
    holds(&mut app, (80, 24), "kill");
    // No key means anything else while it is asked for.
    assert_eq!(typed(&mut app, "qk"), Wish::Nothing);
    assert_eq!(press(&mut app, &[Key::Enter]), Wish::Nothing);
    assert!(app.said.contains("'qk' is not 'binance'"), "{}", app.said);
    press(&mut app, &[Key::Char('k')]);
    typed(&mut app, "binancex");
    assert_eq!(press(&mut app, &[Key::Escape]), Wish::Nothing);
    assert!(app.said.contains("nothing was killed"));
    press(&mut app, &[Key::Char('k')]);
    typed(&mut app, "binancex");
    let wish = press(&mut app, &[Key::Backspace, Key::Enter]);
    assert_eq!(wish, Wish::Kill("binance".to_owned()));
    // Whatever is asked, Ctrl-C ends.
    press(&mut app, &[Key::Char('k')]);
    assert_eq!(press(&mut app, &[Key::Interrupt]), Wish::Quit);
}

#[test]
fn keys_of_the_terminal_mean_what_the_help_says() {
    let key = |code, modifiers| wish(&KeyEvent::new(code, modifiers));
    assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Key::Interrupt);
    assert_eq!(key(KeyCode::Char('k'), KeyModifiers::CONTROL), Key::Other);
    assert_eq!(key(KeyCode::Char('K'), KeyModifiers::SHIFT), Key::Char('K'));
    assert_eq!(key(KeyCode::Tab, KeyModifiers::NONE), Key::Right);
    assert_eq!(key(KeyCode::F(1), KeyModifiers::NONE), Key::Other);
    let mut app = app();
    press(&mut app, &[Key::Char('?')]);
    assert!(frame(&mut app, 80, 24).join("\n").contains("kill switch of the selected gateway"));
    assert_eq!(press(&mut app, &[Key::Char('x')]), Wish::Nothing);
    assert!(!app.shows_help);
    assert_eq!(press(&mut app, &[Key::Char('q')]), Wish::Quit);
}

#[test]
fn sizes_of_frames_are_read() {
    assert_eq!((size("80x24"), size("160x50")), (Ok((80, 24)), Ok((160, 50))));
    for wrong in ["80", "x", "39x24", "80x9", "501x24", "80x24x1", "-1x24"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}
