//! A recorded venue with its own stream, which nothing comes on: its followers ask for the book.

use std::net::SocketAddr;
use std::process::ExitCode;

use taut_fix::{CompId, Now};
use taut_recording::capture::Capture;
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, utc};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};
use taut_venue::flow::BinanceFlow;
use taut_venue::{FeedOutput, Flow, Speed, Venue, VenueConfig, VenueSockets};

const RECORDED: &str =
    "1 {\"lastUpdateId\":10,\"bids\":[[\"100\",\"1\"]],\"asks\":[[\"101\",\"3\"]]}\n";
const WAIT: Nanos = Nanos::from_millis(10);

/// Serves until it is killed.
pub fn serve() -> ExitCode {
    let any = Address::Inet(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listen = || Socket::listen(&any, &StreamOptions::default()).expect("a listener");
    let (orders, stream) = (listen(), listen());
    let Ok(Address::Inet(at)) = stream.local_address() else { panic!("it has no address") };
    let unread = Socket::datagram(&any, &DatagramOptions::default()).expect("a socket");
    let Ok(Address::Inet(to)) = unread.local_address() else { panic!("it has no address") };
    let sender = || {
        let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
        Socket::datagram(&any, &options).expect("a socket").into()
    };
    let feed = FeedOutput {
        incremental: sender(),
        incremental_b: None,
        snapshot: sender(),
        retransmission: None,
    };
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let (tick, lot) = (Price::parse(b"0.01").expect("a tick"), Qty { mantissa: 1, decimals: 8 });
    let instrument = Instrument::new(InstrumentId(1), symbol, tick, lot).expect("valid");
    let flow = BinanceFlow::of(&Capture::of("made up", RECORDED), instrument).expect("a flow");
    let config = VenueConfig::new(vec![instrument], CompId::new(b"VENUE").expect("a name"), 1);
    let sockets = VenueSockets { orders: orders.into(), feed, stream: Some(stream.into()) };
    let flow = Flow::binance(flow, Speed::Max);
    let mut venue = Venue::new(&config, sockets, flow).expect("a venue");
    println!("listening on ws://{at}");
    loop {
        if !venue.poll(Now { mono: monotonic(), utc: utc() }).expect("a venue that works") {
            venue.wait(monotonic(), WAIT).expect("a venue that waits");
        }
    }
}
