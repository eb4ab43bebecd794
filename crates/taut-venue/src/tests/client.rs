//! A FIX client.

use taut_fix::{
    BeginString, CancelRejectReason, Charges, CompId, Event, ExecType, ExecutionReport, FieldIndex,
    LongText, MassCancelType, MemoryStore, NewOrderSingle, Now, OrdStatus, OrderCancelRequest,
    OrderFlow, Role, Session, SessionConfig, TypedMessage,
};
use taut_sys::{Address, Socket, StreamOptions};
use taut_types::{Instrument, Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::FixVersion;
use crate::tests::rig::{instrument, text};

/// What a report said, without the borrowed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Report(Report),
    CancelReject { id: u64, orig: u64, reason: Option<CancelRejectReason>, status: OrdStatus },
    BusinessReject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub id: u64,
    pub orig: Option<u64>,
    pub order_id: Option<u64>,
    pub exec_type: ExecType,
    pub status: OrdStatus,
    pub last: Option<(i64, Price)>,
    pub cum: i64,
    pub leaves: i64,
    pub avg: Price,
    pub refusal: Option<u32>,
}

impl Report {
    /// Quantities are in lots of the instrument.
    fn of(report: &ExecutionReport<'_>, instrument: &Instrument) -> Self {
        let lots = |qty| instrument.lots(qty).expect("whole lots").0;
        Self {
            // The answer to a question about all orders names none.
            id: report.cl_ord_id.and_then(|id| id.to_u64()).unwrap_or(0),
            orig: report.orig_cl_ord_id.and_then(|orig| orig.to_u64()),
            order_id: report.order_id.to_u64(),
            exec_type: report.exec_type,
            status: report.ord_status,
            last: report.last_price.map(|price| (lots(report.last_qty), price)),
            cum: lots(report.cum_qty),
            leaves: lots(report.leaves_qty),
            avg: report.avg_price.expect("a price"),
            refusal: report.ord_rej_reason,
        }
    }
}

/// A position: Account, Symbol, bought less sold, settlement price, how many reports there are.
pub type Held = (Option<String>, Option<String>, i64, String, Option<u32>);

pub struct Client {
    pub stream: Socket,
    pub session: Session<MemoryStore>,
    index: FieldIndex,
    input: Vec<u8>,
    pub reports: Vec<Answer>,
    pub texts: Vec<String>,
    pub exec_ids: Vec<u64>,
    /// Commission and who was there first, of each report.
    pub charges: Vec<Charges>,
    pub symbols: Vec<String>,
    pub accounts: Vec<Option<String>>,
    /// MassStatusReqID, TotNumReports and LastRptRequested of the answers to such a request.
    pub mass: Vec<(LongText, Option<u32>, bool)>,
    /// What it holds.
    pub held: Vec<Held>,
    pub mass_cancels: Vec<(MassCancelType, Option<u32>)>,
    /// All that was received, message by message.
    pub heard: Vec<String>,
    /// Whether the reports came again, marked as possible duplicates.
    pub duplicates: Vec<bool>,
    pub is_closed: bool,
    pub instrument: Instrument,
}

impl Client {
    pub fn connect(address: Address, name: &str, now: Now) -> Self {
        Self::resume(address, Self::session(name, true), now)
    }

    /// A session before its first connection.
    pub fn session(name: &str, reset_on_logon: bool) -> Session<MemoryStore> {
        Self::session_in(FixVersion::Fix44, name, reset_on_logon)
    }

    /// The same in a version of FIX.
    pub fn session_in(version: FixVersion, name: &str, reset: bool) -> Session<MemoryStore> {
        Self::session_with(version.begin(), version.application_version(), name, reset)
    }

    pub fn session_with(
        begin: BeginString,
        default_application_version: Option<u8>,
        name: &str,
        reset_on_logon: bool,
    ) -> Session<MemoryStore> {
        let name = CompId::new(name.as_bytes()).expect("a name");
        let venue = CompId::new(b"VENUE").expect("a name");
        let config = SessionConfig {
            reset_on_logon,
            default_application_version,
            ..SessionConfig::new(Role::Initiator, begin, name, venue)
        };
        Session::new(config, MemoryStore::new(64, 16 << 10))
    }

    /// A connection for a session that may have had others.
    pub fn resume(address: Address, mut session: Session<MemoryStore>, now: Now) -> Self {
        session.connect(now);
        let mut client = Self {
            stream: connect(&address),
            session,
            index: FieldIndex::with_capacity(64),
            input: Vec::new(),
            reports: Vec::new(),
            texts: Vec::new(),
            exec_ids: Vec::new(),
            charges: Vec::new(),
            symbols: Vec::new(),
            accounts: Vec::new(),
            mass: Vec::new(),
            held: Vec::new(),
            mass_cancels: Vec::new(),
            heard: Vec::new(),
            duplicates: Vec::new(),
            is_closed: false,
            instrument: instrument(),
        };
        client.transmit(now);
        client
    }

    /// The connection breaks; the session is left.
    pub fn break_off(mut self, now: Now) -> Session<MemoryStore> {
        self.session.transport_closed(now);
        self.session
    }

    pub fn is_logged_on(&self) -> bool {
        self.session.is_active()
    }

    pub fn pump(&mut self, now: Now) {
        let mut buffer = [0; 1 << 16];
        match self.stream.receive(&mut buffer) {
            Ok(None) => {}
            Ok(Some(0)) | Err(_) => self.is_closed = true,
            Ok(Some(bytes)) => self.input.extend_from_slice(&buffer[..bytes]),
        }
        loop {
            let input = std::mem::take(&mut self.input);
            let made = self.session.handle_bytes(now, &input, &mut self.index);
            if made.consumed > 0 {
                let message = String::from_utf8_lossy(&input[..made.consumed]);
                self.heard.push(message.into_owned());
            }
            if let Some(Event::Application { poss_dup, .. }) = made.event {
                match OrderFlow::decode(&input[..made.consumed], &self.index).expect("readable") {
                    OrderFlow::ExecutionReport(report) => {
                        self.reports.push(Answer::Report(Report::of(&report, &self.instrument)));
                        self.symbols.push(report.symbol.expect("a symbol").to_string());
                        self.accounts.push(report.account.map(|account| account.to_string()));
                        let mass = report.mass_status;
                        self.mass.extend(mass.map(|it| (it.request_id, it.total, it.is_last)));
                        self.duplicates.push(poss_dup);
                        self.texts.push(String::from_utf8_lossy(report.text).into_owned());
                        self.charges.push(report.charges);
                        self.exec_ids.push(report.exec_id.to_u64().expect("a number"));
                    }
                    OrderFlow::OrderCancelReject(reject) => {
                        self.reports.push(Answer::CancelReject {
                            id: reject.cl_ord_id.to_u64().expect("a number"),
                            orig: reject
                                .orig_cl_ord_id
                                .and_then(|id| id.to_u64())
                                .expect("a number"),
                            reason: reject.reason,
                            status: reject.ord_status,
                        });
                        self.texts.push(String::from_utf8_lossy(reject.text).into_owned());
                    }
                    OrderFlow::OrderMassCancelReport(report) => {
                        self.mass_cancels.push((report.response, report.affected));
                    }
                    OrderFlow::PositionReport(report) => {
                        let text = |it: LongText| it.to_string();
                        self.held.push((
                            report.account.map(text),
                            report.symbol.map(text),
                            report.long.mantissa - report.short.mantissa,
                            report.settlement_price.to_string(),
                            report.total,
                        ));
                    }
                    OrderFlow::BusinessMessageReject(_) => {
                        self.reports.push(Answer::BusinessReject);
                    }
                    other => panic!("{other:?}"),
                }
            }
            let consumed = made.consumed;
            self.input = input[consumed..].to_vec();
            self.transmit(now);
            if consumed == 0 {
                break;
            }
        }
    }

    pub fn order(&mut self, now: Now, order: &NewOrderSingle) {
        let bytes = self.encode(now, order);
        self.send(&bytes);
    }

    pub fn cancel(&mut self, now: Now, cancel: &OrderCancelRequest) {
        let bytes = self.encode(now, cancel);
        self.send(&bytes);
    }

    pub fn request(&mut self, now: Now, request: &impl TypedMessage) {
        let bytes = self.encode(now, request);
        self.send(&bytes);
    }

    /// Whether a report or a refusal has this ClOrdID.
    pub fn is_answered(&self, id: u64) -> bool {
        self.reports.iter().any(|answer| match answer {
            Answer::Report(report) => report.id == id,
            Answer::CancelReject { id: refused, .. } => *refused == id,
            Answer::BusinessReject => false,
        })
    }

    pub fn report(&mut self, now: Now, report: &ExecutionReport<'_>) {
        let bytes = self.encode(now, report);
        self.send(&bytes);
    }

    pub fn encode(&mut self, now: Now, message: &impl TypedMessage) -> Vec<u8> {
        let mut out = [0; 1_024];
        let range = self.session.send_message(now, message, &mut out).expect("logged on");
        out[range].to_vec()
    }

    pub fn transmit(&mut self, now: Now) {
        let mut out = [0; 1_024];
        while let Some(range) = self.session.poll_transmit(now, &mut out) {
            if !self.is_closed {
                self.send(&out[range]);
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.send(bytes);
    }
}

/// A connection on loopback, which stands at once.
pub fn connect(to: &Address) -> Socket {
    Socket::connect(to, &StreamOptions::default()).expect("connect").0
}

/// A limit order that stays.
pub fn limit(id: u64, side: Side, qty: i64, price: &str) -> NewOrderSingle {
    NewOrderSingle {
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
        cl_ord_id: id.into(),
        symbol: text("AAPL"),
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Some(Price::parse(price.as_bytes()).expect("a price")),
        qty: Qty::whole(qty),
        transact_time: Nanos::ZERO,
    }
}

/// A market order.
pub fn market(id: u64, side: Side, qty: i64) -> NewOrderSingle {
    NewOrderSingle { order_type: OrderType::Market, price: None, ..limit(id, side, qty, "1") }
}

/// A cancel request.
pub fn cancel(id: u64, orig: u64, side: Side) -> OrderCancelRequest {
    OrderCancelRequest {
        cl_ord_id: id.into(),
        orig_cl_ord_id: orig.into(),
        symbol: text("AAPL"),
        side,
        qty: Qty::whole(1),
        transact_time: Nanos::ZERO,
    }
}
