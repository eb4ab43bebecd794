//! The venue's drop copies, and what they have come to.

use taut_types::Nanos;

use super::handler::VenueEvent;
use crate::drop_copy::VenueCopies;

/// The venue's copies, and what they have come to.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    from: Option<VenueCopies>,
    /// Reports that were read.
    pub(crate) read: u64,
    /// Those that said something new.
    pub(crate) corrections: u64,
}

impl Copies {
    /// They come from there.
    pub(crate) fn read_from(&mut self, from: VenueCopies) {
        self.from = Some(from);
    }

    /// The next one whose time has come.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<VenueEvent> {
        let event = self.from.as_mut()?.next(now)?;
        self.read += 1;
        Some(event)
    }
}
