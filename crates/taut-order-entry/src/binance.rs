//! Binance: REST, the WebSocket API, and the Logon of its FIX API.
//!
//! Source: binance-spot-api-docs, "WebSocket API", "User Data Streams", "Errors", "Filters" and
//! "Request security".

mod answer;
mod code;
mod execution;
mod rate_limit;
mod reference;
mod request;
mod signature;
mod values;

pub use answer::{
    Answer, Frame, Order, OrderStatus, Replaced, Step, read_amended, read_error, read_frame,
    read_order, read_orders, read_replaced, read_server_time,
};
pub use code::{ErrorAnswer, Outcome};
pub use execution::{Event, Execution, ExecutionKind, read_event};
pub use rate_limit::{RateLimit, RateLimitKind, read_rate_limits};
pub use reference::{Filter, Filters, SymbolAnswer, read_symbols};
pub use request::{NewOrder, OrderKind, Request, SelfTrade, Stamp, Which};
pub use signature::{
    PARAMETERS_MAX, logon_signature, percent_encode, request_text, rest_signature,
};
