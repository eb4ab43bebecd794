//! `[record]`: all that the gateway's thread hears, written down so that it can be done again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_fix::{Precision, StampCache};
use taut_journal::Settings;
use taut_types::Nanos;

use crate::mistakes::Mistake;
use crate::recording::WhenFull;
use crate::service::segments::segment_mistakes;

/// The table `[record]` of a gateway's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordKeys {
    /// Each start makes a folder in it, which is called by the time, UTC.
    pub folder: PathBuf,
    /// The size of a segment's file, MiB.
    #[serde(default = "segment_mb")]
    pub segment_mb: u32,
    /// What is done while the disk is full, or too slow.
    #[serde(default)]
    pub when_full: WhenFull,
}

const fn segment_mb() -> u32 {
    64
}

impl RecordKeys {
    /// With every other key as it is when it is left out.
    pub(super) fn of(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder, segment_mb: segment_mb(), when_full: WhenFull::default() }
    }

    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        segment_mistakes("record", &self.folder, self.segment_mb)
    }

    /// The folder of a recording that begins now.
    pub(super) fn folder_at(&self, utc: Nanos) -> PathBuf {
        let stamp = StampCache::new(Precision::Millis).text(utc);
        self.folder.join(stamp.as_str())
    }

    /// Of a recording that has nothing about orders.
    pub(super) fn settings(&self) -> (Settings, WhenFull) {
        let segment_bytes = (self.segment_mb as usize) << 20;
        (Settings { segment_bytes, ..Settings::of_recording() }, self.when_full)
    }
}
