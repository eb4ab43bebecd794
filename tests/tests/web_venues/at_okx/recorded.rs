//! A gateway by itself at OKX over real sockets, fused and split, while the venue makes mistakes:
//! what it heard is written down, and it does the same again without a venue and without a key.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use taut_gateway::{TouchConfig, TouchStrategy};
use taut_io::EpollKernel;
use taut_runner::Recording;
use taut_runner::service::{
    Attach, ControlClient, ControlReply, ControlRequest, Entry, GatewayFile, OKX_GATEWAY_SAMPLE,
    serve, serve_fused,
};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, utc};
use taut_testkit::until;
use taut_venue::{FeedOutput, VenueSockets};

use super::*;

const DEADLINE: Duration = Duration::from_secs(120);
/// Orders of a run.
const ORDERS: u64 = 12;
/// How long the venue sleeps at the most when nobody says anything.
const WAIT: Nanos = Nanos::from_millis(2);
const HABITS: Habits = Habits { seed: 5, listing: LISTINGS[0], has_checksums: true };
/// Something of everything that a session outlives, in a second.
fn faults() -> Faults {
    Faults {
        seed: 3,
        drop: 3,
        duplicate: 50,
        reorder: 10,
        delay: 20,
        reject: 40,
        rate_limit: 10,
        unknown: 20,
        strange: 20,
        ..Faults::default()
    }
}

type RealVenue = Venue<EpollKernel, Door<Faulty<Okx>>>;

/// A venue on a thread of its own, for as long as this is there.
struct Running {
    at: SocketAddr,
    over: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        let ((over, is_over), (tell, told)) = (mpsc::channel(), mpsc::channel());
        let thread = thread::spawn(move || run_venue(&tell, &is_over));
        let at = told.recv().expect("a venue");
        Self { at, over: Some(over), thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over = None;
        let ended = self.thread.take().map_or(Ok(()), thread::JoinHandle::join);
        assert!(ended.is_ok() || thread::panicking(), "the venue panicked");
    }
}

fn run_venue(tell: &Sender<SocketAddr>, is_over: &Receiver<()>) {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let unread = Socket::datagram(&Address::Inet(local), &DatagramOptions::default());
    let unread = unread.expect("a socket");
    let Address::Inet(to) = unread.local_address().expect("its address") else { panic!() };
    let sender = || {
        let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
        Socket::datagram(&Address::Inet(local), &options).expect("a socket").into()
    };
    let (incremental, snapshot) = (sender(), sender());
    let feed = FeedOutput { incremental, incremental_b: None, snapshot, retransmission: None };
    let orders = Socket::listen(&Address::Inet(local), &StreamOptions::default());
    let orders = orders.expect("a listener").into();
    let door = DoorConfig { plain: vec![local], connections_max: 16, ..DoorConfig::default() };
    let comp_id = CompId::new(b"VENUE").expect("a name");
    let mut config = VenueConfig::new(vec![instrument(HABITS.listing)], comp_id, 1);
    (config.order_capacity, config.level_capacity) = (1 << 12, 256);
    config.observer_sources = Door::<Faulty<Okx>>::sources(&door);
    let street = Street::default();
    let maker = [(Side::Buy, off(-2_000)), (Side::Sell, off(2_000))];
    let deeds = maker.map(|(side, price)| Deed::Make(side, price, Lots(1)));
    street.borrow_mut().extend(deeds);
    let sockets = VenueSockets { orders, feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::None).expect("a venue");
    let front = Faulty::new(Okx::new(HABITS, &[MEMBER], &street), faults());
    let mut venue: RealVenue = venue.with_observer(Door::new(front, door)).expect("a door");
    tell.send(venue.observer().addresses()[0]).expect("a test");
    let mut next = monotonic();
    for deed in 0_i64.. {
        while monotonic() < next {
            if is_over.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            let now = Now { mono: monotonic(), utc: utc() };
            if !venue.poll(now).expect("the venue goes on") {
                venue.wait(monotonic(), WAIT).expect("the venue waits");
            }
        }
        // The market moves, and takes what rests there.
        next = next + Nanos::from_millis(5);
        let (side, ticks) = if deed % 2 == 0 { (Side::Buy, -1) } else { (Side::Sell, 1) };
        let price = off(ticks * (1 + deed % 3));
        street.borrow_mut().push_back(match deed % 5 {
            0..=2 => Deed::Rest(side, price, Lots(1 + deed % 4)),
            3 => Deed::Take(side, off(-ticks), Lots(2)),
            _ => Deed::Leave,
        });
    }
}

/// The gateway's file in this folder.
fn file(folder: &Path, at: SocketAddr) -> GatewayFile {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    for (name, said) in [("secret", secret_of(MEMBER)), ("passphrase", passphrase_of(MEMBER))] {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(folder.join(name), said).expect("written");
        let owner_alone = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.join(name), owner_alone).expect("its mode");
    }
    let (head, rest) = OKX_GATEWAY_SAMPLE.split_once("[[instruments]]").expect("instruments");
    let (_, rest) = rest.split_once("[[strategies]]").expect("strategies");
    let instruments = "[[instruments]]\nsymbol = \"BTC-USDT\"\ntick = \"0.5\"\nlot = \"0.1\"\n\n";
    let text = format!("{head}{instruments}[[strategies]]{rest}")
        .replace("wss://ws.okx.com:8443", &format!("ws://{at}"))
        .replace("https://www.okx.com", &format!("http://{at}"))
        .replace("\"API_KEY\"", &format!("\"{MEMBER}\""))
        .replace("{ env = \"OKX_SECRET\" }", &format!("{{ file = {:?} }}", path("secret")))
        .replace("{ env = \"OKX_PASSPHRASE\" }", &format!("{{ file = {:?} }}", path("passphrase")))
        .replace(
            "orders_per_second = 15\norders_burst = 30",
            "orders_per_second = 500\norders_burst = 500",
        )
        .replace("name = \"okx\"\n", &format!("name = \"okx\"\ncontrol = {:?}\n", path("control")));
    std::fs::write(folder.join("gateway.toml"), text).expect("written");
    let file = GatewayFile::read(&folder.join("gateway.toml"));
    file.unwrap_or_else(|error| panic!("{error}")).recorded_in(&folder.join("run"))
}

fn touch(now: Nanos) -> TouchStrategy {
    let config = TouchConfig { orders_per_second: 100, ..TouchConfig::default() };
    TouchStrategy::new(config, now)
}

/// Has a gateway end.
struct Ends<'n>(&'n str);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        // It may have been asked before.
        let asked = ControlClient::connect(self.0);
        let _ = asked.and_then(|mut gateway| gateway.ask(&ControlRequest::Stop));
    }
}

/// Asks the gateway until so many of its orders are acknowledged, and has it end.
fn trade_and_stop(control: &Path) {
    let name = control.to_str().expect("UTF-8");
    let ask =
        |request: &ControlRequest| ControlClient::connect(name).and_then(|mut it| it.ask(request));
    // Its thread is waited for, also where this one panics.
    let _ends = Ends(name);
    until("orders", DEADLINE, || match ask(&ControlRequest::Status) {
        Ok(ControlReply::Status(status)) => {
            status.counters.iter().any(|(name, count)| name == "acks" && *count >= ORDERS)
        }
        _ => false,
    });
}

/// A run with the strategy in the gateway's thread or in another one; where it is recorded.
fn run(folder: &Path, is_fused: bool) -> PathBuf {
    let venue = Running::start();
    let file = file(folder, venue.at);
    let heard = |entry: &Entry| println!("{}", entry.message);
    let control = folder.join("control");
    thread::scope(|scope| {
        let served = scope.spawn(|| match is_fused {
            true => serve_fused(&file, "touch", touch, heard),
            false => serve(&file, heard),
        });
        if !is_fused {
            let mut attach = Attach::new(control.to_str().expect("UTF-8"), "touch");
            // It ends when the gateway is gone.
            attach.waits = false;
            let control = control.clone();
            scope.spawn(move || {
                // Its socket has a name before anybody can connect to it.
                let name = control.to_str().expect("UTF-8");
                until("a gateway", DEADLINE, || ControlClient::connect(name).is_ok());
                attach.run(touch, |what| println!("{what}")).expect_err("the gateway went");
            });
        }
        trade_and_stop(&control);
        served.join().expect("no panic").expect("it ends in order");
    });
    folder.join("run")
}

#[test]
fn at_okx_a_recorded_gateway_does_the_same_again_fused_and_split() {
    for is_fused in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = run(folder.path(), is_fused);
        // Nobody needs the keys any more.
        std::fs::remove_file(folder.path().join("secret")).expect("it goes");
        let recording = Recording::open(&recording).expect("a recording");
        assert_eq!(recording.name(), "okx");
        let found = recording.verify_gateway(touch).expect("a replay");
        assert!(found.divergence.is_none(), "fused {is_fused}: {found} {:?}", found.divergence);
        assert!(!found.held.unfinished && found.counters.orders >= ORDERS, "{found}");
    }
}
