//! What is copied.

use taut_fix::{BeginString, CompId, FixError};

use crate::application::Outbox;

/// How what happened becomes a message, and who is told.
pub trait DropCopySource: Send + 'static {
    /// What happened.
    type Execution: Send + 'static;

    /// BeginString (8) of the readers' sessions, and DefaultApplVerID (1137) with FIXT.1.1: FIX 4.4
    /// unless it is said.
    fn version(&self) -> (BeginString, Option<u8>) {
        (BeginString::Fix44, None)
    }

    /// Comes before executions are sent: takes over what else there is to know by now.
    fn refresh(&mut self) {}

    /// Whether the reader with this CompID is told.
    fn is_for(&self, _reader: CompId, _execution: &Self::Execution) -> bool {
        true
    }

    /// Sends it, or keeps it for a reader that is away ([`taut_fix::Outbox::send_or_keep`]). No two
    /// executions of the server and those before it have the same `exec_id`.
    ///
    /// # Errors
    /// It can be neither sent nor kept.
    fn send(
        &self,
        outbox: &mut Outbox<'_>,
        exec_id: u64,
        execution: &Self::Execution,
    ) -> Result<(), FixError>;
}
