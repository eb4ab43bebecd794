//! What a spy is told of the stream that it looks at.

/// A publication's session, where it has come to, and its longest message, where the channel knows
/// one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spied {
    pub(crate) session: u64,
    pub(crate) position: u64,
    pub(crate) message_bytes_max: usize,
}
