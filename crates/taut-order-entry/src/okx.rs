//! OKX: orders over WebSocket, questions about them over HTTP (API version 5).
//!
//! Source: okx.com/docs-v5, "WebSocket: Login", "Place order", "Amend order", "Cancel order",
//! "Order channel", "REST Authentication", "GET / Order details", "GET / Order List", "Get
//! positions" and "Error Code". None of its order messages has been recorded: what stands here is
//! the document's.

mod answer;
mod code;
mod position;
mod request;

pub use answer::{
    Answer, InstrumentTerms, Message, Order, OrderState, read_answer, read_instruments,
    read_message, read_orders, read_time,
};
pub use code::{Outcome, outcome, reject};
pub use position::{Position, read_positions};
pub use request::{
    Channel, Login, NewOrder, Question, Questioner, Request, SelfTrade, TradeMode, Which,
    http_signature, login_signature, write_subscription,
};
