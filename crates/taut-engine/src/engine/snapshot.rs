//! The whole engine as words, and back.
//!
//! Magic, version, sizes; the scalars; six books, each as a count and its orders in priority order;
//! FNV-1a over all that. The rules are not in it: they belong to whoever restores.

use core::fmt;

use taut_book::{Fnv1a, Order};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side};

use super::resting_book::{BookKind, NOTED, Note};
use super::state::{Engine, EngineConfig};
use crate::codec::{ORDER_WORDS, order_from_words, order_to_words, pair, unpair};
use crate::command::Phase;
use crate::event::Event;
use crate::rules::Rules;
use crate::terms::feature as f;

const MAGIC: u64 = u64::from_le_bytes(*b"tautsnap");
const VERSION: u64 = 1;

/// Why words are no snapshot for this engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It ends too early.
    Truncated,
    /// It is no snapshot, or one of another version.
    Version,
    /// The checksum is another one.
    Corrupt,
    /// The checksum is right and the content means nothing.
    Malformed,
    /// It holds more than the new engine has room for.
    TooLarge,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the snapshot ends too early",
            Self::Version => "no snapshot, or one of a version that is not known here",
            Self::Corrupt => "the snapshot's checksum does not fit",
            Self::Malformed => "the snapshot is whole and means nothing",
            Self::TooLarge => "the snapshot holds more than the new engine has room for",
        })
    }
}

impl core::error::Error for SnapshotError {}

impl Engine {
    /// Writes the engine's state. Between commands this is all of it; it allocates nothing.
    pub fn snapshot(&self, mut write: impl FnMut(u64)) {
        let mut hash = Fnv1a::new();
        let mut put = |word: u64| {
            hash.write_u64(word);
            write(word);
        };
        put(MAGIC);
        put(VERSION);
        self.write_scalars(&mut put);
        for book_kind in BookKind::ALL {
            self.write_shelf(book_kind, &mut put);
        }
        for book in [&self.pegs, &self.expiries] {
            put(book.order_count() as u64);
            book.orders(Side::Sell).for_each(|order| write_order(&order, 0, &mut put));
        }
        write(hash.finish());
    }

    /// FNV-1a over the snapshot: two engines with the same hash do the same from here on.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut last = 0;
        self.snapshot(|word| last = word);
        last
    }

    /// An engine in the state of a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn restore(
        config: EngineConfig,
        rules: Rules,
        words: impl IntoIterator<Item = u64>,
    ) -> Result<Self, SnapshotError> {
        let mut reader = Reader { words: words.into_iter(), hash: Fnv1a::new() };
        let mut engine = Self::with_rules(config, rules);
        if reader.next()? != MAGIC || reader.next()? != VERSION {
            return Err(SnapshotError::Version);
        }
        engine.read_scalars(&mut reader)?;
        for book_kind in BookKind::ALL {
            engine.read_shelf(book_kind, &mut reader)?;
        }
        for book in [&mut engine.pegs, &mut engine.expiries] {
            for _ in 0..reader.next()? {
                let (order, _) = read_order(&mut reader)?;
                book.add(order).map_err(|_| SnapshotError::TooLarge)?;
            }
        }
        let sum = reader.hash.finish();
        if reader.words.next().ok_or(SnapshotError::Truncated)? != sum {
            return Err(SnapshotError::Corrupt);
        }
        // The levels are told to nobody: they are as the snapshot's reader knows them.
        engine.touched.clear();
        engine.finish_quietly();
        Ok(engine)
    }

    fn finish_quietly(&mut self) {
        self.finish(Side::Buy, &mut |_: Event| {});
    }

    fn write_scalars(&self, put: &mut impl FnMut(u64)) {
        put(self.trade_count);
        put(self.last.cast_unsigned());
        put(self.phase as u64);
        put(self.now.0.cast_unsigned());
        put(self.peg_top.0.cast_unsigned());
        put(self.peg_top.1.cast_unsigned());
        for top in self.top_orders {
            put(u64::from(top.is_some()));
            put(top.map_or(0, |id| id.0));
        }
    }

    fn read_scalars<I: Iterator<Item = u64>>(
        &mut self,
        reader: &mut Reader<I>,
    ) -> Result<(), SnapshotError> {
        self.trade_count = reader.next()?;
        self.last = reader.next()?.cast_signed();
        let phase = u8::try_from(reader.next()?).ok().and_then(Phase::from_index);
        self.phase = phase.ok_or(SnapshotError::Malformed)?;
        self.now = Nanos(reader.next()?.cast_signed());
        self.peg_top = (reader.next()?.cast_signed(), reader.next()?.cast_signed());
        for side in Side::BOTH {
            let (is_some, id) = (reader.next()?, reader.next()?);
            self.top_orders[side.index()] = (is_some == 1).then_some(OrderId(id));
        }
        Ok(())
    }

    fn write_shelf(&self, book_kind: BookKind, put: &mut impl FnMut(u64)) {
        let resting = self.resting(book_kind);
        put(resting.book.order_count() as u64);
        for handle in Side::BOTH.into_iter().flat_map(|side| resting.book.handles(side)) {
            let tag = resting.book.tag(handle);
            write_order(&resting.book.order_at(handle), tag, put);
            put(resting.filled(handle, tag).cast_unsigned());
            if tag & NOTED != 0 {
                let note = resting.note(handle);
                order_to_words(&note.order).into_iter().for_each(&mut *put);
                put(note.reserve.cast_unsigned());
            }
        }
    }

    fn read_shelf<I: Iterator<Item = u64>>(
        &mut self,
        book_kind: BookKind,
        reader: &mut Reader<I>,
    ) -> Result<(), SnapshotError> {
        for _ in 0..reader.next()? {
            let (order, tag) = read_order(reader)?;
            let filled = reader.next()?.cast_signed();
            let mut note = Note::default();
            if tag & NOTED != 0 {
                let mut words = [0; ORDER_WORDS];
                for word in &mut words {
                    *word = reader.next()?;
                }
                note.order = order_from_words(&words).ok_or(SnapshotError::Malformed)?;
                note.reserve = reader.next()?.cast_signed();
            }
            let resting = self.resting_mut(book_kind);
            let placed =
                resting.place(order, &note, filled).map_err(|_| SnapshotError::TooLarge)?;
            // An order without a note carries its time in force in the tag alone.
            resting.book.set_tag(placed.handle, tag);
            let trails = book_kind == BookKind::Pending && note.order.terms.has(f::TRAILING);
            self.trailing_count += usize::from(trails);
        }
        Ok(())
    }
}

fn write_order(order: &Order, tag: u8, put: &mut impl FnMut(u64)) {
    put(order.id.0);
    put(pair(order.owner, u32::from(tag) << 8 | order.side as u32));
    put(order.price.0.cast_unsigned());
    put(order.lots.0.cast_unsigned());
}

fn read_order<I: Iterator<Item = u64>>(
    reader: &mut Reader<I>,
) -> Result<(Order, u8), SnapshotError> {
    let id = OrderId(reader.next()?);
    let (owner, low) = unpair(reader.next()?);
    let [side, tag, ..] = low.to_le_bytes();
    let side = Side::from_index(side).ok_or(SnapshotError::Malformed)?;
    let price = HalfTicks(reader.next()?.cast_signed());
    let lots = Lots(reader.next()?.cast_signed());
    Ok((Order { id, owner, side, price, lots }, tag))
}

/// Words that are hashed as they are read.
struct Reader<I> {
    words: I,
    hash: Fnv1a,
}

impl<I: Iterator<Item = u64>> Reader<I> {
    fn next(&mut self) -> Result<u64, SnapshotError> {
        let word = self.words.next().ok_or(SnapshotError::Truncated)?;
        self.hash.write_u64(word);
        Ok(word)
    }
}
