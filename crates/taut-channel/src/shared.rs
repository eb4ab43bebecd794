//! One publication for several publishers of a process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use taut_types::Nanos;

use crate::driver::Opening;
use crate::error::ChannelError;
use crate::offer::OfferError;
use crate::publication::Publication;
use crate::uri::ChannelUri;

/// The channels that are shared now.
static SHARED: Mutex<Vec<(ChannelUri, Weak<Mutex<Inner>>)>> = Mutex::new(Vec::new());

/// What the handles have in common.
#[derive(Debug)]
struct Inner {
    publication: Publication,
    /// The latest time that any thread came with: one that waited for the lock comes with an older
    /// one, and a publication's time does not go back.
    latest: Nanos,
}

/// A handle on a publication that has others: one session, whose messages are whole and in the
/// order in which they were taken, whichever thread offers them.
///
/// A [`Publication`] has one owner and no lock; this one locks, for as long as an offer or a duty
/// takes. Threads that must not wait for each other want a publication each, which is a session of
/// its own.
#[derive(Clone, Debug)]
pub struct SharedPublication(Arc<Mutex<Inner>>);

impl SharedPublication {
    /// Opens a channel for publishing, or takes part in the publication of it that this process
    /// shares already. The same channel means the same URI, parameter by parameter.
    ///
    /// # Errors
    /// As [`Publication::open`].
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, ChannelError> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, inner)| inner.strong_count() > 0);
        let known = shared.iter().find(|(known, _)| known == uri);
        if let Some(inner) = known.and_then(|(_, inner)| inner.upgrade()) {
            return Ok(Self(inner));
        }
        let publication = Publication::open(uri, opening)?;
        let inner = Arc::new(Mutex::new(Inner { publication, latest: opening.now }));
        shared.push((uri.clone(), Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    /// As [`Publication::offer`].
    ///
    /// # Errors
    /// As [`Publication::offer`].
    pub fn offer(&self, now: Nanos, message: &[u8]) -> Result<u64, OfferError> {
        let (mut inner, now) = self.lock_at(now);
        inner.publication.offer(now, message)
    }

    /// As [`Publication::offer_vectored`].
    ///
    /// # Errors
    /// As [`Publication::offer`].
    pub fn offer_vectored(&self, now: Nanos, parts: &[&[u8]]) -> Result<u64, OfferError> {
        let (mut inner, now) = self.lock_at(now);
        inner.publication.offer_vectored(now, parts)
    }

    /// As [`Publication::work`]: any thread may do it, and one has to.
    pub fn work(&self, now: Nanos) -> usize {
        let (mut inner, now) = self.lock_at(now);
        inner.publication.work(now)
    }

    /// Anything else that a publication does.
    pub fn with<R>(&self, act: impl FnOnce(&mut Publication) -> R) -> R {
        act(&mut self.lock().publication)
    }

    /// Gives the handle back. The last one becomes the publication again, to be closed and drained
    /// by whoever holds it.
    #[must_use]
    pub fn leave(self) -> Option<Publication> {
        let inner = Arc::into_inner(self.0)?;
        Some(inner.into_inner().unwrap_or_else(PoisonError::into_inner).publication)
    }

    fn lock_at(&self, now: Nanos) -> (MutexGuard<'_, Inner>, Nanos) {
        let mut inner = self.lock();
        inner.latest = inner.latest.max(now);
        let latest = inner.latest;
        (inner, latest)
    }

    /// A thread that panicked while it held the lock left a whole publication: messages are taken
    /// as a whole or not at all.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
