//! One feed over several lines, in order: what arrives first on any of them counts, what is ahead
//! waits in its slot, and a gap stays visible until a line fills it or it is given up.
//!
//! The packets' numbers are the venue's: a function reads them. Recovery by snapshot is the affair
//! of `taut-feed`.

use taut_io::{Completion, Handle, Io, Kernel, Pushed, Sequencer};

use crate::error::NetError;
use crate::multicast::Feed;

/// Reads a packet's number; `None` for one that has none, such as a heartbeat.
pub type PacketNumber = fn(&[u8]) -> Option<u64>;

/// What became of the packets of all lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Kept, each once.
    pub kept: u64,
    /// Seen before, on this line or another.
    pub duplicates: u64,
    /// Too far ahead of the gap, or too long for a slot: lost unless another line brings them.
    pub refused: u64,
    /// Without a number.
    pub unnumbered: u64,
}

/// The lines of one feed.
#[derive(Debug)]
pub struct Lines {
    sockets: Vec<Handle>,
    number: PacketNumber,
    sequencer: Sequencer,
    counters: LineCounters,
}

impl Lines {
    /// No line yet; `sequencer` knows the first number and has all memory.
    #[must_use]
    pub fn new(sequencer: Sequencer, number: PacketNumber) -> Self {
        Self { sockets: Vec::new(), number, sequencer, counters: LineCounters::default() }
    }

    /// Opens another line.
    ///
    /// # Errors
    /// As [`Feed::open`].
    pub fn open<K: Kernel>(&mut self, io: &mut Io<K>, line: &Feed) -> Result<(), NetError> {
        self.sockets.push(line.open(io)?);
        Ok(())
    }

    /// The lines' sockets, in the order in which they were opened.
    #[must_use]
    pub fn sockets(&self) -> &[Handle] {
        &self.sockets
    }

    /// What became of the packets so far.
    #[must_use]
    pub const fn counters(&self) -> LineCounters {
        self.counters
    }

    /// Takes the packet if the completion is one of a line; says whether it was. Cost: one copy.
    pub fn handle(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Datagram { socket, bytes, .. } = completion else { return false };
        if !self.sockets.contains(socket) {
            return false;
        }
        let count = match (self.number)(bytes) {
            None => &mut self.counters.unnumbered,
            Some(number) => match self.sequencer.push(number, bytes) {
                Pushed::Kept => &mut self.counters.kept,
                Pushed::Duplicate => &mut self.counters.duplicates,
                Pushed::TooFarAhead | Pushed::TooLong => &mut self.counters.refused,
            },
        };
        *count += 1;
        true
    }

    /// The next packet in order, with its number.
    pub fn poll_packet(&mut self) -> Option<(u64, &[u8])> {
        self.sequencer.pop()
    }

    /// The first number that is missing, while later ones wait for it. Ask after
    /// [`Lines::poll_packet`] has none.
    #[must_use]
    pub fn gap(&self) -> Option<u64> {
        (self.sequencer.waiting() > 0).then(|| self.sequencer.next())
    }

    /// Gives up everything before `number` that has not arrived.
    pub fn skip_to(&mut self, number: u64) {
        self.sequencer.skip_to(number);
    }
}
