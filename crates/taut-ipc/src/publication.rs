//! The writing end of a stream.

use taut_ring::{Counters, Full, Payload, Policy, ReaderView, broadcast, log};
use taut_sys::ProcessState;

use crate::bell::Waker;
use crate::channel::{Channel, Owner};
use crate::error::IpcError;
use crate::header::Descriptor;
use crate::place::{LockFile, reader_byte, writer_byte};
use crate::stream::{StreamKind, control_of};

/// Refusals in a row after which a writer looks whether the readers that hold it back are alive.
const PATIENCE: u32 = 4096;

/// The stream, owned: the lock that keeps others from writing, and the bell for sleepers.
#[derive(Debug)]
pub(crate) struct Ownership<'c> {
    pub(crate) lock: LockFile,
    bell: Waker<'c>,
    control: taut_ring::Control<'c>,
    pub(crate) stream: usize,
    refusals: u32,
}

impl<'c> Ownership<'c> {
    /// Takes the stream over from whoever wrote last. Then its ring gets a new epoch, and after
    /// that [`Ownership::sign`] tells the readers: who saw a writer before its epoch would take
    /// the last one's for it, and the writer for another one when the first message comes.
    pub(crate) fn take(channel: &'c Channel, name: &str) -> Result<(Self, Descriptor), IpcError> {
        let (stream, descriptor, words) = channel.stream(name)?;
        let control = control_of(words, &descriptor)?;
        let lock = channel.open_lock()?;
        let owner = Owner::of_writer(control.sleep_words());
        if !lock.lock(writer_byte(stream), false)? {
            let (process, state) = owner.state();
            return Err(match state {
                ProcessState::Stopped => IpcError::WriterStalled { process },
                _ => IpcError::WriterExists { process },
            });
        }
        owner.start();
        let bell = Waker::new(control.sleep_words());
        let ownership = Self { lock, bell, control, stream, refusals: 0 };
        ownership.reap();
        Ok((ownership, descriptor))
    }

    /// From now on readers see who writes.
    pub(crate) fn sign(&self) {
        Owner::of_writer(self.control.sleep_words()).sign();
    }

    /// Frees the places of dead readers: those whose lock nobody has.
    fn reap(&self) {
        for place in 0..self.control.reader_count() {
            let taken = self.control.reader(place).is_some_and(|reader| reader.active);
            let byte = reader_byte(self.stream, place);
            // We hold the lock meanwhile, so that no new reader registers just then.
            if taken && self.lock.lock(byte, false) == Ok(true) {
                self.control.free_reader(place);
                let _ = self.lock.unlock(byte);
            }
        }
    }

    /// A reader holds us back. If it is dead it shall not for long.
    #[cold]
    fn refused(&mut self) {
        self.refusals += 1;
        if self.refusals >= PATIENCE {
            self.refusals = 0;
            self.reap();
        }
    }
}

/// The writing end of a stream of ticks. There is one at a time.
#[derive(Debug)]
pub struct TickPublication<'c> {
    // The ring first: it is dropped before the lock that guards it.
    publisher: broadcast::Publisher<'c>,
    ownership: Ownership<'c>,
}

/// The writing end of a stream of messages of any size. There is one at a time.
#[derive(Debug)]
pub struct LogPublication<'c> {
    appender: log::Appender<'c>,
    ownership: Ownership<'c>,
}

impl Channel {
    /// Begins to write a stream of ticks. Goes on in place, with a new epoch, where a dead writer
    /// stopped. `layout` 0 accepts any.
    ///
    /// # Errors
    /// [`IpcError::WriterExists`] or [`IpcError::WriterStalled`] while it has a writer.
    pub fn publish_ticks(
        &self,
        stream: &str,
        layout: u64,
        policy: Policy,
    ) -> Result<TickPublication<'_>, IpcError> {
        let (_, descriptor, words) = self.stream(stream)?;
        if !matches!(descriptor.stream().map(|s| s.kind), Some(StreamKind::Ticks { .. })) {
            return Err(IpcError::Stream);
        }
        Self::check_layout(&descriptor, layout)?;
        let (ownership, _) = Ownership::take(self, stream)?;
        let publisher = broadcast::Publisher::resume(words, descriptor.ticks_layout(), policy)?;
        ownership.sign();
        Ok(TickPublication { publisher, ownership })
    }

    /// Begins to write a stream of messages of any size, as [`Channel::publish_ticks`].
    ///
    /// # Errors
    /// As there.
    pub fn publish_log(
        &self,
        stream: &str,
        layout: u64,
        policy: Policy,
    ) -> Result<LogPublication<'_>, IpcError> {
        let (_, descriptor, words) = self.stream(stream)?;
        if !matches!(descriptor.stream().map(|s| s.kind), Some(StreamKind::Log { .. })) {
            return Err(IpcError::Stream);
        }
        Self::check_layout(&descriptor, layout)?;
        let (ownership, _) = Ownership::take(self, stream)?;
        let appender = log::Appender::resume(words, descriptor.log_layout(), policy)?;
        ownership.sign();
        Ok(LogPublication { appender, ownership })
    }
}

impl TickPublication<'_> {
    /// Publishes one message. Cost: nine stores and a load; a system call only if somebody sleeps.
    ///
    /// # Errors
    /// [`Full`] when a registered reader is a whole ring behind, by the policy.
    #[inline]
    pub fn publish(&mut self, payload: &Payload) -> Result<(), Full> {
        let published = self.publisher.publish(payload);
        self.after(published)
    }

    /// Publishes all of a batch or nothing; readers see it at once.
    ///
    /// # Errors
    /// As [`TickPublication::publish`], and when it is longer than an eighth of the ring.
    #[inline]
    pub fn publish_batch(&mut self, batch: &[Payload]) -> Result<(), Full> {
        let published = self.publisher.publish_batch(batch);
        self.after(published)
    }

    /// Declares the next message one that a late joiner can begin with.
    pub fn mark_key(&mut self) {
        self.publisher.mark_key();
    }

    /// Position of the next message.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.publisher.position()
    }

    /// What others can read about the stream.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.publisher.counters()
    }

    #[inline]
    fn after(&mut self, published: Result<(), Full>) -> Result<(), Full> {
        match published {
            Ok(()) => self.ownership.bell.ring(),
            Err(_) => self.ownership.refused(),
        }
        published
    }
}

impl<'c> LogPublication<'c> {
    /// Appends a message. Cost: a store for each 8 bytes, three more and a load; a system call only
    /// if somebody sleeps.
    ///
    /// # Errors
    /// When there is no room by the policy, or the message is too long.
    #[inline]
    pub fn append(&mut self, message: &[u8]) -> Result<(), log::ClaimError> {
        let appended = self.appender.append(message);
        self.after(appended)
    }

    /// Appends a message that readers see when the batch is flushed.
    ///
    /// # Errors
    /// As [`LogPublication::append`].
    #[inline]
    pub fn append_to_batch(&mut self, message: &[u8]) -> Result<(), log::ClaimError> {
        let appended = self.appender.append_to_batch(message);
        if appended.is_err() {
            self.ownership.refused();
        }
        appended
    }

    /// Lets readers see the batch.
    #[inline]
    pub fn flush(&mut self) {
        self.appender.flush();
        self.ownership.bell.ring();
    }

    /// Claims room to write a message in place; commit it, then [`LogPublication::wake`].
    ///
    /// # Errors
    /// As [`LogPublication::append`].
    #[inline]
    pub fn claim(&mut self, bytes: usize) -> Result<log::Claim<'_, 'c>, log::ClaimError> {
        let Self { appender, ownership } = self;
        appender.claim(bytes).inspect_err(|_| ownership.refused())
    }

    /// Wakes who sleeps; after the commit of a claim.
    #[inline]
    pub fn wake(&mut self) {
        self.ownership.bell.ring();
    }

    /// Declares the next message one that a late joiner can begin with.
    pub fn mark_key(&mut self) {
        self.appender.mark_key();
    }

    /// The registered readers with their places, as they are now. Cost: a few loads of the readers'
    /// lines.
    pub fn readers(&self) -> impl Iterator<Item = (usize, ReaderView)> {
        let control = self.ownership.control;
        let places = 0..control.reader_count();
        let readers = places.filter_map(move |place| Some((place, control.reader(place)?)));
        readers.filter(|(_, reader)| reader.active)
    }

    /// A place, whether a reader sits there now or not.
    #[must_use]
    pub fn reader(&self, place: usize) -> Option<ReaderView> {
        self.ownership.control.reader(place)
    }

    /// Frees the places of dead readers now; a writer that is held back does so by itself. Cost:
    /// two system calls for each registered reader.
    pub fn reap(&mut self) {
        self.ownership.reap();
    }

    /// Says that the writer leaves in good order: it is then [`Writer::None`](crate::Writer), and
    /// not gone.
    pub fn resign(&mut self) {
        Owner::of_writer(self.ownership.control.sleep_words()).resign();
    }

    /// Position of the next message, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.appender.position()
    }

    /// What others can read about the stream.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.appender.counters()
    }

    #[inline]
    fn after(&mut self, appended: Result<(), log::ClaimError>) -> Result<(), log::ClaimError> {
        match appended {
            Ok(()) => self.ownership.bell.ring(),
            Err(_) => self.ownership.refused(),
        }
        appended
    }
}

#[cfg(test)]
mod tests {
    use taut_ring::broadcast::Start;

    use super::*;
    use crate::channel::{ChannelOptions, Writer};
    use crate::stream::Stream;
    use crate::subscription::Join;

    #[test]
    fn a_writer_counts_as_alive_once_its_epoch_stands() {
        let name = format!("test-{}-epoch", std::process::id());
        let kind = StreamKind::Log { capacity_bytes: 4096 };
        let stream = Stream { name: "news", kind, reader_count: 1, layout: 0 };
        let options = ChannelOptions::default();
        let channel = Channel::open_or_create(&name, &[stream], &options).expect("a channel");
        let process = std::process::id();
        let reader = channel.subscribe_log("news", 0, Start::Latest, Join::Passive).expect("one");
        for epoch in 1..=2 {
            let before = reader.writer_epoch();
            let (ownership, descriptor) = Ownership::take(&channel, "news").expect("taken");
            assert_eq!(channel.writer("news"), Ok(Writer::Starting { process }));
            assert_eq!(reader.writer_epoch(), before, "the last writer's");
            let (_, _, words) = channel.stream("news").expect("the stream");
            let resumed = log::Appender::resume(words, descriptor.log_layout(), Policy::Block);
            let appender = resumed.expect("an appender");
            assert_eq!(channel.writer("news"), Ok(Writer::Starting { process }));
            ownership.sign();
            assert_eq!(channel.writer("news"), Ok(Writer::Alive { process }));
            assert_eq!(reader.writer_epoch(), epoch);
            drop((appender, ownership));
            assert_eq!(channel.writer("news"), Ok(Writer::Gone { process }));
        }
    }
}
