//! What stands before every body: the frame and the SBE message header.

use crate::native::codec::{self, DecodeError, MessageFrame, MessageHeader};
use crate::native::error::SbeError;

/// The schema's number in every message header.
pub const SCHEMA_ID: u64 = codec::SCHEMA_ID;
/// The version of the schema that this crate writes.
pub const SCHEMA_VERSION: u32 = codec::SCHEMA_VERSION;

/// Both together.
pub(crate) const FRAME_BYTES: usize = MessageFrame::BYTES + MessageHeader::BYTES;

/// A message as its frame delimits it, not yet decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    header: MessageHeader,
    /// The root block and what follows it.
    pub(crate) body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Splits the first message off `bytes`, which start at `offset` in the datagram.
    #[inline]
    pub(crate) fn split(bytes: &'a [u8], offset: usize) -> Result<(Self, &'a [u8]), SbeError> {
        let malformed = SbeError::Malformed { offset };
        let frame = bytes.first_chunk().ok_or(malformed)?;
        let size = usize::from(MessageFrame::read(frame).size);
        let (message, rest) = bytes.split_at_checked(size).ok_or(malformed)?;
        let (_, message) = message.split_first_chunk::<4>().ok_or(malformed)?;
        let (header, body) = message.split_first_chunk().ok_or(malformed)?;
        Ok((Self { header: MessageHeader::read(header), body }, rest))
    }

    /// The template, or nothing when the message belongs to another schema.
    #[inline]
    pub(crate) fn template(&self) -> Option<u64> {
        let is_ours = u64::from(self.header.schema_id) == SCHEMA_ID;
        is_ours.then_some(self.header.template_id.into())
    }

    /// The root block's length as its sender knows it.
    #[inline]
    pub(crate) fn block_length(&self) -> usize {
        self.header.block_length.into()
    }

    /// The sender's version of the schema.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.header.version.into()
    }
}

/// Where in a body a decoder found it wrong.
#[cold]
pub(crate) const fn place(error: DecodeError) -> usize {
    match error {
        DecodeError::Truncated { offset } | DecodeError::Malformed { offset } => offset,
        _ => 0,
    }
}

/// Where a block starts whose field has a value that its type does not name.
pub(crate) const BLOCK: usize = 0;
