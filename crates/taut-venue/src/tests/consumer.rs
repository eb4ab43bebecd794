//! Consumers of the feed: one keeps price levels, one keeps orders.

use taut_book::{Fnv1a, LevelBook, Order, OrderBook};
use taut_market_data::EventKind;
use taut_market_data::feed::{
    FeedConfig, FeedState, Replay, Sequencer, SnapshotHead, SnapshotVerdict, Verdict,
};
use taut_market_data::native::{Message, PacketFlags, PacketReader};
use taut_types::{Side, Symbol};

use crate::tests::rig::{LEVELS, STREAM, instrument};

/// A book that is kept from messages.
pub trait Keeper {
    fn clear(&mut self);
    fn apply(&mut self, message: &Message<'_>);
    /// What a snapshot must list for it.
    fn units(begin: &taut_market_data::native::SnapshotBegin) -> u64;
    /// How many of it a part lists.
    fn part_units(message: &Message<'_>) -> Option<u64>;
}

impl Keeper for LevelBook {
    fn clear(&mut self) {
        Self::clear(self);
    }

    fn apply(&mut self, message: &Message<'_>) {
        match message {
            Message::Event(_, EventKind::Level(level)) => {
                Self::apply(self, level.side, level.price, level.lots, level.order_count)
                    .map(|_| ())
                    .expect("a level that is known");
            }
            Message::SnapshotLevels(part) => {
                for level in part.levels.iter() {
                    Self::apply(self, level.side, level.price, level.lots, level.order_count)
                        .expect("room");
                }
            }
            _ => {}
        }
    }

    fn units(begin: &taut_market_data::native::SnapshotBegin) -> u64 {
        u64::from(begin.level_count)
    }

    fn part_units(message: &Message<'_>) -> Option<u64> {
        match message {
            Message::SnapshotLevels(part) => Some(part.levels.len() as u64),
            _ => None,
        }
    }
}

impl Keeper for OrderBook {
    fn clear(&mut self) {
        Self::clear(self);
    }

    fn apply(&mut self, message: &Message<'_>) {
        let half_ticks = |price| instrument().half_ticks(price).expect("on the tick");
        match message {
            Message::Event(_, EventKind::OrderAdd(add)) => {
                let (id, side, price, lots) =
                    (add.order_id, add.side, half_ticks(add.price), add.lots);
                self.add(Order { id, owner: 0, side, price, lots }).expect("a new order");
            }
            Message::Event(_, EventKind::OrderReduce { order_id, by, remaining, .. }) => {
                let removal = self.reduce(*order_id, *by).expect("a known order");
                assert_eq!(removal.order.lots, *remaining);
            }
            Message::Event(_, EventKind::OrderDelete { order_id, .. }) => {
                self.remove(*order_id).expect("a known order");
            }
            Message::Event(_, EventKind::Level(update)) => {
                // Both descriptions of a transaction agree when it is over.
                let level = self.level_at(update.side, half_ticks(update.price));
                let (lots, count) = level.map_or((0, 0), |l| (l.lots.0, l.order_count));
                assert_eq!((lots, count), (update.lots.0, update.order_count));
            }
            Message::SnapshotOrders(part) => {
                for order in part.orders.iter() {
                    let (id, price) = (order.order_id, half_ticks(order.price));
                    let (side, lots) = (order.side, order.lots);
                    self.add(Order { id, owner: 0, side, price, lots }).expect("a new order");
                }
            }
            _ => {}
        }
    }

    fn units(begin: &taut_market_data::native::SnapshotBegin) -> u64 {
        u64::from(begin.order_count)
    }

    fn part_units(message: &Message<'_>) -> Option<u64> {
        match message {
            Message::SnapshotOrders(part) => Some(part.orders.len() as u64),
            _ => None,
        }
    }
}

pub struct Consumer<B> {
    pub feed: Sequencer,
    pub book: B,
    pub symbol: Option<Symbol>,
    pub heartbeats: u64,
}

pub fn level_consumer() -> Consumer<LevelBook> {
    Consumer::new(LevelBook::with_capacity(LEVELS * 8))
}

pub fn order_consumer() -> Consumer<OrderBook> {
    Consumer::new(OrderBook::with_capacity(1 << 13, 1 << 10))
}

impl<B: Keeper> Consumer<B> {
    pub fn new(book: B) -> Self {
        let config = FeedConfig { stream_id: Some(STREAM), ..FeedConfig::default() };
        Self { feed: Sequencer::new(config), book, symbol: None, heartbeats: 0 }
    }

    pub fn is_live_after(&self, sequence: u64) -> bool {
        self.feed.state() == FeedState::Live { next: taut_types::SequenceNumber(sequence + 1) }
    }

    pub fn on_increment(&mut self, datagram: &[u8]) {
        let header = PacketReader::new(datagram).expect("a packet").header();
        if header.flags.contains(PacketFlags::HEARTBEAT) {
            self.heartbeats += 1;
            self.feed.handle_heartbeat(header.stream_id, header.sequence);
            return;
        }
        let verdict = self.feed.handle_packet(header.stream_id, header.sequence, datagram);
        if verdict == Verdict::Apply {
            apply(&mut self.book, datagram);
        }
        self.replay();
    }

    pub fn on_snapshot(&mut self, datagram: &[u8]) {
        let reader = PacketReader::new(datagram).expect("a packet");
        let header = reader.header();
        assert!(header.flags.contains(PacketFlags::SNAPSHOT));
        let mut verdict = SnapshotVerdict::Ignored;
        for message in reader.messages() {
            let message = message.expect("a message");
            match &message {
                Message::SnapshotBegin(begin) => {
                    let (id, last_sequence) = (begin.snapshot_id, begin.last_sequence);
                    let head = SnapshotHead { id, last_sequence, units: B::units(begin) };
                    verdict = self.feed.handle_snapshot_begin(header.stream_id, head, datagram);
                }
                Message::InstrumentDefinition(definition) => self.symbol = Some(definition.symbol),
                Message::SnapshotLevels(taut_market_data::native::SnapshotLevels {
                    part, ..
                })
                | Message::SnapshotOrders(taut_market_data::native::SnapshotOrders {
                    part, ..
                }) => {
                    if let Some(units) = B::part_units(&message) {
                        let (id, index) = (part.snapshot_id, part.packet_index);
                        verdict = self.feed.handle_snapshot_part(
                            header.stream_id,
                            id,
                            index,
                            units,
                            datagram,
                        );
                    }
                }
                _ => {}
            }
        }
        if verdict == SnapshotVerdict::Complete {
            self.replay();
        }
    }

    fn replay(&mut self) {
        while let Some(replay) = self.feed.poll_replay() {
            match replay {
                Replay::Reset { .. } => self.book.clear(),
                Replay::SnapshotPart(bytes) | Replay::Packet { bytes, .. } => {
                    apply(&mut self.book, bytes);
                }
            }
        }
    }
}

fn apply(book: &mut impl Keeper, datagram: &[u8]) {
    for message in PacketReader::new(datagram).expect("a packet").messages() {
        book.apply(&message.expect("a message"));
    }
}

/// A venue's book by its price levels.
pub fn level_hash(book: &OrderBook) -> u64 {
    let mut levels = LevelBook::with_capacity(book.level_capacity());
    for side in Side::BOTH {
        for level in book.levels(side) {
            let price = instrument().price(level.price).expect("in range");
            levels.apply(side, price, level.lots, level.order_count).expect("room");
        }
    }
    levels.state_hash()
}

/// A book by its orders in their priority, without their owners, which the feed does not tell.
pub fn order_hash(book: &OrderBook) -> u64 {
    let mut hash = Fnv1a::new();
    for side in Side::BOTH {
        for order in book.orders(side) {
            hash.write_u64(order.id.0);
            hash.write_u64(order.side as u64);
            hash.write_i64(order.price.0);
            hash.write_i64(order.lots.0);
        }
    }
    hash.finish()
}
