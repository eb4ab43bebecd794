//! Reads a data dictionary in the XML format of QuickFIX into the tables of taut-fix.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dictionary = taut_fix_engine::dictionary::load("FIX44.xml".as_ref())?;
//! assert_eq!(dictionary.version(), "FIX.4.4");
//! # Ok(())
//! # }
//! ```

mod error;
mod xml;

pub use error::DictionaryError;
pub use xml::parse;

use std::path::Path;

use taut_fix::Dictionary;

/// The largest file that is read; the largest of the standard's has about 2 MB.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a dictionary from a file.
///
/// # Errors
/// The file cannot be read, is no XML, or is no dictionary.
pub fn load(path: &Path) -> Result<Dictionary, DictionaryError> {
    let size = std::fs::metadata(path).map_err(DictionaryError::Read)?.len();
    if size > FILE_BYTES_MAX {
        return Err(DictionaryError::wrong(1, format!("the file has {size} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(DictionaryError::Read)?;
    parse(&text)
}

#[cfg(test)]
mod tests;
