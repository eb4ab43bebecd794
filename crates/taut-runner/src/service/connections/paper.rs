//! Trading on paper: orders go to taut's own matching engine, on a thread of this process, whose
//! books follow the venue's market data level by level. No order leaves the machine.
//!
//! A level of the venue's is an order that came before all of ours at its price. What an order of
//! ours takes of it is put back, and ours rests until a level of the other side comes to its price
//! (see [`MirrorFlow`]): its fills are rather too few than too many.

use std::net::{SocketAddr, SocketAddrV4};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use taut_fix::Now;
use taut_gateway::{Fix44, Observer, Transport};
use taut_market_data::{Event, EventKind, FeedHandler, LevelUpdate, Soundness};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, process_id, utc};
use taut_types::{Instrument, Nanos, Side};
use taut_venue::flow::{MirrorFlow, MirrorUpdate};
use taut_venue::{FeedOutput, Flow, Venue, VenueConfig, VenueError, VenueSockets};

use super::parts::{Connections, MarketData, OrderRoute, config, refused};
use crate::error::RunnerError;
use crate::service::file::GatewayFile;
use crate::settings::comp_id;

/// How long the venue sleeps at the most: how late it hears of the market.
const WAIT: Nanos = Nanos(500_000);
/// Orders of its own beside those of the market.
const ORDERS: usize = 1 << 14;
/// The interval of heartbeats.
const HEARTBEAT: Nanos = Nanos::from_secs(5);

/// Tells the venue on paper what the market does; ends the venue with itself.
pub struct Tap {
    to: Option<Sender<MirrorUpdate>>,
    venue: Option<JoinHandle<()>>,
}

impl Observer for Tap {
    fn on_market(&mut self, events: &[Event], feed: &impl FeedHandler) {
        let Some(to) = &self.to else { return };
        // A venue that has ended takes no more orders, and the session says so.
        let send = |update| _ = to.send(update);
        for event in events {
            let place = event.instrument.0 as usize;
            match event.kind {
                EventKind::Level(LevelUpdate { side, price, lots, .. }) => {
                    send(MirrorUpdate::Level { place, side, price, lots });
                }
                // Only a sound book is told level by level. One that is not is empty here.
                EventKind::Book(soundness) => {
                    send(MirrorUpdate::Begin { place });
                    let book =
                        feed.book(event.instrument).filter(|_| soundness == Soundness::Sound);
                    for side in [Side::Buy, Side::Sell] {
                        for level in book.iter().flat_map(|book| book.iter(side)) {
                            let (price, lots) = (level.price, level.lots);
                            send(MirrorUpdate::Level { place, side, price, lots });
                        }
                    }
                }
                _ => {}
            }
        }
        let mut told = None;
        for event in events.iter().filter(|event| is_of_book(event)) {
            if told.replace(event.instrument) != Some(event.instrument) {
                send(MirrorUpdate::End { place: event.instrument.0 as usize });
            }
        }
    }
}

const fn is_of_book(event: &Event) -> bool {
    matches!(event.kind, EventKind::Level(_) | EventKind::Book(_))
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.to = None;
        if let Some(venue) = self.venue.take() {
            let _ = venue.join();
        }
    }
}

/// The venue's market data, and orders to a venue on paper, which runs from here on.
pub fn connections<F>(
    file: &GatewayFile,
    market_data: MarketData<F>,
) -> Result<Connections<F, Fix44, Tap>, RunnerError> {
    let instruments = file.instruments()?;
    let (to, from) = channel();
    let failed = |error: &dyn std::fmt::Display| RunnerError::run("the venue on paper", error);
    let any = Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listener = Socket::listen(&any, &StreamOptions::default()).map_err(|it| failed(&it))?;
    let address = v4(&listener)?;
    let flow = MirrorFlow::new(&instruments, from);
    let (mut venue, unread) = open(file, &instruments, listener, flow)?;
    let route = OrderRoute {
        address,
        others: Vec::new(),
        transport: Transport::Plain,
        sender: comp_id("name", "GATEWAY")?,
        target: comp_id("name", "PAPER")?,
        heartbeat_interval: HEARTBEAT,
    };
    let config = config(file, route)?;
    let orders = Fix44::new(&config).map_err(|error| refused(&config, error))?;
    let venue = thread::Builder::new().name("paper".to_owned()).spawn(move || {
        let _unread: Socket = unread;
        venue.start_flow(monotonic());
        // Its flow ends when nobody can tell it anything any more.
        while !venue.flow_finished() && run(&mut venue).is_ok() {}
    });
    let venue = Some(venue.map_err(|error| failed(&error))?);
    let observer = Tap { to: Some(to), venue };
    Ok(Connections { config, market_data, orders, observer })
}

fn run(venue: &mut Venue) -> Result<(), VenueError> {
    if venue.poll(Now { mono: monotonic(), utc: utc() })? {
        return Ok(());
    }
    venue.wait(monotonic(), WAIT)
}

/// The exchange. Its own feed goes to a socket of this process, which nobody reads.
fn open(
    file: &GatewayFile,
    instruments: &[Instrument],
    listener: Socket,
    flow: MirrorFlow,
) -> Result<(Venue, Socket), RunnerError> {
    let stream_id = (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16);
    let mut config = VenueConfig::new(instruments.to_vec(), comp_id("name", "PAPER")?, stream_id);
    config.level_capacity = file.gateway.levels;
    config.order_capacity = 2 * file.gateway.levels + ORDERS;
    let any = Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)));
    let opened = |error| RunnerError::run("the venue on paper", error);
    let unread = Socket::datagram(&any, &DatagramOptions::default()).map_err(opened)?;
    let to = v4(&unread)?;
    let sender = || crate::feed::sender_to(to).map_err(opened);
    let feed = FeedOutput {
        incremental: sender()?.into(),
        incremental_b: None,
        snapshot: sender()?.into(),
        retransmission: None,
    };
    let sockets = VenueSockets { orders: listener.into(), feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::Mirror(Box::new(flow)))
        .map_err(|error| RunnerError::run("the venue on paper", error))?;
    Ok((venue, unread))
}

/// Where a socket of ours is.
fn v4(socket: &Socket) -> Result<SocketAddrV4, RunnerError> {
    match socket.local_address() {
        Ok(Address::Inet(SocketAddr::V4(address))) => Ok(address),
        Ok(other) => Err(RunnerError::Run(format!("the venue on paper is at {other}"))),
        Err(error) => Err(RunnerError::run("the venue on paper", error)),
    }
}
