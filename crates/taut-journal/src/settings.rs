//! How a journal is kept.

use crate::error::JournalError;

/// When what was appended is safe from a power cut. From `kill -9` it is safe at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the kernel likes.
    None,
    /// Soon: at a [`Housekeeper::turn`](crate::Housekeeper::turn), of a page that entries come into
    /// when it is full, or after fifty turns.
    #[default]
    Async,
    /// Before an order leaves: [`Writer::commit`](crate::Writer::commit) takes what an
    /// `fdatasync(2)` takes, 0.1 ms on an idle disk and milliseconds on a busy one.
    Sync,
}

/// What becomes of requests that cannot be journalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Creates and modifies are refused; cancels leave, and are counted.
    #[default]
    StopOrders,
    /// All of them leave, and are counted.
    GoOn,
}

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a segment's file, a multiple of 4,096 from 64 KiB to 1 GiB. Two of them are in
    /// memory. One must last longer than the time between two turns of housekeeping.
    pub segment_bytes: usize,
    /// How many full segments are kept behind the one that is written, at least 1; in a recording
    /// all of them are.
    pub segments_kept: u32,
    /// When what was appended is safe from a power cut.
    pub durability: Durability,
    /// What becomes of requests that cannot be journalled.
    pub on_failure: OnFailure,
    /// How many of the newest executions are remembered by their names.
    pub executions_max: usize,
    /// Whether entries of a recording are preceded by marks, which say up to where the journal was
    /// on the disk. A power cut may leave a part of what was not synchronised and lose what stands
    /// before it. With marks that is where the journal ends, and damage of what was on the disk is
    /// refused; without them both are refused. Cost: 32 bytes each time the disk has more.
    pub marks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            segments_kept: 4,
            durability: Durability::default(),
            on_failure: OnFailure::default(),
            executions_max: 65_536,
            marks: false,
        }
    }
}

impl Settings {
    /// Those of a recording: all segments are kept, and the kernel writes them when it likes.
    #[must_use]
    pub fn of_recording() -> Self {
        Self { segments_kept: u32::MAX, durability: Durability::None, ..Self::default() }
    }

    pub(crate) const fn check(&self) -> Result<(), JournalError> {
        if self.segment_bytes < 64 << 10
            || self.segment_bytes > 1 << 30
            || !self.segment_bytes.is_multiple_of(4096)
        {
            let what = "segment_bytes: a multiple of 4096 from 65536 to 1073741824";
            return Err(JournalError::Settings(what));
        }
        if self.segments_kept == 0 {
            return Err(JournalError::Settings("segments_kept: at least 1"));
        }
        Ok(())
    }
}
