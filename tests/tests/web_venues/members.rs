//! Two gateways that trade with each other at taut's own venue, which speaks as another one does.

mod added;
mod breaks;
mod copies;
mod schedule;

use std::cell::RefCell;
use std::net::{SocketAddr, SocketAddrV4};
use std::rc::Rc;

use taut_fix::{CompId, Now};
use taut_gateway::{OpenOrder, OrderHandler, PositionDifference, PositionOutcome, Regions};
use taut_io::{Kernel, SimConfig};
use taut_ipc::Segment;
use taut_market_data::{Batch, Event, EventKind, FeedHandler, LevelPlace};
use taut_oms::{KillCause, KillScope, OrderState};
use taut_sys::Clock;
use taut_types::{AccountId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};
use taut_venue::{Flow, Venue, VenueConfig};
use taut_web_venue::{Door, DoorConfig, Faults, Faulty, Front, HttpRequest};

use crate::hands::{Hands, Running};
use crate::machine::{Machine, Virtual};
pub use added::{an_instrument_that_is_added_is_followed_and_traded, risk_for};
pub use breaks::*;
pub use copies::copies_say_what_the_session_said;
pub use schedule::{Outcome, under_faults_all_agree_at_every_rest};

type OpenVenue<F, K> = Venue<K, Door<Faulty<F>>>;

const IT: InstrumentId = InstrumentId(0);
/// Half a dollar.
const TICK: Price = Price(500_000_000);
const DOLLAR: i64 = 1_000_000_000;
const AROUND: Price = Price(43_000_000_000_000);

/// Where nobody looks.
pub const FAR: Price = Price(30_000_000_000_000);
/// How long something may take to come about.
const PATIENCE: Nanos = Nanos::from_secs(180);
/// Connections that the venue takes at a time.
const CONNECTIONS: usize = 16;
/// What a member may leave unread before it is cut off.
const UNREAD_BYTES_MAX: usize = 256 << 10;
/// The connection of requests that nobody waits for the answer of.
const NOBODY: u64 = u64::MAX;

/// Where a venue listens.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// HTTP and WebSocket.
    pub web: SocketAddrV4,
    /// FIX, where the venue speaks it.
    pub fix: SocketAddrV4,
}

/// A venue's language, on both sides.
pub trait Language {
    type Front: Front;
    type Feed: FeedHandler;
    type Orders: OrderHandler;

    /// What is traded: in steps of half a dollar, around 43,000.
    fn instrument() -> Instrument;

    /// What the venue lists, that first.
    fn instruments() -> Vec<Instrument> {
        vec![Self::instrument()]
    }

    /// The venue's interface, with a market in it and members `one`, `two` and `maker`.
    fn front() -> Self::Front;

    /// The request, made at this time of the venue's, that leaves an order of the maker's of a lot.
    fn maker_order(utc: Nanos, side: Side, dollars: u32) -> HttpRequest;

    /// The requests that change the book at [`FAR`].
    fn stir(utc: Nanos) -> Vec<HttpRequest> {
        vec![Self::maker_order(utc, Side::Buy, (FAR.0 / DOLLAR) as u32)]
    }

    /// How often these are sent while somebody is not ready: nothing comes of a market in which
    /// nothing happens.
    const STIRRED: Nanos;

    /// The lots that a member has bought at the venue since the day began, less those sold.
    fn held(front: &Self::Front, member: usize) -> i64;

    /// The gateway of a member, 0 or 1.
    fn gateway<'m, K: Kernel>(
        on: (K, Clock),
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, K, Self::Feed, Self::Orders>;
}

/// The venue, and where it listens.
fn open<L: Language, M: Machine>(
    machine: &mut M,
    kernel: M::Kernel,
    unread_bytes_max: usize,
) -> (OpenVenue<L::Front, M::Kernel>, Ports) {
    let comp_id = CompId::new(b"VENUE").expect("a name");
    let mut config = VenueConfig::new(L::instruments(), comp_id, 1);
    // Whoever stirs the book for a while leaves an order each time.
    (config.order_capacity, config.level_capacity) = (1 << 16, 256);
    // What the loop takes of what nobody reads.
    config.pending_bytes_max = unread_bytes_max;
    let [plain, fix] = machine.doors();
    let door = DoorConfig {
        plain: vec![plain],
        fix: vec![fix],
        connections_max: CONNECTIONS,
        unread_bytes_max,
        ..DoorConfig::default()
    };
    config.observer_sources = Door::<Faulty<L::Front>>::sources(&door);
    let venue = Venue::on_kernel(kernel, &config, machine.venue_sockets(), Flow::None);
    let front = Faulty::new(L::front(), Faults::default());
    let venue = venue.expect("a venue").with_observer(Door::new(front, door)).expect("a door");
    let &[SocketAddr::V4(web), SocketAddr::V4(fix)] = venue.observer().addresses() else {
        panic!()
    };
    (venue, Ports { web, fix })
}

/// What the maker leaves in the book, so that there is a price to be near to: nobody trades there.
const MAKER: [(Side, Price); 2] =
    [(Side::Buy, Price(42_000_000_000_000)), (Side::Sell, Price(44_000_000_000_000))];

/// The venue and its two members.
struct World<'m, L: Language, M: Machine = Virtual> {
    machine: M,
    at: Ports,
    /// When the book was changed last for somebody who is not ready.
    stirred: Option<Nanos>,
    venue: OpenVenue<L::Front, M::Kernel>,
    gateways: [Running<'m, M::Kernel, L::Feed, L::Orders>; 2],
    hands: [Rc<RefCell<Hands>>; 2],
    /// Nobody runs there before then: the venue, the members.
    asleep_until: [Nanos; 3],
    /// How far their UTC is off.
    utc_off: [Nanos; 3],
}

impl<L: Language, M: Machine> World<'_, L, M> {
    fn now(&self) -> Nanos {
        self.machine.now().mono
    }

    /// Everybody who is awake has a turn, and time passes.
    fn turn(&mut self) {
        let is_due = self.stirred.is_none_or(|last| self.now().since(last) > L::STIRRED);
        if is_due && !self.are_ready() {
            self.stirred = Some(self.now());
            self.requests(L::stir);
        }
        let Now { mono, utc } = self.machine.now();
        let is_awake = self.asleep_until.map(|until| mono >= until);
        let mut has_worked = false;
        if is_awake[0] {
            let now = Now { mono, utc: utc + self.utc_off[0] };
            has_worked |= self.venue.poll(now).expect("the venue goes on");
        }
        for (member, gateway) in self.gateways.iter_mut().enumerate() {
            if is_awake[1 + member] {
                has_worked |= self.machine.poll(gateway, self.utc_off[1 + member]);
            }
        }
        self.machine.pass(has_worked);
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = self.now() + PATIENCE;
        while !is_so(self) {
            self.turn();
            assert!(self.now() < deadline, "did not happen: {what}\n{}", self.told());
        }
    }

    /// For whoever looks at a seed that failed.
    fn told(&self) -> String {
        let of = |gateway: &Running<'_, _, _, _>| {
            let stale: Vec<_> = gateway.stale_books().map(|(_, why)| why).collect();
            let (ready, killed) = (gateway.is_ready(), gateway.killed().count());
            let (refusals, counters) = (gateway.refusals(), gateway.counters());
            format!("ready {ready} stale {stale:?} killed {killed} {refusals:?} {counters:?}")
        };
        let gateways = self.gateways.each_ref().map(of);
        let books = Side::BOTH.map(|side| {
            let seen = [0, 1].map(|member| self.levels(member, side));
            format!("{side:?}: expected {:?}, seen {seen:?}", self.expected(side))
        });
        let faults = self.venue.observer().front().faults();
        let held = (self.positions(), self.held_at_venue());
        let (orders, venue) = (self.orders(), self.venue.counters());
        format!("{faults}\nheld {held:?}\n{books:#?}\n{gateways:#?}\n{orders:?}\n{venue:?}")
    }

    /// Has requests served that are made at the venue's time.
    fn requests(&mut self, requests: impl FnOnce(Nanos) -> Vec<HttpRequest>) {
        let Now { mono, utc } = self.machine.now();
        let front = self.venue.observer_mut().front_mut();
        let utc = utc + self.utc_off[0];
        for request in requests(utc + front.skew()) {
            front.request(Now { mono, utc }, NOBODY, request);
        }
    }

    /// What the venue speaks.
    fn front(&self) -> &L::Front {
        self.venue.observer().front().front()
    }

    fn set_faults(&mut self, faults: Faults) {
        self.venue.observer_mut().front_mut().set_faults(faults);
    }

    fn are_ready(&self) -> bool {
        self.gateways.iter().all(Running::is_ready)
    }

    /// The orders that are open as their gateways know, member by member.
    fn orders(&self) -> [Vec<OpenOrder>; 2] {
        self.gateways.each_ref().map(|gateway| {
            let mut orders = Vec::new();
            gateway.visit_orders(|order| orders.push(*order));
            orders
        })
    }

    fn positions(&self) -> [i64; 2] {
        self.gateways.each_ref().map(|gateway| gateway.position(IT).0)
    }

    fn held_at_venue(&self) -> [i64; 2] {
        [0, 1].map(|member| L::held(self.front(), member))
    }

    /// Connections of both that have ended, for orders and for market data.
    fn disconnects(&self) -> u64 {
        let of = |gateway: &Running<'_, M::Kernel, L::Feed, L::Orders>| {
            let counters = gateway.counters();
            counters.disconnects + counters.stream_disconnects
        };
        self.gateways.iter().map(of).sum()
    }

    /// The levels of a side as a member sees them.
    fn levels(&self, member: usize, side: Side) -> Vec<(Price, Lots)> {
        let book = self.gateways[member].book(IT).expect("a book");
        let levels = (0..).map_while(|depth| book.level(side, depth));
        levels.map(|it| (it.price, it.lots)).filter(|it| it.0 != FAR).collect()
    }

    /// The levels of a side that the open orders of both come to.
    fn expected(&self, side: Side) -> Vec<(Price, Lots)> {
        let of_maker = MAKER.into_iter().filter(|it| it.0 == side).map(|it| (it.1, Lots(1)));
        let mut levels: Vec<(Price, Lots)> = of_maker.collect();
        for order in self.orders().iter().flatten().filter(|order| order.terms.side == side) {
            match levels.iter_mut().find(|level| level.0 == order.terms.price) {
                Some(level) => level.1 = Lots(level.1.0 + order.lots_open.0),
                None => levels.push((order.terms.price, order.lots_open)),
            }
        }
        levels.sort_by_key(|level| if side == Side::Buy { -level.0.0 } else { level.0.0 });
        levels
    }

    fn books_are_right(&self) -> bool {
        self.are_ready()
            && [Side::Buy, Side::Sell].iter().all(|side| {
                let expected = self.expected(*side);
                (0..2).all(|member| self.levels(member, *side) == expected)
            })
    }

    fn is_nothing_open(&self) -> bool {
        self.orders().iter().all(Vec::is_empty)
    }

    /// Whether nobody waits for anything, and everybody has the same: orders, trades, books.
    fn is_at_rest(&self) -> bool {
        let is_known = |order: &OpenOrder| order.state == OrderState::Working;
        self.hands.iter().all(|its| its.borrow().have_asked())
            && self.orders().iter().flatten().all(is_known)
            && self.positions() == self.held_at_venue()
            && self.books_are_right()
    }
}

/// Runs a day of both members on such a machine, where a member is cut off that leaves so much
/// unread.
fn day_on<L: Language, M: Machine>(
    network: SimConfig,
    unread_bytes_max: usize,
    day: impl FnOnce(&mut World<'_, L, M>),
) {
    let segments = [0, 1].map(|_| Segment::create("web-venue", &Regions::LAYOUT).expect("one"));
    let regions = segments.each_ref().map(|segment| Regions::of(segment).expect("regions"));
    let (mut machine, [kernel, one, two]) = M::open(CONNECTIONS, network);
    let (venue, at) = open::<L, M>(&mut machine, kernel, unread_bytes_max);
    let hands = [0, 1].map(|_| Rc::new(RefCell::new(Hands::default())));
    let gateway = |kernel, member: usize| {
        let on = (kernel, machine.clock(Nanos::ZERO));
        L::gateway(on, at, member, &hands[member], &regions[member])
    };
    let gateways = [gateway(one, 0), gateway(two, 1)];
    let stirred = None;
    let (asleep_until, utc_off) = Default::default();
    let mut world = World {
        machine,
        at,
        stirred,
        venue,
        gateways,
        hands: hands.clone(),
        asleep_until,
        utc_off,
    };
    world.requests(|utc| {
        let order =
            |(side, price): (Side, Price)| L::maker_order(utc, side, (price.0 / DOLLAR) as u32);
        MAKER.map(order).into()
    });
    world.until("the maker's orders rest, and both are ready", World::books_are_right);
    day(&mut world);
}

/// Runs a day of both members on virtual time.
fn day<L: Language>(day: impl FnOnce(&mut World<'_, L>)) {
    // Frames come in parts.
    let network = SimConfig { window_bytes: 16 << 10, ..SimConfig::default() };
    day_on::<L, Virtual>(network, UNREAD_BYTES_MAX, day);
}

fn limit(side: Side, ticks: i64, lots: i64) -> OrderTerms {
    OrderTerms::limit(IT, side, Price(AROUND.0 + ticks * TICK.0), Lots(lots))
}

/// A rests, B takes a part, A changes the rest and cancels.
pub fn an_order_rests_trades_in_parts_is_changed_and_cancelled<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", |it| {
            it.levels(1, Side::Buy)[0] == (AROUND, Lots(5)) && it.books_are_right()
        });
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("two lots traded", |it| it.positions() == [2, -2] && it.books_are_right());
        let order = world.orders()[0][0];
        assert_eq!((order.lots_open, order.state), (Lots(3), OrderState::Working));
        world.hands[0].borrow_mut().modifies.push((order.id, limit(Side::Buy, -2, 9)));
        let changed = Price(AROUND.0 - 2 * TICK.0);
        world.until("the order is at another price", |it| {
            it.levels(1, Side::Buy)[0] == (changed, Lots(7)) && it.books_are_right()
        });
        world.hands[0].borrow_mut().cancels.push(order.id);
        world.until("it is cancelled", |it| it.is_nothing_open() && it.books_are_right());
        assert_eq!(world.positions(), [2, -2]);
        let fills = world.gateways.each_ref().map(|gateway| gateway.counters().fills);
        assert_eq!(fills, [1, 1]);
    });
}

/// A quotes: B is told the new top, then the change of the book and, beside it, the best levels.
pub fn tops_come_before_the_books_change_and_best_levels_beside_it<L: Language>() {
    let begins = |event: &Event| event.kind == EventKind::Begin(Batch::BestLevels);
    let quoted = Some((AROUND, Lots(5)));
    let is_top = |event: &Event| matches!(event.kind, EventKind::Top(top) if top.bid == quoted);
    let at = |event: &Event| match event.kind {
        EventKind::Level(level) if (level.price, level.lots) == (AROUND, Lots(5)) => {
            Some(level.place)
        }
        _ => None,
    };
    let is_beside = |event: &Event| at(event) == Some(LevelPlace::ByPrice);
    let is_of_book = |event: &Event| at(event) == Some(LevelPlace::Behind(0));
    day::<L>(|world| {
        world.hands[1].borrow_mut().market = Some(Vec::new());
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("best levels have the order, and the book has it", |it| {
            let hands = it.hands[1].borrow();
            let mut told = hands.market.iter().flatten();
            told.any(is_beside) && it.books_are_right()
        });
        let told = world.hands[1].borrow_mut().market.take().unwrap_or_default();
        let place = |is_it: &dyn Fn(&Event) -> bool| told.iter().position(is_it);
        assert!(place(&is_top) < place(&is_of_book), "{told:?}");
        assert_eq!(told.iter().filter(|event| is_top(event)).count(), 1, "{told:?}");
        // A batch is told whole, and is nothing of the book.
        let first = place(&is_beside).expect("it was told");
        let begun = told[..first].iter().rposition(begins).expect("its beginning");
        let kinds = || told[begun + 1..].iter().map(|event| event.kind);
        let levels = kinds().take_while(|kind| matches!(kind, EventKind::Level(_))).count();
        assert_eq!(kinds().nth(levels), Some(EventKind::End { is_final: true }), "{told:?}");
        assert_eq!(world.gateways[1].counters().malformed, 0);
    });
}

/// Somebody trades in A's account by hand, with this request: no order of the gateway's.
pub fn a_trade_by_hand_is_found_by_comparing_positions<L: Language>(request: &HttpRequest) {
    day::<L>(|world| {
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("an order rests", |it| {
            it.levels(0, Side::Sell)[0] == (AROUND, Lots(2)) && it.books_are_right()
        });
        let made = world.gateways[0].position_comparisons().made;
        assert!(made > 0, "they were compared at the logon");
        world.requests(|_| vec![request.clone()]);
        world.until("what the account holds is told", |it| {
            it.gateways[0].position_comparisons().made > made
        });
        let differs = PositionDifference {
            account: AccountId(0),
            instrument: IT,
            own: Lots(0),
            venue: Lots(1),
            outcome: PositionOutcome::Reported,
        };
        assert_eq!(world.gateways[0].position_comparisons().last, [differs]);
        // The other side of the trade was the gateway's own.
        world.until("it traded", |it| it.positions() == [0, -1]);
        assert_eq!(world.gateways[1].position_comparisons().differences, 0);
    });
}

/// A has many orders and is killed; B's order stays.
pub fn one_request_ends_all_orders_of_an_account_and_of_no_other<L: Language>() {
    const MANY: i64 = 40;
    day::<L>(|world| {
        world.hands[1].borrow_mut().creates.push(limit(Side::Buy, -1, 3));
        let orders = (1..=MANY).map(|below| limit(Side::Buy, -below, 1));
        world.hands[0].borrow_mut().creates.extend(orders);
        world.until("all orders rest", |it| {
            it.orders().map(|of| of.len()) == [MANY as usize, 1] && it.books_are_right()
        });
        let before = world.gateways[0].counters();
        world.gateways[0].kill(KillScope::All, KillCause::Command).expect("a cancel");
        world.until("one order is open", |it| {
            it.orders().map(|of| of.len()) == [0, 1] && it.books_are_right()
        });
        let after = world.gateways[0].counters();
        let [expired, cancels] = [after.expired - before.expired, after.cancels - before.cancels];
        assert_eq!(expired + cancels, MANY as u64);
        assert_eq!(after.cancel_requests, before.cancel_requests, "one for them all");
        // One order alone is cancelled as ever.
        world.hands[1].borrow_mut().cancels.push(world.orders()[1][0].id);
        world.until("nothing is open", |it| it.is_nothing_open() && it.books_are_right());
        assert_eq!(world.gateways[1].counters().cancels, 1);
    });
}
