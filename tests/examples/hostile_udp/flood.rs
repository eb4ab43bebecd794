//! Seventy hosts that send what they like to one address, as many datagrams as are asked for.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use taut_aeron::frame::Setup;
use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taut_sys::monotonic;
use taut_testkit::Random;
use taut_types::Nanos;

use crate::frames::{Forge, answer, is_proof, spoil};

/// The hosts: 127.0.1.1 to 127.0.70.1.
const HOSTS: u8 = 70;
/// Datagrams that are sent before the flood looks at what came back, and rests.
const BURST: usize = 30;
const REST: Duration = Duration::from_millis(1);
/// Longer than a listener waits before it answers an address again.
const SELDOM: Nanos = Nanos::from_millis(120);
/// Answers that one host reads in a round.
const ANSWERS: usize = 64;

/// What the flood is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be amplified: nothing but questions that have an answer, and from each address so seldom
    /// that a limit by address lets all of them through.
    Questions,
    /// To take memory and time: of the same, some are spoilt.
    Anything,
}

impl Counted {
    pub const fn add(&mut self, other: &Self) {
        self.datagrams += other.datagrams;
        self.sent_bytes += other.sent_bytes;
        self.answers += other.answers;
        self.heard_bytes += other.heard_bytes;
    }
}

/// A flood that goes on until it is stopped.
pub struct Flood {
    stop: Arc<AtomicBool>,
    counts: Arc<Counts>,
    thread: JoinHandle<()>,
}

/// What strangers sent and heard; who proves where he is, is none of them.
#[derive(Debug, Default)]
pub struct Counts {
    datagrams: AtomicU64,
    sent_bytes: AtomicU64,
    heard_bytes: AtomicU64,
    /// Datagrams that came back.
    answers: AtomicU64,
}

impl Counts {
    fn counted(&self) -> Counted {
        let count = |word: &AtomicU64| word.load(Ordering::Relaxed);
        Counted {
            datagrams: count(&self.datagrams),
            sent_bytes: count(&self.sent_bytes),
            answers: count(&self.answers),
            heard_bytes: count(&self.heard_bytes),
        }
    }
}

/// What strangers sent, and what came back to them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub datagrams: u64,
    pub sent_bytes: u64,
    pub answers: u64,
    pub heard_bytes: u64,
}

impl Flood {
    /// All hosts begin. The first one answers what it is asked, and so proves where it is.
    pub fn begin(to: SocketAddr, forge: Forge, kind: Kind) -> Result<Self, String> {
        let open = |host| -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, host, 1), 0))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let rest = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.set_read_timeout(Some(REST))?;
            Ok(socket)
        };
        // Nobody sends anything there: a read of it is a rest.
        let rest = rest().map_err(|error| format!("a socket: {error}"))?;
        let sockets: std::io::Result<Vec<_>> = (1..=HOSTS).map(open).collect();
        let sockets = sockets.map_err(|error| format!("a socket of a stranger: {error}"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let counts = Arc::new(Counts::default());
        let (asked, counted) = (Arc::clone(&stop), Arc::clone(&counts));
        let thread = std::thread::spawn(move || {
            let (mut random, mut heard) = (Random::with_seed(17), None);
            let mut asked_at = vec![Nanos(i64::MIN); sockets.len()];
            while !asked.load(Ordering::Relaxed) {
                round(
                    &sockets,
                    to,
                    (forge, kind),
                    &mut random,
                    &mut heard,
                    &mut asked_at,
                    &counted,
                );
                let _ = rest.recv(&mut [0]);
            }
        });
        Ok(Self { stop, counts, thread })
    }

    /// Ends it.
    pub fn end(self) -> Result<Counted, String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the flood panicked".to_owned())?;
        Ok(self.counts.counted())
    }

    /// What was sent and heard until now.
    pub fn counted(&self) -> Counted {
        self.counts.counted()
    }
}

fn round(
    sockets: &[UdpSocket],
    to: SocketAddr,
    (forge, kind): (Forge, Kind),
    random: &mut Random,
    session: &mut Option<Setup>,
    asked_at: &mut [Nanos],
    all: &Counts,
) {
    let mut buffer = [0; 65_536];
    for _ in 0..BURST {
        let nth = random.usize(..sockets.len());
        let (Some(socket), Some(asked_at)) = (sockets.get(nth), asked_at.get_mut(nth)) else {
            continue;
        };
        let now = monotonic();
        // Who proves where he is asks nothing then: what he sends would pay for the others.
        if kind == Kind::Questions && (nth == 0 || now.since(*asked_at) < SELDOM) {
            continue;
        }
        *asked_at = now;
        let mut datagram = forge(random, session.as_ref());
        if kind == Kind::Anything {
            datagram = spoil(random, datagram);
        }
        // A bit that was changed may make a receiver of a stranger.
        if nth > 0 && is_proof(&datagram, session.as_ref()) {
            continue;
        }
        if socket.send_to(&datagram, to).is_ok() && nth > 0 {
            all.datagrams.fetch_add(1, Ordering::Relaxed);
            all.sent_bytes.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        }
    }
    for (nth, socket) in sockets.iter().enumerate() {
        for _ in 0..ANSWERS {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { break };
            let setup = buffer.get(..length).filter(|it| it.get(6) == Some(&5));
            *session = setup.and_then(Setup::read).or(*session);
            if nth > 0 {
                all.answers.fetch_add(1, Ordering::Relaxed);
                all.heard_bytes.fetch_add(length as u64, Ordering::Relaxed);
            } else if let Some(answer) = buffer.get(..length).and_then(answer) {
                let _ = socket.send_to(&answer, from);
            }
        }
    }
}
