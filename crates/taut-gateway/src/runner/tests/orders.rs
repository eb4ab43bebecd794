//! Single orders of the market: every strategy has the venue's queues, whenever it attaches and
//! however slowly it reads.

use std::collections::BTreeMap;

use taut_book::{Order, OrderBook};
use taut_market_data::{Batch, BestPrices, BookOrder, ReduceReason};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::{HalfTicks, OrderId, StrategyId, UserId};

use super::*;
use crate::fused::FusedClient;

const INSTRUMENTS: u32 = 3;
const STRATEGIES: usize = 4;
/// More events than the market ring holds.
const STEPS: u64 = 4_000;

/// By side and price, the orders in their priority.
type Queues = BTreeMap<(u8, Price), Vec<(OrderId, Lots)>>;

fn queues_of(instrument: &Instrument, book: &OrderBook) -> Queues {
    let mut queues = Queues::new();
    for order in Side::BOTH.into_iter().flat_map(|side| book.orders(side)) {
        let price = instrument.price(order.price).expect("a price");
        let queue = queues.entry((order.side as u8, price)).or_default();
        queue.push((order.id, order.lots));
    }
    queues
}

/// What a strategy has of the orders of an instrument, by the events alone.
#[derive(Debug, Default)]
struct Kept {
    is_sound: bool,
    is_listing: bool,
    /// Lists that ended, and those of them that said that the orders are not known.
    lists: u64,
    unknown: u64,
    /// While they are listed, those that have come.
    queues: Option<Queues>,
}

impl Kept {
    fn change(&mut self, side: Side, order_id: OrderId, left: Option<(Lots, Lots)>) {
        let queues = self.queues.as_mut().expect("a list before it");
        let mut of_side = queues.iter_mut().filter(|((of, _), _)| *of == side as u8);
        let (key, at) = of_side
            .find_map(|(key, queue)| Some((*key, queue.iter().position(|it| it.0 == order_id)?)))
            .expect("an order that is known");
        let queue = queues.get_mut(&key).expect("a queue");
        match left {
            Some((by, left)) => {
                assert_eq!(queue[at].1.0 - by.0, left.0);
                queue[at].1 = left;
            }
            None => _ = queue.remove(at),
        }
        if queue.is_empty() {
            queues.remove(&key);
        }
    }

    fn take(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::Book(soundness) => {
                self.is_sound = soundness == Soundness::Sound;
                (self.queues, self.is_listing) = (None, false);
            }
            EventKind::Begin(Batch::Orders) => {
                assert!(self.is_sound);
                (self.queues, self.is_listing) = (Some(Queues::new()), true);
            }
            EventKind::End { is_final } => {
                assert!(std::mem::take(&mut self.is_listing));
                self.lists += 1;
                if !is_final {
                    self.unknown += 1;
                    self.queues = None;
                }
            }
            EventKind::OrderAdd(order) => {
                let queues = self.queues.as_mut().expect("a list before it");
                let is_there = queues.values().flatten().any(|(id, _)| *id == order.order_id);
                assert!(!is_there, "{order:?}");
                let queue = queues.entry((order.side as u8, order.price)).or_default();
                queue.push((order.order_id, order.lots));
            }
            EventKind::OrderReduce { order_id, side, by, remaining, .. } => {
                self.change(side, order_id, Some((by, remaining)));
            }
            EventKind::OrderDelete { order_id, side } => self.change(side, order_id, None),
            _ => {}
        }
    }

    /// Where all of them have been told.
    fn whole(&self) -> Option<&Queues> {
        self.queues.as_ref().filter(|_| !self.is_listing)
    }
}

#[derive(Debug, Default)]
struct Keeper {
    kept: [Kept; INSTRUMENTS as usize],
    overtaken: u64,
    /// Events of single orders behind which no end of a batch has come.
    open: u64,
}

impl Strategy for Keeper {
    fn on_market(&mut self, _: Nanos, event: &Event, _: &mut impl Trading) {
        self.kept[event.instrument.0 as usize].take(&event.kind);
        self.open += u64::from(matches!(event.kind, EventKind::End { .. }));
    }

    fn on_batch_end(&mut self, _: Nanos, _: &mut impl Trading) {
        self.open = 0;
    }

    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, _: &mut impl Trading) {
        match event {
            GatewayEvent::Overtaken { .. } => self.overtaken += 1,
            GatewayEvent::DownloadBegin { .. } => self.kept = Default::default(),
            _ => {}
        }
    }
}

/// The venue's books of orders, of which the gateway knows some.
struct Market {
    random: Random,
    next_id: u64,
    known: Known,
}

impl Market {
    fn new(random: Random) -> Self {
        let mut known = Known::new(INSTRUMENTS);
        known.book.apply(Side::Buy, Price(2), Lots(1), 1).expect("room");
        let book = || (OrderBook::with_capacity(1_024, 64), true);
        known.book_orders = (0..INSTRUMENTS).map(|_| book()).collect();
        let mut market = Self { random, next_id: 1, known };
        (0..600).for_each(|_| market.change(&mut Vec::new()));
        market
    }

    /// How many books' orders the gateway knows.
    fn known(&self) -> usize {
        self.known.book_orders.iter().filter(|(_, is_known)| *is_known).count()
    }

    /// An order comes, becomes smaller or leaves; told where the gateway knows the orders.
    fn change(&mut self, told: &mut Vec<Event>) {
        let Self { random, next_id, known } = self;
        let at = random.below(u64::from(INSTRUMENTS)) as usize;
        let (book, is_known) = &mut known.book_orders[at];
        let count = book.order_count();
        let kind = if count < 50 || (count < 400 && random.per_mille(500)) {
            let side = random.pick(&Side::BOTH);
            let depth = random.below(10).cast_signed();
            let price = HalfTicks(100 - 2 * side.sign() * (depth + 1));
            let (id, lots) = (OrderId(*next_id), Lots(1 + random.below(9).cast_signed()));
            let owner = u32::try_from(*next_id).expect("few");
            *next_id += 1;
            book.add(Order { id, owner, side, price, lots }).expect("room");
            let price = known.instruments[at].price(price).expect("a price");
            EventKind::OrderAdd(BookOrder { order_id: id, side, price, lots, priority: 0 })
        } else {
            let mut all = Side::BOTH.into_iter().flat_map(|side| book.orders(side));
            let order = all.nth(random.below(count as u64) as usize).expect("an order");
            let Order { id: order_id, side, lots, .. } = order;
            drop(all);
            if lots.0 > 1 && random.per_mille(400) {
                let (by, reason) = (Lots(1), ReduceReason::Execution);
                book.reduce(order_id, by).expect("an order");
                let remaining = Lots(lots.0 - 1);
                EventKind::OrderReduce { order_id, side, by, remaining, reason }
            } else {
                book.remove(order_id).expect("an order");
                EventKind::OrderDelete { order_id, side }
            }
        };
        told.extend(is_known.then(|| of(at, kind)));
    }

    /// What a packet changes.
    fn packet(&mut self) -> Vec<Event> {
        let mut told = Vec::new();
        (0..1 + self.random.below(6)).for_each(|_| self.change(&mut told));
        let at = self.random.below(u64::from(INSTRUMENTS)) as usize;
        let (_, is_known) = &mut self.known.book_orders[at];
        let mut kinds = Vec::new();
        match (self.random.below(400), *is_known) {
            // There were too many.
            (0, true) => {
                *is_known = false;
                kinds.extend(list(false));
            }
            (1..=8, false) => {
                *is_known = true;
                kinds.extend(list(true));
            }
            // A gap, and what closed it.
            (9, known) => {
                kinds.push(EventKind::Book(Soundness::Stale(Staleness::Gap)));
                kinds.extend(sound());
                kinds.extend(list(known));
            }
            _ => {}
        }
        told.extend(kinds.into_iter().map(|kind| of(at, kind)));
        told
    }

    /// What a strategy has is what the venue has, where all of it was told; of how many books.
    fn check(&self, keeper: &Keeper, who: &str) -> usize {
        assert_eq!(keeper.open, 0, "{who}");
        let Known { book_orders, instruments, .. } = &self.known;
        let of = keeper.kept.iter().zip(book_orders).zip(instruments);
        let whole = of.filter_map(|((kept, (book, _)), instrument)| {
            let queues = kept.whole()?;
            assert!(*queues == queues_of(instrument, book), "{who}: {:?}", instrument.id());
            Some(())
        });
        whole.count()
    }
}

fn of(at: usize, kind: EventKind) -> Event {
    Event { instrument: InstrumentId(at as u32), ..event(kind) }
}

fn list(is_final: bool) -> [EventKind; 2] {
    [EventKind::Begin(Batch::Orders), EventKind::End { is_final }]
}

fn sound() -> [EventKind; 2] {
    [EventKind::Book(Soundness::Sound), EventKind::Top(BestPrices::default())]
}

#[test]
fn every_strategy_has_the_queues_whenever_it_attaches_and_after_it_was_overtaken() {
    for_each_seed(0..12, |_, random| {
        let clock = Clock::vdso();
        let segment = |layout: &[_]| Segment::create("taut-test", layout).expect("segment");
        let shared = segment(&Regions::LAYOUT);
        let regions = Regions::of(&shared).expect("regions");
        let own = [(); STRATEGIES].map(|()| segment(&StrategyRegions::LAYOUT));
        let own = own.each_ref().map(|own| StrategyRegions::of(own).expect("regions"));
        let mut hub = Hub::new(&regions).expect("a hub");
        let slots = own.each_ref().map(|own| hub.add_slot(own, None).expect("a slot"));
        let mut runners: [Option<StrategyRunner<'_, Keeper>>; STRATEGIES] = Default::default();
        let mut fused = FusedClient::new(Keeper::default());
        let mut market = Market::new(random);
        // The books become sound.
        for at in 0..INSTRUMENTS as usize {
            let kinds = sound().into_iter().chain(list(true));
            let events: Vec<_> = kinds.map(|kind| of(at, kind)).collect();
            fused.market(&clock, &market.known, TickStamps::NONE, &events);
            hub.market(&clock, &market.known, TickStamps::NONE, &events);
        }
        let mut caught_up = [0; STRATEGIES];
        for step in 0..STEPS {
            let events = market.packet();
            fused.market(&clock, &market.known, TickStamps::NONE, &events);
            hub.market(&clock, &market.known, TickStamps::NONE, &events);
            if step % 32 == 0 {
                assert_eq!(market.check(fused.strategy(), "fused"), market.known());
            }
            if market.random.per_mille(300) {
                hub.idle(&market.known, &clock);
                while hub.next_request().is_some() {}
            }
            for (at, runner) in runners.iter_mut().enumerate() {
                let Some(runner) = runner else {
                    // All of them come while the last one can still read.
                    if market.random.per_mille(10) || step == 200 {
                        let strategy = StrategyId(at as u8);
                        assert!(hub.attach(slots[at], Owner { user: UserId(0), strategy }));
                        let new = StrategyRunner::new(&regions, &own[at], None, Keeper::default());
                        *runner = Some(new.expect("a runner"));
                    }
                    continue;
                };
                // The last one sleeps for whole rings of events.
                if at + 1 == STRATEGIES && (300..STEPS - 100).contains(&step) {
                    continue;
                }
                if market.random.per_mille(50) {
                    while runner.poll(&clock) {}
                    caught_up[at] += market.check(runner.strategy(), "split");
                } else {
                    (0..market.random.below(30)).for_each(|_| _ = runner.poll(&clock));
                }
            }
        }
        for _ in 0..300 {
            hub.idle(&market.known, &clock);
            while hub.next_request().is_some() {}
            runners.iter_mut().flatten().for_each(|runner| while runner.poll(&clock) {});
        }
        for runner in runners.iter().flatten() {
            assert_eq!(market.check(runner.strategy(), "at the end"), market.known());
            let told = &runner.strategy().kept;
            assert!(told.iter().all(|kept| kept.is_sound));
        }
        assert!(caught_up[0] > 100, "{caught_up:?}");
        let last = runners[STRATEGIES - 1].as_ref().expect("it is there by now").strategy();
        assert!(last.overtaken > 0);
    });
}
