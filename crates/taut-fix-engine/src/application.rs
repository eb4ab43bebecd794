//! What a session is for.

use crate::store::{Direction, MessageLog};
use taut_fix::{Event, Extras, FieldIndex, FixError, Now, Session, Slot, Writer};

use crate::session_store::SessionStore;

/// A session as a driver has it.
pub type DrivenSession = Session<SessionStore>;

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

/// A message that was received, and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// BeginString to CheckSum.
    pub bytes: &'a [u8],
    /// From MsgType on.
    pub slots: &'a [Slot],
}

impl<'a> Received<'a> {
    pub(crate) fn new(bytes: &'a [u8], index: &'a FieldIndex) -> Self {
        Self { bytes, slots: if bytes.is_empty() { &[] } else { index.slots() } }
    }

    /// The value of the first field with this tag.
    #[must_use]
    pub fn value(&self, tag: i32) -> Option<&'a [u8]> {
        let slot = self.slots.iter().find(|slot| slot.tag == tag)?;
        Some(slot.value(self.bytes))
    }

    /// MsgType (35); empty when there is no message.
    #[must_use]
    pub fn msg_type(&self) -> &'a [u8] {
        self.value(35).unwrap_or_default()
    }
}

/// What an application may do: send, refuse, log out.
#[derive(Debug)]
pub struct Outbox<'a> {
    pub(crate) now: Now,
    pub(crate) session: &'a mut DrivenSession,
    /// One message on its way to `output`.
    pub(crate) scratch: &'a mut [u8],
    pub(crate) output: &'a mut Vec<u8>,
    pub(crate) log: &'a mut Option<MessageLog>,
}

impl Outbox<'_> {
    /// The time of this turn of the loop.
    #[must_use]
    pub const fn now(&self) -> Now {
        self.now
    }

    /// The session, to look at.
    #[must_use]
    pub const fn session(&self) -> &DrivenSession {
        self.session
    }

    /// Bytes that wait for the peer to take them.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.output.len()
    }

    /// Sends a message of the application under the next number.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn send(
        &mut self,
        msg_type: &[u8],
        extras: Extras,
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<(), FixError> {
        let range = self.session.send(self.now, msg_type, extras, self.scratch, body)?;
        let bytes = self.scratch.get(range).unwrap_or_default();
        note(self.log, self.now, Direction::Out, bytes);
        self.output.extend_from_slice(bytes);
        Ok(())
    }

    /// Tells the peer that nobody here reads this type; see [`Session::refuse_type`].
    pub fn refuse_type(&mut self, sequence: u64, msg_type: &[u8]) {
        self.session.refuse_type(sequence, msg_type);
    }

    /// Refuses the peer whose Logon was just reported.
    pub fn refuse_logon(&mut self, words: &'static str) {
        self.session.refuse(self.now, words);
    }

    /// Starts to log out.
    pub fn log_out(&mut self, words: &'static str) {
        self.session.logout(self.now, words);
    }
}

/// Logs a message; a log that cannot be written is closed, and its absence tells.
pub(crate) fn note(log: &mut Option<MessageLog>, now: Now, direction: Direction, bytes: &[u8]) {
    if log.as_mut().is_some_and(|log| log.write(now.utc, direction, bytes).is_err()) {
        *log = None;
    }
}
