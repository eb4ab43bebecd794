//! Where others may look in: what a venue does not need.

use taut_fix::{CompId, ExecutionReport};
use taut_io::{Completion, Io, Kernel};

use crate::error::VenueError;

/// Sees what happens on a venue's loop beside the venue, and may have sources of its own there:
/// eight at the most. Every method does nothing unless it is written.
pub trait Observer<K: Kernel> {
    /// The venue stands, its loop has not run yet: sources may be opened.
    ///
    /// # Errors
    /// What ends the venue.
    fn on_start(&mut self, _io: &mut Io<K>) -> Result<(), VenueError> {
        Ok(())
    }

    /// Something happened to a source that is not the venue's own.
    fn on_completion(&mut self, _io: &mut Io<K>, _completion: &Completion<'_>) {}

    /// Something happened to an order of this client, whether or not it is there to be told.
    fn on_report(&mut self, _client: CompId, _report: &ExecutionReport<'_>) {}
}

impl<K: Kernel> Observer<K> for () {}
