//! Deribit over FIX 4.4, as <https://docs.deribit.com/fix-api> has it.
//!
//! What differs from the standard, and how it is met:
//!
//! - **Names.** A report has Deribit's own id of the order in ClOrdID (11), and ours in OrigClOrdID
//!   (41). A request finds its order by either, faster by Deribit's: what it called an order is
//!   remembered and used where it is known; else it is our name and the Symbol (55).
//! - **Answers.** Requests to change or to cancel have no name of their own. With one queue,
//!   DeribitSequential (9007), their answers come in their order. ExecType (150) `I` stands for New
//!   and Replaced: the request that is answered says which it is. Text (58) is `notification` where
//!   nobody asked.
//! - **Quantities.** Ours are in units, QtyType (854) 0. Those of reports are in contracts of
//!   ContractMultiplier (231), and are converted.
//! - **Executions.** A report has no ExecID (17), but the id of the change: SecondaryExecID (527).
//! - **Questions.** All are mass status requests (AF): about one order by Deribit's id with 585=1,
//!   by ours with 585=7 and 9014=1.
//! - **Numbers.** Messages count from 1 on each connection.
//! - **Credits.** No request leaves for which the account has none; some of those for orders are
//!   kept for cancels. When the venue says `too_many_requests`, none are left.
//!
//! A Logon is signed (95, 96, 553, 554), asks for trades as reports of their own (9015), and may
//! ask for the end of all orders with that of the connection (9001).

pub mod json;
mod known;
mod messages;
mod prices;
mod reading;
mod settings;

use taut_fix::{Event, LongText, Now, Received, ShortText};
use taut_oms::Order;
use taut_types::{ClientOrderId, Instrument, InstrumentId, Nanos, RequestId};

use super::fix::{FixLink, FixSettings, Logon, cl_ord_id};
use super::handler::{
    Capabilities, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent, VenueReport,
};
use super::last_words::LastWords;
use crate::config::GatewayConfig;
use crate::credits::Credits;
use crate::error::GatewayError;
use crate::stream::VenueTerms;
use known::{Asked, KnownOrders};
use messages::{AllStatus, Cancel, CancelAllOf, Named, NewOrder, OneStatus, Replace};
use prices::VenuePrices;
use reading::Reading;
pub use settings::DeribitOrderSettings;

/// What a Logon asks for: one queue of messages, trades as reports of their own.
const OPTIONS: &[(i32, &[u8])] = &[(9007, b"Y"), (9015, b"Y")];
/// The same, and the end of all orders with the connection's.
const OPTIONS_CANCEL: &[(i32, &[u8])] = &[(9001, b"Y"), (9007, b"Y"), (9015, b"Y")];

/// Text (58) of a refusal.
const TOO_MANY_REQUESTS: &[u8] = b"too_many_requests";

/// The order handler of Deribit's FIX interface.
#[derive(Debug)]
pub struct DeribitFix {
    link: FixLink,
    known: KnownOrders,
    reading: Reading,
    last_words: LastWords,
    /// Symbol (55) of each instrument, by its number.
    symbols: Vec<LongText>,
    prices: VenuePrices,
    /// For the matching engine, and for all else.
    orders: Credits,
    questions: Credits,
    kept_for_cancels: u32,
    owns_account: bool,
}

impl DeribitFix {
    /// With the session's names and credentials of these settings; TargetCompID is DERIBITSERVER.
    ///
    /// # Errors
    /// When the file of its numbers cannot be used; [`GatewayError::InstrumentName`] when a name
    /// has more than 39 letters.
    pub fn new(
        config: &GatewayConfig,
        settings: &DeribitOrderSettings,
    ) -> Result<Self, GatewayError> {
        let session = &config.session;
        let options = if settings.cancels_on_disconnect { OPTIONS_CANCEL } else { OPTIONS };
        let link = FixLink::new(FixSettings {
            sender: config.sender_comp_id,
            target: config.target_comp_id,
            heartbeat_interval: config.heartbeat_interval,
            store: session.store.as_deref(),
            reset_on_logon: true,
            logon: Logon::new(session.credentials.clone()).with(options),
        })?;
        let symbol = |instrument: &Instrument| {
            let name = settings.names.get(instrument.id().0 as usize).filter(|it| !it.is_empty());
            let symbol = instrument.symbol();
            let name = name.map_or(symbol.as_bytes(), |name| name.as_bytes());
            LongText::new(name).ok_or(GatewayError::InstrumentName)
        };
        Ok(Self {
            link,
            known: KnownOrders::with_capacity(config.order_capacity),
            reading: Reading::default(),
            last_words: LastWords::default(),
            symbols: config.instruments.iter().map(symbol).collect::<Result<_, _>>()?,
            prices: VenuePrices::of(config.instruments.len()),
            orders: Credits::new(settings.orders),
            questions: Credits::new(settings.questions),
            kept_for_cancels: settings.kept_for_cancels,
            owns_account: settings.owns_account,
        })
    }

    /// Symbol (55) of an instrument.
    #[inline]
    fn symbol(&self, instrument: &Instrument) -> LongText {
        let known = self.symbols.get(instrument.id().0 as usize).copied();
        known.unwrap_or_else(|| ShortText::from(instrument.symbol()).into())
    }

    /// Takes the credits of a request for the matching engine.
    #[inline]
    fn pay(&mut self, now: Now, kept: u32) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        self.orders.take(now.mono, kept).map_err(NotSent::Throttled)
    }

    /// Takes those of a question.
    fn pay_question(&mut self, now: Now) -> Result<(), NotSent> {
        if !self.is_up() {
            return Err(NotSent::NotUp);
        }
        self.questions.take(now.mono, 0).map_err(NotSent::Throttled)
    }

    /// How the venue finds an order.
    fn named(&self, order: &OrderMessage<'_>) -> Named {
        let id = order.request.order;
        match self.known.venue_id(id) {
            Some(venue_id) => Named::ByVenue(venue_id),
            None => Named::ByUs(cl_ord_id(RequestId::create(id))),
        }
    }
}

impl OrderHandler for DeribitFix {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Stream,
            tells_all: true,
            tells_positions: false,
            name_bytes_max: 64,
        }
    }

    fn connected(&mut self, now: Now, random: [u8; 32], failed_logons: u32) {
        self.link.connected(now, random, failed_logons);
    }

    fn last_refusal(&self) -> &str {
        self.last_words.as_str()
    }

    fn disconnected(&mut self, now: Now) {
        self.known.forget_requests();
        self.link.disconnected(now);
    }

    fn log_out(&mut self, now: Now) {
        self.link.log_out(now);
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.link.is_up()
    }

    fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        self.known.adopt(order.id, venue_id);
    }

    fn over(&mut self, order: ClientOrderId) {
        self.known.forget(order);
    }

    fn add_instrument(&mut self, instrument: &Instrument, name: &str) -> bool {
        let (id, symbol) = (instrument.id(), LongText::new(name.as_bytes()));
        let Some(symbol) = symbol.filter(|_| id.0 as usize <= self.symbols.len()) else {
            return false;
        };
        self.symbols.truncate(id.0 as usize);
        self.symbols.push(symbol);
        self.prices.add(id);
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
        let symbol = self.symbol(order.instrument);
        let message = NewOrder::of(order, symbol).ok_or(NotSent::Unsupported)?;
        if !is_rehearsal {
            self.prices.check(order.terms)?;
            self.pay(now, self.kept_for_cancels)?;
        }
        self.link.send_or_rehearse(now, &message, is_rehearsal)?;
        if !is_rehearsal {
            self.known.ask(order.request.order, Asked::Create);
        }
        Ok(())
    }

    fn modify(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let named = self.named(order);
        let symbol = self.symbol(order.instrument);
        let terms = NewOrder::of(order, symbol).ok_or(NotSent::Unsupported)?;
        self.prices.check(order.terms)?;
        self.pay(now, self.kept_for_cancels)?;
        self.link.send(now, &Replace { named, terms })?;
        self.known.ask(order.request.order, Asked::Modify);
        Ok(())
    }

    fn cancel(
        &mut self,
        now: Now,
        _base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        self.pay(now, 0)?;
        let message = Cancel { named: self.named(order), symbol: self.symbol(order.instrument) };
        self.link.send(now, &message)
    }

    fn owns_account(&self) -> bool {
        self.owns_account
    }

    fn cancel_all_like(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        if !self.owns_account {
            return Err(NotSent::Unsupported);
        }
        self.pay(now, 0)?;
        let (cl_ord_id, symbol) = (cl_ord_id(order.request), self.symbol(order.instrument));
        self.link.send(now, &CancelAllOf { cl_ord_id, symbol })
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.pay_question(now)?;
        let symbol = self.symbol(order.instrument);
        self.link.send(now, &OneStatus { named: self.named(order), symbol })
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        self.pay_question(now)?;
        let request_id: ShortText = self.reading.next_question();
        self.link.send(now, &AllStatus { request_id })
    }

    #[inline]
    fn last_message(&self) -> u64 {
        self.link.last_message()
    }

    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        let Self { link, known, reading, last_words, orders, questions, .. } = self;
        if reading.take_all_told() {
            return Some(VenueEvent::AllTold);
        }
        while let Some((event, message, mut outbox)) = link.handle_bytes(now, bytes) {
            if is_over_the_limit(&message) {
                orders.drain(now.mono);
                questions.drain(now.mono);
            }
            let heard = match event {
                Event::Application { sequence, poss_dup, poss_resend } => {
                    let is_resend = poss_dup || poss_resend;
                    let heard = reading.application(&message, known);
                    if heard.is_none() && !reading::is_ours(message.msg_type()) {
                        outbox.refuse_type(sequence, message.msg_type());
                    }
                    heard.map(|heard| match heard {
                        VenueEvent::Report(report) => {
                            VenueEvent::Report(VenueReport { is_resend, ..report })
                        }
                        other => other,
                    })
                }
                Event::Rejected => reading.application(&message, known),
                Event::LoggedOn => Some(VenueEvent::LoggedOn),
                Event::LoggedOut => {
                    if let Some(text) = message.value(58) {
                        last_words.say(format_args!("{}", String::from_utf8_lossy(text)));
                    }
                    Some(VenueEvent::LoggedOut)
                }
                Event::Disconnect(_) => Some(VenueEvent::Broken),
                _ => None,
            };
            if heard.is_some() {
                return heard;
            }
        }
        None
    }

    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        match self.link.handle_timeout(now)? {
            Event::Disconnect(_) => Some(VenueEvent::Broken),
            _ => None,
        }
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.link.poll_timeout()
    }

    fn poll_passed_over(&mut self) -> bool {
        self.link.poll_passed_over()
    }

    fn poll_missed(&mut self) -> bool {
        self.link.poll_missed()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        self.link.poll_transmit(now)
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        self.link.unsent()
    }

    #[inline]
    fn clear_unsent(&mut self) {
        self.link.clear_unsent();
    }
}

/// Whether the venue refuses a request because the account has no credits for it.
fn is_over_the_limit(message: &Received<'_>) -> bool {
    matches!(message.msg_type(), b"3" | b"9" | b"j" | b"r")
        && message.value(58).is_some_and(|text| text.starts_with(TOO_MANY_REQUESTS))
}

#[cfg(test)]
mod tests;
