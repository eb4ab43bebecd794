//! Drop copies of a gateway that runs by itself.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_fix::CompId;
use taut_gateway::{DropCopies, DropCopyServer, DropCopySettings, Owner};
use taut_types::Instrument;

use crate::error::RunnerError;

/// Where copies of all executions can be read, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropCopyKeys {
    /// Where readers connect: FIX 4.4.
    pub listen: SocketAddrV4,
    /// SenderCompID (49) towards them.
    #[serde(default = "gateway")]
    pub sender_comp_id: String,
    /// The CompID of each reader.
    pub sessions: Vec<String>,
    /// The folder of what is sent: a reader that comes back gets what it missed.
    pub store: PathBuf,
}

fn gateway() -> String {
    "GATEWAY".to_owned()
}

impl DropCopyKeys {
    pub(super) fn check(&self) -> Result<(), RunnerError> {
        if self.listen.port() == 0 {
            let remedy = "an address with a port";
            return Err(RunnerError::setting("drop_copy.listen", self.listen, remedy));
        }
        if self.sessions.is_empty() {
            let text = "drop_copy.sessions: none is named; name the CompID of each reader";
            return Err(RunnerError::Settings(text.to_owned()));
        }
        comp_id("drop_copy.sender_comp_id", &self.sender_comp_id)?;
        let mut seen = BTreeSet::new();
        for (at, reader) in self.sessions.iter().enumerate() {
            let key = format!("drop_copy.sessions[{at}]");
            comp_id(&key, reader)?;
            if !seen.insert(reader) {
                return Err(RunnerError::setting(&key, reader, "a CompID that no other one has"));
            }
        }
        Ok(())
    }

    /// Listens; the first half is the trading thread's, the second one's own.
    pub(super) fn open(
        &self,
        instruments: Vec<Instrument>,
        names: Vec<(Owner, String)>,
    ) -> Result<(DropCopies, DropCopyServer), RunnerError> {
        let readers = self.sessions.iter().map(|reader| comp_id("drop_copy.sessions", reader));
        let settings = DropCopySettings {
            listen: self.listen.into(),
            sender_comp_id: comp_id("drop_copy.sender_comp_id", &self.sender_comp_id)?,
            readers: readers.collect::<Result<_, _>>()?,
            store: self.store.clone(),
            instruments,
            names,
            tell: |words| eprintln!("{words}"),
        };
        DropCopyServer::open(settings).map_err(|error| RunnerError::run("drop_copy", error))
    }
}

fn comp_id(key: &str, text: &str) -> Result<CompId, RunnerError> {
    CompId::new(text.as_bytes()).ok_or_else(|| RunnerError::setting(key, text, "a FIX CompID"))
}
