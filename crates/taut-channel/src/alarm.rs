//! A channel's one timer of a loop.

use taut_io::{Completion, Io, Kernel, TimerId};
use taut_types::Nanos;

/// The token of a channel's timer; the timer itself tells whose it is.
const TOKEN: u64 = u64::MAX;

/// Brings a channel's duty round when it must. It is moved only when something is due earlier: one
/// that goes off too early costs a duty, and a timer that is moved for each message more.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    armed: Option<(TimerId, Nanos)>,
}

impl Alarm {
    /// Goes off at this time, or a moment earlier.
    pub(crate) fn set<K: Kernel>(&mut self, io: &mut Io<K>, at: Nanos) {
        if self.armed.is_some_and(|(_, armed)| armed <= at) {
            return;
        }
        self.cancel(io);
        // Without room for a timer the caller's own turns bring the duty round.
        self.armed = io.timer_at(at, TOKEN).ok().map(|timer| (timer, at));
    }

    /// After a duty.
    pub(crate) fn follow<K: Kernel>(&mut self, io: &mut Io<K>, next: Option<Nanos>) {
        if let Some(at) = next {
            self.set(io, at);
        }
    }

    pub(crate) fn cancel<K: Kernel>(&mut self, io: &mut Io<K>) {
        if let Some((timer, _)) = self.armed.take() {
            io.cancel_timer(timer);
        }
    }

    /// Whether it has gone off now.
    pub(crate) fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Timer { timer, .. } = completion else { return false };
        let is_own = self.armed.is_some_and(|(armed, _)| armed == *timer);
        if is_own {
            self.armed = None;
        }
        is_own
    }
}
