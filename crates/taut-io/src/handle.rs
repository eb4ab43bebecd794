//! Names of what the loop owns. A name outlives its thing without danger: the generation tells a
//! stale one.

/// A source: a listener, a stream, a datagram socket or a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Handle {
    /// Its place, below `LoopConfig::sources_max`: to index a table of one's own. Two live handles
    /// never share it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl TimerId {
    /// Its number: no two armed timers of a loop share it.
    #[must_use]
    pub const fn number(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }
}
