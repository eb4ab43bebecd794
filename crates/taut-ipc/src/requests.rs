//! Many writers to one reader by name: the order requests of many strategies.
//!
//! The reader owns the stream. A writer that is killed between its claim and its last store holds
//! the reader up until it has looked at that writer's lock, which died with it; one that is stopped
//! holds it up until it goes on: nobody steals from it.

use taut_ring::{Full, Payload, RingError, mpsc};
use taut_sys::Wait;

use crate::bell::Waker;
use crate::channel::Channel;
use crate::error::IpcError;
use crate::header::Descriptor;
use crate::idle::IdleWait;
use crate::place::{LockFile, reader_byte};
use crate::publication::Ownership;
use crate::stream::{StreamKind, behind_control, control_of};

/// Empty polls after which the reader looks whether a dead writer's claim holds it up.
const PATIENCE: u32 = 1024;

/// A writing end; each has a place of its own.
#[derive(Debug)]
pub struct RequestPublication<'c> {
    producer: mpsc::Producer<'c>,
    bell: Waker<'c>,
    // Behind the producer: it is dropped before the lock that guards its place.
    _lock: LockFile,
}

/// The reading end. There is one at a time.
#[derive(Debug)]
pub struct Requests<'c> {
    consumer: mpsc::Consumer<'c>,
    empty: u32,
    skipped: u64,
    idle: IdleWait<'c>,
    ownership: Ownership<'c>,
}

impl Channel {
    /// Begins to write requests. `layout` 0 accepts any.
    ///
    /// # Errors
    /// When there is no such stream, it carries something else, or all places are taken.
    pub fn publish_requests(
        &self,
        stream: &str,
        layout: u64,
    ) -> Result<RequestPublication<'_>, IpcError> {
        let (number, descriptor, words) = self.stream(stream)?;
        check(&descriptor, layout)?;
        let control = control_of(words, &descriptor)?;
        let places = descriptor.reader_count;
        for place in 0..places {
            let lock = self.open_lock()?;
            if !lock.lock(reader_byte(number, place), false)? {
                continue;
            }
            let ring = behind_control(words);
            match mpsc::Producer::new(ring, descriptor.requests_layout(), place) {
                Ok(producer) => {
                    let bell = Waker::new(control.sleep_words());
                    return Ok(RequestPublication { producer, bell, _lock: lock });
                }
                // A dead one's, until the reader has seen that.
                Err(RingError::Claimed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(IpcError::ReadersFull { reader_count: places })
    }

    /// Begins to read requests: what was sent and not yet taken comes first. `layout` 0 accepts
    /// any.
    ///
    /// # Errors
    /// [`IpcError::WriterExists`] while somebody else reads them; as
    /// [`Channel::publish_requests`].
    pub fn read_requests(&self, stream: &str, layout: u64) -> Result<Requests<'_>, IpcError> {
        let (_, descriptor, words) = self.stream(stream)?;
        check(&descriptor, layout)?;
        let control = control_of(words, &descriptor)?;
        let idle = IdleWait::new(self.is_writable(), &control);
        let (ownership, _) = Ownership::take(self, stream)?;
        let ring = behind_control(words);
        let consumer = mpsc::Consumer::resume(ring, descriptor.requests_layout())?;
        ownership.sign();
        Ok(Requests { consumer, empty: 0, skipped: 0, idle, ownership })
    }
}

fn check(descriptor: &Descriptor, layout: u64) -> Result<(), IpcError> {
    match descriptor.stream().map(|stream| stream.kind) {
        Some(StreamKind::Requests { .. }) => Channel::check_layout(descriptor, layout),
        _ => Err(IpcError::Stream),
    }
}

impl RequestPublication<'_> {
    /// Sends a request. Cost: a compare-and-swap of a shared line and the request's line.
    ///
    /// # Errors
    /// [`Full`] when the reader is a whole ring behind.
    #[inline]
    pub fn send(&mut self, payload: &Payload) -> Result<(), Full> {
        self.producer.push(payload)?;
        self.bell.ring();
        Ok(())
    }
}

impl Requests<'_> {
    /// Takes the next request, if it is complete. It never waits.
    #[inline]
    pub fn poll(&mut self) -> Option<Payload> {
        let payload = self.consumer.pop();
        match payload {
            Some(_) => self.empty = 0,
            None => self.nothing(),
        }
        payload
    }

    /// How [`Requests::wait`] waits.
    pub const fn set_wait(&mut self, wait: Wait) {
        self.idle.set_wait(wait);
    }

    /// Waits a little, by the wait strategy, for a request; call it when a poll was empty.
    pub fn wait(&mut self) {
        let mut slept = false;
        self.idle.wait(|| {
            slept = true;
            self.consumer.has_next()
        });
        // Few polls follow each other in a reader that sleeps: it looks for dead writers now.
        if slept {
            self.heal();
        }
    }

    /// The last poll was not empty: the wait strategy begins anew.
    #[inline]
    pub const fn worked(&mut self) {
        self.idle.worked();
    }

    /// Claims of dead writers that were skipped: requests that never were.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    fn nothing(&mut self) {
        self.empty += 1;
        if self.empty >= PATIENCE {
            self.empty = 0;
            self.heal();
        }
    }

    /// Skips a claim if all who may hold it are dead: their locks are nobody's.
    #[cold]
    fn heal(&mut self) {
        let Ownership { lock, stream, .. } = &self.ownership;
        let mut holders = 0;
        for place in self.consumer.holders() {
            let byte = reader_byte(*stream, place);
            holders += 1;
            // Held only for this look; who registers just then tries the next place.
            if lock.lock(byte, false) != Ok(true) {
                return;
            }
            let _ = lock.unlock(byte);
        }
        if holders > 0 {
            self.skipped += u64::from(self.consumer.skip_claim());
        }
    }
}
