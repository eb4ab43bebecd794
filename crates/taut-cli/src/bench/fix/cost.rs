//! What a message costs.

use serde::Serialize;

/// Nanoseconds per message, of an order and of a report.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    pub nos: f64,
    pub er: f64,
}
