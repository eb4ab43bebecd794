//! The FIX session as a way for orders.

use taut_fix::Now;
use taut_oms::Rate;
use taut_order_entry::binance::{Request, Stamp};
use taut_types::Nanos;

use super::super::asked::Asked;
use super::super::budget::Budget;
use super::super::way::Way;
use super::messages::{Amend, Cancel, NewOrderSingle, Replace};
use crate::config::GatewayConfig;
use crate::credits::Credits;
use crate::error::GatewayError;
use crate::order_entry::fix::{FixLink, FixSettings, Logon};
use crate::order_entry::handler::NotSent;
use crate::order_entry::sent::Sent;

/// MessageHandling (25035): in their order. ResponseMode (25036): reports of everything.
const OPTIONS: &[(i32, &[u8])] = &[(25_035, b"2"), (25_036, b"1")];
/// HeartBtInt (108) that the venue takes.
const HEARTBEAT: (Nanos, Nanos) = (Nanos::from_secs(5), Nanos::from_secs(60));
/// The venue takes 10,000 messages of a connection in ten seconds. Those of a rate and its burst
/// fit into every ten seconds; a tenth is left for the session's own.
const MESSAGES: Rate = Rate { per_second: 400, burst: 5_000 };
/// Of these, what only cancels may use.
const KEPT_FOR_CANCELS: u32 = 1_000;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) link: FixLink,
    /// By the numbers of their messages.
    pub(super) sent: Sent<Asked>,
    messages: Credits,
}

impl Line {
    pub(super) fn new(config: &GatewayConfig) -> Result<Self, GatewayError> {
        let (shortest, longest) = HEARTBEAT;
        let link = FixLink::new(FixSettings {
            sender: config.sender_comp_id,
            target: config.target_comp_id,
            heartbeat_interval: config.heartbeat_interval.max(shortest).min(longest),
            store: None,
            reset_on_logon: true,
            logon: Logon::new(config.session.credentials.clone()).with(OPTIONS),
        })?;
        Ok(Self { link, sent: Sent::new(), messages: Credits::new(MESSAGES) })
    }

    pub(super) fn disconnected(&mut self, now: Now) {
        self.link.disconnected(now);
        self.sent.forget();
    }

    #[inline]
    fn send(&mut self, now: Now, request: &Request<'_>, is_rehearsal: bool) -> Result<(), NotSent> {
        let at = |stamp: Stamp| Now { utc: Nanos::from_millis(stamp.timestamp_ms as i64), ..now };
        match *request {
            Request::Place { ref order, stamp } => {
                let message = NewOrderSingle::of(order, stamp).ok_or(NotSent::Unsupported)?;
                self.link.send_or_rehearse(at(stamp), &message, is_rehearsal)
            }
            Request::Replace { which, name, ref order, stamp } => {
                let order = NewOrderSingle::of(order, stamp).ok_or(NotSent::Unsupported)?;
                self.link.send(at(stamp), &Replace { order, which, name })
            }
            Request::Cancel { symbol, which, name, stamp } => {
                let window_ms = stamp.window_ms;
                self.link.send(at(stamp), &Cancel { symbol, which, name, window_ms })
            }
            Request::Amend { symbol, which, name, quantity, stamp } => {
                let window_ms = stamp.window_ms;
                self.link.send(at(stamp), &Amend { symbol, which, name, quantity, window_ms })
            }
            _ => Err(NotSent::Unsupported),
        }
    }
}

impl Way for Line {
    /// The venue counts messages here, whatever they are.
    #[inline]
    fn pay(
        &mut self,
        _budget: &mut Budget,
        now: Now,
        _weight: u32,
        kept: u32,
    ) -> Result<(), NotSent> {
        let kept = if kept > 0 { KEPT_FOR_CANCELS } else { 0 };
        self.messages.take(now.mono, kept).map_err(NotSent::Throttled)
    }

    #[inline]
    fn leave(&mut self, now: Now, request: &Request<'_>, asked: Asked) -> Result<(), NotSent> {
        self.send(now, request, false)?;
        self.sent.push_as(self.link.last_message(), asked);
        Ok(())
    }

    #[inline]
    fn rehearse(&mut self, now: Now, request: &Request<'_>) -> Result<(), NotSent> {
        self.send(now, request, true)
    }
}
