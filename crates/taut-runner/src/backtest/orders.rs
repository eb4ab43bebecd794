//! Order entry at a simulated exchange, as a gateway has it for every venue.

use taut_fix::{Charges, Liquidity, Now};
use taut_gateway::{
    Capabilities, ChangeRefused, Framing, NotSent, OfAll, OrderHandler, OrderMessage, VenueEvent,
    VenueReport,
};
use taut_oms::{ExecId, OrderEvent, OrderState, RequestKind, VenueReject};
use taut_types::{Instrument, Nanos, OrderFlags, OrderType, Price, RequestId};

use super::wire::{Message, Say};

/// Speaks in [`Message`]s. What a simulated exchange does not have is refused before it leaves:
/// stop prices, icebergs, reduce-only orders, prices between ticks.
#[derive(Debug)]
pub struct BacktestOrders {
    instruments: Vec<Instrument>,
    outbox: Vec<u8>,
    is_up: bool,
    messages: u64,
}

impl BacktestOrders {
    pub fn new(instruments: &[Instrument]) -> Self {
        let outbox = Vec::with_capacity(4_096);
        Self { instruments: instruments.to_vec(), outbox, is_up: false, messages: 0 }
    }

    fn send(&mut self, message: Message) {
        self.messages += 1;
        self.outbox.extend_from_slice(&message.to_bytes());
    }

    fn ask_for(
        &mut self,
        say: Say,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        if !self.is_up {
            return Err(NotSent::NotUp);
        }
        let message = request(say, order).ok_or(NotSent::Unsupported)?;
        if !is_rehearsal {
            self.send(message);
        }
        Ok(())
    }

    /// What a message of the exchange says.
    fn event(&mut self, message: &Message) -> VenueEvent {
        let refused = |kind| {
            VenueEvent::ChangeRefused(ChangeRefused {
                request: Some(message.request),
                kind: Some(kind),
                told: None,
                is_over: false,
                venue_id: None,
                reject: VenueReject::TooLate,
            })
        };
        match message.say {
            Say::LogOn => {
                self.is_up = true;
                VenueEvent::LoggedOn
            }
            Say::LogOut => {
                self.is_up = false;
                VenueEvent::LoggedOut
            }
            Say::ModifyRefused => refused(RequestKind::Modify),
            Say::CancelRefused => refused(RequestKind::Cancel),
            Say::New | Say::Modify | Say::Cancel => VenueEvent::Unreadable(Some(message.request)),
            Say::Accepted
            | Say::Replaced
            | Say::Traded
            | Say::Cancelled
            | Say::Expired
            | Say::Rejected
            | Say::WouldTrade => match self.report(message) {
                Some(report) => VenueEvent::Report(report),
                None => VenueEvent::Unreadable(Some(message.request)),
            },
        }
    }

    fn report(&self, message: &Message) -> Option<VenueReport> {
        let instrument = self.instruments.get(message.instrument.0 as usize)?;
        let (event, told, reject) = match message.say {
            Say::Accepted => (OrderEvent::Accepted, None, VenueReject::Other),
            Say::Replaced => (OrderEvent::Replaced, None, VenueReject::Other),
            Say::Cancelled => {
                (OrderEvent::Cancelled, Some(OrderState::Cancelled), VenueReject::Other)
            }
            Say::Expired => (OrderEvent::Expired, Some(OrderState::Expired), VenueReject::Other),
            Say::WouldTrade => {
                (OrderEvent::Rejected, Some(OrderState::Rejected), VenueReject::WouldTrade)
            }
            Say::Rejected => (OrderEvent::Rejected, Some(OrderState::Rejected), VenueReject::Other),
            _ => (OrderEvent::Traded, None, VenueReject::Other),
        };
        let report = VenueReport {
            request: Some(message.request),
            event: Some(event),
            told,
            of_all: OfAll::No,
            exchange_time: message.exchange_at,
            reject,
            ..VenueReport::NOTHING
        };
        if event != OrderEvent::Traded {
            return Some(report);
        }
        let liquidity = if message.is_maker { Liquidity::Maker } else { Liquidity::Taker };
        let qty = |lots| instrument.qty(taut_types::Lots(lots)).ok();
        Some(VenueReport {
            last: qty(message.lots)?,
            price: Some(Price(message.tick.checked_mul(instrument.tick().0)?)),
            total: Some(qty(message.total)?),
            exec_id: ExecId::new(message.execution.to_string().as_bytes()),
            charges: Charges { liquidity: Some(liquidity), ..Charges::NONE },
            ..report
        })
    }
}

/// A request as it leaves; none where the exchange has no such order.
fn request(say: Say, order: &OrderMessage<'_>) -> Option<Message> {
    let OrderMessage { request, instrument, terms, .. } = *order;
    let is_limit = terms.order_type == OrderType::Limit;
    let step = instrument.tick().0;
    let is_on_tick = !is_limit || terms.price.0 % step == 0;
    let is_plain = terms.stop_price.is_none() && terms.lots_shown.0 == 0;
    let reduces = terms.flags.contains(OrderFlags::REDUCE_ONLY);
    // A cancel names an order that passed once.
    if say != Say::Cancel && (!is_on_tick || !is_plain || reduces) {
        return None;
    }
    Some(Message {
        request,
        instrument: instrument.id(),
        side: terms.side,
        order_type: terms.order_type,
        time_in_force: terms.time_in_force,
        post_only: terms.flags.contains(OrderFlags::POST_ONLY),
        tick: if is_limit { terms.price.0 / step } else { 0 },
        lots: terms.lots.0,
        ..Message::of_session(say)
    })
}

impl OrderHandler for BacktestOrders {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Stream,
            tells_all: false,
            tells_positions: false,
            name_bytes_max: RequestId::TEXT_BYTES,
        }
    }

    fn connected(&mut self, _: Now, _: [u8; 32], _: u32) {
        self.send(Message::of_session(Say::LogOn));
    }

    fn disconnected(&mut self, _: Now) {
        self.is_up = false;
        self.outbox.clear();
    }

    fn log_out(&mut self, _: Now) {
        self.send(Message::of_session(Say::LogOut));
    }

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn create(
        &mut self,
        _: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        self.ask_for(Say::New, order, is_rehearsal)
    }

    fn modify(&mut self, _: Now, _: RequestId, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.ask_for(Say::Modify, order, false)
    }

    fn cancel(&mut self, _: Now, _: RequestId, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.ask_for(Say::Cancel, order, false)
    }

    fn ask(&mut self, _: Now, _: &OrderMessage<'_>) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    fn ask_all(&mut self, _: Now) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    fn last_message(&self) -> u64 {
        self.messages
    }

    fn handle_bytes(&mut self, _: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        let message = Message::take(bytes)?;
        Some(self.event(&message))
    }

    fn handle_timeout(&mut self, _: Now) -> Option<VenueEvent> {
        None
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn poll_transmit(&mut self, _: Now) -> &[u8] {
        &self.outbox
    }

    fn unsent(&self) -> &[u8] {
        &self.outbox
    }

    fn clear_unsent(&mut self) {
        self.outbox.clear();
    }
}
