//! What a gateway is connected to: the venue that its file names.
//!
//! Each venue is a module here: its table of the file, what is wrong with that, and what a gateway
//! is built of there. What else names a venue in this crate is the venue that a run plays (`web`).

mod address;
mod binance;
mod deribit;
mod okx;
mod own;
mod paper;
mod parts;
mod proxy;
mod tap;

use taut_gateway::{CopiedVenue, OrderHandler};
use taut_market_data::FeedHandler;
use taut_sys::{monotonic, tape};
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::mistakes::{self, Mistake};
use crate::service::binance::{BinanceKeys, BinanceOrders};
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::deribit::{DeribitKeys, DeribitMarketData, DeribitOrders};
use crate::service::file::GatewayFile;
use crate::service::okx::OkxKeys;
use crate::settings::RemoteVenue;
pub use address::{Named, Served, addresses_of, get_addresses, put_addresses};
pub use parts::{Connections, MarketData};
pub use tap::Tap;

/// Who builds a gateway, whichever venue it is for.
pub trait Connect {
    type Output;

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send>(
        self,
        connections: Connections<F, H>,
    ) -> Result<Self::Output, RunnerError>;
}

/// The table of a file that names its venue.
enum Venue<'a> {
    Own(&'a RemoteVenue),
    Deribit(&'a DeribitKeys),
    Binance(&'a BinanceKeys),
    Okx(&'a OkxKeys),
}

impl<'a> Venue<'a> {
    fn of(file: &'a GatewayFile) -> Result<Self, Mistake> {
        let own = file.venue.as_ref().map(|it| ("venue", Self::Own(it)));
        let deribit = file.deribit.as_ref().map(|it| ("deribit", Self::Deribit(it)));
        let binance = file.binance.as_ref().map(|it| ("binance", Self::Binance(it)));
        let okx = file.okx.as_ref().map(|it| ("okx", Self::Okx(it)));
        let mut named = [own, deribit, binance, okx].into_iter().flatten();
        match (named.next(), named.next()) {
            (Some((_, venue)), None) => Ok(venue),
            (Some((one, _)), Some((other, _))) => {
                let text = format!(
                    "[{one}] and [{other}] name two venues; a gateway has one: leave one of them \
                     out"
                );
                Err(Mistake::told(other, text))
            }
            (None, _) => {
                let text = "[venue], [deribit], [binance] or [okx]: none says where orders go and \
                            market data comes from";
                Err(Mistake::told("", text))
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
        Ok(Venue::Binance(keys)) => keys.mistakes(file),
        Ok(Venue::Okx(keys)) => keys.mistakes(file),
    };
    mistakes.extend(proxy::mistakes(file));
    if file.feed_backup.is_some() && file.venue.is_none() {
        let text = "[feed_backup] is for multicast: it goes with [venue]";
        mistakes.push(Mistake::told("feed_backup", text));
    }
    mistakes
}

/// Everything that is wrong with who reads the venue's drop copies, where it is this venue's.
pub fn copy_mistakes(file: &GatewayFile, keys: &CopyReaderKeys) -> Vec<Mistake> {
    match Venue::of(file) {
        Ok(Venue::Own(_)) => own::copy_mistakes(keys).into_iter().collect(),
        Ok(Venue::Binance(venue)) => venue.copy_mistakes(keys),
        // Which one it is says another mistake.
        Err(_) => Vec::new(),
        Ok(Venue::Deribit(_) | Venue::Okx(_)) => {
            let text = "drop_copy_reader: these are FIX 4.4 as taut's own venue or Binance has it; \
                        only with [venue] or [binance]";
            vec![Mistake::told("drop_copy_reader", text)]
        }
    }
}

/// Whose drop copies are read, and TargetCompID (56) where the file does not say it.
///
/// # Errors
/// What stands in the way: no store or no key, roots of trust that cannot be read.
pub fn copies(
    file: &GatewayFile,
    keys: &CopyReaderKeys,
) -> Result<(CopiedVenue, &'static str), RunnerError> {
    match Venue::of(file).map_err(|mistake| mistakes::error(&[mistake]))? {
        Venue::Binance(venue) => venue.copies(file),
        _ => own::copies(keys),
    }
}

/// The names that the venue is found by. On paper orders go to this process.
pub fn names(file: &GatewayFile) -> Vec<Named> {
    let names = match Venue::of(file) {
        Ok(Venue::Deribit(keys)) => keys.hosts(),
        Ok(Venue::Binance(keys)) => keys.hosts(),
        Ok(Venue::Okx(keys)) => keys.hosts(),
        // Addresses.
        Ok(Venue::Own(_)) | Err(_) => Vec::new(),
    };
    // A proxy is asked for the venue's names, and found by its own.
    let through = |named: Named| match &file.proxy {
        None => Some(named),
        Some(proxy) => proxy.name().map(|host| Named { host, ..named }),
    };
    let is_for_orders = |served| matches!(served, Served::Orders | Served::Questions);
    let is_asked = |named: &Named| !(file.is_paper && is_for_orders(named.served));
    names.into_iter().filter(is_asked).filter_map(through).collect()
}

/// Whether the venue wants to know who asks for market data.
pub fn needs_key(file: &GatewayFile) -> bool {
    match Venue::of(file) {
        Ok(Venue::Deribit(keys)) => keys.needs_key(),
        Ok(Venue::Binance(keys)) => keys.needs_key(),
        Ok(Venue::Own(_) | Venue::Okx(_)) | Err(_) => false,
    }
}

/// Whether the secret of `[session.credentials]` is read: Binance's market data want a key's name
/// and no proof, and on paper nobody else asks.
pub fn reads_secret(file: &GatewayFile) -> bool {
    !(file.is_paper && matches!(Venue::of(file), Ok(Venue::Binance(_))))
}

/// What is connected, line by line.
pub fn explain(file: &GatewayFile, say: &mut impl FnMut(&str, String)) {
    match Venue::of(file) {
        Ok(Venue::Own(venue)) => own::explain(file, venue, say),
        Ok(Venue::Deribit(keys)) => keys.explain(say),
        Ok(Venue::Binance(keys)) => keys.explain(say),
        Ok(Venue::Okx(keys)) => keys.explain(say),
        Err(_) => {}
    }
}

/// Has a gateway built for the file's venue. Looks names up, which may take seconds.
///
/// There are two kinds of gateway: taut's own, and that of any other venue, whose handlers are
/// behind tables of functions. A kind is compiled once for each client, and takes seconds.
///
/// # Errors
/// What stands in the way, and what the builder says.
pub fn connect<C: Connect>(file: &GatewayFile, builder: C) -> Result<C::Output, RunnerError> {
    let now = Nanos(tape::time(|| monotonic().0.cast_unsigned()).cast_signed());
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
            let data = match keys.market_data {
                DeribitMarketData::WebSocket => {
                    keys.over_web_socket(file, &instruments, now)?.of_any()
                }
                DeribitMarketData::Fix => keys.over_fix_session(file, &instruments, now)?.of_any(),
            };
            builder.connect(match keys.orders {
                _ if file.is_paper => paper::connections(file, data)?.of_any(),
                DeribitOrders::Json => keys.over_json(file, data)?.of_any(),
                DeribitOrders::Fix => keys.over_fix(file, data)?.of_any(),
            })
        }
        Venue::Binance(keys) => {
            let data = keys.market_data(file, &instruments, now)?.of_any();
            builder.connect(match keys.orders {
                _ if file.is_paper => paper::connections(file, data)?.of_any(),
                BinanceOrders::Json => keys.over_api(file, data)?.of_any(),
                BinanceOrders::Fix => keys.over_fix(file, data)?.of_any(),
            })
        }
        Venue::Okx(keys) => {
            let data = keys.market_data(file, &instruments, now)?.of_any();
            builder.connect(match file.is_paper {
                true => paper::connections(file, data)?.of_any(),
                false => keys.over_web(file, data)?.of_any(),
            })
        }
    }
}
