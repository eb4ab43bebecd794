//! One stream: what was received and not handled, and what it is ready for.

use std::net::SocketAddr;

use taut_io::{Handle, Io, Kernel};

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes,
    Nothing,
    End,
    Failed,
}

/// A stream with its receive buffer.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: Handle,
    /// Where the peer is, on a network.
    pub(super) peer: Option<SocketAddr>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The kernel took less than it was given: wait for an edge.
    pub(super) is_blocked: bool,
    /// An edge came, and the end of what there is to read was not reached since.
    pub(super) is_readable: bool,
    /// The last read took all that there was.
    pub(super) was_short: bool,
    /// Our half is closed.
    pub(super) is_shut: bool,
    /// The kernel holds acknowledgements back until [`Wire::acknowledge`].
    defers_acks: bool,
    /// Something was read since.
    owes_ack: bool,
}

impl Wire {
    /// Over a stream that the loop tells of from now on; `None` when it is gone already.
    pub(super) fn new<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        buffer_bytes: usize,
    ) -> Option<Self> {
        io.watch(stream).ok()?;
        let peer = io.peer_address(stream).ok().flatten().and_then(|peer| peer.inet());
        let buffer = vec![0; buffer_bytes];
        let (is_blocked, was_short, is_shut, is_readable) = (false, false, false, true);
        let (start, end, defers_acks, owes_ack) = (0, 0, false, false);
        Some(Self {
            stream,
            peer,
            buffer,
            start,
            end,
            is_blocked,
            is_readable,
            was_short,
            is_shut,
            defers_acks,
            owes_ack,
        })
    }

    /// Acknowledges what is read not within the read, which costs it a microsecond or two, but when
    /// there is time: see [`Wire::acknowledge`]. For the receiving end of a stream that has one
    /// direction; an acknowledgement would travel with an answer otherwise.
    pub(super) fn defer_acknowledgements<K: Kernel>(&mut self, io: &mut Io<K>) {
        // A Unix socket has none.
        let socket = io.socket(self.stream);
        self.defers_acks = socket.is_ok_and(|socket| socket.acknowledge().is_ok());
    }

    /// There is time: acknowledges what was read.
    #[inline]
    pub(super) fn acknowledge<K: Kernel>(&mut self, io: &mut Io<K>) {
        if std::mem::replace(&mut self.owes_ack, false)
            && let Ok(socket) = io.socket(self.stream)
        {
            let _ = socket.acknowledge();
        }
    }

    /// What was received and not consumed.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes.min(self.end - self.start);
    }

    /// Makes room for larger reads.
    pub(super) fn reserve(&mut self, bytes: usize) {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
    }

    /// The memory that it has for what is read.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Where nothing waits: gives memory beyond so much back.
    pub(super) fn give_back(&mut self, kept_bytes: usize) {
        if self.start == self.end && self.buffer.len() > kept_bytes {
            self.buffer = vec![0; kept_bytes];
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads behind what is there, which is a part of a frame at most and moves to the front. A
    /// frame that is longer than the buffer makes it grow, up to a limit. Cost: one system call.
    pub(super) fn receive<K: Kernel>(&mut self, io: &mut Io<K>, buffer_bytes_max: usize) -> Read {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            let bytes = (self.buffer.len() * 2).min(buffer_bytes_max);
            if bytes == self.buffer.len() {
                return Read::Failed;
            }
            self.buffer.resize(bytes, 0);
        }
        match io.read(self.stream, &mut self.buffer[self.end..]) {
            Ok(Some(0)) => Read::End,
            Ok(Some(bytes)) => {
                self.end += bytes;
                self.owes_ack = self.defers_acks;
                self.was_short = self.end < self.buffer.len();
                Read::Bytes
            }
            Ok(None) => {
                self.is_readable = false;
                self.acknowledge(io);
                Read::Nothing
            }
            Err(_) => Read::Failed,
        }
    }

    /// Sends, and returns how much the kernel took; `None` when the stream is broken.
    #[inline]
    pub(super) fn send<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> Option<usize> {
        match io.send(self.stream, bytes) {
            Ok(Some(sent)) => Some(sent),
            Ok(None) => {
                self.is_blocked = true;
                Some(0)
            }
            Err(_) => None,
        }
    }
}
