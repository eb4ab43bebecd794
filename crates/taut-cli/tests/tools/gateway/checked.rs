//! Clients that trade by FIX with a venue that is killed under them, and a checker that is no part
//! of the venue: what they asked and heard must have an order in which a plain book did it all.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use taut_fix::{
    BeginString, CompId, Event, ExecType, ExecutionReport, FieldIndex, InlineText, MemoryStore,
    NewOrderSingle, Now, OrderCancelReplaceRequest, OrderCancelRequest, OrderFlow,
    OrderStatusRequest, Role, Session, SessionConfig, TypedMessage,
};
use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taut_testkit::history::{Answer, Ask, History, Order, Request, Trade};
use taut_testkit::{DEADLINE, Draw, Random, until};
use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

/// Where they trade, and nobody else does.
pub const INSTRUMENT: &str = "[[instruments]]\nsymbol = \"CHECKED\"\ntick = \"0.01\"\nweight = 0\n";
const SYMBOL: &[u8] = b"CHECKED";
const CLIENTS: usize = 3;
/// Requests of a client that wait for an answer.
const UNANSWERED_MAX: usize = 4;
/// Requests that are checked together: behind them all orders are cancelled.
const ROUND: usize = 300;

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    pub requests: usize,
    pub trades: usize,
    pub rounds: usize,
    pub logons: usize,
}

/// The clients, on a thread of their own.
pub struct Clients {
    thread: Option<JoinHandle<Checked>>,
    said: Arc<Said>,
}

#[derive(Default)]
struct Said {
    /// How many requests may be sent.
    granted: AtomicU64,
    is_over: AtomicBool,
}

impl Clients {
    pub fn start(venue: SocketAddr, random: Random) -> Self {
        let said = Arc::new(Said::default());
        let heard = Arc::clone(&said);
        let thread = Some(std::thread::spawn(move || Floor::new(venue, random, heard).run()));
        Self { thread, said }
    }

    /// They send so many more requests.
    pub fn grant(&self, requests: u64) {
        let is_running = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        assert!(is_running, "the clients have ended: see above");
        self.said.granted.fetch_add(requests, Ordering::Relaxed);
    }

    /// They end, and all that they saw is checked.
    pub fn finish(mut self) -> Checked {
        self.said.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is there");
        thread.join().expect("what the clients saw has an order")
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.said.is_over.store(true, Ordering::Relaxed);
    }
}

fn now() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}

fn text<const N: usize>(text: &[u8]) -> InlineText<N> {
    InlineText::new(text).expect("a short text")
}

/// All clients, and what they saw since the last check.
struct Floor {
    said: Arc<Said>,
    clients: Vec<Client>,
    seen: Seen,
    checked: Checked,
}

struct Seen {
    history: History,
    random: Random,
    next_id: u64,
    sent: u64,
}

impl Floor {
    fn new(venue: SocketAddr, random: Random, said: Arc<Said>) -> Self {
        let clients = (0..CLIENTS).map(|number| Client::new(number, venue)).collect();
        let seen = Seen { history: History::default(), random, next_id: 1, sent: 0 };
        Self { said, clients, seen, checked: Checked::default() }
    }

    fn run(mut self) -> Checked {
        loop {
            let mut is_over = false;
            until("something new for the clients, or an end", DEADLINE, || {
                is_over = self.said.is_over.load(Ordering::Relaxed);
                let has_news = self.turn();
                let granted = self.said.granted.load(Ordering::Relaxed);
                let Self { clients, seen, .. } = &mut self;
                let mut has_asked = false;
                for client in clients.iter_mut().filter(|_| !is_over) {
                    while seen.sent < granted && client.can_ask() {
                        client.ask(seen);
                        has_asked = true;
                    }
                }
                has_news || has_asked || is_over
            });
            if is_over || self.seen.history.requests.len() >= ROUND {
                self.end_round();
            }
            if is_over {
                return self.checked;
            }
        }
    }

    fn turn(&mut self) -> bool {
        let Self { clients, seen, .. } = self;
        clients.iter_mut().fold(false, |has_news, client| client.turn(seen) | has_news)
    }

    /// All orders are cancelled, all requests answered: whatever happened has been heard.
    fn end_round(&mut self) {
        until("an answer to every request", DEADLINE, || {
            self.turn();
            let Self { clients, seen, .. } = self;
            clients.iter_mut().all(|client| client.has_ended(seen))
        });
        let history = std::mem::take(&mut self.seen.history);
        if let Err(error) = history.explain() {
            panic!("{error}\n{history:#?}");
        }
        self.checked.requests += history.requests.len();
        self.checked.trades += history.trades.len();
        self.checked.rounds += 1;
        self.checked.logons = self.clients.iter().map(|client| client.logons).sum();
    }
}

/// An order as its owner last wanted it.
#[derive(Clone, Copy)]
struct Own {
    order: Order,
    cl_ord_id: u64,
    side: Side,
    price: i64,
    qty: i64,
}

struct Client {
    number: usize,
    venue: SocketAddr,
    session: Session<MemoryStore>,
    index: FieldIndex,
    stream: Option<TcpStream>,
    input: Vec<u8>,
    output: Vec<u8>,
    logons: usize,
    own: Vec<Own>,
    /// Requests that wait for an answer, by ClOrdID: their places in the history.
    waiting: HashMap<u64, usize>,
    /// Questions that wait for one, which comes in their order.
    questions: VecDeque<usize>,
    /// Orders by the venue's OrderID.
    orders: HashMap<u64, Order>,
    /// Trades by ExecID.
    trades: BTreeMap<u64, Trade>,
    last_exec_id: u64,
}

impl Client {
    fn new(number: usize, venue: SocketAddr) -> Self {
        let name = |text: &[u8]| CompId::new(text).expect("a name");
        let us = format!("CHECKED{number}");
        let config = SessionConfig::new(
            Role::Initiator,
            BeginString::Fix44,
            name(us.as_bytes()),
            name(b"VENUE"),
        );
        Self {
            number,
            venue,
            session: Session::new(config, MemoryStore::new(256, 64 << 10)),
            index: FieldIndex::with_capacity(64),
            stream: None,
            input: Vec::new(),
            output: Vec::new(),
            logons: 0,
            own: Vec::new(),
            waiting: HashMap::new(),
            questions: VecDeque::new(),
            orders: HashMap::new(),
            trades: BTreeMap::new(),
            last_exec_id: 0,
        }
    }

    /// Takes what came and sends what is due; whether there was anything.
    fn turn(&mut self, seen: &mut Seen) -> bool {
        let Some(stream) = &mut self.stream else { return self.connect() };
        let mut buffer = [0; 16 << 10];
        let has_news = match stream.read(&mut buffer) {
            Ok(0) => return self.detach(),
            Ok(bytes) => {
                self.input.extend_from_slice(&buffer[..bytes]);
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(_) => return self.detach(),
        };
        self.handle(seen);
        let _ = self.session.handle_timeout(now());
        self.flush();
        has_news
    }

    fn connect(&mut self) -> bool {
        let Ok(stream) = TcpStream::connect(self.venue) else { return false };
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        self.stream = Some(stream);
        self.session.connect(now());
        self.flush();
        true
    }

    fn detach(&mut self) -> bool {
        self.stream = None;
        self.session.transport_closed(now());
        self.input.clear();
        self.output.clear();
        true
    }

    fn flush(&mut self) {
        let mut out = [0; 1_024];
        while let Some(range) = self.session.poll_transmit(now(), &mut out) {
            self.output.extend_from_slice(&out[range]);
        }
        let Some(stream) = &mut self.stream else { return };
        match stream.write(&self.output) {
            Ok(bytes) => drop(self.output.drain(..bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => _ = self.detach(),
        }
    }

    fn handle(&mut self, seen: &mut Seen) {
        loop {
            let bytes = std::mem::take(&mut self.input);
            let made = self.session.handle_bytes(now(), &bytes, &mut self.index);
            self.act(made.event, &bytes[..made.consumed], seen);
            self.input = bytes;
            self.input.drain(..made.consumed);
            let mut held = [0; 1_024];
            while let Some(length) = self.session.take_held(&mut held) {
                let made = self.session.handle_bytes(now(), &held[..length], &mut self.index);
                self.act(made.event, &held[..length], seen);
            }
            if made.consumed == 0 {
                return;
            }
        }
    }

    fn act(&mut self, event: Option<Event>, message: &[u8], seen: &mut Seen) {
        match event {
            None => {}
            Some(Event::LoggedOn) => self.logons += 1,
            Some(Event::Application { .. }) => {
                match OrderFlow::decode(message, &self.index).expect("readable") {
                    OrderFlow::ExecutionReport(report) => self.hear(&report, seen),
                    OrderFlow::OrderCancelReject(reject) => {
                        let id = reject.cl_ord_id.to_u64().expect("a number");
                        self.answered(id, Answer::Refused, 2 * self.last_exec_id + 1, seen);
                    }
                    other => panic!("client {}: {other:?}", self.number),
                }
            }
            Some(other) => panic!("client {}: the session ended: {other:?}", self.number),
        }
    }

    fn hear(&mut self, report: &ExecutionReport<'_>, seen: &mut Seen) {
        let number = |text: taut_fix::LongText| text.to_u64().expect("a number");
        let heard = now().mono.0.unsigned_abs();
        if report.exec_type == ExecType::OrderStatus {
            let place = self.questions.pop_front().expect("a question");
            let (traded, open) = (whole(report.cum_qty), whole(report.leaves_qty));
            let request = &mut seen.history.requests[place];
            request.answered = Some((heard, Answer::Standing { traded, open }));
            request.hint = 2 * self.last_exec_id + 1;
            return;
        }
        let (exec_id, order_id) = (number(report.exec_id), number(report.order_id));
        self.last_exec_id = self.last_exec_id.max(exec_id);
        if report.exec_type == ExecType::Trade {
            let price = report.last_price.expect("a price").0 / 1_000_000_000;
            let order = self.orders[&order_id];
            let trade = Trade { order, price, qty: whole(report.last_qty), heard };
            let before = self.trades.insert(exec_id, trade);
            // A copy after a resend is the same trade.
            match before {
                None => seen.history.trades.push(trade),
                Some(before) => assert_eq!(Trade { heard, ..before }, trade, "ExecID {exec_id}"),
            }
            return;
        }
        let id = number(report.cl_ord_id.expect("a ClOrdID"));
        let answer = match report.exec_type {
            ExecType::New => {
                self.orders.insert(order_id, id);
                Answer::Taken
            }
            ExecType::Replaced => Answer::Taken,
            ExecType::Canceled => Answer::Cancelled,
            _ => panic!("client {}: {report:?}", self.number),
        };
        self.answered(id, answer, 2 * exec_id, seen);
    }

    /// The request with this ClOrdID has its answer; one that comes again says the same.
    fn answered(&mut self, id: u64, answer: Answer, hint: u64, seen: &mut Seen) {
        let Some(place) = self.waiting.remove(&id) else { return };
        let request = &mut seen.history.requests[place];
        request.answered = Some((now().mono.0.unsigned_abs(), answer));
        request.hint = hint;
    }

    fn can_ask(&self) -> bool {
        self.session.is_active() && self.waiting.len() + self.questions.len() < UNANSWERED_MAX
    }

    /// Asks for something.
    fn ask(&mut self, seen: &mut Seen) {
        seen.sent += 1;
        let (id, random) = (seen.next_id, &mut seen.random);
        seen.next_id += 1;
        // Few prices: what is asked for at one time trades with each other.
        let (price, qty) = (98 + random.below(5) as i64, 1 + random.below(9) as i64);
        let side = random.pick(&Side::BOTH);
        let kind = random.below(10);
        let late = random.below(6).min(self.own.len().saturating_sub(1) as u64) as usize;
        let named = self.own.len().checked_sub(1 + late);
        match (kind, named) {
            (0..=4, _) | (_, None) => {
                let own = Own { order: id, cl_ord_id: id, side, price, qty };
                self.own.push(own);
                self.send(id, Ask::New { order: id, side, price, qty }, seen, &order(id, &own));
            }
            (5 | 6, Some(at)) => {
                let own = self.own.remove(at);
                self.cancel(id, &own, seen);
            }
            (7 | 8, Some(at)) => {
                let own = &mut self.own[at];
                // The same once more is no other order.
                let price = if own.price == price && own.qty == qty { price + 1 } else { price };
                let orig_cl_ord_id = own.cl_ord_id.into();
                *own = Own { cl_ord_id: id, price, qty, ..*own };
                let (ask, order) = (Ask::Replace { order: own.order, price, qty }, order(id, own));
                let request = OrderCancelReplaceRequest { orig_cl_ord_id, order };
                self.send(id, ask, seen, &request);
            }
            (_, Some(at)) => self.ask_for(at, id, seen),
        }
    }

    /// Asks how an order stands that has the ClOrdID that it began with.
    fn ask_for(&mut self, at: usize, id: u64, seen: &mut Seen) {
        let Own { order, cl_ord_id, side, .. } = self.own[at];
        if order != cl_ord_id {
            let own = self.own.remove(at);
            return self.cancel(id, &own, seen);
        }
        let symbol = text(SYMBOL);
        let cl_ord_id = order.into();
        let question = OrderStatusRequest { cl_ord_id, symbol, side, request_id: None };
        self.send(id, Ask::Status(order), seen, &question);
    }

    fn cancel(&mut self, id: u64, own: &Own, seen: &mut Seen) {
        let request = OrderCancelRequest {
            cl_ord_id: id.into(),
            orig_cl_ord_id: own.cl_ord_id.into(),
            symbol: text(SYMBOL),
            side: own.side,
            qty: Qty::whole(own.qty),
            transact_time: Nanos::ZERO,
        };
        self.send(id, Ask::Cancel(own.order), seen, &request);
    }

    fn send(&mut self, id: u64, ask: Ask, seen: &mut Seen, message: &impl TypedMessage) {
        let place = seen.history.requests.len();
        let asked = now().mono.0.unsigned_abs();
        let client = self.number;
        seen.history.requests.push(Request { client, ask, asked, answered: None, hint: u64::MAX });
        match ask {
            Ask::Status(_) => self.questions.push_back(place),
            _ => _ = self.waiting.insert(id, place),
        }
        let mut out = [0; 1_024];
        let range = self.session.send_message(now(), message, &mut out).expect("logged on");
        self.output.extend_from_slice(&out[range]);
        self.flush();
    }

    /// Cancels what may be open, until all is answered; whether it is.
    fn has_ended(&mut self, seen: &mut Seen) -> bool {
        while self.can_ask()
            && let Some(own) = self.own.pop()
        {
            let id = seen.next_id;
            seen.next_id += 1;
            self.cancel(id, &own, seen);
        }
        self.own.is_empty() && self.waiting.is_empty() && self.questions.is_empty()
    }
}

fn whole(qty: Qty) -> i64 {
    qty.mantissa / 10_i64.pow(u32::from(qty.decimals))
}

fn order(id: u64, own: &Own) -> NewOrderSingle {
    NewOrderSingle {
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
        cl_ord_id: id.into(),
        symbol: text(SYMBOL),
        side: own.side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Price::parse(own.price.to_string().as_bytes()).ok(),
        qty: Qty::whole(own.qty),
        transact_time: Nanos::ZERO,
    }
}
