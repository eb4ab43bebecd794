//! A gateway at Deribit.

use std::cell::RefCell;
use std::net::{SocketAddr, SocketAddrV4};
use std::rc::Rc;

use taut_fix::CompId;
use taut_fix_engine::Credentials;
use taut_gateway::{
    DeribitFixStream, DeribitFixStreamSettings, DeribitJson, DeribitOrderSettings, DeribitStream,
    DeribitStreamSettings, FeedInput, FeedSession, FusedClient, Gateway, GatewayConfig,
    OrderHandler, Regions, SessionSettings, StreamAddress, StreamSession, Transport,
};
use taut_io::{EpollKernel, Kernel};
use taut_market_data::deribit::{DeribitFeed, DeribitFixFeed};
use taut_market_data::{ChainConfig, FeedHandler, NamedInstrument};
use taut_sys::{Anchoring, Clock};
use taut_tests::setup::{VenueAddresses, gateway_config};
use taut_types::{Instrument, InstrumentError, InstrumentId, Nanos, Price, Qty, Symbol};

use crate::hands::{Hands, Obedient, Running};

pub const NAME: &str = "BTC-PERPETUAL";

/// A lot is a contract of ten dollars.
pub fn perpetual() -> Instrument {
    let (symbol, tick) = (Symbol::new(NAME.as_bytes()).expect("short"), Price(500_000_000));
    Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(10)).expect("an instrument")
}

pub type AtDeribit<'m> = Running<'m, EpollKernel, DeribitFeed, DeribitJson>;

const URL: &str = "ws://localhost/ws/api/v2";
const QUICKLY: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(10));

/// The settings of a gateway with this key, whose orders go over JSON-RPC.
pub fn config(at: SocketAddrV4, (client_id, secret): (&str, &str)) -> GatewayConfig {
    let (client_id, secret) = (client_id.to_owned(), secret.to_owned());
    GatewayConfig {
        instruments: vec![perpetual()],
        hot: false,
        heartbeat_interval: Nanos::from_secs(10),
        session: SessionSettings {
            transport: Transport::WebSocket { url: URL.to_owned(), tls: None },
            credentials: Some(Credentials::Deribit { client_id, secret }),
            waits_for_venue: true,
            reconnect: QUICKLY,
            ..SessionSettings::default()
        },
        ..gateway_config(VenueAddresses { orders: at })
    }
}

/// A gateway at the venue at this address, with this key.
pub fn gateway<'m>(
    at: SocketAddrV4,
    key: (&str, &str),
    orders: DeribitOrderSettings,
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> AtDeribit<'m> {
    let config = config(at, key);
    let orders = DeribitJson::new(&config, orders).expect("a key");
    let clock = Clock::new(Anchoring::start().mapping());
    let on = (EpollKernel::new(16).expect("a kernel"), clock);
    gateway_with(on, at, (&config, orders), hands, regions)
}

/// A gateway whose market data come from this address over WebSocket.
pub fn gateway_with<'m, K: Kernel, H: OrderHandler>(
    on: (K, Clock),
    at: SocketAddrV4,
    entry: (&GatewayConfig, H),
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> Running<'m, K, DeribitFeed, H> {
    let session = DeribitStream::new(&DeribitStreamSettings::new(vec![NAME.to_owned()]));
    let stream = StreamAddress::new(SocketAddr::V4(at), URL.to_owned());
    let feed = |chain: &ChainConfig<'_>, now| {
        let mut feed = DeribitFeed::new(chain, now)?;
        feed.reserve_instruments(1);
        Ok(feed)
    };
    following(on, (stream, Box::new(session)), feed, entry, hands, regions)
}

/// A gateway whose market data come from this address over FIX.
pub fn gateway_with_fix<'m, K: Kernel, H: OrderHandler>(
    on: (K, Clock),
    at: SocketAddrV4,
    (client_id, secret): (&str, &str),
    entry: (&GatewayConfig, H),
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> Running<'m, K, DeribitFixFeed, H> {
    let name = |name: &[u8]| CompId::new(name).expect("a name");
    let (client_id, secret) = (client_id.to_owned(), secret.to_owned());
    let session = DeribitFixStream::new(&DeribitFixStreamSettings {
        names: vec![NAME.to_owned()],
        sender: name(b"MEMBER"),
        target: name(b"DERIBITSERVER"),
        credentials: Credentials::Deribit { client_id, secret },
        heartbeat_interval: Nanos::from_secs(30),
        silence: Nanos::from_secs(30),
    });
    let session = Box::new(session.expect("a session"));
    let stream = StreamAddress::new(SocketAddr::V4(at), format!("fix://{at}"));
    following(on, (stream, session), DeribitFixFeed::new, entry, hands, regions)
}

fn following<'m, K: Kernel, F: FeedHandler, H: OrderHandler>(
    (kernel, clock): (K, Clock),
    (stream, session): (StreamAddress, Box<dyn StreamSession>),
    feed: impl FnOnce(&ChainConfig<'_>, Nanos) -> Result<F, InstrumentError>,
    (config, orders): (&GatewayConfig, H),
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> Running<'m, K, F, H> {
    let session = FeedSession { stream, tls: None, session, reconnect: QUICKLY };
    let input = FeedInput::Session(session);
    let named = [NamedInstrument { name: NAME.as_bytes(), instrument: perpetual() }];
    let chain =
        ChainConfig { snapshot_interval: Nanos::from_millis(10), ..ChainConfig::new(&named) };
    let feed = feed(&chain, clock.now()).expect("a feed");
    let client = FusedClient::new(Obedient(Rc::clone(hands)));
    Gateway::with_handlers(kernel, config, clock, input, (feed, orders), client, regions)
        .expect("a gateway")
}
