//! Recorded market data beside the repository. It is not part of it: a test without its data says
//! so and passes.

use std::path::PathBuf;

/// The LOBSTER sample's first hour: every order event within 50 levels.
pub const MESSAGES: &str = "lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv";
/// The same day's best levels after each change: the truth for the top of the book.
pub const ORDERBOOK: &str = "lobster/AAPL_2012-06-21_34200000_57600000_orderbook_1.csv";
/// The first rows of another pair, within 10 levels.
pub const FIRST_MESSAGES: &str = "lobster/AAPL_2012-06-21_message_10.first998.csv";
/// The ten best levels after each of those rows.
pub const FIRST_ORDERBOOK: &str = "lobster/AAPL_2012-06-21_orderbook_10.first998.csv";
/// Frames of Binance's spot streams with the snapshot that they join.
pub const BINANCE_SPOT: &str = "binance/spot_btcusdt_20240808.gz";

/// The path of a file of the shared data, if it is there; prints a notice if it is not.
#[must_use]
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/");
    let path = PathBuf::from(format!("{root}{name}"));
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}
