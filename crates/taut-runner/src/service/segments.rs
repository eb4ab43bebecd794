//! What the tables of journals have in common: a folder of segments.

use std::path::Path;

use crate::mistakes::Mistake;

/// What cannot be of a table with a folder of segments: `[journal]` or `[record]`.
pub(super) fn segment_mistakes(table: &str, folder: &Path, segment_mb: u32) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    if folder.as_os_str().is_empty() {
        mistakes.push(Mistake::new(&format!("{table}.folder"), "\"\"", "a folder"));
    }
    if !(1..=1_024).contains(&segment_mb) {
        mistakes.push(Mistake::new(&format!("{table}.segment_mb"), segment_mb, "1 to 1024"));
    }
    mistakes
}
