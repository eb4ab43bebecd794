//! taut's own venue: FIX 4.4 for orders, its own feed by multicast.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_gateway::{CopiedVenue, FeedInput, FeedSocket, FeedSockets, Fix44, Transport};
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_sys::{Address, DatagramOptions, tape};
use taut_types::{Instrument, Nanos};

use super::parts::{Connections, MarketData, OrderRoute, config, refused};
use crate::error::RunnerError;
use crate::feed::{Feed, asking_socket};
use crate::mistakes::{self, Mistake};
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::file::GatewayFile;
use crate::settings::{RemoteVenue, comp_id};

/// TargetCompID (56) of its drop copies, where nothing else is said.
const COPIES: &str = "VENUE";

pub fn mistakes(venue: &RemoteVenue) -> Vec<Mistake> {
    venue.mistakes().into_iter().map(Mistake::from).collect()
}

pub fn explain(file: &GatewayFile, venue: &RemoteVenue, say: &mut impl FnMut(&str, String)) {
    say("orders", format!("FIX 4.4 at {} as {}", venue.orders, venue.sender_comp_id));
    let (line_a, snapshots) = (venue.incremental, venue.snapshot);
    say("market data", format!("line A {line_a}, snapshots {snapshots}"));
    say(
        "",
        match venue.incremental_b {
            Some(line) => format!("line B {line}"),
            None => "no line B: what line A loses, a snapshot replaces".to_owned(),
        },
    );
    if let Some(backup) = &file.feed_backup {
        let (line_a, snapshots, after) = (backup.incremental, backup.snapshot, backup.after_ms);
        say("", format!("backup: line A {line_a}, snapshots {snapshots}, after {after} ms"));
    }
}

pub fn connections(
    file: &GatewayFile,
    venue: &RemoteVenue,
    market_data: MarketData<NativeFeed>,
) -> Result<Connections<NativeFeed, Fix44>, RunnerError> {
    let route = OrderRoute {
        address: venue.orders,
        others: Vec::new(),
        transport: Transport::Plain,
        through: None,
        sender: comp_id("venue.sender_comp_id", &venue.sender_comp_id)?,
        target: comp_id("venue.target_comp_id", &venue.target_comp_id)?,
        heartbeat_interval: Nanos::from_secs(venue.heartbeat_seconds.into()),
    };
    let config = config(file, route)?;
    let orders = Fix44::new(&config).map_err(|error| refused(&config, error))?;
    Ok(Connections { config, market_data, orders, tap: None })
}

/// What is wrong with who reads its drop copies.
pub fn copy_mistakes(keys: &CopyReaderKeys) -> Option<Mistake> {
    let text = "drop_copy_reader.store is missing: name the folder of the session's numbers, such \
                as store = \"venue-copies\"";
    keys.store.is_none().then(|| Mistake::told("drop_copy_reader.store", text))
}

/// Its drop copies, and TargetCompID (56) there.
pub fn copies(keys: &CopyReaderKeys) -> Result<(CopiedVenue, &'static str), RunnerError> {
    match (&keys.store, copy_mistakes(keys)) {
        (Some(store), None) => Ok((CopiedVenue::Fix44 { store: store.clone() }, COPIES)),
        (_, wrong) => Err(mistakes::error(wrong.as_slice())),
    }
}

pub fn market_data(
    file: &GatewayFile,
    venue: &RemoteVenue,
    instruments: &[Instrument],
    now: Nanos,
) -> Result<MarketData<NativeFeed>, RunnerError> {
    let sockets = sockets(venue)?;
    let feed = NativeConfig {
        instruments,
        stream_id: venue.stream_id,
        level_capacity: file.gateway.levels,
        has_retransmission: sockets.retransmission.is_some(),
    };
    let mut handler =
        NativeFeed::new(&feed, now).map_err(|error| RunnerError::run("[[instruments]]", error))?;
    if let Some(subscribed) = &file.subscribed {
        let numbers = handler.set_numbers(&subscribed.numbers);
        numbers.map_err(|error| RunnerError::run("[[subscribe]]", error))?;
    }
    handler.reserve_instruments(file.instruments_max().saturating_sub(instruments.len()));
    if file.gateway.market_by_order {
        handler.tell_orders(file.gateway.book_orders);
    }
    let backup = file.feed_backup.as_ref();
    let backup = backup.map(|backup| Ok((self::sockets(&backup.of(venue))?, backup.after())));
    Ok(MarketData { input: FeedInput::Datagrams(sockets), handler, backup: backup.transpose()? })
}

/// A socket that there was: what it heard is on the tape.
fn nowhere() -> FeedSocket {
    let any = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
    FeedSocket::At(Address::Inet(any), DatagramOptions::default())
}

fn sockets(venue: &RemoteVenue) -> Result<FeedSockets, RunnerError> {
    if tape::is_reading() {
        return Ok(FeedSockets {
            incremental: nowhere(),
            incremental_b: venue.incremental_b.map(|_| nowhere()),
            snapshot: nowhere(),
            retransmission: venue.retransmission.map(|_| nowhere()),
        });
    }
    let feed = Feed::join(venue)?;
    let asking = venue.retransmission.map(asking_socket).transpose();
    Ok(FeedSockets {
        incremental: feed.incremental.into(),
        incremental_b: feed.incremental_b.map(Into::into),
        snapshot: feed.snapshot.into(),
        retransmission: asking
            .map_err(|error| RunnerError::run("venue.retransmission", error))?
            .map(Into::into),
    })
}
