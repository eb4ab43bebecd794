//! Opening a journal.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use crate::error::JournalError;
use crate::fault::Fault;
use crate::housekeeper::{Housekeeper, make};
use crate::lock::FolderLock;
use crate::recovery::{Recovered, read};
use crate::settings::Settings;
use crate::writer::Writer;

/// A journal that was opened.
#[derive(Debug)]
pub struct Journal {
    /// For the thread that sends orders.
    pub writer: Writer,
    /// For another thread, or for quiet moments of the same one.
    pub housekeeper: Housekeeper,
    /// What the journal held.
    pub recovered: Recovered,
    /// Nobody else opens it while this is kept.
    pub lock: FolderLock,
}

impl Journal {
    /// Opens the journal of a folder, or makes one: locks it, reads and checks all of it, begins a
    /// segment with what it came to, and prepares the next one. Numbers of orders that a damaged
    /// tail may have held count as used. Cost: some 100 ms, and the files.
    ///
    /// # Errors
    /// Another process has it; a file is damaged before its tail; there is no room for two more
    /// segments.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, JournalError> {
        settings.check()?;
        let lock = FolderLock::take(folder)?;
        let mut recovered = read(folder, settings.executions_max, &mut |_| ())?;
        recovered.state.skip_numbers(recovered.requests_lost_max());
        let [oldest, newest] = [recovered.segments.first(), recovered.segments.last()]
            .map(|segment| segment.map_or(0, |segment| segment.number));
        let number = newest.saturating_add(1);
        let state = recovered.state.clone();
        let first = Arc::new(make(folder, number, &state, &settings)?);
        let fault = Arc::new(Fault::default());
        let (to_writer, prepared) = sync_channel(1);
        let next = state.as_of.saturating_add(1);
        let writer = Writer::new(Arc::clone(&first), next, prepared, Arc::clone(&fault), &settings);
        let oldest = if oldest == 0 { number } else { oldest };
        let mut housekeeper =
            Housekeeper::new(folder, settings, fault, to_writer, first, (state, oldest));
        housekeeper.turn()?;
        Ok(Self { writer, housekeeper, recovered, lock })
    }
}
