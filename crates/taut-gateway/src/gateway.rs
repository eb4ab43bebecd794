//! The loop: requests first, then market data, then the order session.

use std::os::fd::{AsFd, BorrowedFd};

use taut_book::LevelBook;
use taut_fix::Now;
use taut_sync::atomic::AtomicU64;
use taut_sys::Clock;
use taut_types::{Lots, Nanos, SequenceNumber, Side};

use crate::client::Client;
use crate::config::GatewayConfig;
use crate::counters::GatewayCounters;
use crate::error::GatewayError;
use crate::market::{FeedSockets, Market, Taken};
use crate::message::{OrderUpdate, Request};
use crate::order_entry::OrderSession;
use crate::probe::Probe;
use crate::regions::Recorders;

/// Packets after which the order session is looked at although more packets wait.
const PACKETS_IN_A_ROW: u32 = 8;
/// Requests after which a packet is looked at although more requests wait.
const REQUESTS_IN_A_ROW: usize = 64;
/// Time between two rounds of housekeeping.
const HOUSEKEEPING: Nanos = Nanos::from_millis(1);

/// A gateway: one instrument, one feed, one order session, one client, one thread.
#[derive(Debug)]
pub struct Gateway<'m, C> {
    clock: Clock,
    market: Market,
    orders: OrderSession,
    probe: Option<Probe>,
    client: C,
    recorders: Recorders<'m>,
    shared_counters: &'m [AtomicU64],
    packets_in_a_row: u32,
    housekeeping_due: Nanos,
}

impl<'m, C: Client> Gateway<'m, C> {
    /// Connects to the venue. `shared_counters` is where [`GatewayCounters`] are written to.
    ///
    /// # Errors
    /// When the venue cannot be reached.
    pub fn new(
        config: &GatewayConfig,
        clock: Clock,
        sockets: FeedSockets,
        client: C,
        recorders: Recorders<'m>,
        shared_counters: &'m [AtomicU64],
    ) -> Result<Self, GatewayError> {
        let mono = clock.now();
        let now = Now { mono, utc: clock.utc_at(mono) };
        Ok(Self {
            clock,
            market: Market::new(config, sockets),
            orders: OrderSession::connect(config, now)?,
            probe: config.sink_address.map(|sink| Probe::connect(sink, mono)).transpose()?,
            client,
            recorders,
            shared_counters,
            packets_in_a_row: 0,
            housekeeping_due: mono,
        })
    }

    /// One round; whether there was something to do. Never blocks, and allocates nothing.
    ///
    /// # Errors
    /// What ends the gateway.
    #[inline]
    pub fn poll(&mut self) -> Result<bool, GatewayError> {
        let mut worked = self.serve_requests()?;
        if let Taken::Datagram(stamps) = self.market.receive(&self.clock)? {
            self.client.market(&self.clock, stamps, self.market.events());
            self.serve_requests()?;
            worked = true;
            self.packets_in_a_row += 1;
            if self.packets_in_a_row < PACKETS_IN_A_ROW {
                return Ok(true);
            }
        }
        self.packets_in_a_row = 0;
        worked |= self.receive_reports()?;
        if !worked {
            self.probe_send()?;
        }
        Ok(worked)
    }

    /// Timers, and what others may read; call it in every round that found nothing. Does something
    /// about once a millisecond, and says whether it did.
    ///
    /// # Errors
    /// What ends the gateway.
    pub fn housekeeping(&mut self) -> Result<bool, GatewayError> {
        let now = self.clock.now();
        if now < self.housekeeping_due {
            return Ok(false);
        }
        self.housekeeping_due = now + HOUSEKEEPING;
        self.orders.handle_timeout(&self.clock)?;
        self.client.timer(&self.clock);
        self.counters().store(self.shared_counters);
        Ok(true)
    }

    /// Asks the venue to end the order session.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn logout(&mut self) -> Result<(), GatewayError> {
        self.orders.logout(&self.clock)
    }

    /// Whether the order session ended in good order.
    #[must_use]
    pub const fn is_logged_out(&self) -> bool {
        self.orders.is_logged_out()
    }

    /// Whether the book can be trusted and orders can be sent.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.market.is_live() && self.orders.is_active()
    }

    /// Whether everything up to this packet was applied or covered by a snapshot.
    #[must_use]
    pub fn has_caught_up_with(&self, last: SequenceNumber) -> bool {
        self.market.is_live() && self.market.sequencer().lost(last) == 0
    }

    /// Takes over a newer clock mapping.
    pub const fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The client.
    pub const fn client_mut(&mut self) -> &mut C {
        &mut self.client
    }

    /// The book.
    #[must_use]
    pub const fn book(&self) -> &LevelBook {
        self.market.book()
    }

    /// Bought less sold.
    #[must_use]
    pub const fn position(&self) -> Lots {
        self.orders.risk().position()
    }

    /// What to wait for when there is nothing to do.
    #[must_use]
    pub fn fds(&self) -> [BorrowedFd<'_>; 3] {
        let feed = self.market.sockets();
        // The snapshot channel is looked at only while recovering: else it would wake for nothing.
        let feed_fd = feed.incremental.as_fd();
        let snapshot_fd = if self.market.is_live() { feed_fd } else { feed.snapshot.as_fd() };
        [feed_fd, snapshot_fd, self.orders.stream().as_fd()]
    }

    /// Everything counted so far.
    #[must_use]
    pub fn counters(&self) -> GatewayCounters {
        let feed = self.market.sequencer().counters();
        let answers = self.orders.table().answers();
        let book = self.market.book();
        GatewayCounters {
            ticks: feed.applied,
            recovered: feed.recovered,
            highest_seen: feed.highest_seen,
            gaps: feed.gaps,
            snapshots: feed.snapshots_used,
            malformed: self.market.malformed(),
            live: self.market.is_live().into(),
            bid_levels: book.level_count(Side::Buy) as u64,
            ask_levels: book.level_count(Side::Sell) as u64,
            logged_on: self.orders.is_active().into(),
            orders: answers.orders,
            acks: answers.acks,
            order_rejects: answers.order_rejects,
            risk_rejects: self.orders.risk_rejects(),
            refused: self.orders.refused(),
            fills: answers.fills,
            cancel_requests: answers.cancel_requests,
            cancels: answers.cancels,
            cancel_rejects: answers.cancel_rejects,
            expired: answers.expired,
            unanswered: answers.unanswered(),
            bare_sends: self.probe.as_ref().map_or(0, Probe::count),
        }
    }

    /// Requests come before market data: an order that waits costs more than a tick that waits.
    #[inline]
    fn serve_requests(&mut self) -> Result<bool, GatewayError> {
        for served in 0..REQUESTS_IN_A_ROW {
            let Some(request) = self.client.next_request() else { return Ok(served > 0) };
            self.serve(&request)?;
        }
        Ok(true)
    }

    #[inline]
    fn serve(&mut self, request: &Request) -> Result<(), GatewayError> {
        let reference = self.market.reference();
        let recorders = &mut self.recorders;
        let news = self.orders.handle_request(&self.clock, request, reference, recorders)?;
        match news {
            Some(update) => tell(&mut self.client, &self.clock, &update),
            None => Ok(()),
        }
    }

    fn receive_reports(&mut self) -> Result<bool, GatewayError> {
        let (clock, client) = (&self.clock, &mut self.client);
        let pass_on = |update: &OrderUpdate| tell(client, clock, update);
        self.orders.receive(clock, &mut self.recorders, pass_on)
    }

    fn probe_send(&mut self) -> Result<(), GatewayError> {
        match &mut self.probe {
            Some(probe) => probe.poll(&self.clock, self.orders.last_order(), &mut self.recorders),
            None => Ok(()),
        }
    }
}

fn tell<C: Client>(
    client: &mut C,
    clock: &Clock,
    update: &OrderUpdate,
) -> Result<(), GatewayError> {
    if client.order_update(clock, update) { Ok(()) } else { Err(GatewayError::StrategyStalled) }
}
