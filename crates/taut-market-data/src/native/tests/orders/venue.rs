//! The sending side: books of orders, the feed's packets, and a snapshot cycle.

use std::collections::HashMap;
use std::vec::Vec;

use taut_book::{LevelBook, Order, OrderBook};
use taut_testkit::{Draw, Random};
use taut_types::{HalfTicks, Instrument, Lots, Nanos, OrderId, SequenceNumber, Side};

use super::super::many::STREAM;
use super::hash;
use crate::event::{BookOrder, EventKind, LevelPlace, LevelUpdate, ReduceReason, TradingStatus};
use crate::feed::{RetransmitConfig, RetransmitServer};
use crate::native::*;

const UTC: Nanos = Nanos(1);

pub(super) struct Venue {
    pub(super) instruments: Vec<Instrument>,
    pub(super) books: Vec<OrderBook>,
    /// The hashes of levels and orders of each book after each transaction, by its last packet.
    pub(super) history: HashMap<u64, Vec<(u64, u64)>>,
    /// Those of now.
    hashes: Vec<(u64, u64)>,
    pub(super) writer: TransactionWriter,
    pub(super) server: RetransmitServer,
    snapshot: SnapshotWriter,
    snapshot_of: usize,
    snapshot_next: Option<usize>,
    pub(super) random: Random,
    next_id: u64,
    /// About so many orders rest in a book.
    pub(super) order_count: usize,
    /// Whether its snapshots list single orders.
    pub(super) has_order_lists: bool,
}

impl Venue {
    pub(super) fn new(instruments: &[Instrument], seed: u64) -> Self {
        let server = RetransmitConfig { packet_count: 512, ..RetransmitConfig::default() };
        let mut new = Self {
            instruments: instruments.to_vec(),
            books: instruments.iter().map(|_| OrderBook::with_capacity(4_096, 128)).collect(),
            history: HashMap::new(),
            hashes: Vec::new(),
            writer: TransactionWriter::new(STREAM),
            server: RetransmitServer::new(server, STREAM),
            snapshot: SnapshotWriter::with_capacity(STREAM, 512, 4_096),
            snapshot_of: 0,
            snapshot_next: None,
            random: Random::with_seed(seed),
            next_id: 1,
            order_count: 150,
            has_order_lists: true,
        };
        new.hashes = (0..instruments.len()).map(|at| new.hashes_of(at)).collect();
        new.history.insert(0, new.hashes.clone());
        new
    }

    /// Of the levels and of the orders of a book.
    fn hashes_of(&self, at: usize) -> (u64, u64) {
        let (instrument, book) = (&self.instruments[at], &self.books[at]);
        let mut levels = LevelBook::with_capacity(256);
        for level in levels_of(instrument, book) {
            levels.apply(level.side, level.price, level.lots, level.order_count).unwrap();
        }
        let mut orders: Vec<_> = orders_of(instrument, book).collect();
        // Stable: those of a price stay in the order of their priority.
        orders.sort_by_key(|order| (order.side as u8, order.price));
        let orders = orders.iter().map(|it| (it.side as u8, it.price, it.order_id, it.lots));
        (levels.state_hash(), hash(orders))
    }

    /// Changes orders of a few books, or many of one, as one transaction.
    pub(super) fn transact(&mut self) -> Vec<Vec<u8>> {
        let changes = if self.random.per_mille(50) { 80 } else { 1 + self.random.below(5) };
        let mut told = Vec::new();
        for _ in 0..changes {
            let at = self.random.below(self.books.len() as u64) as usize;
            let (side, price, kind) = self.change(at);
            let mut both = [(at, kind), (at, self.level(at, side, price))];
            if self.random.per_mille(300) {
                both.reverse();
            }
            told.extend(both);
        }
        self.publish(&told)
    }

    /// Sends changes that were made as one transaction.
    pub(super) fn publish(&mut self, told: &[(usize, EventKind)]) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let Self { writer, server, instruments, .. } = self;
        let send = &mut |sequence: SequenceNumber, packet: &[u8]| {
            server.store(sequence, packet);
            packets.push(packet.to_vec());
            Ok::<(), ()>(())
        };
        for (at, kind) in told {
            writer.push_event(UTC, instruments[*at].id(), kind, send).unwrap();
        }
        assert_eq!(writer.end(UTC, send), Ok(true));
        let mut changed: Vec<_> = told.iter().map(|(at, _)| *at).collect();
        changed.sort_unstable();
        changed.dedup();
        changed.into_iter().for_each(|at| self.hashes[at] = self.hashes_of(at));
        self.history.insert(self.writer.sequence().0, self.hashes.clone());
        packets
    }

    fn price(&self, at: usize, price: HalfTicks) -> taut_types::Price {
        self.instruments[at].price(price).unwrap()
    }

    /// An order comes, becomes smaller, leaves, or joins the end of another queue.
    fn change(&mut self, at: usize) -> (Side, HalfTicks, EventKind) {
        let count = self.books[at].order_count();
        let wants_more = self.random.below(2 * self.order_count as u64) as usize >= count;
        let all = Side::BOTH.into_iter().flat_map(|side| self.books[at].orders(side));
        let all: Vec<Order> = all.collect();
        if all.is_empty() || wants_more {
            return self.add(at);
        }
        let order = self.random.pick(&all);
        let (order_id, side) = (order.id, order.side);
        if order.lots.0 > 1 && self.random.per_mille(400) {
            let by = Lots(1 + self.random.below(order.lots.0.unsigned_abs() - 1).cast_signed());
            let removal = self.books[at].reduce(order_id, by).unwrap();
            let (remaining, reason) = (removal.order.lots, ReduceReason::Execution);
            return (
                side,
                order.price,
                EventKind::OrderReduce { order_id, side, by, remaining, reason },
            );
        }
        self.books[at].remove(order_id).unwrap();
        (side, order.price, EventKind::OrderDelete { order_id, side })
    }

    pub(super) fn add(&mut self, at: usize) -> (Side, HalfTicks, EventKind) {
        let side = self.random.pick(&Side::BOTH);
        // Few prices: queues are long.
        let depth = self.random.below(12).cast_signed();
        let price = HalfTicks(2 * (1_000 - side.sign() * (depth + 1)));
        let (id, lots) = (OrderId(self.next_id), Lots(self.random.i64(1..50)));
        self.next_id += 1;
        self.books[at].add(Order { id, owner: 0, side, price, lots }).unwrap();
        let order =
            BookOrder { order_id: id, side, price: self.price(at, price), lots, priority: 0 };
        (side, price, EventKind::OrderAdd(order))
    }

    /// The level at a price as it is now.
    pub(super) fn level(&self, at: usize, side: Side, price: HalfTicks) -> EventKind {
        let level = self.books[at].level_at(side, price);
        let (lots, order_count) =
            level.map_or((Lots::ZERO, 0), |level| (level.lots, level.order_count));
        let (price, place) = (self.price(at, price), LevelPlace::ByPrice);
        EventKind::Level(LevelUpdate { side, price, lots, order_count, place })
    }

    pub(super) fn heartbeat(&mut self) -> Vec<u8> {
        self.writer.heartbeat(UTC).to_vec()
    }

    /// The next packet of the cycle.
    pub(super) fn snapshot(&mut self) -> Vec<u8> {
        let at = self.snapshot_of;
        let index = self.snapshot_next.unwrap_or(0);
        let Self { instruments, books, snapshot, writer, .. } = self;
        let (instrument, book) = (&instruments[at], &books[at]);
        if index == 0 {
            let (levels, orders) = (levels_of(instrument, book), orders_of(instrument, book));
            let orders = orders.take(if self.has_order_lists { usize::MAX } else { 0 });
            snapshot.capture(writer.sequence(), levels, orders);
        }
        let packet =
            snapshot.packet(index, UTC, &definition(instrument), TradingStatus::Trading).to_vec();
        let is_last = index + 1 == snapshot.packet_count();
        self.snapshot_next = (!is_last).then_some(index + 1);
        if is_last {
            self.snapshot_of = (at + 1) % self.books.len();
        }
        packet
    }
}

pub(super) fn definition(instrument: &Instrument) -> InstrumentDefinition {
    InstrumentDefinition {
        tick: instrument.tick(),
        lot_mantissa: instrument.lot().mantissa,
        instrument: instrument.id(),
        lot_decimals: instrument.lot().decimals,
        symbol: instrument.symbol(),
    }
}

pub(super) fn levels_of<'b>(
    instrument: &'b Instrument,
    book: &'b OrderBook,
) -> impl Iterator<Item = LevelUpdate> + 'b {
    Side::BOTH.into_iter().flat_map(move |side| {
        book.levels(side).map(move |level| LevelUpdate {
            side,
            price: instrument.price(level.price).unwrap(),
            lots: level.lots,
            order_count: level.order_count,
            place: LevelPlace::ByPrice,
        })
    })
}

pub(super) fn orders_of<'b>(
    instrument: &'b Instrument,
    book: &'b OrderBook,
) -> impl Iterator<Item = BookOrder> + 'b {
    Side::BOTH.into_iter().flat_map(move |side| {
        book.orders(side).map(move |order| BookOrder {
            order_id: order.id,
            side,
            price: instrument.price(order.price).unwrap(),
            lots: order.lots,
            priority: 0,
        })
    })
}
