//! Binance's interface to its spot market (REST and WebSocket API version 3), as of July 2026.
//!
//! What is modelled: reference data with its filters, market data over REST and streams (depth with
//! its update ids, partial depth, book ticker, trades, candles, tickers), accounts with keys
//! (HMAC-SHA256 and Ed25519) and free and locked balances, orders (limit, market, post-only,
//! iceberg, time in force, self-trade prevention), cancel-replace and amend over REST and the
//! WebSocket API, user data by subscription or listen key, request weight and order counts; market
//! streams in SBE; streams and snapshots of USD-margined futures. What is not: stops and trailing
//! orders, order lists, pegs, margin, RSA keys, requests in SBE, orders for futures. A request that
//! is missing answers 404, or -1100 on the WebSocket API.
//!
//! Source: binance-spot-api-docs ("REST API", "WebSocket API", "WebSocket Streams", "User Data
//! Stream", "Filters", "Error codes"); where a recorded frame differs, the frame.

mod auth;
mod candles;
mod control;
mod error;
mod execution;
mod filters;
mod fix;
mod fix_fields;
mod fix_session;
mod frames;
mod keys;
mod limits;
mod market;
mod methods;
mod order;
mod params;
mod publish;
mod queries;
mod sbe;
mod serve;
mod session;
pub mod settings;
mod state;
mod stream;
mod stream_codec;
mod trading;
mod usd_m;
mod user_data;

#[cfg(test)]
mod tests;

pub use settings::BinanceSettings;
pub use state::Binance;
