//! Reading a journal of inputs.

use std::path::{Path, PathBuf};

use taut_sys::SysError;
use taut_types::Nanos;

use super::frame::{self, HEAD_WORDS, Head};
use super::header::{HEADER_WORDS, Header};
use super::times::{self, InputPlace};
use crate::error::{Damage, JournalError, What, segment_name};

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'r> {
    /// Its number, from 1.
    pub sequence: u64,
    /// CLOCK_MONOTONIC when it was appended.
    pub time: Nanos,
    /// What kind it is.
    pub kind: u16,
    /// In which segment, and at which byte of its file.
    pub at: (u32, u64),
    /// What is in it.
    pub bytes: &'r [u8],
}

/// What stands behind the last frame: a frame that was never finished, or not all of which a power
/// cut has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsTail {
    /// In which segment.
    pub segment: u32,
    /// At which byte of its file.
    pub offset: u64,
}

/// Reads frames in their order.
#[derive(Debug)]
pub struct InputReader {
    folder: PathBuf,
    segment: u32,
    salt: u64,
    words: Vec<u64>,
    at: usize,
    /// The number that is due.
    due: u64,
    tail: Option<InputsTail>,
    is_over: bool,
    room: Vec<u64>,
    bytes: Vec<u8>,
}

impl InputReader {
    /// Opens a journal at its first frame.
    ///
    /// # Errors
    /// The first segment cannot be read, or its header is damaged.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let mut reader = Self {
            folder: folder.to_owned(),
            segment: 1,
            salt: 0,
            words: Vec::new(),
            at: 0,
            due: 1,
            tail: None,
            is_over: false,
            room: Vec::new(),
            bytes: Vec::new(),
        };
        reader.load(1)?;
        Ok(reader)
    }

    /// Opens a journal at a frame that was appended at this time at the latest, by its time table;
    /// at the first where there is none, or it says nothing that is right.
    ///
    /// # Errors
    /// As [`InputReader::open`].
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

    /// Goes on at this frame; whether it is there.
    fn goes_to(&mut self, place: &InputPlace) -> bool {
        if self.segment != place.segment && self.load(place.segment).is_err() {
            return false;
        }
        self.at = usize::try_from(place.offset / 8).unwrap_or(usize::MAX);
        self.due = place.sequence;
        let rest = self.words.get(self.at..).unwrap_or(&[]);
        let head = frame::read(rest, self.salt, &mut self.room);
        head.is_some_and(|head| (head.sequence, head.time) == (place.sequence, place.time))
    }

    /// The next frame; none at the end.
    ///
    /// # Errors
    /// What is wrong, with its file and byte: a frame that fails its check and was finished, or has
    /// right frames behind it; a number that is not due; a segment that is missing.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, JournalError> {
        let head = loop {
            if self.is_over {
                return Ok(None);
            }
            let rest = self.words.get(self.at..).unwrap_or(&[]);
            if let Some(head) = frame::read(rest, self.salt, &mut self.room) {
                break head;
            }
            self.end_segment()?;
        };
        let Head { kind, sequence, time, words, bytes } = head;
        if sequence != self.due {
            let what = What::Sequence { due: self.due, found: sequence };
            return Err(self.damage(what, self.at).into());
        }
        self.due += 1;
        let at = (self.segment, 8 * self.at as u64);
        let payload = self.words.get(self.at + HEAD_WORDS..self.at + words).unwrap_or(&[]);
        self.bytes.clear();
        self.bytes.extend(payload.iter().flat_map(|word| word.to_le_bytes()));
        self.bytes.truncate(bytes);
        self.at += words;
        Ok(Some(Frame { sequence, time, kind, at, bytes: &self.bytes }))
    }

    /// What stands behind the last frame, where the journal was not ended.
    #[must_use]
    pub const fn tail(&self) -> Option<InputsTail> {
        self.tail
    }

    fn damage(&self, what: What, at: usize) -> Damage {
        Damage { segment: self.segment, offset: 8 * at as u64, what }
    }

    /// No right frame stands here: the next segment, or the end, or damage.
    fn end_segment(&mut self) -> Result<(), JournalError> {
        let behind = self.words.get(self.at..).unwrap_or(&[]);
        let is_empty = behind.iter().all(|word| *word == 0);
        let later = (1..behind.len()).any(|skipped| {
            // Behind zeros there is nothing to look for.
            behind.get(skipped).is_some_and(|word| *word != 0)
                && frame::read(behind.get(skipped..).unwrap_or(&[]), self.salt, &mut self.room)
                    .is_some_and(|head| head.sequence >= self.due)
        });
        if later {
            return Err(self.damage(What::Record, self.at).into());
        }
        let next = self.segment + 1;
        if self.folder.join(segment_name(next)).exists() {
            let was = (self.segment, self.at, is_empty);
            if self.is_unwritten(next) {
                // A power cut has left its name alone.
                self.is_over = true;
                if !is_empty {
                    self.tail = Some(InputsTail { segment: was.0, offset: 8 * was.1 as u64 });
                }
                return Ok(());
            }
            self.load(next)?;
            let rest = self.words.get(self.at..).unwrap_or(&[]);
            let has_frames = frame::read(rest, self.salt, &mut self.room).is_some();
            let (segment, at, is_empty) = was;
            if has_frames && !is_empty {
                let offset = 8 * at as u64;
                return Err(Damage { segment, offset, what: What::Record }.into());
            }
            if !is_empty {
                self.tail = Some(InputsTail { segment, offset: 8 * at as u64 });
            }
            if !has_frames {
                self.is_over = true;
            }
            return Ok(());
        }
        if self.has_later(next) {
            return Err(Damage { segment: next, offset: 0, what: What::Missing }.into());
        }
        self.is_over = true;
        if !is_empty {
            let (segment, offset) = (self.segment, 8 * self.at as u64);
            self.tail = Some(InputsTail { segment, offset });
        }
        Ok(())
    }

    /// Whether nothing was ever written to a segment that is the last one.
    fn is_unwritten(&self, number: u32) -> bool {
        let bytes = std::fs::read(self.folder.join(segment_name(number))).unwrap_or_default();
        bytes.iter().all(|byte| *byte == 0) && !self.has_later(number)
    }

    /// Whether there is a segment behind this one, which is not there.
    fn has_later(&self, missing: u32) -> bool {
        let names = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_suffix(".journal")?.parse::<u32>().ok()?;
            (name.to_str() == Some(&segment_name(number))).then_some(number)
        });
        numbers.into_iter().any(|number| number > missing)
    }

    fn load(&mut self, number: u32) -> Result<(), JournalError> {
        let file = |error: std::io::Error| {
            let error = SysError::from_errno("read", error.raw_os_error().unwrap_or(0));
            JournalError::File { segment: number, error }
        };
        let bytes = std::fs::read(self.folder.join(segment_name(number))).map_err(file)?;
        let (words, _) = bytes.as_chunks::<8>();
        self.words.clear();
        self.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        self.segment = number;
        let header = Header::read(&self.words).map_err(|(what, at)| self.damage(what, at))?;
        if header.number != number {
            return Err(self.damage(What::Number(header.number), 3).into());
        }
        (self.salt, self.at) = (header.salt, HEADER_WORDS);
        Ok(())
    }
}
