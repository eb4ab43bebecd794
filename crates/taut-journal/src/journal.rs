//! Opening a journal, and beginning a recording.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use taut_sys::SysError;

use crate::error::JournalError;
use crate::fault::{Fault, Shared};
use crate::home;
use crate::housekeeper::{Begun, Housekeeper, make};
use crate::lock::FolderLock;
use crate::recovery::Recovered;
use crate::settings::Settings;
use crate::state::State;
use crate::times::WAITING;
use crate::writer::Writer;

/// A journal that was opened. Nobody else opens it while writer or housekeeper is there.
#[derive(Debug)]
pub struct Journal {
    /// For the thread that sends orders.
    pub writer: Writer,
    /// For another thread, or for quiet moments of the same one.
    pub housekeeper: Housekeeper,
    /// What the journal held.
    pub recovered: Recovered,
}

impl Journal {
    /// Opens the order journal of a folder, or makes one: locks it, reads and checks all of it,
    /// begins a segment with what it came to, and prepares the next one. Where its orders stand in
    /// a recording ([`Journal::record`]), they are taken back from there. Numbers of orders that a
    /// damaged tail may have held count as used. Cost: some 100 ms, and the files.
    ///
    /// # Errors
    /// Another process has it; a file is damaged before its tail; there is no room for two more
    /// segments.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, JournalError> {
        settings.check()?;
        let lock = FolderLock::take(folder)?;
        let recovered = home::recover(folder, settings.executions_max)?;
        let ends = home::make_way(folder)?;
        let state = Some(recovered.state.clone());
        let number = ends.map_or(1, |(_, newest)| newest.saturating_add(1));
        let place = Place { folder, number, oldest: ends.map_or(number, |(oldest, _)| oldest) };
        let (writer, housekeeper) = start(&place, settings, vec![lock], state)?;
        home::point(folder, None)?;
        Ok(Self { writer, housekeeper, recovered })
    }

    /// Begins a recording in a folder that is empty, or is not there yet, with entries about
    /// orders: what these came to so far stands in `home`, in segments of its own or in an earlier
    /// recording. From here on it stands in this one, which is a folder within `home`.
    ///
    /// # Errors
    /// As [`Journal::open`] of `home` and [`Journal::begin`].
    pub fn record(home: &Path, name: &str, settings: Settings) -> Result<Self, JournalError> {
        settings.check()?;
        let folder = home.join(name);
        let locks = vec![FolderLock::take(home)?];
        let recovered = home::recover(home, settings.executions_max)?;
        let (writer, housekeeper) = begin(&folder, settings, locks, Some(recovered.state.clone()))?;
        home::point(home, Some(name))?;
        Ok(Self { writer, housekeeper, recovered })
    }

    /// Begins a recording in a folder that is empty, or is not there yet. With `orders`, entries
    /// about orders stand in it, too, and this is what those before came to.
    ///
    /// # Errors
    /// The folder has something in it (`ENOTEMPTY`) or cannot be made; what making a segment says.
    pub fn begin(
        folder: &Path,
        settings: Settings,
        orders: Option<State>,
    ) -> Result<Self, JournalError> {
        settings.check()?;
        let state = orders.clone().unwrap_or_default();
        let recovered = Recovered { state, ..Recovered::default() };
        let (writer, housekeeper) = begin(folder, settings, Vec::new(), orders)?;
        Ok(Self { writer, housekeeper, recovered })
    }
}

/// Where a journal goes on.
struct Place<'a> {
    folder: &'a Path,
    /// Of the segment that is begun.
    number: u32,
    oldest: u32,
}

/// Begins the first segment of a folder.
fn begin(
    folder: &Path,
    settings: Settings,
    mut locks: Vec<FolderLock>,
    state: Option<State>,
) -> Result<(Writer, Housekeeper), JournalError> {
    const NOT_EMPTY: i32 = 39;
    let refused =
        |operation, errno| Err(JournalError::Folder(SysError::from_errno(operation, errno)));
    match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return refused("begin a journal in a folder", NOT_EMPTY),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return refused("read the folder", error.raw_os_error().unwrap_or(0)),
    }
    locks.push(FolderLock::take(folder)?);
    start(&Place { folder, number: 1, oldest: 1 }, settings, locks, state)
}

fn start(
    place: &Place<'_>,
    settings: Settings,
    locks: Vec<FolderLock>,
    state: Option<State>,
) -> Result<(Writer, Housekeeper), JournalError> {
    let Place { folder, number, oldest } = *place;
    let segment = Arc::new(make(folder, number, state.as_ref(), &settings)?);
    let shared = Arc::new(Shared { fault: Fault::default(), safe: 0.into(), _locks: locks });
    let (to_writer, prepared) = sync_channel(1);
    let (to_table, noted) = sync_channel(WAITING);
    let next = state.as_ref().map_or(1, |state| state.as_of.saturating_add(1));
    let first = Arc::clone(&segment);
    let writer = Writer::new(first, next, prepared, to_table, Arc::clone(&shared), &settings);
    let begun = Begun { segment, state, oldest };
    let mut housekeeper = Housekeeper::new(folder, settings, shared, (to_writer, noted), begun);
    housekeeper.turn()?;
    Ok((writer, housekeeper))
}
