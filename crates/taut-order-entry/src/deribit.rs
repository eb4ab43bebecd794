//! Deribit: JSON-RPC 2.0 over WebSocket or HTTP.
//!
//! Source: docs.deribit.com (API 2.1.1), "Authentication" and the methods' own pages.

mod answer;
mod code;
mod request;
mod secret;
mod signature;
mod steps;

pub use answer::{
    Change, Fill, InstrumentAnswer, Order, OrderState, Position, Token, grants, read_changes,
    read_count, read_error, read_instrument, read_order, read_orders, read_positions, read_token,
};
pub use code::{ErrorAnswer, Outcome};
pub use request::{Amount, NewOrder, Request, Trigger};
pub use secret::Secret;
pub use signature::{HttpRequest, client_signature};
pub use steps::TickSteps;
