//! What is said on a stream of market data besides the data.

use std::fmt;
use std::net::SocketAddr;

use taut_net::TlsClientConfig;
use taut_order_entry::deribit::TickSteps;
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty};

use crate::through::Through;

/// A venue's side of its market data that is no data: who asks, what is subscribed to, that both
/// are there. Pure: no I/O and no clock. A venue has one of these beside its feed handler; the
/// connection, its back-off and its end are the driver's.
///
/// What [`poll_transmit`](Self::poll_transmit) gives is sent after each of the other calls.
pub trait StreamSession: fmt::Debug + Send {
    /// The connection takes messages. `utc` is for what is signed, the random bytes for a nonce.
    fn opened(&mut self, now: Nanos, utc: Nanos, random: [u8; 16]);

    /// The connection is gone, and with it all that was subscribed to.
    fn closed(&mut self);

    /// A message of the venue; the feed handler has those with data. Cost, of one with data: a
    /// comparison of its beginning.
    fn handle_frame(&mut self, now: Nanos, frame: &[u8]);

    /// Bytes of the venue, where the connection is no WebSocket ([`StreamAddress::url`]); `deliver`
    /// gets each message for the feed handler, whole and in its turn.
    fn handle_bytes(&mut self, _now: Nanos, _bytes: &[u8], _deliver: &mut dyn FnMut(&[u8])) {}

    /// Does what is due.
    fn handle_timeout(&mut self, now: Nanos);

    /// The book of an instrument is wanted from its beginning.
    fn want(&mut self, now: Nanos, instrument: InstrumentId);

    /// Whether instruments may be [added](Self::add_instrument).
    fn takes_instruments(&self) -> bool {
        false
    }

    /// Follows one more instrument behind the others, by the venue's name of it: its channels are
    /// subscribed to on this connection and on each that follows. Whether the venue is asked what
    /// it is. Takes memory.
    fn add_instrument(&mut self, _now: Nanos, _name: &str) -> bool {
        false
    }

    /// Whether all that is wanted is subscribed to: from then on books can be asked for again, and
    /// the next wait before a connection is a short one.
    fn is_settled(&self) -> bool;

    /// Whether the connection is of no use any more.
    fn is_broken(&self) -> bool;

    /// What the venue said, in its own words, when it last refused a session; empty when it said
    /// nothing.
    fn last_refusal(&self) -> &str {
        ""
    }

    /// What was not the rule so far, through all connections.
    fn counters(&self) -> StreamCounters;

    /// What the venue says of an instrument, where it was asked and has answered.
    fn venue_terms(&self, _instrument: InstrumentId) -> Option<VenueTerms> {
        None
    }

    /// Of an instrument about which the venue has answered since this was called last: what it
    /// says. It is asked when a session begins and now and then, or tells changes by itself.
    fn poll_terms(&mut self) -> Option<(InstrumentId, VenueTerms)> {
        None
    }

    /// The next message to the venue.
    fn poll_transmit(&mut self, now: Nanos) -> Option<&str>;
}

/// How often something on a stream was not the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Books that were subscribed to anew.
    pub resubscribed: u64,
    /// Requests that the venue refused.
    pub refused: u64,
    /// Channels that the venue left out of what it granted.
    pub not_granted: u64,
    /// Connections that were given up.
    pub given_up: u64,
}

/// What a venue says of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueTerms {
    /// Its price step, at the lowest prices where it has several.
    pub tick: Price,
    /// Its price steps at higher prices.
    pub steps: TickSteps,
    /// Its smallest quantity.
    pub lot: Qty,
    /// Whether it trades, as far as that is known.
    pub is_open: bool,
}

impl VenueTerms {
    /// Whether every price and quantity of an instrument of ours is one of the venue's.
    #[must_use]
    pub fn contain(&self, own: &Instrument) -> bool {
        let is_part = |own: i64, venue: i64| venue > 0 && own % venue == 0;
        // Quantities of one scale; what is finer than that is not the venue's.
        let decimals = own.lot().decimals.max(self.lot.decimals);
        let lots = [own.lot(), self.lot].map(|lot| lot.with_decimals(decimals));
        let [Some(lot), Some(venue)] = lots else { return false };
        is_part(own.tick().0, self.tick.0) && is_part(lot.mantissa, venue.mantissa)
    }
}

/// Where a WebSocket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamAddress {
    /// The address, which the URL's host has been resolved to.
    pub address: SocketAddr,
    /// Other addresses of the host: each attempt to connect goes to the next one.
    pub others: Vec<SocketAddr>,
    /// What is asked for there: of a WebSocket, or `fix://HOST:PORT`, which is bytes alone, in TLS
    /// where that is said.
    pub url: String,
    /// What the request says beside what every WebSocket's says, by names: a key, where the venue
    /// wants one.
    pub headers: Vec<(String, String)>,
    /// The proxy on the way, if there is one: the addresses are then the proxy's.
    pub through: Option<Through>,
}

impl StreamAddress {
    /// One address, and what is asked for there.
    #[must_use]
    pub const fn new(address: SocketAddr, url: String) -> Self {
        Self { address, others: Vec::new(), url, headers: Vec::new(), through: None }
    }

    /// Where this attempt goes, counted from 0.
    pub(super) fn of_attempt(&self, attempt: usize) -> SocketAddr {
        match attempt % (1 + self.others.len()) {
            0 => self.address,
            other => self.others.get(other - 1).copied().unwrap_or(self.address),
        }
    }
}

/// A WebSocket, or a session of FIX, on which the venue is told what is wanted. Its messages are
/// [`Source::LINE_A`](taut_market_data::Source::LINE_A).
#[derive(Debug)]
pub struct FeedSession {
    /// Where it is.
    pub stream: StreamAddress,
    /// For `wss://`, and for `fix://` where that is TLS.
    pub tls: Option<TlsClientConfig>,
    /// What is said there.
    pub session: Box<dyn StreamSession>,
    /// The shortest and the longest wait before the connection is tried again.
    pub reconnect: (Nanos, Nanos),
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::Symbol;

    #[test]
    fn our_steps_are_whole_numbers_of_the_venues() {
        let symbol = Symbol::new(b"X").unwrap();
        let lot = Qty { mantissa: 2, decimals: 1 };
        let own = Instrument::new(InstrumentId(0), symbol, Price(500_000_000), lot).unwrap();
        let terms = |tick, mantissa, decimals| VenueTerms {
            tick: Price(tick),
            steps: TickSteps::default(),
            lot: Qty { mantissa, decimals },
            is_open: true,
        };
        for (tick, mantissa, decimals) in
            [(500_000_000, 2, 1), (250_000_000, 1, 1), (500_000_000, 20, 2), (1, 1, 9)]
        {
            assert!(terms(tick, mantissa, decimals).contain(&own), "{tick} {mantissa} {decimals}");
        }
        for (tick, mantissa, decimals) in
            [(1_000_000_000, 2, 1), (300_000_000, 2, 1), (500_000_000, 3, 1), (0, 2, 1), (1, 0, 0)]
        {
            assert!(!terms(tick, mantissa, decimals).contain(&own), "{tick} {mantissa} {decimals}");
        }
    }
}
