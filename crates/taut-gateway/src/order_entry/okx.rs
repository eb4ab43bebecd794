//! OKX over its private WebSocket, with questions about orders over HTTP beside it: version 5.
//!
//! - **Session.** The venue's time (HTTP), `login` by a signature of it, the channel `orders` of
//!   all instruments: only when each is answered the session is up. A text `ping` goes out when
//!   nothing was heard for an interval.
//! - **Names.** An order's `clOrdId` is the name of the request that made it, an amendment's
//!   `reqId` the name of its own: both come back in each push.
//! - **Answers and pushes** of one event come in either order. An order is accepted by whichever
//!   comes first. An answer to an amendment or a cancel that the venue took says nothing yet: what
//!   became of it is pushed. A trade counts once by its id.
//! - **Errors.** What the venue surely did not do is refused. Of what nobody knows nothing is said:
//!   the order is asked about, and nothing is sent again.
//! - **Questions.** `GET /api/v5/trade/order` and `/orders-pending`, one at a time. One that has no
//!   answer because the server ended its connection is asked again; an order that left less than
//!   [`SETTLE`] ago may not be there yet. Where no coins of the spot market are traded, which are
//!   balances, `/account/positions` says what the account holds.
//! - **Quantities** are the venue's: coins on the spot market, contracts elsewhere.

mod questions;
mod reading;
mod session;
mod settings;

use taut_fix::{LongText, Now, ShortText};
use taut_oms::{Order, RequestKind, VenueReject};
use taut_order_entry::okx::{
    Message, NewOrder, Outcome, Request, Which, outcome, read_answer, read_message, reject,
};
use taut_types::{ClientOrderId, Instrument, Lots, Nanos, RequestId};

use super::handler::{
    Capabilities, ChangeRefused, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent,
};
use super::last_words::LastWords;
use super::places::OrderPlaces;
use super::sent::Sent;
use crate::config::GatewayConfig;
use crate::credits::Credits;
use crate::error::GatewayError;
use crate::venue_clock::ClockReading;
use questions::{Asked, Questions};
use reading::{As, KnownOrder, Reading};
use session::{Session, Step};
pub use settings::{OkxOrderSettings, OkxSecret};
pub use taut_order_entry::okx::{SelfTrade, TradeMode};

/// The longest request of ours.
const OUTBOX_BYTES: usize = 2_048;
/// How long an order takes to be found by a question after it left.
const SETTLE: Nanos = Nanos::from_secs(2);

/// What a message over the WebSocket asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ordered {
    Place(RequestId),
    Amend(RequestId),
    Cancel(RequestId),
    /// Nothing: its number is that of a question.
    Question,
}

impl Ordered {
    /// The order that it is about: whatever is under way may be meant.
    const fn order(self) -> Option<RequestId> {
        match self {
            Self::Place(request) | Self::Amend(request) | Self::Cancel(request) => {
                Some(RequestId { order: request.order, version: 0 })
            }
            Self::Question => None,
        }
    }
}

/// The order handler of OKX.
#[derive(Debug)]
pub struct OkxWs {
    settings: OkxOrderSettings,
    /// The symbols of the instruments that the settings name as the venue does.
    symbols: Vec<LongText>,
    /// Whether there is one account alone, as at the venue.
    has_one_account: bool,
    session: Session,
    known: OrderPlaces<KnownOrder>,
    reading: Reading,
    sent: Sent<Ordered>,
    questions: Questions,
    orders: Credits,
    /// The venue counts them by themselves.
    cancels: Credits,
    outbox: Box<[u8]>,
    unsent: usize,
    last_words: LastWords,
}

impl OkxWs {
    /// With these settings, and the interval of heartbeats of the others.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without a key, its secret and its passphrase.
    pub fn new(
        config: &GatewayConfig,
        mut settings: OkxOrderSettings,
    ) -> Result<Self, GatewayError> {
        settings.names.resize(config.instruments.len(), String::new());
        for (name, instrument) in settings.names.iter_mut().zip(&config.instruments) {
            if name.is_empty() {
                *name = instrument.symbol().to_string();
            }
        }
        let symbols = config.instruments.iter().map(|it| ShortText::from(it.symbol()).into());
        Ok(Self {
            symbols: symbols.collect(),
            has_one_account: config.risk.accounts().all().len() <= 1,
            session: Session::new(config, &settings)?,
            known: OrderPlaces::with_capacity(config.order_capacity),
            reading: Reading::new(),
            sent: Sent::new(),
            questions: Questions::new(settings.questions),
            orders: Credits::new(settings.orders),
            cancels: Credits::new(settings.orders),
            settings,
            outbox: vec![0; OUTBOX_BYTES].into_boxed_slice(),
            unsent: 0,
            last_words: LastWords::default(),
        })
    }

    /// Leaves a request in the outbox, and remembers what it asked for.
    #[inline]
    fn leave(&mut self, request: &Request<'_>, ordered: Ordered) -> Result<(), NotSent> {
        let written = request.write(self.sent.next(), &mut self.outbox);
        self.unsent = written.ok_or(NotSent::Unsupported)?.len();
        self.sent.push(ordered);
        Ok(())
    }

    fn check_up(&self) -> Result<(), NotSent> {
        if self.is_up() { Ok(()) } else { Err(NotSent::NotUp) }
    }

    /// A request about an order leaves.
    fn touch(&mut self, order: ClientOrderId, now: Now) {
        if let Some(known) = self.known.get_or_insert(order, KnownOrder::default()) {
            known.sent_at = now.mono;
        }
    }

    fn venue_id(&self, order: ClientOrderId) -> Option<LongText> {
        self.known.get(order)?.venue_id
    }

    fn hear(&mut self, now: Now, frame: &[u8]) {
        if frame == b"pong" {
            return;
        }
        match read_message(frame) {
            Ok(message) if message.channel == b"orders" && message.event.is_empty() => {
                let Self { reading, known, .. } = self;
                if reading.orders(message.data, As::Notification, known).is_err() {
                    reading.push(VenueEvent::Unreadable(None));
                }
            }
            Ok(message) => self.answered(now, &message),
            Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
        }
    }

    fn answered(&mut self, now: Now, message: &Message<'_>) {
        let found = message.id.and_then(|id| Some((id, self.sent.take(id)?)));
        if let Some((id, ordered)) = found {
            let one = read_answer(message.data).unwrap_or_default();
            let code = one.code.or(message.code.filter(|code| *code != 0));
            let words = if one.words.is_empty() { message.words } else { one.words };
            match code {
                Some(0) => self.taken(ordered, one.order_id),
                Some(code) => self.refused(now, (id, ordered), code, words),
                // An answer without a word of what became of it: the order is asked about.
                None => self.reading.push(VenueEvent::Unreadable(ordered.order())),
            }
            return;
        }
        match message.event {
            b"login" | b"subscribe" if matches!(message.code, None | Some(0)) => {
                let is_ours = message.event == b"login" || message.channel == b"orders";
                let event = is_ours.then(|| self.session.granted(now, message.event)).flatten();
                event.into_iter().for_each(|event| self.reading.push(event));
            }
            // A connection that ends for an upgrade is left before; one that may not be is over.
            b"login" | b"subscribe" | b"error" | b"notice" | b"channel-conn-count-error" => {
                let ends = message.code.is_none_or(|code| outcome(code) == Outcome::Session);
                if ends || !self.session.is_up() {
                    let words = String::from_utf8_lossy(message.words);
                    self.last_words.say(format_args!("{} {words}", message.code.unwrap_or(0)));
                    self.reading.push(VenueEvent::Broken);
                } else {
                    self.reading.push(VenueEvent::Unreadable(None));
                }
            }
            _ => {}
        }
    }

    /// The venue took a request.
    fn taken(&mut self, ordered: Ordered, order_id: &[u8]) {
        if let Ordered::Place(request) = ordered {
            self.reading.heard(request.order, order_id, &mut self.known);
        }
    }

    /// The venue did not take a request, or nobody knows.
    fn refused(&mut self, now: Now, (id, ordered): (u64, Ordered), code: u64, words: &[u8]) {
        let outcome = outcome(code);
        match outcome {
            Outcome::Unknown => return,
            Outcome::NotDoneForNow => match ordered {
                Ordered::Cancel(_) => self.cancels.drain(now.mono),
                _ => self.orders.drain(now.mono),
            },
            Outcome::Session => {
                let words = String::from_utf8_lossy(words);
                self.last_words.say(format_args!("{code} {words}"));
            }
            Outcome::OrderGone | Outcome::Refused => {}
        }
        let (is_over, reject) = (outcome == Outcome::OrderGone, reject(code));
        let told = match ordered {
            Ordered::Place(request) => {
                VenueEvent::Refused { message: id, named: Some(request), reject }
            }
            Ordered::Amend(request) => {
                change_refused(request, RequestKind::Modify, (is_over, reject))
            }
            Ordered::Cancel(request) => {
                change_refused(request, RequestKind::Cancel, (is_over, reject))
            }
            Ordered::Question => return,
        };
        self.reading.push(told);
        if outcome == Outcome::Session {
            self.reading.push(VenueEvent::Broken);
        }
    }

    /// The answer to a question, whose connection's end is the empty message.
    fn hear_answer(&mut self, now: Now, body: &[u8]) {
        let Some(question) = self.questions.take() else { return };
        let message = (!body.is_empty()).then(|| read_message(body).ok()).flatten();
        let Some(message) = message.filter(|message| message.code.is_some()) else {
            // The server is restarting, or says so in a page for people.
            self.questions.again(now, question);
            return;
        };
        let code = message.code.unwrap_or(0);
        let Self { reading, known, questions, session, settings, symbols, .. } = self;
        match (question.asked, code) {
            (Asked::Time, 0) => match taut_order_entry::okx::read_time(message.data) {
                Ok(time) => session.told_time(now, time, question.sent_at),
                Err(_) => questions.again(now, question),
            },
            (Asked::Order(request, _), 0) => match message.data {
                b"[]" => self.not_found(now, request, question),
                data => {
                    if reading.orders(data, As::Stands(request), known).is_err() {
                        let named = RequestId { order: request.order, version: 0 };
                        reading.push(VenueEvent::Unreadable(Some(named)));
                    }
                }
            },
            (Asked::Open { .. }, 0) => match reading.open(message.data, known) {
                Ok(page) => questions.page(now, question, page, reading),
                Err(_) => reading.push(VenueEvent::Refused {
                    message: question.id,
                    named: None,
                    reject: VenueReject::Other,
                }),
            },
            (Asked::Positions, 0) => {
                if reading.positions(message.data, (&settings.names, symbols)).is_err() {
                    reading.push(VenueEvent::PositionsRefused);
                }
            }
            (Asked::Order(request, _), code) if outcome(code) == Outcome::OrderGone => {
                self.not_found(now, request, question);
            }
            (_, code) => {
                let words = String::from_utf8_lossy(message.words);
                self.last_words.say(format_args!("{code} {words}"));
                match outcome(code) {
                    Outcome::Session => reading.push(VenueEvent::Broken),
                    Outcome::NotDoneForNow | Outcome::Unknown => questions.again(now, question),
                    Outcome::OrderGone | Outcome::Refused => {
                        let (message, reject) = (question.id, reject(code));
                        reading.push(VenueEvent::Refused { message, named: None, reject });
                    }
                }
            }
        }
    }

    /// The venue has no such order; one that has just left it may not have yet.
    fn not_found(&mut self, now: Now, request: RequestId, question: questions::Question) {
        let sent_at = self.known.get(request.order).map_or(Nanos::ZERO, |known| known.sent_at);
        if sent_at != Nanos::ZERO && now.mono.since(sent_at) < SETTLE {
            self.questions.later(question, sent_at + SETTLE);
        } else {
            self.reading.not_found(request);
        }
    }
}

impl OrderHandler for OkxWs {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Messages,
            tells_all: true,
            tells_positions: true,
            name_bytes_max: 32,
        }
    }

    fn asks_beside(&self) -> bool {
        true
    }

    fn connected(&mut self, now: Now, _random: [u8; 32], _failed_logons: u32) {
        self.session.connected(now);
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
        self.questions.forget();
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
        let venue_id = LongText::new(venue_id).filter(|id| !id.as_bytes().is_empty());
        let is_heard = order.version_accepted > 0;
        let known = KnownOrder { venue_id, is_heard, ..KnownOrder::default() };
        let _ = self.known.get_or_insert(order.id, known);
    }

    fn over(&mut self, order: ClientOrderId) {
        self.known.remove(order);
    }

    fn add_instrument(&mut self, instrument: &Instrument, name: &str) -> bool {
        let place = instrument.id().0 as usize;
        self.settings.names.resize(place, String::new());
        self.settings.names.push(name.to_owned());
        self.symbols.resize(place, LongText::from_u64(0));
        self.symbols.push(ShortText::from(instrument.symbol()).into());
        true
    }

    #[inline]
    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        let OrderMessage { request, instrument, terms, .. } = *order;
        if terms.lots_shown != Lots::ZERO || terms.stop_price.is_some() {
            return Err(NotSent::Unsupported);
        }
        if !is_rehearsal {
            self.check_up()?;
            self.orders.take(now.mono, 0).map_err(NotSent::Throttled)?;
        }
        let (symbol, name) = (instrument.symbol(), request.to_text());
        let Self { settings, sent, outbox, .. } = self;
        let place = Request::Place(NewOrder {
            instrument: settings.name(instrument, symbol.as_bytes()),
            name: &name,
            side: terms.side,
            qty: instrument.qty(terms.lots).map_err(|_| NotSent::Unsupported)?,
            order_type: terms.order_type,
            price: terms.price,
            time_in_force: terms.time_in_force,
            flags: terms.flags,
            mode: settings.mode,
            self_trade: settings.self_trade,
        });
        let length = place.write(sent.next(), outbox).ok_or(NotSent::Unsupported)?.len();
        if !is_rehearsal {
            self.unsent = length;
            self.sent.push(Ordered::Place(request));
            self.touch(request.order, now);
        }
        Ok(())
    }

    fn modify(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        self.check_up()?;
        self.orders.take(now.mono, 0).map_err(NotSent::Throttled)?;
        let OrderMessage { request, instrument, terms, .. } = *order;
        let (symbol, name) = (instrument.symbol(), request.to_text());
        let (plain, id) =
            (RequestId::create(request.order).to_text(), self.venue_id(request.order));
        let Self { settings, sent, outbox, .. } = self;
        let amend = Request::Amend {
            instrument: settings.name(instrument, symbol.as_bytes()),
            which: id.as_ref().map_or(Which::Name(&plain), |id| Which::Id(id.as_bytes())),
            request: &name,
            qty: instrument.qty(terms.lots).map_err(|_| NotSent::Unsupported)?,
            price: terms.price,
        };
        self.unsent = amend.write(sent.next(), outbox).ok_or(NotSent::Unsupported)?.len();
        sent.push(Ordered::Amend(request));
        self.touch(request.order, now);
        Ok(())
    }

    fn cancel(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        self.check_up()?;
        self.cancels.take(now.mono, 0).map_err(NotSent::Throttled)?;
        let OrderMessage { request, instrument, .. } = *order;
        let (plain, id) =
            (RequestId::create(request.order).to_text(), self.venue_id(request.order));
        let symbol = instrument.symbol();
        let name = LongText::new(self.settings.name(instrument, symbol.as_bytes()));
        let cancel = Request::Cancel {
            instrument: name.as_ref().ok_or(NotSent::Unsupported)?.as_bytes(),
            which: id.as_ref().map_or(Which::Name(&plain), |id| Which::Id(id.as_bytes())),
        };
        self.leave(&cancel, Ordered::Cancel(request))
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.check_up()?;
        self.questions.pay(now)?;
        self.sent.push(Ordered::Question);
        let asked = Asked::Order(order.request, order.instrument.id());
        self.questions.ask(now, self.sent.last(), asked);
        Ok(())
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        self.check_up()?;
        self.questions.pay(now)?;
        self.sent.push(Ordered::Question);
        self.questions.ask(now, self.sent.last(), Asked::FIRST_PAGE);
        Ok(())
    }

    /// Coins of the spot market are balances, and no positions of the venue's: where a pair is
    /// traded, nothing is compared. Nor is it where the gateway divides what is one account at the
    /// venue.
    fn ask_positions(&mut self, now: Now, _account: Option<ShortText>) -> Result<(), NotSent> {
        let is_pair = |name: &String| name.matches('-').count() < 2;
        if !self.has_one_account || self.settings.names.iter().any(is_pair) {
            return Err(NotSent::Unsupported);
        }
        self.check_up()?;
        self.questions.pay(now)?;
        self.sent.push(Ordered::Question);
        self.questions.ask(now, self.sent.last(), Asked::Positions);
        Ok(())
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
        if self.session.is_time_due(now) {
            self.questions.ask(now, 0, Asked::Time);
        }
        if self.questions.is_late(now) {
            return Some(VenueEvent::Broken);
        }
        self.session.handle_timeout(now)
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        if !self.reading.is_empty() {
            return Some(Nanos::ZERO);
        }
        self.session.poll_timeout().into_iter().chain(self.questions.poll_timeout()).min()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        if self.unsent == 0
            && let Some(step) = self.session.take_due(now)
        {
            self.unsent = match step {
                Step::Ping => {
                    let (room, text) = (self.outbox.iter_mut(), b"ping");
                    room.zip(text).for_each(|(place, byte)| *place = *byte);
                    text.len()
                }
                Step::LogIn => {
                    let login = self.session.login(now);
                    let written = Request::Login(login).write(0, &mut self.outbox);
                    written.map_or(0, <[u8]>::len)
                }
                Step::Subscribe => {
                    Request::Orders.write(0, &mut self.outbox).map_or(0, <[u8]>::len)
                }
            };
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

    fn handle_beside(&mut self, now: Now, message: &[u8]) {
        self.session.heard_beside(now);
        self.hear_answer(now, message);
    }

    fn poll_transmit_beside(&mut self, now: Now) -> &[u8] {
        let Self { questions, session, settings, known, .. } = self;
        if session.takes_first_time(now) {
            questions.ask(now, 0, Asked::Time);
        }
        let venue_id = |order| known.get(order).and_then(|known| known.venue_id);
        questions.poll_transmit(now, &session.questioner(now, settings), settings, venue_id)
    }

    fn clear_unsent_beside(&mut self) {
        self.questions.clear_unsent();
    }
}

/// A change of an order that was refused.
const fn change_refused(
    request: RequestId,
    kind: RequestKind,
    (is_over, reject): (bool, VenueReject),
) -> VenueEvent {
    VenueEvent::ChangeRefused(ChangeRefused {
        request: Some(request),
        kind: Some(kind),
        told: None,
        is_over,
        venue_id: None,
        reject,
    })
}

impl OkxOrderSettings {
    /// The venue's name of an instrument.
    #[inline]
    fn name<'a>(&'a self, instrument: &Instrument, symbol: &'a [u8]) -> &'a [u8] {
        self.named(instrument.id()).unwrap_or(symbol)
    }
}

#[cfg(test)]
mod tests;
