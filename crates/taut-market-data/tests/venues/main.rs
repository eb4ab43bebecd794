//! Recorded frames of venues, and what is known to be true of them.
//!
//! With `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-market-data --test venues mutated --
//! --nocapture` the frames that something happened to are ten million.

mod binance;
mod deribit;
mod frames;
mod mutated;
mod okx;
mod replay;
mod seeded;
