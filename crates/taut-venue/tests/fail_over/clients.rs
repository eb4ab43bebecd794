//! Clients that trade by FIX with whichever of the two venues answers, and note what they saw.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use taut_fix::{
    BeginString, CompId, Delivery, Event, ExecType, ExecutionReport, FieldIndex, InlineText, Link,
    LinkConfig, MemoryStore, NewOrderSingle, Now, OrderCancelReplaceRequest, OrderCancelRequest,
    OrderFlow, OrderStatusRequest, Role, Session, SessionConfig, TypedMessage,
};
use taut_io::{Completion, EventLoop, Handle, Handler, Io, Kernel, LoopConfig, SimHost};
use taut_sys::{Address, StreamOptions};
use taut_testkit::history::{Answer, Ask, History, Order, Request, Trade};
use taut_testkit::{Draw, Random};
use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

const CLIENTS: usize = 3;
/// Sockets of all clients, old and new ones.
pub const SOURCES: usize = 4 * CLIENTS;
/// Requests of a client that wait for an answer, and of all in a schedule.
const UNANSWERED_MAX: usize = 3;
const REQUESTS: u64 = 60;
/// How long a client waits for a logon or an answer before it tries the other venue.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// From a broken connection to the next one.
const BACK_OFF: Nanos = Nanos::from_millis(20);
pub const SYMBOL: &[u8] = b"AAPL";

/// Where a venue takes orders.
pub fn orders_at(node: usize) -> Address {
    Address::Inet(SocketAddr::from(([127, 0, 0, 1], 1 + node as u16)))
}

/// All clients on a loop of their own.
pub struct Clients {
    events: EventLoop<SimHost>,
    traders: Traders,
}

struct Traders {
    now: Now,
    clients: Vec<Client>,
    seen: Seen,
}

struct Seen {
    history: History,
    /// Moments, each later than the one before.
    moment: u64,
    next_id: u64,
    /// Trades by ExecID and whether it is the maker's or the taker's report.
    trades: BTreeMap<u64, Trade>,
    /// Orders by the venue's OrderID.
    orders: HashMap<u64, Order>,
}

impl Seen {
    fn moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}

impl Clients {
    pub fn new(kernel: SimHost) -> Self {
        let config = LoopConfig {
            sources_max: SOURCES,
            timers_max: SOURCES,
            posts_max: 1,
            ..LoopConfig::default()
        };
        let events = EventLoop::new(kernel, config).expect("a loop");
        let seen = Seen {
            history: History::default(),
            moment: 0,
            next_id: 1,
            trades: BTreeMap::new(),
            orders: HashMap::new(),
        };
        let clients = (0..CLIENTS).map(Client::new).collect();
        Self { events, traders: Traders { now: Now::default(), clients, seen } }
    }

    /// They take what came, and ask for something, now and then.
    pub fn turn(&mut self, now: Now, random: &mut Random, asks: bool) {
        self.traders.now = now;
        self.events.poll(&mut self.traders).expect("a loop");
        let io = self.events.io();
        let Traders { clients, seen, .. } = &mut self.traders;
        for client in clients {
            client.keep_up(io, now, random);
            let wants = asks && seen.next_id <= REQUESTS && random.below(8) == 0;
            if wants && client.can_ask() {
                client.ask(seen, random, now);
            }
            client.transmit(io, now);
        }
    }

    /// They cancel all that may be open; whether every request has its answer.
    pub fn have_ended(&mut self, now: Now) -> bool {
        let Traders { clients, seen, .. } = &mut self.traders;
        let mut have_ended = true;
        for client in clients {
            have_ended &= client.has_ended(seen, now);
        }
        have_ended
    }

    /// What they wait for, in words.
    pub fn wait_for(&self) -> String {
        let of = |client: &Client| {
            let Client { waiting, questions, stream, node, link, .. } = client;
            let is_active = link.session().is_active();
            format!("{:?} {questions:?} {stream:?} to {node}, active {is_active}", waiting.keys())
        };
        self.traders.clients.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    /// All that they saw.
    pub fn history(&self) -> &History {
        &self.traders.seen.history
    }
}

impl<K: Kernel> Handler<K> for Traders {
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        let Self { now, clients, seen } = self;
        let stream = match completion {
            Completion::Connected { stream } | Completion::Ended { stream } => stream,
            Completion::Received { stream, .. } => stream,
            Completion::Closed { source, .. } | Completion::Failed { source, .. } => source,
            _ => return,
        };
        let Some(client) = clients.iter_mut().find(|it| it.stream == Some(stream)) else { return };
        match completion {
            Completion::Connected { .. } => {
                client.link.connect(*now);
                io.receive(stream).expect("a stream");
            }
            Completion::Received { bytes, .. } => client.receive(bytes, *now, seen),
            _ => client.detach(io, *now),
        }
        client.transmit(io, *now);
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
    link: Link<MemoryStore>,
    index: FieldIndex,
    stream: Option<Handle>,
    /// Which venue it tries or is at.
    node: usize,
    connect_at: Nanos,
    /// Since when it waits for a logon or an answer.
    waits_since: Nanos,
    own: Vec<Own>,
    /// Requests that wait for an answer, by ClOrdID: their places in the history.
    waiting: BTreeMap<u64, usize>,
    /// Questions that wait for one, which comes in their order.
    questions: VecDeque<usize>,
    last_exec_id: u64,
}

impl Client {
    fn new(number: usize) -> Self {
        let name = |text: &[u8]| CompId::new(text).expect("a name");
        let us = format!("CHECKED{number}");
        let config = SessionConfig::new(
            Role::Initiator,
            BeginString::Fix44,
            name(us.as_bytes()),
            name(b"VENUE"),
        );
        let session = Session::new(config, MemoryStore::new(256, 64 << 10));
        Self {
            number,
            link: Link::new(session, &LinkConfig::default()),
            index: FieldIndex::with_capacity(64),
            stream: None,
            node: 0,
            connect_at: Nanos::ZERO,
            waits_since: Nanos::ZERO,
            own: Vec::new(),
            waiting: BTreeMap::new(),
            questions: VecDeque::new(),
            last_exec_id: 0,
        }
    }

    /// Connects where it is not, and gives up a venue that does not answer.
    fn keep_up(&mut self, io: &mut Io<SimHost>, now: Now, random: &mut Random) {
        if self.stream.is_none() {
            if now.mono >= self.connect_at {
                self.node = random.below(2) as usize;
                let options = StreamOptions::default();
                self.stream = io.connect(&orders_at(self.node), &options, None).ok();
                (self.connect_at, self.waits_since) = (now.mono + BACK_OFF, now.mono);
            }
            return;
        }
        let _ = self.link.handle_timeout(now);
        let is_waiting = !self.link.session().is_active() || !self.has_all_answers();
        if !is_waiting {
            self.waits_since = now.mono;
        } else if now.mono - self.waits_since > PATIENCE || self.link.is_closed() {
            self.detach(io, now);
        }
    }

    fn detach<K: Kernel>(&mut self, io: &mut Io<K>, now: Now) {
        if let Some(stream) = self.stream.take() {
            let _ = io.close(stream);
        }
        self.link.transport_closed(now);
        self.link.clear_unsent();
        self.connect_at = now.mono + BACK_OFF;
    }

    fn transmit<K: Kernel>(&mut self, io: &mut Io<K>, now: Now) {
        let Some(stream) = self.stream else { return };
        self.link.poll_transmit(now);
        if !self.link.unsent().is_empty() {
            let _ = io.write(stream, self.link.unsent(), None);
            self.link.clear_unsent();
        }
    }

    fn receive(&mut self, bytes: &[u8], now: Now, seen: &mut Seen) {
        assert!(self.link.receive(bytes), "room for what came");
        let Self { number, link, index, waiting, questions, last_exec_id, .. } = self;
        let mut heard = Heard { number: *number, waiting, questions, last_exec_id, seen };
        while let Some(delivery) = link.handle_bytes(now, &mut &[][..], index) {
            let Delivery { event, message, .. } = delivery;
            match event {
                Event::LoggedOn => {}
                Event::Application { .. } => match message.order_flow().expect("readable") {
                    OrderFlow::ExecutionReport(report) => heard.report(&report),
                    OrderFlow::OrderCancelReject(reject) => {
                        let id = reject.cl_ord_id.to_u64().expect("a number");
                        heard.answered(id, Answer::Refused, 2 * *heard.last_exec_id + 1);
                    }
                    other => panic!("client {number}: {other:?}"),
                },
                other => panic!("client {number}: the session ended: {other:?}"),
            }
        }
        self.waits_since = now.mono;
    }

    fn has_all_answers(&self) -> bool {
        self.waiting.is_empty() && self.questions.is_empty()
    }

    fn can_ask(&self) -> bool {
        let unanswered = self.waiting.len() + self.questions.len();
        self.link.session().is_active() && unanswered < UNANSWERED_MAX
    }

    fn ask(&mut self, seen: &mut Seen, random: &mut Random, now: Now) {
        let id = seen.next_id;
        seen.next_id += 1;
        // Few prices: what is asked for at one time trades with each other.
        let (price, qty) = (98 + random.below(5) as i64, 1 + random.below(9) as i64);
        let side = random.pick(&Side::BOTH);
        let late = random.below(6).min(self.own.len().saturating_sub(1) as u64) as usize;
        match (random.below(10), self.own.len().checked_sub(1 + late)) {
            (0..=4, _) | (_, None) => {
                let own = Own { order: id, cl_ord_id: id, side, price, qty };
                self.own.push(own);
                self.send(
                    id,
                    Ask::New { order: id, side, price, qty },
                    seen,
                    now,
                    &limit(id, &own),
                );
            }
            (5 | 6, Some(at)) => {
                let own = self.own.remove(at);
                self.cancel(id, &own, seen, now);
            }
            (7 | 8, Some(at)) => {
                let own = &mut self.own[at];
                // The same once more is no other order.
                let price = if own.price == price && own.qty == qty { price + 1 } else { price };
                let orig_cl_ord_id = own.cl_ord_id.into();
                *own = Own { cl_ord_id: id, price, qty, ..*own };
                let (ask, order) = (Ask::Replace { order: own.order, price, qty }, limit(id, own));
                let request = OrderCancelReplaceRequest { orig_cl_ord_id, order };
                self.send(id, ask, seen, now, &request);
            }
            (_, Some(at)) => {
                let Own { order, cl_ord_id, side, .. } = self.own[at];
                if order != cl_ord_id {
                    let own = self.own.remove(at);
                    return self.cancel(id, &own, seen, now);
                }
                let (symbol, cl_ord_id) = (symbol(), order.into());
                let question = OrderStatusRequest { cl_ord_id, symbol, side, request_id: None };
                self.send(id, Ask::Status(order), seen, now, &question);
            }
        }
    }

    fn cancel(&mut self, id: u64, own: &Own, seen: &mut Seen, now: Now) {
        let request = OrderCancelRequest {
            cl_ord_id: id.into(),
            orig_cl_ord_id: own.cl_ord_id.into(),
            symbol: symbol(),
            side: own.side,
            qty: Qty::whole(own.qty),
            transact_time: Nanos::ZERO,
        };
        self.send(id, Ask::Cancel(own.order), seen, now, &request);
    }

    fn send(&mut self, id: u64, ask: Ask, seen: &mut Seen, now: Now, message: &impl TypedMessage) {
        let place = seen.history.requests.len();
        let (client, asked) = (self.number, seen.moment());
        let request = Request { client, ask, asked, answered: None, hint: u64::MAX };
        seen.history.requests.push(request);
        match ask {
            Ask::Status(_) => self.questions.push_back(place),
            _ => _ = self.waiting.insert(id, place),
        }
        self.link.outbox(now).send_message(message).expect("logged on");
    }

    /// Cancels what may be open; whether all is answered.
    fn has_ended(&mut self, seen: &mut Seen, now: Now) -> bool {
        while self.can_ask()
            && let Some(own) = self.own.pop()
        {
            let id = seen.next_id;
            seen.next_id += 1;
            self.cancel(id, &own, seen, now);
        }
        self.own.is_empty() && self.has_all_answers()
    }
}

/// What a client makes of what it hears.
struct Heard<'c> {
    number: usize,
    waiting: &'c mut BTreeMap<u64, usize>,
    questions: &'c mut VecDeque<usize>,
    last_exec_id: &'c mut u64,
    seen: &'c mut Seen,
}

impl Heard<'_> {
    fn report(&mut self, report: &ExecutionReport<'_>) {
        let number = |text: taut_fix::LongText| text.to_u64().expect("a number");
        let heard = self.seen.moment();
        if report.exec_type == ExecType::OrderStatus {
            let place = self.questions.pop_front().expect("a question");
            let (traded, open) = (whole(report.cum_qty), whole(report.leaves_qty));
            let request = &mut self.seen.history.requests[place];
            request.answered = Some((heard, Answer::Standing { traded, open }));
            request.hint = 2 * *self.last_exec_id + 1;
            return;
        }
        let (exec_id, order_id) = (number(report.exec_id), number(report.order_id));
        *self.last_exec_id = exec_id.max(*self.last_exec_id);
        if report.exec_type == ExecType::Trade {
            let price = report.last_price.expect("a price").0 / 1_000_000_000;
            let order = self.seen.orders[&order_id];
            let trade = Trade { order, price, qty: whole(report.last_qty), heard };
            // A copy after a resend is the same trade.
            match self.seen.trades.insert(exec_id, trade) {
                None => self.seen.history.trades.push(trade),
                Some(before) => assert_eq!(Trade { heard, ..before }, trade, "ExecID {exec_id}"),
            }
            return;
        }
        let id = number(report.cl_ord_id.expect("a ClOrdID"));
        let answer = match report.exec_type {
            ExecType::New => {
                let before = self.seen.orders.insert(order_id, id);
                assert!(
                    before.is_none_or(|it| it == id),
                    "OrderID {order_id}: {id} and {before:?}"
                );
                Answer::Taken
            }
            ExecType::Replaced => Answer::Taken,
            ExecType::Canceled => Answer::Cancelled,
            _ => panic!("client {}: {report:?}", self.number),
        };
        self.answered(id, answer, 2 * exec_id);
    }

    /// The request with this ClOrdID has its answer; one that comes again says the same.
    fn answered(&mut self, id: u64, answer: Answer, hint: u64) {
        let Some(place) = self.waiting.remove(&id) else { return };
        let heard = self.seen.moment();
        let request = &mut self.seen.history.requests[place];
        (request.answered, request.hint) = (Some((heard, answer)), hint);
    }
}

fn whole(qty: Qty) -> i64 {
    qty.mantissa / 10_i64.pow(u32::from(qty.decimals))
}

fn symbol() -> InlineText<23> {
    InlineText::new(SYMBOL).expect("a symbol")
}

fn limit(id: u64, own: &Own) -> NewOrderSingle {
    NewOrderSingle {
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
        cl_ord_id: id.into(),
        symbol: symbol(),
        side: own.side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        price: Price::parse(own.price.to_string().as_bytes()).ok(),
        qty: Qty::whole(own.qty),
        transact_time: Nanos::ZERO,
    }
}
