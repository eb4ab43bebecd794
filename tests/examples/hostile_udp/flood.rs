//! Seventy hosts that send what they like to one address, as many datagrams as are asked for.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taut_testkit::Random;

use crate::frames::{Forge, answer};

/// The hosts: 127.0.1.1 to 127.0.70.1.
const HOSTS: u8 = 70;
/// Datagrams that are sent before the flood looks at what came back, and rests.
const BURST: usize = 30;
const REST: Duration = Duration::from_millis(1);
/// Answers that one host reads in a round.
const ANSWERS: usize = 64;

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
}

impl Flood {
    /// All hosts begin. The first one answers what it is asked, and so proves where it is.
    pub fn begin(to: SocketAddr, forge: Forge) -> Result<Self, String> {
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
            let mut random = Random::with_seed(17);
            while !asked.load(Ordering::Relaxed) {
                round(&sockets, to, forge, &mut random, &counted);
                let _ = rest.recv(&mut [0]);
            }
        });
        Ok(Self { stop, counts, thread })
    }

    /// Ends it; returns how many datagrams strangers sent, their bytes, and the bytes that came
    /// back.
    pub fn end(self) -> Result<(u64, u64, u64), String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the flood panicked".to_owned())?;
        let Counts { datagrams, sent_bytes, heard_bytes } = &*self.counts;
        let count = |word: &AtomicU64| word.load(Ordering::Relaxed);
        Ok((count(datagrams), count(sent_bytes), count(heard_bytes)))
    }
}

fn round(sockets: &[UdpSocket], to: SocketAddr, forge: Forge, random: &mut Random, all: &Counts) {
    let mut buffer = [0; 65_536];
    for _ in 0..BURST {
        let nth = random.usize(..sockets.len());
        let Some(socket) = sockets.get(nth) else { continue };
        let datagram = forge(random);
        if socket.send_to(&datagram, to).is_ok() && nth > 0 {
            all.datagrams.fetch_add(1, Ordering::Relaxed);
            all.sent_bytes.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        }
    }
    for (nth, socket) in sockets.iter().enumerate() {
        for _ in 0..ANSWERS {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { break };
            if nth > 0 {
                all.heard_bytes.fetch_add(length as u64, Ordering::Relaxed);
            } else if let Some(answer) = buffer.get(..length).and_then(answer) {
                let _ = socket.send_to(&answer, from);
            }
        }
    }
}
