//! Several feeds into one buffer in one thread: packets of all of them, whole, in the order in
//! which the loop took them. What reads the buffer (a decoder, a recorder) need not keep up with
//! each wake-up of the loop, and never sees a packet cut.

use taut_io::{BipBuffer, Completion, Handle, Io, Kernel};
use taut_types::Nanos;

use crate::error::NetError;
use crate::multicast::Feed;

/// Bytes in front of each packet: its length, its feed, the kernel's receive time.
const HEADER_BYTES: usize = 16;

/// A packet of one of the feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedPacket<'p> {
    /// Which feed: the index that [`Feeds::open`] returned.
    pub feed: u32,
    /// When the kernel took it in, UTC, if the feed's socket was asked to say so.
    pub received_utc: Option<Nanos>,
    /// Its bytes.
    pub bytes: &'p [u8],
}

/// Feeds that share a buffer.
#[derive(Debug)]
pub struct Feeds {
    buffer: BipBuffer,
    sockets: Vec<Handle>,
    overrun: u64,
}

impl Feeds {
    /// No feed yet, and a buffer of this many bytes. All memory for packets is taken here.
    #[must_use]
    pub fn new(buffer_bytes: usize) -> Self {
        Self { buffer: BipBuffer::new(buffer_bytes), sockets: Vec::new(), overrun: 0 }
    }

    /// Opens a feed into the buffer; returns its index.
    ///
    /// # Errors
    /// As [`Feed::open`].
    pub fn open<K: Kernel>(&mut self, io: &mut Io<K>, feed: &Feed) -> Result<u32, NetError> {
        self.sockets.push(feed.open(io)?);
        Ok(self.sockets.len() as u32 - 1)
    }

    /// The sockets, by index.
    #[must_use]
    pub fn sockets(&self) -> &[Handle] {
        &self.sockets
    }

    /// Packets that found no room in the buffer, and are lost.
    #[must_use]
    pub const fn overrun(&self) -> u64 {
        self.overrun
    }

    /// Keeps the packet if the completion is one of a feed; says whether it was. Cost: one copy.
    pub fn handle(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Datagram { socket, bytes, info } = completion else { return false };
        let Some(feed) = self.sockets.iter().position(|feed| feed == socket) else { return false };
        let Some(place) = self.buffer.claim(HEADER_BYTES + bytes.len()) else {
            self.overrun += 1;
            return true;
        };
        let (header, body) = place.split_at_mut(HEADER_BYTES);
        header[..4].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        header[4..8].copy_from_slice(&(feed as u32).to_ne_bytes());
        let received = info.received_utc.map_or(i64::MIN, |at| at.0);
        header[8..].copy_from_slice(&received.to_ne_bytes());
        body.copy_from_slice(bytes);
        self.buffer.commit(HEADER_BYTES + bytes.len());
        true
    }

    /// The oldest packet; [`Feeds::consume`] lets it go.
    #[must_use]
    pub fn head(&self) -> Option<FeedPacket<'_>> {
        let (header, rest) = self.buffer.head().split_first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| header[at..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let received = i64::from_ne_bytes(*header[8..].first_chunk()?);
        Some(FeedPacket {
            feed: word(4)?,
            received_utc: (received != i64::MIN).then_some(Nanos(received)),
            bytes: rest.get(..word(0)? as usize)?,
        })
    }

    /// The oldest packet is done with.
    pub fn consume(&mut self) {
        if let Some(bytes) = self.head().map(|packet| HEADER_BYTES + packet.bytes.len()) {
            self.buffer.consume(bytes);
        }
    }
}
