//! What a session is told when it is built.

use std::fmt;

use taut_oms::Rate;
use taut_order_entry::okx::{SelfTrade, TradeMode};
use taut_types::InstrumentId;

/// What does not show in `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OkxSecret(pub String);

impl fmt::Debug for OkxSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OkxSecret")
    }
}

/// How [`OkxWs`](super::OkxWs) trades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OkxOrderSettings {
    /// The name of the key.
    pub api_key: String,
    /// Its secret.
    pub secret: OkxSecret,
    /// Its passphrase.
    pub passphrase: OkxSecret,
    /// The venue's host, as HTTP names it.
    pub host: String,
    /// Whether the key is one of the demonstration account.
    pub is_demo: bool,
    /// The venue's name of each instrument, in the order of their numbers, where it is not the
    /// symbol.
    pub names: Vec<String>,
    /// What orders are paid with.
    pub mode: TradeMode,
    /// What happens where an order would trade with another one of the account.
    pub self_trade: SelfTrade,
    /// Orders and amendments, and cancels by themselves: the venue takes 60 of each in two seconds
    /// of an instrument.
    pub orders: Rate,
    /// Questions: it takes 60 in two seconds.
    pub questions: Rate,
}

impl Default for OkxOrderSettings {
    /// What the venue allows in an instrument, for all of them; nobody's key.
    fn default() -> Self {
        Self {
            api_key: String::new(),
            secret: OkxSecret::default(),
            passphrase: OkxSecret::default(),
            host: "www.okx.com".to_owned(),
            is_demo: false,
            names: Vec::new(),
            mode: TradeMode::default(),
            self_trade: SelfTrade::default(),
            orders: Rate { per_second: 15, burst: 30 },
            questions: Rate { per_second: 15, burst: 30 },
        }
    }
}

impl OkxOrderSettings {
    /// The venue's name of an instrument where it is not the symbol.
    pub(super) fn named(&self, instrument: InstrumentId) -> Option<&[u8]> {
        let name = self.names.get(instrument.0 as usize).filter(|name| !name.is_empty());
        name.map(|name| name.as_bytes())
    }
}
