//! The venue's own drop copies, read by a gateway that runs by itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_gateway::{CopyReader, CopyReaderSettings, VenueCopies};
use taut_net::Target;
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::settings::comp_id;
use crate::stderr;

/// Where the venue's copies of our executions are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyReaderKeys {
    /// `HOST:PORT` of the venue's drop copies: FIX 4.4.
    pub address: String,
    /// SenderCompID (49): who reads.
    pub sender_comp_id: String,
    /// TargetCompID (56).
    #[serde(default = "venue")]
    pub target_comp_id: String,
    /// HeartBtInt (108), in seconds.
    #[serde(default = "heartbeat")]
    pub heartbeat_seconds: u16,
    /// The folder of the session's numbers: what was read once is not asked for again.
    pub store: PathBuf,
    /// How long the order session has to say the same before a copy counts, in milliseconds.
    #[serde(default = "after")]
    pub after_ms: u32,
}

fn venue() -> String {
    "VENUE".to_owned()
}

const fn heartbeat() -> u16 {
    5
}

const fn after() -> u32 {
    1_000
}

impl CopyReaderKeys {
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if Target::parse(&self.address).is_err() {
            let remedy = "HOST:PORT";
            mistakes.push(Mistake::new("drop_copy_reader.address", &self.address, remedy));
        }
        let names = [
            ("drop_copy_reader.sender_comp_id", &self.sender_comp_id),
            ("drop_copy_reader.target_comp_id", &self.target_comp_id),
        ];
        for (key, text) in names {
            mistakes.extend(comp_id(key, text).err().map(Mistake::from));
        }
        if self.heartbeat_seconds == 0 {
            mistakes.push(Mistake::new("drop_copy_reader.heartbeat_seconds", 0, "above 0"));
        }
        mistakes
    }

    /// Starts to connect; the first half is the trading thread's, the second one's own.
    pub(super) fn open(&self) -> Result<(VenueCopies, CopyReader), RunnerError> {
        let settings = CopyReaderSettings {
            addresses: vec![self.address.clone()],
            sender_comp_id: comp_id("drop_copy_reader.sender_comp_id", &self.sender_comp_id)?,
            target_comp_id: comp_id("drop_copy_reader.target_comp_id", &self.target_comp_id)?,
            heartbeat_interval: Nanos::from_secs(self.heartbeat_seconds.into()),
            store: self.store.clone(),
            grace: Nanos::from_millis(self.after_ms.into()),
            tell: stderr::tell,
        };
        CopyReader::open(settings).map_err(|error| RunnerError::run("drop_copy_reader", error))
    }
}
