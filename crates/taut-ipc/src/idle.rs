//! How a reader waits for its next message.

use taut_ring::Control;
use taut_sys::{Wait, Waiter};
use taut_types::Nanos;

use crate::bell::Waker;

/// The longest sleep before a reader looks again, whatever the bell says.
const SLEEP: Nanos = Nanos::from_millis(100);

/// A wait strategy, and the bell to sleep on.
#[derive(Debug)]
pub(crate) struct IdleWait<'c> {
    waiter: Waiter,
    bell: Option<Waker<'c>>,
}

impl<'c> IdleWait<'c> {
    /// How a reader of this stream waits. Who may not write cannot say that it sleeps, and
    /// yields its CPU instead.
    pub(crate) fn new(is_writable: bool, control: &Control<'c>) -> Self {
        let bell = is_writable.then(|| Waker::new(control.sleep_words()));
        Self { waiter: Waiter::new(Wait::Spin), bell }
    }

    pub(crate) const fn set_wait(&mut self, wait: Wait) {
        self.waiter = Waiter::new(wait);
    }

    #[inline]
    pub(crate) const fn worked(&mut self) {
        self.waiter.worked();
    }

    /// Waits a little by the strategy. `has_next` says whether there is a message: it is asked
    /// after the bell is listened to, so that what came since the last poll is not slept through.
    pub(crate) fn wait(&mut self, has_next: impl FnOnce() -> bool) {
        let bell = self.bell;
        self.waiter.idle(|span| sleep(bell, span.max(SLEEP), has_next));
    }

    /// Sleeps for at most `span`, unless there is a message.
    pub(crate) fn sleep(&self, span: Nanos, has_next: impl FnOnce() -> bool) {
        sleep(self.bell, span, has_next);
    }
}

fn sleep(bell: Option<Waker<'_>>, span: Nanos, has_next: impl FnOnce() -> bool) {
    match bell {
        Some(bell) => bell.sleep(span, || !has_next()),
        None => taut_sys::yield_cpu(),
    }
}
