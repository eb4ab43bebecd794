//! Waking readers that sleep, at no cost to a writer while nobody does.
//!
//! A reader that is about to sleep says so in `sleepers`, runs a memory barrier on the writer's CPU
//! and looks once more; so the writer, after it has published, needs a load and no barrier of its
//! own to know. A sleeper that is killed costs one wake-up.

use taut_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use taut_sys::{futex_wait, futex_wake_all, remote_barrier};
use taut_types::Nanos;

use crate::segment::half_of;

/// How long a sleeper trusts a writer that it cannot run a barrier on.
const WITHOUT_BARRIER: Nanos = Nanos::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bell<'m> {
    words: Option<(&'m AtomicU64, &'m AtomicU32)>,
}

impl<'m> Bell<'m> {
    pub(crate) fn new(sleep_words: &'m [AtomicU64]) -> Self {
        let words = sleep_words.first().zip(sleep_words.get(1));
        Self { words: words.map(|(sleepers, bell)| (sleepers, half_of(bell))) }
    }

    /// Wakes the sleepers, if there are any.
    #[inline]
    pub(crate) fn ring(&self) {
        let Some((sleepers, _)) = self.words else { return };
        // Relaxed: the sleeper's barrier orders it after what was published before.
        if sleepers.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let Some((sleepers, bell)) = self.words else { return };
        // Relaxed: who comes to sleep now finds the bell changed, or says so anew.
        sleepers.store(0, Ordering::Relaxed);
        // Release: who sees the bell changed sees what was published before.
        bell.fetch_add(1, Ordering::Release);
        futex_wake_all(bell);
    }

    /// Sleeps until the bell rings, for at most `span`, unless `is_idle` says that there is
    /// something to do after all.
    pub(crate) fn sleep(&self, span: Nanos, is_idle: impl FnOnce() -> bool) {
        let Some((sleepers, bell)) = self.words else { return };
        // Acquire: pairs with the release in `wake`.
        let before = bell.load(Ordering::Acquire);
        sleepers.store(1, Ordering::SeqCst);
        let span = if remote_barrier().is_ok() { span } else { span.min(WITHOUT_BARRIER) };
        if is_idle() {
            futex_wait(bell, before, span);
        }
    }
}
