//! A recording that is opened, and done again.

use std::path::Path;

use taut_gateway::TouchStrategy;
use taut_runner::{Recording, Replayed};

use crate::demo;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::strategy::fused_touch;

/// Opens a recording, and tells how far it is when it takes long.
pub fn open(folder: &Path) -> Result<Recording, Failure> {
    let recording = Recording::open(folder).map_err(demo::failure)?;
    let mut progress = Progress::start();
    Ok(recording.progress(move |held| {
        let (seconds, entries) = (held.span.0 as f64 / 1e9, held.entries);
        progress.tell(&format!("{seconds:.1} s of the run, {entries} entries"));
    }))
}

/// Does a recording again, with the strategy that was in the gateway's thread: taut's own.
pub fn again(recording: Recording, strategy: Option<&Path>) -> Result<Replayed, Failure> {
    let found = match recording.settings() {
        Some(_) => recording.verify(demo::strategy),
        None => {
            let (_, config) = fused_touch(strategy)?;
            recording.verify_gateway(|now| TouchStrategy::new(config, now))
        }
    };
    found.map_err(demo::failure)
}
