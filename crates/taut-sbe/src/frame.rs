//! What stands before every block: the frame and the SBE message header.

use crate::error::SbeError;
use crate::field::Field;

/// The schema's number in every message header.
pub const SCHEMA_ID: u16 = 7001;
/// The version of the schema that this crate writes.
pub const SCHEMA_VERSION: u16 = 0;

/// Frame (size, reserved) and message header (block length, template, schema, version).
pub(crate) const FRAME_BYTES: usize = 12;

/// A message as its frame delimits it, not yet decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The root block and what follows it: at least `block_length` bytes.
    pub(crate) body: &'a [u8],
    /// The root block's length as its sender knows it.
    pub(crate) block_length: usize,
    /// The template, or nothing when the message belongs to another schema.
    pub(crate) template: Option<u16>,
}

impl<'a> Frame<'a> {
    /// Splits the first message off `bytes`, which start at `offset` in the datagram.
    #[inline]
    pub(crate) fn split(bytes: &'a [u8], offset: usize) -> Result<(Self, &'a [u8]), SbeError> {
        let malformed = SbeError::Malformed { offset };
        let (head, _) = bytes.split_first_chunk::<FRAME_BYTES>().ok_or(malformed)?;
        let [s0, s1, _, _, b0, b1, t0, t1, i0, i1, _, _] = *head;
        let (message, rest) =
            bytes.split_at_checked(u16::from_le_bytes([s0, s1]).into()).ok_or(malformed)?;
        let body = message.get(FRAME_BYTES..).ok_or(malformed)?;
        let block_length = usize::from(u16::from_le_bytes([b0, b1]));
        if block_length > body.len() {
            return Err(malformed);
        }
        let known = u16::from_le_bytes([i0, i1]) == SCHEMA_ID;
        let template = known.then_some(u16::from_le_bytes([t0, t1]));
        Ok((Self { body, block_length, template }, rest))
    }

    /// The first `N` bytes of the root block.
    #[inline]
    pub(crate) fn block<const N: usize>(&self) -> Option<&'a [u8; N]> {
        if self.block_length < N { None } else { self.body.first_chunk() }
    }

    /// Writes frame and header of a message whose body has `body_bytes` bytes.
    #[inline]
    pub(crate) fn write(
        head: &mut [u8; FRAME_BYTES],
        body_bytes: usize,
        block_length: usize,
        template: u16,
    ) {
        // A packet has at most 1,400 bytes: both lengths fit, or the message did not.
        let size = u16::try_from(FRAME_BYTES + body_bytes).unwrap_or(u16::MAX);
        let words = [
            size,
            0,
            u16::try_from(block_length).unwrap_or(u16::MAX),
            template,
            SCHEMA_ID,
            SCHEMA_VERSION,
        ];
        for (to, word) in head.chunks_exact_mut(2).zip(words) {
            word.put(to);
        }
    }
}
