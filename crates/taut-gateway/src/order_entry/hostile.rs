//! An order session against a venue that does what it should not, on virtual time.
//!
//! The venue is scripted: see `hostile/behaviours.txt`. Whatever it does, the session
//! lives on, its orders and its position are what the venue made them, the owner was told, nothing
//! is sent twice, and the next order goes out as ever.

mod backup;
mod copies;
mod hand_over;
mod inverse;
mod kill;
mod limits;
mod positions;
mod restart;
pub(crate) mod venue;

use std::path::Path;

use taut_fix::CompId;
use taut_io::{Completion, EventLoop, Handler, Io, LoopConfig, Operation, SimConfig, SimKernel};
use taut_ipc::Segment;
use taut_journal::{Housekeeper, Journal};
use taut_lat::StageOffsets;
use taut_oms::{OrderState, Reference, Trouble};
use taut_sys::TickMapping;
use taut_types::{Qty, Side, Symbol, TimeInForce};

use super::fix44::Fix44;
use super::*;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::message::{Refusal, Request, RequestKind, UpdateKind};
use crate::regions::Regions;
use venue::ScriptedVenue;

const ADDRESS: &str = "127.0.0.1:9880";
const BACKUP: &str = "127.0.0.1:9881";
const ORDER: ClientOrderId = ClientOrderId(1);
const MARKET: Reference =
    Reference { bid: Some(Price(9_990_000_000)), ask: Some(Price(10_010_000_000)), last: None };
const UTC_OFFSET: Nanos = Nanos::from_secs(1_340_285_400);

/// The session, its venue, and the network between them.
pub(super) struct World<'m, H = Fix44> {
    events: EventLoop<SimKernel>,
    pub(super) ends: Ends<'m, H>,
    housekeeper: Housekeeper,
    /// Where copies of the venue's reports go.
    copies: Option<copies::Reader>,
    /// Who gets all orders after the next step, where they change hands.
    heirs: Option<[Owner; 2]>,
}

pub(super) struct Ends<'m, H> {
    pub(super) orders: OrderSession<H>,
    pub(super) venue: ScriptedVenue,
    /// Its other address, for those that are told of it.
    backup: ScriptedVenue,
    recorders: Recorders<'m>,
    updates: Vec<OrderUpdate>,
    clock: Clock,
    /// What ended the gateway: it could not be connected at its start.
    gave_up: Option<GatewayError>,
}

impl<H: OrderHandler> Handler<SimKernel> for Ends<'_, H> {
    fn complete(&mut self, io: &mut Io<SimKernel>, completion: Completion<'_>) {
        self.clock = clock_at(io.now());
        let Self { orders, venue, backup, recorders, updates, clock, gave_up } = self;
        match completion {
            Completion::Received { stream, bytes } if orders.is_stream(stream) => {
                let (received, mut bytes) = (clock.now(), bytes);
                while orders.receive(io, (clock, received), &mut bytes, recorders, updates) {}
            }
            Completion::Connected { stream } if orders.is_stream(stream) => {
                orders.connected(io, clock, updates);
            }
            Completion::Failed { source, operation: Operation::Connect, error, .. }
                if orders.is_stream(source) =>
            {
                *gave_up = orders.not_connected(io, clock, error).err();
            }
            Completion::Ended { stream: source } | Completion::Closed { source, .. }
                if orders.is_stream(source) =>
            {
                orders.closed(io, clock, updates);
            }
            other => {
                venue.complete(io, &other);
                backup.complete(io, &other);
            }
        }
    }
}

/// A clock that stands at a moment of the loop's.
fn clock_at(now: Nanos) -> Clock {
    let words = [0, 0, (now.0 + 1_000_000_000).cast_unsigned(), 0, UTC_OFFSET.0.cast_unsigned()];
    Clock::new(TickMapping::from_words(words))
}

impl<'m> World<'m> {
    /// With a journal in this folder, of which it takes up what it recovers.
    fn new(segment: &'m Segment, folder: &Path) -> Self {
        Self::with_journal(segment, |_| {}, folder)
    }

    fn with_backups(segment: &'m Segment, backups: &[&str]) -> Self {
        Self::with(segment, |config| {
            config.session.backups = backups.iter().map(|it| it.parse().unwrap()).collect();
        })
    }

    /// With other settings than the usual ones, and a journal that nobody will read.
    fn with(segment: &'m Segment, change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::with_journal(segment, change, folder.path())
    }

    fn with_journal(
        segment: &'m Segment,
        change: impl FnOnce(&mut GatewayConfig),
        folder: &Path,
    ) -> Self {
        Self::speaking(segment, change, folder, |config| Fix44::new(config).unwrap())
    }
}

impl<'m, H: OrderHandler> World<'m, H> {
    /// With another language than FIX 4.4.
    pub(super) fn speaking(
        segment: &'m Segment,
        change: impl FnOnce(&mut GatewayConfig),
        folder: &Path,
        handler: impl FnOnce(&GatewayConfig) -> H,
    ) -> Self {
        let sim = SimConfig { is_partial: false, window_bytes: 1 << 20, ..SimConfig::default() };
        let mut events = EventLoop::new(SimKernel::new(16, sim), LoopConfig::default()).unwrap();
        let venue = ScriptedVenue::listen(events.io(), ADDRESS);
        let backup = ScriptedVenue::listen(events.io(), BACKUP);
        let symbol = Symbol::new(b"AAPL").unwrap();
        let (id, tick) = (InstrumentId(0), Price(10_000_000));
        let mut config = GatewayConfig {
            instruments: vec![Instrument::new(id, symbol, tick, Qty::whole(1)).unwrap()],
            order_address: ADDRESS.parse().unwrap(),
            sender_comp_id: CompId::new(b"GATEWAY").unwrap(),
            target_comp_id: CompId::new(b"VENUE").unwrap(),
            heartbeat_interval: Nanos::from_secs(30),
            session: SessionSettings {
                waits_for_venue: true,
                request_timeout: Nanos::from_secs(2),
                reconnect: (Nanos::from_millis(100), Nanos::from_secs(2)),
                ..SessionSettings::default()
            },
            order_capacity: 8,
            risk: GatewayConfig::default_risk().into(),
            hot: false,
            keeps_warm: false,
        };
        change(&mut config);
        let clock = clock_at(events.io().now());
        let now = at(&clock, clock.now());
        let handler = handler(&config);
        let mut orders = OrderSession::connect(&config, handler, events.io(), now).unwrap();
        let Journal { writer, housekeeper, recovered } =
            Journal::open(folder, restart::SETTINGS).unwrap();
        orders.resume(writer, &recovered.state, now.utc).unwrap();
        let recorders = Recorders::new(&Regions::of(segment).unwrap()).unwrap();
        let (updates, gave_up) = (Vec::new(), None);
        let ends = Ends { orders, venue, backup, recorders, updates, clock, gave_up };
        Self { events, ends, housekeeper, copies: None, heirs: None }
    }

    /// Virtual time goes by.
    pub(super) fn pass(&mut self, span: Nanos) {
        let end = self.events.io().now() + span;
        while self.events.io().now() < end {
            let left = end.since(self.events.io().now()).min(Nanos::from_millis(50));
            self.events.wait(&mut self.ends, left).unwrap();
            let Ends { orders, updates, clock, .. } = &mut self.ends;
            *clock = clock_at(self.events.io().now());
            orders.handle_timeout(self.events.io(), clock, updates);
            orders.hear_copies(clock, updates);
        }
    }

    pub(super) fn request(&mut self, id: ClientOrderId, kind: RequestKind) {
        self.request_by(self.ends.orders.owner_of(id), id, kind);
    }

    fn request_by(&mut self, owner: Owner, id: ClientOrderId, kind: RequestKind) {
        let (origin, offsets) = (Nanos::ZERO, StageOffsets::ZERO);
        let request = Request { id, owner, kind, only_if: None, tag: 0, origin, offsets };
        let Ends { orders, recorders, updates, clock, .. } = &mut self.ends;
        *clock = clock_at(self.events.io().now());
        let io = self.events.io();
        orders.handle_request(io, clock, &request, MARKET, recorders, |_| {}, updates);
    }

    pub(super) fn create(&mut self, id: ClientOrderId, lots: i64) {
        let price = Price(10_000_000_000);
        let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, price, Lots(lots));
        self.request(id, RequestKind::Create(terms));
    }

    /// Does one step of a script.
    pub(super) fn step(&mut self, step: &str) {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        match verb {
            "order" => self.create(ORDER, 10),
            "cancel" => self.request(ORDER, RequestKind::Cancel),
            "all" => self.request(ORDER, RequestKind::CancelAll(Default::default())),
            "modify" => {
                let (price, lots) = (Price(10_000_000_000), Lots(rest.parse().unwrap()));
                self.request(ORDER, RequestKind::Modify { price, lots });
            }
            "pass" => self.pass(Nanos::from_millis(rest.parse().unwrap())),
            _ => self.ends.venue.act(self.events.io(), verb, rest),
        }
        self.pass_on_copies();
        // What is under way arrives.
        self.pass(Nanos::from_millis(1));
        self.change_hands();
    }

    pub(super) fn position(&self) -> i64 {
        self.ends.orders.risk().position(InstrumentId(0), AccountId(0)).0
    }

    /// What was told of the order, in order.
    pub(super) fn told(&self) -> Vec<String> {
        let of_order = self.ends.updates.iter().filter(|update| update.id == ORDER);
        let name = |kind: UpdateKind| match kind {
            UpdateKind::Quarantined(trouble) => format!("{trouble:?}"),
            UpdateKind::Refused(refusal) => format!("Refused{refusal:?}"),
            other => {
                let text = format!("{other:?}");
                text.split([' ', '(']).next().unwrap_or_default().to_owned()
            }
        };
        of_order.map(|update| name(update.kind)).collect()
    }
}

#[test]
fn who_logs_out_while_the_connection_is_made_does_not_log_on() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |_| {});
    assert!(world.ends.orders.has_stream());
    let World { events, ends, .. } = &mut world;
    ends.orders.logout(events.io(), &ends.clock);
    assert!(ends.orders.is_logged_out() && !ends.orders.has_stream());
    // As if it had been connected in that moment.
    ends.orders.connected(events.io(), &ends.clock, &mut ends.updates);
    ends.orders.opened(events.io(), &ends.clock, &mut ends.updates);
    world.pass(Nanos::from_secs(10));
    assert!(world.ends.orders.is_logged_out());
    assert!(world.ends.venue.first_of("A").is_none());
}

#[test]
fn what_the_venue_takes_from_nobody_is_refused_as_such() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |config| {
        let (symbol, tick) = (Symbol::new(b"AAPL").unwrap(), Price(10_000_000));
        let instrument = Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(10));
        config.instruments = vec![instrument.unwrap()];
    });
    world.pass(Nanos::from_millis(50));
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(10_000_000_000), Lots(1));
    let terms = OrderTerms { lots_shown: Lots(i64::MAX), ..terms };
    // Checks before it leave none such over.
    let Ends { orders, clock, .. } = &mut world.ends;
    let left = orders.leave_message(clock, (ORDER, 0), &terms, false);
    assert_eq!(left.err(), Some(Refusal::Unsupported));
}

/// A venue that missed something asks for it, and gets a gap fill that reaches to the end.
#[test]
fn a_question_that_a_gap_fill_covers_is_asked_again() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |_| {});
    world.pass(Nanos::from_millis(50));
    world.step("order");
    world.step("er 0 0 E1 0 0");
    world.step("mass silent");
    world.step("logon 35=A|98=0|108=30");
    let asked = world.ends.venue.all_of("AF").count();
    world.step("cut");
    world.pass(Nanos::from_millis(200));
    assert_eq!(world.ends.venue.all_of("AF").count(), asked + 1);
    world.step("mass plain");
    world.step("raw 35=2|7=1|16=0");
    assert_eq!(world.ends.venue.all_of("AF").count(), asked + 2);
    // Its refusal of that question is an answer, too: the order is asked about by itself.
    assert!(world.ends.venue.first_of("H").is_some());
}

/// It has forgotten the order, which was over.
#[test]
fn the_owner_of_an_order_that_goes_on_after_its_end_is_told_of_it() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |_| {});
    world.pass(Nanos::from_millis(50));
    for step in ["order", "er 0 0 E1 0 0", "er 4 4 E2 0 0"] {
        world.step(step);
    }
    assert_eq!(world.ends.orders.poll_reopened(), None);
    world.step("mass er I 0 0 0 0 584={id}|911=1|912=Y");
    world.step("status er I 0 0 0 0");
    world.step("cut");
    world.pass(Nanos::from_secs(3));
    assert_eq!(world.ends.orders.poll_reopened(), Some((Owner::of(ORDER), ORDER)));
    assert_eq!(world.ends.orders.poll_reopened(), None);
    // It is one to cancel again.
    world.step("cancel");
    assert!(world.ends.venue.first_of("F").is_some());
}

/// A report was lost on its way, and no request waits for an answer.
#[test]
fn an_order_that_does_not_rest_and_is_still_open_is_asked_about() {
    for time_in_force in [TimeInForce::ImmediateOrCancel, TimeInForce::Day] {
        let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
        let mut world = World::with(&segment, |_| {});
        world.pass(Nanos::from_millis(50));
        let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(10_000_000_000), Lots(10));
        world.request(ORDER, RequestKind::Create(OrderTerms { time_in_force, ..terms }));
        world.pass(Nanos::from_millis(1));
        world.step("er 0 0 E1 0 0");
        world.pass(Nanos::from_secs(5));
        let is_asked_about = world.ends.venue.first_of("H").is_some();
        assert_eq!(is_asked_about, time_in_force != TimeInForce::Day);
    }
}

const BEHAVIOURS: &str = include_str!("hostile/behaviours.txt");

/// A behaviour of a venue, and what must come of it.
struct Behaviour {
    name: &'static str,
    script: String,
    position: i64,
    state: OrderState,
    /// What the owner is told, besides other things, in this order.
    told: &'static str,
}

fn behaviours() -> Vec<Behaviour> {
    let (mut all, mut name, mut script) = (Vec::new(), "", String::new());
    for line in BEHAVIOURS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    = "), line.strip_prefix("    ")) {
            (Some(end), _) => {
                let (seen, told) = end.split_once(": ").unwrap();
                let (position, state) = seen.split_once(' ').unwrap();
                let is_it = |it: &OrderState| format!("{it:?}") == state;
                all.push(Behaviour {
                    name,
                    script: std::mem::take(&mut script),
                    position: position.parse().unwrap(),
                    state: OrderState::ALL.into_iter().find(is_it).unwrap(),
                    told,
                });
            }
            (None, Some(steps)) => script += steps,
            (None, None) => name = line,
        }
    }
    all
}

fn run(behaviour: &Behaviour) {
    run_with(behaviour, |_| {});
}

fn run_with(behaviour: &Behaviour, prepare: impl FnOnce(&mut World<'_>)) {
    run_between(behaviour, prepare, |_| {});
}

/// Prepared like this, and looked at like this at the end.
fn run_between(
    behaviour: &Behaviour,
    prepare: impl FnOnce(&mut World<'_>),
    end: impl FnOnce(&World<'_>),
) {
    let &Behaviour { name, ref script, position, state, told } = behaviour;
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    prepare(&mut world);
    world.pass(Nanos::from_millis(50));
    for step in script.split(';').map(str::trim).filter(|step| !step.is_empty()) {
        world.step(step);
        restart::assert_is_recovered(&world, folder.path(), &format!("{name}, {step}"));
    }
    // Time enough for every wait to end; the venue behaves from now on.
    world.pass(Nanos::from_secs(6));
    world.ends.venue.behave();
    for _ in 0..60 {
        world.pass(Nanos::from_secs(1));
        if world.ends.orders.is_active() {
            break;
        }
    }
    restart::assert_is_recovered(&world, folder.path(), name);
    let heard = world.told();
    let order = world.ends.orders.table().get(ORDER);
    let seen = (world.position(), order.map(|order| order.state));
    assert_eq!(seen, (position, Some(state)), "{name}: told {heard:?}");
    let mut rest = heard.iter();
    for word in told.split_whitespace() {
        assert!(rest.any(|heard| heard == word), "{name}: not told {word} in {heard:?}");
    }
    // The owner's own account is the gateway's.
    let fills = world.ends.updates.iter().map(|update| match update.kind {
        UpdateKind::Filled { lots, .. } | UpdateKind::Corrected { lots, .. } => lots.0,
        _ => 0,
    });
    assert_eq!(fills.sum::<i64>(), position, "{name}: told {heard:?}");
    // Nothing is left waiting, and nothing was sent twice.
    assert_eq!(world.ends.orders.table().answers().unanswered(), 0, "{name}");
    assert!(world.ends.venue.orders_of(ORDER) <= 1, "{name}: the order was sent again");
    // And the next one goes out.
    assert!(world.ends.orders.is_active(), "{name}: the session is not up again");
    let next = ClientOrderId(99);
    world.create(next, 1);
    world.pass(Nanos::from_millis(5));
    assert_eq!(world.ends.venue.orders_of(next), 1, "{name}: no order goes out any more");
    let text = String::from_utf8(RequestId::create(next).to_text().to_vec()).unwrap();
    let report = format!("0 0 X99 0 0 11={text}|38=1|151=1");
    world.step(&format!("er {report}"));
    let state = world.ends.orders.table().get(next).map(|order| order.state);
    assert_eq!(state, Some(OrderState::Working), "{name}: the next order");
    if heard.iter().any(|word| Trouble::ALL.iter().any(|it| *word == format!("{it:?}"))) {
        assert!(world.ends.orders.quarantine().count() > 0, "{name}");
    }
    end(&world);
}

#[test]
fn a_venue_may_do_what_it_likes() {
    let behaviours = behaviours();
    let names: Vec<_> = behaviours.iter().map(|behaviour| behaviour.name).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() == names.len() && names.len() >= 60, "{} behaviours", names.len());
    let mut failed = Vec::new();
    for behaviour in &behaviours {
        let outcome = std::panic::catch_unwind(|| run(behaviour));
        if outcome.is_err() {
            failed.push(behaviour.name);
        }
    }
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), names.len());
}
