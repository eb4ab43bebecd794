//! Snapshots and packets that contradict themselves, or the book.

use std::vec::Vec;

use taut_book::{Order, OrderBook};

use super::super::many::STREAM;
use super::venue::{definition, levels_of, orders_of};
use super::*;
use crate::event::{LevelUpdate, ReduceReason, TradingStatus};

/// A book of three levels and five orders.
fn book() -> OrderBook {
    let mut book = OrderBook::with_capacity(64, 16);
    for (id, side, ticks, lots) in [
        (1, Side::Buy, 99, 5),
        (2, Side::Buy, 99, 7),
        (3, Side::Buy, 98, 2),
        (4, Side::Sell, 101, 4),
        (5, Side::Sell, 101, 1),
    ] {
        let (price, owner) = (taut_types::HalfTicks(2 * ticks), 0);
        book.add(Order { id: OrderId(id), owner, side, price, lots: Lots(lots) }).unwrap();
    }
    book
}

/// The packets of a snapshot of these levels and orders.
fn snapshot(
    writer: &mut SnapshotWriter,
    levels: &[LevelUpdate],
    orders: &[BookOrder],
) -> Vec<Vec<u8>> {
    let sequence = taut_types::SequenceNumber(0);
    writer.capture(sequence, levels.iter().copied(), orders.iter().copied());
    let definition = definition(&instrument(0));
    let count = writer.packet_count();
    let packet = |at| writer.packet(at, Nanos(1), &definition, TradingStatus::Trading).to_vec();
    (0..count).map(packet).collect()
}

struct Rig {
    follower: Follower,
    levels: Vec<LevelUpdate>,
    orders: Vec<BookOrder>,
    snapshots: SnapshotWriter,
    increments: TransactionWriter,
}

impl Rig {
    fn new() -> Self {
        let (instrument, book) = (instrument(0), book());
        let mut new = Self {
            follower: Follower::new(&[instrument], 64, false),
            levels: levels_of(&instrument, &book).collect(),
            orders: orders_of(&instrument, &book).collect(),
            snapshots: SnapshotWriter::with_capacity(STREAM, 16, 16),
            increments: TransactionWriter::new(STREAM),
        };
        // The stream is known.
        let heartbeat = new.increments.heartbeat(Nanos(1)).to_vec();
        new.follower.hear(Nanos(1), Source::LINE_A, &heartbeat);
        new
    }

    fn hear_snapshot(&mut self, levels: &[LevelUpdate], orders: &[BookOrder]) {
        for packet in snapshot(&mut self.snapshots, levels, orders) {
            self.follower.hear(Nanos(2), Source::SNAPSHOT, &packet);
        }
    }

    fn hear_own_snapshot(&mut self) {
        let (levels, orders) = (self.levels.clone(), self.orders.clone());
        self.hear_snapshot(&levels, &orders);
    }

    fn hear_changes(&mut self, kinds: &[EventKind]) {
        let mut packets = Vec::new();
        let send = &mut |_, packet: &[u8]| {
            packets.push(packet.to_vec());
            Ok::<(), ()>(())
        };
        for kind in kinds {
            self.increments.push_event(Nanos(1), InstrumentId(0), kind, send).unwrap();
        }
        self.increments.end(Nanos(1), send).unwrap();
        for packet in packets {
            self.follower.hear(Nanos(3), Source::LINE_A, &packet);
        }
    }

    fn told(&self) -> &Told {
        &self.follower.told[&InstrumentId(0)]
    }

    fn malformed(&self) -> u64 {
        self.follower.feed.counters().malformed
    }
}

#[test]
fn a_snapshot_whose_orders_are_no_book_is_refused_and_counted() {
    type Spoil = fn(&mut Vec<LevelUpdate>, &mut Vec<BookOrder>);
    let spoils: [(&str, Spoil); 8] = [
        ("the same id twice", |_, orders| orders[1].order_id = OrderId(1)),
        ("an order at no level", |_, orders| orders[2].price = Price(970_000_000)),
        ("an order between two ticks", |_, orders| orders[2].price.0 += 1),
        ("lots that do not add up", |_, orders| orders[0].lots = Lots(6)),
        ("no lots", |_, orders| orders[0].lots = Lots(0)),
        ("an order on the other side", |_, orders| orders[3].side = Side::Buy),
        ("an order that is missing", |_, orders| _ = orders.pop()),
        ("another count of orders", |levels, _| levels[0].order_count = 3),
    ];
    for (what, spoil) in spoils {
        let mut rig = Rig::new();
        let (mut levels, mut orders) = (rig.levels.clone(), rig.orders.clone());
        spoil(&mut levels, &mut orders);
        rig.hear_snapshot(&levels, &orders);
        assert!(!rig.told().is_sound && rig.malformed() > 0, "{what}: {:?}", rig.told());
        // The next one is a book.
        rig.hear_own_snapshot();
        assert!(rig.told().is_sound && rig.told().lists == 1, "{what}");
        // Where there is a good one, a spoilt one changes nothing.
        rig.hear_snapshot(&levels, &orders);
        assert!(rig.told().queues.is_some(), "{what}");
    }
}

#[test]
fn parts_come_in_any_order_twice_and_mixed_and_none_of_them_may_be_missing() {
    let instruments: Vec<_> = (0..2).map(instrument).collect();
    for_each_seed(0..50, |seed, mut random| {
        let mut venue = Venue::new(&instruments, seed);
        (0..200).for_each(|_| drop(venue.transact()));
        let heartbeat = venue.heartbeat();
        let mut follower = Follower::new(&instruments, 1_024, false);
        follower.hear(Nanos(1), Source::LINE_A, &heartbeat);
        // A cycle of both books, shuffled, some packets twice, one part of orders not at all.
        let mut packets: Vec<_> = (0..60).map(|_| venue.snapshot()).collect();
        packets.truncate({
            let ends = packets.iter().enumerate().filter(|(_, packet)| {
                PacketReader::new(packet).unwrap().header().flags.contains(PacketFlags::LAST)
            });
            ends.map(|(at, _)| at + 1).nth(1).expect("a cycle")
        });
        let extra: Vec<_> = packets.iter().filter(|_| random.per_mille(300)).cloned().collect();
        let has_orders = |packet: &Vec<u8>| {
            let reader = PacketReader::new(packet).unwrap();
            reader.messages().any(|message| matches!(message, Ok(Message::SnapshotOrders(_))))
        };
        let missing = packets.iter().rposition(has_orders).expect("orders");
        let missing = packets.remove(missing);
        packets.extend(extra.into_iter().filter(|packet| *packet != missing));
        random.shuffle(&mut packets);
        for packet in &packets {
            follower.hear(Nanos(2), Source::SNAPSHOT, packet);
        }
        let known = |follower: &Follower| {
            follower.told.values().filter(|told| told.queues.is_some()).count()
        };
        assert_eq!(known(&follower), 1);
        follower.hear(Nanos(2), Source::SNAPSHOT, &missing);
        assert_eq!((follower.check(&venue), follower.feed.counters().malformed), (2, 0));
    });
}

#[test]
fn a_change_of_an_order_that_cannot_be_makes_the_orders_unknown_until_a_snapshot() {
    let reduce = |id, side, by, remaining| EventKind::OrderReduce {
        order_id: OrderId(id),
        side,
        by: Lots(by),
        remaining: Lots(remaining),
        reason: ReduceReason::Cancel,
    };
    let add = |id, price| {
        let (order_id, side, lots) = (OrderId(id), Side::Buy, Lots(1));
        let price = Price(price);
        EventKind::OrderAdd(BookOrder { order_id, side, price, lots, priority: 0 })
    };
    let delete = |id, side| EventKind::OrderDelete { order_id: OrderId(id), side };
    let wrong = [
        reduce(9, Side::Buy, 1, 1),
        reduce(1, Side::Buy, 1, 2),
        reduce(1, Side::Sell, 1, 4),
        add(2, 980_000_000),
        add(9, 980_000_001),
        delete(9, Side::Buy),
        delete(1, Side::Sell),
    ];
    for kind in wrong {
        let mut rig = Rig::new();
        rig.hear_own_snapshot();
        rig.hear_changes(&[reduce(1, Side::Buy, 1, 4)]);
        assert!(rig.told().queues.is_some() && rig.malformed() == 0);
        rig.hear_changes(&[kind, reduce(2, Side::Buy, 1, 6)]);
        let told = rig.told();
        assert!(told.is_sound && told.queues.is_none() && told.unknown == 1, "{kind:?}");
        assert_eq!(rig.malformed(), 1, "{kind:?}");
        // What follows says nothing, until a snapshot does.
        rig.hear_changes(&[reduce(2, Side::Buy, 1, 5)]);
        assert!(rig.told().queues.is_none() && rig.follower.feed.needs_snapshots());
        let sequence = rig.increments.sequence();
        rig.snapshots.capture(
            sequence,
            rig.levels.clone().into_iter(),
            rig.orders.clone().into_iter(),
        );
        for at in 0..rig.snapshots.packet_count() {
            let definition = definition(&instrument(0));
            let packet = rig.snapshots.packet(at, Nanos(1), &definition, TradingStatus::Trading);
            rig.follower.hear(Nanos(4), Source::SNAPSHOT, packet);
        }
        assert!(rig.told().queues.is_some() && !rig.follower.feed.needs_snapshots(), "{kind:?}");
    }
}

#[test]
fn whatever_bytes_come_nothing_panics() {
    let instruments = [instrument(0), instrument(1)];
    for_each_seed(0..20, |seed, mut random| {
        let mut venue = Venue::new(&instruments, seed);
        let mut follower = Follower::new(&instruments, 200, false);
        let mut now = Nanos(1);
        for turn in 0..600 {
            let mut packets: Vec<_> =
                venue.transact().into_iter().map(|it| (Source::LINE_A, it)).collect();
            packets.extend((0..3).map(|_| (Source::SNAPSHOT, venue.snapshot())));
            for (source, mut packet) in packets {
                now = now + Nanos::from_micros(10);
                // Behind the header, which has a stream of its own.
                if turn < 300 && random.per_mille(30) {
                    let at = PACKET_HEADER_BYTES + random.below(packet.len() as u64 - 24) as usize;
                    packet[at] ^= 1 << random.below(8);
                }
                let mut sink = |_: &Context<'_>, _: &Event| {};
                if let Some(frame) = follower.feed.decode(now, source, &packet) {
                    follower.feed.apply(frame, &mut sink);
                }
                if !follower.feed.is_settled() {
                    follower.feed.recover(now, &mut sink);
                }
            }
        }
        assert!(follower.feed.counters().malformed > 0);
    });
}
