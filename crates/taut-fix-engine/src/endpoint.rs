//! One session with all that belongs to it: store, log, opening hours, credentials, application.
//!
//! It knows no socket: bytes and time go in, bytes come out.

use std::io;

use crate::auth::{BinanceLogon, DeribitLogon, NONCE_BYTES, check_deribit};
use crate::store::{Direction, MessageLog};
use taut_fix::{Event, FieldIndex, LogonContext, Now, Role, Session, Writer, lead_with_msg_type};
use taut_types::Nanos;

use crate::application::{Application, DrivenSession, Outbox, Received, note};
use crate::random::random;
use crate::session_store::{SessionStore, named};
use crate::settings::{Credentials, SessionSettings};

/// How often opening hours are looked at.
const HOURS_CHECK: Nanos = Nanos::from_secs(1);
/// Behind so much that waits nothing of the session's own is put: a resend of a whole day goes out
/// as the peer takes it.
const OUTPUT_BYTES: usize = 256 * 1024;

/// What a message grows by when it is sent again: PossDupFlag (43) and OrigSendingTime (122).
const AGAIN_BYTES: usize = 64;

/// One session of a driver.
#[derive(Debug)]
pub struct Endpoint<A> {
    settings: SessionSettings,
    session: DrivenSession,
    application: A,
    log: Option<MessageLog>,
    /// The start of the period that the numbers belong to.
    period: Option<Nanos>,
    is_connected: bool,
    has_logged_on: bool,
    /// Received and not handled yet.
    input: Vec<u8>,
    scratch: Box<[u8]>,
    held: Box<[u8]>,
    /// Of the last Logon that was signed.
    last_signed: Nanos,
    /// The store could not make safe what it wrote.
    is_broken: bool,
    /// More is to be sent than the output took.
    is_paced: bool,
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
        let log = settings.log.as_ref().map(|folder| {
            let path = folder.join(settings.file_name() + ".log");
            std::fs::create_dir_all(folder)
                .and_then(|()| MessageLog::open(&path, settings.rotation))
                .map_err(|error| named(&path, &error))
        });
        let room = settings.config.message_bytes_max;
        Ok(Self {
            period: store.period(),
            session: Session::new(settings.config.clone(), store),
            settings,
            application,
            log: log.transpose()?,
            is_connected: false,
            has_logged_on: false,
            input: Vec::new(),
            // What is sent may be longer than what is received.
            scratch: vec![0; room.max(64 * 1024) + AGAIN_BYTES].into_boxed_slice(),
            held: vec![0; room].into_boxed_slice(),
            last_signed: Nanos::ZERO,
            is_broken: false,
            is_paced: false,
        })
    }

    /// What it was made from.
    pub const fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// The session, to look at.
    pub const fn session(&self) -> &DrivenSession {
        &self.session
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

    /// Whether the connection must be closed once the output is sent.
    pub fn is_over(&self) -> bool {
        (self.session.is_closed() && !self.is_paced) || self.is_broken
    }

    /// Whether so little waits to be sent that the session may add to it.
    pub const fn has_room(output: &[u8]) -> bool {
        output.len() < OUTPUT_BYTES
    }

    /// Bytes of the peer that wait for their answers to be sent.
    pub const fn waiting_bytes(&self) -> usize {
        self.input.len()
    }

    /// Whether the session has more to send than the output took: [`Endpoint::go_on`] when it is
    /// sent.
    pub const fn is_paced(&self) -> bool {
        self.is_paced
    }

    /// Goes on where a full output made it pause.
    pub fn go_on(&mut self, now: Now, index: &mut FieldIndex, output: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_paced) {
            self.transmit(now, output);
            self.receive(now, &[], index, output);
        }
    }

    /// Whether the connection came as far as a Logon on both sides.
    pub const fn has_logged_on(&self) -> bool {
        self.has_logged_on
    }

    /// A connection stands: starts at 1 when the numbers are of a period that is over.
    pub fn connect(&mut self, now: Now, output: &mut Vec<u8>) {
        let hours = self.settings.schedule.as_ref();
        let period = hours.and_then(|hours| hours.period(now.utc)).map(|period| period.start);
        if let Some(start) = period.filter(|start| self.period != Some(*start)) {
            // A store that fails here fails the Logon too, which says so.
            let _ = self.session.store_mut().begin_period(start);
            self.period = Some(start);
        }
        self.is_connected = true;
        self.has_logged_on = false;
        self.is_paced = false;
        self.input.clear();
        self.session.connect(now);
        self.transmit(now, output);
        self.commit(output);
    }

    /// Handles bytes of the peer, and sends what follows from them.
    pub fn receive(
        &mut self,
        now: Now,
        bytes: &[u8],
        index: &mut FieldIndex,
        output: &mut Vec<u8>,
    ) {
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            let rest = input.get_mut(at..).unwrap_or_default();
            if self.settings.msg_type_anywhere {
                lead_with_msg_type(rest);
            }
            let consumed = self.step(now, rest, index, output);
            at += consumed;
            while let Some(held) = self.session.take_held(&mut self.held) {
                let room = std::mem::take(&mut self.held);
                self.step(now, room.get(..held).unwrap_or_default(), index, output);
                self.held = room;
            }
            if consumed == 0 {
                break;
            }
        }
        input.drain(..at);
        self.input = input;
        self.commit(output);
    }

    /// Does what is due, and lets the application act.
    pub fn tick(&mut self, now: Now, index: &FieldIndex, output: &mut Vec<u8>) {
        if let Some(event) = self.session.handle_timeout(now) {
            self.act(now, event, Received::new(&[], index), output);
        }
        if self.session.is_active() && self.is_out_of_hours(now) {
            self.session.logout(now, "the trading session is over");
        }
        self.transmit(now, output);
        // Here nobody waits for a message of ours. A failure is told by the commit.
        let _ = self.session.store_mut().compact_if_due();
        self.commit(output);
    }

    /// Something of the application's own: a timer, a queue that it reads.
    pub fn with_application(
        &mut self,
        now: Now,
        output: &mut Vec<u8>,
        act: impl FnOnce(&mut A, &mut Outbox<'_>),
    ) {
        let (session, scratch) = (&mut self.session, first_time(&mut self.scratch));
        let log = &mut self.log;
        act(&mut self.application, &mut Outbox { now, session, scratch, output, log });
        self.transmit(now, output);
        self.commit(output);
    }

    /// The connection is gone.
    pub fn disconnect(&mut self, now: Now) {
        if std::mem::take(&mut self.is_connected) {
            self.session.transport_closed(now);
            self.commit(&mut Vec::new());
            self.application.disconnected();
        }
    }

    /// When [`Endpoint::tick`] has something to do.
    pub fn due(&self, now: Now) -> Option<Nanos> {
        let hours = self.settings.schedule.as_ref().map(|_| now.mono + HOURS_CHECK);
        let due = self.session.poll_timeout();
        [due, hours].into_iter().flatten().min().filter(|_| self.is_connected)
    }

    fn is_out_of_hours(&self, now: Now) -> bool {
        let hours = self.settings.schedule.as_ref();
        hours.is_some_and(|hours| hours.period(now.utc).map(|p| p.start) != self.period)
    }

    /// One message; returns how many bytes it took.
    fn step(
        &mut self,
        now: Now,
        bytes: &[u8],
        index: &mut FieldIndex,
        output: &mut Vec<u8>,
    ) -> usize {
        let made = self.session.handle_bytes(now, bytes, index);
        let message = bytes.get(..made.consumed).unwrap_or_default();
        if !message.is_empty() {
            note(&mut self.log, now, Direction::In, message);
        }
        if let Some(event) = made.event {
            self.act(now, event, Received::new(message, index), output);
        }
        self.transmit(now, output);
        made.consumed
    }

    fn act(&mut self, now: Now, event: Event, message: Received<'_>, output: &mut Vec<u8>) {
        if event == Event::LoggedOn && !is_credible(&self.settings, message) {
            self.session.refuse(now, "the credentials are wrong");
            return;
        }
        self.has_logged_on |= event == Event::LoggedOn;
        let (session, scratch) = (&mut self.session, first_time(&mut self.scratch));
        let log = &mut self.log;
        let mut outbox = Outbox { now, session, scratch, output, log };
        self.application.handle(event, message, &mut outbox);
    }

    fn transmit(&mut self, now: Now, output: &mut Vec<u8>) {
        let Self { session, scratch, log, settings, last_signed, .. } = self;
        let credentials = settings.credentials.as_ref();
        let credentials = credentials.filter(|_| settings.config.role == Role::Initiator);
        let mut sign = |context: LogonContext, writer: &mut Writer<'_>| {
            for (tag, value) in &settings.logon_fields {
                writer.field(*tag, value.as_bytes());
            }
            if let Some(credentials) = credentials {
                write_credentials(credentials, last_signed, &context, writer);
            }
        };
        while Self::has_room(output) {
            let Some(range) = session.poll_transmit_with(now, scratch, &mut sign) else { return };
            let bytes = scratch.get(range).unwrap_or_default();
            note(log, now, Direction::Out, bytes);
            output.extend_from_slice(bytes);
        }
        self.is_paced = true;
    }

    /// What was received and sent is made safe before the network has it: what cannot be
    /// remembered is not sent.
    fn commit(&mut self, output: &mut Vec<u8>) {
        if self.settings.log.is_some() && self.log.is_none() {
            self.settings.log = None;
            self.application.warn("the log of messages cannot be written and is closed");
        }
        if self.session.store_mut().commit().is_err() && !self.is_broken {
            self.is_broken = true;
            output.clear();
            self.application.warn("the store cannot be written: the session ends");
        }
    }
}

/// The room for a message of the application: what fits it can be sent again, too.
fn first_time(scratch: &mut [u8]) -> &mut [u8] {
    let bytes = scratch.len().saturating_sub(AGAIN_BYTES);
    scratch.get_mut(..bytes).unwrap_or_default()
}

/// Whether an acceptor believes a Logon.
pub fn is_credible(settings: &SessionSettings, logon: Received<'_>) -> bool {
    if settings.config.role == Role::Initiator {
        return true;
    }
    let is = |tag, expected: &str| logon.value(tag) == Some(expected.as_bytes());
    match &settings.credentials {
        None => true,
        Some(Credentials::Password { username, password }) => {
            is(553, username) && is(554, password)
        }
        Some(Credentials::Deribit { client_id, secret }) => {
            let [raw, password] = [96, 554].map(|tag| logon.value(tag).unwrap_or_default());
            is(553, client_id) && check_deribit(raw, password, secret.as_bytes())
        }
        // No venue of ours signs like this.
        Some(Credentials::Binance { .. }) => false,
    }
}

fn write_credentials(
    credentials: &Credentials,
    last_signed: &mut Nanos,
    context: &LogonContext,
    writer: &mut Writer<'_>,
) {
    match credentials {
        Credentials::Password { username, password } => {
            writer.text::<553>(username.as_bytes());
            writer.text::<554>(password.as_bytes());
        }
        Credentials::Deribit { client_id, secret } => {
            // Without a nonce the Logon goes unsigned, and the venue refuses it.
            let Some(nonce) = random::<NONCE_BYTES>() else { return };
            let mut logon = DeribitLogon::new(client_id.as_bytes(), secret.as_bytes(), nonce)
                .after(*last_signed);
            logon.write(context.now.utc, writer);
            *last_signed = context.now.utc.max(*last_signed + Nanos(1_000_000));
        }
        Credentials::Binance { api_key, seed } => {
            BinanceLogon::new(api_key.as_bytes(), seed).write(context, writer);
        }
    }
}
