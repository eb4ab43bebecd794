//! One session with all that belongs to it: store, log, opening hours, credentials, application.
//!
//! It knows no socket: bytes and time go in, bytes come out.

use std::io;

use taut_fix::{Delivery, Event, FieldIndex, Link, LinkConfig, Now, Session};
use taut_types::Nanos;

use crate::application::{Application, Outbox, StoredSession};
use crate::refusal::{RefusalCause, shown_text};
use crate::session_hooks::SessionHooks;
use crate::session_store::SessionStore;
use crate::settings::SessionSettings;

/// How often opening hours are looked at.
const HOURS_CHECK: Nanos = Nanos::from_secs(1);
/// What one receive of a loop brings at the most.
const RECEIVE_BYTES: usize = 64 * 1024;
/// What a session usually sends at once.
const OUTPUT_BYTES: usize = 16 * 1024;
/// The longest message that is sent, unless longer ones are received: they may go back.
const SENT_MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// One session of a driver.
#[derive(Debug)]
pub struct Endpoint<A> {
    settings: SessionSettings,
    link: Link<SessionStore, SessionHooks>,
    application: A,
    /// The start of the period that the numbers belong to.
    period: Option<Nanos>,
    is_connected: bool,
    has_logged_on: bool,
    /// Why the connection's Logon was refused, by us.
    refused: Option<RefusalCause>,
    /// What the peer said when it logged out instead of answering our Logon.
    refusal_text: Option<String>,
    /// The store could not make safe what it wrote.
    is_broken: bool,
}

impl<A: Application> Endpoint<A> {
    /// Opens store and log.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub fn open(settings: SessionSettings, mut application: A) -> io::Result<Self> {
        let store = SessionStore::open(&settings)?;
        if store.lost_bytes() > 0 {
            application.warn(&format!(
                "{} bytes of the store were damaged: messages in them become gap fills",
                store.lost_bytes()
            ));
        }
        let hooks = SessionHooks::open(&settings)?;
        let (longest, waiting) = (settings.config.message_bytes_max, settings.waiting_bytes_max);
        let sent_message_bytes_max = longest.max(SENT_MESSAGE_BYTES_MAX);
        // A connection ends when more than `waiting` bytes wait; so what comes before that is seen
        // has room.
        let sizes = LinkConfig {
            inbox_bytes: 0,
            inbox_bytes_max: waiting + longest.max(RECEIVE_BYTES) + RECEIVE_BYTES,
            outbox_bytes: sent_message_bytes_max + OUTPUT_BYTES,
            outbox_bytes_max: waiting + 2 * sent_message_bytes_max,
            sent_message_bytes_max,
            msg_type_anywhere: settings.msg_type_anywhere,
        };
        let period = store.period();
        let session = Session::new(settings.config.clone(), store);
        Ok(Self {
            link: Link::with_hooks(session, &sizes, hooks),
            settings,
            application,
            period,
            is_connected: false,
            has_logged_on: false,
            refused: None,
            refusal_text: None,
            is_broken: false,
        })
    }

    /// What it was made from.
    pub const fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// The session, to look at.
    pub const fn session(&self) -> &StoredSession {
        self.link.session()
    }

    /// The application.
    pub const fn application(&mut self) -> &mut A {
        &mut self.application
    }

    /// Whether the session is open at this time.
    pub fn is_open(&self, now: Now) -> bool {
        self.settings.schedule.as_ref().is_none_or(|hours| hours.period(now.utc).is_some())
    }

    /// Whether a connection is being served.
    pub const fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Whether the connection came as far as a Logon on both sides.
    pub const fn has_logged_on(&self) -> bool {
        self.has_logged_on
    }

    /// Why we refused the Logon of this connection, or of the last one.
    pub(crate) const fn refused(&self) -> Option<RefusalCause> {
        self.refused
    }

    /// What the peer said when it logged out instead of answering our Logon; empty when it gave no
    /// reason.
    pub(crate) fn refusal_text(&self) -> Option<&str> {
        self.refusal_text.as_deref()
    }

    /// Whether the connection must be closed once the output is sent.
    pub fn is_over(&self) -> bool {
        self.link.is_closed() || self.is_broken
    }

    /// What is to be sent: safe in the store.
    pub fn output(&self) -> &[u8] {
        self.link.unsent()
    }

    /// So much of the output is sent.
    pub fn transmitted(&mut self, bytes: usize) {
        self.link.transmitted(bytes);
    }

    /// Bytes that wait: of ours for the peer, and of the peer's for their answers to be sent.
    pub fn waiting_bytes(&self) -> usize {
        self.link.unsent().len() + self.link.inbox_len()
    }

    /// Whether it paused for want of room in the output, and has room now: [`Endpoint::receive`]
    /// goes on, without new bytes too.
    pub const fn can_go_on(&self) -> bool {
        self.link.is_paused() && self.link.has_room()
    }

    /// A connection stands: starts at 1 when the numbers are of a period that is over.
    pub fn connect(&mut self, now: Now) {
        let hours = self.settings.schedule.as_ref();
        let period = hours.and_then(|hours| hours.period(now.utc)).map(|period| period.start);
        if let Some(start) = period.filter(|start| self.period != Some(*start)) {
            // A store that fails here fails the Logon too, which says so.
            let _ = self.link.session_mut().store_mut().begin_period(start);
            self.period = Some(start);
        }
        self.is_connected = true;
        self.has_logged_on = false;
        (self.refused, self.refusal_text) = (None, None);
        self.link.connect(now);
        self.commit(now);
    }

    /// Handles bytes of the peer, and writes what follows from them.
    pub fn receive(&mut self, now: Now, mut bytes: &[u8], index: &mut FieldIndex) {
        while let Some(delivery) = self.link.handle_bytes(now, &mut bytes, index) {
            let Delivery { event, message, mut outbox } = delivery;
            match event {
                Event::LoggedOn if !self.settings.admits(message) => {
                    self.refused = Some(RefusalCause::Credentials);
                    outbox.refuse_logon("the credentials are wrong");
                    continue;
                }
                Event::LoggedOut if !self.has_logged_on => {
                    let text = message.value(58).unwrap_or_default();
                    self.refusal_text = Some(shown_text(text));
                }
                Event::Disconnect(reason) if !self.has_logged_on => {
                    self.refused = Some(RefusalCause::Session(reason));
                }
                _ => {}
            }
            self.has_logged_on |= event == Event::LoggedOn;
            self.application.handle(event, message, &mut outbox);
        }
        self.commit(now);
    }

    /// Does what is due, and lets the application act.
    pub fn tick(&mut self, now: Now) {
        if let Some(Delivery { event, message, mut outbox }) = self.link.handle_timeout(now) {
            self.application.handle(event, message, &mut outbox);
        }
        if self.session().is_active() && self.is_out_of_hours(now) {
            self.link.outbox(now).log_out("the trading session is over");
        }
        // Here nobody waits for a message of ours. A failure is told by the commit.
        let _ = self.link.session_mut().store_mut().compact_if_due();
        self.commit(now);
    }

    /// Something of the application's own: a timer, a queue that it reads.
    pub fn with_application(&mut self, now: Now, act: impl FnOnce(&mut A, &mut Outbox<'_>)) {
        act(&mut self.application, &mut self.link.outbox(now));
        self.commit(now);
    }

    /// The connection is gone.
    pub fn disconnect(&mut self, now: Now) {
        if std::mem::take(&mut self.is_connected) {
            self.link.transport_closed(now);
            self.commit(now);
            self.application.disconnected();
        }
    }

    /// When [`Endpoint::tick`] has something to do.
    pub fn due(&self, now: Now) -> Option<Nanos> {
        let hours = self.settings.schedule.as_ref().map(|_| now.mono + HOURS_CHECK);
        let due = self.link.poll_timeout();
        [due, hours].into_iter().flatten().min().filter(|_| self.is_connected)
    }

    fn is_out_of_hours(&self, now: Now) -> bool {
        let hours = self.settings.schedule.as_ref();
        hours.is_some_and(|hours| hours.period(now.utc).map(|p| p.start) != self.period)
    }

    /// Writes what the session wants to send, and makes safe what was received and is sent before
    /// the network has it: what cannot be remembered is not sent.
    fn commit(&mut self, now: Now) {
        self.link.poll_transmit(now);
        if self.link.hooks_mut().take_lost_log() {
            self.application.warn("the log of messages cannot be written and is closed");
        }
        if self.link.session_mut().store_mut().commit().is_err() && !self.is_broken {
            self.is_broken = true;
            self.link.clear_unsent();
            self.application.warn("the store cannot be written: the session ends");
        }
    }
}
