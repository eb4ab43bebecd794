//! What comes out is what went in, and nothing that comes in can do harm.

use std::vec::Vec;

use proptest::prelude::*;
use taut_types::{InstrumentId, Lots, OrderId, Price, Side};

use super::any::{Owned, header, message};
use crate::event::{BookOrder, EventKind, LevelPlace, LevelUpdate};
use crate::native::frame::FRAME_BYTES;
use crate::native::*;

type Writer = PacketWriter<[u8; PACKET_BYTES_MAX]>;
type Push = fn(&mut Writer, &Message<'_>) -> Result<(), SbeError>;

/// A packet of these messages, as many as fit: the same by both ways of writing.
fn packet(header: PacketHeader, messages: &[Owned]) -> (Vec<u8>, usize) {
    let as_message: Push = |writer, message| writer.push(message);
    let as_event: Push = |writer, message| match message {
        // Not written in line.
        Message::Event(instrument, kind @ EventKind::Status(_)) => {
            assert!(writer.push_event(*instrument, kind).is_err());
            writer.push(message)
        }
        Message::Event(instrument, kind) => writer.push_event(*instrument, kind),
        other => writer.push(other),
    };
    let [packet, straight] = [as_message, as_event].map(|push| {
        let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
        writer.begin(header).unwrap();
        let fits = |m: &&Owned| push(&mut writer, &m.message()).is_ok();
        let fitted = messages.iter().take_while(fits).count();
        assert_eq!(usize::from(writer.message_count()), fitted);
        (writer.finish().to_vec(), fitted)
    });
    assert_eq!(packet, straight);
    packet
}

/// The level updates and trades of a packet, as the hot path reads them, and whether it is sound.
fn visit(reader: &PacketReader<'_>) -> (Result<(), SbeError>, Vec<(InstrumentId, EventKind)>) {
    let (mut places, mut seen) = (Places::default(), Vec::new());
    let checked = places.check(reader);
    places.visit(reader, |instrument, kind| {
        seen.push((instrument, kind));
        true
    });
    (checked, seen)
}

/// Both ways of reading a datagram; they must agree wherever the full one finds nothing wrong, and
/// an error must point into the datagram.
fn read_both_ways(datagram: &[u8]) -> Result<(), TestCaseError> {
    let Ok(reader) = PacketReader::new(datagram) else {
        prop_assert!(datagram.len() < PACKET_HEADER_BYTES);
        return Ok(());
    };
    let (checked, seen) = visit(&reader);
    let mut expected = Vec::new();
    let mut outcome = Ok(());
    for message in reader.messages() {
        match message {
            Ok(Message::Event(of, kind @ (EventKind::Level(_) | EventKind::Trade(_)))) => {
                expected.push((of, kind));
            }
            // Groups are walked to their end.
            Ok(Message::SnapshotLevels(m)) => {
                prop_assert_eq!(m.levels.iter().count(), m.levels.len())
            }
            Ok(Message::SnapshotOrders(m)) => {
                prop_assert_eq!(m.orders.iter().count(), m.orders.len())
            }
            Ok(_) => {}
            Err(error) => outcome = Err(error),
        }
    }
    match outcome {
        Ok(()) => {
            prop_assert_eq!(checked, Ok(()));
            prop_assert_eq!(seen, expected);
        }
        Err(SbeError::Malformed { offset }) => prop_assert!(offset <= datagram.len()),
        Err(other) => prop_assert!(false, "{other:?} from a reader"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_was_written_is_read(
        header in header(),
        messages in prop::collection::vec(message(), 0..40),
    ) {
        let (datagram, fitted) = packet(header, &messages);
        prop_assert!(datagram.len() <= PACKET_BYTES_MAX);
        let reader = PacketReader::new(&datagram).unwrap();
        let message_count = u16::try_from(fitted).unwrap();
        prop_assert_eq!(reader.header(), PacketHeader { message_count, ..header });
        let read: Vec<_> = reader.messages().collect::<Result<_, _>>().unwrap();
        let written: Vec<_> = messages[..fitted].iter().map(Owned::message).collect();
        prop_assert_eq!(read, written);
        read_both_ways(&datagram)?;
    }

    #[test]
    fn a_mutated_packet_never_panics(
        header in header(),
        messages in prop::collection::vec(message(), 1..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut datagram, _) = packet(header, &messages);
        for (at, byte) in changes {
            let at = at.index(datagram.len());
            datagram[at] = byte;
        }
        if let Some(cut) = cut {
            datagram.truncate(cut.index(datagram.len() + 1));
        }
        read_both_ways(&datagram)?;
    }

    #[test]
    fn random_bytes_never_panic(datagram in prop::collection::vec(any::<u8>(), 0..200)) {
        read_both_ways(&datagram)?;
    }
}

const LEVEL: LevelUpdate = LevelUpdate {
    side: Side::Buy,
    price: Price(1),
    lots: Lots(1),
    order_count: 1,
    place: LevelPlace::ByPrice,
};

fn level(price: i64) -> Owned {
    let level = LevelUpdate { price: Price(price), lots: Lots(5), order_count: 2, ..LEVEL };
    Owned::Fixed(Message::Event(InstrumentId(1), EventKind::Level(level)))
}

fn delete() -> Owned {
    let delete = EventKind::OrderDelete { order_id: OrderId(9), side: Side::Buy };
    Owned::Fixed(Message::Event(InstrumentId(1), delete))
}

fn read(datagram: &[u8]) -> Vec<Result<Message<'_>, SbeError>> {
    PacketReader::new(datagram).unwrap().messages().collect()
}

const FIRST: usize = PACKET_HEADER_BYTES;
/// A level update with its frame and header.
const LEVEL_BYTES: usize = 40;

#[test]
fn every_shorter_packet_is_malformed_and_none_panics() {
    let (datagram, _) = packet(PacketHeader::EMPTY, &[level(1), delete(), level(2)]);
    for len in 0..datagram.len() {
        let cut = &datagram[..len];
        match PacketReader::new(cut) {
            Err(error) => assert_eq!(error, SbeError::Malformed { offset: len }),
            Ok(reader) => {
                assert!(matches!(reader.messages().last(), Some(Err(SbeError::Malformed { .. }))));
                assert!(matches!(visit(&reader).0, Err(SbeError::Malformed { .. })), "{len} bytes");
            }
        }
    }
}

#[test]
fn bytes_behind_the_last_message_are_malformed() {
    let (mut datagram, _) = packet(PacketHeader::EMPTY, &[level(1)]);
    let end = datagram.len();
    datagram.push(0);
    assert_eq!(read(&datagram), [Ok(level(1).message()), Err(SbeError::Malformed { offset: end })]);
}

#[test]
fn templates_and_schemas_that_are_not_known_are_skipped_by_their_size() {
    for (at, value) in [(FIRST + 6, 99), (FIRST + 8, 1)] {
        let (mut datagram, _) = packet(PacketHeader::EMPTY, &[delete(), level(2)]);
        datagram[at] = value;
        // Whatever stands in them.
        datagram[FIRST + FIRST..FIRST + 28].fill(0xff);
        assert_eq!(read(&datagram), [Ok(level(2).message())]);
    }
}

#[test]
fn a_block_that_a_newer_version_made_longer_is_read_up_to_what_is_known() {
    let (short, _) = packet(PacketHeader::EMPTY, &[level(1), delete()]);
    let end = FIRST + LEVEL_BYTES;
    let mut datagram = short[..end].to_vec();
    datagram.extend_from_slice(&[0xee; 4]);
    datagram.extend_from_slice(&short[end..]);
    datagram[FIRST] += 4;
    datagram[FIRST + 4] += 4;
    datagram[FIRST + 10] = 1;
    assert_eq!(read(&datagram), [Ok(level(1).message()), Ok(delete().message())]);
}

#[test]
fn entries_that_a_newer_version_made_longer_are_read_up_to_what_is_known() {
    let part = SnapshotPart { snapshot_id: 1, packet_index: 2, instrument: InstrumentId(3) };
    let entry = |price| LevelUpdate { side: Side::Sell, price: Price(price), ..LEVEL };
    let owned = Owned::Levels(part, std::vec![entry(1), entry(2)]);
    let (short, _) = packet(PacketHeader::EMPTY, std::slice::from_ref(&owned));
    let entries = short.len() - 48;
    let mut datagram = short[..entries].to_vec();
    for entry in short[entries..].chunks(24) {
        datagram.extend_from_slice(entry);
        datagram.extend_from_slice(&[0xee; 8]);
    }
    datagram[FIRST] += 16;
    datagram[entries - 4] += 8;
    assert_eq!(read(&datagram), [Ok(owned.message())]);
}

#[test]
fn a_block_shorter_than_known_is_malformed_where_it_stands() {
    let (mut datagram, _) = packet(PacketHeader::EMPTY, &[level(1)]);
    // Its padding may be missing, its last field may not.
    datagram[FIRST + 4] -= 3;
    assert_eq!(read(&datagram), [Ok(level(1).message())]);
    datagram[FIRST + 4] -= 1;
    assert_eq!(read(&datagram), [Err(SbeError::Malformed { offset: FIRST + FRAME_BYTES })]);
}

#[test]
fn a_side_that_is_none_is_malformed_where_its_block_stands() {
    let (mut datagram, _) = packet(PacketHeader::EMPTY, &[level(1), level(2)]);
    let at = FIRST + LEVEL_BYTES + FRAME_BYTES;
    datagram[at + 24] = 2;
    let error = SbeError::Malformed { offset: at };
    assert_eq!(read(&datagram), [Ok(level(1).message()), Err(error)]);
    let (checked, seen) = visit(&PacketReader::new(&datagram).unwrap());
    assert_eq!((checked, seen.len()), (Err(error), 1));
}

#[test]
fn a_group_larger_than_its_message_is_malformed() {
    let part = SnapshotPart { snapshot_id: 1, packet_index: 2, instrument: InstrumentId(3) };
    // A group of no entries may say any length of them.
    for (entries, changes) in [
        (std::vec![LEVEL], [(0, 20, false), (1, 0xff, false), (2, 2, false), (2, 0, true)]),
        (Vec::new(), [(0, 20, true), (1, 0xff, true), (2, 1, false), (3, 1, false)]),
    ] {
        let dimension = entries.len() * 24 + 4;
        let (datagram, _) = packet(PacketHeader::EMPTY, &[Owned::Levels(part, entries)]);
        for (at, value, is_fine) in changes {
            let mut datagram = datagram.clone();
            let at = datagram.len() - dimension + at;
            datagram[at] = value;
            assert_eq!(read(&datagram)[0].is_ok(), is_fine, "byte {at} of {}", datagram.len());
        }
    }
}

#[test]
fn the_writer_says_when_a_packet_is_full_and_leaves_it_as_it_was() {
    let mut writer = PacketWriter::new([0; 100]);
    assert_eq!(writer.push(&level(1).message()), Err(SbeError::Misuse));
    assert_eq!(writer.finish(), []);
    writer.begin(PacketHeader::EMPTY).unwrap();
    writer.push(&level(1).message()).unwrap();
    let before = writer.finish().to_vec();
    assert_eq!(writer.push(&level(2).message()), Err(SbeError::Full));
    assert_eq!(writer.finish(), before);
    writer.push(&delete().message()).unwrap();
    assert_eq!(writer.message_count(), 2);
    writer.begin(PacketHeader::EMPTY).unwrap();
    assert_eq!(writer.finish(), [0; PACKET_HEADER_BYTES]);

    let mut short = [0; PACKET_HEADER_BYTES - 1];
    assert_eq!(PacketWriter::new(&mut short[..]).begin(PacketHeader::EMPTY), Err(SbeError::Misuse));
}

#[test]
fn a_packet_takes_as_many_entries_as_promised_and_no_more() {
    let part = SnapshotPart { snapshot_id: 1, packet_index: 2, instrument: InstrumentId(3) };
    let (order_id, side, price) = (OrderId(1), Side::Buy, Price(1));
    let order = BookOrder { order_id, side, price, lots: Lots(1), priority: 0 };
    for extra in [0, 1] {
        let levels = Owned::Levels(part, std::vec![LEVEL; LEVELS_PER_PACKET_MAX + extra]);
        let orders = Owned::Orders(part, std::vec![order; ORDERS_PER_PACKET_MAX + extra]);
        for message in [levels, orders] {
            // A larger buffer does not make a larger packet.
            let mut writer = PacketWriter::new([0; 9_000]);
            writer.begin(PacketHeader::EMPTY).unwrap();
            assert_eq!(writer.push(&message.message()).is_ok(), extra == 0);
        }
    }
}
