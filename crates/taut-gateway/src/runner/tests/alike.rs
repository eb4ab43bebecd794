//! What a gateway says of itself, and alarms: the same in its own thread and in another process.

use taut_market_data::TradingStatus;
use taut_oms::ScopeKind;
use taut_sys::TickMapping;

use super::*;
use crate::fused::FusedClient;
use crate::message::{GatewayStatus, KilledScopes, SessionPhase};

/// Something that it was called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Gateway(Nanos, GatewayEvent),
    Status(Nanos, TradingStatus),
    Alarm(Nanos, u64),
    Timer(Nanos),
}

/// Sets alarms once it may trade, and in one of them.
#[derive(Debug, Default)]
struct Waker {
    heard: Vec<Heard>,
}

const fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

impl Strategy for Waker {
    fn on_market(&mut self, now: Nanos, event: &Event, _: &mut impl Trading) {
        if let EventKind::Status(status) = event.kind {
            self.heard.push(Heard::Status(now, status));
        }
    }

    fn on_gateway(&mut self, now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        self.heard.push(Heard::Gateway(now, *event));
        if *event == GatewayEvent::Ready {
            for (at, token) in [(5, 1), (3, 2), (5, 3), (5, 4), (4, 5)] {
                assert!(trading.set_alarm(ms(at), token));
            }
            // Anew, and for later.
            assert!(trading.set_alarm(ms(6), 5));
        }
    }

    fn on_alarm(&mut self, now: Nanos, token: u64, trading: &mut impl Trading) {
        self.heard.push(Heard::Alarm(now, token));
        if token == 1 {
            assert!(trading.cancel_alarm(3) && !trading.cancel_alarm(3));
            assert!(trading.set_alarm(ms(0), 10));
        }
    }

    fn on_timer(&mut self, now: Nanos, _: &mut impl Trading) {
        self.heard.push(Heard::Timer(now));
    }
}

/// The same strategy in both places, of gateways that know the same.
struct Both<'m> {
    known: Known,
    fused: FusedClient<Waker>,
    hub: Hub<'m>,
    split: StrategyRunner<'m, Waker>,
    now: Nanos,
}

fn at(now: Nanos) -> Clock {
    Clock::new(TickMapping::from_words([0, 0, now.0.cast_unsigned(), 0, 0]))
}

impl Both<'_> {
    fn settle(&mut self) {
        let clock = at(self.now);
        while self.hub.idle(&self.known, &clock) || self.split.poll(&clock) {}
    }

    /// A millisecond goes by.
    fn step(&mut self) {
        self.settle();
        self.now = self.now + ms(1);
        let (now, clock) = (self.now, at(self.now));
        self.fused.timer(&clock, &self.known, now);
        self.hub.timer(&clock, &self.known, now);
        self.settle();
        self.split.timer(&clock);
    }

    fn say(&mut self, event: GatewayEvent) {
        let (now, clock) = (self.now, at(self.now));
        self.fused.gateway_event(&clock, &self.known, now, &event);
        self.hub.gateway_event(&clock, &self.known, now, &event);
        self.settle();
    }

    /// What both have heard since, which is the same.
    fn heard(&mut self) -> Vec<Heard> {
        let fused = std::mem::take(&mut self.fused.strategy_mut().heard);
        assert_eq!(std::mem::take(&mut self.split.strategy_mut().heard), fused);
        fused
    }
}

fn with_both(act: impl FnOnce(&mut Both<'_>)) {
    let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
    let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).expect("segment");
    let regions = Regions::of(&segment).expect("regions");
    let own = StrategyRegions::of(&own).expect("regions");
    let mut hub = Hub::new(&regions).expect("a hub");
    let slot = hub.add_slot(&own, None).expect("a slot");
    assert!(hub.attach(slot, Owner::default()));
    let split = StrategyRunner::new(&regions, &own, None, Waker::default()).expect("a runner");
    let fused = FusedClient::new(Waker::default());
    act(&mut Both { known: known(), fused, hub, split, now: Nanos::ZERO });
}

#[test]
fn a_strategy_is_told_that_it_is_connected_may_trade_and_what_is_stopped() {
    with_both(|both| {
        both.known.is_order_entry_up = false;
        both.step();
        // The first that it is told in the gateway's thread is told with the first timer.
        let what = |heard: &Heard| match heard {
            Heard::Gateway(_, event) => Some(*event),
            _ => None,
        };
        let fused = std::mem::take(&mut both.fused.strategy_mut().heard);
        let split = std::mem::take(&mut both.split.strategy_mut().heard);
        let told: Vec<_> = fused.iter().filter_map(what).collect();
        assert_eq!(split.iter().filter_map(what).collect::<Vec<_>>(), told);
        let (owner, status) = (Owner::default(), GatewayEvent::Status(both.known.gateway));
        let expected = [
            GatewayEvent::Connected,
            GatewayEvent::DownloadBegin { owner, next_number: 1 },
            GatewayEvent::Instrument(both.known.instruments[0]),
            GatewayEvent::OrderEntry { is_up: false },
            GatewayEvent::DownloadEnd,
            status,
        ];
        assert_eq!(told, expected);

        let told = |both: &mut Both<'_>| {
            both.step();
            both.heard().iter().filter_map(what).collect::<Vec<_>>()
        };
        assert_eq!(told(both), []);
        both.known.is_order_entry_up = true;
        let session = SessionPhase::Up;
        both.known.gateway = GatewayStatus { session, ..both.known.gateway };
        both.say(GatewayEvent::OrderEntry { is_up: true });
        let up = GatewayEvent::OrderEntry { is_up: true };
        let status = GatewayEvent::Status(both.known.gateway);
        assert_eq!(told(both), [up, status, GatewayEvent::Ready]);
        assert_eq!(told(both), []);

        let killed = KilledScopes::NONE.with(ScopeKind::User);
        both.known.gateway = GatewayStatus { killed, ..both.known.gateway };
        assert_eq!(told(both), [GatewayEvent::Status(both.known.gateway)]);

        both.say(GatewayEvent::OrderEntry { is_up: false });
        both.say(GatewayEvent::OrderEntry { is_up: true });
        let down = GatewayEvent::OrderEntry { is_up: false };
        assert_eq!(told(both), [down, up, GatewayEvent::Ready], "once more");
    });
}

#[test]
fn alarms_come_in_the_same_order_at_the_same_times() {
    with_both(|both| {
        both.step();
        both.fused.strategy_mut().heard.clear();
        both.split.strategy_mut().heard.clear();
        for _ in 0..6 {
            both.step();
        }
        let timer = |at| Heard::Timer(ms(at));
        let alarm = |at, token| Heard::Alarm(ms(at), token);
        let expected = [
            timer(2),
            alarm(3, 2),
            timer(3),
            timer(4),
            // The third was cancelled, and what was set for the past waits for its turn.
            alarm(5, 1),
            alarm(5, 4),
            timer(5),
            alarm(6, 10),
            alarm(6, 5),
            timer(6),
            timer(7),
        ];
        assert_eq!(both.heard(), expected);
    });
}

#[test]
fn who_attaches_later_is_told_whether_an_instrument_trades_and_each_change_once() {
    with_world(|world| {
        world.known.status = Some(TradingStatus::Halted);
        world.settle();
        let id = InstrumentId(0);
        let known = |world: &World<'_>| world.runner.replicas.trading_status(id);
        assert_eq!(known(world), Some(TradingStatus::Halted));
        world.market(&[event(EventKind::Status(TradingStatus::Trading))]);
        world.settle();
        assert_eq!(known(world), Some(TradingStatus::Trading));
    });
}
