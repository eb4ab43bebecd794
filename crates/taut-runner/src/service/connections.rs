//! What a gateway is connected to: the venue that its file names.
//!
//! Each venue is a module here: its table of the file, what is wrong with that, and what a gateway
//! is built of there. Nothing else in this crate names a venue.

mod address;
mod deribit;
mod own;
mod paper;

use std::net::SocketAddrV4;

use taut_fix::CompId;
use taut_gateway::{
    FeedInput, FeedSockets, GatewayConfig, GatewayError, Observer, OrderHandler, SessionSettings,
    Transport,
};
use taut_market_data::FeedHandler;
use taut_sys::{Wait, monotonic};
use taut_types::Nanos;

pub use deribit::{DeribitInterval, DeribitKeys, DeribitOrders};

use crate::error::RunnerError;
use crate::mistakes::{self, Mistake};
use crate::service::file::GatewayFile;
use crate::service::journal::JournalKeys;
use crate::settings::RemoteVenue;

/// A venue's market data.
pub struct MarketData<F> {
    pub input: FeedInput,
    /// Reads it.
    pub handler: F,
    /// Where the same arrives, too, and when it is taken from there.
    pub backup: Option<(FeedSockets, Nanos)>,
}

/// What a gateway at some venue is built of.
pub struct Connections<F, H, O = ()> {
    pub config: GatewayConfig,
    pub market_data: MarketData<F>,
    /// Sends orders.
    pub orders: H,
    pub observer: O,
}

/// Who builds a gateway, whichever venue it is for.
pub trait Connect {
    type Output;

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send, O: Observer + Send>(
        self,
        connections: Connections<F, H, O>,
    ) -> Result<Self::Output, RunnerError>;
}

/// The table of a file that names its venue.
enum Venue<'a> {
    Own(&'a RemoteVenue),
    Deribit(&'a DeribitKeys),
}

impl<'a> Venue<'a> {
    fn of(file: &'a GatewayFile) -> Result<Self, Mistake> {
        match (&file.venue, &file.deribit) {
            (Some(venue), None) => Ok(Self::Own(venue)),
            (None, Some(keys)) => Ok(Self::Deribit(keys)),
            (None, None) => {
                let text = "[venue] or [deribit]: neither says where orders go and market data \
                            comes from";
                Err(Mistake::told("", text))
            }
            (Some(_), Some(_)) => {
                let text = "[deribit] and [venue] name two venues; a gateway has one: leave one \
                            of them out";
                Err(Mistake::told("deribit", text))
            }
        }
    }
}

/// Everything that is wrong with what a file says of its venue; the secret is another matter.
pub fn mistakes(file: &GatewayFile) -> Vec<Mistake> {
    let mut mistakes = match Venue::of(file) {
        Err(mistake) => return vec![mistake],
        Ok(Venue::Own(venue)) => own::mistakes(venue),
        Ok(Venue::Deribit(keys)) => keys.mistakes(file),
    };
    if file.feed_backup.is_some() && file.venue.is_none() {
        let text = "[feed_backup] is for multicast: it goes with [venue]";
        mistakes.push(Mistake::told("feed_backup", text));
    }
    mistakes
}

/// Whether the venue wants to know who asks for market data.
pub fn needs_key(file: &GatewayFile) -> bool {
    matches!(Venue::of(file), Ok(Venue::Deribit(keys)) if keys.interval == DeribitInterval::Raw)
}

/// What is connected, line by line.
pub fn explain(file: &GatewayFile, say: &mut impl FnMut(&str, String)) {
    match Venue::of(file) {
        Ok(Venue::Own(venue)) => own::explain(file, venue, say),
        Ok(Venue::Deribit(keys)) => keys.explain(say),
        Err(_) => {}
    }
}

/// Has a gateway built for the file's venue. Looks names up, which may take seconds.
///
/// # Errors
/// What stands in the way, and what the builder says.
pub fn connect<C: Connect>(file: &GatewayFile, builder: C) -> Result<C::Output, RunnerError> {
    let now = monotonic();
    let instruments = file.instruments()?;
    match Venue::of(file).map_err(|mistake| mistakes::error(&[mistake]))? {
        Venue::Own(venue) => {
            let market_data = own::market_data(file, venue, &instruments, now)?;
            if file.is_paper {
                return builder.connect(paper::connections(file, market_data)?);
            }
            builder.connect(own::connections(file, venue, market_data)?)
        }
        Venue::Deribit(keys) => {
            let market_data = keys.market_data(file, &instruments, now)?;
            match keys.orders {
                _ if file.is_paper => builder.connect(paper::connections(file, market_data)?),
                DeribitOrders::Json => builder.connect(keys.over_json(file, market_data)?),
                DeribitOrders::Fix => builder.connect(keys.over_fix(file, market_data)?),
            }
        }
    }
}

/// Where and how a gateway's orders go.
struct OrderRoute {
    address: SocketAddrV4,
    /// Tried after it, before those of the file.
    others: Vec<SocketAddrV4>,
    transport: Transport,
    sender: CompId,
    target: CompId,
    heartbeat_interval: Nanos,
}

/// A gateway's settings with this route.
fn config(file: &GatewayFile, route: OrderRoute) -> Result<GatewayConfig, RunnerError> {
    let session = file.session.settings()?;
    let beside_journal = || file.journal.as_ref().map(JournalKeys::session_store);
    let backups = route.others.into_iter().chain(session.backups).collect();
    let session = SessionSettings {
        store: session.store.or_else(beside_journal),
        transport: route.transport,
        backups,
        ..session
    };
    Ok(GatewayConfig {
        instruments: file.instruments()?,
        order_address: route.address,
        sender_comp_id: route.sender,
        target_comp_id: route.target,
        heartbeat_interval: route.heartbeat_interval,
        session,
        order_capacity: file.gateway.orders,
        risk: file.rules()?.config(file),
        hot: file.waits() != Wait::Block,
        keeps_warm: file.gateway.keep_warm,
    })
}

/// An order handler that cannot be built.
fn refused(config: &GatewayConfig, error: GatewayError) -> RunnerError {
    RunnerError::Settings(match (error, &config.session.store) {
        (GatewayError::Store(errno), Some(path)) => {
            let why = std::io::Error::from_raw_os_error(errno);
            format!("the session's numbers, {}: {why}", path.display())
        }
        (error, _) => error.to_string(),
    })
}
