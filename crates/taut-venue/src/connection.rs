//! One client's connection: bytes in, requests out, reports back.

use taut_fix::{
    BeginString, BusinessMessageReject, BusinessRejectReason, CompId, DataTags, Dictionaries,
    Event, ExecutionReport, FieldIndex, MESSAGE_BYTES_MAX, MemoryStore, NewOrderSingle, Now,
    OrderCancelReject, OrderCancelRequest, OrderFlow, Peek, Role, Session, SessionConfig,
    ShortText, TypedMessage, msg_type, peek,
};
use taut_io::{ByteBuffer, EpollKernel, Handle, Io};
use taut_types::Nanos;

/// What one receive of the loop brings at the most.
const RECEIVE_BYTES: usize = 64 * 1_024;
/// Room for two receives, behind the start of a message.
const INPUT_BYTES: usize = 2 * RECEIVE_BYTES + MESSAGE_BYTES_MAX;
/// Room for reports that are sent together, before it must grow.
const OUTPUT_BYTES: usize = 32 * 1_024;
/// Room for one message that is sent; the longest report has about 500 bytes.
const MESSAGE_BYTES: usize = 1_024;
/// Fields of a message.
const FIELDS_MAX: usize = 128;
/// The newest reports, which a client may ask for again.
const STORE_MESSAGES: usize = 4_096;
const STORE_BYTES: usize = 256 * STORE_MESSAGES;
/// How long a connection may stay without a Logon.
const LOGON_TIMEOUT: Nanos = Nanos::from_secs(10);

/// What a client wants.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// To be let in under this CompID. Nothing is answered before the next call.
    LogOn(CompId),
    NewOrder(NewOrderSingle),
    Cancel(OrderCancelRequest),
    /// To leave, or it is gone.
    Leave,
}

/// What the sessions of a venue have in common.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The venue's name.
    pub comp_id: CompId,
    /// What messages are held against.
    pub dictionaries: Dictionaries,
    /// The most bytes of one write.
    pub write_bytes_max: usize,
}

/// A TCP connection and, from its Logon on, its FIX session.
#[derive(Debug)]
pub struct Connection {
    stream: Handle,
    fix: Option<Session<MemoryStore>>,
    since: Nanos,
    index: FieldIndex,
    input: ByteBuffer,
    /// Room for a message that came before its turn.
    held: Box<[u8]>,
    message: Box<[u8; MESSAGE_BYTES]>,
    /// What the loop has not been given yet.
    output: Vec<u8>,
    is_broken: bool,
    terms: Terms,
    /// The CompID under which it was let in.
    comp_id: Option<CompId>,
}

impl Connection {
    pub fn new(stream: Handle, terms: Terms, now: Now) -> Self {
        Self {
            stream,
            fix: None,
            since: now.mono,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            input: ByteBuffer::new(INPUT_BYTES),
            held: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            message: Box::new([0; MESSAGE_BYTES]),
            output: Vec::with_capacity(OUTPUT_BYTES),
            is_broken: false,
            terms,
            comp_id: None,
        }
    }

    /// The CompID under which it was let in.
    pub const fn comp_id(&self) -> Option<CompId> {
        self.comp_id
    }

    /// Lets it in.
    pub const fn let_in(&mut self, comp_id: CompId) {
        self.comp_id = Some(comp_id);
    }

    /// Its stream on the loop.
    pub const fn stream(&self) -> Handle {
        self.stream
    }

    /// Takes what has arrived; whether there is room for another receive before the next request
    /// is taken out.
    pub fn receive(&mut self, bytes: &[u8]) -> bool {
        // There was room, and no message is that long: the session has consumed it or closed.
        self.is_broken |= !self.input.write(bytes);
        self.input.commit_all();
        self.input.free() >= RECEIVE_BYTES
    }

    /// The stream is over.
    pub const fn broke(&mut self) {
        self.is_broken = true;
    }

    /// The next thing that the client wants, out of what was received.
    pub fn next_request(&mut self, now: Now) -> Option<Request> {
        if self.fix.is_none() {
            self.meet(now);
        }
        self.transmit(now);
        loop {
            let (worked, request) = self.step(now);
            if request.is_some() {
                return request;
            }
            self.transmit(now);
            if !worked {
                return self.is_over().then_some(Request::Leave);
            }
        }
    }

    /// Whether there is nothing more to expect from it.
    pub fn is_over(&self) -> bool {
        self.is_broken || self.fix.as_ref().is_some_and(Session::is_closed)
    }

    /// Does what the session's clock asks for.
    pub fn handle_timeout(&mut self, now: Now) {
        if self.timeout().is_none_or(|due| now.mono < due) {
            return;
        }
        match &mut self.fix {
            None => self.is_broken = true,
            Some(fix) => {
                // Its end shows in `is_over`.
                let _ = fix.handle_timeout(now);
                self.transmit(now);
            }
        }
    }

    /// When [`Connection::handle_timeout`] is due.
    pub fn timeout(&self) -> Option<Nanos> {
        match &self.fix {
            None => Some(self.since + LOGON_TIMEOUT),
            Some(fix) => fix.poll_timeout(),
        }
    }

    /// Adds a report to the output.
    pub fn report(&mut self, now: Now, report: &ExecutionReport<'_>) -> bool {
        self.append(now, report)
    }

    /// Adds a refused cancel to the output.
    pub fn cancel_reject(&mut self, now: Now, reject: &OrderCancelReject<'_>) -> bool {
        self.append(now, reject)
    }

    /// Moves what the session wants to send to the output.
    pub fn transmit(&mut self, now: Now) {
        let Some(fix) = &mut self.fix else { return };
        while let Some(range) = fix.poll_transmit(now, self.message.as_mut_slice()) {
            self.output.extend_from_slice(self.message.get(range).unwrap_or_default());
        }
    }

    /// Gives the output to the loop, which keeps what the kernel does not take.
    #[inline]
    pub fn flush(&mut self, io: &mut Io<EpollKernel>) {
        if self.output.is_empty() {
            return;
        }
        // The loop takes a write whole, or refuses it: what a client that does not read would make
        // it keep. The reports of a sweep may be more than it keeps at once.
        for chunk in self.output.chunks(self.terms.write_bytes_max) {
            if io.write(self.stream, chunk, None).is_err() {
                // What is behind it would follow a hole.
                self.is_broken = true;
                break;
            }
        }
        self.output.clear();
    }

    /// Opens a session for whoever the Logon names. What is no Logon, or is for somebody else, is
    /// not answered.
    #[cold]
    fn meet(&mut self, now: Now) {
        let bytes = self.input.readable();
        let client = match peek(bytes, MESSAGE_BYTES_MAX, &mut self.index, DataTags::STANDARD) {
            Peek::NeedMore => return,
            Peek::Logon { begin: BeginString::Fix44, sender, target }
                if target == self.terms.comp_id.as_bytes() =>
            {
                CompId::new(sender)
            }
            _ => None,
        };
        let Some(client) = client else {
            self.is_broken = true;
            return;
        };
        let store = MemoryStore::new(STORE_MESSAGES, STORE_BYTES);
        let mut fix = Session::new(self.terms.session_with(client), store);
        fix.connect(now);
        self.fix = Some(fix);
    }

    /// Handles one message: whether there was one, and what it asks for.
    fn step(&mut self, now: Now) -> (bool, Option<Request>) {
        let Some(fix) = &mut self.fix else { return (false, None) };
        let held = fix.take_held(&mut self.held);
        let bytes = match held {
            Some(len) => self.held.get(..len).unwrap_or_default(),
            None => self.input.readable(),
        };
        let made = fix.handle_bytes(now, bytes, &mut self.index);
        let request = match made.event {
            Some(Event::LoggedOn) => Some(Request::LogOn(fix.config().target_comp_id)),
            Some(Event::LoggedOut | Event::Disconnect(_)) => Some(Request::Leave),
            Some(Event::Application { sequence, .. }) => {
                let message = bytes.get(..made.consumed).unwrap_or_default();
                let msg_type = msg_type(message, &self.index);
                match OrderFlow::decode(message, &self.index) {
                    Ok(OrderFlow::NewOrderSingle(order)) => Some(Request::NewOrder(order)),
                    Ok(OrderFlow::OrderCancelRequest(cancel)) => Some(Request::Cancel(cancel)),
                    Ok(_) => {
                        let refused = ShortText::new(msg_type);
                        self.refuse_type(now, sequence, refused);
                        None
                    }
                    Err(error) => {
                        fix.refuse_content(sequence, msg_type, error);
                        None
                    }
                }
            }
            _ => None,
        };
        if held.is_none() {
            self.input.consume(made.consumed);
        }
        (made.consumed > 0, request)
    }

    fn refuse_type(&mut self, now: Now, ref_sequence: u64, msg_type: Option<ShortText>) {
        let Some(ref_msg_type) = msg_type else { return };
        let reject = BusinessMessageReject {
            ref_sequence,
            ref_msg_type,
            ref_id: None,
            reason: BusinessRejectReason::UnsupportedMessageType,
            text: b"a venue takes orders and cancel requests",
        };
        self.append(now, &reject);
    }

    /// Adds a message to the output. A session that is logging out takes none any more.
    fn append(&mut self, now: Now, message: &impl TypedMessage) -> bool {
        let Some(fix) = &mut self.fix else { return false };
        let Ok(range) = fix.send_message(now, message, self.message.as_mut_slice()) else {
            return false;
        };
        self.output.extend_from_slice(self.message.get(range).unwrap_or_default());
        true
    }
}

impl Terms {
    /// A session with this client; the numbers start again with every connection.
    fn session_with(&self, client: CompId) -> SessionConfig {
        SessionConfig {
            dictionaries: Some(self.dictionaries.clone()),
            logon_timeout: LOGON_TIMEOUT,
            logout_timeout: Nanos::from_secs(10),
            resend_timeout: Nanos::from_secs(30),
            reset_on_logon: true,
            ..SessionConfig::new(Role::Acceptor, BeginString::Fix44, self.comp_id, client)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taut_fix::fix44;
    use taut_io::{EventLoop, LoopConfig};
    use taut_sys::Socket;

    use super::*;

    #[test]
    fn a_write_that_is_refused_lets_nothing_behind_it_through() {
        let sizes = LoopConfig { sources_max: 1, write_bytes_max: 40_000, ..LoopConfig::default() };
        let mut events = EventLoop::new(EpollKernel::new(1).unwrap(), sizes).unwrap();
        let io = events.io();
        let (near, _far) = Socket::pair().unwrap();
        let stream = io.adopt(near).unwrap();
        let dictionaries = Dictionaries::one(Arc::new(fix44().unwrap()));
        let comp_id = CompId::new(b"VENUE").unwrap();
        let terms = Terms { comp_id, dictionaries, write_bytes_max: 32 * 1_024 };
        let mut connection = Connection::new(stream, terms, Now::default());
        // The peer does not read: the kernel takes no more, and the loop keeps what it may.
        while io.unsent_bytes(stream).unwrap() < 8_000 {
            io.write(stream, &[b'x'; 10_000], None).unwrap();
        }
        let waiting = io.unsent_bytes(stream).unwrap();
        connection.output = vec![b'y'; 32 * 1_024 + 1_000];
        connection.flush(io);
        assert!(connection.is_over(), "the client is too slow");
        assert_eq!(io.unsent_bytes(stream), Ok(waiting), "a piece went without the one before it");
    }
}
