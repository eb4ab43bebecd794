//! `--format lobster`: NASDAQ order events against the book that LOBSTER shows after each.
//!
//! A truth file with as many rows as the message file belongs to it row by row and covers the same
//! levels ([`aligned`]). Any other pair is compared by content ([`sequence`]): the samples of one
//! day come with different windows, for example one hour of 50 levels and a day of the best one.

mod aligned;
mod sequence;

use std::path::Path;

use taut_recording::lobster::{LobsterFlow, Messages, Orderbook};

use super::verdict::Verdict;
use crate::exit::Failure;

/// Rebuilds the book and compares it.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read or is malformed.
pub fn verify(messages: &Path, truth: &Path) -> Result<Verdict, Failure> {
    let truth = Orderbook::read(truth).map_err(Failure::usage)?;
    let messages = Messages::read(messages).map_err(Failure::usage)?;
    // Rows that contradict each other are no book, whatever it is compared with.
    let flow = LobsterFlow::of(&messages).map_err(Failure::usage)?;
    if messages.rows().len() == truth.row_count() {
        Ok(aligned::compare(messages.rows(), &truth))
    } else {
        sequence::compare(&flow, &truth)
    }
}
