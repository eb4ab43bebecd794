//! The exchange's side: its book, the own orders in it, and what it answers.

mod by_level;
mod by_order;
mod fill_model;
mod interface;
mod matching;
mod outbox;

pub use by_level::LevelExchange;
pub use by_order::OrderExchange;
pub use fill_model::FillModel;
pub use interface::Exchange;
pub use outbox::Outbox;
