//! Other addresses of a venue's market data.

use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};
use taut_types::Nanos;

use crate::mistakes::Mistake;
use crate::settings::{RemoteVenue, address_mistakes};

/// Where the feed arrives, too, and when it is taken from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedBackupKeys {
    /// Line A.
    pub incremental: SocketAddrV4,
    /// Line B.
    #[serde(default)]
    pub incremental_b: Option<SocketAddrV4>,
    /// Its snapshots.
    pub snapshot: SocketAddrV4,
    /// Where packets are asked for again.
    #[serde(default)]
    pub retransmission: Option<SocketAddrV4>,
    /// How long the addresses in use may bring nothing, or no sound book, in milliseconds.
    #[serde(default = "after")]
    pub after_ms: u32,
}

const fn after() -> u32 {
    5_000
}

impl FeedBackupKeys {
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let addresses = [
            ("incremental", Some(self.incremental)),
            ("incremental_b", self.incremental_b),
            ("snapshot", Some(self.snapshot)),
            ("retransmission", self.retransmission),
        ];
        let wrong = address_mistakes("feed_backup", &addresses);
        let mut mistakes: Vec<_> = wrong.into_iter().map(Mistake::from).collect();
        if self.after_ms == 0 {
            mistakes.push(Mistake::new("feed_backup.after_ms", 0, "above 0"));
        }
        mistakes
    }

    /// The venue as it is there.
    pub(super) fn of(&self, venue: &RemoteVenue) -> RemoteVenue {
        RemoteVenue {
            incremental: self.incremental,
            incremental_b: self.incremental_b,
            snapshot: self.snapshot,
            retransmission: self.retransmission,
            ..venue.clone()
        }
    }

    pub(super) fn after(&self) -> Nanos {
        Nanos::from_millis(self.after_ms.into())
    }
}
