//! All that a gateway has at one moment, as a file.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use taut_fix::{Precision, StampCache};
use taut_types::Nanos;

use crate::service::protocol::Snapshot;

impl Snapshot {
    /// Writes it as JSON: the file is whole under its name, or as it was.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let part = path.with_added_extension("part");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&part, path)
    }

    /// Its place among those of other moments.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        let stamp = StampCache::new(Precision::Seconds).text(Nanos(self.at_ns));
        let stamp = stamp.as_str();
        folder.join(format!("{}-{stamp}.json", self.gateway))
    }
}
