//! The answering end of round trips.

use taut_channel::{ChannelUri, Closing, OfferError, Opening, Publication};
use taut_sys::{monotonic, stop_requests};
use taut_types::Nanos;

use crate::channel::failure;
use crate::exit::Failure;

/// How long the asking end may take to have the last answers.
const PATIENCE: Nanos = Nanos::from_secs(2);

/// How long an answer waits for somebody to hear it.
const LISTENING: Nanos = Nanos::from_millis(200);

/// Sends every message back.
#[derive(Debug)]
pub struct Pong {
    publication: Publication,
}

impl Pong {
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, Failure> {
        let opened = Publication::open(uri, opening);
        Ok(Self { publication: opened.map_err(|error| failure::opening(uri, &error))? })
    }

    /// The duty.
    pub fn work(&mut self, now: Nanos) -> usize {
        self.publication.work(now)
    }

    /// When the duty is due.
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.publication.next_timeout()
    }

    /// Sends a message back, however long that takes.
    pub fn answer(&mut self, now: Nanos, message: &[u8]) -> Result<(), Failure> {
        let mut at = now;
        loop {
            match self.publication.offer(at, message) {
                Ok(_) => break,
                // Who asks is there; that it listens may not be known yet.
                Err(OfferError::NotConnected) if at - now > LISTENING => break,
                Err(OfferError::NotConnected | OfferError::BackPressured)
                    if stop_requests() == 0 =>
                {
                    at = monotonic();
                    self.publication.work(at);
                }
                Err(error) => return Err(Failure::Run(error.to_string())),
            }
        }
        self.publication.work(at);
        Ok(())
    }

    /// Ends in good order.
    pub fn finish(&mut self) {
        let deadline = monotonic() + PATIENCE;
        self.publication.close(monotonic());
        while self.publication.closing() != Closing::Closed && monotonic() < deadline {
            self.publication.work(monotonic());
            self.publication.block(Nanos::from_millis(1));
        }
    }
}
