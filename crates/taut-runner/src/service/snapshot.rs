//! All that a gateway has at one moment, as a file.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_fix::{Precision, StampCache};
use taut_types::Nanos;

use crate::service::protocol::{LatchLine, OrderLine, PositionLine};

/// All that a gateway has at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The gateway's name.
    pub gateway: String,
    /// When, in ns of UTC since 1970.
    pub at_ns: i64,
    /// What is held; at the end of a day as it was settled, before it counts anew.
    pub positions: Vec<PositionLine>,
    /// The open orders.
    pub orders: Vec<OrderLine>,
    /// What accounts have of the currencies that are followed.
    pub balances: Vec<BalanceLine>,
    /// What is killed.
    pub latches: Vec<LatchLine>,
}

/// What an account has of a currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceLine {
    /// The account's number.
    pub account: u8,
    /// The currency.
    pub currency: String,
    /// How much, a decimal.
    pub amount: String,
}

impl Snapshot {
    /// Writes it as JSON: the file is whole under its name, or as it was.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let part = path.with_added_extension("part");
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&part, path)
    }

    /// Its place among those of other moments.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        let stamp = StampCache::new(Precision::Seconds).text(Nanos(self.at_ns));
        let stamp = stamp.as_str();
        folder.join(format!("{}-{stamp}.json", self.gateway))
    }
}
