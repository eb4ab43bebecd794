//! A part of a journal as a journal of its own.

use std::path::Path;

use crate::error::{Damage, JournalError};
use crate::journal::Journal;
use crate::reader::Reader;
use crate::settings::Settings;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Entries.
    pub entries: u64,
    /// The number of the last of them.
    pub last: u64,
    /// What was wrong with the entry behind them, where that was why no more were copied.
    pub damage: Option<Damage>,
}

/// Copies the entries of a journal, up to and with number `last` or to the first that cannot be
/// believed, to a new journal; their numbers and times stay. `progress` is told how many there are,
/// at each.
///
/// # Errors
/// What reading and writing say. The new journal is not ended then.
pub fn copy(
    from: &Path,
    to: &Path,
    last: Option<u64>,
    settings: Settings,
    progress: &mut dyn FnMut(u64),
) -> Result<Copied, JournalError> {
    let mut reader = Reader::open(from)?;
    let orders = reader.orders().cloned();
    let Journal { mut writer, mut housekeeper, .. } = Journal::begin(to, settings, orders)?;
    let mut copied = Copied::default();
    loop {
        let frame = match reader.next_frame() {
            Ok(None) => break,
            Ok(Some(frame)) if last.is_some_and(|last| frame.sequence > last) => break,
            Ok(Some(frame)) => frame,
            Err(JournalError::Damaged(damage)) => {
                copied.damage = Some(damage);
                break;
            }
            Err(error) => return Err(error),
        };
        housekeeper.turn()?;
        copied.last = writer.record(frame.kind, frame.time, frame.bytes)?;
        copied.entries += 1;
        progress(copied.entries);
    }
    drop(writer);
    housekeeper.finish()?;
    Ok(copied)
}
