//! `--format lobster`: NASDAQ order events against the book that LOBSTER shows after each.
//!
//! A truth file with as many rows as the message file belongs to it row by row and covers the same
//! levels ([`aligned`]). Any other pair is compared by content ([`sequence`]): the samples of one
//! day come with different windows, for example one hour of 50 levels and a day of the best one.

mod aligned;
mod message;
mod sequence;
mod truth;

use std::path::Path;

use taut_venue::flow::LobsterFlow;

use super::verdict::Verdict;
use crate::exit::Failure;
use truth::Truth;

/// Rebuilds the book and compares it.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read or is malformed.
pub fn verify(messages: &Path, truth: &Path) -> Result<Verdict, Failure> {
    let text = read(messages)?;
    let name = messages.display().to_string();
    let truth_name = truth.display().to_string();
    let truth = Truth::parse(&truth_name, &read(truth)?)?;
    // The flow's reader checks every row: what it accepts has no malformed field.
    let flow = LobsterFlow::parse(&name, &text).map_err(|e| Failure::Usage(e.to_string()))?;
    if flow.summary().rows == truth.row_count() {
        Ok(aligned::compare(&message::parse(&name, &text)?, &truth))
    } else {
        sequence::compare(&flow, &truth)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::unreadable(path, error))
}
