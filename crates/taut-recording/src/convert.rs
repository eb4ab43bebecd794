//! From one recorded format to another: a reader, rows, a writer; in bounded memory.
//!
//! [`convert`] reads the files once to know what has to be known before the first row is written
//! (`Survey`), and once more to write them.

pub(crate) mod order;
pub(crate) mod survey;

use std::fmt;
use std::io::{self, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use survey::Survey;

use crate::FileError;
use crate::read::{self, ReadOptions, Source};
use crate::rows::{ReadRows, Reading, Row, WriteError};
use crate::write::{self, Target};
use order::TwoOrders;

/// Rows between two looks at whether to go on.
const ROWS_A_LOOK: u64 = 1 << 12;

/// Where a conversion writes. It is no type parameter: each would be all writers, compiled again.
pub trait Output: Write + Seek {}

impl<W: Write + Seek> Output for W {}

/// A conversion.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// What the files are.
    pub from: Source,
    /// The files: in the order of their times, or any order of files that are merged by them.
    pub files: Vec<PathBuf>,
    /// What they become.
    pub to: Target,
    /// How they are read.
    pub reading: ReadOptions,
    /// The decimals of written quantities; as few as hold them all when nothing is said.
    pub quantity_decimals: Option<u8>,
    /// The smallest latency after clocks that disagree were set right, in nanoseconds.
    pub base_latency: i64,
}

/// How far a conversion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether rows are written; the files are read a first time before.
    pub is_writing: bool,
    /// Rows of this reading.
    pub rows: u64,
    /// Bytes of the files that were read in this reading.
    pub bytes: u64,
}

/// What a conversion did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Rows that the files have.
    pub rows_read: u64,
    /// Rows that were written.
    pub rows_written: u64,
    /// What the files say that no row can.
    pub not_read: u64,
    /// Rows that the format has no place for.
    pub not_written: u64,
    /// The decimals of the quantities.
    pub quantity_decimals: u8,
    /// By how much local times were made later.
    pub shift: i64,
    /// The names of the instruments that were written.
    pub symbols: Vec<String>,
}

/// Why there is no file.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file that cannot be read, or asks for what cannot be.
    File(FileError),
    /// What cannot be, and what to do.
    Usage(String),
    /// The output could not be written.
    Io(io::Error),
    /// It was asked to stop.
    Stopped,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => write!(f, "{error}"),
            Self::Usage(what) => f.write_str(what),
            Self::Io(error) => write!(f, "the output cannot be written ({error})"),
            Self::Stopped => f.write_str("interrupted: no file was written"),
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<FileError> for ConvertError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<WriteError> for ConvertError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => Self::Io(error),
            WriteError::Unfit(what) => Self::Usage(what),
        }
    }
}

/// Converts files. `watch` hears every few thousand rows how far it is, and may end it; what is in
/// `out` then is nothing.
///
/// # Errors
/// [`ConvertError`]: the first thing that was wrong.
pub fn convert(
    what: &Conversion,
    out: &mut dyn Output,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Converted, ConvertError> {
    let needs_survey =
        what.to != Target::Csv && what.to != Target::Parquet || what.quantity_decimals.is_none();
    let mut survey = Survey::default();
    let surveyed = Reading::new();
    if needs_survey {
        what.files.iter().try_for_each(|file| check_file(file))?;
        let mut rows = Chosen::open(what, &surveyed)?;
        let mut look = Look { watch, reading: &surveyed, is_writing: false };
        while let Some(row) = rows.next_row()? {
            survey.add(&row);
            look.at(survey.rows)?;
        }
        check(what, &survey, &surveyed)?;
    }
    let quantity_decimals = what.quantity_decimals.unwrap_or(survey.quantity_decimals);
    // Clocks that disagree are set right by one shift of all rows.
    let shift = match survey.latency_min {
        Some(least) if what.to == Target::Npz && least < 0 => {
            what.base_latency.saturating_sub(least)
        }
        _ => 0,
    };
    let reading = Reading::named_as(&surveyed);
    let rows = Chosen::open(what, &reading)?;
    let mut rows: Box<dyn ReadRows> = match what.to {
        Target::Npz => Box::new(TwoOrders::new(rows, &survey, shift)),
        _ => Box::new(rows),
    };
    let mut writer = write::begin(what.to, out, quantity_decimals, survey.span, &reading)?;
    let mut look = Look { watch, reading: &reading, is_writing: true };
    let mut taken = 0;
    while let Some(row) = rows.next_row()? {
        writer.write_row(&row)?;
        taken += 1;
        look.at(taken)?;
    }
    if taken == 0 {
        return Err(ConvertError::Usage(empty(what)));
    }
    let not_written = writer.left_out();
    writer.finish()?;
    Ok(Converted {
        rows_read: if needs_survey { survey.rows } else { taken },
        rows_written: taken - not_written,
        not_read: reading.left_out(),
        not_written,
        quantity_decimals,
        shift,
        symbols: reading.symbols().iter().map(|(_, name)| name.to_string()).collect(),
    })
}

/// A pipe has nothing for a second reading.
pub(crate) fn check_file(file: &Path) -> Result<(), ConvertError> {
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(ConvertError::Usage(format!(
            "{}: it would be read twice, and is no plain file; save it to one first",
            file.display()
        ))),
        // What else is wrong with it, its reader says.
        _ => Ok(()),
    }
}

/// What cannot be, as the survey shows.
fn check(what: &Conversion, survey: &Survey, reading: &Reading) -> Result<(), ConvertError> {
    if survey.rows == 0 {
        return Err(ConvertError::Usage(empty(what)));
    }
    if what.to == Target::Npz && survey.instruments.len() > 1 {
        let names: Vec<_> =
            survey.instruments.keys().take(12).map(|id| reading.symbol(*id)).collect();
        let more = if survey.instruments.len() > names.len() { ", ..." } else { "" };
        return Err(ConvertError::Usage(format!(
            "the files have {} instruments ({}{more}), and an npz file holds one; choose it with \
             --symbol",
            survey.instruments.len(),
            names.join(", ")
        )));
    }
    Ok(())
}

fn empty(what: &Conversion) -> String {
    let files: Vec<_> = what.files.iter().map(|file| file.display().to_string()).collect();
    let of = match &what.reading.symbol {
        Some(symbol) => format!(" of --symbol {symbol}"),
        None => String::new(),
    };
    format!("{}: no row{of} is in it; check what it holds, and --from", files.join(", "))
}

/// Looks up now and then.
pub(crate) struct Look<'a> {
    pub watch: &'a mut dyn FnMut(Step) -> ControlFlow<()>,
    pub reading: &'a Reading,
    pub is_writing: bool,
}

impl Look<'_> {
    pub fn at(&mut self, rows: u64) -> Result<(), ConvertError> {
        if !rows.is_multiple_of(ROWS_A_LOOK) {
            return Ok(());
        }
        let step = Step { is_writing: self.is_writing, rows, bytes: self.reading.bytes() };
        match (self.watch)(step) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ConvertError::Stopped),
        }
    }
}

/// The rows of the instrument that is wanted.
struct Chosen {
    rows: Box<dyn ReadRows>,
    symbol: Option<String>,
    reading: Rc<Reading>,
    /// Whether the last instrument that was looked up is wanted.
    last: Option<(u32, bool)>,
}

impl Chosen {
    fn open(what: &Conversion, reading: &Rc<Reading>) -> Result<Self, FileError> {
        let rows = read::open_rows(what.from, &what.files, &what.reading, reading)?;
        let symbol = what.reading.symbol.clone();
        Ok(Self { rows, symbol, reading: Rc::clone(reading), last: None })
    }

    fn is_wanted(&mut self, instrument: u32) -> bool {
        let Some(symbol) = &self.symbol else { return true };
        match self.last {
            Some((last, is_wanted)) if last == instrument => is_wanted,
            _ => {
                let is_wanted = self.reading.symbol(instrument).eq_ignore_ascii_case(symbol);
                self.last = Some((instrument, is_wanted));
                is_wanted
            }
        }
    }
}

impl ReadRows for Chosen {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        while let Some(row) = self.rows.next_row()? {
            if self.is_wanted(row.instrument) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
