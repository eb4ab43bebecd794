//! The name of a connection within its socket.

/// Names a connection of one socket; of one that ended it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl LinkId {
    /// Its place, below the count of links: for a table beside the socket's.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}
