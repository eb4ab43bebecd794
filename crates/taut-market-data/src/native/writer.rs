//! Writing a datagram.

use taut_types::InstrumentId;

use crate::event::EventKind;
use crate::native::codec::MessageFrame;
use crate::native::error::SbeError;
use crate::native::event;
use crate::native::message::Message;
use crate::native::packet::{PACKET_BYTES_MAX, PACKET_HEADER_BYTES, PacketHeader};

/// Packs messages into datagrams of at most [`PACKET_BYTES_MAX`] bytes, one after the other in the
/// same buffer: `[u8; PACKET_BYTES_MAX]` to own it, `&mut [u8]` to borrow it.
#[derive(Debug)]
pub struct PacketWriter<B> {
    buffer: B,
    header: PacketHeader,
    message_count: u16,
    /// The bytes in use; zero when no packet has been begun.
    len: usize,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> PacketWriter<B> {
    /// A writer into this buffer. Its capacity is the buffer's, at most [`PACKET_BYTES_MAX`].
    pub const fn new(buffer: B) -> Self {
        Self { buffer, header: PacketHeader::EMPTY, message_count: 0, len: 0 }
    }

    /// Begins a packet and forgets the one before. The message count in `header` is not used.
    ///
    /// # Errors
    /// [`SbeError::Misuse`] when the buffer is shorter than a header.
    #[inline]
    pub fn begin(&mut self, header: PacketHeader) -> Result<(), SbeError> {
        if self.buffer.as_ref().len() < PACKET_HEADER_BYTES {
            return Err(SbeError::Misuse);
        }
        self.header = header;
        self.message_count = 0;
        self.len = PACKET_HEADER_BYTES;
        Ok(())
    }

    /// Appends a message, or leaves the packet as it was.
    ///
    /// # Errors
    /// [`SbeError::Full`] when the message does not fit any more, [`SbeError::Misuse`] before
    /// [`begin`](Self::begin) and for an event that the format has no template for.
    #[inline]
    pub fn push(&mut self, message: &Message<'_>) -> Result<(), SbeError> {
        let body_bytes = message.write(self.body()?)?;
        self.frame(body_bytes)
    }

    /// As [`push`](Self::push) of a [`Message::Event`] that is no status. Where it is called with a
    /// certain kind of event, that kind's fields are written straight into the packet, without a
    /// look at the kind.
    ///
    /// # Errors
    /// As [`push`](Self::push), and [`SbeError::Misuse`] for a status.
    #[inline(always)]
    pub fn push_event(
        &mut self,
        instrument: InstrumentId,
        kind: &EventKind,
    ) -> Result<(), SbeError> {
        let body_bytes = event::write(instrument, kind, self.body()?)?;
        self.frame(body_bytes)
    }

    /// Where the next message's body goes.
    #[inline(always)]
    fn body(&mut self) -> Result<&mut [u8], SbeError> {
        if self.len == 0 {
            return Err(SbeError::Misuse);
        }
        let buffer = self.buffer.as_mut();
        let capacity = buffer.len().min(PACKET_BYTES_MAX);
        let start = self.len + MessageFrame::BYTES;
        buffer.get_mut(start..capacity).ok_or(SbeError::Full)
    }

    /// Frames a message whose body is written.
    #[inline(always)]
    fn frame(&mut self, body_bytes: usize) -> Result<(), SbeError> {
        let size = MessageFrame::BYTES + body_bytes;
        // At most a packet's 1,400 bytes.
        let word = u16::try_from(size).map_err(|_| SbeError::Full)?;
        let room = self.buffer.as_mut().get_mut(self.len..);
        let frame = room.and_then(<[u8]>::first_chunk_mut).ok_or(SbeError::Full)?;
        *frame = MessageFrame { size: word, reserved: 0 }.bytes();
        self.len += size;
        self.message_count += 1;
        Ok(())
    }

    /// How many messages the packet has.
    #[inline]
    pub const fn message_count(&self) -> u16 {
        self.message_count
    }

    /// The header that [`finish`](Self::finish) will write: to set the sending time or the flags
    /// when they are known.
    #[inline]
    pub const fn header_mut(&mut self) -> &mut PacketHeader {
        &mut self.header
    }

    /// Writes the header and gives the datagram, which is empty before [`begin`](Self::begin). The
    /// packet can still grow and be finished again.
    #[inline]
    pub fn finish(&mut self) -> &[u8] {
        if self.len > 0
            && let Some(head) = self.buffer.as_mut().first_chunk_mut()
        {
            let header = PacketHeader { message_count: self.message_count, ..self.header };
            *head = header.bytes();
        }
        self.buffer.as_ref().get(..self.len).unwrap_or(&[])
    }
}
