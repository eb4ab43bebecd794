//! Where the orders of a gateway stand: in the segments of its journal's folder, or in a recording
//! within that folder, which the file `orders` names then. One of the two holds them, never both.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use taut_sys::{SysError, unlink};

use crate::error::{JournalError, segment_name};
use crate::recovery::{Reach, Recovered, read_as_far, segment_numbers};
use crate::scan::Shown;

const NAME: &str = "orders";
/// While it is written.
const NEW_NAME: &str = "orders.new";

/// The folder in which the orders of a journal stand: itself, or the recording in it that has them.
///
/// # Errors
/// The file that names it cannot be read, or names nothing within the folder.
pub fn orders_in(home: &Path) -> Result<PathBuf, JournalError> {
    let text = match fs::read_to_string(home.join(NAME)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(home.to_owned()),
        Err(error) => return Err(failed("read the file orders", &error)),
    };
    let name = text.trim();
    if name.is_empty() || name.contains('/') || name == ".." || !home.join(name).is_dir() {
        return Err(JournalError::OrdersGone);
    }
    Ok(home.join(name))
}

/// Reads a journal without changing or locking it, and gives every entry about orders to `visit`:
/// an order journal, a recording with orders, or the recording in which an order journal's orders
/// stand now. One that is written meanwhile may show an unfinished tail. Cost: all files once, the
/// newest twice.
///
/// # Errors
/// The first file that cannot be read, and the first damage that is not behind the last record.
pub fn read(
    folder: &Path,
    executions_max: usize,
    visit: &mut dyn FnMut(&Shown),
) -> Result<Recovered, JournalError> {
    read_as_far(&orders_in(folder)?, executions_max, Reach::All, visit)
}

/// What the orders of a journal come to. Of a recording no more is read than that takes.
pub fn recover(home: &Path, executions_max: usize) -> Result<Recovered, JournalError> {
    let folder = orders_in(home)?;
    let reach = if folder == home { Reach::All } else { Reach::Newest };
    let mut recovered = read_as_far(&folder, executions_max, reach, &mut |_| ())?;
    recovered.state.skip_numbers(recovered.requests_lost_max());
    Ok(recovered)
}

/// The oldest and the newest segment that a journal goes on behind. Those that the orders have left
/// for a recording are removed: that counts all of their entries.
pub fn make_way(home: &Path) -> Result<Option<(u32, u32)>, JournalError> {
    let numbers = segment_numbers(home)?;
    let ends = numbers.first().copied().zip(numbers.last().copied());
    if orders_in(home)? == home {
        return Ok(ends);
    }
    for segment in numbers {
        let removed = unlink(&home.join(segment_name(segment)));
        removed.map_err(|error| JournalError::File { segment, error })?;
    }
    Ok(ends.map(|(_, newest)| (newest.saturating_add(1), newest)))
}

/// Says in which recording the orders stand from here on; with none, in the folder itself.
pub fn point(home: &Path, recording: Option<&str>) -> Result<(), JournalError> {
    let (file, new) = (home.join(NAME), home.join(NEW_NAME));
    let sync = || fs::File::open(home)?.sync_all();
    let Some(name) = recording else {
        return match fs::remove_file(&file).and_then(|()| sync()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed("remove the file orders", &error))
            }
            _ => Ok(()),
        };
    };
    let written = fs::File::create(&new)
        .and_then(|mut file| writeln!(file, "{name}").and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&new, &file))
        .and_then(|()| sync());
    written.map_err(|error| failed("write the file orders", &error))
}

fn failed(operation: &'static str, error: &std::io::Error) -> JournalError {
    JournalError::Folder(SysError::from_errno(operation, error.raw_os_error().unwrap_or(0)))
}
