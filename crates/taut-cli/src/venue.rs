//! `taut venue`: a venue simulator that runs by itself.

use clap::Args;
use taut_runner::service::{VENUE_SAMPLE, VenueFile, serve_venue};

use crate::config_file::{ConfigFile, FileVerb, failure};
use crate::exit::Failure;
use crate::terminal;

/// Run a venue simulator by itself: FIX 4.4 for orders, market data by multicast on loopback, and a
/// crowd that trades. It ends at Ctrl-C.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Venue {
    #[command(flatten)]
    config: ConfigFile,
    #[command(subcommand)]
    verb: Option<FileVerb>,
}

/// Runs it.
pub fn run(venue: &Venue) -> Result<(), Failure> {
    if let Some(verb) = &venue.verb {
        return verb.run(VENUE_SAMPLE, |path| {
            let file = VenueFile::read(path)?;
            let (name, count, orders) = (&file.comp_id, file.instruments.len(), file.orders);
            Ok(vec![format!("venue '{name}': {count} instruments, orders at {orders}")])
        });
    }
    let file = VenueFile::read(venue.config.path("venue")?).map_err(failure)?;
    serve_venue(&file, |what| terminal::tell(what)).map_err(failure)
}
