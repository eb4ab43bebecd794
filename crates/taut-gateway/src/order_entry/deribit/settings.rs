//! What a session is told when it is built.

use taut_oms::Rate;

/// How [`DeribitJson`](super::json::DeribitJson) and [`DeribitFix`](super::DeribitFix) trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeribitOrderSettings {
    /// Orders end with the connection.
    pub cancels_on_disconnect: bool,
    /// No other program has orders in the account: many cancels in an instrument leave as one
    /// request that ends all of the account's orders there.
    pub owns_account: bool,
    /// The venue's name of each instrument, in the order of their numbers, where it is not the
    /// symbol: names of options are longer than a symbol may be.
    pub names: Vec<String>,
    /// What the account may ask the matching engine for: orders, edits and cancels. See
    /// `private/get_account_summary`, `limits.matching_engine`.
    pub orders: Rate,
    /// Of the burst of these, what only cancels may use.
    pub kept_for_cancels: u32,
    /// All other requests: `limits.non_matching_engine`.
    pub questions: Rate,
}

impl Default for DeribitOrderSettings {
    /// The limits of an account that has traded nothing yet, a quarter of them for cancels.
    fn default() -> Self {
        Self {
            cancels_on_disconnect: true,
            owns_account: false,
            names: Vec::new(),
            orders: Rate { per_second: 5, burst: 20 },
            kept_for_cancels: 5,
            questions: Rate { per_second: 20, burst: 100 },
        }
    }
}
