//! What the tests share: texts, sessions, messages written by hand, and two joined sessions.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;

use taut_fix::{
    DisconnectReason, Event, ExecType, ExecutionReport, NewOrderSingle, Now, OrdStatus,
    OrderCancelRequest, Session, SessionConfig, ShortText,
};
use taut_types::{Nanos, OrderType, Price, Side, TimeInForce};

/// 2026-03-02 09:30:00 UTC.
pub const START_UTC: i64 = 1_772_443_800_000_000_000;

pub fn text(text: &str) -> ShortText {
    ShortText::new(text.as_bytes()).expect("a short text")
}

pub fn at(seconds: f64) -> Now {
    let passed = Nanos((seconds * 1e9) as i64);
    Now { mono: Nanos(1_000) + passed, utc: Nanos(START_UTC) + passed }
}

pub fn initiator(heartbeat_secs: i64) -> Session {
    let heartbeat = Nanos::from_secs(heartbeat_secs);
    let config = SessionConfig::initiator(text("BUYER"), text("VENUE"), heartbeat);
    Session::new(config).expect("a session")
}

pub fn acceptor() -> Session {
    Session::new(SessionConfig::acceptor(text("VENUE"))).expect("a session")
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
pub fn sent(session: &mut Session, now: Now) -> Vec<String> {
    let mut out = [0; 512];
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
        cl_ord_id: ShortText::from_u64(id),
        symbol: text("AAPL"),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Some(Price(585_330_000_000)),
        qty: 100,
        transact_time: now.utc,
    }
}

pub fn cancel(id: u64, of: u64, now: Now) -> OrderCancelRequest {
    OrderCancelRequest {
        cl_ord_id: ShortText::from_u64(id),
        orig_cl_ord_id: ShortText::from_u64(of),
        symbol: text("AAPL"),
        side: Side::Buy,
        qty: 100,
        transact_time: now.utc,
    }
}

pub fn report(order: &NewOrderSingle, now: Now) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: text("V1"),
        exec_id: text("E1"),
        cl_ord_id: order.cl_ord_id,
        orig_cl_ord_id: None,
        exec_type: ExecType::Trade,
        ord_status: OrdStatus::PartiallyFilled,
        symbol: order.symbol,
        side: order.side,
        order_qty: order.qty,
        last_qty: 40,
        last_price: order.price,
        leaves_qty: order.qty - 40,
        cum_qty: 40,
        avg_price: order.price.unwrap_or_default(),
        ord_rej_reason: None,
        text: b"",
        transact_time: Some(now.utc),
    }
}

/// Two sessions joined in memory on one virtual clock.
pub struct Pair {
    pub buyer: Session,
    pub venue: Session,
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
                    self.log.push(format!("{name} {}", told(&event)));
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

fn drain(session: &mut Session, now: Now, wire: &mut VecDeque<Vec<u8>>) {
    let mut out = [0; 512];
    while let Some(range) = session.poll_transmit(now, &mut out) {
        wire.push_back(out[range].to_vec());
    }
}

fn feed(
    session: &mut Session,
    now: Now,
    bytes: &[u8],
    name: &str,
    log: &mut Vec<String>,
    wire: &mut VecDeque<Vec<u8>>,
) {
    let mut at = 0;
    loop {
        let handled = session.handle_bytes(now, &bytes[at..]);
        at += handled.consumed;
        if let Some(event) = handled.event {
            log.push(format!("{name} {}", told(&event)));
        }
        drain(session, now, wire);
        if handled.consumed == 0 {
            break;
        }
    }
}

/// An event in a few words.
pub fn told(event: &Event<'_>) -> String {
    match event {
        Event::LoggedOn { peer_comp_id, heartbeat_interval } => {
            format!(
                "logged on with {peer_comp_id} every {} s",
                heartbeat_interval.0 / 1_000_000_000
            )
        }
        Event::NewOrderSingle(order) => format!("order {}", order.cl_ord_id),
        Event::OrderCancelRequest(cancel) => format!("cancel of {}", cancel.orig_cl_ord_id),
        Event::ExecutionReport(report) => {
            format!("report {:?} of {}", report.exec_type, report.cl_ord_id)
        }
        Event::OrderCancelReject(reject) => format!("cancel reject of {}", reject.cl_ord_id),
        Event::Rejected(reject) => format!("rejected {}", reject.ref_sequence),
        Event::BusinessRejected(reject) => format!("business rejected {}", reject.ref_sequence),
        Event::LoggedOut { text } => format!("logged out [{}]", shown(text)),
        Event::Disconnect(DisconnectReason::SequenceTooLow { expected, received }) => {
            format!("disconnect: expected {expected}, received {received}")
        }
        Event::Disconnect(reason) => format!("disconnect: {reason:?}"),
        other => format!("{other:?}"),
    }
}
