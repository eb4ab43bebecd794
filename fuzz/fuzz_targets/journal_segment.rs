//! A segment of the order journal: its bytes as they are, and a right one with some changed.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use taut_journal::{Entry, Journal, Settings, scan, segment_name};
use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Side};

/// A journal with some orders.
fn right() -> &'static [u8] {
    static RIGHT: OnceLock<Vec<u8>> = OnceLock::new();
    RIGHT.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("taut-fuzz-{}", std::process::id()));
        let settings = Settings { segment_bytes: 64 << 10, ..Settings::default() };
        let Journal { mut writer, .. } = Journal::open(&folder, settings).expect("a journal");
        for number in 0..20 {
            let order = ClientOrderId(number);
            let terms = OrderTerms::limit(InstrumentId(1), Side::Buy, Price(5), Lots(3));
            writer.append(Nanos(1), &Entry::Create { order, tag: 1, terms }).expect("room");
        }
        let bytes = std::fs::read(folder.join(segment_name(1))).expect("the file");
        std::fs::remove_dir_all(&folder).expect("it");
        bytes
    })
}

fuzz_target!(|input: &[u8]| {
    let _ = scan(input, 1, None, 8, &mut |_| ());
    let mut bytes = right().to_vec();
    let mut is_changed = false;
    // Two bytes of place, one of change, and what is left cuts.
    let (changes, rest) = input.as_chunks::<3>();
    for [low, high, change] in changes.iter().take(8) {
        let place = usize::from(u16::from_le_bytes([*low, *high]));
        bytes[place] ^= change;
    }
    is_changed |= bytes != right();
    if let [cut, ..] = rest {
        bytes.truncate(bytes.len() - usize::from(*cut) * 200);
        is_changed |= *cut != 0;
    }
    let mut count = 0;
    let scanned = scan(&bytes, 1, Some(1), 8, &mut |_| count += 1);
    match scanned {
        Ok(found) if found.tail.is_none() => assert!(!is_changed && count == 20),
        Ok(found) => assert!(is_changed && found.count == count && count <= 20),
        Err(_) => assert!(is_changed),
    }
});
