//! The exchange's side: its book, the own orders in it, and what it answers.

mod by_engine;
mod by_level;
mod by_order;
mod fill_model;
mod impact;
mod interface;
mod matching;
mod modelled;
mod outbox;

pub use by_engine::EngineExchange;
#[cfg(test)]
pub use by_engine::{AGGRESSOR, MARKET, OWN};
pub use by_level::LevelExchange;
pub use by_order::OrderExchange;
pub use fill_model::FillModel;
pub use impact::Impact;
pub use interface::Exchange;
pub use outbox::Outbox;
