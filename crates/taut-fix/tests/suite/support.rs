//! What the tests share: texts, sessions, messages written by hand, and two joined sessions.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use taut_fix::{
    BeginString, CompId, Counters, Dictionaries, DisconnectReason, Event, ExecType,
    ExecutionReport, FieldIndex, FixError, InlineText, MESSAGE_BYTES_MAX, MemoryStore,
    NewOrderSingle, Now, OrdStatus, OrderCancelRequest, OrderFlow, Role, Session, SessionConfig,
    ShortText, State, Store, TypedMessage, fix44, msg_type,
};
use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

/// 2026-03-02 09:30:00 UTC.
pub const START_UTC: i64 = 1_772_443_800_000_000_000;

pub fn text<const N: usize>(text: &str) -> InlineText<N> {
    InlineText::new(text.as_bytes()).expect("a short text")
}

pub fn at(seconds: f64) -> Now {
    let passed = Nanos((seconds * 1e9) as i64);
    Now { mono: Nanos(1_000) + passed, utc: Nanos(START_UTC) + passed }
}

pub fn comp_id(name: &str) -> CompId {
    CompId::new(name.as_bytes()).expect("a name")
}

/// The habits of these tests: full validation, numbers that start again with each connection.
pub fn config(role: Role) -> SessionConfig {
    static DICTIONARIES: OnceLock<Dictionaries> = OnceLock::new();
    let dictionaries =
        DICTIONARIES.get_or_init(|| Dictionaries::one(Arc::new(fix44().expect("the tables"))));
    let (us, them) = match role {
        Role::Initiator => (comp_id("BUYER"), comp_id("VENUE")),
        Role::Acceptor => (comp_id("VENUE"), comp_id("BUYER")),
    };
    SessionConfig {
        dictionaries: Some(dictionaries.clone()),
        logout_timeout: Nanos::from_secs(10),
        resend_timeout: Nanos::from_secs(30),
        reset_on_logon: true,
        ..SessionConfig::new(role, BeginString::Fix44, us, them)
    }
}

pub fn initiator(heartbeat_secs: i64) -> Driver {
    let heartbeat_interval = Nanos::from_secs(heartbeat_secs);
    Driver::new(SessionConfig { heartbeat_interval, ..config(Role::Initiator) })
}

pub fn acceptor() -> Driver {
    Driver::new(config(Role::Acceptor))
}

/// A session and the driver of an application that trades: what it cannot read it refuses.
pub struct Driver {
    pub session: Session<MemoryStore>,
    index: FieldIndex,
    held: Vec<u8>,
}

/// What happened, with the message's meaning.
#[expect(clippy::large_enum_variant, reason = "borrows from a message and is looked at once")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told<'a> {
    LoggedOn,
    Flow(OrderFlow<'a>),
    LoggedOut { text: &'a [u8] },
    Disconnect(DisconnectReason),
}

/// Where a message stood in the stream: number, PossDupFlag, PossResend.
pub type Info = (u64, bool, bool);

pub struct Handled<'a> {
    pub consumed: usize,
    pub event: Option<Told<'a>>,
    pub info: Option<Info>,
}

impl Driver {
    pub fn new(config: SessionConfig) -> Self {
        let session = Session::new(config, MemoryStore::new(256, 64 << 10));
        Self { session, index: FieldIndex::with_capacity(256), held: vec![0; MESSAGE_BYTES_MAX] }
    }

    pub fn handle_bytes<'a>(&mut self, now: Now, bytes: &'a [u8]) -> Handled<'a> {
        let made = self.session.handle_bytes(now, bytes, &mut self.index);
        let message = bytes.get(..made.consumed).unwrap_or_default();
        let mut info = None;
        let event = match made.event {
            None => None,
            Some(Event::LoggedOn) => Some(Told::LoggedOn),
            Some(Event::Rejected) => OrderFlow::decode(message, &self.index).ok().map(Told::Flow),
            Some(Event::LoggedOut) => {
                let text = self.index.find(58).map_or(&[][..], |slot| slot.value(message));
                Some(Told::LoggedOut { text })
            }
            Some(Event::Disconnect(reason)) => Some(Told::Disconnect(reason)),
            Some(Event::Application { sequence, poss_dup, poss_resend }) => {
                info = Some((sequence, poss_dup, poss_resend));
                let msg_type = msg_type(message, &self.index);
                match OrderFlow::decode(message, &self.index) {
                    Ok(OrderFlow::Other) => {
                        self.session.refuse_type(sequence, msg_type);
                        None
                    }
                    Ok(flow) => Some(Told::Flow(flow)),
                    Err(error) => {
                        self.session.refuse_content(sequence, msg_type, error);
                        None
                    }
                }
            }
            Some(other) => panic!("{other:?}"),
        };
        Handled { consumed: made.consumed, event, info }
    }

    /// The next message that came before its turn and whose turn it is.
    pub fn take_held(&mut self) -> Option<Vec<u8>> {
        let len = self.session.take_held(&mut self.held)?;
        Some(self.held[..len].to_vec())
    }

    pub fn send(
        &mut self,
        now: Now,
        message: &impl TypedMessage,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.session.send_message(now, message, out)
    }

    pub fn poll_transmit(&mut self, now: Now, out: &mut [u8]) -> Option<Range<usize>> {
        self.session.poll_transmit(now, out)
    }

    pub fn connect(&mut self, now: Now) {
        self.session.connect(now);
    }

    pub fn transport_closed(&mut self, now: Now) {
        self.session.transport_closed(now);
    }

    pub fn logout(&mut self, now: Now, text: &'static str) -> Option<Event> {
        self.session.logout(now, text)
    }

    pub fn handle_timeout(&mut self, now: Now) -> Option<Event> {
        self.session.handle_timeout(now)
    }

    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.session.poll_timeout()
    }

    pub fn is_active(&self) -> bool {
        self.session.is_active()
    }

    pub fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    pub fn state(&self) -> State {
        self.session.state()
    }

    pub fn counters(&self) -> Counters {
        self.session.counters()
    }

    pub fn next_outgoing(&self) -> u64 {
        self.session.store().next_outgoing()
    }

    /// What is reported counts when the driver comes back: that is now.
    pub fn next_expected(&mut self) -> u64 {
        self.session.handle_timeout(Now { mono: Nanos::ZERO, utc: Nanos::ZERO });
        self.session.store().next_incoming()
    }
}

/// Wraps a body (`|` for the delimiter, from `35=` on) with its length and sum.
pub fn message(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\x01");
    let mut text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    text += &format!("10={sum:03}\x01");
    text.into_bytes()
}

/// `|` for the delimiter.
pub fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\x01', "|")
}

/// All that the session wants sent, without the prefix and the sum.
pub fn sent(session: &mut Driver, now: Now) -> Vec<String> {
    let mut out = [0; 1024];
    let mut bodies = Vec::new();
    while let Some(range) = session.poll_transmit(now, &mut out) {
        bodies.push(body(&out[range]));
    }
    bodies
}

/// A message from `35=` to before `10=`.
pub fn body(message: &[u8]) -> String {
    let text = shown(message);
    let from = text.find("|35=").expect("a type") + 1;
    let to = text.rfind("|10=").expect("a sum") + 1;
    text[from..to].to_string()
}

pub fn order(id: u64, now: Now) -> NewOrderSingle {
    NewOrderSingle {
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
        cl_ord_id: ShortText::from_u64(id),
        symbol: text("AAPL"),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Some(Price(585_330_000_000)),
        qty: Qty::whole(100),
        transact_time: now.utc,
    }
}

pub fn cancel(id: u64, of: u64, now: Now) -> OrderCancelRequest {
    OrderCancelRequest {
        cl_ord_id: ShortText::from_u64(id),
        orig_cl_ord_id: ShortText::from_u64(of),
        symbol: text("AAPL"),
        side: Side::Buy,
        qty: Qty::whole(100),
        transact_time: now.utc,
    }
}

pub fn report(order: &NewOrderSingle, now: Now) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: text("V1"),
        exec_id: text("E1"),
        cl_ord_id: Some(order.cl_ord_id.into()),
        orig_cl_ord_id: None,
        exec_ref_id: None,
        exec_trans_type: None,
        account: None,
        price: None,
        mass_status: None,
        charges: taut_fix::Charges::NONE,
        exec_type: ExecType::Trade,
        ord_status: OrdStatus::PartiallyFilled,
        symbol: Some(order.symbol.into()),
        side: order.side,
        order_qty: Some(order.qty),
        last_qty: Qty::whole(40),
        last_price: order.price,
        leaves_qty: Qty::whole(order.qty.mantissa - 40),
        cum_qty: Qty::whole(40),
        avg_price: Some(order.price.unwrap_or_default()),
        ord_rej_reason: None,
        text: b"",
        transact_time: Some(now.utc),
    }
}

/// Two sessions joined in memory on one virtual clock.
pub struct Pair {
    pub buyer: Driver,
    pub venue: Driver,
    pub now: f64,
    to_venue: VecDeque<Vec<u8>>,
    to_buyer: VecDeque<Vec<u8>>,
    /// What happened, in words, in order.
    pub log: Vec<String>,
    /// Messages that went over the wire, either way: their types.
    pub wire: Vec<String>,
    /// Drop every message that goes to the venue, or to the buyer.
    pub venue_is_deaf: bool,
    pub buyer_is_deaf: bool,
}

impl Pair {
    pub fn new(heartbeat_secs: i64) -> Self {
        let (buyer, venue) = (initiator(heartbeat_secs), acceptor());
        let (to_venue, to_buyer) = (VecDeque::new(), VecDeque::new());
        let (log, wire) = (Vec::new(), Vec::new());
        let (venue_is_deaf, buyer_is_deaf) = (false, false);
        Self { buyer, venue, now: 0.0, to_venue, to_buyer, log, wire, venue_is_deaf, buyer_is_deaf }
    }

    pub fn connect(&mut self) {
        self.buyer.connect(at(self.now));
        self.venue.connect(at(self.now));
        self.settle();
    }

    pub fn time(&self) -> Now {
        at(self.now)
    }

    pub fn send_to_venue(&mut self, bytes: &[u8]) {
        self.to_venue.push_back(bytes.to_vec());
    }

    pub fn send_to_buyer(&mut self, bytes: &[u8]) {
        self.to_buyer.push_back(bytes.to_vec());
    }

    /// Moves bytes until neither side has anything to say.
    pub fn settle(&mut self) {
        loop {
            self.collect();
            let to_venue: Vec<Vec<u8>> = self.to_venue.drain(..).collect();
            let to_buyer: Vec<Vec<u8>> = self.to_buyer.drain(..).collect();
            if to_venue.is_empty() && to_buyer.is_empty() {
                break;
            }
            for bytes in to_venue {
                self.wire.push(format!("> {}", body(&bytes)));
                if !self.venue_is_deaf {
                    let now = self.time();
                    feed(&mut self.venue, now, &bytes, "venue", &mut self.log, &mut self.to_buyer);
                }
            }
            for bytes in to_buyer {
                self.wire.push(format!("< {}", body(&bytes)));
                if !self.buyer_is_deaf {
                    let now = self.time();
                    feed(&mut self.buyer, now, &bytes, "buyer", &mut self.log, &mut self.to_venue);
                }
            }
        }
    }

    fn collect(&mut self) {
        let now = self.time();
        drain(&mut self.buyer, now, &mut self.to_venue);
        drain(&mut self.venue, now, &mut self.to_buyer);
    }

    /// Lets virtual time pass, from deadline to deadline.
    pub fn run_until(&mut self, end: f64) {
        loop {
            let due = [self.buyer.poll_timeout(), self.venue.poll_timeout()];
            let next = due.into_iter().flatten().min().map(|due| (due.0 - 1_000) as f64 / 1e9);
            match next {
                Some(next) if next <= end => self.now = self.now.max(next) + 1e-6,
                _ => break,
            }
            let now = self.time();
            for (session, name) in [(&mut self.buyer, "buyer"), (&mut self.venue, "venue")] {
                if let Some(event) = session.handle_timeout(now) {
                    self.log.push(format!("{name} {}", told_end(event)));
                }
            }
            self.settle();
        }
        self.now = end;
    }

    pub fn count(&self, beginning: &str) -> usize {
        self.wire.iter().filter(|message| message.starts_with(beginning)).count()
    }
}

fn drain(session: &mut Driver, now: Now, wire: &mut VecDeque<Vec<u8>>) {
    let mut out = [0; 512];
    while let Some(range) = session.poll_transmit(now, &mut out) {
        wire.push_back(out[range].to_vec());
    }
}

fn feed(
    session: &mut Driver,
    now: Now,
    bytes: &[u8],
    name: &str,
    log: &mut Vec<String>,
    wire: &mut VecDeque<Vec<u8>>,
) {
    let mut at = 0;
    loop {
        let handled = session.handle_bytes(now, &bytes[at..]);
        let consumed = handled.consumed;
        at += consumed;
        if let Some(event) = handled.event {
            log.push(format!("{name} {}", told(&event)));
        }
        drain(session, now, wire);
        while let Some(held) = session.take_held() {
            if let Some(event) = session.handle_bytes(now, &held).event {
                log.push(format!("{name} {}", told(&event)));
            }
            drain(session, now, wire);
        }
        if consumed == 0 {
            break;
        }
    }
}

/// An event in a few words.
pub fn told(event: &Told<'_>) -> String {
    match event {
        Told::LoggedOn => "logged on".to_string(),
        Told::Flow(OrderFlow::NewOrderSingle(order)) => format!("order {}", order.cl_ord_id),
        Told::Flow(OrderFlow::OrderCancelRequest(cancel)) => {
            format!("cancel of {}", cancel.orig_cl_ord_id)
        }
        Told::Flow(OrderFlow::ExecutionReport(report)) => {
            let of = report.cl_ord_id.map_or("nothing".into(), |id| id.to_string());
            format!("report {:?} of {of}", report.exec_type)
        }
        Told::Flow(OrderFlow::OrderCancelReject(reject)) => {
            format!("cancel reject of {}", reject.cl_ord_id)
        }
        Told::Flow(OrderFlow::Reject(reject)) => format!("rejected {}", reject.ref_sequence),
        Told::Flow(OrderFlow::BusinessMessageReject(reject)) => {
            format!("business rejected {}", reject.ref_sequence)
        }
        Told::Flow(other) => format!("{other:?}"),
        Told::LoggedOut { text } => format!("logged out [{}]", shown(text)),
        Told::Disconnect(reason) => told_reason(*reason),
    }
}

fn told_reason(reason: DisconnectReason) -> String {
    match reason {
        DisconnectReason::SequenceTooLow { expected, received } => {
            format!("disconnect: expected {expected}, received {received}")
        }
        reason => format!("disconnect: {reason:?}"),
    }
}

/// What a session says of itself, without a message.
pub fn told_end(event: Event) -> String {
    match event {
        Event::Disconnect(reason) => told_reason(reason),
        other => format!("{other:?}"),
    }
}
