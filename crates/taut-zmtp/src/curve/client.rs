//! The client's side of the handshake: HELLO, INITIATE.

use alloc::vec::Vec;

use crate::command::write_command;
use crate::curve::boxes::{agree, long_nonce, open, seal, short_nonce};
use crate::curve::keys::{PublicKey, SecretKey, Seed};
use crate::curve::stream::{Counters, CurveStream};
use crate::error::Violation;

/// A client in its handshake.
pub struct CurveClient {
    secret: SecretKey,
    server: PublicKey,
    short_secret: SecretKey,
    nonce: [u8; 16],
    counters: Counters,
    stream: Option<CurveStream>,
}

impl CurveClient {
    pub fn new(secret: &SecretKey, server: PublicKey, seed: &Seed) -> Self {
        Self {
            secret: secret.clone(),
            server,
            short_secret: SecretKey::new(seed.short_secret),
            nonce: seed.nonce,
            counters: Counters::default(),
            stream: None,
        }
    }

    /// Appends HELLO: 200 bytes, so that no answer is larger than the question.
    pub fn hello(&mut self, out: &mut Vec<u8>) {
        let counter = self.counters.next();
        let mut proof = Vec::with_capacity(80);
        let cipher = agree(&self.server, &self.short_secret.scalar());
        seal(&cipher, short_nonce(b"CurveZMQHELLO---", counter), &[&[0; 64]], &mut proof);
        let short_public = self.short_secret.public().0;
        write_command(out, "HELLO", &[&[1, 0], &[0; 72], &short_public, &counter, &proof]);
    }

    /// Reads WELCOME and appends INITIATE with the metadata.
    ///
    /// # Errors
    /// The server does not have the key that we know it by, or broke a rule.
    pub fn welcome(
        &mut self,
        data: &[u8],
        metadata: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let (nonce, sealed) = data.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let mut opened = Vec::with_capacity(128);
        let cipher = agree(&self.server, &self.short_secret.scalar());
        open(&cipher, long_nonce(b"WELCOME-", nonce), sealed, &mut opened)?;
        let (server_short, cookie) = opened
            .split_first_chunk()
            .filter(|(_, cookie)| cookie.len() == 96)
            .ok_or(Violation::CommandSyntax)?;
        let server_short = PublicKey(*server_short);

        let mut vouch = Vec::with_capacity(96);
        vouch.extend_from_slice(&self.nonce);
        let cipher = agree(&server_short, &self.secret.scalar());
        let short_public = self.short_secret.public().0;
        let nonce = long_nonce(b"VOUCH---", &self.nonce);
        seal(&cipher, nonce, &[&short_public, &self.server.0], &mut vouch);

        let cipher = agree(&server_short, &self.short_secret.scalar());
        let counter = self.counters.next();
        let mut sealed = Vec::with_capacity(144 + metadata.len());
        let nonce = short_nonce(b"CurveZMQINITIATE", counter);
        seal(&cipher, nonce, &[&self.secret.public().0, &vouch, metadata], &mut sealed);
        write_command(out, "INITIATE", &[cookie, &counter, &sealed]);
        self.stream = Some(CurveStream { cipher, counters: self.counters, is_server: false });
        Ok(())
    }

    /// Reads READY: the server's metadata into `opened`, and the encrypted connection.
    ///
    /// # Errors
    /// The box does not open.
    pub fn ready(&mut self, data: &[u8], opened: &mut Vec<u8>) -> Result<CurveStream, Violation> {
        let (counter, sealed) = data.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let mut stream = self.stream.take().ok_or(Violation::UnexpectedCommand)?;
        let nonce = short_nonce(b"CurveZMQREADY---", *counter);
        open(&stream.cipher, nonce, sealed, opened)?;
        stream.counters.take(*counter)?;
        Ok(stream)
    }
}
