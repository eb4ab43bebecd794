//! The connection: bytes and time in, events and bytes out.

use taut_types::Nanos;

use crate::accept::{accept, key};
use crate::close::CloseCode;
use crate::close_frame::CloseFrame;
use crate::config::{ClientRequest, Role, WsConfig};
use crate::connection::incoming::{Incoming, Item};
use crate::connection::outbox::Outbox;
use crate::connection::table::{Action, Input, State};
use crate::counters::WsCounters;
use crate::deflate::extension::{self, Written};
use crate::deflate::settings::DeflateParameters;
use crate::error::{HandshakeFault, Misuse, Violation, WsError};
use crate::event::{Closed, Event, Handled};
use crate::head::{Collected, may_be_answer, may_be_request};
use crate::random::Seed;
use crate::request::{self, Request};
use crate::response::{Answer, Refused};

/// How much of a refusal's body is kept.
const REFUSAL_BYTES_MAX: usize = 2048;

/// One WebSocket connection, over any transport.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    head_bytes_max: usize,
    head: Collected,
    /// A refusal's body is being read: its bytes so far, and at the most.
    body: Option<(usize, usize)>,
    /// What a client offers.
    protocols: alloc::vec::Vec<alloc::string::String>,
    offers: alloc::vec::Vec<DeflateParameters>,
    incoming: Incoming,
    outbox: Outbox,
}

impl Connection {
    /// A client's connection whose transport stands; its request waits to be sent.
    ///
    /// # Errors
    /// A size of zero; settings of compression that are none; a request that does not fit
    /// `send_bytes_max`.
    pub fn client(
        config: &WsConfig,
        request: &ClientRequest,
        seed: Seed,
        now: Nanos,
    ) -> Result<Self, WsError> {
        let mut connection = Self::new(Role::Client, config, seed, now)?;
        let key = key(connection.outbox.nonce());
        connection.outbox.answer = accept(core::str::from_utf8(&key).unwrap_or(""));
        connection.offers.clone_from(&request.deflate);
        match config.deflate {
            None if !request.deflate.is_empty() => return Err(WsError::Misuse(Misuse::Deflate)),
            Some(deflate) if !request.deflate.contains(&deflate.parameters) => {
                connection.offers.push(deflate.parameters);
            }
            _ => {}
        }
        let text = request::write(request, &connection.offers, &key);
        connection.outbox.write([text.as_str()].into_iter())?;
        connection.protocols.clone_from(&request.protocols);
        Ok(connection)
    }

    /// A server's connection whose transport stands; it waits for a request.
    ///
    /// # Errors
    /// A size of zero; settings of compression that are none.
    pub fn server(config: &WsConfig, now: Nanos) -> Result<Self, WsError> {
        // A server masks nothing.
        Self::new(Role::Server, config, Seed::new([0; 16]), now)
    }

    fn new(role: Role, config: &WsConfig, seed: Seed, now: Nanos) -> Result<Self, WsError> {
        let sizes = [config.message_bytes_max, config.send_bytes_max, config.head_bytes_max];
        if sizes.contains(&0) || config.fragments_max == 0 {
            return Err(WsError::Misuse(Misuse::Size));
        }
        if let Some(deflate) = &config.deflate {
            deflate.check()?;
        }
        let spare_bytes = config.head_bytes_max + REFUSAL_BYTES_MAX;
        Ok(Self {
            role,
            head_bytes_max: config.head_bytes_max,
            head: Collected::default(),
            body: None,
            protocols: alloc::vec::Vec::new(),
            offers: alloc::vec::Vec::new(),
            incoming: Incoming::new(role, config, spare_bytes),
            outbox: Outbox::new(role, config, seed, now),
        })
    }

    /// Takes bytes, at most to the end of a frame. Call it again with the rest until all are
    /// consumed. A message that lies whole in one frame in these bytes, and is not masked, is
    /// handed out from there.
    #[inline]
    pub fn handle_bytes<'a>(&'a mut self, now: Nanos, bytes: &'a [u8]) -> Handled<'a> {
        self.outbox.received(now);
        match self.outbox.state {
            State::Open | State::Closing => {
                let Self { incoming, outbox, .. } = self;
                if let Some(usual) = incoming.usual(bytes) {
                    let taken = incoming.take_usual(usual, bytes);
                    return settle(usual.end, taken.map(Some), outbox);
                }
                if let Some(usual) = incoming.usual_masked(bytes) {
                    let taken = incoming.take_usual_copied(usual, bytes);
                    return settle(usual.end, taken.map(Some), outbox);
                }
                let (consumed, taken) = incoming.take(bytes);
                settle(consumed, taken, outbox)
            }
            State::Opening => self.take_opening(bytes),
            State::Deciding => Handled { consumed: 0, event: None, outbox: &mut self.outbox },
            State::Closed => {
                Handled { consumed: bytes.len(), event: None, outbox: &mut self.outbox }
            }
        }
    }

    /// As [`Connection::handle_bytes`], for who owns the bytes: masked messages are unmasked in
    /// place and handed out from there too.
    pub fn handle_bytes_mut<'a>(&'a mut self, now: Nanos, bytes: &'a mut [u8]) -> Handled<'a> {
        if !matches!(self.outbox.state, State::Open | State::Closing) {
            return self.handle_bytes(now, bytes);
        }
        self.outbox.received(now);
        let Self { incoming, outbox, .. } = self;
        if let Some(usual) = incoming.usual_masked(bytes) {
            let taken = incoming.take_usual_masked(usual, bytes);
            return settle(usual.end, taken.map(Some), outbox);
        }
        if let Some(usual) = incoming.usual(bytes) {
            let taken = incoming.take_usual(usual, bytes);
            return settle(usual.end, taken.map(Some), outbox);
        }
        let (consumed, taken) = incoming.take_mut(bytes);
        settle(consumed, taken, outbox)
    }

    /// Does what is due: a ping, or the end.
    pub fn handle_timeout(&mut self, now: Nanos) -> Handled<'_> {
        let Self { incoming, outbox, head, body, .. } = self;
        let due = outbox.due().filter(|(due, _)| now >= *due);
        let was = outbox.state;
        let closed = match due.map(|(_, input)| outbox.apply(input)) {
            Some(Action::SendPing) => {
                // A good moment to see what is not needed.
                incoming.give_back();
                outbox.give_back();
                outbox.keep_alive_ping(now);
                None
            }
            Some(Action::SendCloseAndReport) => {
                outbox.close_frame(Some(CloseCode::GOING_AWAY), "nothing came for too long");
                Some(Closed::Silence)
            }
            Some(Action::Report) if was == State::Closing => Some(Closed::CloseTimeout),
            Some(Action::Report) => {
                Some(refusal(incoming, *head, *body).unwrap_or(Closed::HandshakeTimeout))
            }
            _ => None,
        };
        Handled { consumed: 0, event: closed.map(Event::Closed), outbox }
    }

    /// The transport has ended, or the peer sends no more: without a close frame that is the end.
    pub fn handle_end(&mut self) -> Handled<'_> {
        let Self { incoming, outbox, head, body, .. } = self;
        let closed = match outbox.apply(Input::Cut) {
            Action::Report => Some(refusal(incoming, *head, *body).unwrap_or(Closed::Cut)),
            _ => None,
        };
        Handled { consumed: 0, event: closed.map(Event::Closed), outbox }
    }

    /// What our own side brought about: a refusal.
    pub fn poll_event(&mut self) -> Option<Event<'static>> {
        let status = self.outbox.refused.take()?;
        Some(Event::Closed(Closed::RefusedByUs { status }))
    }

    /// When [`Connection::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.outbox.due().map(|(due, _)| due)
    }

    /// What waits to be sent.
    #[inline]
    #[must_use]
    pub fn poll_transmit(&self) -> &[u8] {
        self.outbox.pending()
    }

    /// The first `count` bytes of it were sent.
    #[inline]
    pub fn transmitted(&mut self, count: usize) {
        self.outbox.transmitted(count);
    }

    /// To send.
    pub const fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Which side we are.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.outbox.state
    }

    /// Whether our side ends the transport first, once everything is sent. After close frames the
    /// server does (7.1.1), so that its clients can come back from the same port at once.
    #[must_use]
    pub fn ends_first(&self) -> bool {
        self.role == Role::Server
    }

    /// How long an ending may take.
    #[must_use]
    pub const fn close_timeout(&self) -> Nanos {
        self.outbox.close_timeout()
    }

    /// The memory that messages have now, both ways: it grows with them, and goes back when a
    /// keep-alive ping is due and nothing waits; and that of compression, which stays.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.incoming.memory_bytes() + self.outbox.memory_bytes()
    }

    /// The compression that both sides agreed on, once it is open.
    #[must_use]
    pub const fn deflate(&self) -> Option<DeflateParameters> {
        self.outbox.deflate
    }

    /// What it counted.
    #[must_use]
    pub const fn counters(&self) -> WsCounters {
        let sent = self.outbox.counters;
        WsCounters {
            messages_out: sent.messages_out,
            message_bytes_out: sent.message_bytes_out,
            compressed_messages_out: sent.compressed_messages_out,
            compressed_bytes_out: sent.compressed_bytes_out,
            pings_out: sent.pings_out,
            pongs_skipped: sent.pongs_skipped,
            ..self.incoming.counters
        }
    }

    fn take_opening<'a>(&'a mut self, bytes: &'a [u8]) -> Handled<'a> {
        if self.body.is_some() {
            return self.take_body(bytes);
        }
        let may_start = match self.role {
            Role::Client => may_be_answer,
            Role::Server => may_be_request,
        };
        let head_bytes_max = self.head_bytes_max;
        let buffer = self.incoming.buffer().get_mut(..head_bytes_max).unwrap_or(&mut []);
        let (consumed, is_whole) = match self.head.take(buffer, bytes, may_start) {
            Ok(taken) => taken,
            Err(fault) => {
                let event = failed(self.role, &mut self.outbox, fault);
                return Handled { consumed: bytes.len(), event, outbox: &mut self.outbox };
            }
        };
        if !is_whole {
            return Handled { consumed, event: None, outbox: &mut self.outbox };
        }
        match self.role {
            Role::Server => self.take_request(consumed),
            Role::Client => self.take_answer(consumed, bytes),
        }
    }

    fn take_request(&mut self, consumed: usize) -> Handled<'_> {
        let (head_bytes, limits) = (self.head.bytes(), self.outbox.deflate_limits());
        let bytes = self.incoming.buffer().get(..head_bytes).unwrap_or(&[]);
        let asked = Request::parse(bytes).and_then(|request| match &limits {
            None => Ok(None),
            Some(limits) => extension::accept(request.head(), limits),
        });
        if let Ok(Some((answer, agreed))) = asked {
            self.agree(&agreed, Some(answer));
        }
        let Self { incoming, outbox, .. } = self;
        let bytes = incoming.buffer().get(..head_bytes).unwrap_or(&[]);
        let event = match asked.and_then(|_| Request::parse(bytes)) {
            Ok(request) => {
                outbox.answer = accept(request.key());
                outbox.apply(Input::Request);
                Some(Event::Requested(request))
            }
            Err(fault) => failed(Role::Server, outbox, fault),
        };
        Handled { consumed, event, outbox }
    }

    fn take_answer<'a>(&'a mut self, consumed: usize, bytes: &'a [u8]) -> Handled<'a> {
        let head_bytes = self.head.bytes();
        let (expected, offered) = (self.outbox.answer, &self.protocols);
        let offers = |chosen: &str| offered.iter().any(|offer| offer == chosen);
        let head = self.incoming.buffer().get(..head_bytes).unwrap_or(&[]);
        let (wanted, deflate) = match Answer::parse(head, &expected, offers, &self.offers) {
            Ok(Answer::Refused { body_bytes, .. }) => {
                (Some(body_bytes.unwrap_or(usize::MAX)), None)
            }
            Ok(Answer::Accepted(response)) => (None, response.deflate()),
            Err(_) => (None, None),
        };
        if let Some(wanted) = wanted {
            self.body = Some((0, wanted.min(REFUSAL_BYTES_MAX)));
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            let handled = self.take_body(rest);
            return Handled { consumed: bytes.len(), ..handled };
        }
        if let Some(agreed) = &deflate {
            self.agree(agreed, None);
        }
        let Self { incoming, outbox, protocols, offers: compressions, .. } = self;
        let head = incoming.buffer().get(..head_bytes).unwrap_or(&[]);
        let offers = |chosen: &str| protocols.iter().any(|offer| offer == chosen);
        let event = match Answer::parse(head, &expected, offers, compressions) {
            Ok(Answer::Accepted(response)) => {
                outbox.open();
                Some(Event::Opened(response))
            }
            Ok(Answer::Refused { .. }) => None,
            Err(fault) => failed(Role::Client, outbox, fault),
        };
        Handled { consumed, event, outbox }
    }

    /// Compressed messages may pass once the connection is open.
    fn agree(&mut self, agreed: &DeflateParameters, answer: Option<Written>) {
        self.incoming.agree(agreed);
        self.outbox.agree(agreed, answer);
    }

    /// The body of a refusal, as far as it is kept.
    fn take_body<'a>(&'a mut self, bytes: &'a [u8]) -> Handled<'a> {
        let (have, wanted) = self.body.unwrap_or_default();
        let at = self.head.bytes() + have;
        let taken = bytes.len().min(wanted - have);
        let place = self.incoming.buffer().get_mut(at..at + taken).unwrap_or(&mut []);
        place.copy_from_slice(bytes.get(..place.len()).unwrap_or(&[]));
        self.body = Some((have + taken, wanted));
        let consumed = bytes.len();
        if have + taken < wanted {
            return Handled { consumed, event: None, outbox: &mut self.outbox };
        }
        self.outbox.apply(Input::Refusal);
        let Self { incoming, outbox, head, body, .. } = self;
        let event = refusal(incoming, *head, *body).map(Event::Closed);
        Handled { consumed, event, outbox }
    }
}

/// The refusal that lies in the buffer.
fn refusal(
    incoming: &mut Incoming,
    head: Collected,
    body: Option<(usize, usize)>,
) -> Option<Closed<'_>> {
    let (have, _) = body?;
    let (head, body) = incoming.buffer().split_at_checked(head.bytes())?;
    match Answer::parse(head, &[0; crate::accept::ACCEPT_BYTES], |_| false, &[]) {
        Ok(Answer::Refused { refused, .. }) => {
            let body = body.get(..have).unwrap_or(&[]);
            Some(Closed::Refused(Refused { body, ..refused }))
        }
        _ => None,
    }
}

/// A handshake that breaks a rule ends; a client is told why.
fn failed(role: Role, outbox: &mut Outbox, fault: HandshakeFault) -> Option<Event<'static>> {
    if role == Role::Server && fault != HandshakeFault::NotHttp {
        outbox.refuse_fault(fault);
    }
    outbox.apply(Input::Violation);
    Some(Event::Closed(Closed::Handshake(fault)))
}

/// What a frame means for the connection.
#[inline(always)]
fn settle<'a>(
    consumed: usize,
    taken: Result<Option<Item<'a>>, Violation>,
    outbox: &'a mut Outbox,
) -> Handled<'a> {
    let event = match taken {
        Ok(None) => None,
        Ok(Some(Item::Text(text))) => Some(Event::Text(text)),
        Ok(Some(Item::Binary(bytes))) => Some(Event::Binary(bytes)),
        Ok(Some(item)) => Some(settle_control(item, outbox)),
        Err(violation) => Some(broken(violation, outbox)),
    };
    Handled { consumed, event, outbox }
}

/// A frame that is no message.
#[cold]
#[inline(never)]
fn settle_control<'a>(item: Item<'a>, outbox: &mut Outbox) -> Event<'a> {
    match item {
        Item::Text(text) => Event::Text(text),
        Item::Binary(bytes) => Event::Binary(bytes),
        Item::Pong(payload) => Event::Pong(payload),
        Item::Ping(payload) => {
            outbox.answer_ping(payload);
            Event::Ping(payload)
        }
        Item::Close(payload) => match CloseFrame::parse(payload) {
            Ok(frame) => {
                if outbox.apply(Input::PeerClose) == Action::SendCloseAndReport {
                    outbox.close_frame(frame.code, "");
                }
                Event::Closed(Closed::Agreed(frame))
            }
            Err(violation) => broken(violation, outbox),
        },
    }
}

#[cold]
fn broken(violation: Violation, outbox: &mut Outbox) -> Event<'static> {
    if outbox.apply(Input::Violation) == Action::SendCloseAndReport {
        outbox.close_frame(Some(violation.close_code()), violation.as_str());
    }
    Event::Closed(Closed::Violation(violation))
}
