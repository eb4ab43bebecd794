//! `taut venue`: a venue simulator that runs by itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use taut_runner::service::{VENUE_SAMPLE, VenueFile, serve_venue};

use crate::exit::Failure;
use crate::gateway::failure;
use crate::terminal;

/// Run a venue simulator by itself: FIX 4.4 for orders, market data by multicast on loopback, and a
/// crowd that trades. It ends at Ctrl-C.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Venue {
    /// The venue's settings; `taut venue sample` prints such a file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Check a file of settings; nothing is started
    Check {
        /// The file
        file: PathBuf,
    },
    /// Print a file of settings with every key
    Sample,
}

/// Runs it.
pub fn run(venue: &Venue) -> Result<(), Failure> {
    match (&venue.verb, &venue.config) {
        (Some(Verb::Sample), _) => terminal::print(VENUE_SAMPLE.trim_end()),
        (Some(Verb::Check { file }), _) => {
            let file = VenueFile::read(file).map_err(failure)?;
            terminal::print(format_args!(
                "venue '{}': {} instruments, orders at {}",
                file.comp_id,
                file.instruments.len(),
                file.orders
            ))?;
            Ok(())
        }
        (None, Some(path)) => {
            let file = VenueFile::read(path).map_err(failure)?;
            serve_venue(&file, |what| terminal::tell(what)).map_err(failure)
        }
        (None, None) => Err(Failure::Usage(
            "--config FILE names the venue's settings; `taut venue sample` prints such a file"
                .to_owned(),
        )),
    }
}
