//! From one channel into another, on the caller's thread or on one of its own.

use std::sync::Arc;
use std::thread::JoinHandle;

use taut_io::WaitStrategy;
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::monotonic;
use taut_types::Nanos;

use crate::message::Action;
use crate::offer::OfferError;
use crate::publication::Publication;
use crate::publishing_end::Closing;
use crate::subscription::Subscription;
use crate::waiter::Waiter;

/// Messages of one round.
const LIMIT: usize = 64;

/// What becomes of messages while nobody listens at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// They wait, and with them whoever sends them.
    Wait,
    /// They are dropped, and counted.
    Drop,
}

/// Takes messages out of one channel and offers them to another, topics and parts included: a
/// message with a topic is an error where the far end has none, unless they are [left
/// out](Relay::without_topics), and so is one of several parts. A message that finds no room stays
/// where it is and comes again.
#[derive(Debug)]
pub struct Relay {
    from: Subscription,
    to: Publication,
    unheard: Unheard,
    drops_topics: bool,
    relayed: u64,
    dropped: u64,
    /// The far end did not take the last message of the last round.
    is_waiting: bool,
    failure: Option<OfferError>,
}

impl Relay {
    /// A relay between two open ends.
    #[must_use]
    pub const fn new(from: Subscription, to: Publication, unheard: Unheard) -> Self {
        let (drops_topics, is_waiting, failure) = (false, false, None);
        Self { from, to, unheard, drops_topics, relayed: 0, dropped: 0, is_waiting, failure }
    }

    /// The same, and messages arrive without their topics: for a far end that has none.
    #[must_use]
    pub const fn without_topics(mut self) -> Self {
        self.drops_topics = true;
        self
    }

    /// One round; returns how much there was to do.
    ///
    /// # Errors
    /// A message that the far end can never take, such as one that is too long for it.
    pub fn work(&mut self, now: Nanos) -> Result<usize, OfferError> {
        let Self { from, to, unheard, drops_topics, relayed, dropped, is_waiting, failure } = self;
        (*is_waiting, *failure) = (false, None);
        let taken = from.poll_controlled(now, LIMIT, |message| {
            let (topic, ends) = match (message.topic, message.part_ends) {
                // An empty topic.
                ([], [0, ends @ ..]) if *drops_topics => (&[][..], ends),
                (_, ends) if *drops_topics => (&[][..], ends),
                both => both,
            };
            let offered = match ends {
                [] if topic.is_empty() => to.offer(now, message.payload),
                [] => to.offer_topic(now, topic, message.payload),
                ends => to.offer_multipart(now, topic, message.payload, ends),
            };
            match offered {
                Ok(_) => *relayed += 1,
                Err(OfferError::NotConnected) if *unheard == Unheard::Drop => *dropped += 1,
                Err(OfferError::NotConnected | OfferError::BackPressured) => {
                    *is_waiting = true;
                    return Action::Abort;
                }
                Err(error) => {
                    *failure = Some(error);
                    return Action::Abort;
                }
            }
            Action::Continue
        });
        match *failure {
            Some(error) => Err(error),
            None => Ok(taken + to.work(now)),
        }
    }

    /// The near end.
    pub const fn from(&mut self) -> &mut Subscription {
        &mut self.from
    }

    /// The far end.
    pub const fn to(&mut self) -> &mut Publication {
        &mut self.to
    }

    /// Messages that were passed on.
    #[must_use]
    pub const fn relayed(&self) -> u64 {
        self.relayed
    }

    /// Messages that nobody heard.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Why the last round failed: what ended a relay on its own thread.
    #[must_use]
    pub const fn failure(&self) -> Option<OfferError> {
        self.failure
    }

    /// Whether a message waits for the far end: for a subscriber, or for room.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Sleeps until there may be something to relay, or room for it, at most for `span`.
    pub fn block(&mut self, span: Nanos) {
        if self.is_waiting { self.to.block(span) } else { self.from.block(span) }
    }

    /// When the next round is due at the latest.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        [self.from.next_timeout(), self.to.next_timeout()].into_iter().flatten().min()
    }

    /// Goes on in a thread of its own: so a channel has a thread where its user wants one, with a
    /// ring (`inproc:`) between the two.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub fn spawn(mut self, wait: WaitStrategy) -> std::io::Result<RelayThread> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let run = move || {
            let mut waiter = Waiter::new(wait);
            // Relaxed: only whether, not what before.
            while !asked.load(Ordering::Relaxed) {
                let now = monotonic();
                match self.work(now) {
                    Ok(0) => waiter.idle(now, self.next_timeout(), |span| self.block(span)),
                    Ok(_) => waiter.worked(),
                    Err(_) => break,
                }
            }
            self
        };
        let thread = std::thread::Builder::new().name("taut-relay".to_owned()).spawn(run)?;
        Ok(RelayThread { stop, thread })
    }

    /// Ends the far end in good order, within a time; returns whether everybody has everything.
    pub fn close(&mut self, span: Nanos) -> bool {
        let deadline = monotonic() + span;
        self.from.close(monotonic());
        self.to.close(monotonic());
        while self.to.closing() != Closing::Closed && monotonic() < deadline {
            if self.to.work(monotonic()) == 0 {
                self.to.block(Nanos::from_millis(1));
            }
        }
        self.to.closing() == Closing::Closed
    }
}

/// A relay on its own thread.
#[derive(Debug)]
pub struct RelayThread {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Relay>,
}

impl RelayThread {
    /// Whether it ended by itself: [`Relay::failure`] says why.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops the thread, within 50 ms, and returns the relay; nothing if its thread panicked.
    #[must_use]
    pub fn stop(self) -> Option<Relay> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok()
    }
}
