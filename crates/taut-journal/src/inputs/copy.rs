//! A part of a journal of inputs as a journal of its own.

use std::path::Path;

use super::reader::InputReader;
use super::writer::{InputSettings, Inputs};
use crate::error::{Damage, JournalError};

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Frames.
    pub frames: u64,
    /// What was wrong with the frame behind them, where that was why no more were copied.
    pub damage: Option<Damage>,
}

/// Copies the frames of a journal, up to and with number `last` or to the first that cannot be
/// believed, to a new journal; their times stay. `progress` is told the number of each.
///
/// # Errors
/// What reading and writing say. The new journal is not ended then.
pub fn copy_inputs(
    from: &Path,
    to: &Path,
    last: Option<u64>,
    settings: InputSettings,
    progress: &mut dyn FnMut(u64),
) -> Result<Copied, JournalError> {
    let mut reader = InputReader::open(from)?;
    let Inputs { mut writer, mut keeper } = Inputs::create(to, settings)?;
    let mut copied = Copied::default();
    while last.is_none_or(|last| copied.frames < last) {
        let frame = match reader.next_frame() {
            Ok(None) => break,
            Ok(Some(frame)) => frame,
            Err(JournalError::Damaged(damage)) => {
                copied.damage = Some(damage);
                break;
            }
            Err(error) => return Err(error),
        };
        keeper.turn()?;
        writer.append(frame.kind, frame.time, frame.bytes)?;
        copied.frames += 1;
        progress(copied.frames);
    }
    keeper.finish(writer)?;
    Ok(copied)
}
