//! What our Logon carries beyond the session's own fields.

use taut_fix::{Hooks, LogonContext, Writer};
use taut_fix_engine::Credentials;
use taut_types::Nanos;

/// Writes the credentials, if the venue wants any, into each Logon.
#[derive(Debug)]
pub(super) struct Logon {
    credentials: Option<Credentials>,
    /// Of the last Logon that was signed.
    last_signed: Nanos,
}

impl Logon {
    pub(super) const fn new(credentials: Option<Credentials>) -> Self {
        Self { credentials, last_signed: Nanos::ZERO }
    }
}

impl Hooks for Logon {
    fn write_logon(&mut self, context: &LogonContext, writer: &mut Writer<'_>) {
        if let Some(credentials) = &self.credentials {
            credentials.write(&mut self.last_signed, context, writer);
        }
    }
}
