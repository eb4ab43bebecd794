//! FIX 4.4 as the standard has it: taut's own venue, QuickFIX, and whoever speaks it plainly.

pub mod meaning;
pub(crate) mod reading;
pub(crate) mod rejects;

use taut_fix::{
    Event, MassStatusType, NewOrderSingle, Now, OrderCancelReplaceRequest, OrderCancelRequest,
    OrderMassStatusRequest, OrderStatusRequest, RequestForPositions, ShortText,
};
use taut_types::{Instrument, Lots, Nanos, OrderType, RequestId};

use super::fix::{FixLink, FixSettings, Logon, cl_ord_id};
use super::handler::{Capabilities, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent};
use super::last_words::LastWords;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use reading::Reading;

/// The order handler of FIX 4.4.
#[derive(Debug)]
pub struct Fix44 {
    link: FixLink,
    reading: Reading,
    last_words: LastWords,
}

impl Fix44 {
    /// With the session's names, numbers and credentials of these settings.
    ///
    /// # Errors
    /// When the file of its numbers cannot be used.
    pub fn new(config: &GatewayConfig) -> Result<Self, GatewayError> {
        let session = &config.session;
        let link = FixLink::new(FixSettings {
            sender: config.sender_comp_id,
            target: config.target_comp_id,
            heartbeat_interval: config.heartbeat_interval,
            store: session.store.as_deref(),
            reset_on_logon: session.reset_on_logon,
            logon: Logon::new(session.credentials.clone()),
        })?;
        Ok(Self { link, reading: Reading::default(), last_words: LastWords::default() })
    }

    /// An order as the venue reads it; nothing when a quantity of it cannot be written.
    #[inline]
    fn message(order: &OrderMessage<'_>, now: Now) -> Result<NewOrderSingle, NotSent> {
        let OrderMessage { request, instrument, account, terms } = *order;
        let qty = |lots| instrument.qty(lots).map_err(|_| NotSent::Unsupported);
        Ok(NewOrderSingle {
            cl_ord_id: cl_ord_id(request),
            account,
            symbol: instrument.symbol().into(),
            side: terms.side,
            order_type: terms.order_type,
            time_in_force: terms.time_in_force,
            flags: terms.flags,
            price: (terms.order_type == OrderType::Limit).then_some(terms.price),
            stop_price: terms.stop_price,
            qty: qty(terms.lots)?,
            max_floor: match terms.lots_shown {
                Lots::ZERO => None,
                shown => Some(qty(shown)?),
            },
            transact_time: now.utc,
        })
    }
}

impl OrderHandler for Fix44 {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Stream,
            tells_all: true,
            tells_positions: true,
            name_bytes_max: 23,
        }
    }

    fn connected(&mut self, now: Now, random: [u8; 32], failed_logons: u32) {
        self.link.connected(now, random, failed_logons);
    }

    fn last_refusal(&self) -> &str {
        self.last_words.as_str()
    }

    fn disconnected(&mut self, now: Now) {
        self.link.disconnected(now);
    }

    fn log_out(&mut self, now: Now) {
        self.link.log_out(now);
    }

    fn add_instrument(&mut self, _instrument: &Instrument, _name: &str) -> bool {
        // Each message names the instrument.
        true
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.link.is_up()
    }

    #[inline]
    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        self.link.send_or_rehearse(now, &Self::message(order, now)?, is_rehearsal)
    }

    fn modify(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let (orig_cl_ord_id, order) = (cl_ord_id(base), Self::message(order, now)?);
        self.link.send(now, &OrderCancelReplaceRequest { orig_cl_ord_id, order })
    }

    fn cancel(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        let OrderMessage { request, instrument, terms, .. } = *order;
        let message = OrderCancelRequest {
            cl_ord_id: cl_ord_id(request),
            orig_cl_ord_id: cl_ord_id(base),
            symbol: instrument.symbol().into(),
            side: terms.side,
            qty: instrument.qty(terms.lots).unwrap_or_default(),
            transact_time: now.utc,
        };
        self.link.send(now, &message)
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        let question = OrderStatusRequest {
            cl_ord_id: cl_ord_id(order.request),
            symbol: order.instrument.symbol().into(),
            side: order.terms.side,
            request_id: None,
        };
        self.link.send(now, &question)
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        let (request_id, scope) = (self.reading.next_question(), MassStatusType::All);
        self.link.send(now, &OrderMassStatusRequest { request_id, scope, symbol: None })
    }

    fn ask_positions(&mut self, now: Now, account: Option<ShortText>) -> Result<(), NotSent> {
        let (request_id, transact_time) = (self.reading.next_position_question(), now.utc);
        self.link.send(now, &RequestForPositions { request_id, account, transact_time })
    }

    #[inline]
    fn last_message(&self) -> u64 {
        self.link.last_message()
    }

    #[inline]
    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        let Self { link, reading, last_words } = self;
        if let Some(event) = reading.take_all_told() {
            return Some(event);
        }
        while let Some((event, message, mut outbox)) = link.handle_bytes(now, bytes) {
            let heard = match event {
                Event::Application { sequence, poss_dup, poss_resend } => {
                    let is_resend = poss_dup || poss_resend;
                    reading.application(&message, sequence, is_resend, &mut outbox)
                }
                Event::Rejected => reading.rejected(&message),
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

    #[inline]
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
