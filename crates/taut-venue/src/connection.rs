//! One client's connection: bytes in, requests out, reports back.

use std::sync::Arc;

use taut_fix::{
    BusinessMessageReject, BusinessRejectReason, CompId, DataTags, Delivery, Dictionaries, Event,
    FieldIndex, FixError, Framed, Limit, Link, LinkConfig, MESSAGE_BYTES_MAX, MemoryStore, Misuse,
    NewOrderSingle, Now, OrderCancelReplaceRequest, OrderCancelRequest, OrderFlow,
    OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest, Peek, Received,
    RequestForPositions, Role, Session, SessionConfig, ShortText, Store, frame, peek, tag,
};
use taut_io::{Completion, Handle, Io, Kernel};
use taut_net::{Arrived, Wire};
use taut_types::Nanos;

use crate::farewell::refusal;
use crate::journal::Sequencer;
use crate::parked::{MESSAGE_BYTES, Parked};
use crate::version::{Answer, FixVersion, InVersion, version_of};

/// What one receive of the loop brings at the most, with what TLS kept of the one before.
const RECEIVE_BYTES: usize = 96 * 1_024;
/// Room for two receives, behind the start of a message.
const INBOX_BYTES: usize = 2 * RECEIVE_BYTES + MESSAGE_BYTES_MAX;
/// The newest reports, which a client may ask for again.
pub const STORE_MESSAGES: usize = 4_096;
const STORE_BYTES: usize = 256 * STORE_MESSAGES;
/// How long a connection may stay without a Logon.
pub const LOGON_TIMEOUT: Nanos = Nanos::from_secs(10);

/// What a client wants.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// To be let in under this CompID. Nothing is answered before the next call.
    LogOn {
        comp_id: CompId,
        /// Its sequence numbers begin: it is not the session that it had before.
        is_new: bool,
    },
    NewOrder(NewOrderSingle),
    Cancel(OrderCancelRequest),
    Replace(OrderCancelReplaceRequest),
    Status(OrderStatusRequest),
    MassStatus(OrderMassStatusRequest),
    MassCancel(OrderMassCancelRequest),
    Positions(RequestForPositions),
    /// To leave, or it is gone.
    Leave,
}

impl Request {
    /// What a typed message asks for, if anything.
    #[inline]
    fn of(flow: OrderFlow<'_>) -> Option<Self> {
        Some(match flow {
            OrderFlow::NewOrderSingle(order) => Self::NewOrder(order),
            OrderFlow::OrderCancelRequest(cancel) => Self::Cancel(cancel),
            OrderFlow::OrderCancelReplaceRequest(replace) => Self::Replace(replace),
            OrderFlow::OrderStatusRequest(status) => Self::Status(status),
            OrderFlow::OrderMassStatusRequest(status) => Self::MassStatus(status),
            OrderFlow::OrderMassCancelRequest(cancel) => Self::MassCancel(cancel),
            OrderFlow::RequestForPositions(request) => Self::Positions(request),
            _ => return None,
        })
    }

    /// What a message asks for that stands in a journal: it was read once before.
    pub fn read(message: &[u8], index: &mut FieldIndex) -> Option<Self> {
        let Ok(Framed::Message(frame)) = frame(message, MESSAGE_BYTES_MAX) else { return None };
        index.fill(&frame).ok()?;
        OrderFlow::decode(message, index).ok().and_then(Self::of)
    }
}

/// What the sessions of a venue have in common.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The venue's name.
    pub comp_id: CompId,
    /// What messages of FIX 4.4 are held against.
    pub dictionaries: Dictionaries,
    /// The versions of FIX in which clients may trade.
    pub versions: Arc<[FixVersion]>,
    /// The most bytes of one write, which is what waits for the loop at the most.
    pub write_bytes_max: usize,
    /// Sequence numbers start again with every connection; otherwise sessions are parked.
    pub reset_on_logon: bool,
    /// Nothing leaves but with a flush: what was sent is written down before.
    pub holds: bool,
    /// Who is let in; everybody where none is named.
    pub members: Arc<[CompId]>,
}

/// A connection over TCP or TLS and, from its Logon on, its FIX session.
#[derive(Debug)]
pub struct Connection {
    stream: Handle,
    /// What its bytes go through where it is over TLS.
    tls: Option<Wire>,
    since: Nanos,
    /// What came before the Logon was whole.
    first: Vec<u8>,
    link: Option<Link<MemoryStore>>,
    /// Whose session it is that was parked.
    resumed: Option<CompId>,
    is_broken: bool,
    /// It is no member's, or speaks a version that is none of the venue's.
    is_turned_away: bool,
    /// What the link had no room for, where nothing may leave before a flush.
    held: Vec<u8>,
    terms: Terms,
    /// The CompID under which it was let in.
    comp_id: Option<CompId>,
}

impl Connection {
    pub const fn new(stream: Handle, tls: Option<Wire>, terms: Terms, now: Now) -> Self {
        Self {
            stream,
            tls,
            since: now.mono,
            first: Vec::new(),
            link: None,
            resumed: None,
            is_broken: false,
            is_turned_away: false,
            held: Vec::new(),
            terms,
            comp_id: None,
        }
    }

    /// Whether it has no session yet.
    pub const fn is_stranger(&self) -> bool {
        self.link.is_none()
    }

    /// Whether it was answered that it gets no session.
    pub const fn is_turned_away(&self) -> bool {
        self.is_turned_away
    }

    /// Lets it in.
    pub const fn let_in(&mut self, comp_id: CompId) {
        self.comp_id = Some(comp_id);
    }

    /// Its session, once it has one.
    pub const fn link_mut(&mut self) -> Option<&mut Link<MemoryStore>> {
        self.link.as_mut()
    }

    /// The version of FIX in which it speaks.
    pub fn version(&self) -> FixVersion {
        self.link.as_ref().map_or(FixVersion::Fix44, version_of)
    }

    /// Its stream on the loop.
    pub const fn stream(&self) -> Handle {
        self.stream
    }

    /// Takes what has arrived; whether there is room for another receive before the next request
    /// is taken out.
    pub fn receive(&mut self, bytes: &[u8]) -> bool {
        match &mut self.link {
            Some(link) => {
                // There was room, and no message is that long: the session has taken it or closed.
                self.is_broken |= !link.receive(bytes);
                link.inbox_free() >= RECEIVE_BYTES
            }
            None => {
                self.first.extend_from_slice(bytes);
                self.first.len() <= RECEIVE_BYTES
            }
        }
    }

    /// Takes a completion of its stream where that is over TLS: what was received, and what it is
    /// over with. Whether there is room, as with [`Connection::receive`].
    pub fn decrypt(&mut self, io: &mut Io<impl Kernel>, completion: &Completion<'_>) -> bool {
        let Some(tls) = &mut self.tls else { return true };
        let Arrived { bytes, has_ended } = tls.handle(io, completion);
        let has_room = bytes.is_empty() || self.receive(&bytes);
        if has_ended || matches!(completion, Completion::Closed { .. }) {
            self.broke();
        }
        has_room
    }

    /// Whether it is over TLS.
    pub const fn is_over_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Ends its stream.
    pub fn close(&mut self, io: &mut Io<impl Kernel>) {
        if let Some(tls) = &mut self.tls {
            tls.close(io);
        }
        // A stream that broke is closed already.
        let _ = io.close(self.stream);
    }

    /// The stream is over.
    pub const fn broke(&mut self) {
        self.is_broken = true;
    }

    /// The next thing that the client wants, out of what was received.
    pub fn next_request(
        &mut self,
        now: Now,
        index: &mut FieldIndex,
        parked: &mut Parked,
        mut sequencer: Option<&mut Sequencer>,
    ) -> Option<Request> {
        if self.link.is_none() {
            self.open_session(now, index, parked);
        }
        if let Some(link) = &mut self.link {
            while let Some(delivery) = link.handle_bytes(now, &mut &[][..], index) {
                if let Some(sequencer) = &mut sequencer {
                    sequencer.hears(&delivery.event, delivery.message);
                }
                let request = request_of(delivery);
                if request.is_some() {
                    return request;
                }
            }
        }
        self.is_over().then_some(Request::Leave)
    }

    /// The connection is gone: its session may be resumed on another one.
    pub fn park(self, now: Now, parked: &mut Parked) {
        if !self.terms.reset_on_logon
            && let Some(client) = self.comp_id.or(self.resumed)
            && let Some(mut link) = self.link
        {
            link.transport_closed(now);
            parked.put(client, link);
        }
    }

    /// Whether there is nothing more to expect from it.
    pub fn is_over(&self) -> bool {
        self.is_broken || self.link.as_ref().is_some_and(Link::is_closed)
    }

    /// Does what the session's clock asks for.
    pub fn handle_timeout(&mut self, now: Now) {
        if self.timeout().is_none_or(|due| now.mono < due) {
            return;
        }
        match &mut self.link {
            None => self.is_broken = true,
            // Its end shows in `is_over`.
            Some(link) => _ = link.handle_timeout(now),
        }
    }

    /// When there is something to do though nothing arrives.
    pub fn timeout(&self) -> Option<Nanos> {
        match &self.link {
            None => Some(self.since + LOGON_TIMEOUT),
            Some(link) if link.is_paused() => Some(Nanos::ZERO),
            Some(link) => link.poll_timeout(),
        }
    }

    /// Sends a report or a refused cancel with the next flush. A session that is logging out takes
    /// none any more.
    pub fn send(&mut self, now: Now, answer: &impl Answer, io: &mut Io<impl Kernel>) -> bool {
        let Some(link) = &mut self.link else { return false };
        let message = &InVersion::new(version_of(link), answer);
        match link.outbox(now).send_message(message) {
            Err(FixError::Limit(Limit::BufferBytes)) => {}
            Err(FixError::Misuse(Misuse::NotLoggedOn)) if !self.terms.reset_on_logon => {
                // It is logging out, and will find what it missed when it is back.
                let mut scratch = [0; MESSAGE_BYTES];
                return link.session_mut().keep_message(now, message, &mut scratch).is_ok();
            }
            sent => return sent.is_ok(),
        }
        // The reports of a sweep may be more than waits at once.
        if self.terms.holds {
            self.held.extend_from_slice(link.unsent());
            link.clear_unsent();
        } else {
            self.flush(io);
        }
        let link = self.link.as_mut();
        link.is_some_and(|link| link.outbox(now).send_message(message).is_ok())
    }

    /// As [`Connection::flush`], with what the session itself wants to send.
    pub fn transmit(&mut self, now: Now, io: &mut Io<impl Kernel>) {
        if let Some(link) = &mut self.link {
            link.poll_transmit(now);
        }
        self.flush(io);
    }

    /// Gives what waits to the loop, which keeps what the kernel does not take.
    #[inline]
    pub fn flush(&mut self, io: &mut Io<impl Kernel>) {
        let bytes = self.link.as_ref().map_or(&[][..], Link::unsent);
        if bytes.is_empty() && self.held.is_empty() {
            return;
        }
        let held = self.held.chunks(self.terms.write_bytes_max);
        // The loop takes a write whole, or refuses it: what a client that does not read would make
        // it keep.
        for chunk in held.chain(bytes.chunks(self.terms.write_bytes_max)) {
            let is_taken = match &mut self.tls {
                None => io.write(self.stream, chunk, None).is_ok(),
                Some(tls) => tls.write(io, chunk) == chunk.len(),
            };
            if !is_taken {
                // What is behind it would follow a hole.
                self.is_broken = true;
                break;
            }
        }
        if let Some(link) = &mut self.link {
            link.clear_unsent();
        }
        self.held.clear();
    }

    /// Opens a session for whoever the Logon names. What is no Logon, or is for somebody else, is
    /// not answered.
    #[cold]
    fn open_session(&mut self, now: Now, index: &mut FieldIndex, parked: &mut Parked) {
        let logon = match peek(&self.first, MESSAGE_BYTES_MAX, index, DataTags::STANDARD) {
            Peek::NeedMore => return,
            Peek::Logon { begin, sender, target } if target == self.terms.comp_id.as_bytes() => {
                CompId::new(sender).map(|client| (begin, client))
            }
            _ => None,
        };
        let Some((begin, client)) = logon else {
            self.is_broken = true;
            return;
        };
        let value = |tag| index.find(tag).map(|slot| slot.value(&self.first));
        let is_reset = value(tag::RESET_SEQ_NUM_FLAG) == Some(b"Y");
        let version = FixVersion::of_logon(begin, value(tag::DEFAULT_APPL_VER_ID));
        let version = match self.terms.admit(client, version, is_reset, parked) {
            Ok(version) => version,
            Err(text) => {
                (self.is_turned_away, self.is_broken) = (true, true);
                self.held = refusal(now, begin, [self.terms.comp_id, client], &text);
                return;
            }
        };
        // A session of another version stays where it is until this one is parked in its place.
        let resumed = parked.take_if(client, |link| version_of(link) == version);
        self.resumed = resumed.is_some().then_some(client);
        let mut link = resumed.unwrap_or_else(|| self.terms.link_with(client, version));
        link.connect(now);
        self.is_broken |= !link.receive(&std::mem::take(&mut self.first));
        self.link = Some(link);
    }
}

/// What a message asks for, if anything: what cannot be asked for is answered.
fn request_of(delivery: Delivery<'_, MemoryStore>) -> Option<Request> {
    let Delivery { event, message, mut outbox } = delivery;
    match event {
        Event::LoggedOn => {
            let session = outbox.session();
            let comp_id = session.config().target_comp_id;
            // The Logon is counted: it was number 1.
            Some(Request::LogOn { comp_id, is_new: session.store().next_incoming() <= 2 })
        }
        Event::LoggedOut | Event::Disconnect(_) => Some(Request::Leave),
        Event::Application { sequence, .. } => match message.order_flow() {
            Ok(flow) => {
                let version = FixVersion::of_session(outbox.session().config().begin);
                let is_known = version.has_request(message.msg_type());
                let request = Request::of(flow).filter(|_| is_known);
                if request.is_none() {
                    // A session that is logging out takes no answer any more.
                    let _ = type_refusal(sequence, message).map(|it| outbox.send_message(&it));
                }
                request
            }
            Err(error) => {
                outbox.refuse_content(sequence, message.msg_type(), error);
                None
            }
        },
        _ => None,
    }
}

fn type_refusal(sequence: u64, message: Received<'_>) -> Option<BusinessMessageReject<'static>> {
    Some(BusinessMessageReject {
        ref_sequence: sequence,
        ref_msg_type: ShortText::new(message.msg_type())?,
        ref_id: None,
        reason: BusinessRejectReason::UnsupportedMessageType,
        text: b"a venue takes orders and requests about them",
    })
}

impl Terms {
    /// The version in which a client may trade, or why it may not.
    fn admit(
        &self,
        client: CompId,
        version: Option<FixVersion>,
        is_reset: bool,
        parked: &mut Parked,
    ) -> Result<FixVersion, String> {
        if !self.members.is_empty() && !self.members.contains(&client) {
            return Err(format!("CompID {client} is not a member here"));
        }
        let Some(version) = version.filter(|version| self.versions.contains(version)) else {
            let names: Vec<&str> = self.versions.iter().map(|it| it.as_str()).collect();
            return Err(format!("this venue speaks {}", names.join(", ")));
        };
        let left = parked.link(client).map(|link| version_of(link));
        match left.filter(|left| *left != version && !is_reset) {
            None => Ok(version),
            Some(left) => Err(format!(
                "CompID {client} has a session of {} here: ResetSeqNumFlag (141) Y ends that one",
                left.as_str()
            )),
        }
    }

    /// A new session with this client, before its connection.
    pub fn link_with(&self, client: CompId, version: FixVersion) -> Link<MemoryStore> {
        let store = MemoryStore::new(STORE_MESSAGES, STORE_BYTES);
        let sizes = LinkConfig::fixed(INBOX_BYTES, self.write_bytes_max, MESSAGE_BYTES);
        Link::new(Session::new(self.session_with(client, version), store), &sizes)
    }

    fn session_with(&self, client: CompId, version: FixVersion) -> SessionConfig {
        let is_listed = version == FixVersion::Fix44;
        SessionConfig {
            dictionaries: is_listed.then(|| self.dictionaries.clone()),
            default_application_version: version.application_version(),
            logon_timeout: LOGON_TIMEOUT,
            logout_timeout: Nanos::from_secs(10),
            resend_timeout: Nanos::from_secs(30),
            reset_on_logon: self.reset_on_logon,
            ..SessionConfig::new(Role::Acceptor, version.begin(), self.comp_id, client)
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_fix::{BeginString, fix44};
    use taut_io::{EpollKernel, EventLoop, LoopConfig};
    use taut_sys::Socket;

    use super::*;

    /// A connection whose client, which is a link of its own, has logged on.
    fn logged_on(stream: Handle, index: &mut FieldIndex) -> Connection {
        let name = |text: &[u8]| CompId::new(text).unwrap();
        let dictionaries = Dictionaries::one(Arc::new(fix44().unwrap()));
        let terms = Terms {
            comp_id: name(b"VENUE"),
            dictionaries,
            versions: FixVersion::ALL.into(),
            write_bytes_max: 32 * 1_024,
            reset_on_logon: true,
            holds: false,
            members: Arc::default(),
        };
        let (us, them) = (name(b"CLIENT"), name(b"VENUE"));
        let config = SessionConfig::new(Role::Initiator, BeginString::Fix44, us, them);
        let session = Session::new(config, MemoryStore::new(1, 256));
        let mut client = Link::new(session, &LinkConfig::default());
        client.connect(Now::default());
        let mut connection = Connection::new(stream, None, terms, Now::default());
        assert!(connection.receive(client.poll_transmit(Now::default())));
        let request = connection.next_request(Now::default(), index, &mut Parked::new(), None);
        assert!(matches!(request, Some(Request::LogOn { comp_id, is_new: true }) if comp_id == us));
        connection
    }

    #[test]
    fn a_write_that_is_refused_lets_nothing_behind_it_through() {
        const LIMIT: usize = 40_000;
        let sizes = LoopConfig { sources_max: 1, write_bytes_max: LIMIT, ..LoopConfig::default() };
        let mut events = EventLoop::new(EpollKernel::new(1).unwrap(), sizes).unwrap();
        let io = events.io();
        let (near, _far) = Socket::pair().unwrap();
        let stream = io.adopt(near).unwrap();
        let mut connection = logged_on(stream, &mut FieldIndex::with_capacity(64));
        // The peer does not read: the kernel takes no more, and the loop keeps what it may.
        while io.unsent_bytes(stream).unwrap() < 8_000 {
            io.write(stream, &[b'x'; 10_000], None).unwrap();
        }
        let left = LIMIT - 20 - io.unsent_bytes(stream).unwrap();
        io.write(stream, &vec![b'x'; left], None).unwrap();
        // The Logon's answer goes in two pieces, and only the second would fit.
        let answer = connection.link.as_mut().unwrap().poll_transmit(Now::default()).len();
        connection.terms.write_bytes_max = answer - 10;
        connection.flush(io);
        assert!(connection.is_over(), "the client is too slow");
        assert_eq!(io.unsent_bytes(stream), Ok(LIMIT - 20), "a piece went without its first one");
    }
}
