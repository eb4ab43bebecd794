//! Trading at Binance, whatever way its orders take: what is asked for, under which names, and
//! what the venue allows.

use std::collections::VecDeque;

use taut_fix::Now;
use taut_oms::Order;
use taut_order_entry::binance::{Filter, NewOrder, Request, Stamp, Which};
use taut_types::{ClientOrderId, Instrument, Lots, Nanos, OrderTerms, Qty, RequestId};

use super::asked::{Asked, Question};
use super::budget::Budget;
use super::known::{self, Following, KnownOrders, Leg};
use super::name::{LegEnd, Name};
use super::reading::{Reading, number};
use super::session::Session;
use super::settings::BinanceOrderSettings;
use super::symbols::Symbols;
use super::way::{Way, Web};
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::{NotSent, OrderMessage, VenueEvent};
use crate::order_entry::last_words::LastWords;

/// Weight that is kept for what the session needs.
const KEPT_FOR_SESSION: u32 = 120;

/// The account's orders, and the session of the WebSocket API that answers questions about them.
#[derive(Debug)]
pub(super) struct Trading {
    pub(super) settings: BinanceOrderSettings,
    instruments: Vec<Instrument>,
    pub(super) session: Session,
    pub(super) symbols: Symbols,
    pub(super) known: KnownOrders,
    pub(super) reading: Reading,
    pub(super) budget: Budget,
    /// What takes the place of orders that are cancelled.
    pub(super) legs: VecDeque<Following>,
    /// None of these leaves before then.
    legs_from: Nanos,
    /// What is still to be asked.
    pub(super) questions: VecDeque<Question>,
    /// None of these leaves before then.
    questions_from: Nanos,
    pub(super) last_words: LastWords,
}

impl Trading {
    /// `listens` to the account's events where no other connection brings them.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without an API key and its private key.
    pub(super) fn new(
        config: &GatewayConfig,
        settings: BinanceOrderSettings,
        listens: bool,
    ) -> Result<Self, GatewayError> {
        Ok(Self {
            session: Session::new(config, listens)?,
            symbols: Symbols::new(&config.instruments, &settings.names),
            instruments: config.instruments.clone(),
            known: KnownOrders::with_capacity(config.order_capacity),
            reading: Reading::new(),
            budget: Budget::new(&settings),
            settings,
            legs: VecDeque::with_capacity(config.order_capacity),
            legs_from: Nanos::ZERO,
            questions: VecDeque::with_capacity(config.order_capacity),
            questions_from: Nanos::ZERO,
            last_words: LastWords::default(),
        })
    }

    #[inline]
    fn stamp(&self, now: Now) -> Result<Stamp, NotSent> {
        let timestamp_ms = self.session.clock().at(now.mono).ok_or(NotSent::NotUp)?;
        Ok(Stamp { timestamp_ms, window_ms: self.settings.window_ms })
    }

    /// What an order is at the venue.
    #[inline]
    fn new_order<'a>(
        symbols: &'a Symbols,
        settings: &BinanceOrderSettings,
        instrument: &Instrument,
        terms: &OrderTerms,
        quantity: Qty,
        name: &'a Name,
    ) -> Result<NewOrder<'a>, NotSent> {
        let symbol = symbols.get(instrument.id()).ok_or(NotSent::Unsupported)?;
        symbol.filters.check(terms.order_type, terms.price, quantity)?;
        terms.stop_price.map_or(Ok(()), |stop| symbol.filters.check_price(stop))?;
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

    /// There is one more instrument behind the others, or in the place of one that did not come to
    /// be.
    pub(super) fn add_instrument(&mut self, instrument: &Instrument, name: &str) {
        let at = instrument.id().0 as usize;
        self.instruments.truncate(at);
        self.instruments.push(*instrument);
        self.symbols.add(instrument, name);
        self.session.ask_symbol(at);
    }

    pub(super) fn disconnected(&mut self) {
        self.session.disconnected();
        self.budget.disconnected();
        self.reading.forget();
        self.known.forget_following();
        self.legs.clear();
        self.questions.clear();
    }

    pub(super) fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        let lot = self.instruments.get(order.terms.instrument.0 as usize).map(Instrument::lot);
        let traded = lot.and_then(|lot| known::traded(order, lot));
        if self.known.adopt(order, number(venue_id).unwrap_or(0), traded.unwrap_or(0)) {
            self.symbols.opened(order.terms.instrument);
        }
    }

    pub(super) fn over(&mut self, order: ClientOrderId) {
        if let Some(instrument) = self.known.forget(order) {
            self.symbols.ended(instrument);
        }
    }

    #[inline]
    pub(super) fn create(
        &mut self,
        now: Now,
        way: &mut impl Way,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let Self { settings, symbols, known, budget, .. } = self;
        if !symbols.has_room(instrument.id()) {
            return Err(NotSent::Filtered);
        }
        let name = Name::of(request, 0);
        let quantity = instrument.qty(terms.lots).map_err(|_| NotSent::Unsupported)?;
        let new = Self::new_order(symbols, settings, instrument, terms, quantity, &name)?;
        let place = Request::Place { order: new, stamp };
        if is_rehearsal {
            return way.rehearse(now, &place);
        }
        let kept = settings.kept_for_cancels;
        budget.take_order(now, stamp.timestamp_ms, |budget| way.pay(budget, now, 1, kept))?;
        way.leave(now, &place, Asked::Place(request))?;
        known.leaves(request, instrument.id(), &Leg::of(request, 0, terms), now.mono);
        symbols.opened(instrument.id());
        Ok(())
    }

    pub(super) fn modify(
        &mut self,
        now: Now,
        way: &mut impl Way,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let Self { settings, symbols, known, budget, .. } = self;
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
            way.pay(budget, now, 4, settings.kept_for_cancels)?;
            let amend = Request::Amend {
                symbol,
                which: old.which(),
                name: name.as_bytes(),
                quantity,
                stamp,
            };
            way.leave(now, &amend, Asked::Amend(request))?;
            known.leaves(request, instrument.id(), &leg, now.mono);
            return Ok(());
        }
        let new = Self::new_order(symbols, settings, instrument, terms, quantity, &name)?;
        let kept = settings.kept_for_cancels;
        budget.take_order(now, stamp.timestamp_ms, |budget| way.pay(budget, now, 1, kept))?;
        if known.has_traded(request.order) {
            let name = Name::ending(request, LegEnd::MadeWay);
            let (which, name) = (old.which(), name.as_bytes());
            let cancel = Request::Cancel { symbol, which, name, stamp };
            way.leave(now, &cancel, Asked::MakeWay(request))?;
            let following = Following { request, terms: *terms, before };
            known.follow(request.order, Some(following));
            known.touched(request.order, now.mono);
        } else {
            let end = Name::ending(request, LegEnd::Replaced);
            let (which, name) = (old.which(), end.as_bytes());
            let replace = Request::Replace { which, name, order: new, stamp };
            way.leave(now, &replace, Asked::Replace(request))?;
            known.leaves(request, instrument.id(), &leg, now.mono);
        }
        Ok(())
    }

    pub(super) fn cancel(
        &mut self,
        now: Now,
        way: &mut impl Way,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, .. } = *order;
        let Self { symbols, known, budget, legs, .. } = self;
        way.pay(budget, now, 1, 0)?;
        // What was to take its place does not come.
        let was_to_follow = known.follow(request.order, None);
        legs.retain(|leg| leg.request.order != request.order);
        let old = match was_to_follow {
            Some(_) => known.newest(request.order),
            None => known.leg(base),
        };
        let symbol = symbols.get(instrument.id()).ok_or(NotSent::Unsupported)?;
        let name = request.to_text();
        let (symbol, which) = (symbol.name.as_bytes(), old.which());
        let cancel = Request::Cancel { symbol, which, name: &name, stamp };
        way.leave(now, &cancel, Asked::Cancel(request))
    }

    pub(super) fn ask(
        &mut self,
        now: Now,
        web: &mut Web,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let OrderMessage { request, instrument, .. } = *order;
        self.budget.take(now, 4, KEPT_FOR_SESSION)?;
        let (at, instrument) = (now.mono, instrument.id());
        let question = Question { at, request, instrument, unknown: 0, before: 0, version: 0 };
        self.leave_question(now, web, stamp, question)
    }

    /// Asks for an order by the name that is next in turn.
    fn leave_question(
        &self,
        now: Now,
        web: &mut Web,
        stamp: Stamp,
        question: Question,
    ) -> Result<(), NotSent> {
        let Question { request, instrument, unknown, .. } = question;
        let symbol = self.symbols.get(instrument).ok_or(NotSent::Unsupported)?;
        let leg = self.known.names(request.order).nth(usize::from(unknown));
        let plain = Name::of(request, 0);
        let which = leg.as_ref().map_or(Which::Name(plain.as_bytes()), |leg| leg.which());
        let asked = leg.unwrap_or_else(|| self.known.newest(request.order));
        let question = Question { before: asked.before(), version: asked.version(), ..question };
        let status = Request::Status { symbol: symbol.name.as_bytes(), which, stamp };
        web.leave(now, &status, Asked::Status(question))
    }

    pub(super) fn ask_all(&mut self, now: Now, web: &mut Web) -> Result<(), NotSent> {
        let stamp = self.stamp(now)?;
        let open_orders = Request::OpenOrders { stamp };
        self.budget.take(now, open_orders.weight(), KEPT_FOR_SESSION)?;
        web.leave(now, &open_orders, Asked::OpenOrders)
    }

    pub(super) fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        self.reading.next().or_else(|| self.session.handle_timeout(now))
    }

    /// When something is to be sent, or the session has something to do.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        if !self.reading.is_empty() {
            return Some(Nanos::ZERO);
        }
        let legs = (!self.legs.is_empty()).then_some(self.legs_from);
        let questions = self.questions.iter().map(|it| it.at.max(self.questions_from));
        self.session.poll_timeout().into_iter().chain(legs).chain(questions).min()
    }

    /// Leaves the rest of an order whose predecessor is cancelled, if there is one.
    pub(super) fn write_leg(&mut self, now: Now, way: &mut impl Way) {
        let Some(Following { request, terms, before }) = self.legs.front().copied() else { return };
        let Ok(stamp) = self.stamp(now) else { return };
        if now.mono < self.legs_from {
            return;
        }
        let Self { settings, instruments, symbols, known, budget, .. } = self;
        let pay = |budget: &mut Budget| way.pay(budget, now, 1, 0);
        if let Err(NotSent::Throttled(until)) = budget.take_order(now, stamp.timestamp_ms, pay) {
            self.legs_from = until;
            return;
        }
        self.legs.pop_front();
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
            way.leave(now, &Request::Place { order, stamp }, Asked::Leg(request))
        });
        match left {
            Ok(()) => {
                known.leaves(request, terms.instrument, &Leg::of(request, before, &terms), now.mono)
            }
            // Nothing is left, or nothing that the venue would take.
            Err(_) => self.reading.cancelled(request),
        }
    }

    /// Leaves what the session needs, else the next question that is due.
    pub(super) fn write_questions(&mut self, now: Now, web: &mut Web) {
        let Self { session, symbols, budget, settings, .. } = self;
        let kept = settings.kept_for_cancels;
        let later = || session.due_later().map(|step| (step, kept));
        if let Some((step, kept)) = session.due().map(|step| (step, 0)).or_else(later)
            && budget.take(now, step.weight(), kept).is_ok()
        {
            let names: Vec<&str> = symbols.names(step.symbol()).collect();
            let stamp = (web.sent.next(), settings.window_ms);
            if let Some(length) = session.write(now, step, stamp, &names, &mut web.outbox) {
                web.unsent = length;
                web.sent.push(Asked::Session(step));
                return;
            }
        }
        if !session.is_up() || now.mono < self.questions_from {
            return;
        }
        if let Err(NotSent::Throttled(until)) = self.write_question(now, web) {
            self.questions_from = until;
        }
    }

    fn write_question(&mut self, now: Now, web: &mut Web) -> Result<(), NotSent> {
        let Some(place) = self.questions.iter().position(|it| it.at <= now.mono) else {
            return Ok(());
        };
        let stamp = self.stamp(now)?;
        self.budget.take(now, 4, 0)?;
        let Some(question) = self.questions.remove(place) else { return Ok(()) };
        self.leave_question(now, web, stamp, question)
    }
}

impl From<Filter> for NotSent {
    fn from(_: Filter) -> Self {
        Self::Filtered
    }
}
