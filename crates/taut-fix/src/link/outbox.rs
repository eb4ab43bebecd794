//! How an application answers.

use crate::codec::writer::Writer;
use crate::error::FixError;
use crate::link::buffer::Buffer;
use crate::link::hooks::Hooks;
use crate::messages::order_flow::TypedMessage;
use crate::session::machine::Session;
use crate::session::now::Now;
use crate::session::transmit::Extras;
use crate::store::Store;

/// What an application may do with its link: send, refuse, log out.
#[derive(Debug)]
pub struct Outbox<'a, S, H = ()> {
    pub(super) now: Now,
    pub(super) session: &'a mut Session<S>,
    pub(super) hooks: &'a mut H,
    pub(super) buffer: &'a mut Buffer,
    pub(super) message_bytes_max: usize,
}

impl<S: Store, H: Hooks> Outbox<'_, S, H> {
    /// The time that the link was told.
    #[must_use]
    pub const fn now(&self) -> Now {
        self.now
    }

    /// The session, to look at.
    #[must_use]
    pub const fn session(&self) -> &Session<S> {
        self.session
    }

    /// Bytes that wait for the transport to take them.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Sends a message of the application under the next number.
    ///
    /// # Errors
    /// As [`Session::send`]; [`crate::Limit::BufferBytes`] when too much waits, and then the number
    /// is not used.
    #[inline]
    pub fn send(
        &mut self,
        msg_type: &[u8],
        extras: Extras,
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<(), FixError> {
        // What fits here can be sent again, too.
        let room = self.buffer.room(self.message_bytes_max);
        let range = self.session.send(self.now, msg_type, extras, room, body)?;
        self.hooks.sent(self.now, self.buffer.fill(range));
        Ok(())
    }

    /// As [`Outbox::send`], of a typed message.
    ///
    /// # Errors
    /// As [`Outbox::send`]; [`crate::Misuse::DelimiterInText`] for such a text.
    #[inline]
    pub fn send_message<M: TypedMessage>(&mut self, message: &M) -> Result<(), FixError> {
        self.send_or_rehearse(message, false)
    }

    /// As [`Outbox::send_message`]; a rehearsal does all of it but the end: nothing waits for the
    /// transport afterwards, and no number is used. Who sends seldom keeps code and memory of the
    /// way in the caches like this: the flag is tested behind the work, so that both run the same
    /// code.
    ///
    /// # Errors
    /// As [`Outbox::send_message`].
    #[inline]
    pub fn send_or_rehearse<M: TypedMessage>(
        &mut self,
        message: &M,
        is_rehearsal: bool,
    ) -> Result<(), FixError> {
        let room = self.buffer.room(self.message_bytes_max);
        let range = self.session.send_or_rehearse(self.now, message, room, is_rehearsal)?;
        if !is_rehearsal {
            self.hooks.sent(self.now, self.buffer.fill(range));
        }
        Ok(())
    }

    /// Sends a typed message, or keeps it under the next number while nobody is logged on: a peer
    /// that comes back finds it missing, and asks for it.
    ///
    /// # Errors
    /// As [`Outbox::send_message`].
    pub fn send_or_keep<M: TypedMessage>(&mut self, message: &M) -> Result<(), FixError> {
        if self.session.is_active() {
            return self.send_message(message);
        }
        let scratch = self.buffer.room(self.message_bytes_max);
        self.session.keep_message(self.now, message, scratch)
    }

    /// Tells the peer that nobody here reads this type; see [`Session::refuse_type`].
    pub fn refuse_type(&mut self, sequence: u64, msg_type: &[u8]) {
        self.session.refuse_type(sequence, msg_type);
    }

    /// Tells the peer what is wrong with its message; see [`Session::refuse_content`].
    pub fn refuse_content(&mut self, sequence: u64, msg_type: &[u8], error: FixError) {
        self.session.refuse_content(sequence, msg_type, error);
    }

    /// Refuses the peer whose Logon was just reported; see [`Session::refuse`].
    pub fn refuse_logon(&mut self, text: &'static str) {
        self.session.refuse(self.now, text);
    }

    /// Starts to log out.
    pub fn log_out(&mut self, text: &'static str) {
        // Its end shows in the session's state.
        let _ = self.session.logout(self.now, text);
    }
}
