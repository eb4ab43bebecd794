//! What stands before every body: the frame and the SBE message header.

use taut_sbe::at;

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
    header: &'a [u8; MessageHeader::BYTES],
    /// The root block and what follows it.
    pub(crate) body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Splits the first message off `bytes`, which start at `offset` in the datagram.
    #[inline]
    pub(crate) fn split(bytes: &'a [u8], offset: usize) -> Result<(Self, &'a [u8]), SbeError> {
        let malformed = SbeError::Malformed { offset };
        let (head, behind) = bytes.split_first_chunk::<FRAME_BYTES>().ok_or(malformed)?;
        let size = usize::from(MessageFrame::read(at::<0, _, _>(head)).size);
        // A size below the head's becomes one that no datagram has.
        let length = size.wrapping_sub(FRAME_BYTES);
        let (body, rest) = behind.split_at_checked(length).ok_or(malformed)?;
        Ok((Self { header: at::<{ MessageFrame::BYTES }, _, _>(head), body }, rest))
    }

    /// Template and schema as they stand side by side in the header: one to compare with
    /// [`kind_of`].
    #[inline]
    pub(crate) fn kind(&self) -> u32 {
        u32::from_le_bytes(*at::<2, _, _>(self.header))
    }

    /// The template, or nothing when the message belongs to another schema.
    #[inline]
    pub(crate) fn template(&self) -> Option<u64> {
        let header = self.header();
        (u64::from(header.schema_id) == SCHEMA_ID).then_some(header.template_id.into())
    }

    #[inline]
    fn header(&self) -> MessageHeader {
        MessageHeader::read(self.header)
    }

    /// The root block's length as its sender knows it.
    #[inline]
    pub(crate) fn block_length(&self) -> usize {
        self.header().block_length.into()
    }

    /// The sender's version of the schema.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.header().version.into()
    }
}

/// The [`Frame::kind`] of this template.
pub(crate) const fn kind_of(template: u64) -> u32 {
    // Two bytes each.
    (SCHEMA_ID << 16 | template) as u32
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
