//! FIX clients, captive: QuickFIX (its Go engine) with the dialects of both venues, as anybody
//! would write it from their documents, and the crate deribit-fix. `bench/peers/fix/install.sh`
//! builds them into `bench/peers/fix/target`, or `TAUT_FIX_PEERS` names such a folder.

use std::path::PathBuf;

use crate::captive;

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/target");

/// A client, and the day that it plays.
struct Client {
    name: &'static str,
    program: &'static str,
    dialect: &'static str,
    /// Behind the word `day`.
    argument: &'static str,
    steps: usize,
}

fn trades_a_day(client: &Client) {
    let Client { name, program, dialect, argument, steps } = *client;
    let built = std::env::var_os("TAUT_FIX_PEERS").map_or_else(|| PEERS.into(), PathBuf::from);
    let program = built.join(program);
    if !program.exists() {
        println!("skipped: no {name} ({} is not there)", program.display());
        return;
    }
    captive::play((name, dialect, steps), &program, &["day", argument], &[]);
}

#[test]
fn quickfix_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        name: "quickfix-go",
        program: "fix-peer-go",
        dialect: "deribit",
        argument: "deribit",
        steps: 16,
    });
}

#[test]
fn quickfix_trades_a_day_on_binance_without_knowing_it() {
    trades_a_day(&Client {
        name: "quickfix-go",
        program: "fix-peer-go",
        dialect: "binance",
        argument: "binance",
        steps: 12,
    });
}

/// Around the price at which the sample's crowd begins.
#[test]
fn deribit_fix_trades_a_day_on_deribit_without_knowing_it() {
    trades_a_day(&Client {
        name: "deribit-fix",
        program: "fix-peer-deribit",
        dialect: "deribit",
        argument: "60000",
        steps: 10,
    });
}
