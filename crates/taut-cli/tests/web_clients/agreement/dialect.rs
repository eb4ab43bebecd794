//! What is different at each venue.

use super::stranger::{Python, Stranger};

/// A venue, and who trades there.
pub struct Dialect {
    pub name: &'static str,
    /// Lines of the venue's file: who trades beside the sample's accounts `one` and `two`. `three`
    /// is the gateway's, `four` this test's own.
    pub accounts: &'static str,
    pub strangers: [Stranger; 2],
    /// The instrument whose book all of them trade in, and its smallest steps.
    pub symbol: &'static str,
    pub tick: &'static str,
    pub lot: &'static str,
    /// Lots of an order of the gateway's.
    pub lots: i64,
}

const CCXT: Python = Python { package: "ccxt", module: "ccxt", version: "4.5.90" };
const PYTHON_BINANCE: Python =
    Python { package: "python-binance", module: "binance", version: "1.0.37" };

pub const DERIBIT: Dialect = Dialect {
    name: "deribit",
    accounts: r#"
[[accounts]]
name = "three"
keys = [{ id = "three", secret = "secret-of-three" }]
balances = { BTC = "100", ETH = "1000" }
matching_rate = 30
matching_burst = 100

[[accounts]]
name = "four"
keys = [{ id = "four", secret = "secret-of-four" }]
balances = { BTC = "100", ETH = "1000" }
"#,
    strangers: [
        Stranger::Python(CCXT, "ccxt_client.py"),
        Stranger::Node("deribit-v2-ws", "0.0.3", "deribit_v2_ws_client.js"),
    ],
    symbol: "BTC-PERPETUAL",
    tick: "0.5",
    lot: "10",
    lots: 1,
};

pub const BINANCE: Dialect = Dialect {
    name: "binance",
    // Without commissions what is held is what was traded.
    accounts: r#"
[[accounts]]
name = "three"
balances = { BTC = "100", ETH = "1000", USDT = "10000000" }
maker_commission = "0"
taker_commission = "0"

[[accounts.keys]]
id = "three"
secret = "secret-of-three"

[[accounts.keys]]
id = "three-ed25519"
public_key = "MCowBQYDK2VwAyEAGUIKv9dSpWXBViXp2m6vAIb8QMFJYBgyFEQsFJlqgA0="

[[accounts]]
name = "four"
keys = [{ id = "four", secret = "secret-of-four" }]
balances = { BTC = "100", USDT = "10000000" }
"#,
    strangers: [
        Stranger::Python(CCXT, "ccxt_client.py"),
        Stranger::Python(PYTHON_BINANCE, "python_binance_client.py"),
    ],
    symbol: "BTCUSDT",
    tick: "0.01",
    lot: "0.00001",
    lots: 100,
};
