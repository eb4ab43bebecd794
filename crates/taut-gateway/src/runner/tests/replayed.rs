//! What a strategy hears and asks for, live and once more.

use taut_sys::tape;

use super::*;
use crate::hub::RequestDifference;
use crate::link::Item;

/// A gateway writes on while a strategy looks at its rings.
#[test]
fn a_reply_comes_before_an_event_behind_it_whenever_both_are_written() {
    for place in 0..2 {
        with_world(|world| {
            world.settle();
            let World { hub, known, runner, .. } = world;
            let mut looks = 0;
            let mut told = Vec::new();
            for _ in 0..4 {
                let item = runner.links[0].read_while(|| {
                    if looks == place {
                        let (clock, update) = (Clock::vdso(), accepted(ClientOrderId(1)));
                        hub.order_update(&clock, known, Nanos(1), &update);
                        let events = [event(EventKind::Book(Soundness::Sound))];
                        hub.market(&clock, known, TickStamps::NONE, &events);
                    }
                    looks += 1;
                });
                match item {
                    Some(Item::Reply(..)) => told.push("reply"),
                    Some(Item::Event(..)) => told.push("event"),
                    _ => {}
                }
            }
            assert_eq!(told, ["reply", "event"], "written behind look {place}");
        });
    }
}

/// Cancels an order when a level is this large, and when it was overtaken.
#[derive(Debug, Default)]
struct Canceller;

const LARGE: Lots = Lots(1_000);

impl Strategy for Canceller {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        if matches!(event.kind, EventKind::Level(level) if level.lots == LARGE) {
            assert!(trading.cancel(ClientOrderId(1)));
        }
    }

    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        if let GatewayEvent::Overtaken { .. } = event {
            assert!(trading.cancel(ClientOrderId(1)));
        }
    }
}

/// What a gateway does in a turn.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Tells what the strategy begins with.
    Begin,
    /// Publishes a level of so many lots.
    Level(Lots),
    /// Takes requests.
    Serve,
}

fn act(hub: &mut Hub<'_>, known: &mut Known, turn: Turn) {
    let clock = Clock::vdso().taped();
    match turn {
        Turn::Begin => while hub.idle(known, &clock) {},
        Turn::Serve => while hub.next_request().is_some() {},
        Turn::Level(lots) => {
            let (side, price) = (Side::Buy, Price(1_998));
            known.book.apply(side, price, lots, 1).expect("a level");
            let place = LevelPlace::Behind(0);
            let level = LevelUpdate { side, price, lots, order_count: 1, place };
            let stamps = TickStamps { origin: Nanos(1), ends: [1, 2, 0] };
            hub.market(&clock, known, stamps, &[event(EventKind::Level(level))]);
        }
    }
}

/// Has a gateway do these turns, and a strategy read behind each that `reads` says; once more, it
/// reads behind each. How many requests were compared, and the first difference.
fn again(
    turns: &[Turn],
    reads: impl Fn(usize) -> bool,
) -> (Option<u64>, Option<RequestDifference>) {
    let segment = |layout: &[_]| Segment::create("taut-test", layout).expect("segment");
    let memory = [(); 2].map(|()| (segment(&Regions::LAYOUT), segment(&StrategyRegions::LAYOUT)));
    let [live, replayed] = memory.each_ref().map(|(shared, own)| {
        let regions = Regions::of(shared).expect("regions");
        let own = StrategyRegions::of(own).expect("regions");
        let mut hub = Hub::new(&regions).expect("a hub");
        let slot = hub.add_slot(&own, None).expect("a slot");
        assert!(hub.attach(slot, Owner::default()));
        let runner = StrategyRunner::new(&regions, &own, None, Canceller).expect("a runner");
        (hub, runner)
    });
    let clock = Clock::vdso();
    let (mut hub, mut strategy) = live;
    let mut knows = known();
    let recorded: Vec<_> = (0..)
        .zip(turns)
        .map(|(at, turn)| {
            tape::begin_writing(true);
            act(&mut hub, &mut knows, *turn);
            let heard = tape::end_writing(|heard, _| heard.to_vec());
            while reads(at) && strategy.poll(&clock) {}
            heard
        })
        .collect();
    let (mut hub, mut strategy) = replayed;
    hub.begin_comparing_requests();
    let mut knows = known();
    for (turn, heard) in turns.iter().zip(recorded) {
        tape::begin_reading(&heard);
        act(&mut hub, &mut knows, *turn);
        assert_eq!(tape::end_reading(), Ok(()), "{turn:?}");
        while strategy.poll(&clock) {}
        let difference = hub.compare_requests();
        if difference.is_some() {
            return (hub.requests_compared(), difference);
        }
    }
    (hub.requests_compared(), None)
}

#[test]
fn what_a_strategy_asks_for_after_it_was_overtaken_is_not_held_against_what_it_knows_now() {
    let small = Turn::Level(Lots(7));
    let turns = [Turn::Begin, Turn::Level(LARGE), Turn::Serve];
    assert_eq!(again(&turns, |_| true), (Some(1), None));
    // It cancels because it was overtaken; with what it was told, it would have for a level.
    let overtaken = [&turns[..2], &[small; 10_000], &[Turn::Serve, Turn::Level(LARGE)]].concat();
    let reads = |at| at == 0 || at > 9_000;
    assert_eq!(again(&overtaken, reads), (None, None));
}
