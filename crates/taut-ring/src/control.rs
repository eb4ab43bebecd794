//! The control words in front of a broadcast ring and of a byte log.
//!
//! Positions only grow. Three pairs of cache lines (the prefetcher pulls lines in pairs), parted by
//! who writes them how often, then one pair for each reader that may register:
//!
//! | words | content | written |
//! |---|---|---|
//! | 0.. | `reserve`, `epoch`, `base`, `gated` | by the writer, once for an eighth of the ring |
//! | 16.. | `head`, `key`, `dropped`, `evicted`, marks | by the writer, with each message |
//! | 32.. | free for whoever puts readers to sleep | by readers that sleep |
//! | 48.. | each reader's `cursor`, `state`, `lost` | by the reader, once for an eighth |

use taut_sync::atomic::{AtomicU64, Ordering};

use crate::error::RingError;

/// Words of one pair of cache lines.
pub(crate) const PAIR_WORDS: usize = 16;
/// Words in front of the readers' places.
const FIXED_WORDS: usize = 3 * PAIR_WORDS;
/// Parts of the capacity: the writer reserves, and a reader reports, one part at a time.
pub(crate) const PARTS: u64 = 8;
/// Where the marks of a byte log begin.
const MARKS: usize = PAIR_WORDS + 8;

/// States of a reader's place.
pub(crate) const FREE: u64 = 0;
pub(crate) const ACTIVE: u64 = 1;
pub(crate) const EVICTED: u64 = 2;

/// Control words for this many readers.
#[must_use]
pub const fn control_words(reader_count: usize) -> usize {
    FIXED_WORDS + reader_count * PAIR_WORDS
}

/// The control words of a ring or a log.
#[derive(Clone, Copy, Debug)]
pub struct Control<'m> {
    fixed: &'m [AtomicU64; FIXED_WORDS],
    readers: &'m [[AtomicU64; PAIR_WORDS]],
}

/// A look at the counters of a ring or a log, for monitoring. Cost: a few loads of lines that the
/// writer owns; it does not slow the hot path by more than one cache miss of the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Where the next message goes: messages, or bytes of a log, since the base.
    pub head: u64,
    /// The position that the ring began with.
    pub base: u64,
    /// The writer's epoch: how many writers there were.
    pub epoch: u64,
    /// The position of the last key message, if there was one.
    pub key: Option<u64>,
    /// Messages that the writer dropped because a reader was slow.
    pub dropped: u64,
    /// Readers that the writer evicted.
    pub evicted: u64,
}

/// A look at a reader's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderView {
    /// Whether a reader is registered here.
    pub active: bool,
    /// Whether the writer evicted it.
    pub evicted: bool,
    /// Up to where it has read; it reports every eighth of the capacity, and when it finds nothing.
    pub cursor: u64,
    /// Messages (of a log: bytes) that it lost.
    pub lost: u64,
}

impl<'m> Control<'m> {
    /// Splits memory into control words for `reader_count` readers and the rest.
    pub(crate) fn split(
        memory: &'m [AtomicU64],
        reader_count: usize,
    ) -> Result<(Self, &'m [AtomicU64]), RingError> {
        let need = control_words(reader_count);
        let too_small = RingError::TooSmall { need, have: memory.len() };
        let (control, rest) = memory.split_at_checked(need).ok_or(too_small)?;
        let (fixed, readers) = control.split_first_chunk::<FIXED_WORDS>().ok_or(too_small)?;
        Ok((Self { fixed, readers: readers.as_chunks().0 }, rest))
    }

    /// The control words of a ring or a log that is somewhere else in use, to look at.
    ///
    /// # Errors
    /// When the memory is too small for this many readers.
    pub fn of(memory: &'m [AtomicU64], reader_count: usize) -> Result<Self, RingError> {
        Ok(Self::split(memory, reader_count)?.0)
    }

    /// The counters now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        // Relaxed: a look from outside orders nothing.
        let at = |index: usize| self.fixed[index].load(Ordering::Relaxed);
        Counters {
            head: at(PAIR_WORDS),
            base: at(2),
            epoch: at(1),
            key: (at(PAIR_WORDS + 4) != 0).then(|| at(PAIR_WORDS + 1)),
            dropped: at(PAIR_WORDS + 2),
            evicted: at(PAIR_WORDS + 3),
        }
    }

    /// How many readers can register.
    #[must_use]
    pub const fn reader_count(&self) -> usize {
        self.readers.len()
    }

    /// What a reader's place says.
    #[must_use]
    pub fn reader(&self, place: usize) -> Option<ReaderView> {
        let words = self.readers.get(place)?;
        // Relaxed: a look from outside orders nothing.
        let state = words[1].load(Ordering::Relaxed);
        Some(ReaderView {
            active: state == ACTIVE,
            evicted: state == EVICTED,
            cursor: words[0].load(Ordering::Relaxed),
            lost: words[2].load(Ordering::Relaxed),
        })
    }

    /// Frees the place of a reader that is known to be dead, so that it holds nobody back.
    pub fn free_reader(&self, place: usize) {
        if let Some(words) = self.readers.get(place) {
            // Relaxed: the dead reader's loads are over; how that is known orders them.
            words[1].store(FREE, Ordering::Relaxed);
        }
    }

    /// Words that the ring itself leaves alone: those of the sleepers.
    #[must_use]
    pub fn sleep_words(&self) -> &'m [AtomicU64] {
        &self.fixed[2 * PAIR_WORDS..]
    }

    /// The free words of a reader's place, for its identity.
    #[must_use]
    pub fn reader_words(&self, place: usize) -> Option<&'m [AtomicU64]> {
        self.readers.get(place).and_then(|words| words.get(3..))
    }

    /// Up to here the writer may have written: below it less the capacity nothing is safe.
    pub(crate) const fn reserve(&self) -> &'m AtomicU64 {
        &self.fixed[0]
    }

    pub(crate) const fn epoch(&self) -> &'m AtomicU64 {
        &self.fixed[1]
    }

    pub(crate) const fn base(&self) -> &'m AtomicU64 {
        &self.fixed[2]
    }

    /// Not zero while the writer waits for registered readers.
    pub(crate) const fn gated(&self) -> &'m AtomicU64 {
        &self.fixed[3]
    }

    pub(crate) const fn head(&self) -> &'m AtomicU64 {
        &self.fixed[PAIR_WORDS]
    }

    pub(crate) const fn key(&self) -> &'m AtomicU64 {
        &self.fixed[PAIR_WORDS + 1]
    }

    /// Not zero once `key` is a position.
    pub(crate) const fn key_set(&self) -> &'m AtomicU64 {
        &self.fixed[PAIR_WORDS + 4]
    }

    pub(crate) const fn dropped(&self) -> &'m AtomicU64 {
        &self.fixed[PAIR_WORDS + 2]
    }

    pub(crate) const fn evicted(&self) -> &'m AtomicU64 {
        &self.fixed[PAIR_WORDS + 3]
    }

    /// The first record boundary of each part of a byte log.
    pub(crate) fn marks(&self) -> &'m [AtomicU64] {
        &self.fixed[MARKS..2 * PAIR_WORDS]
    }

    /// Cursor and state of each reader's place.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'m AtomicU64, &'m AtomicU64)> {
        self.readers.iter().map(|words| (&words[0], &words[1]))
    }

    pub(crate) fn reader_place(
        &self,
        place: usize,
    ) -> Result<&'m [AtomicU64; PAIR_WORDS], RingError> {
        self.readers.get(place).ok_or(RingError::Place { place })
    }

    /// Begins at a position: nothing is held below it.
    pub(crate) fn format(&self, start: u64) {
        for word in [self.reserve(), self.base(), self.head()].into_iter().chain(self.marks()) {
            // Relaxed: nobody else knows the memory yet.
            word.store(start, Ordering::Relaxed);
        }
    }

    /// A new writer takes over: it begins a new epoch, which readers see before its first message.
    pub(crate) fn next_epoch(&self) {
        let epoch = self.epoch().load(Ordering::Relaxed).wrapping_add(1);
        // Relaxed: the first message, released after it, orders it.
        self.epoch().store(epoch, Ordering::Relaxed);
    }
}

/// Adds to a counter that has one writer. Relaxed: nothing is ordered by it.
pub(crate) fn count(word: &AtomicU64, by: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
