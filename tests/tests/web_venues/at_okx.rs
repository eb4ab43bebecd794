//! A gateway and a venue that speaks as OKX does, on a simulated network and virtual time, in
//! seeded schedules of trading and faults: what the venue says is lost, doubled, overtaken, late,
//! wrongly numbered or strange, requests are refused or their outcome is not known, logins expire,
//! connections end or say nothing more, the venue sleeps, clocks jump. At every rest both sides'
//! orders, trades, positions and books are equal.

mod checks;
mod recorded;
mod schedule;

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;

use taut_fix::{CompId, Now};
use taut_gateway::{
    FeedInput, FeedSession, FusedClient, Gateway, GatewayConfig, OkxOrderSettings, OkxSecret,
    OkxStream, OkxStreamSettings, OkxWs, Regions, SecondConnection, SessionSettings, StreamAddress,
    Transport,
};
use taut_io::{SimConfig, SimHost, SimNetwork};
use taut_ipc::Segment;
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, NamedInstrument};
use taut_oms::Rate;
use taut_runner::wires;
use taut_sys::Clock;
use taut_testkit::for_each_seed;
use taut_tests::setup::{VenueAddresses, gateway_config};
use taut_types::{HalfTicks, Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};
use taut_venue::{Flow, Venue, VenueConfig};
use taut_web_venue::{Door, DoorConfig, Faults, Faulty};

use crate::hands::{Hands, Obedient};
use crate::okx_venue::{Deed, Habits, Listing, Okx, Street, passphrase_of, secret_of};

type OkxVenue = Venue<SimHost, Door<Faulty<Okx>>>;
type AtOkx<'m> = Gateway<'m, FusedClient<Obedient>, OkxFeed, SimHost, (), OkxWs>;

const IT: InstrumentId = InstrumentId(0);
/// Whose the gateway is, and its place among the accounts.
const MEMBER: &str = "one";
const ACCOUNT: usize = 0;
/// UTC when virtual time begins: 2026-01-01.
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
/// Where the venue listens.
const WEB: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8_443);
const URL: &str = "ws://localhost/ws/v5/any";
const CONNECTIONS: usize = 32;
/// What a gateway that sleeps may leave unread, and the loop takes of it.
const UNREAD_BYTES_MAX: usize = 8 << 10;
const GATEWAY_SOURCES: usize = 64;
/// How many seeds a test plays by itself.
const SOME: u64 = 20;
const TICK: Price = Price(500_000_000);
/// 43,000 in half ticks.
const AROUND: i64 = 172_000;

/// A pair of the spot market, and a swap, whose positions are compared.
const LISTINGS: [Listing; 2] = [
    Listing { name: "BTC-USDT", kind: "SPOT", tick: 500_000_000, lot: 100_000_000 },
    Listing { name: "BTC-USDT-SWAP", kind: "SWAP", tick: 500_000_000, lot: 100_000_000 },
];

/// A half tick's price, so many ticks from the middle.
const fn off(ticks: i64) -> HalfTicks {
    HalfTicks(AROUND + 2 * ticks)
}

/// The venue and its member.
struct World<'m> {
    network: SimNetwork,
    venue: OkxVenue,
    gateway: AtOkx<'m>,
    hands: Rc<RefCell<Hands>>,
    street: Street,
    /// Nobody runs there before then: the venue, the gateway.
    asleep_until: [Nanos; 2],
    /// How far their UTC is off.
    utc_off: [Nanos; 2],
}

impl<'m> World<'m> {
    /// Both of them, and a market, on a quiet day.
    fn open(habits: Habits, network: SimConfig, regions: &Regions<'m>) -> Self {
        let sources = [Venue::<SimHost>::SOURCES_MAX + CONNECTIONS + 8, GATEWAY_SOURCES];
        let [venue_host, gateway_host] = SimHost::pair(sources, network);
        let network = gateway_host.network();
        // Time 0 means that there is none.
        network.pass(Nanos::from_secs(1));
        let street = Street::default();
        let instrument = instrument(habits.listing);
        let venue = open_venue(venue_host, habits, instrument, &street);
        let hands = Rc::new(RefCell::new(Hands::default()));
        let gateway = open_gateway(gateway_host, habits.listing, &network, &hands, regions);
        let (asleep_until, utc_off) = Default::default();
        let mut world = Self { network, venue, gateway, hands, street, asleep_until, utc_off };
        let maker = [(Side::Buy, off(-2_000)), (Side::Sell, off(2_000))];
        let deeds = maker.map(|(side, price)| Deed::Make(side, price, Lots(1)));
        world.street.borrow_mut().extend(deeds);
        world.until("a session and a book", |it| it.gateway.is_ready());
        world
    }

    fn now(&self) -> Nanos {
        self.network.now()
    }

    /// Time passes, and whoever is awake has a turn.
    fn turn(&mut self, span: Nanos) {
        self.network.pass(span);
        let mono = self.now();
        if mono >= self.asleep_until[0] {
            let utc = EPOCH + mono + self.utc_off[0];
            self.venue.poll(Now { mono, utc }).expect("the venue goes on");
        }
        if mono < self.asleep_until[1] {
            return;
        }
        for _ in 0..64 {
            let now = self.now();
            *self.gateway.clock_mut() = Clock::standing_at(now, EPOCH + now + self.utc_off[1]);
            if !self.gateway.poll_one().expect("the gateway goes on") {
                break;
            }
        }
        self.gateway.housekeeping().expect("the gateway goes on");
    }

    /// Turns until it is so, for three minutes of virtual time.
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = self.now() + Nanos::from_secs(180);
        while !is_so(self) {
            self.turn(Nanos::from_millis(1));
            assert!(self.now() < deadline, "not in three minutes: {what}\n{}", self.told());
        }
    }

    fn okx(&self) -> &Okx {
        self.venue.observer().front().front()
    }

    fn set_faults(&mut self, faults: Faults) {
        self.venue.observer_mut().front_mut().set_faults(faults);
    }
}

fn instrument(listing: Listing) -> Instrument {
    let symbol = Symbol::new(listing.name.as_bytes()).expect("short");
    let lot = Qty { mantissa: 1, decimals: 1 };
    Instrument::new(IT, symbol, TICK, lot).expect("an instrument")
}

fn open_venue(host: SimHost, habits: Habits, instrument: Instrument, street: &Street) -> OkxVenue {
    let comp_id = CompId::new(b"VENUE").expect("a name");
    let mut config = VenueConfig::new(vec![instrument], comp_id, 1);
    (config.order_capacity, config.level_capacity) = (1 << 12, 256);
    config.pending_bytes_max = UNREAD_BYTES_MAX;
    let door = DoorConfig {
        plain: vec![SocketAddr::V4(WEB)],
        connections_max: CONNECTIONS,
        unread_bytes_max: UNREAD_BYTES_MAX,
        ..DoorConfig::default()
    };
    config.observer_sources = Door::<Faulty<Okx>>::sources(&door);
    let venue = Venue::on_kernel(host, &config, wires::venue_sockets(), Flow::None);
    let front = Faulty::new(Okx::new(habits, &[MEMBER], street), Faults::default());
    venue.expect("a venue").with_observer(Door::new(front, door)).expect("a door")
}

fn open_gateway<'m>(
    host: SimHost,
    listing: Listing,
    network: &SimNetwork,
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> AtOkx<'m> {
    const QUICKLY: (Nanos, Nanos) = (Nanos::from_millis(2), Nanos::from_millis(100));
    let config = GatewayConfig {
        instruments: vec![instrument(listing)],
        hot: false,
        heartbeat_interval: Nanos::from_secs(5),
        session: SessionSettings {
            transport: Transport::WebSocket { url: URL.to_owned(), tls: None },
            beside: Some(SecondConnection::new(WEB, Transport::Http { tls: None })),
            waits_for_venue: true,
            request_timeout: Nanos::from_millis(500),
            reconnect: QUICKLY,
            ..SessionSettings::default()
        },
        ..gateway_config(VenueAddresses { orders: WEB })
    };
    let orders = OkxOrderSettings {
        api_key: MEMBER.to_owned(),
        secret: OkxSecret(secret_of(MEMBER)),
        passphrase: OkxSecret(passphrase_of(MEMBER)),
        orders: Rate { per_second: 150, burst: 300 },
        ..OkxOrderSettings::default()
    };
    let orders = OkxWs::new(&config, orders).expect("a key");
    let name = listing.name;
    let input = FeedInput::Session(FeedSession {
        stream: StreamAddress::new(SocketAddr::V4(WEB), URL.to_owned()),
        tls: None,
        session: Box::new(OkxStream::new(&OkxStreamSettings::new(vec![name.to_owned()]))),
        reconnect: QUICKLY,
    });
    let named = [NamedInstrument { name: name.as_bytes(), instrument: instrument(listing) }];
    let chain =
        ChainConfig { snapshot_interval: Nanos::from_millis(500), ..ChainConfig::new(&named) };
    let now = network.now();
    let feed = OkxFeed::new(&chain, now).expect("a feed");
    let client = FusedClient::new(Obedient(Rc::clone(hands)));
    let clock = Clock::standing_at(now, EPOCH + now);
    Gateway::with_handlers(host, &config, clock, input, (feed, orders), client, regions)
        .expect("a gateway")
}

/// A day of a gateway and a venue like this.
fn day(habits: Habits, network: SimConfig, day: impl FnOnce(&mut World<'_>)) {
    let segment = Segment::create("at-okx", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    day(&mut World::open(habits, network, &regions));
}

#[test]
fn under_faults_a_member_and_okx_agree_at_every_rest() {
    let mut all = schedule::Outcome::default();
    for_each_seed(0..SOME, |_, random| all.add(schedule::run(random)));
    println!("{all:?}");
}
