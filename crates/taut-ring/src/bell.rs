//! Who sleeps, and whether a stroke has come: at no cost to a writer while nobody does.
//!
//! One word is both: its lowest bit says that somebody sleeps, the rest counts the strokes. A
//! reader that is about to sleep sets the bit, has a memory barrier run on the writer's CPU, looks
//! once more for a message, and sleeps while the word is what it was. So the writer, after it has
//! published, needs a load and no barrier of its own to know: either it sees the bit, or the reader
//! sees the message. That all is one word keeps two sleepers and a stroke in one order.

use taut_sync::atomic::{AtomicU32, Ordering};

/// Somebody sleeps.
const SLEEPER: u32 = 1;

/// The bell of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Bell<'m> {
    state: &'m AtomicU32,
}

impl<'m> Bell<'m> {
    /// The bell in a word, which is zero at first.
    #[must_use]
    pub const fn new(state: &'m AtomicU32) -> Self {
        Self { state }
    }

    /// After a message is published: whether somebody sleeps on [`Bell::word`] and is to be woken.
    #[inline]
    #[must_use]
    pub fn strike(&self) -> bool {
        // Relaxed, here and below: the sleeper's barrier orders the load after what was published,
        // and nothing else is read by what the word says.
        if self.state.load(Ordering::Relaxed) & SLEEPER == 0 {
            return false;
        }
        // Adds to the strokes and takes the bit away.
        self.state.fetch_add(SLEEPER, Ordering::Relaxed);
        true
    }

    /// Before a reader sleeps: what the word is while it may go on sleeping. It must run a barrier
    /// on the writer's CPU and look for a message before it does.
    #[must_use]
    pub fn listen(&self) -> u32 {
        self.state.fetch_or(SLEEPER, Ordering::Relaxed) | SLEEPER
    }

    /// Whether no stroke has come since [`Bell::listen`].
    #[must_use]
    pub fn is_silent(&self, listened: u32) -> bool {
        self.state.load(Ordering::Relaxed) == listened
    }

    /// The word to sleep on.
    #[must_use]
    pub const fn word(&self) -> &'m AtomicU32 {
        self.state
    }
}
