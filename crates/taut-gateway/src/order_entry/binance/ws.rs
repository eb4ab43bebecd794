//! Orders over the WebSocket API.

use taut_fix::Now;
use taut_oms::Order;
use taut_types::{ClientOrderId, Instrument, InstrumentId, Nanos, RequestId};

use super::settings::BinanceOrderSettings;
use super::trading::Trading;
use super::way::Web;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::{
    Capabilities, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent,
};
use crate::venue_clock::ClockReading;

/// The order handler of Binance's WebSocket API.
#[derive(Debug)]
pub struct BinanceWs {
    pub(super) trading: Trading,
    web: Web,
}

impl BinanceWs {
    /// With the credentials of these settings, and their interval of heartbeats.
    ///
    /// # Errors
    /// [`GatewayError::Credentials`] without an API key and its private key.
    pub fn new(
        config: &GatewayConfig,
        settings: BinanceOrderSettings,
    ) -> Result<Self, GatewayError> {
        let web = Web::new(config.instruments.len(), 0);
        Ok(Self { trading: Trading::new(config, settings, true)?, web })
    }
}

impl OrderHandler for BinanceWs {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Messages,
            tells_all: true,
            tells_positions: false,
            name_bytes_max: 36,
        }
    }

    fn compares_instruments(&self) -> bool {
        true
    }

    fn connected(&mut self, now: Now, _random: [u8; 32], _failed_logons: u32) {
        self.trading.session.connected(now);
    }

    fn last_refusal(&self) -> &str {
        self.trading.last_words.as_str()
    }

    fn venue_clock(&self) -> Option<ClockReading> {
        self.trading.session.clock().reading()
    }

    fn disconnected(&mut self, _now: Now) {
        self.trading.disconnected();
        self.web.forget();
    }

    fn log_out(&mut self, now: Now) {
        self.trading.session.leave(now);
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.trading.session.is_up()
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
        self.trading.create(now, &mut self.web, order, is_rehearsal)
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
        self.trading.modify(now, &mut self.web, base, order)
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
        self.trading.cancel(now, &mut self.web, base, order)
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.trading.ask(now, &mut self.web, order)
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        self.trading.ask_all(now, &mut self.web)
    }

    #[inline]
    fn last_message(&self) -> u64 {
        self.web.sent.last()
    }

    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        if let Some(event) = self.trading.reading.next() {
            return Some(event);
        }
        let frame = std::mem::take(bytes);
        if !frame.is_empty() {
            self.trading.hear(now, &mut self.web, frame);
        }
        self.trading.reading.next()
    }

    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        self.trading.handle_timeout(now)
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.trading.poll_timeout()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        if self.web.unsent == 0 && self.trading.session.due().is_none() && self.is_up() {
            self.trading.write_leg(now, &mut self.web);
        }
        if self.web.unsent == 0 {
            self.trading.write_questions(now, &mut self.web);
        }
        self.web.unsent()
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        self.web.unsent()
    }

    #[inline]
    fn clear_unsent(&mut self) {
        self.web.unsent = 0;
    }
}
