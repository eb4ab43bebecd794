//! Looking at a channel from outside, through a read-only mapping.

use taut_ring::Counters;

use crate::channel::{Channel, Writer};
use crate::error::IpcError;
use crate::stream::{Stream, control_of};

/// A registered reader of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderStatus {
    /// Its place.
    pub place: usize,
    /// Its process, as it sees itself; nothing when it is dead.
    pub process: Option<u32>,
    /// Up to where it has read.
    pub position: u64,
    /// How far it is behind the writer.
    pub lag: u64,
    /// What it lost.
    pub lost: u64,
    /// The writer evicted it.
    pub evicted: bool,
}

/// A stream as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamStatus<'c> {
    /// What it is.
    pub stream: Stream<'c>,
    /// Who writes it.
    pub writer: Writer,
    /// Its counters; positions count messages, those of a log bytes.
    pub counters: Counters,
    /// Its registered readers.
    pub readers: Vec<ReaderStatus>,
}

impl Channel {
    /// All streams as they are now. Cost: some loads and system calls here, and at most one cache
    /// miss for each writer.
    ///
    /// # Errors
    /// When the header promises what the memory does not hold.
    pub fn status(&self) -> Result<Vec<StreamStatus<'_>>, IpcError> {
        self.streams().map(|stream| self.status_of(stream)).collect()
    }

    fn status_of<'c>(&'c self, stream: Stream<'c>) -> Result<StreamStatus<'c>, IpcError> {
        let (_, descriptor, words) = self.stream(stream.name)?;
        let control = control_of(words, &descriptor)?;
        let counters = control.counters();
        let mut readers = Vec::new();
        for place in 0..control.reader_count() {
            let Some(view) = control.reader(place).filter(|view| view.active || view.evicted)
            else {
                continue;
            };
            readers.push(ReaderStatus {
                place,
                process: self.reader_process(stream.name, place)?,
                position: view.cursor,
                lag: counters.head.saturating_sub(view.cursor),
                lost: view.lost,
                evicted: view.evicted,
            });
        }
        Ok(StreamStatus { stream, writer: self.writer(stream.name)?, counters, readers })
    }
}
