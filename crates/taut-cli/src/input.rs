//! What tools read.

use std::io::Read;
use std::path::Path;

use crate::exit::Failure;

/// All bytes of a file, or of standard input when its name is `-`.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| Failure::unreadable(path, error))
}
