//! The same strategy runs fused, split and simulated: what it was told in one session leads to the
//! same requests in each of them.
#![forbid(unsafe_code)]

use taut_gateway::{
    Client, FusedClient, NewOrder, OrderEntry, Regions, RequestKind, SplitClient, Strategy,
    StrategyRunner, TouchConfig, TouchStrategy,
};
use taut_ipc::Segment;
use taut_sys::Clock;
use taut_tests::books::assert_same_levels;
use taut_tests::data::{MESSAGES, shared};
use taut_tests::lockstep::{self, Conditions, Lockstep, START, standing_at};
use taut_tests::lossy_link::faults;
use taut_tests::recording::{Asked, Notice, Recorded};
use taut_tests::setup::{synthetic_flow, venue_config, venue_config_for_losses};
use taut_types::{ClientOrderId, Lots, Nanos};
use taut_venue::flow::LobsterFlow;
use taut_venue::{Flow, Speed, VenueConfig};

/// The whole recorded hour takes some 1,450 steps.
const STEPS: u32 = if cfg!(debug_assertions) { 600 } else { 3_000 };

fn strategy() -> TouchStrategy {
    let rest = Nanos::from_millis(3);
    let config = TouchConfig { orders_per_second: 1_000, lots: Lots(2), rest };
    TouchStrategy::new(config, START)
}

/// What a strategy was told and what it asked for, in a session with this flow.
struct Conversation {
    notices: Vec<(Nanos, Notice)>,
    asked: Vec<Asked>,
}

fn record(config: &VenueConfig, flow: Flow, conditions: Conditions) -> Conversation {
    let segment = Segment::create("same-decisions", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let client = Recorded::new(FusedClient::new(strategy()));
    let mut pair = Lockstep::open(config, flow, conditions, &regions, client);
    for _ in 0..STEPS {
        pair.step();
    }
    let now = pair.now();
    pair.gateway.client_mut().stop(now);
    pair.step_until("an idle strategy", |pair| pair.gateway.client_mut().is_idle());
    pair.incremental.clear_up();
    pair.catch_up();
    assert_same_levels(pair.venue.book(), pair.gateway.book());
    println!("{:?}", pair.gateway.counters());
    let recorded = pair.gateway.client_mut();
    Conversation {
        notices: std::mem::take(&mut recorded.notices),
        asked: std::mem::take(&mut recorded.asked),
    }
}

/// Tells a client what is written down.
fn tell(client: &mut impl Client, clock: &Clock, now: Nanos, notice: &Notice) {
    match notice {
        Notice::Market(stamps, events) => client.market(clock, *stamps, events),
        Notice::Order(update) => assert!(client.order_update(clock, now, update)),
        Notice::Timer => client.timer(clock, now),
        Notice::Stop => {}
    }
}

fn drain(client: &mut impl Client, asked: &mut Vec<Asked>) {
    asked.extend(std::iter::from_fn(|| client.next_request()).map(|r| (r.id, r.kind)));
}

fn asked_fused(notices: &[(Nanos, Notice)]) -> Vec<Asked> {
    let mut client = FusedClient::new(strategy());
    let (mut clock, mut asked) = (lockstep::clock(), Vec::new());
    for (at, notice) in notices {
        clock.set_mapping(standing_at(*at));
        tell(&mut client, &clock, *at, notice);
        if *notice == Notice::Stop {
            client.stop();
        }
        drain(&mut client, &mut asked);
    }
    asked
}

fn asked_split(notices: &[(Nanos, Notice)]) -> Vec<Asked> {
    let segment = Segment::create("split-decisions", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let mut client = SplitClient::new(&regions, None).expect("rings");
    let mut runner = StrategyRunner::new(&regions, None, strategy()).expect("rings");
    let (mut clock, mut asked) = (lockstep::clock(), Vec::new());
    for (at, notice) in notices {
        clock.set_mapping(standing_at(*at));
        tell(&mut client, &clock, *at, notice);
        while runner.poll(&clock) {}
        match notice {
            Notice::Timer => runner.timer(&clock),
            Notice::Stop => runner.stop(),
            _ => {}
        }
        drain(&mut client, &mut asked);
    }
    asked
}

/// An order entry without a gateway behind it.
#[derive(Default)]
struct Simulated(Vec<Asked>);

impl Simulated {
    fn ask(&mut self, kind: RequestKind) -> ClientOrderId {
        let id = ClientOrderId(self.0.len() as u64 + 1);
        self.0.push((id, kind));
        id
    }
}

impl OrderEntry for Simulated {
    fn new_order(&mut self, order: NewOrder) -> Option<ClientOrderId> {
        Some(self.ask(RequestKind::New(order)))
    }

    fn cancel(&mut self, order: ClientOrderId) -> bool {
        self.ask(RequestKind::Cancel(order));
        true
    }
}

fn asked_simulated(notices: &[(Nanos, Notice)]) -> Vec<Asked> {
    let (mut strategy, mut entry) = (strategy(), Simulated::default());
    for (at, notice) in notices {
        match notice {
            Notice::Market(_, events) => {
                events.iter().for_each(|event| strategy.on_market(*at, event, &mut entry));
            }
            Notice::Order(update) => strategy.on_order(*at, update, &mut entry),
            Notice::Timer => strategy.on_timer(*at, &mut entry),
            Notice::Stop => strategy.stop(),
        }
    }
    entry.0
}

/// Demands that two streams of requests are the same, and names the first that differs.
fn assert_same(way: &str, asked: &[Asked], recorded: &[Asked]) {
    for (at, (ours, theirs)) in asked.iter().zip(recorded).enumerate() {
        assert_eq!(ours, theirs, "{way}: request {at}");
    }
    assert_eq!(asked.len(), recorded.len(), "{way}");
}

fn check(conversation: &Conversation) {
    let Conversation { notices, asked } = conversation;
    let cancels = asked.iter().filter(|(_, kind)| matches!(kind, RequestKind::Cancel(_))).count();
    println!("{} requests, {cancels} of them cancels, on {} notices", asked.len(), notices.len());
    assert!(asked.len() - cancels > 200 && cancels > 50);
    assert_same("fused", &asked_fused(notices), asked);
    assert_same("split", &asked_split(notices), asked);
    assert_same("simulated", &asked_simulated(notices), asked);
}

#[test]
fn a_synthetic_market_leads_to_the_same_requests() {
    check(&record(&venue_config(), synthetic_flow(61, 20_000), Conditions::default()));
}

#[test]
fn a_feed_with_gaps_leads_to_the_same_requests() {
    let incremental = faults(2, 2, 2);
    let conditions = Conditions { incremental, seed: 62, ..Conditions::default() };
    check(&record(&venue_config_for_losses(), synthetic_flow(62, 20_000), conditions));
}

#[test]
fn a_recorded_market_leads_to_the_same_requests() {
    let Some(messages) = shared(MESSAGES) else { return };
    let recording = LobsterFlow::read(&messages).expect("a right file");
    let flow = Flow::recorded(recording, Speed::Max);
    check(&record(&venue_config(), flow, Conditions::default()));
}
