//! Reading a journal behind the process that writes it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use taut_sys::SysError;

use crate::error::{Damage, JournalError, What, segment_name};
use crate::header::{HEADER_WORDS, Header};
use crate::kind::{END, SAFE};
use crate::mapped::WORD_BYTES;
use crate::reader::Frame;
use crate::record::{self, Record};

/// Bytes of a read where nothing was found at the last one, and of one behind it.
const FIRST_READ: usize = 4 << 10;
const NEXT_READ: usize = 256 << 10;

/// Reads entries while another process, or another thread, appends them.
///
/// A record is complete when its first word is there: an entry is given as soon as its check sum
/// holds, and until then it counts as not yet written. Damage is told apart from that only when the
/// writer is gone: [`Follower::finish`].
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    /// The segment that is read.
    open: Open,
    /// The one behind it, once it is there.
    next: Option<Open>,
    /// The word of the file where the next record begins.
    at: usize,
    /// Whole words of the file from `window_at` on.
    window: Vec<record::Word>,
    window_at: usize,
    /// Bytes of the next read.
    read_bytes: usize,
    /// The number that is due.
    due: u64,
    /// The last record says that the journal ends there.
    is_ended: bool,
}

/// A segment's file.
#[derive(Debug)]
struct Open {
    file: File,
    header: Header,
}

impl Open {
    /// Nothing where there is no such segment yet.
    fn segment(folder: &Path, number: u32) -> Result<Option<Self>, JournalError> {
        let failed = |operation, error: &std::io::Error| {
            let errno = error.raw_os_error().unwrap_or(0);
            JournalError::File { segment: number, error: SysError::from_errno(operation, errno) }
        };
        let file = match File::open(folder.join(segment_name(number))) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open", &error)),
        };
        let mut bytes = [0; HEADER_WORDS * WORD_BYTES];
        // A segment has its name when its header is in it.
        file.read_exact_at(&mut bytes, 0).map_err(|error| failed("read", &error))?;
        let (words, _) = bytes.as_chunks::<WORD_BYTES>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let damage = |what, at: usize| Damage { segment: number, offset: 8 * at as u64, what };
        let header = Header::read(&words).map_err(|(what, at)| damage(what, at))?;
        if header.number != number {
            return Err(damage(What::Number(header.number), 4).into());
        }
        Ok(Some(Self { file, header }))
    }
}

impl Follower {
    /// Follows the journal in this folder from its first entry on; nothing where it has no segment
    /// yet.
    ///
    /// # Errors
    /// The first segment cannot be read, or is none.
    pub fn open(folder: &Path) -> Result<Option<Self>, JournalError> {
        let Some(open) = Open::segment(folder, 1)? else { return Ok(None) };
        let at = open.header.records_at;
        Ok(Some(Self {
            folder: folder.to_owned(),
            open,
            next: None,
            at,
            window: Vec::new(),
            window_at: at,
            read_bytes: NEXT_READ,
            due: 1,
            is_ended: false,
        }))
    }

    /// The number of the entry that comes next.
    #[must_use]
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// The next entry; nothing while none is complete. Cost without one: two system calls.
    ///
    /// # Errors
    /// A file cannot be read, or the next segment has a wrong header.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, JournalError> {
        let found = loop {
            match self.step()? {
                Some((END, ..)) => self.is_ended = true,
                Some((SAFE, ..)) => {}
                Some(found) => break found,
                None => return Ok(None),
            }
        };
        let (kind, sequence, time, at, payload) = found;
        let bytes = self.window.as_flattened().get(payload).unwrap_or(&[]);
        let at = (self.open.header.number, (at * WORD_BYTES) as u64);
        Ok(Some(Frame { sequence, time, kind, at, bytes }))
    }

    /// The writer is gone and every entry was taken, on a machine that has run on: nothing but the
    /// start of an entry that was never finished stands behind the last one. Cost: one system call.
    ///
    /// # Errors
    /// [`JournalError::Damaged`]: an entry that was finished and whose sum does not hold.
    pub fn finish(&mut self) -> Result<(), JournalError> {
        self.read_window(WORD_BYTES)?;
        self.window_at = self.at;
        match self.window.first() {
            Some(first) if *first != [0; WORD_BYTES] && !self.is_ended => {
                let (segment, offset) = (self.open.header.number, (self.at * WORD_BYTES) as u64);
                Err(Damage { segment, offset, what: What::Record }.into())
            }
            _ => Ok(()),
        }
    }

    /// The next record, and where in the window its payload stands.
    #[expect(clippy::type_complexity, reason = "taken apart by the one caller")]
    fn step(
        &mut self,
    ) -> Result<Option<(u16, u64, taut_types::Nanos, usize, std::ops::Range<usize>)>, JournalError>
    {
        if self.peek().is_none() {
            self.refill()?;
        }
        if self.peek().is_none() && !self.goes_on()? {
            self.read_bytes = FIRST_READ;
            return Ok(None);
        }
        let Some(Record { kind, sequence, time, words, payload }) = self.peek() else {
            return Ok(None);
        };
        let length = payload.len();
        let start = (self.at - self.window_at + record::HEAD_WORDS) * WORD_BYTES;
        let at = self.at;
        self.at += words;
        // A mark has the number of the entry behind it.
        self.due += u64::from(kind != SAFE);
        self.read_bytes = NEXT_READ;
        Ok(Some((kind, sequence, time, at, start..start + length)))
    }

    /// The record that stands where the next one begins, if the window has it whole.
    fn peek(&self) -> Option<Record<'_>> {
        let words = self.window.get(self.at - self.window_at..)?;
        record::read(words, self.open.header.salt, self.due..=self.due)
    }

    /// Reads on in the file, from where the next record begins.
    fn refill(&mut self) -> Result<(), JournalError> {
        self.window_at = self.at;
        let mut wanted = self.read_bytes;
        loop {
            self.read_window(wanted)?;
            let first = self.window.first().map(|word| u64::from_le_bytes(*word));
            let needed = first.and_then(record::First::of).map_or(0, |it| it.words * WORD_BYTES);
            if needed <= wanted {
                return Ok(());
            }
            // One that is longer than a read.
            wanted = needed;
        }
    }

    fn read_window(&mut self, bytes: usize) -> Result<(), JournalError> {
        let Open { file, header } = &self.open;
        let left = header.words.saturating_sub(self.at);
        self.window.resize((bytes / WORD_BYTES).min(left), [0; WORD_BYTES]);
        let (buffer, mut filled) = (self.window.as_flattened_mut(), 0);
        while filled < buffer.len() {
            let offset = (self.at * WORD_BYTES + filled) as u64;
            let rest = buffer.get_mut(filled..).unwrap_or(&mut []);
            match file.read_at(rest, offset) {
                // The file was cut behind its end.
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    let error = SysError::from_errno("read", errno);
                    return Err(JournalError::File { segment: header.number, error });
                }
            }
        }
        self.window.truncate(filled / WORD_BYTES);
        Ok(())
    }

    /// Goes on in the next segment, if the record that is due stands there; whether it does.
    fn goes_on(&mut self) -> Result<bool, JournalError> {
        if self.next.is_none() {
            self.next = Open::segment(&self.folder, self.open.header.number.saturating_add(1))?;
        }
        let Some(next) = self.next.take() else { return Ok(false) };
        let records_at = next.header.records_at;
        let mut first = [0; WORD_BYTES];
        let is_begun = next.file.read_at(&mut first, (records_at * WORD_BYTES) as u64).is_ok()
            && first != [0; WORD_BYTES];
        if !is_begun {
            self.next = Some(next);
            return Ok(false);
        }
        // The writer has left this one for good; records that came meanwhile stand before that.
        self.refill()?;
        if self.peek().is_some() {
            self.next = Some(next);
            return Ok(true);
        }
        let before = (std::mem::replace(&mut self.open, next), self.at);
        (self.at, self.window_at) = (records_at, records_at);
        self.window.clear();
        self.refill()?;
        if self.peek().is_some() {
            return Ok(true);
        }
        // The record there is not complete yet, or this one's end is damaged: look again.
        let (open, at) = before;
        self.next = Some(std::mem::replace(&mut self.open, open));
        (self.at, self.window_at) = (at, at);
        self.window.clear();
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use taut_testkit::Deadline;
    use taut_types::Nanos;

    use super::*;
    use crate::{Durability, Housekeeper, Journal, Settings, TURN, Writer};

    fn settings() -> Settings {
        // With marks, which take no number.
        let (durability, marks) = (Durability::Async, true);
        Settings { segment_bytes: 64 << 10, durability, marks, ..Settings::of_recording() }
    }

    fn payload(number: u64) -> Vec<u8> {
        let length = (number.wrapping_mul(0x9E37_79B9) >> 7)
            % if number.is_multiple_of(97) { 20_000 } else { 300 };
        (0..length).map(|byte| (byte ^ number) as u8).collect()
    }

    fn append(writer: &mut Writer, housekeeper: &mut Housekeeper, number: u64) {
        loop {
            match writer.record(TURN, Nanos(number as i64), &payload(number)) {
                Err(JournalError::Full { .. }) => _ = housekeeper.turn().unwrap(),
                appended => return assert_eq!(appended.unwrap(), number),
            }
        }
    }

    #[test]
    fn every_entry_is_given_once_and_in_order_while_another_thread_appends() {
        const COUNT: u64 = 3_000;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("run");
        assert!(Follower::open(&folder).unwrap().is_none(), "nothing is there yet");
        let Journal { mut writer, mut housekeeper, .. } =
            Journal::begin(&folder, settings(), None).unwrap();
        let mut follower = Follower::open(&folder).unwrap().expect("its first segment");
        let appending = thread::spawn(move || {
            (1..=COUNT).for_each(|number| append(&mut writer, &mut housekeeper, number));
            drop(writer);
            housekeeper.finish().unwrap();
        });
        let (deadline, mut due) = (Deadline::default(), 1);
        while due <= COUNT {
            deadline.check("an entry", || format!("{due}"));
            let Some(frame) = follower.next_frame().unwrap() else { continue };
            assert_eq!((frame.sequence, frame.kind, frame.time), (due, TURN, Nanos(due as i64)));
            assert!(frame.bytes == payload(due), "{due}");
            due += 1;
        }
        appending.join().unwrap();
        assert!(follower.next_frame().unwrap().is_none());
        follower.finish().unwrap();
    }

    #[test]
    fn what_is_not_complete_is_waited_for_and_told_when_the_writer_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("run");
        let Journal { mut writer, mut housekeeper, .. } =
            Journal::begin(&folder, settings(), None).unwrap();
        (1..=3).for_each(|number| append(&mut writer, &mut housekeeper, number));
        let mut follower = Follower::open(&folder).unwrap().expect("its first segment");
        (0..3).for_each(|_| assert!(follower.next_frame().unwrap().is_some()));
        let end = follower.at;
        append(&mut writer, &mut housekeeper, 4);
        assert_eq!(follower.at, end);
        let path = folder.join(segment_name(1));
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[8 * end..8 * end + 8].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        assert!(follower.next_frame().unwrap().is_none(), "it was never finished");
        follower.finish().expect("so that nobody has heard of it");
        bytes = whole.clone();
        bytes[8 * end + 25] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(follower.next_frame().unwrap().is_none(), "its sum does not hold");
        assert_eq!(
            follower.finish().expect_err("damage"),
            JournalError::Damaged(Damage {
                segment: 1,
                offset: 8 * end as u64,
                what: What::Record
            })
        );
        std::fs::write(&path, whole).unwrap();
        assert_eq!(follower.next_frame().unwrap().map(|frame| frame.sequence), Some(4));
    }
}
