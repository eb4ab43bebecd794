//! The server's side of the handshake: WELCOME, READY.

use alloc::vec::Vec;

use crate::command::write_command;
use crate::curve::boxes::{agree, cookie_cipher, long_nonce, open, seal, short_nonce};
use crate::curve::keys::{PublicKey, SecretKey, Seed};
use crate::curve::stream::{Counters, CurveStream};
use crate::error::Violation;

const HELLO_BYTES: usize = 194;
const COOKIE_BYTES: usize = 96;

/// A server in its handshake.
pub struct CurveServer {
    secret: SecretKey,
    short_secret: SecretKey,
    client_short: PublicKey,
    seed: Seed,
    counters: Counters,
    stream: Option<CurveStream>,
}

impl CurveServer {
    pub fn new(secret: &SecretKey, seed: Seed) -> Self {
        Self {
            secret: secret.clone(),
            short_secret: SecretKey::new(seed.short_secret),
            client_short: PublicKey([0; 32]),
            seed,
            counters: Counters::default(),
            stream: None,
        }
    }

    /// Reads HELLO, whose box proves that the client knows our public key, and appends WELCOME.
    ///
    /// # Errors
    /// The client broke a rule.
    pub fn hello(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        let Some(([1, 0], rest)) = data.split_first_chunk().filter(|_| data.len() == HELLO_BYTES)
        else {
            return Err(Violation::CommandSyntax);
        };
        let rest = rest.get(72..).unwrap_or(&[]);
        let (client_short, rest) = rest.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let (counter, proof) = rest.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        self.client_short = PublicKey(*client_short);
        let cipher = agree(&self.client_short, &self.secret.scalar());
        let mut opened = Vec::with_capacity(64);
        open(&cipher, short_nonce(b"CurveZMQHELLO---", *counter), proof, &mut opened)?;
        self.counters.take(*counter)?;
        if opened.iter().any(|byte| *byte != 0) {
            return Err(Violation::Cryptography);
        }

        let mut cookie = Vec::with_capacity(COOKIE_BYTES);
        cookie.extend_from_slice(&self.seed.cookie_nonce);
        let nonce = long_nonce(b"COOKIE--", &self.seed.cookie_nonce);
        let content: [&[u8]; 2] = [client_short, &self.seed.short_secret];
        seal(&cookie_cipher(&self.seed.cookie_key), nonce, &content, &mut cookie);

        let mut sealed = Vec::with_capacity(144);
        let nonce = long_nonce(b"WELCOME-", &self.seed.nonce);
        seal(&cipher, nonce, &[&self.short_secret.public().0, &cookie], &mut sealed);
        write_command(out, "WELCOME", &[&self.seed.nonce, &sealed]);
        Ok(())
    }

    /// Reads INITIATE: the client's public key, which it has proved to own, and its metadata, which
    /// are put into `metadata`. Whether the key is welcome is the caller's to say.
    ///
    /// # Errors
    /// The client broke a rule.
    pub fn initiate(
        &mut self,
        data: &[u8],
        metadata: &mut Vec<u8>,
    ) -> Result<PublicKey, Violation> {
        let (cookie, rest) = data.split_at_checked(COOKIE_BYTES).ok_or(Violation::CommandSyntax)?;
        let (counter, sealed) = rest.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let mut opened = Vec::new();
        let (nonce, cookie) = cookie.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let nonce = long_nonce(b"COOKIE--", nonce);
        open(&cookie_cipher(&self.seed.cookie_key), nonce, cookie, &mut opened)?;
        let ours = self.client_short.0.iter().chain(&self.seed.short_secret);
        let is_ours = opened.iter().eq(ours);
        zeroize::Zeroize::zeroize(&mut opened);
        if !is_ours {
            return Err(Violation::Cryptography);
        }

        let cipher = agree(&self.client_short, &self.short_secret.scalar());
        open(&cipher, short_nonce(b"CurveZMQINITIATE", *counter), sealed, &mut opened)?;
        self.counters.take(*counter)?;
        let (client, rest) = opened.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let (vouch_nonce, rest) = rest.split_first_chunk().ok_or(Violation::CommandSyntax)?;
        let (vouch, properties) = rest.split_at_checked(80).ok_or(Violation::CommandSyntax)?;
        metadata.clear();
        metadata.extend_from_slice(properties);

        let client = PublicKey(*client);
        let vouch_cipher = agree(&client, &self.short_secret.scalar());
        let mut vouched = Vec::with_capacity(64);
        open(&vouch_cipher, long_nonce(b"VOUCH---", vouch_nonce), vouch, &mut vouched)?;
        let server = self.secret.public();
        if !vouched.iter().eq(self.client_short.0.iter().chain(&server.0)) {
            return Err(Violation::Cryptography);
        }
        self.stream = Some(CurveStream { cipher, counters: self.counters, is_server: true });
        Ok(client)
    }

    /// Appends READY with our metadata and returns the encrypted connection.
    pub fn ready(&mut self, metadata: &[u8], out: &mut Vec<u8>) -> Option<CurveStream> {
        let mut stream = self.stream.take()?;
        let counter = stream.counters.next();
        let mut sealed = Vec::with_capacity(16 + metadata.len());
        let nonce = short_nonce(b"CurveZMQREADY---", counter);
        seal(&stream.cipher, nonce, &[metadata], &mut sealed);
        write_command(out, "READY", &[&counter, &sealed]);
        Some(stream)
    }
}
