//! A look at the first lines of a recording.

use std::path::Path;

use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_recording::lobster::Messages;
use taut_types::{Instrument, Nanos};

use super::format::ReplayFormat;
use super::{ReplayFlow, deribit, lobster};
use crate::flow::binance;

/// So much of a file's text is looked at.
const HEAD_BYTES: usize = 1 << 20;

/// What the first lines of a recording say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayHead {
    /// What it is.
    pub format: ReplayFormat,
    /// The time of its first line: since 1970, or, in LOBSTER, since midnight.
    pub first: Nanos,
    /// So many lines were looked at.
    pub lines: usize,
    /// Whether these are all of them.
    pub is_all: bool,
    /// Whether the instrument's book is among them, which may come later.
    pub has_book: bool,
}

impl ReplayFlow {
    /// Looks at the first lines of a file, as [`ReplayFlow::read`] does at all of them.
    ///
    /// # Errors
    /// When the file cannot be read, or something is wrong in these lines.
    pub fn look(path: &Path, name: &str, instrument: Instrument) -> Result<ReplayHead, FileError> {
        let (capture, is_all) = Capture::read_head(path, HEAD_BYTES)?;
        Self::look_at(&capture, is_all, name, instrument)
    }

    /// The same of the first lines, or of all.
    pub(super) fn look_at(
        capture: &Capture,
        is_all: bool,
        name: &str,
        instrument: Instrument,
    ) -> Result<ReplayHead, FileError> {
        let format = ReplayFormat::of(capture);
        let has_book = match format {
            _ if is_all => Self::of(capture, name, instrument).map(|_| true)?,
            ReplayFormat::Lobster => lobster::read_tape(capture, instrument).map(|_| true)?,
            ReplayFormat::Binance => binance::read_head(capture, name, instrument)?,
            ReplayFormat::Deribit => deribit::read_head(capture, name, instrument)?,
        };
        let (first, lines) = match format {
            ReplayFormat::Lobster => rows(capture)?,
            ReplayFormat::Binance | ReplayFormat::Deribit => frames(capture),
        };
        let first = first.ok_or_else(|| {
            let what = "its first line is none of a recording: it has no end, or is not there";
            capture.error(None, what)
        })?;
        Ok(ReplayHead { format, first, lines, is_all, has_book })
    }
}

/// The time of the first row, and how many rows there are.
fn rows(capture: &Capture) -> Result<(Option<Nanos>, usize), FileError> {
    let messages = Messages::parse(capture.file(), capture.text())?;
    let rows = messages.rows();
    Ok((rows.first().map(|row| row.time), rows.len()))
}

/// The same of frames.
fn frames(capture: &Capture) -> (Option<Nanos>, usize) {
    let mut frames = capture.frames().map_while(Result::ok).map(|frame| frame.received);
    let first = frames.next();
    (first, usize::from(first.is_some()) + frames.count())
}
