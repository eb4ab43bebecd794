//! What a session is for.

use taut_fix::{Event, Received, Session};

use crate::session_hooks::SessionHooks;
use crate::session_store::SessionStore;

/// A session over the store that its settings ask for.
pub type StoredSession = Session<SessionStore>;

/// Where an application's messages go; see [`taut_fix::Outbox`].
pub type Outbox<'a> = taut_fix::Outbox<'a, SessionStore, SessionHooks>;

/// The application of one session.
pub trait Application {
    /// Acts on what the session reports. For an event without a message (the end of a wait) the
    /// message is empty.
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>);

    /// The connection is gone; comes after every connection, whatever ended it.
    fn disconnected(&mut self) {}

    /// Something that does not end the session but should be known, in words.
    fn warn(&mut self, _words: &str) {}
}
