//! Around the engine: the public feed, counters, journals, several instruments.

use std::vec::Vec;

use taut_book::{Order, OrderBook};
use taut_types::{InstrumentId, Lots, OrderId, SequenceNumber, Side};

use super::random::Commands;
use super::{Sink, execute};
use crate::{
    Command, Counters, Engine, EngineConfig, Event, Exchange, Increment, JournalError, MarketData,
    MassCancel, Rules, SnapshotError,
};

const CONFIG: EngineConfig = EngineConfig { order_capacity: 64, level_capacity: 32 };

/// A consumer of the public feed.
fn apply(book: &mut OrderBook, increment: Increment) {
    match increment {
        Increment::Add { order_id: id, side, price, lots } => {
            book.add(Order { id, owner: 0, side, price, lots }).expect("room");
        }
        Increment::Execute { order_id, lots, .. } => {
            book.reduce(order_id, lots).expect("a displayed order");
        }
        Increment::Shrink { order_id, displayed } => {
            let lots = book.order(order_id).expect("a displayed order").lots;
            if lots > displayed {
                book.reduce(order_id, Lots(lots.0 - displayed.0)).expect("a displayed order");
            }
        }
        Increment::Delete { order_id } => {
            book.remove(order_id).expect("a displayed order");
        }
        Increment::Level { side, price, lots, order_count } => {
            let level = book.level_at(side, price).map(|level| (level.lots, level.order_count));
            assert_eq!(level.unwrap_or((Lots(0), 0)), (lots, order_count));
        }
        Increment::Top(top) => assert_eq!(book.top(), top),
        Increment::Trade { .. } => {}
    }
}

#[test]
fn a_consumer_of_the_increments_has_the_displayed_book() {
    for seed in 0..20 {
        let mut random = Commands::with_seed(seed);
        let mut engine = Engine::with_rules(CONFIG, random.rules());
        let (mut data, mut copy) = (MarketData::default(), OrderBook::with_capacity(64, 32));
        let mut next = SequenceNumber(1);
        for _ in 0..2_000 {
            let mut increments = Vec::new();
            let mut send = |sequence, increment| {
                assert_eq!(sequence, next);
                next = next.next();
                increments.push(increment);
            };
            execute(&mut engine, random.command(), |event| data.on_event(&event, &mut send));
            data.on_top(engine.book().top(), &mut send);
            increments.into_iter().for_each(|increment| apply(&mut copy, increment));
            for side in Side::BOTH {
                let ours = engine.book().orders(side).map(|order| (order.id, order.lots));
                assert!(ours.eq(copy.orders(side).map(|order| (order.id, order.lots))));
            }
        }
    }
}

#[test]
fn a_journal_replays_to_the_same_state_and_its_errors_are_told() {
    let mut random = Commands::with_seed(3);
    let (mut engine, mut replica) = (Engine::new(CONFIG), Engine::new(CONFIG));
    for _ in 0..5_000 {
        let command = random.command();
        execute(&mut engine, command, |_| {});
        let record = command.to_record();
        execute(&mut replica, Command::from_record(&record).expect("a record"), |_| {});
        let mut damaged = record;
        damaged[9] ^= 1;
        assert_eq!(Command::from_record(&damaged), Err(JournalError::Corrupt));
    }
    assert_eq!(engine.state_hash(), replica.state_hash());
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let mut random = Commands::with_seed(4);
    let mut engine = Engine::new(CONFIG);
    (0..500).for_each(|_| execute(&mut engine, random.command(), |_| {}));
    let mut words = Vec::new();
    engine.snapshot(|word| words.push(word));
    let restore = |words: &[u64]| {
        let restored = Engine::restore(CONFIG, Rules::default(), words.iter().copied());
        restored.map(|engine| engine.state_hash())
    };
    assert_eq!(restore(&words), Ok(engine.state_hash()));
    for cut in 0..words.len() {
        assert_eq!(restore(&words[..cut]), Err(SnapshotError::Truncated));
    }
    for at in 0..words.len() {
        let mut damaged = words.clone();
        damaged[at] ^= 1;
        assert!(restore(&damaged).is_err(), "word {at}");
    }
}

#[test]
fn counters_count_what_passes_by() {
    let mut counters = Counters::default();
    let mut engine = Engine::new(CONFIG);
    let mut passed = 0u64;
    let mut random = Commands::with_seed(5);
    for _ in 0..2_000 {
        let mut sink = |_: Event| passed += 1;
        engine.execute(random.command(), &mut counters.in_front_of(&mut sink));
    }
    assert_eq!(counters.events.iter().sum::<u64>(), passed);
    assert_eq!(counters.events[2], engine.trade_count());
    assert!(counters.rejects.iter().filter(|count| **count > 0).count() > 8);
}

#[test]
fn instruments_do_not_touch_each_other_and_a_mass_cancel_reaches_all() {
    let mut exchange = Exchange::new();
    let ids = [0, 1].map(|_| exchange.list(CONFIG, Rules::default()));
    for (id, lots) in ids.into_iter().zip([1, 2]) {
        assert!(exchange.execute(
            id,
            Command::New(super::buy(1, 100, lots)),
            &mut Sink(&mut |_| {})
        ));
    }
    let nowhere = InstrumentId(7);
    let cancel = Command::Cancel { order_id: OrderId(1) };
    assert!(!exchange.execute(nowhere, cancel, &mut Sink(&mut |_| panic!("nothing happens"))));
    let mut cancelled = Vec::new();
    exchange.mass_cancel(MassCancel::default(), &mut |id, event| {
        if let Event::Cancelled { lots, .. } = event {
            cancelled.push((id, lots.0));
        }
    });
    assert_eq!(cancelled, [(ids[0], 1), (ids[1], 2)]);
}
