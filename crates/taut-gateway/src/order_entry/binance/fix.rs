//! Orders over FIX 4.4, as binance-spot-api-docs has it ("FIX API"), and questions about them over
//! the WebSocket API.
//!
//! - **Two connections.** FIX answers no question about an order. A session of the WebSocket API
//!   stands beside it: there the venue's clock, the symbols with their filters, open orders and
//!   where each stands are asked for. Only when that session is up the Logon leaves; both
//!   connections end together.
//! - **Logon.** Signed with the Ed25519 key of the WebSocket API (95, 96, 553), numbers from 1 on
//!   each connection (141), messages handled in their order (25035=2), reports of all orders of
//!   the account (25036=1).
//! - **Time.** SendingTime (52) is the venue's, reckoned from the monotonic clock; RecvWindow
//!   (25000) goes with each request.
//! - **Reports** are what the account's events are on the WebSocket API: the names of orders and
//!   cancels are the same, and so is what they mean. A refusal names its request by ClOrdID (11),
//!   a Reject (3) by the number of its message.
//! - **News** (B): the venue is about to close the connection. The session logs out by itself and
//!   begins again: without a Logout the venue bars SenderCompID for two intervals of heartbeats.

mod copies;
mod line;
mod messages;
mod reading;

use taut_fix::{Event, Now, Received};
use taut_oms::Order;
use taut_order_entry::binance::{ErrorAnswer, ExecutionKind};
use taut_types::{ClientOrderId, Instrument, InstrumentId, Nanos, RequestId};

use super::asked::Asked;
use super::name::{LegEnd, Named, read};
use super::reading::number;
use super::settings::BinanceOrderSettings;
use super::trading::Trading;
use super::way::Web;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::{
    Capabilities, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent,
};
use crate::order_entry::sent::Sent;
use crate::venue_clock::ClockReading;
pub(crate) use copies::CopyReading;
use line::Line;

/// Ids of questions: no FIX session has so many messages.
const QUESTIONS_FROM: u64 = 1 << 48;

/// The order handler of Binance's FIX interface.
#[derive(Debug)]
pub struct BinanceFix {
    trading: Trading,
    line: Line,
    pub(super) web: Web,
    random: [u8; 32],
    /// Of the message that was written last.
    last_message: u64,
}

impl BinanceFix {
    /// With the session's names and credentials of these settings; SenderCompID has at most eight
    /// letters and digits, TargetCompID is SPOT.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without an API key and its private key.
    pub fn new(
        config: &GatewayConfig,
        settings: BinanceOrderSettings,
    ) -> Result<Self, GatewayError> {
        Ok(Self {
            trading: Trading::new(config, settings, false)?,
            line: Line::new(config)?,
            web: Web::new(config.instruments.len(), QUESTIONS_FROM),
            random: [0; 32],
            last_message: 0,
        })
    }

    /// With the venue's time.
    #[inline]
    fn at_venue(&self, now: Now) -> Now {
        let venue_ms = self.trading.session.clock().at(now.mono);
        venue_ms.map_or(now, |ms| Now { utc: Nanos::from_millis(ms as i64), ..now })
    }

    /// What is told next. The session of the WebSocket API is up: now the Logon leaves.
    fn next_event(&mut self, now: Now) -> Option<VenueEvent> {
        match self.trading.reading.next()? {
            VenueEvent::LoggedOn => {
                self.line.link.connected(self.at_venue(now), self.random, 0);
                self.trading.reading.next()
            }
            event => Some(event),
        }
    }
}

/// What a message of the venue says. `None` of a type that is not for a gateway.
fn hear(
    trading: &mut Trading,
    sent: &mut Sent<Asked>,
    now: Now,
    message: &Received<'_>,
) -> Option<()> {
    let name = || read(message.value(11)?);
    match message.msg_type() {
        b"8" => match reading::execution(message) {
            Some(execution) if execution.kind == ExecutionKind::Rejected => {
                let Some(Named::Plain { request, .. }) = name() else { return Some(()) };
                let error = reading::error(message);
                // What became of the cancel says a message of its own, which comes first. With one
                // of these the cancel failed, too, and its refusal is still to come; with any other
                // the venue did nothing.
                let was_ended = trading.known.was_ended_by(request);
                let is_told = was_ended || !matches!(error.code, -2021 | -2022);
                let was_asked = |asked: &Asked| match asked {
                    Asked::Place(of) | Asked::Leg(of) => *of == request,
                    Asked::Replace(of) => *of == request && is_told,
                    _ => false,
                };
                match sent.take_where(was_asked) {
                    Some((id, Asked::Replace(_))) if was_ended => {
                        trading.failed(now, (id, Asked::Leg(request)), &error);
                    }
                    Some(of) => trading.failed(now, of, &error),
                    None => {}
                }
            }
            Some(execution) => {
                if let (ExecutionKind::Replaced, Some(Named::Plain { request, .. })) =
                    (execution.kind, name())
                {
                    trading.reading.heard(request, execution.id, &mut trading.known);
                }
                trading.executed(&execution);
            }
            None => {
                let order = name().map(|named| match named {
                    Named::Plain { request, .. } | Named::End(request, _) => request.order,
                });
                let named = order.map(|order| RequestId { order, version: 0 });
                trading.reading.push(VenueEvent::Unreadable(named));
            }
        },
        b"9" | b"XAR" => {
            let asked = match (message.msg_type(), name()) {
                (b"XAR", Some(Named::Plain { request, .. })) => Asked::Amend(request),
                (_, Some(Named::Plain { request, .. })) => Asked::Cancel(request),
                (_, Some(Named::End(request, LegEnd::Replaced))) => Asked::Replace(request),
                (_, Some(Named::End(request, LegEnd::MadeWay))) => Asked::MakeWay(request),
                (_, None) => return Some(()),
            };
            if let Some(of) = sent.take_where(|it| *it == asked) {
                trading.failed(now, of, &reading::error(message));
            }
        }
        b"3" => {
            let id = message.value(45).and_then(number);
            if let Some((id, asked)) = id.and_then(|id| Some((id, sent.take(id)?))) {
                trading.failed(now, (id, asked), &reading::error(message));
            } else {
                say(trading, &reading::error(message));
            }
        }
        // Lists of orders, mass cancels, limits: others of the account asked for them.
        b"N" | b"r" | b"XLR" | b"B" => {}
        _ => return None,
    }
    Some(())
}

fn say(trading: &mut Trading, error: &ErrorAnswer<'_>) {
    if error.code != 0 || !error.message.is_empty() {
        trading.say(error);
    }
}

impl OrderHandler for BinanceFix {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Stream,
            tells_all: true,
            tells_positions: false,
            name_bytes_max: 36,
        }
    }

    fn asks_beside(&self) -> bool {
        true
    }

    fn compares_instruments(&self) -> bool {
        true
    }

    fn connected(&mut self, now: Now, random: [u8; 32], _failed_logons: u32) {
        self.random = random;
        self.trading.session.connected(now);
    }

    fn last_refusal(&self) -> &str {
        self.trading.last_words.as_str()
    }

    fn venue_clock(&self) -> Option<ClockReading> {
        self.trading.session.clock().reading()
    }

    fn disconnected(&mut self, now: Now) {
        self.line.disconnected(self.at_venue(now));
        self.trading.disconnected();
        self.web.forget();
    }

    fn log_out(&mut self, now: Now) {
        if self.line.link.is_up() {
            self.line.link.log_out(self.at_venue(now));
        } else {
            self.trading.session.leave(now);
        }
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.line.link.is_up() && self.trading.session.is_up()
    }

    fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        self.trading.adopt(order, venue_id);
    }

    fn over(&mut self, order: ClientOrderId) {
        self.trading.over(order);
    }

    fn add_instrument(&mut self, instrument: &Instrument, name: &str) -> bool {
        self.trading.add_instrument(instrument, name);
        self.web.add_symbol();
        true
    }

    fn poll_compared(&mut self) -> Option<(InstrumentId, bool)> {
        self.trading.symbols.poll_compared()
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
        self.trading.create(now, &mut self.line, order, is_rehearsal)?;
        self.last_message = self.line.link.last_message();
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
        self.trading.modify(now, &mut self.line, base, order)?;
        self.last_message = self.line.link.last_message();
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
        self.trading.cancel(now, &mut self.line, base, order)?;
        self.last_message = self.line.link.last_message();
        Ok(())
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.trading.ask(now, &mut self.web, order)?;
        self.last_message = self.web.sent.last();
        Ok(())
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        self.trading.ask_all(now, &mut self.web)?;
        self.last_message = self.web.sent.last();
        Ok(())
    }

    #[inline]
    fn last_message(&self) -> u64 {
        self.last_message
    }

    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        let venue_now = self.at_venue(now);
        loop {
            if let Some(event) = self.next_event(now) {
                return Some(event);
            }
            let Self { trading, line, .. } = self;
            let Line { link, sent, .. } = line;
            let (event, message, mut outbox) = link.handle_bytes(venue_now, bytes)?;
            match event {
                Event::Application { sequence, .. } => {
                    if message.msg_type() == b"B" {
                        let headline = message.value(148).unwrap_or_default();
                        let headline = String::from_utf8_lossy(headline);
                        trading.last_words.say(format_args!("{headline}"));
                        outbox.log_out("");
                    } else if hear(trading, sent, now, &message).is_none() {
                        outbox.refuse_type(sequence, message.msg_type());
                    }
                }
                Event::Rejected => drop(hear(trading, sent, now, &message)),
                Event::LoggedOn => return Some(VenueEvent::LoggedOn),
                Event::LoggedOut => {
                    say(trading, &reading::error(&message));
                    return Some(VenueEvent::LoggedOut);
                }
                Event::Disconnect(_) => {
                    say(trading, &reading::error(&message));
                    return Some(VenueEvent::Broken);
                }
                _ => {}
            }
        }
    }

    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        if let Some(event) = self.next_event(now) {
            return Some(event);
        }
        if let Some(event) = self.trading.session.handle_timeout(now) {
            return Some(event);
        }
        match self.line.link.handle_timeout(self.at_venue(now))? {
            Event::Disconnect(_) => Some(VenueEvent::Broken),
            _ => None,
        }
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.trading.poll_timeout().into_iter().chain(self.line.link.poll_timeout()).min()
    }

    fn poll_passed_over(&mut self) -> bool {
        self.line.link.poll_passed_over()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        if self.is_up() {
            self.trading.write_leg(now, &mut self.line);
        }
        let venue_now = self.at_venue(now);
        self.line.link.poll_transmit(venue_now)
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        self.line.link.unsent()
    }

    #[inline]
    fn clear_unsent(&mut self) {
        self.line.link.clear_unsent();
    }

    fn handle_beside(&mut self, now: Now, message: &[u8]) {
        self.trading.hear(now, &mut self.web, message);
    }

    fn poll_transmit_beside(&mut self, now: Now) -> &[u8] {
        if self.web.unsent == 0 {
            self.trading.write_questions(now, &mut self.web);
        }
        self.web.unsent()
    }

    fn clear_unsent_beside(&mut self) {
        self.web.unsent = 0;
    }
}
