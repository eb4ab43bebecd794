//! The sending loop: one thread that is application and driver.

use taut_channel::{ChannelUri, OfferError, Publication, Waiter};
use taut_sys::stop_requests;
use taut_types::Nanos;

use super::arguments::{Arguments, Rate};
use super::pace::Pace;
use crate::channel::clock::StampClock;
use crate::channel::stamp::Stamp;
use crate::exit::Failure;
use crate::progress::Progress;

/// Offers at full speed with one time, which is the first one's.
const BURST: u64 = 64;
/// Offers at full speed between two duties: few system calls carry them.
const BATCH: u64 = 256;

/// The sender at work.
#[derive(Debug)]
pub struct Sender<'a> {
    pub arguments: &'a Arguments,
    pub publication: Publication,
    pub clock: StampClock,
    pub message: Vec<u8>,
    pub waiter: Waiter,
    pub progress: Progress,
    topic: &'a [u8],
    pub uri: &'a ChannelUri,
    /// Messages that said the end, beside those that were to be sent.
    pub end_messages: u64,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Sent,
    Full,
}

impl<'a> Sender<'a> {
    pub fn new(
        arguments: &'a Arguments,
        uri: &'a ChannelUri,
        publication: Publication,
        clock: StampClock,
    ) -> Self {
        Self {
            arguments,
            publication,
            clock,
            message: (0..arguments.size).map(|at| at as u8).collect(),
            waiter: Waiter::new(arguments.end.thread.wait.strategy()),
            progress: Progress::start(),
            uri,
            end_messages: 0,
            topic: arguments.topic.as_deref().unwrap_or("").as_bytes(),
        }
    }

    /// Waits for the first subscriber, unless told not to.
    pub fn await_subscriber(&mut self) -> Result<(), Failure> {
        while !self.arguments.no_wait && !self.publication.is_connected() {
            if stop_requests() > 0 || self.progress.is_abandoned() {
                return Err(Failure::Run(format!("{}: no subscriber came", self.uri)));
            }
            self.duty();
            self.progress.tell("waiting for a subscriber");
        }
        Ok(())
    }

    /// Sends until the count is reached or a stop is asked for; returns how many.
    pub fn send_all(&mut self, start: Nanos) -> Result<u64, Failure> {
        match self.arguments.rate {
            Rate::Max => self.send_bursts(start),
            Rate::Hz(_) => self.send_paced(start),
        }
    }

    /// At full speed: bursts, each with one time.
    fn send_bursts(&mut self, start: Nanos) -> Result<u64, Failure> {
        let count = self.arguments.count.unwrap_or(u64::MAX);
        let (mut now, mut sequence) = (start, 0);
        while sequence < count && stop_requests() == 0 {
            let end = count.min(sequence.saturating_add(BURST));
            while sequence < end && self.attempt(now, now, sequence)? == Attempt::Sent {
                sequence += 1;
            }
            self.clock.keep(now);
            if sequence < end {
                now = self.duty();
                self.progress.tell_at(now, "back-pressured");
                continue;
            }
            if sequence.is_multiple_of(BATCH) || sequence == count {
                self.publication.work(now);
                self.waiter.worked();
                self.progress.tell_at(now, "sending");
            }
            now = self.clock.now();
        }
        Ok(sequence)
    }

    /// Each message at its time, with its own time.
    fn send_paced(&mut self, start: Nanos) -> Result<u64, Failure> {
        let pace = Pace::new(start, self.arguments.rate);
        let count = self.arguments.count.unwrap_or(u64::MAX);
        let (mut now, mut sequence) = (start, 0);
        while sequence < count && stop_requests() == 0 {
            let intended = pace.intended(sequence).unwrap_or(now);
            now = self.until(intended, now);
            if self.attempt(now, intended, sequence)? == Attempt::Full {
                now = self.duty();
                self.progress.tell_at(now, "back-pressured");
                continue;
            }
            sequence += 1;
            let is_last_for_now = pace.intended(sequence).is_some_and(|next| next > now);
            if is_last_for_now || sequence.is_multiple_of(BATCH) || sequence == count {
                self.publication.work(now);
                self.waiter.worked();
            }
            if sequence.is_multiple_of(4096) {
                self.clock.keep(now);
                self.progress.tell_at(now, "sending");
            }
        }
        Ok(sequence)
    }

    /// Does the duty until it is time.
    #[inline]
    fn until(&mut self, intended: Nanos, mut now: Nanos) -> Nanos {
        while now < intended && stop_requests() == 0 {
            let busy = self.publication.work(now) > 0;
            if busy {
                self.waiter.worked();
            } else {
                let next = self.publication.next_timeout().map_or(intended, |at| at.min(intended));
                let publication = &mut self.publication;
                self.waiter.idle(now, Some(next), |span| publication.block(span));
            }
            now = self.clock.now();
            self.clock.keep(now);
        }
        now
    }

    /// Offers a message once.
    #[inline]
    pub fn attempt(
        &mut self,
        now: Nanos,
        intended: Nanos,
        sequence: u64,
    ) -> Result<Attempt, Failure> {
        let (sent_ns, intended_ns) = (self.clock.stamp(now), self.clock.stamp(intended));
        Stamp { sent_ns, intended_ns, sequence }.write(&mut self.message);
        match self.publication.offer_topic(now, self.topic, &self.message) {
            Ok(_) => Ok(Attempt::Sent),
            Err(OfferError::BackPressured) => Ok(Attempt::Full),
            // Nobody hears it: that was asked for, or the subscriber has left.
            Err(OfferError::NotConnected) => Ok(Attempt::Sent),
            Err(error @ (OfferError::NoTopics | OfferError::TooLong { .. })) => {
                Err(Failure::Usage(error.to_string()))
            }
            Err(error) => Err(Failure::Run(error.to_string())),
        }
    }

    /// Offers any bytes with the topic of the stream.
    pub fn offer(&mut self, now: Nanos, message: &[u8]) -> Result<u64, OfferError> {
        self.publication.offer_topic(now, self.topic, message)
    }

    /// One round of the duty, and a wait when there was nothing to do.
    pub fn duty(&mut self) -> Nanos {
        let now = self.clock.now();
        self.clock.keep(now);
        if self.publication.work(now) > 0 {
            self.waiter.worked();
        } else {
            let next = self.publication.next_timeout();
            let publication = &mut self.publication;
            self.waiter.idle(now, next, |span| publication.block(span));
        }
        self.clock.now()
    }
}
