//! A run on virtual time: the whole path in one thread, the same every time.
#![forbid(unsafe_code)]

use taut_gateway::{OrderUpdate, Strategy, TouchConfig, TouchStrategy, Trading};
use taut_market_data::Event;
use taut_runner::{
    End, InstrumentSettings, Live, Mode, Observer, Outcome, RemoteVenue, Runner, Settings,
    Simulator,
};
use taut_types::Nanos;

/// What a strategy was told, and when.
type Told = Vec<(Nanos, String)>;

/// The default strategy, under the eyes of the test.
struct Witness<'a> {
    inner: TouchStrategy,
    told: &'a mut Told,
}

impl Strategy for Witness<'_> {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        self.told.push((now, format!("{event:?}")));
        self.inner.on_market(now, event, trading);
    }
    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        self.told.push((now, format!("{update:?}")));
        self.inner.on_order(now, update, trading);
    }
    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        self.inner.on_timer(now, trading);
    }
    fn on_stop(&mut self, now: Nanos, trading: &mut impl Trading) {
        self.inner.on_stop(now, trading);
    }
    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }
}

fn settings(seed: u64) -> Settings {
    let mut simulator = Simulator::default();
    simulator.seed = seed;
    simulator.commands_per_second = 5_000;
    let mut settings = Settings::default();
    settings.mode = Mode::Simulated;
    settings.seconds = Some(0.15);
    settings.simulator = Some(simulator);
    settings
}

fn run(settings: Settings) -> (Outcome, Told) {
    let mut told = Told::new();
    let config = TouchConfig { orders_per_second: 1_000, ..TouchConfig::default() };
    let outcome = Runner::new(settings)
        .run(|start| Witness { inner: TouchStrategy::new(config, start.now), told: &mut told });
    (outcome.expect("a run"), told)
}

#[test]
fn a_simulated_run_trades_loses_nothing_and_is_the_same_every_time() {
    let (outcome, told) = run(settings(7));
    assert_eq!((outcome.end, outcome.drained, outcome.lost()), (End::Time, true, 0));
    let gateway = outcome.gateway;
    assert!(gateway.orders > 50 && gateway.fills > 0 && gateway.cancels > 0, "{gateway:?}");
    assert_eq!((gateway.unanswered, gateway.orders), (0, gateway.acks + gateway.order_rejects));
    let elapsed = outcome.elapsed;
    assert!(elapsed >= Nanos::from_millis(150) && elapsed < Nanos::from_millis(151), "{elapsed:?}");

    let (again, told_again) = run(settings(7));
    assert_eq!((again.gateway, again.venue), (outcome.gateway, outcome.venue));
    assert!(told == told_again, "the strategy was told something else");
    assert_ne!(run(settings(8)).1, told);
}

#[test]
fn what_the_lines_lose_is_made_up_for() {
    let mut lossy = settings(3);
    if let Some(simulator) = &mut lossy.simulator {
        simulator.lose_per_mille = [300, 300];
    }
    let (outcome, _) = run(lossy);
    assert_eq!(outcome.lost(), 0);
    assert!(outcome.gateway.gaps > 0 && outcome.gateway.retransmitted > 0, "{outcome}");
}

#[test]
fn several_instruments_trade_and_each_is_told_over_losses() {
    let mut several = settings(5);
    if let Some(simulator) = &mut several.simulator {
        simulator.lose_per_mille = [100, 100];
        simulator.levels = 20;
    }
    for (symbol, weight) in [("A", 1), ("B", 5), ("C", 0), ("D", 1)] {
        let symbol = symbol.to_owned();
        several.instruments.push(InstrumentSettings { symbol, weight, ..Default::default() });
    }
    let (outcome, told) = run(several.clone());
    assert_eq!((outcome.drained, outcome.lost()), (true, 0));
    assert!(outcome.gateway.orders > 0 && outcome.gateway.gaps > 0, "{outcome}");
    let of = |number: u32| {
        let name = format!("instrument: InstrumentId({number}),");
        told.iter().filter(|(_, event)| event.contains(&name)).count()
    };
    let counts = [0, 1, 2, 3].map(of);
    assert!(counts[1] > counts[0] && counts[0] > counts[2] && counts[3] > counts[2], "{counts:?}");
    assert!(run(several).1 == told, "the same settings gave another run");
}

#[test]
fn each_of_several_deep_books_is_told_though_its_snapshot_comes_late() {
    let mut several = settings(9);
    if let Some(simulator) = &mut several.simulator {
        simulator.levels = 600;
    }
    for symbol in ["A", "B", "C"] {
        let symbol = symbol.to_owned();
        several.instruments.push(InstrumentSettings { symbol, ..Default::default() });
    }
    let (_, told) = run(several);
    for number in 0..3 {
        let name = format!("instrument: InstrumentId({number}),");
        let count = told.iter().filter(|(_, event)| event.contains(&name)).count();
        assert!(count > 100, "instrument {number}: {count} events");
    }
}

#[test]
fn an_observer_sees_it_go_on() {
    #[derive(Default)]
    struct Looks {
        live: u32,
        orders: u64,
    }
    impl Observer for Looks {
        fn live(&mut self, run: &Live<'_>) {
            self.live += 1;
            assert!(run.gateway.orders >= self.orders);
        }
        fn finished(&mut self, run: &Live<'_>) {
            self.orders = run.gateway.orders;
        }
    }
    let mut looks = Looks::default();
    let touch =
        |start: taut_runner::Start<_>| TouchStrategy::new(TouchConfig::default(), start.now);
    let outcome = Runner::new(settings(1)).observer(&mut looks).run(touch).expect("a run");
    assert_eq!(looks.live, 1);
    assert_eq!(looks.orders, outcome.gateway.orders);
}

#[test]
fn a_venue_elsewhere_has_no_virtual_time() {
    let at = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 1);
    let mut settings = settings(1);
    settings.simulator = None;
    settings.venue = Some(RemoteVenue::new(at, at, at, "X"));
    let said = settings.check().expect_err("no such thing").to_string();
    assert!(said.contains("mode = simulated") && said.contains("leave [venue] out"), "{said}");
}
