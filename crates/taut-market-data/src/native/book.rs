//! One instrument's book out of one channel that brings the feed's packets in order, snapshots
//! among them, as `taut feed replay --publish` sends them.
//!
//! A feed of two lines, with requests for what both lost, is [`NativeFeed`](super::NativeFeed)'s.

use taut_book::{LevelAction, LevelBook};
use taut_types::{InstrumentId, SequenceNumber};

use crate::event::{EventKind, LevelUpdate};
use crate::native::block::{InstrumentDefinition, SnapshotBegin};
use crate::native::error::SbeError;
use crate::native::message::Message;
use crate::native::packet::{PacketFlags, PacketHeader};
use crate::native::reader::PacketReader;

/// How far the book is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing of the stream has come: its first packet or a snapshot has to.
    Joining,
    /// A snapshot has to come: packets are missing.
    Waiting,
    /// This one is being loaded: it has so many levels, and so many have come.
    Loading { snapshot_id: u32, last: u64, level_count: u32, loaded: u32 },
    /// Every packet is in the book.
    Following,
}

/// The book of one instrument that follows its feed packet by packet. Of others on the channel it
/// takes nothing but the packets' numbers.
///
/// Who hears the feed from its first packet follows at once, everybody else from the next snapshot
/// on, and so again after a gap. All memory is taken when it is built.
///
/// ```
/// use taut_market_data::native::{Book, Message, TransactionWriter};
/// use taut_market_data::{EventKind, LevelPlace, LevelUpdate};
/// use taut_types::{InstrumentId, Lots, Nanos, Price, Side};
///
/// let (side, price, place) = (Side::Buy, Price(585_330_000_000), LevelPlace::ByPrice);
/// let level = LevelUpdate { side, price, lots: Lots(18), order_count: 1, place };
/// let level = Message::Event(InstrumentId(1), EventKind::Level(level));
///
/// let (mut feed, mut book) = (TransactionWriter::new(7), Book::with_capacity(100));
/// let mut channel = |_, packet: &[u8]| book.follow(packet).map(drop);
/// feed.push(Nanos(0), &level, &mut channel)?;
/// feed.end(Nanos(0), &mut channel)?;
/// assert!(book.is_sound());
/// assert_eq!(book.levels().top().bid.map(|bid| bid.lots), Some(Lots(18)));
/// # Ok::<(), taut_market_data::native::SbeError>(())
/// ```
#[derive(Debug)]
pub struct Book {
    levels: LevelBook,
    /// Nothing until one is heard of, where none was given.
    instrument: Option<InstrumentId>,
    definition: Option<InstrumentDefinition>,
    stream_id: Option<u32>,
    /// The number that comes next.
    next: u64,
    progress: Progress,
    /// The last packet was not the last one of its transaction.
    is_within: bool,
    gaps: u64,
    refused: u64,
}

impl Book {
    /// The book of the instrument that is heard of first, with room for so many levels on each
    /// side.
    #[must_use]
    pub fn with_capacity(levels_per_side: usize) -> Self {
        Self {
            levels: LevelBook::with_capacity(levels_per_side),
            instrument: None,
            definition: None,
            stream_id: None,
            next: 1,
            progress: Progress::Joining,
            is_within: false,
            gaps: 0,
            refused: 0,
        }
    }

    /// The book of this instrument.
    #[must_use]
    pub fn of_instrument(self, instrument: InstrumentId) -> Self {
        Self { instrument: Some(instrument), ..self }
    }

    /// Takes the packet that comes next on the channel. True when it has changed the book and ended
    /// its transaction: then the book [is sound](Self::is_sound).
    ///
    /// # Errors
    /// [`SbeError::Malformed`]: what stood before that in the packet is in the book, which then
    /// waits for a snapshot.
    pub fn follow(&mut self, packet: &[u8]) -> Result<bool, SbeError> {
        let reader = PacketReader::new(packet)?;
        let header = reader.header();
        if self.stream_id.replace(header.stream_id).is_some_and(|old| old != header.stream_id) {
            // The feed has begun anew, and so does the book.
            self.levels.clear();
            (self.next, self.progress, self.is_within) = (1, Progress::Joining, false);
        }
        let followed = if header.flags.contains(PacketFlags::SNAPSHOT) {
            self.follow_snapshot(&reader)
        } else {
            self.follow_increment(&header, &reader)
        };
        if followed.is_err() {
            self.progress = Progress::Waiting;
        }
        followed
    }

    /// Whether something was heard, all that was published is in the book, and no transaction half:
    /// only then its top means something.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.progress == Progress::Following && !self.is_within
    }

    /// The levels. Look at [`is_sound`](Self::is_sound) first.
    #[must_use]
    pub const fn levels(&self) -> &LevelBook {
        &self.levels
    }

    /// What the instrument is, once a snapshot has said it.
    #[must_use]
    pub const fn definition(&self) -> Option<InstrumentDefinition> {
        self.definition
    }

    /// The last packet that is in the book, or was passed over.
    #[must_use]
    pub const fn last(&self) -> SequenceNumber {
        SequenceNumber(self.next - 1)
    }

    /// How often packets were missing.
    #[must_use]
    pub const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Updates that could not be: of a level that is not there, or for which there was no room.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    fn follow_increment(
        &mut self,
        header: &PacketHeader,
        reader: &PacketReader<'_>,
    ) -> Result<bool, SbeError> {
        let sequence = header.sequence.0;
        let is_heartbeat = header.flags.contains(PacketFlags::HEARTBEAT);
        // A heartbeat repeats the last number.
        if sequence < self.next {
            return Ok(false);
        }
        if sequence > self.next || is_heartbeat {
            self.gaps += 1;
            self.progress = Progress::Waiting;
        } else if self.progress == Progress::Joining {
            self.progress = Progress::Following;
        }
        self.next = sequence.saturating_add(1);
        self.is_within = !header.flags.contains(PacketFlags::LAST);
        if self.progress != Progress::Following {
            return Ok(false);
        }
        let mut has_changed = false;
        for message in reader.messages() {
            if let Message::Event(instrument, EventKind::Level(level)) = message?
                && self.is_ours(instrument)
            {
                self.apply(&level);
                has_changed = true;
            }
        }
        Ok(has_changed && self.is_sound())
    }

    fn follow_snapshot(&mut self, reader: &PacketReader<'_>) -> Result<bool, SbeError> {
        let mut has_changed = false;
        for message in reader.messages() {
            match message? {
                Message::InstrumentDefinition(definition)
                    if self.is_ours(definition.instrument) =>
                {
                    self.definition = Some(definition);
                }
                Message::SnapshotBegin(begin) if self.is_ours(begin.instrument) => {
                    self.begin(&begin);
                }
                Message::SnapshotLevels(of)
                    if self.is_loading(of.part.snapshot_id, of.part.instrument) =>
                {
                    of.levels.iter().for_each(|level| self.load(&level));
                }
                Message::SnapshotEnd(end) if self.is_loading(end.snapshot_id, end.instrument) => {
                    has_changed |= self.complete();
                }
                _ => {}
            }
        }
        Ok(has_changed)
    }

    fn is_ours(&mut self, instrument: InstrumentId) -> bool {
        *self.instrument.get_or_insert(instrument) == instrument
    }

    fn is_loading(&self, id: u32, instrument: InstrumentId) -> bool {
        matches!(self.progress, Progress::Loading { snapshot_id, .. } if snapshot_id == id)
            && self.instrument == Some(instrument)
    }

    /// A snapshot begins. Who follows needs it only when it contains packets that did not come.
    fn begin(&mut self, begin: &SnapshotBegin) {
        let SnapshotBegin { snapshot_id, level_count, last_sequence, .. } = *begin;
        let last = last_sequence.0;
        if self.progress == Progress::Following {
            if last < self.next {
                return;
            }
            self.gaps += 1;
        }
        self.levels.clear();
        self.progress = Progress::Loading { snapshot_id, last, level_count, loaded: 0 };
    }

    fn load(&mut self, level: &LevelUpdate) {
        let is_new = self.apply(level) == Some(LevelAction::Inserted);
        if let Progress::Loading { loaded, .. } = &mut self.progress {
            *loaded = loaded.saturating_add(u32::from(is_new));
        }
    }

    /// The snapshot ends. One that is older than what was passed over helps nobody, nor does one of
    /// which a part was lost.
    fn complete(&mut self) -> bool {
        let Progress::Loading { last, level_count, loaded, .. } = self.progress else {
            return false;
        };
        let is_whole = loaded == level_count && last >= self.last().0;
        self.progress = if is_whole { Progress::Following } else { Progress::Waiting };
        if is_whole {
            (self.next, self.is_within) = (last.saturating_add(1), false);
        }
        is_whole
    }

    /// What became of a level; nothing when it could not be.
    fn apply(&mut self, level: &LevelUpdate) -> Option<LevelAction> {
        let LevelUpdate { side, price, lots, order_count, .. } = *level;
        let Ok(change) = self.levels.apply(side, price, lots, order_count) else {
            self.refused += 1;
            self.progress = Progress::Waiting;
            return None;
        };
        Some(change.action)
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{Lots, Nanos, Price, Side, Symbol};

    use super::*;
    use crate::event::{LevelPlace, TradingStatus};
    use crate::native::{SnapshotWriter, TransactionWriter};

    const INSTRUMENT: InstrumentId = InstrumentId(1);
    const OTHER: InstrumentId = InstrumentId(2);

    fn level(price: i64, lots: i64) -> LevelUpdate {
        let (side, place) = (Side::Buy, LevelPlace::ByPrice);
        LevelUpdate { side, price: Price(price), lots: Lots(lots), order_count: 0, place }
    }

    /// A feed's packets: one for each update, and a snapshot of these levels.
    struct Feed {
        increments: TransactionWriter,
        snapshots: SnapshotWriter,
    }

    impl Feed {
        fn new(stream_id: u32) -> Self {
            let increments = TransactionWriter::new(stream_id);
            Self { increments, snapshots: SnapshotWriter::with_capacity(stream_id, 8, 0) }
        }

        fn update(&mut self, price: i64, lots: i64) -> std::vec::Vec<u8> {
            self.update_of(INSTRUMENT, price, lots)
        }

        fn update_of(&mut self, of: InstrumentId, price: i64, lots: i64) -> std::vec::Vec<u8> {
            let message = Message::Event(of, EventKind::Level(level(price, lots)));
            let mut packet = std::vec::Vec::new();
            let mut send = |_, bytes: &[u8]| -> Result<(), SbeError> {
                packet.extend_from_slice(bytes);
                Ok(())
            };
            self.increments.push(Nanos(0), &message, &mut send).expect("room");
            self.increments.end(Nanos(0), &mut send).expect("room");
            packet
        }

        fn snapshot(&mut self, levels: &[(i64, i64)]) -> std::vec::Vec<std::vec::Vec<u8>> {
            self.snapshot_of(INSTRUMENT, levels)
        }

        fn snapshot_of(
            &mut self,
            instrument: InstrumentId,
            levels: &[(i64, i64)],
        ) -> std::vec::Vec<std::vec::Vec<u8>> {
            let levels = levels.iter().map(|&(price, lots)| level(price, lots));
            self.snapshots.capture(self.increments.sequence(), levels, std::iter::empty());
            let definition = InstrumentDefinition {
                tick: Price(1),
                lot_mantissa: 1,
                instrument,
                lot_decimals: 3,
                symbol: Symbol::new(b"X").expect("a symbol"),
            };
            let count = self.snapshots.packet_count();
            let mut packet = |at| {
                let status = TradingStatus::Trading;
                self.snapshots.packet(at, Nanos(0), &definition, status).to_vec()
            };
            (0..count).map(&mut packet).collect()
        }
    }

    fn bid(book: &Book) -> Option<(i64, i64)> {
        book.levels().top().bid.map(|bid| (bid.price.0, bid.lots.0))
    }

    #[test]
    fn follows_from_the_first_packet_and_waits_for_a_snapshot_after_a_gap() {
        let (mut feed, mut book) = (Feed::new(1), Book::with_capacity(8));
        assert_eq!(book.follow(&feed.update(10, 1)), Ok(true));
        assert!(book.is_sound() && bid(&book) == Some((10, 1)));
        let again = feed.update(11, 2);
        assert_eq!((book.follow(&again), book.follow(&again)), (Ok(true), Ok(false)));
        // A snapshot that nobody needs says what the instrument is, and changes nothing.
        for packet in feed.snapshot(&[(5, 5)]) {
            assert_eq!(book.follow(&packet), Ok(false));
        }
        assert_eq!(bid(&book), Some((11, 2)));
        assert_eq!(book.definition().map(|it| it.lot_decimals), Some(3));
        let _lost = feed.update(12, 1);
        assert_eq!(book.follow(&feed.update(13, 1)), Ok(false));
        assert!(!book.is_sound() && book.gaps() == 1);
        let mut told = feed.snapshot(&[(13, 1), (12, 1)]).into_iter();
        assert!(told.by_ref().take(2).all(|packet| book.follow(&packet) == Ok(false)));
        assert!(!book.is_sound());
        assert!(told.all(|packet| book.follow(&packet) == Ok(true)));
        assert!(book.is_sound() && bid(&book) == Some((13, 1)));
        assert_eq!(book.follow(&feed.update(13, 0)), Ok(true));
        assert_eq!((bid(&book), book.last()), (Some((12, 1)), feed.increments.sequence()));
    }

    #[test]
    fn joins_late_and_begins_anew_with_another_stream() {
        let (mut feed, mut book) = (Feed::new(1), Book::with_capacity(8));
        let _unheard = feed.update(10, 1);
        assert_eq!(book.follow(&feed.update(9, 1)), Ok(false));
        let old = feed.snapshot(&[(10, 1), (9, 1)]);
        // What comes before the snapshot's end makes it old.
        let (last, begin) = old.split_last().expect("packets");
        begin.iter().for_each(|packet| assert_eq!(book.follow(packet), Ok(false)));
        assert_eq!(book.follow(&feed.update(8, 1)), Ok(false));
        assert_eq!(book.follow(last), Ok(false));
        assert!(!book.is_sound());
        for packet in feed.snapshot(&[(10, 1), (9, 1), (8, 1)]) {
            book.follow(&packet).expect("a packet");
        }
        assert!(book.is_sound() && book.levels().level_count(Side::Buy) == 3);
        let mut other = Feed::new(2);
        assert_eq!(book.follow(&other.update(70, 1)), Ok(true));
        assert_eq!((bid(&book), book.levels().level_count(Side::Buy)), (Some((70, 1)), 1));
    }

    #[test]
    fn who_joins_late_by_a_snapshot_takes_it_and_an_empty_book_is_not_sound() {
        let (mut feed, mut book) = (Feed::new(1), Book::with_capacity(8));
        assert!(!book.is_sound());
        (0..50).for_each(|_| drop(feed.update(10, 1)));
        let told: std::vec::Vec<_> = feed.snapshot(&[(10, 1)]);
        assert_eq!(told.iter().filter(|packet| book.follow(packet) == Ok(true)).count(), 1);
        assert!(book.is_sound() && bid(&book) == Some((10, 1)) && book.last().0 == 50);
        // Packets that did not come, and a snapshot that has them.
        let _lost = feed.update(11, 1);
        for packet in feed.snapshot(&[(11, 1), (10, 1)]) {
            assert_eq!(book.follow(&packet), Ok(book.is_sound()));
        }
        assert_eq!((book.is_sound(), bid(&book), book.gaps()), (true, Some((11, 1)), 1));
        assert_eq!(book.follow(&feed.update(12, 1)), Ok(true));
        // Of a stream that has sent nothing the empty book is the book, once that is said.
        let (mut idle, mut book) = (Feed::new(1), Book::with_capacity(8));
        idle.snapshot(&[]).iter().for_each(|packet| assert!(book.follow(packet).is_ok()));
        assert!(book.is_sound() && book.last().0 == 0);
        assert_eq!(book.follow(&idle.update(1, 1)), Ok(true));
    }

    #[test]
    fn a_snapshot_of_which_a_part_was_lost_is_no_book() {
        let (mut feed, mut book) = (Feed::new(1), Book::with_capacity(256));
        let _unheard = feed.update(1, 1);
        let levels: std::vec::Vec<_> = (1..=200).map(|price| (price, 1)).collect();
        let packets = feed.snapshot(&levels);
        assert!(packets.len() > 3, "more than one packet of levels");
        for (at, packet) in packets.iter().enumerate() {
            if at != 1 {
                assert_eq!(book.follow(packet), Ok(false));
            }
        }
        assert!(!book.is_sound());
        feed.snapshot(&levels).iter().for_each(|packet| assert!(book.follow(packet).is_ok()));
        assert!(book.is_sound() && book.levels().level_count(Side::Buy) == 200);
    }

    #[test]
    fn other_instruments_of_the_channel_change_nothing() {
        let mut feed = Feed::new(1);
        let mut first = Book::with_capacity(8);
        let mut second = Book::with_capacity(8).of_instrument(OTHER);
        let mut follow = |packet: &[u8]| [first.follow(packet), second.follow(packet)];
        assert_eq!(follow(&feed.update(10, 1)), [Ok(true), Ok(false)]);
        assert_eq!(follow(&feed.update_of(OTHER, 20, 2)), [Ok(false), Ok(true)]);
        let _lost = feed.update(11, 1);
        follow(&feed.update(12, 1))
            .into_iter()
            .for_each(|followed| assert_eq!(followed, Ok(false)));
        for packet in feed.snapshot_of(OTHER, &[(20, 2)]) {
            assert_eq!(follow(&packet)[0], Ok(false));
        }
        assert_eq!([first.is_sound(), second.is_sound()], [false, true]);
        assert_eq!([bid(&first), bid(&second)], [Some((10, 1)), Some((20, 2))]);
        assert_eq!(second.definition().map(|it| it.instrument), Some(OTHER));
        assert_eq!(first.definition(), None);
    }

    #[test]
    fn what_cannot_be_is_counted_and_makes_it_wait() {
        let (mut feed, mut book) = (Feed::new(1), Book::with_capacity(1));
        assert_eq!(book.follow(&feed.update(10, 0)), Ok(false));
        assert_eq!((book.refused(), book.is_sound()), (1, false));
        for packet in feed.snapshot(&[(1, 1)]) {
            book.follow(&packet).expect("a packet");
        }
        assert!(book.is_sound());
        let mut cut = feed.update(1, 2);
        cut.pop();
        assert!(book.follow(&cut).is_err() && !book.is_sound());
        assert!(book.follow(&[1, 2, 3]).is_err());
    }
}
