//! What a venue and its members run on: this machine, or virtual time and a simulated network.

use std::net::SocketAddr;

use taut_fix::Now;
use taut_gateway::OrderHandler;
use taut_io::{EpollKernel, Kernel, SimConfig, SimHost, SimNetwork};
use taut_market_data::FeedHandler;
use taut_runner::wires;
use taut_sys::{
    Address, Anchoring, Clock, DatagramOptions, Socket, StreamOptions, monotonic, utc,
    wait_readable,
};
use taut_types::Nanos;
use taut_venue::{FeedOutput, Venue, VenueSockets};

use crate::hands::Running;

/// UTC when virtual time begins: 2026-01-01.
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
/// How long a round in which nobody worked waits for the next.
const REST: Nanos = Nanos::from_micros(200);
/// The same in virtual time: longer from round to round, up to the second one.
const VIRTUAL_RESTS: (Nanos, Nanos) = (Nanos::from_micros(500), Nanos::from_millis(16));
/// Sources of a gateway's loop, at the most.
const GATEWAY_SOURCES: usize = 64;

/// Clocks and kernels of the venue and both members.
pub trait Machine: Sized {
    type Kernel: Kernel;

    /// The machine and three kernels, the venue's first, which has room for so many connections.
    fn open(connections: usize, network: SimConfig) -> (Self, [Self::Kernel; 3]);

    /// The venue's own sockets, which nobody reads here.
    fn venue_sockets(&mut self) -> VenueSockets;

    /// Where its doors open: HTTP and WebSocket, FIX.
    fn doors(&self) -> [SocketAddr; 2];

    fn now(&self) -> Now;

    /// A clock whose UTC is off by so much.
    fn clock(&self, off: Nanos) -> Clock;

    /// A member's turn; whether it had anything to do.
    fn poll<F: FeedHandler, H: OrderHandler>(
        &self,
        gateway: &mut Running<'_, Self::Kernel, F, H>,
        off: Nanos,
    ) -> bool;

    /// A round is over: time passes.
    fn pass(&mut self, has_worked: bool);

    /// The network, where it is simulated.
    fn network(&self) -> Option<&SimNetwork> {
        None
    }
}

/// This machine: sockets on loopback, and its time.
pub struct Real {
    unread: Option<Socket>,
}

impl Machine for Real {
    type Kernel = EpollKernel;

    fn open(_: usize, _: SimConfig) -> (Self, [EpollKernel; 3]) {
        (Self { unread: None }, [(); 3].map(|()| EpollKernel::new(64).expect("a kernel")))
    }

    fn venue_sockets(&mut self) -> VenueSockets {
        let local = Address::Inet(([127, 0, 0, 1], 0).into());
        let unread = Socket::datagram(&local, &DatagramOptions::default()).expect("a socket");
        let Address::Inet(to) = unread.local_address().expect("its address") else { panic!() };
        self.unread = Some(unread);
        let sender = || {
            let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
            Socket::datagram(&local, &options).expect("a socket").into()
        };
        let (incremental, snapshot) = (sender(), sender());
        let feed = FeedOutput { incremental, incremental_b: None, snapshot, retransmission: None };
        let orders = Socket::listen(&local, &StreamOptions::default()).expect("a listener");
        VenueSockets { orders: orders.into(), feed, stream: None }
    }

    fn doors(&self) -> [SocketAddr; 2] {
        [([127, 0, 0, 1], 0).into(); 2]
    }

    fn now(&self) -> Now {
        Now { mono: monotonic(), utc: utc() }
    }

    fn clock(&self, _: Nanos) -> Clock {
        Clock::new(Anchoring::start().mapping())
    }

    fn poll<F: FeedHandler, H: OrderHandler>(
        &self,
        gateway: &mut Running<'_, EpollKernel, F, H>,
        _: Nanos,
    ) -> bool {
        let has_worked = gateway.poll().expect("a gateway goes on");
        gateway.housekeeping().expect("a gateway goes on");
        has_worked
    }

    fn pass(&mut self, has_worked: bool) {
        if !has_worked {
            // PACE: nobody has anything to do before a timer; whoever tests beside gets the CPU.
            let _ = wait_readable(&[], Some(REST));
        }
    }
}

/// Virtual time: the same seeds give the same run on any machine, however busy.
pub struct Virtual {
    network: SimNetwork,
    rest: Nanos,
}

impl Machine for Virtual {
    type Kernel = SimHost;

    fn open(connections: usize, network: SimConfig) -> (Self, [SimHost; 3]) {
        let venue = Venue::<SimHost>::SOURCES_MAX + connections + 8;
        let kernels = SimHost::several([venue, GATEWAY_SOURCES, GATEWAY_SOURCES], network);
        let network = kernels[0].network();
        // Time 0 means that there is none.
        network.pass(Nanos::from_secs(1));
        (Self { network, rest: VIRTUAL_RESTS.0 }, kernels)
    }

    fn venue_sockets(&mut self) -> VenueSockets {
        wires::venue_sockets()
    }

    fn doors(&self) -> [SocketAddr; 2] {
        [8_443, 9_880].map(|port| ([127, 0, 0, 1], port).into())
    }

    fn now(&self) -> Now {
        let mono = self.network.now();
        Now { mono, utc: EPOCH + mono }
    }

    fn clock(&self, off: Nanos) -> Clock {
        let Now { mono, utc } = self.now();
        Clock::standing_at(mono, utc + off)
    }

    fn poll<F: FeedHandler, H: OrderHandler>(
        &self,
        gateway: &mut Running<'_, SimHost, F, H>,
        off: Nanos,
    ) -> bool {
        let mut rounds = 0;
        for _ in 0..64 {
            *gateway.clock_mut() = self.clock(off);
            if !gateway.poll_one().expect("a gateway goes on") {
                break;
            }
            rounds += 1;
        }
        gateway.housekeeping().expect("a gateway goes on");
        rounds > 0
    }

    fn pass(&mut self, has_worked: bool) {
        let (shortest, longest) = VIRTUAL_RESTS;
        self.rest = if has_worked { shortest } else { longest.min(Nanos(self.rest.0 * 2)) };
        self.network.pass(self.rest);
    }

    fn network(&self) -> Option<&SimNetwork> {
        Some(&self.network)
    }
}
