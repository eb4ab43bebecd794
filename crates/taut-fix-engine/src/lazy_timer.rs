//! A timer that follows a time which mostly moves away: a heartbeat that every message puts off.

use taut_io::{Io, IoError, Kernel, TimerId};
use taut_types::Nanos;

/// Expires when it must, or before that: a time that moved away is looked at when the old one
/// comes. So a message costs no call to the loop's timers.
#[derive(Debug, Default)]
pub struct LazyTimer {
    armed: Option<(TimerId, Nanos)>,
}

impl LazyTimer {
    /// Not set.
    pub const fn new() -> Self {
        Self { armed: None }
    }

    /// Expires by `due`, with this token.
    pub fn set<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        due: Option<Nanos>,
        token: u64,
    ) -> Result<(), IoError> {
        let Some(due) = due else { return Ok(()) };
        if self.armed.is_some_and(|(_, at)| at <= due) {
            return Ok(());
        }
        self.cancel(io);
        self.armed = Some((io.timer_at(due, token)?, due));
        Ok(())
    }

    /// Whether it was this that expired.
    pub fn is_expired_by(&mut self, timer: TimerId) -> bool {
        self.armed.take_if(|(armed, _)| *armed == timer).is_some()
    }

    /// It does not expire any more.
    pub fn cancel<K: Kernel>(&mut self, io: &mut Io<K>) {
        if let Some((timer, _)) = self.armed.take() {
            io.cancel_timer(timer);
        }
    }
}
