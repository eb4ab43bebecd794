//! Two gateways that trade with each other at taut's own venue, which speaks as another one does.

mod added;

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::rc::Rc;
use std::sync::Mutex;

use taut_fix::{CompId, Now};
use taut_gateway::{
    CopyReader, CopyReaderSettings, OpenOrder, OrderHandler, PositionDifference, PositionOutcome,
    Regions,
};
use taut_io::EpollKernel;
use taut_ipc::Segment;
use taut_market_data::{Batch, Event, EventKind, FeedHandler, LevelPlace};
use taut_oms::{KillCause, KillScope, OrderState};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, utc, wait_readable};
use taut_testkit::{DEADLINE, Deadline, Draw, Random, until};
use taut_types::{AccountId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};
use taut_venue::{FeedOutput, Flow, Venue, VenueConfig, VenueSockets};
use taut_web_venue::{Door, DoorConfig, Faults, Faulty, Front};

use crate::hands::{Hands, Running};
pub use added::{an_instrument_that_is_added_is_followed_and_traded, risk_for};

type OpenVenue<F> = Venue<EpollKernel, Door<Faulty<F>>>;

const IT: InstrumentId = InstrumentId(0);
/// Half a dollar.
const TICK: Price = Price(500_000_000);
const DOLLAR: i64 = 1_000_000_000;
const AROUND: Price = Price(43_000_000_000_000);

/// Where nobody looks.
pub const FAR: Price = Price(30_000_000_000_000);
/// Faults pause when nobody can trade for so long.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// How often somebody asks for something under faults.
const ROUNDS: u32 = 100;
/// So many fills are too few to say anything.
const FILLS: u64 = 5;
/// More than a test has.
const SEEDS: u64 = 1_000;
/// How long a round in which nobody worked waits for the next.
const REST: Nanos = Nanos::from_micros(200);

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

    /// The request that leaves an order of the maker's, of a lot, and what its answer has.
    fn maker_order(side: Side, dollars: u32) -> (String, &'static str);

    /// The request that changes the book at [`FAR`].
    fn stir() -> String {
        Self::maker_order(Side::Buy, (FAR.0 / DOLLAR) as u32).0
    }

    /// How often that is sent while somebody is not ready: nothing comes of a market in which
    /// nothing happens.
    const STIRRED: Nanos;

    /// The gateway of a member, 0 or 1.
    fn gateway<'m>(
        at: Ports,
        member: usize,
        hands: &Rc<RefCell<Hands>>,
        regions: &Regions<'m>,
    ) -> Running<'m, Self::Feed, Self::Orders>;
}

/// The venue, where it listens, and the socket that its own feed goes to.
fn open<L: Language>() -> (OpenVenue<L::Front>, Ports, Socket) {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let unread = Socket::datagram(&Address::Inet(local), &DatagramOptions::default());
    let unread = unread.expect("a socket");
    let Address::Inet(to) = unread.local_address().expect("its address") else { panic!() };
    let sender = || {
        let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
        Socket::datagram(&Address::Inet(local), &options).expect("a socket").into()
    };
    let (incremental, snapshot) = (sender(), sender());
    let feed = FeedOutput { incremental, incremental_b: None, snapshot, retransmission: None };
    let orders = Socket::listen(&Address::Inet(local), &StreamOptions::default());
    let comp_id = CompId::new(b"VENUE").expect("a name");
    let mut config = VenueConfig::new(L::instruments(), comp_id, 1);
    // Whoever stirs the book for a while leaves an order each time.
    (config.order_capacity, config.level_capacity) = (1 << 16, 256);
    let (plain, fix) = (vec![local], vec![local]);
    let door = DoorConfig { plain, fix, connections_max: 16, ..DoorConfig::default() };
    config.observer_sources = Door::<Faulty<L::Front>>::sources(&door);
    let sockets = VenueSockets { orders: orders.expect("a listener").into(), feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::None).expect("a venue");
    let front = Faulty::new(L::front(), Faults::default());
    let venue = venue.with_observer(Door::new(front, door)).expect("a door");
    let &[SocketAddr::V4(web), SocketAddr::V4(fix)] = venue.observer().addresses() else {
        panic!()
    };
    (venue, Ports { web, fix }, unread)
}

/// What the maker leaves in the book, so that there is a price to be near to: nobody trades there.
const MAKER: [(Side, Price); 2] =
    [(Side::Buy, Price(42_000_000_000_000)), (Side::Sell, Price(44_000_000_000_000))];

/// Has the maker leave its orders, a lot each.
fn make_a_market<L: Language>(venue: &mut OpenVenue<L::Front>, at: SocketAddrV4) {
    let mut stream = TcpStream::connect(at).expect("connected");
    stream.set_nonblocking(true).expect("a flag");
    let mut rests = "";
    for (side, dollars) in [(Side::Buy, 42_000), (Side::Sell, 44_000)] {
        let (request, answer) = L::maker_order(side, dollars);
        stream.write_all(request.as_bytes()).expect("room in the kernel");
        rests = answer;
    }
    let (mut said, mut bytes) = (String::new(), [0; 4_096]);
    until("the maker's orders rest", DEADLINE, || {
        venue.poll(Now { mono: monotonic(), utc: utc() }).expect("the venue goes on");
        match stream.read(&mut bytes) {
            Ok(count) => said += &String::from_utf8_lossy(&bytes[..count]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{said}"),
        }
        assert!(!said.contains("\"error\"") && !said.contains("\"msg\""), "{said}");
        said.matches(rests).count() == 2
    });
}

/// The venue and its two members.
struct World<'m, L: Language> {
    at: Ports,
    /// Who changes the book, and when it was changed.
    stirring: Option<(TcpStream, Nanos)>,
    venue: OpenVenue<L::Front>,
    gateways: [Running<'m, L::Feed, L::Orders>; 2],
    hands: [Rc<RefCell<Hands>>; 2],
}

impl<L: Language> World<'_, L> {
    fn poll(&mut self) {
        let is_due = self.stirring.as_ref().is_none_or(|it| monotonic().since(it.1) > L::STIRRED);
        if is_due && !self.are_ready() {
            let mut stream = TcpStream::connect(self.at.web).expect("connected");
            stream.write_all(L::stir().as_bytes()).expect("room in the kernel");
            self.stirring = Some((stream, monotonic()));
        }
        let now = Now { mono: monotonic(), utc: utc() };
        let mut has_worked = self.venue.poll(now).expect("the venue goes on");
        for gateway in &mut self.gateways {
            has_worked |= gateway.poll().expect("a gateway goes on");
            gateway.housekeeping().expect("a gateway goes on");
        }
        if !has_worked {
            // PACE: nobody has anything to do before a timer; whoever tests beside gets the CPU.
            let _ = wait_readable(&[], Some(REST));
        }
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Deadline::default();
        while !is_so(self) {
            self.poll();
            deadline.check(what, || {
                let of = |gateway: &Running<'_, _, _>| {
                    let stale: Vec<_> = gateway.stale_books().map(|(_, why)| why).collect();
                    format!("{:?} {stale:?} {:?}", gateway.refusals(), gateway.counters())
                };
                let gateways = self.gateways.each_ref().map(of);
                let books = Side::BOTH.map(|side| {
                    let seen = [0, 1].map(|member| self.levels(member, side));
                    format!("{side:?}: expected {:?}, seen {seen:?}", self.expected(side))
                });
                let ready = self.gateways.each_ref().map(|gateway| gateway.is_ready());
                let positions = self.positions();
                format!(
                    "{ready:?} {positions:?} {books:?} {gateways:?} {:?} {:?}",
                    self.orders(),
                    self.venue.counters()
                )
            });
        }
    }

    fn set_faults(&mut self, faults: Faults) {
        self.venue.observer_mut().front_mut().set_faults(faults);
    }

    /// Waits until both may trade. A lost answer costs a session its time-outs, and both sessions
    /// of both members have to stand at one moment: when that takes long, the faults pause until
    /// they do.
    fn until_ready(&mut self, faults: &mut Faults) {
        let calm_from = monotonic() + PATIENCE;
        let may_go_on = |it: &Self| it.are_ready() || monotonic() >= calm_from;
        self.until("both are ready, or the faults pause", may_go_on);
        if !self.are_ready() {
            self.set_faults(Faults::default());
            self.until("both are ready", Self::are_ready);
            // They go on, and do not begin again.
            faults.seed += SEEDS;
            self.set_faults(*faults);
        }
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

    /// The fills that both were told of.
    fn fills(&self) -> u64 {
        self.gateways.iter().map(|gateway| gateway.counters().fills).sum()
    }

    fn positions(&self) -> [i64; 2] {
        self.gateways.each_ref().map(|gateway| gateway.position(IT).0)
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
}

/// Runs a day of both members.
fn day<L: Language>(day: impl FnOnce(&mut World<'_, L>)) {
    let segments = [0, 1].map(|_| Segment::create("web-venue", &Regions::LAYOUT).expect("one"));
    let regions = segments.each_ref().map(|segment| Regions::of(segment).expect("regions"));
    let (mut venue, at, _unread) = open::<L>();
    make_a_market::<L>(&mut venue, at.web);
    let hands = [0, 1].map(|_| Rc::new(RefCell::new(Hands::default())));
    let gateways = [0, 1].map(|member| L::gateway(at, member, &hands[member], &regions[member]));
    let mut world = World { at, stirring: None, venue, gateways, hands: hands.clone() };
    world.until("both are ready", World::are_ready);
    day(&mut world);
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
pub fn a_trade_by_hand_is_found_by_comparing_positions<L: Language>(request: &str) {
    day::<L>(|world| {
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("an order rests", |it| {
            it.levels(0, Side::Sell)[0] == (AROUND, Lots(2)) && it.books_are_right()
        });
        let made = world.gateways[0].position_comparisons().made;
        assert!(made > 0, "they were compared at the logon");
        let mut by_hand = TcpStream::connect(world.at.web).expect("connected");
        by_hand.write_all(request.as_bytes()).expect("room in the kernel");
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

/// What the reader of drop copies said.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tell(words: &str) {
    SAID.lock().expect("nobody panics with it").push(words.to_owned());
}

/// A trades, and hears of it from the venue's drop copies, too, a tenth of a second later.
pub fn copies_say_what_the_session_said<L: Language>(
    settings: impl FnOnce(Ports, fn(&str)) -> CopyReaderSettings,
) {
    let mut reading = None;
    day::<L>(|world| {
        let (copies, reader) = CopyReader::open(settings(world.at, tell)).expect("a reader");
        world.gateways[0].read_drop_copies(copies);
        reading = Some(std::thread::spawn(move || reader.run()));
        let is_up = || {
            let said = SAID.lock().expect("nobody panics with it");
            said.iter().any(|words| words == "drop copies of the venue are read")
        };
        world.until("the venue lets the reader in", |_| is_up());
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", |it| {
            it.levels(1, Side::Buy)[0] == (AROUND, Lots(5)) && it.books_are_right()
        });
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("two lots traded", |it| it.positions() == [2, -2] && it.books_are_right());
        world.hands[0].borrow_mut().cancels.push(world.orders()[0][0].id);
        world.until("it is cancelled", |it| it.is_nothing_open());
        // The order, its trade and its end.
        world.until("all of it is copied", |it| it.gateways[0].counters().drop_copies_read == 3);
        let counters = world.gateways[0].counters();
        assert_eq!((counters.drop_copy_corrections, counters.fills), (0, 1));
        assert_eq!((counters.foreign_reports, counters.troubles), (0, 0));
        assert_eq!(world.positions(), [2, -2]);
    });
    // The gateway is gone.
    let reading = reading.expect("a thread").join().expect("it does not panic");
    reading.expect("it ends well");
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
        let (before, killed_at) = (world.gateways[0].counters(), monotonic());
        world.gateways[0].kill(KillScope::All, KillCause::Command).expect("a cancel");
        world.until("one order is open", |it| {
            it.orders().map(|of| of.len()) == [0, 1] && it.books_are_right()
        });
        let after = world.gateways[0].counters();
        let [expired, cancels] = [after.expired - before.expired, after.cancels - before.cancels];
        assert_eq!(expired + cancels, MANY as u64);
        // After half a second each is cancelled by itself, if this machine had no time before.
        if monotonic().since(killed_at) < Nanos::from_millis(400) {
            assert_eq!(after.cancel_requests, before.cancel_requests, "one for them all");
        }
        // One order alone is cancelled as ever.
        world.hands[1].borrow_mut().cancels.push(world.orders()[1][0].id);
        world.until("nothing is open", |it| it.is_nothing_open() && it.books_are_right());
        assert_eq!(world.gateways[1].counters().cancels, 1);
    });
}

/// Both ask for this and that on a bad day; in the end they, their books and the venue agree.
pub fn under_faults_all_agree_in_the_end<L: Language>(mut faults: Faults, mut random: Random) {
    day::<L>(|world| {
        world.set_faults(faults);
        let mut round = 0;
        // Some seeds trade seldom.
        while round < ROUNDS || (world.fills() <= FILLS && round < 10 * ROUNDS) {
            round += 1;
            // Now and then somebody asks while there is no session.
            if random.below(8) > 0 {
                world.until_ready(&mut faults);
            }
            ask(world, &mut random);
            for _ in 0..random.below(40) {
                world.poll();
            }
        }
        world.set_faults(Faults::default());
        world.until("both have asked", |it| it.hands.iter().all(|its| its.borrow().have_asked()));
        // A gateway looks at its client's requests once a poll.
        world.poll();
        world.until("both are ready, and no outcome is unknown", |it| {
            let is_known = |order: &OpenOrder| order.state == OrderState::Working;
            it.orders().iter().flatten().all(is_known) && it.books_are_right()
        });
        // An order may be known to be done before its last trade has been asked about.
        world.until("what one bought the other sold", |it| it.positions().iter().sum::<i64>() == 0);
        let counters = world.gateways.each_ref().map(|gateway| gateway.counters());
        let fills = world.fills();
        let orders = counters.map(|it| it.orders).iter().copied().min();
        let injected = world.venue.observer().front().injected;
        assert!(
            fills > FILLS && orders > Some(10) && injected > 10,
            "{fills} {orders:?} {injected}"
        );
        // A cancel that was asked for before may be lost yet: what is killed is cancelled again.
        for gateway in &mut world.gateways {
            gateway.kill(KillScope::All, KillCause::Command).expect("cancels");
        }
        world.until("nothing is open", |it| it.is_nothing_open() && it.books_are_right());
        world.until("what one bought the other sold", |it| it.positions().iter().sum::<i64>() == 0);
    });
}

/// Something that a strategy may do.
fn ask<L: Language>(world: &World<'_, L>, random: &mut Random) {
    let member = random.below(2) as usize;
    let mut hands = world.hands[member].borrow_mut();
    let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
    let (ticks, lots) = (random.below(9) as i64 - 4, random.below(5) as i64 + 1);
    let open = &world.orders()[member];
    let other = open.get(random.below(open.len().max(1) as u64) as usize);
    match (random.below(4), other) {
        (0, Some(order)) => hands.cancels.push(order.id),
        (1, Some(order)) => {
            let terms = limit(order.terms.side, ticks, order.terms.lots.0 + lots);
            hands.modifies.push((order.id, terms));
        }
        _ => hands.creates.push(limit(side, ticks, lots)),
    }
}
