//! Orders: what is asked, what the engine made of it, what is answered and pushed.

use serde_json::Value;
use taut_engine::{Command, Event, NewOrder, PostOnly, RejectReason, ReplaceMode, SelfTrade};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};
use taut_venue::{FIRST_DOOR_ORDER, FIRST_DOOR_OWNER};
use taut_web_venue::{Output, Refusal};

use super::{Okx, units};

/// The venue's first name of an order.
const FIRST_NAME: u64 = 680_800_000_000;

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Filled,
    Cancelled,
}

/// An order of an account.
#[derive(Clone, Debug)]
pub struct Order {
    pub account: usize,
    /// `clOrdId`.
    pub name: String,
    pub state: State,
    /// As the engine has it; the lots are all of it.
    pub entered: NewOrder,
    pub filled: i64,
    /// Half ticks times lots of what traded.
    notional: i64,
    updated_ms: i64,
}

/// A request whose command is under way.
pub struct Job {
    connection: u64,
    id: String,
    op: String,
    order: OrderId,
    /// `reqId` of an amendment.
    amend: String,
    /// 0, or why it came to nothing.
    code: u32,
    /// It is answered as if nobody knew what became of it.
    is_hidden: bool,
    /// What is pushed because of it.
    pushes: Vec<(usize, String)>,
}

/// What just happened to an order.
#[derive(Clone, Copy, Default)]
struct Happened<'a> {
    /// The trade's number, its lots, its price, and whether the order rested.
    trade: Option<(u64, i64, HalfTicks, bool)>,
    /// The request to amend it, and why that was refused, or 0.
    amend: Option<(&'a str, u32)>,
}

impl Okx {
    /// A request about an order: a command, or it is refused.
    pub(super) fn order_request(
        &mut self,
        (connection, why): (u64, Option<Refusal>),
        op: &str,
        request: &Value,
    ) -> Option<Command> {
        let id = request["id"].as_str().unwrap_or_default().to_owned();
        let arg = &request["args"][0];
        let mut job = Job {
            connection,
            id,
            op: op.to_owned(),
            order: OrderId(0),
            amend: arg["reqId"].as_str().unwrap_or_default().to_owned(),
            code: 0,
            is_hidden: why == Some(Refusal::Unknown),
            pushes: Vec::new(),
        };
        let account = self.sessions.get(&connection).and_then(|session| session.account);
        let made = match (why, account) {
            (Some(Refusal::Busy), _) => Err(50_013),
            (Some(Refusal::TooMany), _) => Err(50_011),
            (Some(Refusal::Maintenance), _) => Err(50_001),
            (_, None) => Err(60_011),
            (Some(Refusal::Expired), _) => {
                self.sessions.insert(connection, super::Session::default());
                Err(60_011)
            }
            (_, Some(account)) => match op {
                "order" => self.place(arg, account),
                "amend-order" => self.amend(arg, account),
                _ => self.cancel(arg, account),
            },
        };
        match made {
            Ok((order, command)) => {
                job.order = order;
                self.job = Some(job);
                Some(command)
            }
            Err(code) => {
                job.code = code;
                self.answer(&job);
                None
            }
        }
    }

    fn place(&mut self, arg: &Value, account: usize) -> Result<(OrderId, Command), u32> {
        let text = |key: &str| arg[key].as_str().unwrap_or_default();
        if text("instId") != self.listing.name {
            return Err(51_001);
        }
        let name = text("clOrdId").to_owned();
        if self.orders.values().any(|order| order.account == account && order.name == name) {
            self.twice += 1;
            return Err(51_016);
        }
        let side = if text("side") == "buy" { Side::Buy } else { Side::Sell };
        let lots = self.lots(text("sz")).ok_or(51_121_u32)?;
        let (id, owner) = (self.order_id(), FIRST_DOOR_OWNER + account as u32);
        let kind = text("ordType");
        let mut entered = match kind {
            "market" => NewOrder::market(id, owner, side, lots),
            _ => {
                let price = self.half_ticks(text("px")).ok_or(51_006_u32)?;
                NewOrder::limit(id, owner, side, price, lots)
            }
        };
        entered = entered.force(match kind {
            "ioc" | "market" => TimeInForce::ImmediateOrCancel,
            "fok" => TimeInForce::FillOrKill,
            _ => TimeInForce::GoodTillCancel,
        });
        if kind == "post_only" {
            entered = entered.post_only(PostOnly::Reject);
        }
        entered = entered.self_trade(match text("stpMode") {
            "cancel_taker" => SelfTrade::CancelNewest,
            "cancel_both" => SelfTrade::CancelBoth,
            _ => SelfTrade::CancelOldest,
        });
        let (state, updated_ms) = (State::Open, self.ms());
        let order = Order { account, name, state, entered, filled: 0, notional: 0, updated_ms };
        self.orders.insert(id, order);
        Ok((id, Command::New(entered)))
    }

    fn amend(&self, arg: &Value, account: usize) -> Result<(OrderId, Command), u32> {
        let id = self.find(arg, account).ok_or(51_503_u32)?;
        let order = self.orders.get(&id).filter(|it| it.state == State::Open).ok_or(51_503_u32)?;
        let text = |key: &str| arg[key].as_str().unwrap_or_default();
        let lots = self.lots(text("newSz")).ok_or(51_121_u32)?;
        let price = self.half_ticks(text("newPx")).ok_or(51_006_u32)?;
        if lots.0 <= order.filled {
            return Err(51_538);
        }
        let order = NewOrder { price, lots, ..order.entered };
        Ok((id, Command::Replace { order, mode: ReplaceMode::InFlight }))
    }

    fn cancel(&self, arg: &Value, account: usize) -> Result<(OrderId, Command), u32> {
        let id = self.find(arg, account).ok_or(51_400_u32)?;
        let order = self.orders.get(&id).filter(|it| it.state == State::Open).ok_or(51_400_u32)?;
        Ok((id, Command::Cancel { order_id: order.entered.order_id }))
    }

    /// An account's order by the venue's name of it, or by its own.
    fn find(&self, arg: &Value, account: usize) -> Option<OrderId> {
        self.find_by(account, (arg["ordId"].as_str(), arg["clOrdId"].as_str()))
    }

    pub(super) fn find_by(
        &self,
        account: usize,
        (id, name): (Option<&str>, Option<&str>),
    ) -> Option<OrderId> {
        let is_it = |order: &&Order| match (id, name) {
            (Some(id), _) => name_of(order.entered.order_id) == id,
            (None, Some(name)) => order.name == name,
            (None, None) => false,
        };
        self.orders_of(account).find(is_it).map(|order| order.entered.order_id)
    }

    fn lots(&self, text: &str) -> Option<Lots> {
        let (size, lot) = (units(text)?, self.listing.lot);
        (size > 0 && size % lot == 0).then(|| Lots(size / lot))
    }

    fn half_ticks(&self, text: &str) -> Option<HalfTicks> {
        let (price, tick) = (units(text)?, self.listing.tick);
        (price > 0 && price % tick == 0).then(|| HalfTicks(price / tick * 2))
    }

    /// The command of the last request was executed: it is answered before what is pushed, or
    /// behind it.
    pub(super) fn answer_job(&mut self) {
        let Some(mut job) = self.job.take() else { return };
        let pushes = std::mem::take(&mut job.pushes);
        if job.is_hidden {
            job.code = 50_004;
        }
        let is_first = self.random.below(2) == 0;
        if is_first {
            self.answer(&job);
        }
        pushes.into_iter().for_each(|(account, text)| self.push(account, &text));
        if !is_first {
            self.answer(&job);
        }
    }

    fn answer(&mut self, job: &Job) {
        let Job { connection, id, op, order, amend, code, .. } = job;
        let (name, own) = match self.orders.get(order) {
            Some(order) => (order.name.clone(), name_of(order.entered.order_id)),
            None => (String::new(), String::new()),
        };
        let (all, ms) = (u32::from(*code != 0), self.ms());
        let text = format!(
            r#"{{"id":"{id}","op":"{op}","data":[{{"clOrdId":"{name}","ordId":"{own}",
                "reqId":"{amend}","tag":"","ts":"{ms}","sCode":"{code}","sMsg":""}}],
                "code":"{all}","msg":"","inTime":"1","outTime":"2"}}"#
        );
        self.say(*connection, text);
    }

    /// Tells an account what happened to its orders, on every connection that listens.
    fn push(&mut self, account: usize, order: &str) {
        let text = format!(
            r#"{{"arg":{{"channel":"orders","instType":"ANY","uid":"7"}},"data":[{order}]}}"#
        );
        let listens =
            |session: &super::Session| session.account == Some(account) && session.hears_orders;
        let all = self.sessions.iter().filter(|(_, session)| listens(session));
        let texts =
            all.map(|(connection, _)| Output::Text { connection: *connection, text: text.clone() });
        self.out.extend(texts);
    }

    /// What a command led to, anybody's.
    pub(super) fn take_events(&mut self, events: &[Event]) {
        let mut changed = Vec::new();
        for event in events {
            match *event {
                Event::Level { side, price, lots, .. } => {
                    self.book.set(side, price, lots.0);
                    changed.push((side, price));
                }
                Event::Trade { maker, taker, price, lots, aggressor, .. } => {
                    self.next_trade += 1;
                    self.tell_trade(price, lots.0, aggressor);
                    self.fill(taker, price, lots.0, false);
                    self.fill(maker, price, lots.0, true);
                }
                Event::Accepted { order_id, .. } => self.happened(order_id, Happened::default()),
                Event::Rejected { order_id, reason: RejectReason::WouldTrade, .. }
                | Event::Cancelled { order_id, .. } => self.end(order_id, State::Cancelled),
                Event::Rejected { order_id, .. } => {
                    self.orders.remove(&order_id);
                    self.refuse(51_000);
                }
                Event::CancelRejected { .. } => self.refuse(51_400),
                Event::ReplaceRejected { order_id, .. } => self.refuse_amendment(order_id),
                Event::Replaced { order_id, price, lots, .. } => {
                    self.replaced(order_id, price, lots);
                }
                _ => {}
            }
        }
        if !changed.is_empty() {
            self.book.count(self.random.below(3));
            let followers = self.sessions.values_mut().filter_map(|it| it.book.as_mut());
            followers.for_each(|follower| follower.note(self.now, &changed));
        }
    }

    const fn refuse(&mut self, code: u32) {
        if let Some(job) = &mut self.job {
            job.code = code;
        }
    }

    fn fill(&mut self, id: OrderId, price: HalfTicks, lots: i64, is_maker: bool) {
        let Some(order) = self.orders.get_mut(&id) else { return };
        order.filled += lots;
        order.notional += price.0 * lots;
        if order.filled == order.entered.lots.0 {
            order.state = State::Filled;
        }
        let signed = if order.entered.side == Side::Buy { lots } else { -lots };
        self.accounts[order.account].lots += signed;
        let trade = Some((self.next_trade, lots, price, is_maker));
        self.happened(id, Happened { trade, ..Happened::default() });
    }

    fn end(&mut self, id: OrderId, state: State) {
        if let Some(order) = self.orders.get_mut(&id) {
            order.state = state;
            self.happened(id, Happened::default());
        }
    }

    fn replaced(&mut self, id: OrderId, price: HalfTicks, open: Lots) {
        let Some(order) = self.orders.get_mut(&id) else { return };
        order.entered = NewOrder { price, lots: Lots(order.filled + open.0), ..order.entered };
        self.decided(id, 0);
    }

    /// An amendment that was taken comes to nothing: that is pushed.
    fn refuse_amendment(&mut self, id: OrderId) {
        self.decided(id, 51_009);
    }

    fn decided(&mut self, id: OrderId, code: u32) {
        let request = self.job.as_ref().map(|job| job.amend.clone()).unwrap_or_default();
        self.happened(id, Happened { amend: Some((&request, code)), ..Happened::default() });
    }

    /// Pushes an order as it is now: behind the request that led to it, or at once.
    fn happened(&mut self, id: OrderId, what: Happened<'_>) {
        let ms = self.ms();
        let Some(order) = self.orders.get_mut(&id) else { return };
        order.updated_ms = ms;
        let account = order.account;
        let Some(text) = self.orders.get(&id).map(|order| self.order_text(order, what)) else {
            return;
        };
        match &mut self.job {
            Some(job) => job.pushes.push((account, text)),
            None => self.push(account, &text),
        }
    }

    /// An order as answers have it.
    pub(super) fn shown(&self, order: &Order) -> String {
        self.order_text(order, Happened::default())
    }

    fn order_text(&self, order: &Order, what: Happened<'_>) -> String {
        let Order { name, state, entered, filled, notional, updated_ms, .. } = order;
        let (kind, instrument) = (self.listing.kind, self.listing.name);
        let state = match state {
            State::Open if *filled > 0 => "partially_filled",
            State::Open => "live",
            State::Filled => "filled",
            State::Cancelled => "canceled",
        };
        let side = if entered.side == Side::Buy { "buy" } else { "sell" };
        let (price, size) = (self.listing.price(entered.price), self.listing.size(entered.lots.0));
        let average = match *filled {
            0 => String::new(),
            filled => super::decimal(
                i128::from(*notional) * i128::from(self.listing.tick) / 2 / i128::from(filled),
            ),
        };
        let traded = match what.trade {
            Some((number, lots, price, is_maker)) => {
                let (size, price) = (self.listing.size(lots), self.listing.price(price));
                let letter = if is_maker { "M" } else { "T" };
                format!(
                    r#""tradeId":"{number}","fillSz":"{size}","fillPx":"{price}",
                        "fillFee":"-0.01","fillFeeCcy":"USDT","execType":"{letter}",
                        "fillTime":"{updated_ms}""#
                )
            }
            None => r#""tradeId":"","fillSz":"0","fillPx":"","fillFee":"0","fillFeeCcy":"",
                "execType":"","fillTime":"""#
                .to_owned(),
        };
        let (request, result, code) = match what.amend {
            Some((request, 0)) => (request, "0", 0),
            Some((request, code)) => (request, "-1", code),
            None => ("", "", 0),
        };
        let (own, filled) = (name_of(entered.order_id), self.listing.size(*filled));
        format!(
            r#"{{"instType":"{kind}","instId":"{instrument}","ordId":"{own}","clOrdId":"{name}",
                "side":"{side}","px":"{price}","sz":"{size}","ordType":"limit","state":"{state}",
                "accFillSz":"{filled}","avgPx":"{average}",{traded},"reqId":"{request}",
                "amendResult":"{result}","uTime":"{updated_ms}","code":"{code}","msg":""}}"#
        )
    }

    fn tell_trade(&mut self, price: HalfTicks, lots: i64, aggressor: Side) {
        let (name, number, ms) = (self.listing.name, self.next_trade, self.ms());
        let (price, size) = (self.listing.price(price), self.listing.size(lots));
        let side = if aggressor == Side::Buy { "buy" } else { "sell" };
        let text = format!(
            r#"{{"arg":{{"channel":"trades","instId":"{name}"}},"data":[{{"instId":"{name}",
                "tradeId":"{number}","px":"{price}","sz":"{size}","side":"{side}","ts":"{ms}",
                "count":"1"}}]}}"#
        );
        let all = self.sessions.iter().filter(|(_, session)| session.hears_trades);
        let texts =
            all.map(|(connection, _)| Output::Text { connection: *connection, text: text.clone() });
        self.out.extend(texts);
    }
}

/// The venue's name of an order.
pub(super) fn name_of(id: OrderId) -> String {
    (FIRST_NAME + (id.0 - FIRST_DOOR_ORDER)).to_string()
}
