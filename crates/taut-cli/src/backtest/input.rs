//! What a backtest and a sweep run, and over what.

use std::ops::ControlFlow;

use clap::ValueEnum;
use taut_backtest::Recording;
use taut_report::Progress;
use taut_runner::backtest::{BacktestFile, Loading};
use taut_sys::stop_requests;
use taut_types::Nanos;

use crate::config_file::failure;
use crate::exit::Failure;
use crate::strategy::Parameters;
use crate::terminal;

/// A strategy of taut's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OwnStrategy {
    /// `taut strategy touch`
    #[default]
    Touch,
}

/// Reads the recordings, and says how far it is.
pub fn load(
    file: &BacktestFile<Parameters>,
    progress: &mut Progress,
) -> Result<Vec<Recording>, Failure> {
    let mut watch = |at: Loading<'_>| {
        let what = if at.is_packing { "reading" } else { "looking at" };
        progress.tell(&format!("{what} {}, {} rows", at.file.display(), at.rows));
        if stop_requests() > 0 || progress.is_abandoned() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let loaded = file.load(&mut watch).map_err(failure)?;
    if loaded.shift > Nanos::ZERO {
        terminal::tell(format_args!(
            "local times are {} ns later than in the files: their clock was behind the exchange's",
            loaded.shift.0
        ));
    }
    Ok(loaded.recordings)
}
