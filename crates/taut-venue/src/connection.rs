//! One client's connection: bytes in, requests out, reports back.

use std::os::fd::{AsFd, BorrowedFd};

use taut_fix::{
    BeginString, BusinessMessageReject, BusinessRejectReason, CompId, Dictionaries, Event,
    ExecutionReport, FieldIndex, MESSAGE_BYTES_MAX, MemoryStore, NewOrderSingle, Now,
    OrderCancelReject, OrderCancelRequest, OrderFlow, Peek, Role, Session, SessionConfig,
    ShortText, TypedMessage, msg_type, peek,
};
use taut_sys::TcpStream;
use taut_types::Nanos;

/// Room for received bytes: some whole messages of the largest size.
const INPUT_BYTES: usize = 4 * MESSAGE_BYTES_MAX;
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
    /// Unread output beyond this ends a connection.
    pub output_bytes_max: usize,
}

/// A TCP connection and, from its Logon on, its FIX session.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    fix: Option<Session<MemoryStore>>,
    since: Nanos,
    index: FieldIndex,
    input: Box<[u8]>,
    /// What of the input is handled, and what is there.
    read: usize,
    filled: usize,
    /// Room for a message that came before its turn.
    held: Box<[u8]>,
    message: Box<[u8; MESSAGE_BYTES]>,
    /// Bytes that the kernel has not taken yet start at `sent`.
    output: Vec<u8>,
    sent: usize,
    is_broken: bool,
    terms: Terms,
    /// The CompID under which it was let in.
    comp_id: Option<CompId>,
}

impl Connection {
    pub fn new(stream: TcpStream, terms: Terms, now: Now) -> Self {
        Self {
            stream,
            fix: None,
            since: now.mono,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            read: 0,
            filled: 0,
            held: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            message: Box::new([0; MESSAGE_BYTES]),
            output: Vec::with_capacity(INPUT_BYTES),
            sent: 0,
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

    /// Takes what has arrived, once. Cost: one system call.
    pub fn receive(&mut self) -> bool {
        if self.read > 0 {
            self.input.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        if room.is_empty() {
            // No message is that long: the session would have consumed it or closed.
            self.is_broken = true;
            return true;
        }
        match self.stream.recv(room) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => {
                self.is_broken = true;
                true
            }
            Ok(Some(bytes)) => {
                self.filled += bytes;
                true
            }
        }
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
                self.flush();
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

    /// Whether the kernel has not taken all of the output.
    pub const fn has_output(&self) -> bool {
        self.sent < self.output.len()
    }

    /// Offers the output to the kernel.
    pub fn flush(&mut self) {
        while self.has_output() && !self.is_broken {
            let rest = self.output.get(self.sent..).unwrap_or_default();
            match self.stream.send(rest) {
                Ok(0) => break,
                Ok(bytes) => self.sent += bytes,
                Err(_) => self.is_broken = true,
            }
        }
        if !self.has_output() {
            self.output.clear();
            self.sent = 0;
        } else if self.output.len() - self.sent > self.terms.output_bytes_max {
            self.is_broken = true;
        } else if self.sent > self.output.len() / 2 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Opens a session for whoever the Logon names. What is no Logon, or is for somebody else, is
    /// not answered.
    #[cold]
    fn meet(&mut self, now: Now) {
        let bytes = self.input.get(self.read..self.filled).unwrap_or_default();
        let client = match peek(bytes, MESSAGE_BYTES_MAX, &mut self.index) {
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
            Some(len) => self.held.get(..len),
            None => self.input.get(self.read..self.filled),
        };
        let bytes = bytes.unwrap_or_default();
        let made = fix.handle_bytes(now, bytes, &mut self.index);
        if held.is_none() {
            self.read += made.consumed;
        }
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

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
