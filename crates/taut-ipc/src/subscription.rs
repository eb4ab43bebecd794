//! The reading end of a stream.

use taut_ring::broadcast::{Polled, Start};
use taut_ring::{Control, Payload, broadcast, log};
use taut_sync::atomic::AtomicU64;
use taut_sys::Wait;
use taut_types::Nanos;

use crate::channel::{Channel, Owner};
use crate::error::IpcError;
use crate::idle::IdleWait;
use crate::place::{LockFile, reader_byte};
use crate::stream::{StreamKind, control_of};

/// Whether the writer knows the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The writer waits for it, drops messages or evicts it, as its policy says.
    Registered,
    /// The writer does not know it; it may be overtaken, and learns what it lost.
    Passive,
}

/// The place of a registered reader: its lock, held as long as it reads.
#[derive(Debug)]
struct Registration {
    _lock: LockFile,
    place: usize,
}

fn register_reader(
    channel: &Channel,
    stream: usize,
    control: &Control<'_>,
) -> Result<Registration, IpcError> {
    let lock = channel.open_lock()?;
    for number in 0..control.reader_count() {
        if lock.lock(reader_byte(stream, number), false)? {
            if let Some(words) = control.reader_words(number) {
                Owner::of_reader(words).sign();
            }
            return Ok(Registration { _lock: lock, place: number });
        }
    }
    Err(IpcError::ReadersFull { reader_count: control.reader_count() })
}

/// The reading end of a stream of ticks.
#[derive(Debug)]
pub struct TickSubscription<'c> {
    // The ring first: it leaves its place before the lock is released.
    subscriber: broadcast::Subscriber<'c>,
    idle: IdleWait<'c>,
    _registration: Option<Registration>,
}

/// The reading end of a stream of messages of any size.
#[derive(Debug)]
pub struct LogSubscription<'c> {
    reader: log::LogReader<'c>,
    idle: IdleWait<'c>,
    _registration: Option<Registration>,
}

impl Channel {
    /// Begins to read a stream of ticks. `layout` 0 accepts any.
    ///
    /// # Errors
    /// When there is no such stream, it carries something else, or all places are taken.
    pub fn subscribe_ticks(
        &self,
        stream: &str,
        layout: u64,
        start: Start,
        join: Join,
    ) -> Result<TickSubscription<'_>, IpcError> {
        let (number, descriptor, words) = self.stream(stream)?;
        if !matches!(descriptor.stream().map(|s| s.kind), Some(StreamKind::Ticks { .. })) {
            return Err(IpcError::Stream);
        }
        Self::check_layout(&descriptor, layout)?;
        let control = control_of(words, &descriptor)?;
        let idle = IdleWait::new(self.is_writable(), &control);
        let ring = descriptor.ticks_layout();
        if join == Join::Passive {
            let subscriber = broadcast::Subscriber::passive(words, ring, start)?;
            return Ok(TickSubscription { subscriber, idle, _registration: None });
        }
        let registration = register_reader(self, number, &control)?;
        let subscriber = broadcast::Subscriber::registered(words, ring, start, registration.place)?;
        Ok(TickSubscription { subscriber, idle, _registration: Some(registration) })
    }

    /// Begins to read a stream of messages of any size, as [`Channel::subscribe_ticks`].
    ///
    /// # Errors
    /// As there.
    pub fn subscribe_log(
        &self,
        stream: &str,
        layout: u64,
        start: Start,
        join: Join,
    ) -> Result<LogSubscription<'_>, IpcError> {
        let (number, descriptor, words) = self.stream(stream)?;
        if !matches!(descriptor.stream().map(|s| s.kind), Some(StreamKind::Log { .. })) {
            return Err(IpcError::Stream);
        }
        Self::check_layout(&descriptor, layout)?;
        let control = control_of(words, &descriptor)?;
        let idle = IdleWait::new(self.is_writable(), &control);
        let ring = descriptor.log_layout();
        if join == Join::Passive {
            let reader = log::LogReader::passive(words, ring, start)?;
            return Ok(LogSubscription { reader, idle, _registration: None });
        }
        let registration = register_reader(self, number, &control)?;
        let reader = log::LogReader::registered(words, ring, start, registration.place)?;
        Ok(LogSubscription { reader, idle, _registration: Some(registration) })
    }
}

impl TickSubscription<'_> {
    /// How [`TickSubscription::wait`] waits.
    pub const fn set_wait(&mut self, wait: Wait) {
        self.idle.set_wait(wait);
    }

    /// Takes the next message, if there is one. Cost: one cache-line transfer; it never waits.
    #[inline]
    pub fn poll(&mut self) -> Polled<Payload> {
        self.subscriber.poll()
    }

    /// Sleeps until there is a message, at most for `span`. Cost: two system calls; none when there
    /// is one.
    pub fn sleep(&self, span: Nanos) {
        self.idle.sleep(span, || self.subscriber.has_next());
    }

    /// Waits a little, by the wait strategy, for something new; call it when a poll was empty.
    pub fn wait(&mut self) {
        self.idle.wait(|| self.subscriber.has_next());
    }

    /// The last poll was not empty: the wait strategy begins anew.
    #[inline]
    pub const fn worked(&mut self) {
        self.idle.worked();
    }

    /// Tells the writer at once what is read.
    pub fn report(&mut self) {
        self.subscriber.report();
    }

    /// Position of the next message.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.subscriber.position()
    }

    /// The epoch of the writer of the last message.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.subscriber.epoch()
    }

    /// Whether the writer waits for this reader.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.subscriber.is_held()
    }
}

impl LogSubscription<'_> {
    /// How [`LogSubscription::wait`] waits.
    pub const fn set_wait(&mut self, wait: Wait) {
        self.idle.set_wait(wait);
    }

    /// Sleeps until there is a message, at most for `span`. Cost: two system calls; none when there
    /// is one.
    pub fn sleep(&self, span: Nanos) {
        self.idle.sleep(span, || self.reader.has_next());
    }

    /// Copies the next message into `buffer`, if there is one, and says how long it is.
    #[inline]
    pub fn poll(&mut self, buffer: &mut [u8]) -> Polled<usize> {
        self.reader.poll(buffer)
    }

    /// Shows the next message in place; see [`log::LogReader::poll_with`].
    #[inline]
    pub fn poll_with<T>(&mut self, read: impl FnOnce(&[AtomicU64], usize) -> T) -> Polled<T> {
        self.reader.poll_with(read)
    }

    /// Waits a little, by the wait strategy, for something new; call it when a poll was empty.
    pub fn wait(&mut self) {
        self.idle.wait(|| self.reader.has_next());
    }

    /// The last poll was not empty: the wait strategy begins anew.
    #[inline]
    pub const fn worked(&mut self) {
        self.idle.worked();
    }

    /// Tells the writer at once what is read.
    pub fn report(&mut self) {
        self.reader.report();
    }

    /// Position of the next message, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.reader.position()
    }

    /// The epoch of the writer of the last message.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.reader.epoch()
    }

    /// The epoch of the writer that there is now, or was last.
    #[must_use]
    pub fn writer_epoch(&self) -> u64 {
        self.reader.writer_epoch()
    }

    /// Whether the writer waits for this reader.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.reader.is_held()
    }
}
