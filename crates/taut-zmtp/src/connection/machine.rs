//! The connection: bytes and time in, events and bytes out.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use taut_types::Nanos;

use crate::command::{Command, time_to_live_bytes, write_body, write_command};
use crate::connection::config::{ConnectionConfig, Security};
use crate::connection::event::{ConnectionCounters, Event, Handled, Peer};
use crate::connection::handshake::{Agreed, Handshake};
use crate::connection::outgoing::Outgoing;
use crate::connection::table::{Action, Input, Part, State, step};
use crate::curve::keys::Seed;
use crate::curve::stream::{CurveStream, SEALED_BYTES};
use crate::error::{CloseReason, ErrorText, Violation};
use crate::frame::{self, COMMAND, FrameHeader, HEADER_BYTES_MAX, MORE};
use crate::greeting::{PeerGreeting, greeting};
use crate::socket_type::SocketType;

/// The largest frame before the handshake is over: what a stranger can make us keep.
pub const HANDSHAKE_FRAME_BYTES_MAX: usize = 4096;

/// While this much waits to be sent, PINGs are not answered.
const PONG_ROOM_BYTES: usize = 4096;

/// One connection to a peer.
#[derive(Debug)]
pub struct Connection {
    config: Arc<ConnectionConfig>,
    state: State,
    /// Established, without encryption, and messages may come: the usual frame is taken at once.
    takes_plain_messages: bool,
    /// The same, and the next frame begins a message.
    takes_whole_messages: bool,
    /// Of the message under way: its parts so far, and their bytes.
    parts: u32,
    message_bytes: usize,
    last_received: Nanos,
    greeting: PeerGreeting,
    handshake: Handshake,
    stream: Option<alloc::boxed::Box<CurveStream>>,
    /// The frame that was opened last.
    opened: Vec<u8>,
    out: Outgoing,
    peer: Option<SocketType>,
    peer_routing_id: Vec<u8>,
    handshake_deadline: Nanos,
    next_ping: Nanos,
    /// What the peer promised: it says something at least this often.
    time_to_live: Option<Nanos>,
    counters: ConnectionCounters,
}

/// What an established connection's frame was; offsets are into the frame's content.
enum Noted {
    Nothing,
    Message { more: bool },
    Subscribe(usize),
    Cancel(usize),
    Pong(usize),
}

impl Connection {
    /// A connection whose transport stands. The seed is used by CURVE alone.
    #[must_use]
    pub fn new(config: Arc<ConnectionConfig>, seed: Seed, now: Nanos) -> Self {
        let mut out = Outgoing::with_capacity(512);
        let (mechanism, is_server) = (config.security.mechanism(), config.security.is_server());
        out.end().extend_from_slice(&greeting(mechanism, is_server));
        Self {
            state: State::Greeting,
            takes_plain_messages: false,
            takes_whole_messages: false,
            parts: 0,
            message_bytes: 0,
            last_received: now,
            greeting: PeerGreeting::new(),
            handshake: Handshake::new(&config.security, seed),
            stream: None,
            opened: Vec::new(),
            out,
            peer: None,
            peer_routing_id: Vec::new(),
            handshake_deadline: after(now, config.handshake_timeout),
            next_ping: Nanos::MAX,
            time_to_live: None,
            counters: ConnectionCounters::default(),
            config,
        }
    }

    /// Takes the bytes of at most one frame. Call it again with the rest until nothing is consumed.
    #[inline]
    pub fn handle_bytes<'a>(&'a mut self, now: Nanos, bytes: &'a [u8]) -> Handled<'a> {
        if self.takes_whole_messages
            && let [0, size, rest @ ..] = bytes
            && let Some(part) = rest.get(..usize::from(*size))
        {
            self.last_received = now;
            let event = Some(Event::Message { part, more: false });
            return Handled { consumed: 2 + part.len(), event };
        }
        self.take_other(now, bytes)
    }

    /// Does what is due: a PING, or the end.
    pub fn handle_timeout(&mut self, now: Nanos) -> Option<Event<'static>> {
        if self.state != State::Established {
            let is_late = now >= self.handshake_deadline;
            return is_late.then(|| self.end(Input::Deadline, CloseReason::HandshakeTimeout))?;
        }
        if self.silence_deadline().is_some_and(|deadline| now >= deadline) {
            return self.end(Input::Silence, CloseReason::HeartbeatTimeout);
        }
        if now >= self.next_ping
            && let Some(heartbeat) = self.config.heartbeat
            && let Some((_, Action::SendPing)) = self.step(Input::HeartbeatDue)
        {
            self.next_ping = after(now, heartbeat.interval);
            self.write_ping(&[]);
        }
        None
    }

    /// When [`Connection::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        match self.state {
            State::Closed => None,
            State::Established => {
                let next = self.silence_deadline().unwrap_or(Nanos::MAX).min(self.next_ping);
                Some(next).filter(|next| *next < Nanos::MAX)
            }
            _ => Some(self.handshake_deadline),
        }
    }

    /// What is to be sent. Say with [`Connection::transmitted`] how much of it was.
    #[inline]
    #[must_use]
    pub fn poll_transmit(&self) -> &[u8] {
        self.out.pending()
    }

    /// The first `bytes` of [`Connection::poll_transmit`] were sent.
    #[inline]
    pub fn transmitted(&mut self, bytes: usize) {
        self.out.consume(bytes);
    }

    /// Subscribes, in the form that the peer's version knows.
    pub fn subscribe(&mut self, prefix: &[u8]) {
        self.write_subscription("SUBSCRIBE", 1, prefix);
    }

    /// Takes a subscription back.
    pub fn cancel(&mut self, prefix: &[u8]) {
        self.write_subscription("CANCEL", 0, prefix);
    }

    /// Asks for a PONG with this context, of at most 16 bytes. A peer of ZMTP 3.0 knows no PING:
    /// nothing is sent to it, and the answer is `false`.
    pub fn ping(&mut self, context: &[u8]) -> bool {
        let can = self.is_established() && self.greeting.minor() > 0;
        if can {
            self.write_ping(context);
        }
        can
    }

    /// Queues one frame of a message.
    pub fn send_part(&mut self, part: &[u8], more: bool) {
        self.write_frame(if more { MORE } else { 0 }, &[part]);
    }

    /// The peer is not silent: bytes of it wait that were not read yet.
    pub fn heard(&mut self, now: Nanos) {
        self.last_received = self.last_received.max(now);
    }

    /// Whether messages pass.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether frames travel in boxes.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_some()
    }

    /// Who is at the other end, once the handshake is over.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        let minor = self.greeting.minor();
        self.peer.map(|socket_type| Peer { socket_type, minor })
    }

    /// What the peer calls itself; empty where it does not.
    #[must_use]
    pub fn peer_routing_id(&self) -> &[u8] {
        &self.peer_routing_id
    }

    /// The most bytes that one frame may have now, header included: the room that the driver's
    /// buffer needs.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.body_bytes_max() + HEADER_BYTES_MAX
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> ConnectionCounters {
        self.counters
    }

    fn body_bytes_max(&self) -> usize {
        match (self.state, &self.stream) {
            (State::Established, None) => self.config.frame_bytes_max,
            (State::Established, Some(_)) => self.config.frame_bytes_max + SEALED_BYTES,
            _ => HANDSHAKE_FRAME_BYTES_MAX,
        }
    }

    fn part(&self) -> Part {
        match self.config.security {
            Security::Null => Part::Equal,
            Security::PlainClient(_) | Security::CurveClient { .. } => Part::Client,
            Security::PlainServer(_) | Security::CurveServer { .. } => Part::Server,
        }
    }

    fn step(&self, input: Input) -> Option<(State, Action)> {
        step(self.part(), self.state, input)
    }

    fn silence_deadline(&self) -> Option<Nanos> {
        // A peer of ZMTP 3.0 owes us no answer.
        let asked = self.config.heartbeat.filter(|_| self.greeting.minor() > 0);
        let ours = asked.map(|heartbeat| heartbeat.timeout);
        let span = [ours, self.time_to_live].into_iter().flatten().min()?;
        Some(after(self.last_received, span))
    }

    /// What is no whole message in a short frame.
    #[inline(never)]
    fn take_other<'a>(&'a mut self, now: Nanos, bytes: &'a [u8]) -> Handled<'a> {
        if self.takes_plain_messages
            && let [flags @ (0 | MORE), size, rest @ ..] = bytes
            && let Some(part) = rest.get(..usize::from(*size))
        {
            self.last_received = now;
            let (more, consumed) = (*flags == MORE, 2 + part.len());
            return match self.count_part(part.len(), more) {
                Ok(_) => Handled { consumed, event: Some(Event::Message { part, more }) },
                Err(violation) => self.violated(consumed, violation),
            };
        }
        match self.state {
            State::Closed => Handled::NOTHING,
            State::Greeting => self.take_greeting(now, bytes),
            _ => self.take_frame(now, bytes),
        }
    }

    fn take_greeting(&mut self, now: Nanos, bytes: &[u8]) -> Handled<'static> {
        let consumed = match self.greeting.take(bytes) {
            Ok(consumed) => consumed,
            Err(violation) => return self.violated(bytes.len(), violation),
        };
        self.last_received = now;
        if !self.greeting.is_whole() {
            return Handled { consumed, event: None };
        }
        if !self.greeting.names(self.config.security.mechanism()) {
            return self.violated(consumed, Violation::Mechanism);
        }
        let event = self.handshake_step(now, Input::Greeted, &[]);
        Handled { consumed, event }
    }

    fn take_frame<'a>(&'a mut self, now: Nanos, bytes: &'a [u8]) -> Handled<'a> {
        let header = match FrameHeader::parse(bytes) {
            Ok(Some(header)) => header,
            Ok(None) => return Handled::NOTHING,
            Err(violation) => return self.violated(bytes.len(), violation),
        };
        if header.body_bytes > self.body_bytes_max() as u64 {
            return self.violated(bytes.len(), Violation::FrameBytes);
        }
        let Some(consumed) = header.frame_bytes() else { return Handled::NOTHING };
        let Some(body) = bytes.get(header.header_bytes..consumed) else { return Handled::NOTHING };
        self.last_received = now;
        if self.state != State::Established {
            return Handled { consumed, event: self.take_handshake(now, header.flags, body) };
        }
        let noted = match self.stream.as_mut() {
            None => self.take_established(header.flags, body),
            Some(stream) => {
                let mut opened = mem::take(&mut self.opened);
                let flags = stream.open(body, &mut opened);
                let content = opened.get(1..).unwrap_or(&[]);
                let noted = flags
                    .map_err(Ended::Violation)
                    .and_then(|flags| self.take_established(flags, content));
                self.opened = opened;
                noted
            }
        };
        match noted {
            Err(Ended::Violation(violation)) => self.violated(consumed, violation),
            Err(Ended::Error(text)) => {
                let event = self.end(Input::Error, CloseReason::PeerError(text));
                Handled { consumed, event }
            }
            Ok(noted) => {
                let is_sealed = self.stream.is_some();
                let content = if is_sealed { self.opened.get(1..).unwrap_or(&[]) } else { body };
                Handled { consumed, event: noted.event(content) }
            }
        }
    }

    fn take_handshake(&mut self, now: Nanos, flags: u8, body: &[u8]) -> Option<Event<'static>> {
        if flags & COMMAND == 0 {
            return self.violated(0, Violation::UnexpectedMessage).event;
        }
        let (input, data) = match Command::parse(body) {
            Ok(Command::Hello(data)) => (Input::Hello, data),
            Ok(Command::Welcome(data)) => (Input::Welcome, data),
            Ok(Command::Initiate(data)) => (Input::Initiate, data),
            Ok(Command::Ready(data)) => (Input::Ready, data),
            Ok(Command::Error(reason)) => {
                let reason = CloseReason::PeerError(ErrorText::new(reason));
                return self.end(Input::Error, reason);
            }
            Ok(_) => (Input::Traffic, &[][..]),
            Err(violation) => return self.violated(0, violation).event,
        };
        self.handshake_step(now, input, data)
    }

    fn handshake_step(&mut self, now: Nanos, input: Input, data: &[u8]) -> Option<Event<'static>> {
        let Some((next, action)) = self.step(input) else {
            return self.violated(0, Violation::UnexpectedCommand).event;
        };
        let (config, out) = (&*self.config, self.out.end());
        let done: Result<Option<Agreed>, Violation> = match action {
            Action::SendHello => {
                self.handshake.send_hello(config, out);
                Ok(None)
            }
            Action::SendReady => {
                let mut metadata = Vec::with_capacity(64);
                let routing_id = &config.routing_id;
                crate::metadata::write_metadata(&mut metadata, config.socket_type, routing_id);
                write_command(out, "READY", &[&metadata]);
                Ok(None)
            }
            Action::AnswerHello => self.handshake.answer_hello(config, data, out).map(|()| None),
            Action::AnswerWelcome => {
                self.handshake.answer_welcome(config, data, out).map(|()| None)
            }
            Action::AnswerInitiate => self.handshake.answer_initiate(config, data, out).map(Some),
            Action::TakeReady => self.handshake.take_ready(config, data).map(Some),
            _ => Ok(None),
        };
        match done {
            Ok(None) => {
                self.state = next;
                None
            }
            Ok(Some(agreed)) => {
                self.state = next;
                Some(self.establish(now, agreed))
            }
            Err(violation @ (Violation::Refused | Violation::SocketType)) => {
                self.end(Input::Refusal, CloseReason::Violation(violation))
            }
            Err(violation) => self.violated(0, violation).event,
        }
    }

    fn establish(&mut self, now: Nanos, agreed: Agreed) -> Event<'static> {
        let minor = self.greeting.minor();
        self.handshake = Handshake::Stateless;
        self.stream = agreed.stream;
        self.peer = Some(agreed.socket_type);
        self.peer_routing_id = agreed.routing_id;
        // What is taken at once has a short header, and must not be beyond the limit either.
        self.takes_plain_messages = self.stream.is_none()
            && self.config.socket_type.receives()
            && self.config.frame_bytes_max.min(self.config.message_bytes_max)
                >= usize::from(u8::MAX);
        self.takes_whole_messages = self.takes_plain_messages;
        if let Some(heartbeat) = self.config.heartbeat.filter(|_| minor > 0) {
            self.next_ping = after(now, heartbeat.interval);
        }
        Event::Established(Peer { socket_type: agreed.socket_type, minor })
    }

    fn take_established(&mut self, flags: u8, content: &[u8]) -> Result<Noted, Ended> {
        if flags & COMMAND != 0 {
            return self.take_command(content);
        }
        let more = flags & MORE != 0;
        let is_first = self.count_part(content.len(), more).map_err(Ended::Violation)?;
        let socket_type = self.config.socket_type;
        match content.first() {
            // ZMTP 3.0 subscribes by message; a later peer may, too.
            Some(1) if socket_type.publishes() && is_first && !more => Ok(Noted::Subscribe(1)),
            Some(0) if socket_type.publishes() && is_first && !more => Ok(Noted::Cancel(1)),
            _ => match socket_type {
                SocketType::Push => Err(Ended::Violation(Violation::UnexpectedMessage)),
                SocketType::Pub => {
                    self.counters.ignored_messages += u64::from(is_first);
                    Ok(Noted::Nothing)
                }
                _ => Ok(Noted::Message { more }),
            },
        }
    }

    /// Counts a part of a message; whether it is the first. A frame is bounded, and so is the
    /// message: its peer may go on for ever.
    fn count_part(&mut self, bytes: usize, more: bool) -> Result<bool, Violation> {
        let is_first = self.parts == 0;
        self.parts = self.parts.saturating_add(1);
        self.message_bytes = self.message_bytes.saturating_add(bytes);
        if self.message_bytes > self.config.message_bytes_max {
            return Err(Violation::MessageBytes);
        }
        if self.parts > self.config.message_parts_max {
            return Err(Violation::MessageParts);
        }
        if !more {
            (self.parts, self.message_bytes) = (0, 0);
        }
        self.takes_whole_messages = self.takes_plain_messages && !more;
        Ok(is_first)
    }

    fn take_command(&mut self, body: &[u8]) -> Result<Noted, Ended> {
        if self.parts > 0 {
            return Err(Ended::Violation(Violation::CommandInsideMessage));
        }
        let publishes = self.config.socket_type.publishes();
        let tail = |data: &[u8]| body.len() - data.len();
        match Command::parse(body).map_err(Ended::Violation)? {
            Command::Subscribe(prefix) if publishes => Ok(Noted::Subscribe(tail(prefix))),
            Command::Cancel(prefix) if publishes => Ok(Noted::Cancel(tail(prefix))),
            Command::Ping { time_to_live, context } => {
                self.time_to_live = Some(time_to_live).filter(|span| *span > Nanos::ZERO);
                if self.out.pending().len() < PONG_ROOM_BYTES {
                    self.write_named("PONG", &[context]);
                } else {
                    self.counters.unanswered_pings += 1;
                }
                Ok(Noted::Nothing)
            }
            Command::Pong(context) => Ok(Noted::Pong(tail(context))),
            Command::Error(reason) => Err(Ended::Error(ErrorText::new(reason))),
            Command::Unknown => {
                self.counters.unknown_commands += 1;
                Ok(Noted::Nothing)
            }
            _ => Err(Ended::Violation(Violation::UnexpectedCommand)),
        }
    }

    fn violated(&mut self, consumed: usize, violation: Violation) -> Handled<'static> {
        let event = self.end(Input::Violation, CloseReason::Violation(violation));
        Handled { consumed, event }
    }

    fn end(&mut self, input: Input, reason: CloseReason) -> Option<Event<'static>> {
        let (next, action) = self.step(input).unwrap_or((State::Closed, Action::Close));
        if action == Action::SendErrorAndClose {
            // Not the reason: it would tell a stranger what to try next.
            write_command(self.out.end(), "ERROR", &[b"\x03400"]);
        }
        self.state = next;
        self.takes_plain_messages = false;
        self.takes_whole_messages = false;
        self.handshake = Handshake::Stateless;
        (action != Action::None).then_some(Event::Closed(reason))
    }

    fn write_subscription(&mut self, name: &str, first: u8, prefix: &[u8]) {
        if self.greeting.minor() > 0 {
            self.write_named(name, &[prefix]);
        } else {
            self.write_frame(0, &[&[first], prefix]);
        }
    }

    fn write_ping(&mut self, context: &[u8]) {
        let span = self.config.heartbeat.map_or(Nanos::ZERO, |heartbeat| heartbeat.timeout);
        self.counters.pings += 1;
        let context = context.get(..16).unwrap_or(context);
        self.write_named("PING", &[&time_to_live_bytes(span), context]);
    }

    fn write_named(&mut self, name: &str, pieces: &[&[u8]]) {
        match self.stream.as_mut() {
            None => write_command(self.out.end(), name, pieces),
            Some(stream) => {
                let mut body = Vec::with_capacity(64);
                write_body(&mut body, name, pieces);
                stream.seal(COMMAND, &[&body], self.out.end());
            }
        }
    }

    fn write_frame(&mut self, flags: u8, pieces: &[&[u8]]) {
        let out = self.out.end();
        match self.stream.as_mut() {
            Some(stream) => stream.seal(flags, pieces, out),
            None => {
                let mut header = [0; HEADER_BYTES_MAX];
                let body_bytes = pieces.iter().map(|piece| piece.len()).sum();
                let written = frame::write_header(&mut header, flags, body_bytes);
                out.extend_from_slice(header.get(..written).unwrap_or(&[]));
                for piece in pieces {
                    out.extend_from_slice(piece);
                }
            }
        }
    }
}

/// Why an established connection ends on a frame.
enum Ended {
    Violation(Violation),
    Error(ErrorText),
}

impl Noted {
    fn event(self, content: &[u8]) -> Option<Event<'_>> {
        let tail = |at| content.get(at..).unwrap_or(&[]);
        match self {
            Self::Nothing => None,
            Self::Message { more } => Some(Event::Message { part: content, more }),
            Self::Subscribe(at) => Some(Event::Subscribe(tail(at))),
            Self::Cancel(at) => Some(Event::Cancel(tail(at))),
            Self::Pong(at) => Some(Event::Pong(tail(at))),
        }
    }
}

fn after(now: Nanos, span: Nanos) -> Nanos {
    Nanos(now.0.saturating_add(span.0))
}
