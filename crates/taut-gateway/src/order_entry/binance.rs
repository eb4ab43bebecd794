//! Binance's spot market over its WebSocket API, as binance-spot-api-docs has it.
//!
//! - **Session.** The venue's clock, `session.logon` with an Ed25519 key, the account's events, and
//!   the symbols' filters: only when each is answered the session is up. The clock is asked again
//!   with every heartbeat, by which a silent connection is noticed, too. Orders stay when the
//!   connection ends: the venue has no cancel on disconnect.
//! - **Time.** A request carries the venue's time, reckoned from the monotonic clock: a step of the
//!   machine's own clock moves nothing. The venue refuses what comes later than the window, which
//!   is therefore how long a request can still be executed.
//! - **Names.** The venue looks an order up by the client's name of it, and a replacement is
//!   another order with another name: that of the request that made it. Where something had traded
//!   before, the name says how much, so that totals are right after a restart, too.
//! - **Modifies.** One that makes an order smaller at its price is an amendment, which keeps the
//!   order's place. One of an order that has not traded is `order.cancelReplace`, only if it has
//!   not traded when it gets there. One of an order that has is a cancel, and when that is done and
//!   the last trade is known a new order for the rest: more than was asked for can never trade.
//! - **Answers and events** come in either order. A new order is accepted by whichever comes first;
//!   trades, ends by the order's own terms and cancels by others are told by events alone.
//! - **Errors.** What the venue surely did not do is refused. Of what nobody knows nothing is said:
//!   the order is asked about, and nothing is sent again. That there is no such order counts only
//!   when the window of its last request is over.
//! - **Limits.** An order that the symbol's filters refuse does not leave. No request leaves for
//!   which there is no weight, or no room among the orders of ten seconds and of a day; nothing
//!   leaves before the time that the venue names when a limit was reached.

mod asked;
mod budget;
mod known;
mod name;
mod reading;
mod session;
mod settings;
mod symbols;

use std::collections::VecDeque;

use taut_fix::Now;
use taut_oms::{Order, OrderState, RequestKind};
use taut_order_entry::binance::{
    Answer, ErrorAnswer, Event, Frame, NewOrder, Outcome, Request, Stamp, Step, Which,
    read_amended, read_error, read_event, read_frame, read_order, read_replaced,
};
use taut_types::{ClientOrderId, Instrument, Lots, Nanos, OrderTerms, Qty, RequestId};

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::{
    Capabilities, ChangeRefused, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent,
};
use crate::order_entry::last_words::LastWords;
use crate::order_entry::sent::Sent;
use asked::{Asked, Question};
use budget::Budget;
use known::{Following, KnownOrders, Leg};
use name::{LegEnd, Name};
use reading::{As, Reading, report_of};
use session::Session;
pub use settings::BinanceWsSettings;
use symbols::Symbols;
pub use taut_order_entry::binance::SelfTrade;

/// The longest request of ours but the question about symbols, which is as long as their names.
const OUTBOX_BYTES: usize = 4_096;
/// Of the longest name of a symbol, with its quotes and comma.
const SYMBOL_BYTES: usize = 64;
/// Weight that is kept for what the session needs.
const KEPT_FOR_SESSION: u32 = 120;
/// How long behind the window of a request the venue may take to know of its order.
const KNOWN_AFTER: Nanos = Nanos::from_secs(1);
/// An address may ask nothing for so long, where the venue does not say how long.
const BARRED: Nanos = Nanos::from_secs(60);

/// The order handler of Binance's WebSocket API.
#[derive(Debug)]
pub struct BinanceWs {
    settings: BinanceWsSettings,
    instruments: Vec<Instrument>,
    session: Session,
    symbols: Symbols,
    known: KnownOrders,
    reading: Reading,
    sent: Sent<Asked>,
    budget: Budget,
    /// What the handler sends by itself, behind what the session needs.
    due: VecDeque<Due>,
    /// None of these leaves before then.
    due_from: Nanos,
    outbox: Box<[u8]>,
    unsent: usize,
    last_words: LastWords,
}

/// A request of the handler's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The rest of an order whose predecessor is cancelled.
    Leg(Following),
    /// Where an order stands, from this time on.
    Question(Question),
}

impl BinanceWs {
    /// With the credentials of these settings, and their interval of heartbeats.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without an API key and its private key.
    pub fn new(config: &GatewayConfig, settings: BinanceWsSettings) -> Result<Self, GatewayError> {
        let outbox = OUTBOX_BYTES + config.instruments.len() * SYMBOL_BYTES;
        Ok(Self {
            session: Session::new(config)?,
            symbols: Symbols::new(&config.instruments, &settings.names),
            instruments: config.instruments.clone(),
            known: KnownOrders::with_capacity(config.order_capacity),
            reading: Reading::new(),
            sent: Sent::new(),
            budget: Budget::new(&settings),
            settings,
            due: VecDeque::with_capacity(config.order_capacity),
            due_from: Nanos::ZERO,
            outbox: vec![0; outbox].into_boxed_slice(),
            unsent: 0,
            last_words: LastWords::default(),
        })
    }

    #[inline]
    fn stamp(&self, now: Now) -> Result<Stamp, NotSent> {
        let timestamp_ms = self.session.clock().at(now.mono).ok_or(NotSent::NotUp)?;
        Ok(Stamp { timestamp_ms, window_ms: self.settings.window_ms })
    }

    /// Leaves a request in the outbox, and remembers what it asked for.
    #[inline]
    fn leave(
        sent: &mut Sent<Asked>,
        outbox: &mut [u8],
        unsent: &mut usize,
        request: &Request<'_>,
        asked: Asked,
    ) -> Result<(), NotSent> {
        let written = request.write(sent.next(), outbox);
        *unsent = written.ok_or(NotSent::Unsupported)?.len();
        sent.push(asked);
        Ok(())
    }

    /// What an order is at the venue.
    #[inline]
    fn new_order<'a>(
        symbols: &'a Symbols,
        settings: &BinanceWsSettings,
        instrument: &Instrument,
        terms: &OrderTerms,
        quantity: Qty,
        name: &'a Name,
    ) -> Result<NewOrder<'a>, NotSent> {
        let symbol = symbols.get(instrument.id()).ok_or(NotSent::Unsupported)?;
        symbol.filters.check(terms.order_type, terms.price, quantity).map_err(NotSent::from)?;
        let shown = (terms.lots_shown != Lots::ZERO).then_some(terms.lots_shown);
        let shown = shown.map(|lots| instrument.qty(lots)).transpose();
        Ok(NewOrder {
            symbol: symbol.name.as_bytes(),
            side: terms.side,
            quantity,
            order_type: terms.order_type,
            price: terms.price,
            stop: terms.stop_price,
            time_in_force: terms.time_in_force,
            flags: terms.flags,
            shown: shown.map_err(|_| NotSent::Unsupported)?,
            name: name.as_bytes(),
            self_trade: settings.self_trade,
        })
    }

    fn hear(&mut self, now: Now, frame: &[u8]) {
        match read_frame(frame) {
            Ok(Frame::Event(event)) => match read_event(event) {
                Ok(Event::Execution(execution)) => {
                    let follows = self.reading.execution(&execution, &mut self.known);
                    follows.into_iter().for_each(|leg| self.due.push_back(Due::Leg(leg)));
                }
                Ok(Event::Terminated | Event::Shutdown) => {
                    self.last_words.say(format_args!("the venue ends the account's events"));
                    self.reading.push(VenueEvent::Broken);
                }
                Ok(Event::Other) => {}
                Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
            },
            Ok(Frame::Answer(answer)) => {
                let Some((id, asked)) =
                    number(answer.id).and_then(|id| Some((id, self.sent.take(id)?)))
                else {
                    // What the venue could not read has no id, as has the end of a key.
                    if answer.is_error {
                        self.lost_answer(&answer);
                    }
                    return;
                };
                match answer.is_error {
                    false => self.answered(now, asked, answer.body),
                    true => self.failed(now, (id, asked), &answer),
                }
            }
            Ok(Frame::Unknown) => {}
            Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
        }
    }

    /// An error that belongs to no request: the key was revoked, say.
    fn lost_answer(&mut self, answer: &Answer<'_>) {
        let error = read_error(answer.status, answer.body);
        if let Some(error) = error.ok().filter(|error| error.outcome() == Outcome::Session) {
            self.say(&error);
            self.reading.push(VenueEvent::Broken);
        }
    }

    fn say(&mut self, error: &ErrorAnswer<'_>) {
        let message = String::from_utf8_lossy(error.message);
        self.last_words.say(format_args!("{} {message}", error.code));
    }

    fn answered(&mut self, now: Now, asked: Asked, body: &[u8]) {
        let Self { reading, known, session, symbols, .. } = self;
        let read = match asked {
            Asked::Session(step) => {
                let went = session.answered(now, step, body, symbols);
                match went {
                    Ok(event) => event.into_iter().for_each(|event| reading.push(event)),
                    Err(words) => {
                        self.last_words.say(format_args!("{words}"));
                        reading.push(VenueEvent::Broken);
                    }
                }
                return;
            }
            Asked::Place(request) => {
                read_order(body).map(|order| reading.heard(request, order.id, known))
            }
            Asked::Replace(request) | Asked::Leg(request) | Asked::Amend(request) => {
                let order = match asked {
                    Asked::Replace(_) => read_replaced(body).map(|replaced| match replaced.place {
                        Step::Done(order) => Some(order),
                        _ => None,
                    }),
                    Asked::Amend(_) => read_amended(body).map(Some),
                    _ => read_order(body).map(Some),
                };
                order.map(|order| {
                    let id = order.map(|order| order.id);
                    // An event of the new order may have said so before.
                    if id.and_then(|id| known.identify(request, id)) != Some(false) {
                        reading.replaced(request, id);
                    }
                })
            }
            Asked::Cancel(request) => read_order(body).map(|order| {
                reading.order(&order, As::Cancelled(request), known);
            }),
            // Its event comes behind its last trade.
            Asked::MakeWay(_) => Ok(()),
            Asked::Status(question) => {
                read_order(body).map(|order| self.stands(now, question, &order))
            }
            Asked::OpenOrders => reading.all(body, known),
        };
        if read.is_err() {
            self.reading.push(VenueEvent::Unreadable(asked.order()));
        }
    }

    /// Where an order stands, under one of its names.
    fn stands(
        &mut self,
        now: Now,
        question: Question,
        order: &taut_order_entry::binance::Order<'_>,
    ) {
        let has_ended = report_of(order.status).is_none_or(OrderState::is_done);
        if has_ended && self.known.follows(question.request.order) {
            // What takes its place is on its way.
            self.reading.stands_still(question.request);
        } else if has_ended && question.unknown > 0 && self.may_come(now, question.request.order) {
            // What took its place was asked for a moment too early.
            self.ask_again(question);
        } else {
            let names = self.known.names(question.request.order);
            let asked = names.into_iter().nth(usize::from(question.unknown));
            let before = asked.map_or(0, |leg| leg.before());
            self.reading.order(order, As::Stands(question.request, before), &mut self.known);
        }
    }

    /// Whether the venue may still execute the last request of an order.
    fn may_come(&self, now: Now, order: ClientOrderId) -> bool {
        now.mono < self.unknown_until(order)
    }

    fn unknown_until(&self, order: ClientOrderId) -> Nanos {
        let window = Nanos::from_millis(self.settings.window_ms as i64);
        self.known.sent_at(order) + window + KNOWN_AFTER
    }

    /// Asks about an order from its newest name on, when no request of it can come any more.
    fn ask_again(&mut self, question: Question) {
        let at = self.unknown_until(question.request.order);
        self.due.push_back(Due::Question(Question { at, unknown: 0, ..question }));
    }

    /// The venue does not know an order under one of its names.
    fn not_known(&mut self, now: Now, question: Question) {
        let Question { request, unknown, .. } = question;
        let unknown = unknown + 1;
        if usize::from(unknown) < self.known.names(request.order).count() {
            self.due.push_front(Due::Question(Question { at: now.mono, unknown, ..question }));
        } else if self.may_come(now, request.order) {
            self.ask_again(question);
        } else {
            self.reading.not_found(request);
        }
    }

    /// An error instead of an answer. One without a code says nothing.
    fn failed(&mut self, now: Now, (id, asked): (u64, Asked), answer: &Answer<'_>) {
        let Ok(error) = read_error(answer.status, answer.body) else {
            self.reading.push(VenueEvent::Unreadable(asked.order()));
            return;
        };
        let outcome = error.outcome();
        if matches!(asked, Asked::Session(_)) || outcome == Outcome::Session {
            self.say(&error);
        }
        if error.is_limit() {
            let until = error.retry_after_ms.and_then(|ms| self.session.clock().mono(ms));
            self.budget.bar(now.mono, until.unwrap_or(now.mono + BARRED), &error);
        }
        if outcome == Outcome::Late {
            self.session.ask_time();
        }
        let told = match asked {
            Asked::Session(step) => self.session.fails(step, outcome).then_some(VenueEvent::Broken),
            Asked::Replace(request) if !error.data.is_empty() && !error.is_limit() => {
                self.not_replaced(request, &error)
            }
            _ if outcome == Outcome::Unknown => None,
            Asked::Place(request) => {
                Some(VenueEvent::Refused { message: id, named: Some(request) })
            }
            Asked::Leg(request) => {
                // Its predecessor is cancelled.
                self.reading.cancelled(request);
                None
            }
            Asked::Replace(request) | Asked::MakeWay(request) | Asked::Amend(request) => {
                if matches!(asked, Asked::MakeWay(_)) {
                    self.known.follow(request.order, None);
                }
                Some(refused(request, RequestKind::Modify, outcome))
            }
            Asked::Cancel(request) => Some(refused(request, RequestKind::Cancel, outcome)),
            Asked::Status(question) if outcome == Outcome::OrderGone => {
                self.not_known(now, question);
                None
            }
            Asked::Status(_) | Asked::OpenOrders => {
                Some(VenueEvent::Refused { message: id, named: None })
            }
        };
        told.into_iter().for_each(|event| self.reading.push(event));
        if outcome == Outcome::Session && !matches!(asked, Asked::Session(_)) {
            self.reading.push(VenueEvent::Broken);
        }
    }

    /// What an error says of both halves of a cancel and replace.
    fn not_replaced(&mut self, request: RequestId, error: &ErrorAnswer<'_>) -> Option<VenueEvent> {
        let replaced = read_replaced(error.data).unwrap_or_default();
        match (replaced.cancel, replaced.place) {
            (Step::Failed(cancel), Step::NotAttempted | Step::Failed(_)) => {
                let outcome = cancel.outcome();
                let is_known = outcome != Outcome::Unknown;
                is_known.then(|| refused(request, RequestKind::Modify, outcome))
            }
            (Step::Done(_), Step::Failed(place)) if place.outcome() != Outcome::Unknown => {
                self.reading.cancelled(request);
                None
            }
            // Nobody knows.
            _ => None,
        }
    }

    /// Writes what is due next; whether there was anything.
    fn write_due(&mut self, now: Now) -> Result<(), NotSent> {
        let Ok(stamp) = self.stamp(now) else { return Ok(()) };
        let is_due = |due: &Due| match due {
            Due::Leg(_) => true,
            Due::Question(question) => question.at <= now.mono,
        };
        let Some(place) = self.due.iter().position(is_due) else { return Ok(()) };
        let Some(due) = self.due.get(place).copied() else { return Ok(()) };
        let Self { settings, instruments, symbols, known, sent, outbox, unsent, budget, .. } = self;
        match due {
            Due::Leg(following) => {
                budget.take_order(now, 1, 0, stamp.timestamp_ms)?;
                self.due.remove(place);
                let Following { request, terms, before, .. } = following;
                let name = Name::of(request, before);
                let rest = || {
                    let instrument = instruments.get(terms.instrument.0 as usize)?;
                    let all = instrument.qty(terms.lots).ok()?;
                    Some((instrument, known::minus(all, before)?))
                };
                let order = rest().ok_or(NotSent::Unsupported).and_then(|(instrument, rest)| {
                    Self::new_order(symbols, settings, instrument, &terms, rest, &name)
                });
                let left = order.and_then(|order| {
                    let place = Request::Place { order, stamp };
                    Self::leave(sent, outbox, unsent, &place, Asked::Leg(request))
                });
                match left {
                    Ok(()) => known.leaves(
                        request,
                        terms.instrument,
                        &Leg::of(request, before, &terms),
                        now.mono,
                    ),
                    // Nothing is left, or nothing that the venue would take.
                    Err(_) => self.reading.cancelled(request),
                }
            }
            Due::Question(question) => {
                budget.take(now, 4, 0)?;
                self.due.remove(place);
                let order = question.request.order;
                let which = known.names(order).nth(usize::from(question.unknown));
                let symbol = symbols.get(question.instrument).ok_or(NotSent::Unsupported)?;
                let plain = Name::of(question.request, 0);
                let which = which.as_ref().map_or(Which::Name(plain.as_bytes()), |it| it.which());
                let symbol = symbol.name.as_bytes();
                let status = Request::Status { symbol, which, stamp };
                Self::leave(sent, outbox, unsent, &status, Asked::Status(question))?;
            }
        }
        Ok(())
    }
}

impl OrderHandler for BinanceWs {
    const CAPABILITIES: Capabilities =
        Capabilities { framing: Framing::Messages, tells_all: true, name_bytes_max: 36 };

    fn connected(&mut self, now: Now, _random: [u8; 32], _failed_logons: u32) {
        self.session.connected(now);
    }

    fn last_refusal(&self) -> &str {
        self.last_words.as_str()
    }

    fn disconnected(&mut self, _now: Now) {
        self.session.disconnected();
        self.sent.forget();
        self.reading.forget();
        self.known.forget_following();
        self.due.clear();
        self.unsent = 0;
    }

    fn log_out(&mut self, now: Now) {
        self.session.leave(now);
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.session.is_up()
    }

    fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        let lot = self.instruments.get(order.terms.instrument.0 as usize).map(Instrument::lot);
        let traded = lot.and_then(|lot| known::traded(order, lot));
        self.known.adopt(order, number(venue_id).unwrap_or(0), traded.unwrap_or(0));
        self.symbols.opened(order.terms.instrument);
    }

    fn over(&mut self, order: ClientOrderId) {
        if let Some(instrument) = self.known.forget(order) {
            self.symbols.ended(instrument);
        }
    }

    #[inline]
    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let Self { settings, symbols, known, sent, outbox, unsent, budget, .. } = self;
        if !symbols.has_room(instrument.id()) {
            return Err(NotSent::Filtered);
        }
        let name = Name::of(request, 0);
        let quantity = instrument.qty(terms.lots).map_err(|_| NotSent::Unsupported)?;
        let new = Self::new_order(symbols, settings, instrument, terms, quantity, &name)?;
        let place = Request::Place { order: new, stamp };
        if is_rehearsal {
            return place.write(sent.next(), outbox).map(drop).ok_or(NotSent::Unsupported);
        }
        budget.take_order(now, 1, settings.kept_for_cancels, stamp.timestamp_ms)?;
        Self::leave(sent, outbox, unsent, &place, Asked::Place(request))?;
        known.leaves(request, instrument.id(), &Leg::of(request, 0, terms), now.mono);
        symbols.opened(instrument.id());
        Ok(())
    }

    fn modify(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let Self { settings, symbols, known, sent, outbox, unsent, budget, .. } = self;
        if known.follows(request.order) {
            return Err(NotSent::Busy);
        }
        let named = symbols.get(instrument.id()).ok_or(NotSent::Unsupported)?;
        let symbol = named.name.as_bytes();
        let old = known.leg(base);
        let all = instrument.qty(terms.lots).map_err(|_| NotSent::Unsupported)?;
        let before = old.before();
        let quantity = known::minus(all, before).ok_or(NotSent::Unsupported)?;
        let name = Name::of(request, before);
        let leg = Leg::of(request, before, terms);
        if named.can_amend && old.becomes_smaller(terms) {
            budget.take(now, 4, settings.kept_for_cancels)?;
            let amend = Request::Amend {
                symbol,
                which: old.which(),
                name: name.as_bytes(),
                quantity,
                stamp,
            };
            Self::leave(sent, outbox, unsent, &amend, Asked::Amend(request))?;
            known.leaves(request, instrument.id(), &leg, now.mono);
            return Ok(());
        }
        let new = Self::new_order(symbols, settings, instrument, terms, quantity, &name)?;
        budget.take_order(now, 1, settings.kept_for_cancels, stamp.timestamp_ms)?;
        if known.has_traded(request.order) {
            let name = Name::ending(request, LegEnd::MadeWay);
            let (which, name) = (old.which(), name.as_bytes());
            let cancel = Request::Cancel { symbol, which, name, stamp };
            Self::leave(sent, outbox, unsent, &cancel, Asked::MakeWay(request))?;
            let following = Following { request, terms: *terms, before };
            known.follow(request.order, Some(following));
            known.touched(request.order, now.mono);
        } else {
            let end = Name::ending(request, LegEnd::Replaced);
            let (which, name) = (old.which(), end.as_bytes());
            let replace = Request::Replace { which, name, order: new, stamp };
            Self::leave(sent, outbox, unsent, &replace, Asked::Replace(request))?;
            known.leaves(request, instrument.id(), &leg, now.mono);
        }
        Ok(())
    }

    fn cancel(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, .. } = *order;
        let Self { symbols, known, sent, outbox, unsent, budget, due, .. } = self;
        budget.take(now, 1, 0)?;
        // What was to take its place does not come.
        let was_to_follow = known.follow(request.order, None);
        due.retain(|due| !matches!(due, Due::Leg(leg) if leg.request.order == request.order));
        let old = match was_to_follow {
            Some(_) => known.newest(request.order),
            None => known.leg(base),
        };
        let symbol = symbols.get(instrument.id()).ok_or(NotSent::Unsupported)?;
        let name = request.to_text();
        let (symbol, which) = (symbol.name.as_bytes(), old.which());
        let cancel = Request::Cancel { symbol, which, name: &name, stamp };
        Self::leave(sent, outbox, unsent, &cancel, Asked::Cancel(request))
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, .. } = *order;
        let Self { symbols, known, sent, outbox, unsent, budget, .. } = self;
        budget.take(now, 4, KEPT_FOR_SESSION)?;
        let instrument = instrument.id();
        let question = Question { at: now.mono, request, instrument, unknown: 0 };
        let symbol = symbols.get(instrument).ok_or(NotSent::Unsupported)?;
        let (plain, newest) = (Name::of(request, 0), known.names(request.order).next());
        let which = newest.as_ref().map_or(Which::Name(plain.as_bytes()), |it| it.which());
        let status = Request::Status { symbol: symbol.name.as_bytes(), which, stamp };
        Self::leave(sent, outbox, unsent, &status, Asked::Status(question))
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let open_orders = Request::OpenOrders { stamp };
        self.budget.take(now, open_orders.weight(), KEPT_FOR_SESSION)?;
        let Self { sent, outbox, unsent, .. } = self;
        Self::leave(sent, outbox, unsent, &open_orders, Asked::OpenOrders)
    }

    #[inline]
    fn last_message(&self) -> u64 {
        self.sent.last()
    }

    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        if let Some(event) = self.reading.next() {
            return Some(event);
        }
        let frame = std::mem::take(bytes);
        if !frame.is_empty() {
            self.session.heard(now);
            self.hear(now, frame);
        }
        self.reading.next()
    }

    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        if let Some(event) = self.reading.next() {
            return Some(event);
        }
        self.session.handle_timeout(now)
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        if !self.reading.is_empty() {
            return Some(Nanos::ZERO);
        }
        let due = self.due.iter().map(|due| match due {
            Due::Leg(_) => self.due_from,
            Due::Question(question) => question.at.max(self.due_from),
        });
        self.session.poll_timeout().into_iter().chain(due).min()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        if self.unsent == 0 {
            let Self { session, symbols, sent, outbox, unsent, budget, settings, .. } = self;
            if let Some(step) = session.due()
                && budget.take(now, step.weight(), 0).is_ok()
            {
                let names: Vec<&str> = symbols.names().collect();
                if let Some(length) =
                    session.write(now, step, (sent.next(), settings.window_ms), &names, outbox)
                {
                    *unsent = length;
                    sent.push(Asked::Session(step));
                }
            }
        }
        if self.unsent == 0
            && self.is_up()
            && self.due_from <= now.mono
            && let Err(NotSent::Throttled(until)) = self.write_due(now)
        {
            self.due_from = until;
        }
        self.unsent()
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        self.outbox.get(..self.unsent).unwrap_or_default()
    }

    #[inline]
    fn clear_unsent(&mut self) {
        self.unsent = 0;
    }
}

impl From<taut_order_entry::binance::Filter> for NotSent {
    fn from(_: taut_order_entry::binance::Filter) -> Self {
        Self::Filtered
    }
}

/// A change that was refused.
fn refused(request: RequestId, kind: RequestKind, outcome: Outcome) -> VenueEvent {
    let is_over = outcome == Outcome::OrderGone;
    let (request, kind) = (Some(request), Some(kind));
    VenueEvent::ChangeRefused(ChangeRefused { request, kind, told: None, is_over, venue_id: None })
}

/// An id of ours, or one of the venue's: digits.
fn number(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
