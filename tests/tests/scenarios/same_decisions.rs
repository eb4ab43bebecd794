//! The same strategy runs fused, split and simulated: what it was told in one session leads to the
//! same requests in each of them.

use taut_book::LevelBook;
use taut_gateway::{
    Client, FusedClient, GatewayState, Regions, RequestKind, State, Strategy, StrategyRegions,
    StrategyRunner, TouchConfig, TouchStrategy, Trading,
};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, EventKind, LevelUpdate, Soundness, Staleness};
use taut_sys::Clock;
use taut_tests::books::assert_same_levels;
use taut_tests::data::{MESSAGES, shared};
use taut_tests::live::hub;
use taut_tests::lockstep::{self, Conditions, Lockstep, START, standing_at};
use taut_tests::lossy_link::faults;
use taut_tests::recording::{Asked, Notice, Recorded};
use taut_tests::setup::{instrument, synthetic_flow, venue_config, venue_config_for_losses};
use taut_types::{ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms};
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
    assert_same_levels(pair.venue.book(), pair.gateway.book(InstrumentId(0)));
    println!("{:?}", pair.gateway.counters());
    let recorded = pair.gateway.client_mut();
    Conversation {
        notices: std::mem::take(&mut recorded.notices),
        asked: std::mem::take(&mut recorded.asked),
    }
}

/// What the gateway knew of its one instrument.
struct Known {
    instruments: [Instrument; 1],
    book: LevelBook,
    soundness: Soundness,
}

impl Known {
    fn new() -> Self {
        let soundness = Soundness::Stale(Staleness::Joining);
        let book = LevelBook::with_capacity(1 << 13);
        Self { instruments: [instrument()], book, soundness }
    }

    fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::Book(_, levels) => {
                self.book.clear();
                for (side, level) in levels {
                    let set = self.book.apply(*side, level.price, level.lots, level.order_count);
                    set.expect("room for a level");
                }
            }
            Notice::Market(_, events) => {
                for event in events {
                    match event.kind {
                        EventKind::Book(soundness) => self.soundness = soundness,
                        EventKind::Level(level) => {
                            let LevelUpdate { side, price, lots, order_count, .. } = level;
                            let set = self.book.apply(side, price, lots, order_count);
                            set.expect("a level of the book");
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

impl GatewayState for Known {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }
    fn book(&self, _: InstrumentId) -> Option<&LevelBook> {
        Some(&self.book)
    }
    fn soundness(&self, _: InstrumentId) -> Soundness {
        self.soundness
    }
    fn best(&self, _: InstrumentId) -> BestPrices {
        BestPrices::of(&self.book)
    }
    fn is_order_entry_up(&self, _: InstrumentId) -> bool {
        true
    }
}

/// Tells a client what is written down.
fn tell(client: &mut impl Client, known: &Known, clock: &Clock, now: Nanos, notice: &Notice) {
    match notice {
        Notice::Book(..) => {}
        Notice::Market(stamps, events) => client.market(clock, known, *stamps, events),
        Notice::Order(update) => client.order_update(clock, known, now, update),
        Notice::Gateway(event) => client.gateway_event(clock, known, now, event),
        Notice::Timer => client.timer(clock, known, now),
        Notice::Stop => {}
    }
}

fn drain(client: &mut impl Client, asked: &mut Vec<Asked>) {
    asked.extend(std::iter::from_fn(|| client.next_request()).map(|r| (r.id, r.kind)));
}

fn asked_fused(notices: &[(Nanos, Notice)]) -> Vec<Asked> {
    let mut client = FusedClient::new(strategy());
    let (mut clock, mut known, mut asked) = (lockstep::clock(), Known::new(), Vec::new());
    for (at, notice) in notices {
        clock.set_mapping(standing_at(*at));
        known.note(notice);
        tell(&mut client, &known, &clock, *at, notice);
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
    let own = Segment::create("split-strategy", &StrategyRegions::LAYOUT).expect("a segment");
    let own = StrategyRegions::of(&own).expect("regions");
    let mut client = hub(&regions, &own);
    let mut runner = StrategyRunner::new(&regions, &own, None, strategy()).expect("rings");
    let (mut clock, mut known, mut asked) = (lockstep::clock(), Known::new(), Vec::new());
    for (at, notice) in notices {
        clock.set_mapping(standing_at(*at));
        known.note(notice);
        tell(&mut client, &known, &clock, *at, notice);
        while runner.poll(&clock) | client.idle(&known, &clock) {}
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
struct Simulated {
    orders: u64,
    is_stopping: bool,
    asked: Vec<Asked>,
}

impl State for Simulated {}

impl Trading for Simulated {
    fn create_tagged(&mut self, terms: &OrderTerms, _tag: u32) -> Option<ClientOrderId> {
        if self.is_stopping {
            return None;
        }
        self.orders += 1;
        let id = ClientOrderId(self.orders);
        self.asked.push((id, RequestKind::Create(*terms)));
        Some(id)
    }
    fn request(&mut self, order: ClientOrderId, kind: RequestKind, _: Option<u16>) -> bool {
        self.asked.push((order, kind));
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
            Notice::Book(..) => {}
            Notice::Order(update) => strategy.on_order(*at, update, &mut entry),
            Notice::Gateway(event) => strategy.on_gateway(*at, event, &mut entry),
            Notice::Timer => {
                if entry.is_stopping {
                    strategy.on_stop(*at, &mut entry);
                }
                strategy.on_timer(*at, &mut entry);
            }
            Notice::Stop => entry.is_stopping = true,
        }
    }
    entry.asked
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
    let cancels = asked.iter().filter(|(_, kind)| *kind == RequestKind::Cancel).count();
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
