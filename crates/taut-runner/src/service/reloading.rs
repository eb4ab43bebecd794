//! A file that was read again and waits for the venue to define its instruments.

use std::os::fd::BorrowedFd;

use taut_market_data::native::InstrumentDefinition;
use taut_sys::monotonic;
use taut_types::Nanos;

use crate::service::file::GatewayFile;
use crate::service::subscribe::Listening;

/// How long the venue may take to define its instruments.
const PATIENCE: Nanos = Nanos::from_secs(3);

/// A reload that waits for the venue's definitions.
#[derive(Debug)]
pub struct Reloading {
    file: Box<GatewayFile>,
    listening: Listening,
    deadline: Nanos,
}

impl Reloading {
    /// Listens to the venue of a file.
    pub fn begin(file: GatewayFile) -> Result<Self, String> {
        let venue = file.venue.as_ref().ok_or("[venue] is gone")?;
        let listening = Listening::open(venue).map_err(|error| error.to_string())?;
        let file = Box::new(file);
        Ok(Self { file, listening, deadline: monotonic() + PATIENCE })
    }

    /// Where definitions arrive, to wait for it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.listening.fd()
    }

    /// Nothing while it waits; then what the venue has defined, or nothing when it was waited for
    /// in vain.
    pub fn poll(&mut self) -> Option<Result<Option<Vec<InstrumentDefinition>>, String>> {
        match self.listening.take() {
            Ok(None) if monotonic() < self.deadline => None,
            over => Some(over.map_err(|error| error.to_string())),
        }
    }

    /// The file.
    pub fn into_file(self) -> GatewayFile {
        *self.file
    }
}
