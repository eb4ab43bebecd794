//! Who has logged on to the FIX port, and what they follow.

use taut_fix::Precision;
use taut_types::Side;

use crate::deribit::session::Credits;
use crate::fix::{FixDialect, FixMessage, FixSession};

/// The venue's FIX.
pub static DIALECT: FixDialect = FixDialect {
    server: "DERIBITSERVER",
    sender_bytes_max: 64,
    precision: Precision::Millis,
    // The documents fix the places of 8 and 9 alone, and the client deribit-fix sorts the rest.
    msg_type_anywhere: true,
    logon_answer: &[],
};

/// A connection to the port.
pub type DeribitFixSession = FixSession<FixLogon>;

/// Who has logged on, and how.
#[derive(Debug)]
pub struct FixLogon {
    pub account: usize,
    pub read_only: bool,
    /// CancelOnDisconnect (9001).
    pub cancels_on_disconnect: bool,
    /// Trades are reports of their own (9015).
    pub tells_trades: bool,
    /// What is no request to the matching engine costs as much as over the other interfaces.
    pub credits: Credits,
    pub follows: Vec<Following>,
}

/// What a MarketDataRequest (V) subscribed to.
#[derive(Clone, Debug)]
pub struct Following {
    /// MDReqID (262).
    pub id: String,
    pub places: Vec<usize>,
    pub entries: Entries,
    /// Of each side in every message; nothing where changes are told.
    pub depth: Option<usize>,
}

/// MDEntryType (269) that were asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entries {
    pub bids: bool,
    pub offers: bool,
    pub trades: bool,
}

impl Entries {
    /// Whether levels of a side were asked for.
    pub const fn has(self, side: Side) -> bool {
        match side {
            Side::Buy => self.bids,
            Side::Sell => self.offers,
        }
    }

    /// Of a request; nothing when one of them is not served.
    pub fn of(request: &FixMessage) -> Option<Self> {
        let mut entries = Self::default();
        for entry in request.all(269) {
            match entry {
                "0" => entries.bids = true,
                "1" => entries.offers = true,
                "2" => entries.trades = true,
                _ => return None,
            }
        }
        (entries.bids || entries.offers || entries.trades).then_some(entries)
    }
}
