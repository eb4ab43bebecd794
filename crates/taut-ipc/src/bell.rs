//! Waking readers that sleep, at no cost to a writer while nobody does: taut-ring's [`Bell`] with
//! the kernel's half, a word to sleep on and a memory barrier on the writer's CPU.
//!
//! A sleeper that is killed costs one wake-up.

use taut_ring::Bell;
use taut_sync::atomic::AtomicU64;
use taut_sys::{futex_wait, futex_wake_all, remote_barrier};
use taut_types::Nanos;

use crate::segment::half_of;

/// How long a sleeper trusts a writer that it cannot run a barrier on.
const WITHOUT_BARRIER: Nanos = Nanos::from_millis(1);

/// The bell of a stream, if its memory has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waker<'m> {
    bell: Option<Bell<'m>>,
}

impl<'m> Waker<'m> {
    pub(crate) fn new(sleep_words: &'m [AtomicU64]) -> Self {
        Self { bell: sleep_words.first().map(|word| Bell::new(half_of(word))) }
    }

    /// After a message is published: wakes the sleepers, if there are any.
    #[inline]
    pub(crate) fn ring(&self) {
        if let Some(bell) = self.bell.filter(Bell::strike) {
            wake(bell);
        }
    }

    /// Sleeps until the bell rings, for at most `span`, unless `is_idle` says that there is
    /// something to do after all.
    pub(crate) fn sleep(&self, span: Nanos, is_idle: impl FnOnce() -> bool) {
        let Some(bell) = self.bell else { return };
        let listened = bell.listen();
        let span = if remote_barrier().is_ok() { span } else { span.min(WITHOUT_BARRIER) };
        if is_idle() {
            futex_wait(bell.word(), listened, span);
        }
    }
}

#[cold]
fn wake(bell: Bell<'_>) {
    futex_wake_all(bell.word());
}
