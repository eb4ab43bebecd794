//! How far a copy of the journal on another machine is.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taut_sys::{Doorbell, SysError, monotonic};
use taut_types::Nanos;

/// How long an answer waits for a copy before the venue ends.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// From one call of what is done meanwhile to the next.
const LOOK: Duration = Duration::from_millis(20);

/// What the venue's thread and the one that serves copies of its journal know of each other.
#[derive(Clone, Debug)]
pub struct Replication {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Rung when the venue waits for entries to be copied.
    bell: Doorbell,
    meanwhile: Mutex<Meanwhile>,
}

/// An answer waits for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Until a copy has all entries up to this one.
    pub entry: u64,
    /// How long so far.
    pub span: Nanos,
}

/// What the venue's thread does while it waits; it says whether to wait on.
struct Meanwhile(Box<dyn FnMut(Waiting) -> bool + Send>);

impl Default for Meanwhile {
    fn default() -> Self {
        Self(Box::new(|_| true))
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meanwhile")
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Which start of the venue waits; 0 before its journal has begun.
    start: u32,
    /// A copy has all entries up to this one.
    copied: u64,
    /// A copy has become the venue.
    is_overtaken: bool,
    /// Nobody is waited for until a copy has all entries once.
    is_alone: bool,
}

impl Replication {
    /// Of a journal that nobody has copied yet.
    ///
    /// # Errors
    /// What `eventfd(2)` says.
    pub fn new() -> Result<Self, SysError> {
        let (state, changed, bell) = (Mutex::default(), Condvar::new(), Doorbell::new()?);
        let meanwhile = Mutex::default();
        Ok(Self { shared: Arc::new(Shared { state, changed, bell, meanwhile }) })
    }

    /// What the venue's thread does while an answer waits for a copy: it is told so at once, and
    /// every 20 ms. Where it says `false`, the venue waits no more, and its poll returns
    /// [`NotReplicated`](crate::VenueError::NotReplicated).
    /// Most waits take less than a millisecond: what is told of none does nothing.
    pub fn while_waiting(&self, meanwhile: impl FnMut(Waiting) -> bool + Send + 'static) {
        *self.meanwhile() = Meanwhile(Box::new(meanwhile));
    }

    fn meanwhile(&self) -> MutexGuard<'_, Meanwhile> {
        self.shared.meanwhile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal of this start has begun: copies acknowledge entries of it.
    pub(super) fn begins(&self, start: u32) {
        self.state().start = start;
    }

    /// Whose entries copies acknowledge; nothing before the journal has begun.
    pub(super) fn start(&self) -> Option<u32> {
        Some(self.state().start).filter(|start| *start > 0)
    }

    /// This venue was a copy itself and has taken another's place, which can acknowledge nothing
    /// any more: it goes on alone until a copy of its own has caught up.
    pub fn go_on_alone(&self) {
        self.state().is_alone = true;
    }

    /// Nothing that holds it can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy has all entries up to this one.
    pub fn acknowledge(&self, last: u64) {
        let mut state = self.state();
        state.copied = state.copied.max(last);
        self.shared.changed.notify_all();
    }

    /// Whether the venue waits for nobody yet: [`Replication::go_on_alone`].
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.state().is_alone
    }

    /// The last entry that a copy has.
    #[must_use]
    pub fn copied(&self) -> u64 {
        self.state().copied
    }

    /// A copy is of a later start: it has become the venue, and this one must end.
    pub fn overtake(&self) {
        self.state().is_overtaken = true;
        self.shared.changed.notify_all();
    }

    /// Whether a copy has become the venue.
    #[must_use]
    pub fn is_overtaken(&self) -> bool {
        self.state().is_overtaken
    }

    /// Readable when the venue waits for entries to be copied.
    #[must_use]
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// The bell was heard.
    pub fn silence(&self) {
        self.shared.bell.silence();
    }

    /// Whether a copy has all entries up to this one, or none is waited for.
    pub(super) fn may_tell(&self, last: u64) -> bool {
        let state = self.state();
        state.is_alone || state.copied >= last
    }

    /// Waits until a copy has all entries up to this one; whether it has, within ten seconds and
    /// before a copy has become the venue.
    pub(super) fn wait_for(&self, last: u64) -> bool {
        let mut state = self.state();
        if state.copied >= last {
            state.is_alone = false;
            return true;
        }
        if state.is_alone {
            return true;
        }
        drop(state);
        self.shared.bell.ring();
        let (mut meanwhile, begun) = (self.meanwhile(), monotonic());
        loop {
            let span = monotonic() - begun;
            let goes_on = span < PATIENCE && (meanwhile.0)(Waiting { entry: last, span });
            let is_waiting =
                |state: &mut State| goes_on && state.copied < last && !state.is_overtaken;
            let waited = self.shared.changed.wait_timeout_while(self.state(), LOOK, is_waiting);
            let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if !timeout.timed_out() {
                return state.copied >= last;
            }
        }
    }
}
