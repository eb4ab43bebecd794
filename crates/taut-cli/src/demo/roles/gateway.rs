//! The gateway's process; in fused mode the strategy's too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use taut_fix::CompId;
use taut_gateway::{
    Client, FeedInput, FeedSockets, FusedClient, Gateway, GatewayConfig, GatewayError, Regions,
    SplitClient, Strategy, TouchConfig, TouchStrategy,
};
use taut_io::EpollKernel;
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_sys::{Clock, Doorbell, Socket, monotonic, wait_readable};
use taut_types::{Nanos, SequenceNumber};

use crate::demo::arguments::{Mode, WaitArgument};
use crate::demo::child::{Parent, SharedClock, attach, instrument_of, regions, waiter};
use crate::demo::control::{GatewaySetup, Order, Reply, VENUE_COMP_ID};
use crate::demo::feed::request_socket;
use crate::demo::roles::bare_send::BareSend;
use crate::exit::Failure;

/// How long the feed may take to catch up at the end, before what is missing counts as lost.
const CATCH_UP: Nanos = Nanos::from_secs(5);
/// Rounds with work after which housekeeping is looked at all the same.
const BUSY_ROUNDS: u32 = 256;

/// Runs the gateway until the parent says that it is over.
pub fn play(setup: &GatewaySetup, fds: Vec<OwnedFd>, parent: &mut Parent) -> Result<(), Failure> {
    let mut fds = fds.into_iter();
    let segment = attach(fds.next())?;
    let regions = regions(&segment)?;
    let (shared_clock, clock) = SharedClock::new(&regions)?;
    let (Some(a), Some(b), Some(snapshot)) = (fds.next(), fds.next(), fds.next()) else {
        return Err(Failure::Run("market data: no sockets came".to_owned()));
    };
    let adopt = |fd| Socket::adopt(fd).map_err(|error| Failure::run("market data", error));
    let asking = request_socket(Some(setup.requests));
    let sockets = FeedSockets {
        incremental: adopt(a)?.into(),
        incremental_b: Some(adopt(b)?.into()),
        snapshot: adopt(snapshot)?.into(),
        retransmission: Some(asking.map_err(|error| Failure::run("requests", error))?.into()),
    };
    let own_bell = fds.next().map(Doorbell::from);
    let strategy_bell = fds.next().map(Doorbell::from);
    let process = Process { setup, regions, shared_clock, own_bell, parent };
    match setup.mode {
        Mode::Fused => {
            let orders_per_second = setup.rate_hz;
            let config = TouchConfig { orders_per_second, ..TouchConfig::default() };
            let client = FusedClient::new(TouchStrategy::new(config, clock.now()));
            process.run(clock, sockets, client)
        }
        Mode::Split => {
            let wake = strategy_bell.filter(|_| setup.wake_strategy);
            let client = SplitClient::new(&process.regions, wake)
                .map_err(|error| Failure::Run(format!("rings: {error}")))?;
            process.run(clock, sockets, client)
        }
    }
}

/// A client that a demo can bring to rest.
trait DemoClient: Client {
    /// No new orders from now on.
    fn stop(&mut self);
    /// Whether its strategy lives here and has no open order.
    fn is_idle(&self) -> bool;
}

impl DemoClient for FusedClient<TouchStrategy> {
    fn stop(&mut self) {
        Self::stop(self);
    }
    fn is_idle(&self) -> bool {
        self.strategy().is_idle()
    }
}

impl DemoClient for SplitClient<'_> {
    fn stop(&mut self) {}
    fn is_idle(&self) -> bool {
        false
    }
}

struct Process<'a, 'm> {
    setup: &'a GatewaySetup,
    regions: Regions<'m>,
    shared_clock: SharedClock<'m>,
    own_bell: Option<Doorbell>,
    parent: &'a mut Parent,
}

/// What the parent has asked for so far.
#[derive(Debug, Default)]
struct Wishes {
    ready_said: bool,
    draining: bool,
    finish: Option<(SequenceNumber, Nanos)>,
    logging_out: bool,
    finished_said: bool,
}

/// The demo's gateway.
type DemoGateway<'m, C> = Gateway<'m, C, NativeFeed, EpollKernel, BareSend<'m>>;

impl<'m> Process<'_, 'm> {
    fn run(
        mut self,
        clock: Clock,
        sockets: FeedSockets,
        client: impl DemoClient,
    ) -> Result<(), Failure> {
        let failed = |error: GatewayError| Failure::Run(error.to_string());
        let config = config(self.setup)?;
        let feed = NativeConfig {
            instrument: config.instrument,
            stream_id: Some(self.setup.common.stream_id),
            level_capacity: 1 << 13,
            has_retransmission: sockets.retransmission.is_some(),
        };
        let (input, feed) = (FeedInput::Datagrams(sockets), NativeFeed::new(&feed, clock.now()));
        let observer = BareSend::new(self.setup.sink, &self.regions).map_err(failed)?;
        let mut gateway = Gateway::new(&config, clock, input, feed, client, &self.regions)
            .and_then(|gateway| gateway.with_observer(observer))
            .map_err(failed)?;
        let mut waiter = waiter(self.setup.common.place.wait);
        let mut wishes = Wishes::default();
        let mut busy_rounds = 0;
        loop {
            if gateway.poll().map_err(failed)? {
                waiter.worked();
                busy_rounds += 1;
                if busy_rounds < BUSY_ROUNDS {
                    continue;
                }
            } else {
                waiter.idle(|span| self.sleep(&mut gateway, span));
            }
            busy_rounds = 0;
            if gateway.housekeeping().map_err(failed)? {
                self.shared_clock.refresh(gateway.clock_mut());
                if self.attend(&mut gateway, &mut wishes)? {
                    return Ok(());
                }
            }
        }
    }

    /// Listens to the parent and moves towards what it wants; whether it is all over.
    fn attend<C: DemoClient>(
        &mut self,
        gateway: &mut DemoGateway<'m, C>,
        wishes: &mut Wishes,
    ) -> Result<bool, Failure> {
        match self.parent.order()? {
            Some(Order::Drain) => {
                gateway.client_mut().stop();
                wishes.draining = true;
            }
            Some(Order::Finish { published }) => {
                wishes.finish = Some((SequenceNumber(published), monotonic() + CATCH_UP));
            }
            Some(Order::Exit) => return Ok(true),
            _ => {}
        }
        if !wishes.ready_said && gateway.is_ready() {
            wishes.ready_said = true;
            self.parent.say(&Reply::Ready)?;
        }
        if wishes.draining && gateway.client_mut().is_idle() {
            wishes.draining = false;
            self.parent.say(&Reply::Drained)?;
        }
        if let Some((last, deadline)) = wishes.finish
            && !wishes.logging_out
            && (gateway.has_caught_up_with(last) || monotonic() >= deadline)
        {
            wishes.logging_out = true;
            gateway.logout().map_err(|error| Failure::Run(error.to_string()))?;
        }
        if gateway.is_logged_out() && !wishes.finished_said {
            wishes.finished_said = true;
            gateway.counters().store(self.regions.gateway);
            self.parent.say(&Reply::Finished)?;
        }
        Ok(false)
    }

    /// Sleeps until a packet, a report, a request or the parent wakes us.
    fn sleep<C: Client>(&self, gateway: &mut DemoGateway<'m, C>, span: Nanos) {
        let sources = gateway.fd();
        let bell: BorrowedFd<'_> = self.own_bell.as_ref().map_or(sources, AsFd::as_fd);
        let fds = [sources, bell, self.parent.fd()];
        // Timers run once a millisecond while orders are open; a heartbeat can wait that long too.
        let _ = wait_readable(&fds, Some(span));
        if let Some(bell) = &self.own_bell {
            bell.silence();
        }
    }
}

fn config(setup: &GatewaySetup) -> Result<GatewayConfig, Failure> {
    let text = |bytes: &[u8]| {
        CompId::new(bytes).ok_or_else(|| Failure::Run("a CompID is not valid".to_owned()))
    };
    Ok(GatewayConfig {
        instrument: instrument_of(&setup.common)?,
        order_address: setup.orders,
        sender_comp_id: text(b"GATEWAY")?,
        target_comp_id: text(VENUE_COMP_ID)?,
        heartbeat_interval: Nanos::from_secs(5),
        order_capacity: 1 << 16,
        risk: GatewayConfig::default_risk(),
        hot: setup.common.place.wait != WaitArgument::Block,
    })
}
