//! Files and folders that nobody but their owner reads: stores and logs hold every order.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The mode of a file.
pub(crate) const OWNER_ONLY: u32 = 0o600;

/// Makes a folder, if need be.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
