//! What a session is told when it is built.

use taut_oms::Rate;
use taut_order_entry::binance::SelfTrade;

/// How [`BinanceWs`](super::BinanceWs) and [`BinanceFix`](super::BinanceFix) trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinanceOrderSettings {
    /// The venue's name of each instrument, in the order of their numbers, where it is not the
    /// symbol.
    pub names: Vec<String>,
    /// How late the venue may take a request, in milliseconds: `recvWindow`, RecvWindow (25000).
    pub window_ms: u64,
    /// Orders that the account may place: the venue counts those of ten seconds. Those of a rate
    /// and its burst fit into every ten seconds, however the venue's clock cuts them.
    pub orders: Rate,
    /// Orders that the account may place in a day of UTC.
    pub orders_a_day: u32,
    /// Of the weight's burst, what only cancels and the session's own requests may use.
    pub kept_for_cancels: u32,
    /// Weight of requests, of which an address has 6,000 in a minute; snapshots of books are paid
    /// from it, too.
    pub weight: Rate,
    /// What happens where an order would trade with another one of the account.
    pub self_trade: SelfTrade,
}

impl Default for BinanceOrderSettings {
    /// The limits of any account: 100 orders in ten seconds, 200,000 a day; of the weight a part.
    fn default() -> Self {
        Self {
            names: Vec::new(),
            window_ms: 2_000,
            orders: Rate { per_second: 5, burst: 50 },
            orders_a_day: 200_000,
            kept_for_cancels: 200,
            weight: Rate { per_second: 40, burst: 1_600 },
            self_trade: SelfTrade::Default,
        }
    }
}
