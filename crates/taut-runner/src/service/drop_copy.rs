//! Drop copies of a gateway that runs by itself.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use serde::{Deserialize, Serialize};
use taut_fix_engine::{DropCopySettings, Tell};
use taut_gateway::{DropCopies, DropCopyNews, DropCopyServer};
use taut_types::Instrument;

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::settings::comp_id;

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
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if self.listen.port() == 0 {
            let remedy = "an address with a port";
            mistakes.push(Mistake::new("drop_copy.listen", self.listen, remedy));
        }
        if self.sessions.is_empty() {
            let text = "drop_copy.sessions: none is named; name the CompID of each reader";
            mistakes.push(Mistake::told("drop_copy.sessions", text));
        }
        let named = self.sessions.iter().map(|reader| ("drop_copy.sessions", reader));
        for (key, text) in named.chain([("drop_copy.sender_comp_id", &self.sender_comp_id)]) {
            mistakes.extend(comp_id(key, text).err().map(Mistake::from));
        }
        let distinct: BTreeSet<_> = self.sessions.iter().collect();
        if distinct.len() < self.sessions.len() {
            let (value, remedy) = (self.sessions.join(", "), "each reader once");
            mistakes.push(Mistake::new("drop_copy.sessions", value, remedy));
        }
        mistakes
    }

    /// Listens; the first half is the trading thread's, the second one's own. `news` says what
    /// strategies are called, and which instruments come.
    pub(super) fn open(
        &self,
        instruments: Vec<Instrument>,
        news: Receiver<DropCopyNews>,
        tell: Tell,
    ) -> Result<(DropCopies, DropCopyServer), RunnerError> {
        let readers = self.sessions.iter().map(|reader| comp_id("drop_copy.sessions", reader));
        let settings = DropCopySettings {
            listen: self.listen.into(),
            sender_comp_id: comp_id("drop_copy.sender_comp_id", &self.sender_comp_id)?,
            readers: readers.collect::<Result<_, _>>()?,
            store: self.store.clone(),
            tell,
        };
        DropCopies::open(&settings, instruments, news)
            .map_err(|error| RunnerError::run("drop_copy", error))
    }
}
