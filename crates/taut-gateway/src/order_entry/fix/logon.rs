//! What our Logon carries beyond the session's own fields.

use taut_fix::{Hooks, LogonContext, Writer};
use taut_fix_engine::Credentials;
use taut_fix_engine::auth::NONCE_BYTES;
use taut_types::Nanos;

/// Writes the credentials, if the venue wants any, into each Logon, and what else it takes there.
#[derive(Debug)]
pub struct Logon {
    credentials: Option<Credentials>,
    /// Random bytes for the next Logon.
    nonce: Option<[u8; NONCE_BYTES]>,
    /// Of the last Logon that was signed.
    last_signed: Nanos,
    /// Fields of the venue's own.
    options: &'static [(i32, &'static [u8])],
}

impl Logon {
    pub const fn new(credentials: Option<Credentials>) -> Self {
        Self { credentials, nonce: None, last_signed: Nanos::ZERO, options: &[] }
    }

    /// Random bytes for the next Logon: a second one of the same connection goes unsigned.
    pub const fn set_nonce(&mut self, nonce: [u8; NONCE_BYTES]) {
        self.nonce = Some(nonce);
    }

    /// With these fields, too.
    pub fn with(self, options: &'static [(i32, &'static [u8])]) -> Self {
        Self { options, ..self }
    }
}

impl Hooks for Logon {
    fn write_logon(&mut self, context: &LogonContext, writer: &mut Writer<'_>) {
        if let Some(credentials) = &self.credentials {
            let nonce = || self.nonce.take();
            credentials.write(nonce, &mut self.last_signed, context, writer);
        }
        self.options.iter().for_each(|(tag, value)| writer.field(*tag, value));
    }
}
