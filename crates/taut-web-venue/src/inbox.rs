//! What came and is not served yet: a front end serves one request at a time, as the exchange
//! executes one command at a time.

use std::collections::VecDeque;

use crate::front::{HttpRequest, Refusal};

/// A request, or the end of a connection.
#[derive(Debug)]
pub enum Inbound {
    Text(u64, String, Option<Refusal>),
    Http(u64, Box<HttpRequest>, Option<Refusal>),
    /// Of a FIX session.
    Bytes(u64, Vec<u8>, Option<Refusal>),
    Closed(u64),
}

/// In the order in which it came.
pub type Inbox = VecDeque<Inbound>;
