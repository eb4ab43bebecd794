//! One writer, any number of readers, messages of any size up to an eighth of the capacity.
//!
//! The log is a ring of bytes. A record is a header word (its length, and that it is committed) and
//! its bytes, rounded up to words; it never wraps: a padding record fills the end. Before a header
//! is committed the word behind the record, where the next header will be, is zeroed; so a reader
//! that stands at a record boundary sees either nothing or a whole record. Positions count bytes
//! from the base and never come back: the same position means the same message for a replay and for
//! a mirror in another memory.
//!
//! Readers register or not, are overtaken or waited for, as in [`broadcast`](crate::broadcast).

mod ring;

use core::fmt;

use ring::{Ring, WORD, record_bytes};
use taut_sync::atomic::{AtomicU64, Ordering};

use crate::broadcast::{Polled, Start};
use crate::bytes::{WORD_BYTES, load_bytes, store_bytes};
use crate::control::{Control, Counters, PARTS, control_words};
use crate::error::RingError;
use crate::gate::{Full, Gate, Policy, ReaderGate, Verdict, ahead};

/// The smallest capacity in bytes.
pub const LOG_BYTES_MIN: usize = 512;
/// The committed bit of a header; the low 32 bits are the length in bytes.
const COMMITTED: u64 = 1 << 63;
const LENGTH: u64 = 0xFFFF_FFFF;
/// A record that only fills the end of the ring.
const PADDING: u64 = 1 << 62;

/// Words of memory for a log of `capacity_bytes` (a power of two) and at most `reader_count`
/// registered readers.
#[must_use]
pub const fn words_for(capacity_bytes: usize, reader_count: usize) -> usize {
    control_words(reader_count) + capacity_bytes / WORD_BYTES
}

/// The longest message of a log: with its header, an eighth of the capacity.
#[must_use]
pub const fn message_bytes_max(capacity_bytes: usize) -> usize {
    capacity_bytes / PARTS as usize - WORD_BYTES
}

/// The shape of a log in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Capacity in bytes, a power of two.
    pub capacity_bytes: usize,
    /// Readers that may register.
    pub reader_count: usize,
}

impl Layout {
    fn parts(self, memory: &[AtomicU64]) -> Result<(Control<'_>, Ring<'_>), RingError> {
        let bytes = self.capacity_bytes;
        if bytes < LOG_BYTES_MIN || !bytes.is_power_of_two() {
            return Err(RingError::LogBytes { bytes });
        }
        let (control, words) = Control::split(memory, self.reader_count)?;
        if words.len() != bytes / WORD_BYTES {
            let need = words_for(bytes, self.reader_count);
            return Err(RingError::TooSmall { need, have: memory.len() });
        }
        Ok((control, Ring::new(words)))
    }

    /// Makes zeroed memory a log that begins at position `start`, rounded down to a word. Zeroed
    /// memory is one that begins at 0 already; other starts are for tests and for mirrors.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn format(self, memory: &[AtomicU64], start: u64) -> Result<(), RingError> {
        let (control, ring) = self.parts(memory)?;
        let start = start & !(WORD - 1);
        control.format(start);
        // Relaxed: nobody else knows the memory yet.
        ring.header(start).store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// A reader is a whole log behind.
    Full,
    /// The message is longer than an eighth of the capacity.
    TooLong {
        /// The longest message, in bytes.
        bytes_max: usize,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("a reader is a whole log behind"),
            Self::TooLong { bytes_max } => {
                write!(f, "a message has at most {bytes_max} bytes, an eighth of the capacity")
            }
        }
    }
}

impl core::error::Error for ClaimError {}

impl From<Full> for ClaimError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// The writing end. There must be one at a time.
#[derive(Debug)]
pub struct Appender<'m> {
    control: Control<'m>,
    ring: Ring<'m>,
    gate: Gate<'m>,
    position: u64,
    /// Where the last mark was set: it is for the part that this lies in.
    marked: u64,
    /// The first record of a batch, which is committed last.
    batch: Option<(u64, u64)>,
}

impl<'m> Appender<'m> {
    /// An appender that goes on where the last one stopped, also if that died in the middle of a
    /// message: nothing committed is lost, nothing uncommitted is seen.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn resume(
        memory: &'m [AtomicU64],
        layout: Layout,
        policy: Policy,
    ) -> Result<Self, RingError> {
        let (control, ring) = layout.parts(memory)?;
        // Relaxed: we are the only writer; how the last one's end is known orders its stores.
        let mut head = control.head().load(Ordering::Relaxed) & !(WORD - 1);
        let limit = head.wrapping_add(ring.bytes());
        // It may have died between a header and the head.
        loop {
            let header = ring.header(head).load(Ordering::Relaxed);
            let next = head.wrapping_add(record_bytes(header & LENGTH));
            if header & COMMITTED == 0 || ahead(limit, next) > ring.bytes() || next == limit {
                break;
            }
            head = next;
        }
        // Relaxed: as above. What lies behind is overwritten before it is committed.
        ring.header(head).store(0, Ordering::Relaxed);
        control.head().store(head, Ordering::Relaxed);
        control.next_epoch();
        let gate = Gate::new(control, policy, ring.bytes(), head);
        // As if in the part before: whether this one's mark was set before its writer died is asked
        // with the first message.
        let marked = head.wrapping_sub(ring.bytes() / PARTS);
        Ok(Self { control, ring, gate, position: head, marked, batch: None })
    }

    /// Appends a message. Cost: one store for each 8 bytes, and three more.
    ///
    /// # Errors
    /// When there is no room, or the message is too long.
    #[inline]
    pub fn append(&mut self, message: &[u8]) -> Result<(), ClaimError> {
        store_bytes(self.make_room(message.len())?, message);
        self.flush();
        self.commit_at(COMMITTED | message.len() as u64, false);
        Ok(())
    }

    /// Appends a message that readers see when [`Appender::flush`] is called, with all others of
    /// the batch at once.
    ///
    /// # Errors
    /// When there is no room (flush, and try again), or the message is too long.
    #[inline]
    pub fn append_to_batch(&mut self, message: &[u8]) -> Result<(), ClaimError> {
        store_bytes(self.make_room(message.len())?, message);
        self.commit_at(COMMITTED | message.len() as u64, true);
        Ok(())
    }

    /// Lets readers see the batch.
    #[inline]
    pub fn flush(&mut self) {
        if let Some((position, header)) = self.batch.take() {
            // Release: as in `commit_at`; all records behind this one are committed already.
            self.ring.header(position).store(header, Ordering::Release);
            self.publish_head();
        }
    }

    /// Claims room for a message of `bytes` bytes, to be written in place. Nothing is seen of it
    /// unless it is committed.
    ///
    /// # Errors
    /// When there is no room, or the message is too long.
    #[inline]
    pub fn claim(&mut self, bytes: usize) -> Result<Claim<'_, 'm>, ClaimError> {
        let body = self.make_room(bytes)?;
        Ok(Claim { appender: self, body, bytes: bytes as u64 })
    }

    /// Declares the next message a key message: one that a reader can begin with, such as a
    /// snapshot.
    pub fn mark_key(&mut self) {
        // Relaxed: a key is believed only up to the head, whose release orders what is there.
        self.control.key().store(self.position, Ordering::Relaxed);
        self.control.key_set().store(1, Ordering::Relaxed);
    }

    /// Where the next message goes, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// What others can read about this log.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.control.counters()
    }

    /// The words for a message of `bytes` bytes.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<&'m [AtomicU64], ClaimError> {
        let bytes_max = message_bytes_max(self.ring.bytes() as usize);
        if bytes > bytes_max {
            return Err(ClaimError::TooLong { bytes_max });
        }
        let record = record_bytes(bytes as u64);
        let to_end = self.ring.to_end(self.position);
        let padding = if record > to_end { to_end } else { 0 };
        // One word more: the next header is zeroed before this one is committed.
        self.gate.admit(self.position, padding + record + WORD)?;
        if padding > 0 {
            self.pad(padding);
        }
        self.ring.claim_soon(self.position);
        Ok(self.ring.body(self.position, bytes as u64))
    }

    /// Fills the end of the ring.
    #[cold]
    fn pad(&mut self, bytes: u64) {
        self.commit_at(COMMITTED | PADDING | (bytes - WORD), self.batch.is_some());
    }

    /// Commits the record at the position and goes on behind it.
    #[inline]
    fn commit_at(&mut self, header: u64, in_batch: bool) {
        let at = self.position;
        let next = at.wrapping_add(record_bytes(header & LENGTH));
        // Relaxed: ordered by the header that is stored next.
        self.ring.header(next).store(0, Ordering::Relaxed);
        self.position = next;
        if in_batch && self.batch.is_none() {
            self.batch = Some((at, header));
            return;
        }
        // Release: the record, and the zero behind it, are visible to whoever acquires the header.
        self.ring.header(at).store(header, Ordering::Release);
        if self.batch.is_none() {
            self.publish_head();
        }
    }

    #[inline]
    fn publish_head(&mut self) {
        // Release: who begins here sees that the header is zero or committed.
        self.control.head().store(self.position, Ordering::Release);
        // Parts are powers of two: within one, only bits below its length differ.
        if self.position ^ self.marked >= self.ring.bytes() / PARTS {
            self.mark();
        }
    }

    /// Marks the first record boundary of a part.
    #[cold]
    fn mark(&mut self) {
        let part = self.ring.bytes() / PARTS;
        self.marked = self.position;
        let mark = &self.control.marks()[(self.position / part % PARTS) as usize];
        // Relaxed: our own word.
        if ahead(self.position, mark.load(Ordering::Relaxed)) >= part {
            // Relaxed: as for a key.
            mark.store(self.position, Ordering::Relaxed);
        }
    }
}

/// Room for a message. Dropped without a commit it leaves no trace.
#[derive(Debug)]
pub struct Claim<'a, 'm> {
    appender: &'a mut Appender<'m>,
    body: &'m [AtomicU64],
    bytes: u64,
}

impl Claim<'_, '_> {
    /// The words of the message, to be stored with relaxed operations or [`store_bytes`].
    #[inline]
    #[must_use]
    pub const fn words(&self) -> &[AtomicU64] {
        self.body
    }

    /// Stores bytes at a multiple of 8 within the message.
    pub fn put(&self, at_word: usize, bytes: &[u8]) {
        if let Some(words) = self.body.get(at_word..) {
            store_bytes(words, bytes);
        }
    }

    /// Lets readers see the message.
    #[inline]
    pub fn commit(self) {
        self.appender.flush();
        self.appender.commit_at(COMMITTED | self.bytes, false);
    }

    /// Gives the room back.
    pub fn abort(self) {}
}

/// A reading end; as many as you like, each with a position of its own.
#[derive(Debug)]
pub struct LogReader<'m> {
    ring: Ring<'m>,
    control: Control<'m>,
    gate: ReaderGate<'m>,
    position: u64,
    /// The header of the last record and the bytes of it.
    last: u64,
    step: u64,
}

impl<'m> LogReader<'m> {
    /// A reader that the appender does not know: it never writes to the memory.
    ///
    /// # Errors
    /// When the memory is not of this layout.
    pub fn passive(
        memory: &'m [AtomicU64],
        layout: Layout,
        start: Start,
    ) -> Result<Self, RingError> {
        let (control, ring) = layout.parts(memory)?;
        let position = begin(&control, ring, start);
        let gate = ReaderGate::passive(control, ring.bytes(), position);
        Ok(Self { ring, control, gate, position, last: 0, step: WORD })
    }

    /// A reader that the appender waits for, at the place `place`, which must be nobody's.
    ///
    /// # Errors
    /// When the memory is not of this layout or has no such place.
    pub fn registered(
        memory: &'m [AtomicU64],
        layout: Layout,
        start: Start,
        place: usize,
    ) -> Result<Self, RingError> {
        let (control, ring) = layout.parts(memory)?;
        let choose = || begin(&control, ring, start);
        let (gate, position) = ReaderGate::registered(control, place, ring.bytes(), choose)?;
        Ok(Self { ring, control, gate, position, last: 0, step: WORD })
    }

    /// Copies the next message into `buffer`, if there is one, and says how long it is; what does
    /// not fit is cut off. Cost: one load for each 8 bytes, and four more; it never waits.
    #[inline]
    pub fn poll(&mut self, buffer: &mut [u8]) -> Polled<usize> {
        self.poll_with(|words, bytes| {
            let copied = bytes.min(buffer.len());
            load_bytes(words, &mut buffer[..copied]);
            bytes
        })
    }

    /// Shows the next message in place: its words and its length in bytes. What `read` makes of it
    /// is returned only if the writer did not interfere; it must accept any bytes.
    #[inline]
    pub fn poll_with<T>(&mut self, read: impl FnOnce(&[AtomicU64], usize) -> T) -> Polled<T> {
        let mut has_passed_padding = false;
        loop {
            // Acquire: pairs with the release of the header, so that the record is whole.
            let header = self.ring.header(self.position).load(Ordering::Acquire);
            if header & COMMITTED == 0 {
                return self.nothing();
            }
            let bytes = header & LENGTH;
            if header & PADDING == 0 {
                // An overtaken reader may hold any word for a header: `body` keeps it in bounds.
                let body = self.ring.body(self.position, bytes);
                let value = read(body, body.len().saturating_mul(WORD_BYTES).min(bytes as usize));
                return match self.gate.confirm(self.position) {
                    Verdict::Sound => {
                        self.pass(header);
                        Polled::Message(value)
                    }
                    Verdict::Lapped => Polled::Lapped(self.lapped()),
                    Verdict::NewEpoch(epoch) => Polled::NewWriter(epoch),
                };
            }
            match self.gate.confirm(self.position) {
                Verdict::Sound => self.pass(header),
                Verdict::Lapped => return Polled::Lapped(self.lapped()),
                Verdict::NewEpoch(epoch) => return Polled::NewWriter(epoch),
            }
            // Padding fills the end of the ring, and a message follows. Only garbage has more.
            if core::mem::replace(&mut has_passed_padding, true) {
                return Polled::Empty;
            }
        }
    }

    /// Tells the appender at once what is read; a poll does so only now and then.
    pub fn report(&mut self) {
        self.gate.report(self.position);
    }

    /// The position of the next message, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The epoch of the writer of the last message.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.gate.epoch()
    }

    /// The epoch of the writer that there is now, or was last.
    #[must_use]
    pub fn writer_epoch(&self) -> u64 {
        self.control.counters().epoch
    }

    /// Whether the appender waits for this reader: it registered and was not evicted.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.gate.is_held()
    }

    /// Whether there is a message, or was one that the writer has overtaken since.
    #[must_use]
    pub fn has_next(&self) -> bool {
        // Relaxed: the poll that follows orders.
        self.ring.header(self.position).load(Ordering::Relaxed) != 0
    }

    /// Goes on behind the record. Where it is as long as the last one, that one's length tells its
    /// end: a processor that expects so looks for the next header before this one has come from the
    /// writer's core, and so has several lines under way. (A sum with what the header says would
    /// wait for it.)
    #[inline]
    fn pass(&mut self, header: u64) {
        if header != self.last {
            self.step_anew(header);
        }
        self.position = self.position.wrapping_add(self.step);
        self.gate.passed(self.position);
    }

    /// Records of many lengths are not foreseen: their lines are asked for. (A call, so that no
    /// compiler makes a conditional move of the branch.)
    #[cold]
    #[inline(never)]
    fn step_anew(&mut self, header: u64) {
        self.ring.fetch_soon(self.position);
        self.last = header;
        self.step = record_bytes(header & LENGTH);
    }

    #[inline]
    fn nothing<T>(&mut self) -> Polled<T> {
        if self.gate.is_lapped(self.position) {
            return Polled::Lapped(self.lapped());
        }
        self.gate.caught_up(self.position);
        Polled::Empty
    }

    /// Goes on with the oldest record that is not about to be overwritten; returns what is lost.
    #[cold]
    fn lapped(&mut self) -> u64 {
        let next = begin(&self.control, self.ring, Start::Oldest);
        let lost = next.wrapping_sub(self.position);
        self.position = next;
        self.gate.report(next);
        self.gate.note_lost(lost);
        lost
    }
}

/// The record boundary where a reader begins.
fn begin(control: &Control<'_>, ring: Ring<'_>, start: Start) -> u64 {
    let capacity = ring.bytes();
    let base = control.base().load(Ordering::Relaxed);
    // Acquire: pairs with its release, so that the word at the head, and at every boundary below
    // it, is zero or a header, and not a part of a message that was there a lap ago. Marks and key
    // are relaxed: they are believed only up to this head.
    let head = control.head().load(Ordering::Acquire);
    let reserve = control.reserve().load(Ordering::Relaxed);
    let reserved = if ahead(reserve, head) > capacity { 0 } else { ahead(reserve, head) };
    let safe = capacity.saturating_sub(reserved.max(capacity / PARTS));
    let held = safe.min(ahead(head, base));
    let is_held = |position: u64| ahead(head, position) <= held && position.is_multiple_of(WORD);
    let marks = control.marks().iter().map(|mark| mark.load(Ordering::Relaxed));
    let oldest = marks.filter(|at| is_held(*at)).max_by_key(|at| ahead(head, *at)).unwrap_or(head);
    let wanted = match start {
        Start::Latest => return head,
        Start::Oldest => return oldest,
        Start::Key if control.key_set().load(Ordering::Relaxed) == 0 => return oldest,
        Start::Key => control.key().load(Ordering::Relaxed),
        Start::At(position) => position,
    };
    if is_held(wanted) { wanted } else { oldest }
}

#[cfg(all(test, not(loom)))]
mod tests;
