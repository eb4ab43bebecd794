//! Sizes and limits of a loop.

/// Sizes and limits of a loop. Memory for all of it is taken when the loop is built, except the
/// bytes of waiting writes, which a place takes when it first holds a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopConfig {
    /// Sources open at the same time.
    pub sources_max: usize,
    /// Timers armed at the same time, deadlines included.
    pub timers_max: usize,
    /// Messages posted and not yet completed.
    pub posts_max: usize,
    /// Bytes of a stream that may wait to be sent.
    pub write_bytes_max: usize,
    /// Writes of a stream that may wait to be sent.
    pub writes_max: usize,
    /// Receives of one source before the others have their turn: what keeps a flood from starving
    /// them.
    pub receives_per_visit: usize,
    /// Completions of one class of priority before the kernel is asked again.
    pub completions_per_turn: usize,
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            sources_max: 1024,
            timers_max: 4096,
            posts_max: 1024,
            write_bytes_max: 64 * 1024,
            writes_max: 256,
            receives_per_visit: 4,
            completions_per_turn: 256,
        }
    }
}
