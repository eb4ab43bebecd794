//! All that a gateway has at one moment, as a file.

use std::io;
use std::path::{Path, PathBuf};

use taut_fix::{Precision, StampCache};
use taut_types::Nanos;

use crate::service::protocol::Snapshot;
use crate::service::whole_file::write_whole;

impl Snapshot {
    /// Writes it as JSON: the file is whole under its name, or as it was.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// Its place among those of other moments.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        let stamp = StampCache::new(Precision::Seconds).text(Nanos(self.at_ns));
        let stamp = stamp.as_str();
        folder.join(format!("{}-{stamp}.json", self.gateway))
    }
}
