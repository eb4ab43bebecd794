//! Reading a datagram.

use core::iter::FusedIterator;

use crate::native::error::SbeError;
use crate::native::frame::{FRAME_BYTES, Frame};
use crate::native::message::Message;
use crate::native::packet::{PACKET_HEADER_BYTES, PacketHeader};

/// A datagram whose header has been read.
#[derive(Clone, Copy, Debug)]
pub struct PacketReader<'a> {
    header: PacketHeader,
    body: &'a [u8],
}

impl<'a> PacketReader<'a> {
    /// Reads the header; the messages are read when they are asked for.
    ///
    /// # Errors
    /// [`SbeError::Malformed`] when the datagram is shorter than a header.
    #[inline]
    pub fn new(datagram: &'a [u8]) -> Result<Self, SbeError> {
        let (header, body) = datagram
            .split_first_chunk::<PACKET_HEADER_BYTES>()
            .ok_or(SbeError::Malformed { offset: datagram.len() })?;
        Ok(Self { header: PacketHeader::read(header), body })
    }

    /// The header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> PacketHeader {
        self.header
    }

    /// The messages in order. Messages of unknown templates and of other schemas are left out; the
    /// first malformed one ends the iteration with its error, and so do bytes behind the last.
    #[must_use]
    #[inline]
    pub const fn messages(&self) -> Messages<'a> {
        Messages {
            rest: self.body,
            left: self.header.message_count,
            offset: PACKET_HEADER_BYTES,
            done: false,
        }
    }

    /// How many messages follow, and the bytes that they stand in.
    #[inline]
    pub(crate) const fn body(&self) -> (u16, &'a [u8]) {
        (self.header.message_count, self.body)
    }
}

/// The messages of a packet, in order.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    left: u16,
    offset: usize,
    done: bool,
}

impl<'a> Messages<'a> {
    /// The next message of a known template, or nothing after the last.
    #[inline]
    fn read_next(&mut self) -> Result<Option<Message<'a>>, SbeError> {
        while self.left > 0 {
            let start = self.offset;
            let (frame, behind) = Frame::split(self.rest, start)?;
            self.offset += self.rest.len() - behind.len();
            self.rest = behind;
            self.left -= 1;
            let message = Message::read(&frame)
                .map_err(|at| SbeError::Malformed { offset: start + FRAME_BYTES + at })?;
            if message.is_some() {
                return Ok(message);
            }
        }
        if self.rest.is_empty() {
            Ok(None)
        } else {
            Err(SbeError::Malformed { offset: self.offset })
        }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, SbeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read_next();
        self.done = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl FusedIterator for Messages<'_> {}
