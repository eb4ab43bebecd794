//! Deribit over JSON-RPC 2.0 on a WebSocket, as <https://docs.deribit.com> (API 2.1.1) has it.
//!
//! - **Session.** `public/get_time`, then `public/auth` by a signature of that time, a heartbeat,
//!   the end of all orders with the connection where it is wanted, and `user.changes`: only when
//!   each is answered the session is up. The token is renewed at three quarters of its life.
//! - **Names.** An order's label is the name of the request that made it, so that it is found after
//!   a restart. The venue's own name is used where it is known; else edits and cancels go by label.
//! - **Answers and notifications** of one event come in either order. An order is accepted by
//!   whichever comes first, a trade counts once by its id.
//! - **Errors.** What the venue surely did not do is refused. Of what nobody knows nothing is said:
//!   the order is asked about, and nothing is sent again.
//! - **Credits.** No request leaves for which there are none; some of those for orders are kept for
//!   cancels, some of the others for what the session needs.
//! - **Quantities** are in the instrument's units (`amount`), not in contracts.

mod asked;
mod reading;
mod session;

use taut_fix::{LongText, Now, ShortText};
use taut_market_data::deribit::{Message, read_message};
use taut_oms::{Order, RequestKind, VenueReject};
use taut_order_entry::deribit::{
    Amount, NewOrder, Outcome, Request, Trigger, read_count, read_error, read_order,
};
use taut_types::{ClientOrderId, Instrument, InstrumentId, Lots, Nanos, RequestId};

use super::known::KnownOrders;
use super::prices::VenuePrices;
use super::settings::DeribitOrderSettings;
use crate::config::GatewayConfig;
use crate::credits::Credits;
use crate::error::GatewayError;
use crate::order_entry::handler::{
    Capabilities, ChangeRefused, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent,
};
use crate::order_entry::last_words::LastWords;
use crate::order_entry::sent::Sent;
use crate::stream::VenueTerms;
use crate::venue_clock::ClockReading;
use asked::Asked;
use reading::{As, Reading, unversioned};
use session::Session;

/// The longest request of ours: a refresh token is the longest part of any.
const OUTBOX_BYTES: usize = 4_096;
/// Requests that are kept for what the session needs.
const KEPT_FOR_SESSION: u32 = 10;

/// The order handler of Deribit's JSON-RPC interface.
#[derive(Debug)]
pub struct DeribitJson {
    settings: DeribitOrderSettings,
    session: Session,
    known: KnownOrders,
    reading: Reading,
    sent: Sent<Asked>,
    /// For the matching engine, and for all else.
    orders: Credits,
    questions: Credits,
    outbox: Box<[u8]>,
    unsent: usize,
    last_words: LastWords,
    prices: VenuePrices,
    /// The venue's name of each instrument, and its symbol.
    symbols: Vec<(String, LongText)>,
    /// Whether there is one account alone, as at the venue.
    has_one_account: bool,
}

impl DeribitJson {
    /// With the credentials and the interval of heartbeats of these settings: at least ten
    /// seconds.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without a client's id and secret.
    pub fn new(
        config: &GatewayConfig,
        settings: DeribitOrderSettings,
    ) -> Result<Self, GatewayError> {
        let symbols = config.instruments.iter().map(|instrument| {
            let symbol = instrument.symbol();
            let name = Self::name(&settings, instrument, symbol.as_bytes());
            (String::from_utf8_lossy(name).into_owned(), ShortText::from(symbol).into())
        });
        Ok(Self {
            symbols: symbols.collect(),
            has_one_account: config.risk.accounts().all().len() <= 1,
            session: Session::new(config, settings.cancels_on_disconnect)?,
            known: KnownOrders::with_capacity(config.order_capacity),
            reading: Reading::new(),
            sent: Sent::new(),
            orders: Credits::new(settings.orders),
            questions: Credits::new(settings.questions),
            settings,
            outbox: vec![0; OUTBOX_BYTES].into_boxed_slice(),
            unsent: 0,
            last_words: LastWords::default(),
            prices: VenuePrices::of(config.instruments.len()),
        })
    }

    /// The venue's name of an instrument.
    #[inline]
    fn name<'a>(
        settings: &'a DeribitOrderSettings,
        instrument: &'a Instrument,
        symbol: &'a [u8],
    ) -> &'a [u8] {
        let named = settings.names.get(instrument.id().0 as usize).filter(|name| !name.is_empty());
        named.map_or(symbol, |name| name.as_bytes())
    }

    /// Leaves a request in the outbox, and remembers what it asked for.
    #[inline]
    fn leave(&mut self, request: &Request<'_>, asked: Asked) -> Result<(), NotSent> {
        let written = request.write(self.sent.next(), &mut self.outbox);
        self.unsent = written.ok_or(NotSent::Unsupported)?.len();
        self.sent.push(asked);
        Ok(())
    }

    /// Takes the credits of a request for the matching engine.
    fn pay(&mut self, now: Now, kept: u32) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        self.orders.take(now.mono, kept).map_err(NotSent::Throttled)
    }

    fn hear(&mut self, now: Now, frame: &[u8]) {
        match read_message(frame) {
            Ok(Message::Notification { channel, data })
                if channel.starts_with(b"user.changes.") =>
            {
                let Self { reading, known, .. } = self;
                if reading.changes(data, As::Notification, known).is_err() {
                    reading.push(VenueEvent::Unreadable(None));
                }
            }
            Ok(Message::TestRequest) => self.session.test_requested(),
            Ok(Message::Answer { id, body, is_error }) => {
                let Some(asked) = number(id).and_then(|id| Some((id, self.sent.take(id)?))) else {
                    return;
                };
                match is_error {
                    false => self.answered(now, asked.1, body),
                    true => self.failed(now, asked, body),
                }
            }
            Ok(_) => {}
            Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
        }
    }

    fn answered(&mut self, now: Now, asked: Asked, body: &[u8]) {
        let Self { reading, known, session, .. } = self;
        let one = |reading: &mut Reading, known: &mut KnownOrders, asked: As| {
            read_order(body).map(|order| reading.order(&order, asked, known))
        };
        let read = match asked {
            Asked::Test | Asked::CancelAllOf => Ok(()),
            Asked::Time => {
                session.told_time(now, read_count(body).ok());
                Ok(())
            }
            Asked::Authenticate
            | Asked::Heartbeat
            | Asked::CancelOnDisconnect
            | Asked::Subscribe => {
                let event = session.answered(now, asked, body);
                if matches!(event, Some(VenueEvent::Broken)) {
                    let words = "the key does not grant what a session needs: scopes trade and \
                                 account";
                    self.last_words.say(format_args!("{words}"));
                }
                event.into_iter().for_each(|event| reading.push(event));
                return;
            }
            Asked::Place(request) => reading.changes(body, As::Placed(request), known),
            Asked::Edit(request) => reading.changes(body, As::Edited(request), known),
            Asked::Cancel(request) => one(reading, known, As::Cancelled(request)),
            // What it came to is told by `user.changes`, or there was nothing to cancel.
            Asked::CancelByLabel(request) => read_count(body).map(|count| {
                if count == 0 {
                    reading.push(VenueEvent::ChangeRefused(refused(request, true)));
                }
            }),
            Asked::State(request) => one(reading, known, As::Stands(request)),
            Asked::StateByLabel(request) => reading.by_label(body, request, known),
            Asked::AllOpen => reading.all(body, known),
            Asked::Positions => {
                let read = reading.positions(body, &self.symbols);
                if read.is_err() {
                    reading.push(VenueEvent::PositionsRefused);
                }
                read
            }
        };
        if read.is_err() {
            reading.push(VenueEvent::Unreadable(asked.order()));
        }
    }

    /// An error instead of an answer. One without a code says nothing.
    fn failed(&mut self, now: Now, (id, asked): (u64, Asked), body: &[u8]) {
        let Ok(error) = read_error(body) else {
            self.reading.push(VenueEvent::Unreadable(asked.order()));
            return;
        };
        let outcome = error.outcome();
        if asked.is_of_session() || session::is_ended_by(error.code) {
            let message = String::from_utf8_lossy(error.message);
            self.last_words.say(format_args!("{} {message}", error.code));
        }
        if error.code == session::TOO_MANY_REQUESTS {
            self.orders.drain(now.mono);
            self.questions.drain(now.mono);
        }
        let told = match (asked, outcome) {
            (Asked::Authenticate, _) if self.session.signs_again() => None,
            (Asked::Authenticate | Asked::Heartbeat | Asked::CancelOnDisconnect, _)
            | (Asked::Subscribe, _) => Some(VenueEvent::Broken),
            (Asked::Time, _) => {
                self.session.told_time(now, None);
                None
            }
            // The cancels that it stood for are sent.
            (Asked::Test | Asked::CancelAllOf, _) => None,
            (Asked::Positions, _) => Some(VenueEvent::PositionsRefused),
            (_, Outcome::Unknown) => None,
            // It may have been done before it was undone.
            (Asked::Place(_), Outcome::OrderGone) => None,
            (Asked::Place(request), _) => Some(VenueEvent::Refused {
                message: id,
                named: Some(request),
                reject: error.reject(),
            }),
            (Asked::Edit(request) | Asked::Cancel(request) | Asked::CancelByLabel(request), _) => {
                let is_over = outcome == Outcome::OrderGone;
                let kind = match asked {
                    Asked::Edit(_) => RequestKind::Modify,
                    _ => RequestKind::Cancel,
                };
                let refused = ChangeRefused {
                    kind: Some(kind),
                    reject: error.reject(),
                    ..refused(request, is_over)
                };
                Some(VenueEvent::ChangeRefused(refused))
            }
            (Asked::State(request) | Asked::StateByLabel(request), Outcome::OrderGone) => {
                self.reading.not_found(request);
                None
            }
            (Asked::State(_) | Asked::StateByLabel(_) | Asked::AllOpen, _) => {
                Some(VenueEvent::Refused { message: id, named: None, reject: error.reject() })
            }
        };
        told.into_iter().for_each(|event| self.reading.push(event));
        if session::is_ended_by(error.code) {
            self.reading.push(VenueEvent::Broken);
        }
    }
}

impl OrderHandler for DeribitJson {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Messages,
            tells_all: true,
            tells_positions: true,
            name_bytes_max: 64,
        }
    }

    fn connected(&mut self, now: Now, random: [u8; 32], _failed_logons: u32) {
        self.session.connected(now, random);
    }

    fn last_refusal(&self) -> &str {
        self.last_words.as_str()
    }

    fn venue_clock(&self) -> Option<ClockReading> {
        self.session.clock().reading()
    }

    fn disconnected(&mut self, _now: Now) {
        self.session.disconnected();
        self.sent.forget();
        self.reading.forget();
        self.unsent = 0;
    }

    /// The connection's end is that of the session: after `private/logout` orders would stay that
    /// are to end with it.
    fn log_out(&mut self, now: Now) {
        self.session.leave(now);
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.session.is_up()
    }

    fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        self.known.expect(order.id);
        if !venue_id.is_empty() {
            self.known.name(order.id, venue_id);
        }
    }

    fn over(&mut self, order: ClientOrderId) {
        self.known.forget(order);
    }

    fn add_instrument(&mut self, instrument: &Instrument, name: &str) -> bool {
        let (at, symbol) = (instrument.id().0 as usize, instrument.symbol());
        if at > self.symbols.len() {
            return false;
        }
        self.symbols.truncate(at);
        self.symbols.push((name.to_owned(), ShortText::from(symbol).into()));
        self.settings.names.resize(at, String::new());
        self.settings.names.push(name.to_owned());
        self.prices.add(instrument.id());
        true
    }

    fn set_terms(&mut self, instrument: InstrumentId, terms: &VenueTerms) {
        self.prices.set(instrument, terms);
    }

    #[inline]
    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        if !is_rehearsal {
            self.prices.check(order.terms)?;
            self.pay(now, self.settings.kept_for_cancels)?;
        }
        let OrderMessage { request, instrument, terms, .. } = *order;
        let (symbol, label) = (instrument.symbol(), request.to_text());
        let shown = (terms.lots_shown != Lots::ZERO).then_some(terms.lots_shown);
        let shown = shown.map(|lots| instrument.qty(lots)).transpose();
        let place = Request::Place(NewOrder {
            instrument: Self::name(&self.settings, instrument, symbol.as_bytes()),
            side: terms.side,
            amount: amount(instrument, terms.lots)?,
            order_type: terms.order_type,
            price: terms.price,
            stop: terms.stop_price.map(|price| (Trigger::Last, price)),
            time_in_force: terms.time_in_force,
            flags: terms.flags,
            shown: shown.map_err(|_| NotSent::Unsupported)?,
            label: &label,
            valid_until_ms: None,
        });
        let written = place.write(self.sent.next(), &mut self.outbox);
        let length = written.ok_or(NotSent::Unsupported)?.len();
        if !is_rehearsal {
            self.unsent = length;
            self.sent.push(Asked::Place(request));
            self.known.expect(request.order);
        }
        Ok(())
    }

    fn modify(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        self.prices.check(order.terms)?;
        self.pay(now, self.settings.kept_for_cancels)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let (amount, price, flags) = (amount(instrument, terms.lots)?, terms.price, terms.flags);
        let (symbol, label) = (instrument.symbol(), RequestId::create(request.order).to_text());
        let venue_id = self.known.venue_id(request.order);
        let asked = Asked::Edit(request);
        match &venue_id {
            Some(id) => {
                let order_id = id.as_bytes();
                let valid_until_ms = None;
                self.leave(&Request::Edit { order_id, amount, price, flags, valid_until_ms }, asked)
            }
            None => {
                let Self { settings, sent, outbox, .. } = self;
                let instrument = Self::name(settings, instrument, symbol.as_bytes());
                let edit = Request::EditByLabel { label: &label, instrument, amount, price, flags };
                self.unsent = edit.write(sent.next(), outbox).ok_or(NotSent::Unsupported)?.len();
                sent.push(asked);
                Ok(())
            }
        }
    }

    fn cancel(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        self.pay(now, 0)?;
        let request = order.request;
        match self.known.venue_id(request.order) {
            Some(id) => {
                self.leave(&Request::Cancel { order_id: id.as_bytes() }, Asked::Cancel(request))
            }
            None => {
                let label = RequestId::create(request.order).to_text();
                let cancel = Request::CancelByLabel { label: &label };
                self.leave(&cancel, Asked::CancelByLabel(request))
            }
        }
    }

    fn owns_account(&self) -> bool {
        self.settings.owns_account
    }

    fn cancel_all_like(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        if !self.settings.owns_account {
            return Err(NotSent::Unsupported);
        }
        self.pay(now, 0)?;
        let Self { settings, sent, outbox, .. } = self;
        let symbol = order.instrument.symbol();
        let instrument = Self::name(settings, order.instrument, symbol.as_bytes());
        let written = Request::CancelAllOf { instrument }.write(sent.next(), outbox);
        self.unsent = written.ok_or(NotSent::Unsupported)?.len();
        sent.push(Asked::CancelAllOf);
        Ok(())
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.questions.take(now.mono, KEPT_FOR_SESSION).map_err(NotSent::Throttled)?;
        let request = order.request;
        match self.known.venue_id(request.order) {
            Some(id) => {
                self.leave(&Request::OrderState { order_id: id.as_bytes() }, Asked::State(request))
            }
            None => {
                let label = RequestId::create(request.order).to_text();
                let symbol = order.instrument.symbol();
                let name = Self::name(&self.settings, order.instrument, symbol.as_bytes());
                let currency = LongText::new(currency(name)).ok_or(NotSent::Unsupported)?;
                let currency = currency.as_bytes();
                let state = Request::OrderByLabel { currency, label: &label };
                self.leave(&state, Asked::StateByLabel(request))
            }
        }
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        self.questions.take(now.mono, KEPT_FOR_SESSION).map_err(NotSent::Throttled)?;
        self.leave(&Request::OpenOrders, Asked::AllOpen)
    }

    /// Coins that are bought and sold for others are balances, and no positions of the venue's:
    /// where such a pair is traded, nothing is compared. Nor is it where the gateway divides what
    /// is one account at the venue.
    fn ask_positions(&mut self, now: Now, _account: Option<ShortText>) -> Result<(), NotSent> {
        let is_pair = |(name, _): &(String, LongText)| !name.contains('-');
        if !self.has_one_account || self.symbols.iter().any(is_pair) {
            return Err(NotSent::Unsupported);
        }
        self.questions.take(now.mono, KEPT_FOR_SESSION).map_err(NotSent::Throttled)?;
        self.leave(&Request::Positions, Asked::Positions)
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
        self.session.handle_timeout(now)
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.session.poll_timeout()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        if self.unsent == 0 && self.session.has_due() && self.questions.take(now.mono, 0).is_ok() {
            let Self { session, sent, outbox, .. } = self;
            if let Some((asked, length)) = session.write_due(now, sent.next(), outbox) {
                self.unsent = length;
                sent.push(asked);
            }
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

impl Asked {
    /// Whether a session cannot be without it.
    const fn is_of_session(self) -> bool {
        matches!(
            self,
            Self::Authenticate | Self::Heartbeat | Self::CancelOnDisconnect | Self::Subscribe
        )
    }

    /// The order that it is about.
    const fn order(self) -> Option<RequestId> {
        match self {
            Self::Place(request)
            | Self::Edit(request)
            | Self::Cancel(request)
            | Self::CancelByLabel(request)
            | Self::State(request)
            | Self::StateByLabel(request) => Some(unversioned(request.order)),
            _ => None,
        }
    }
}

/// A cancel that was refused.
const fn refused(request: RequestId, is_over: bool) -> ChangeRefused {
    let kind = Some(RequestKind::Cancel);
    ChangeRefused {
        request: Some(request),
        kind,
        told: None,
        is_over,
        venue_id: None,
        reject: VenueReject::Other,
    }
}

#[inline]
fn amount(instrument: &Instrument, lots: Lots) -> Result<Amount, NotSent> {
    instrument.qty(lots).map(Amount::Units).map_err(|_| NotSent::Unsupported)
}

/// What an instrument is settled in: `BTC-PERPETUAL` in BTC, `ETH_USDC-PERPETUAL` in USDC.
fn currency(name: &[u8]) -> &[u8] {
    let pair = name.split(|byte| *byte == b'-').next().unwrap_or_default();
    pair.rsplit(|byte| *byte == b'_').next().unwrap_or_default()
}

/// An id of ours: digits.
fn number(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
