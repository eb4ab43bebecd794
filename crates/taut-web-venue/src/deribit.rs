//! Deribit's JSON-RPC 2.0 (API 2.1.1), over WebSocket and over HTTP.
//!
//! What is modelled: instruments (futures and perpetuals, inverse and linear, options, currency
//! pairs), accounts with keys, balances, positions and a simple margin, orders (limit, market,
//! stops and take-profits by the last price, post-only, reduce-only, iceberg, time in force), the
//! public and private channels, credits, heartbeats, cancel on disconnect. What is not: combos,
//! block trades, mass quotes and MMP, OCO, wallets, settlement. A method that is missing answers
//! -32601.
//!
//! Times are the venue's clock; `usIn` is when the request was served, `usOut` when it was
//! answered.

mod auth;
mod channels;
mod execution;
mod fix;
mod fix_books;
mod fix_fields;
mod fix_questions;
mod fix_session;
pub mod instruments;
mod market;
mod methods;
mod order;
mod publish;
mod queries;
mod rpc;
mod session;
mod state;
mod subscribing;
mod token;
mod trading;
mod trading_state;

#[cfg(test)]
mod tests;

pub use state::{Deribit, DeribitSettings};
