//! One peer of a sending socket: its connection, what waits for it, what was counted.

use crate::connection::machine::Connection;
use crate::frame::{COMMAND, FrameHeader, MORE};
use crate::publisher::config::PeerCounters;
use crate::publisher::log::FrameLog;
use crate::publisher::queue::Queue;

/// While so much waits to be sent, no further frames are put into boxes.
const SEALED_BYTES_MAX: usize = 64 << 10;
/// Runs shorter than this are copied together, so that one system call sends many.
const SHORT_RUN_BYTES: usize = 16 << 10;

/// Names a peer of one socket; of a connection that ended it names nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl PeerId {
    /// Its place, below the count of peers: for a table beside the socket's.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// What the bytes that were polled last belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Connection,
    Queue,
}

/// One peer.
#[derive(Debug)]
pub struct Peer {
    pub connection: Connection,
    pub queue: Queue,
    pub counters: PeerCounters,
    /// The last message that it was found to want.
    pub matched: u64,
    pub subscriptions: usize,
    /// Bytes of all their prefixes.
    pub prefix_bytes: usize,
    /// It asked for too much: nothing is read from it or sent to it any more.
    pub is_refused: bool,
    sending: Sending,
}

impl Peer {
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            queue: Queue::default(),
            counters: PeerCounters::default(),
            matched: 0,
            subscriptions: 0,
            prefix_bytes: 0,
            is_refused: false,
            sending: Sending::Connection,
        }
    }

    /// Whether anything is to be sent.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.is_refused
            && (self.queue.messages() > 0 || !self.connection.poll_transmit().is_empty())
    }

    /// What is to be sent: commands of the connection between two messages, messages otherwise.
    /// `scratch` is used to put short runs together.
    #[inline]
    pub fn poll_transmit<'a>(&'a mut self, log: &'a FrameLog, scratch: &'a mut [u8]) -> &'a [u8] {
        let partial = self.queue.partial();
        let has_commands = !self.connection.poll_transmit().is_empty();
        if self.queue.messages() == 0 || (has_commands && partial == 0) {
            self.sending = Sending::Connection;
            return self.connection.poll_transmit();
        }
        self.sending = Sending::Queue;
        let front = self.queue.front(log);
        if has_commands {
            return front.get(..partial).unwrap_or(front);
        }
        if front.len() < SHORT_RUN_BYTES && self.queue.is_scattered() {
            let gathered = self.queue.gather(log, scratch);
            return scratch.get(..gathered).unwrap_or(&[]);
        }
        front
    }

    /// So many bytes of what was polled last were sent.
    #[inline]
    pub fn transmitted(&mut self, log: &FrameLog, bytes: usize) {
        match self.sending {
            Sending::Connection => self.connection.transmitted(bytes),
            Sending::Queue => {
                let messages = self.queue.consume(log, bytes);
                self.counters.sent += messages as u64;
            }
        }
    }

    /// Puts whole messages of the queue into boxes, behind what the connection has to send.
    pub fn seal(&mut self, log: &FrameLog) {
        while self.queue.messages() > 0
            && self.connection.poll_transmit().len() < SEALED_BYTES_MAX
            && let message = crate::frame::message_bytes(self.queue.front(log))
            && message > 0
        {
            let mut at = 0;
            while at < message
                && let Some(rest) = self.queue.front(log).get(at..)
                && let Ok(Some(header)) = FrameHeader::parse(rest)
                && let Some(end) = header.frame_bytes()
            {
                let body = rest.get(header.header_bytes..end).unwrap_or(&[]);
                debug_assert_eq!(header.flags & COMMAND, 0, "the log holds messages only");
                self.connection.send_part(body, header.flags & MORE != 0);
                at += end;
            }
            // Sealed counts as sent: a box cannot be taken back, its counter is used up.
            self.queue.consume(log, message);
            self.counters.sent += 1;
        }
    }
}
