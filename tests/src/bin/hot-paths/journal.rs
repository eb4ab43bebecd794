//! Appends orders to the order journal, or, with a folder, times each append to a journal there,
//! with housekeeping on another thread, synchronising as it does by default.

use std::hint::black_box;
use std::path::Path;
use std::sync::mpsc::{TryRecvError, channel};

use taut_journal::{Entry, Journal, Settings};
use taut_sys::{Anchoring, Clock, sleep, utc};
use taut_types::{
    ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side, StrategyId, UserId,
};

use crate::{Outcome, count};

fn order(number: u64) -> Entry {
    let order = ClientOrderId::of(UserId(1), StrategyId(2), number);
    let price = Price(585_330_000_000 + number.cast_signed() % 100);
    let terms = OrderTerms::limit(InstrumentId(number as u32 % 2_000), Side::Buy, price, Lots(18));
    Entry::Create { order, tag: number as u32, terms }
}

/// Appends and nothing else.
fn append(count: u64) -> Outcome {
    let folder = tempfile::tempdir()?;
    let settings = Settings { segment_bytes: 8 << 20, ..Settings::default() };
    let Journal { mut writer, .. } = Journal::open(folder.path(), settings)?;
    for number in 0..count {
        writer.append(Nanos(1), black_box(&order(number)))?;
    }
    println!("{count} appended, the next is {}", writer.next_sequence());
    Ok(())
}

/// Each order and its end, so that the state stays small; the order's append is timed.
fn time(count: u64, folder: &Path) -> Outcome {
    let settings = Settings { segment_bytes: 16 << 20, ..Settings::default() };
    let Journal { mut writer, mut housekeeper, .. } = Journal::open(folder, settings)?;
    let (end, ended) = channel::<()>();
    let keep = std::thread::spawn(move || {
        while matches!(ended.try_recv(), Err(TryRecvError::Empty)) {
            housekeeper.turn()?;
            sleep(Nanos::from_millis(2));
        }
        Ok::<_, taut_journal::JournalError>(())
    });
    let clock = Clock::new(Anchoring::start().mapping());
    let mut took = Vec::with_capacity(count as usize);
    let (now, mut late) = (utc(), 0);
    for number in 0..count {
        let entry = order(number);
        let start = clock.now();
        let done = writer.append(now, black_box(&entry));
        took.push((clock.now() - start).0);
        late += u64::from(done.is_err());
        let Entry::Create { order, .. } = entry else { continue };
        late += u64::from(writer.append(now, &Entry::Expired { order }).is_err());
        // A thousand orders at once, then the time that they would take at a million a second.
        if number % 1_000 == 0 {
            sleep(Nanos::from_millis(1));
        }
    }
    drop(end);
    keep.join().map_err(|_| "housekeeping has panicked")??;
    took.sort_unstable();
    let at = |part: f64| took.get(((took.len() - 1) as f64 * part) as usize).copied().unwrap_or(0);
    let ns = [0.5, 0.9, 0.99, 0.999, 1.0].map(at);
    println!("{count} orders, {late} without room; append with two reads of the clock, ns:");
    println!("p50 {}  p90 {}  p99 {}  p99.9 {}  max {}", ns[0], ns[1], ns[2], ns[3], ns[4]);
    let floor = (0..1_000).map(|_| -(clock.now() - clock.now()).0).min().unwrap_or(0);
    println!("two reads of the clock: {floor}");
    Ok(())
}

pub fn run(words: &[&str]) -> Outcome {
    let number = count(words.first())?;
    match words.get(1) {
        None => append(number),
        Some(folder) => time(number, Path::new(folder)),
    }
}
