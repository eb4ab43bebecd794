use std::fs;

use dbn::encode::{DbnEncoder, EncodeRecord};
use dbn::enums::{SType, Schema};
use dbn::{MetadataBuilder, flags};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

const PRICE: i64 = 1_000_000_000;

fn record(action: u8, side: u8, order_id: u64, price: i64, size: u32) -> MboMsg {
    let mut record = MboMsg { order_id, price: price * PRICE, size, ..MboMsg::default() };
    record.hd.publisher_id = 1;
    record.hd.instrument_id = 42;
    record.action = action as _;
    record.side = side as _;
    record
}

fn flagged(flag: u8, mut record: MboMsg) -> MboMsg {
    record.flags = flag.into();
    record
}

fn write(path: &Path, records: &[MboMsg], zstd: bool) {
    let metadata = MetadataBuilder::new()
        .dataset("TEST".to_owned())
        .schema(Some(Schema::Mbo))
        .start(0)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .build();
    let mut bytes = Vec::new();
    let mut encoder = DbnEncoder::new(&mut bytes, &metadata).unwrap();
    records.iter().for_each(|record| encoder.encode_record(record).unwrap());
    if zstd {
        bytes = compress_to_vec(&*bytes, CompressionLevel::Fastest);
    }
    fs::write(path, bytes).unwrap();
}

fn rebuilt(records: &[MboMsg]) -> MboBooks {
    let directory = tempfile::tempdir().unwrap();
    let [plain, packed] = ["a.dbn", "a.dbn.zst"].map(|name| directory.path().join(name));
    write(&plain, records, false);
    write(&packed, records, true);
    let [plain, packed] = [plain, packed].map(|path| {
        let mut books = MboBooks::default();
        books.read(&path, &mut |_| {}).unwrap();
        books
    });
    assert_eq!(format!("{plain:?}"), format!("{packed:?}"));
    plain
}

#[test]
fn the_snapshot_is_a_start_and_not_an_addition() {
    let snapshot = |record| flagged(flags::SNAPSHOT, record);
    let books = rebuilt(&[
        record(b'A', b'B', 1, 10, 5),
        record(b'A', b'A', 2, 12, 5),
        snapshot(record(b'A', b'B', 1, 10, 4)),
        snapshot(record(b'A', b'A', 3, 11, 7)),
        record(b'A', b'B', 4, 9, 1),
        record(b'C', b'A', 3, 11, 2),
        record(b'F', b'A', 3, 11, 2),
        record(b'T', b'N', 0, 11, 2),
    ]);
    assert_eq!((books.records, books.faults.len()), (8, 0));
    assert_eq!(books.books.len(), 1);
    let book = books.books[&(1, 42)].book();
    assert_eq!(Side::BOTH.map(|side| book.level_count(side)), [2, 1]);
    assert_eq!(book.order_count(), 3);
    let [bid, ask] = [book.top().bid, book.top().ask].map(|level| level.unwrap());
    assert_eq!((bid.price.0, bid.lots.0), (10 * PRICE, 4));
    assert_eq!((ask.price.0, ask.lots.0), (11 * PRICE, 5));
}

#[test]
fn a_second_snapshot_right_behind_the_first_replaces_it() {
    let snapshot = || (0..8_725).map(|id| flagged(flags::SNAPSHOT, record(b'A', b'B', id, 10, 5)));
    let twice: Vec<_> = snapshot().chain(snapshot()).collect();
    let books = rebuilt(&twice);
    assert_eq!((books.records, books.faults.len()), (17_450, 0));
    assert_eq!(books.books[&(1, 42)].book().order_count(), 8_725);
    // The second file begins with another order: what stood before it is gone.
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["1.dbn", "2.dbn"].map(|name| directory.path().join(name));
    write(&one, &snapshot().collect::<Vec<_>>(), false);
    write(&other, &snapshot().skip(5).collect::<Vec<_>>(), false);
    let mut books = MboBooks::default();
    for path in [&one, &other] {
        books.read(path, &mut |_| {}).unwrap();
    }
    assert_eq!((books.faults.len(), books.books[&(1, 42)].book().order_count()), (0, 8_720));
}

#[test]
fn modifications_keep_or_lose_their_place_and_cancels_can_be_partial() {
    let mut market = MboBook::default();
    for record in [
        record(b'A', b'B', 1, 10, 5),
        record(b'A', b'B', 2, 10, 5),
        record(b'A', b'B', 3, 10, 5),
        record(b'M', b'B', 1, 10, 4),
        record(b'M', b'B', 2, 10, 6),
        record(b'C', b'B', 3, 10, 1),
        record(b'M', b'B', 9, 8, 1),
    ] {
        assert_eq!(market.apply(&record), Ok(()));
    }
    let orders: Vec<_> = market.book().orders(Side::Buy).map(|o| (o.id.0, o.lots.0)).collect();
    assert_eq!(orders, [(1, 4), (3, 4), (2, 6), (9, 1)]);
    assert_eq!(market.apply(&record(b'R', b'N', 0, 0, 0)), Ok(()));
    assert_eq!(market.book().order_count(), 0);
}

#[test]
fn a_top_of_book_record_replaces_its_side() {
    let mut market = MboBook::default();
    for record in [
        record(b'A', b'B', 1, 10, 5),
        record(b'A', b'A', 2, 12, 5),
        flagged(flags::TOB, record(b'A', b'B', 0, 11, 3)),
    ] {
        assert_eq!(market.apply(&record), Ok(()));
    }
    let top = market.book().top();
    assert_eq!(top.bid.map(|level| level.lots), Some(taut_types::Lots(3)));
    assert_eq!((market.book().level_count(Side::Buy), market.book().order_count()), (1, 2));
    let mut gone = flagged(flags::TOB, record(b'A', b'B', 0, 0, 0));
    gone.price = dbn::UNDEF_PRICE;
    assert_eq!(market.apply(&gone), Ok(()));
    assert_eq!(market.book().order_count(), 1);
}

#[test]
fn what_does_not_fit_is_counted_and_a_full_book_grows() {
    let mut records: Vec<_> =
        (0..5_000).map(|n| record(b'A', b'A', n, 10 + n as i64 % 700, 1)).collect();
    records.extend([
        record(b'A', b'A', 1, 10, 1),
        record(b'C', b'A', 9_999, 10, 1),
        record(b'A', b'A', 6_000, 10, 0),
        record(b'A', b'N', 6_000, 10, 1),
        record(b'?', b'A', 6_000, 10, 1),
    ]);
    let books = rebuilt(&records);
    let counts: Vec<_> = books.faults.values().copied().collect();
    assert_eq!(counts, [1, 1, 1, 2]);
    let book = books.books[&(1, 42)].book();
    assert_eq!((book.order_count(), book.level_count(Side::Sell)), (5_000, 700));
}

#[test]
fn a_record_that_is_shorter_than_its_kind_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.dbn");
    write(&path, &[record(b'A', b'B', 1, 10, 5)], false);
    let mut bytes = fs::read(&path).unwrap();
    // The length of the only record, in words of four bytes, and as much less of it.
    let start = bytes.len() - size_of::<MboMsg>();
    bytes[start] -= 2;
    bytes.truncate(bytes.len() - 8);
    fs::write(&path, &bytes).unwrap();
    let read = MboBooks::default().read(&path, &mut |_| {});
    let told = read.expect_err("accepted").to_string();
    assert!(told.contains("x.dbn: record 0"), "{told}");
}

#[test]
fn a_packed_file_that_ends_within_a_frame_is_no_whole_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.dbn.zst");
    write(&path, &[record(b'A', b'B', 1, 10, 5)], true);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0x50, 0x2A, 0x4D, 0x18, 9, 0, 0, 0, 1]);
    fs::write(&path, &bytes).unwrap();
    let read = MboBooks::default().read(&path, &mut |_| {});
    let told = read.expect_err("accepted").to_string();
    assert!(told.contains("skippable"), "{told}");
}

#[test]
fn a_file_that_is_no_dbn_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.dbn");
    for bytes in [&b""[..], b"DBN", b"DBN\x03\xff\xff\xff\xff", b"hello", b"\x28\xb5\x2f\xfdnope"] {
        std::fs::write(&path, bytes).unwrap();
        let read = MboBooks::default().read(&path, &mut |_| {});
        let told = read.expect_err("accepted").to_string();
        assert!(told.contains("x.dbn: it is no DBN file"), "{told}");
    }
}
