//! Reading a recording, or any journal, entry by entry.

use std::path::{Path, PathBuf};

use taut_types::Nanos;

use crate::error::{Damage, JournalError, What, segment_name};
use crate::kind::{END, is_recorded};
use crate::recovery::{read_file, segment_numbers};
use crate::scan::{Found, Tail, TailKind, Walk};
use crate::state::State;
use crate::times::{self, Place};

/// An entry as it stands in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'r> {
    /// Its number.
    pub sequence: u64,
    /// When it was appended: CLOCK_MONOTONIC, of an entry about orders UTC.
    pub time: Nanos,
    /// What kind it is.
    pub kind: u16,
    /// In which segment, and at which byte of its file.
    pub at: (u32, u64),
    /// What is in it.
    pub bytes: &'r [u8],
}

impl Frame<'_> {
    /// Whether it is about orders, and nothing that the gateway heard.
    #[must_use]
    pub const fn is_about_orders(&self) -> bool {
        !is_recorded(self.kind)
    }
}

/// Reads entries in their order.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    /// The file that is read, and how far.
    bytes: Vec<u8>,
    walk: Walk,
    /// What the entries about orders came to before the first one.
    orders: Option<State>,
    tail: Option<Tail>,
    is_over: bool,
}

impl Reader {
    /// Opens a journal at its first entry.
    ///
    /// # Errors
    /// The first segment cannot be read, or its header or its checkpoint is damaged.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let bytes = read_file(folder, 1)?;
        let mut walk = Walk::open(&bytes, 1, None)?;
        let orders = walk.checkpoint(&bytes, usize::MAX)?;
        walk.due = Some(orders.as_ref().map_or(1, |state| state.as_of.saturating_add(1)));
        let folder = folder.to_owned();
        Ok(Self { folder, bytes, walk, orders, tail: None, is_over: false })
    }

    /// Opens a journal at an entry that was appended at this time at the latest, by its time table;
    /// at the first where there is none, or it says nothing that is right.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_before(folder: &Path, time: Nanos) -> Result<Self, JournalError> {
        let mut reader = Self::open(folder)?;
        let places = times::read(folder);
        let before = places.iter().rev().find(|place| place.time <= time);
        if let Some(place) = before
            && !reader.goes_to(place)
        {
            return Self::open(folder);
        }
        Ok(reader)
    }

    /// Goes on at this entry; whether it is there.
    fn goes_to(&mut self, place: &Place) -> bool {
        if self.walk.header.number != place.segment && self.load(place.segment).is_err() {
            return false;
        }
        self.walk.at = usize::try_from(place.offset / 8).unwrap_or(usize::MAX);
        self.walk.due = Some(place.sequence);
        let found = { self.walk }.next(&self.bytes);
        found.is_ok_and(|found| found.is_some_and(|record| record.time == place.time))
    }

    /// What the entries about orders came to before the first entry; nothing where none are kept.
    #[must_use]
    pub const fn orders(&self) -> Option<&State> {
        self.orders.as_ref()
    }

    /// The next entry; none at the end.
    ///
    /// # Errors
    /// What is wrong, with its file and byte: an entry that fails its check and was finished, or
    /// has right ones behind it; a number that is not due; a segment that is missing. With
    /// [`Settings::marks`](crate::Settings::marks) what a power cut can have lost is the end, and
    /// no error.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, JournalError> {
        let found = loop {
            if self.is_over {
                return Ok(None);
            }
            match self.walk.step(&self.bytes) {
                Ok(Some(Found { kind: END, .. })) => {}
                Ok(Some(found)) => break found,
                Ok(None) => self.end_segment()?,
                Err(damage) => self.end_at(damage)?,
            }
        };
        let Found { kind, sequence, time, at, payload } = found;
        let at = (self.walk.header.number, at);
        let bytes = self.bytes.get(payload).unwrap_or(&[]);
        Ok(Some(Frame { sequence, time, kind, at, bytes }))
    }

    /// What stands behind the last entry, where the journal was not ended.
    #[must_use]
    pub const fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Whether the journal was ended, as far as it was read: its process was not killed.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.walk.is_ended
    }

    /// Damage is the end where a power cut can have made it: when nothing behind it says that what
    /// is wrong was on the disk.
    fn end_at(&mut self, damage: Damage) -> Result<(), JournalError> {
        let can_be_cut = match damage.what {
            What::Record => true,
            What::Sequence { due, found } => found > due,
            _ => false,
        };
        if !self.walk.header.has_marks || !can_be_cut || self.was_safe()? {
            return Err(damage.into());
        }
        let Damage { segment, offset, .. } = damage;
        let bytes = (8 * self.walk.header.words as u64).saturating_sub(offset);
        self.tail = Some(Tail { segment, offset, bytes, kind: TailKind::Damaged });
        self.is_over = true;
        Ok(())
    }

    /// Whether something right that stands here or behind says that the entry that is due was on
    /// the disk.
    fn was_safe(&self) -> Result<bool, JournalError> {
        let due = self.walk.due.unwrap_or(1);
        if self.walk.was_safe(&self.bytes, due) {
            return Ok(true);
        }
        for number in segment_numbers(&self.folder)? {
            if number <= self.walk.header.number || self.is_unwritten(number) {
                continue;
            }
            let bytes = read_file(&self.folder, number)?;
            if Walk::open(&bytes, number, None)?.was_safe(&bytes, due) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// No right entry stands here: the next segment, or the end, or damage.
    fn end_segment(&mut self) -> Result<(), JournalError> {
        let tail = match self.walk.tail(&self.bytes) {
            Ok(tail) => tail,
            Err(damage) => return self.end_at(damage),
        };
        let next = self.walk.header.number.saturating_add(1);
        let numbers = segment_numbers(&self.folder)?;
        let has_later = numbers.iter().any(|number| *number > next);
        if !numbers.contains(&next) && has_later {
            return Err(Damage { segment: next, offset: 0, what: What::Missing }.into());
        }
        let is_last = self.walk.is_ended || !numbers.contains(&next);
        if is_last || (!has_later && self.is_unwritten(next)) {
            // Of an unwritten one a power cut has left the name alone.
            (self.is_over, self.tail) = (true, tail);
            return Ok(());
        }
        self.load(next)?;
        if self.walk.peek(&self.bytes).is_none() {
            // Nothing right begins it: then nothing right may stand behind.
            let (segment, offset) = (next, 8 * self.walk.at as u64);
            return match self.walk.tail(&self.bytes) {
                Err(damage) => self.end_at(damage),
                Ok(_) if has_later => self.end_at(Damage { segment, offset, what: What::Record }),
                Ok(here) => {
                    (self.tail, self.is_over) = (tail.or(here), true);
                    Ok(())
                }
            };
        }
        match tail {
            Some(Tail { segment, offset, .. }) => {
                self.end_at(Damage { segment, offset, what: What::Record })
            }
            None => {
                self.tail = None;
                Ok(())
            }
        }
    }

    /// Whether nothing was ever written to a segment.
    fn is_unwritten(&self, number: u32) -> bool {
        let bytes = std::fs::read(self.folder.join(segment_name(number))).unwrap_or_default();
        bytes.iter().all(|byte| *byte == 0)
    }

    fn load(&mut self, number: u32) -> Result<(), JournalError> {
        let bytes = read_file(&self.folder, number)?;
        let walk = Walk::open(&bytes, number, self.walk.due)?;
        walk.checkpoint(&bytes, 1)?;
        (self.bytes, self.walk) = (bytes, walk);
        Ok(())
    }
}
