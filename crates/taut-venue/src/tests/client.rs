//! A FIX client.

use taut_fix::{
    BeginString, CancelRejectReason, CompId, Event, ExecType, ExecutionReport, FieldIndex,
    MemoryStore, NewOrderSingle, Now, OrdStatus, OrderCancelRequest, OrderFlow, Role, Session,
    SessionConfig, TypedMessage,
};
use taut_sys::{Address, Socket, StreamOptions};
use taut_types::{Instrument, Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

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
            id: report.cl_ord_id.and_then(|id| id.to_u64()).expect("a number"),
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

pub struct Client {
    pub stream: Socket,
    pub session: Session<MemoryStore>,
    index: FieldIndex,
    input: Vec<u8>,
    pub reports: Vec<Answer>,
    pub texts: Vec<String>,
    pub exec_ids: Vec<u64>,
    pub symbols: Vec<String>,
    pub is_closed: bool,
    pub instrument: Instrument,
}

impl Client {
    pub fn connect(address: Address, name: &str, now: Now) -> Self {
        let stream = connect(&address);
        let name = CompId::new(name.as_bytes()).expect("a name");
        let venue = CompId::new(b"VENUE").expect("a name");
        let config = SessionConfig {
            reset_on_logon: true,
            ..SessionConfig::new(Role::Initiator, BeginString::Fix44, name, venue)
        };
        let mut session = Session::new(config, MemoryStore::new(64, 16 << 10));
        let index = FieldIndex::with_capacity(64);
        session.connect(now);
        let (reports, texts, exec_ids) = (Vec::new(), Vec::new(), Vec::new());
        let symbols = Vec::new();
        let (input, is_closed) = (Vec::new(), false);
        let instrument = instrument();
        let mut client = Self {
            stream,
            session,
            index,
            input,
            reports,
            texts,
            exec_ids,
            symbols,
            is_closed,
            instrument,
        };
        client.transmit(now);
        client
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
            if let Some(Event::Application { .. }) = made.event {
                match OrderFlow::decode(&input[..made.consumed], &self.index).expect("readable") {
                    OrderFlow::ExecutionReport(report) => {
                        self.reports.push(Answer::Report(Report::of(&report, &self.instrument)));
                        self.symbols.push(report.symbol.expect("a symbol").to_string());
                        self.texts.push(String::from_utf8_lossy(report.text).into_owned());
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
