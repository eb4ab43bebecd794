//! What a logon leaves with its client.

/// An access or a refresh token.
#[derive(Clone, Debug)]
pub struct Token {
    pub account: usize,
    pub read_only: bool,
    pub is_refresh: bool,
    /// The connection that it is good on; a session's is good anywhere.
    pub connection: Option<u64>,
    pub expires_ms: i64,
    pub scope: String,
}

impl Token {
    /// Whether it is good on this connection only.
    pub fn is_of(&self, connection: u64) -> bool {
        self.connection == Some(connection)
    }
}

/// Who a request is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub account: usize,
    pub read_only: bool,
}
