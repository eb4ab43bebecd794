//! Names to addresses, off the loop: the system's resolver blocks, so a short-lived thread asks it
//! and posts when it is done.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};

use taut_io::{Completion, Io, Kernel, Poster, TimerId};
use taut_sys::SysError;
use taut_types::Nanos;

use crate::error::NetError;

/// Looks a name up; it may block.
pub type Lookup = fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>;

/// The last word of a post of this crate, and the token of its timers. A post with it that no
/// driver takes is the late answer to a question that was given up: leave it.
pub const MARK: u64 = u64::from_be_bytes(*b"taut-net");

/// How often the thread tries to post to a loop whose queue is full.
const POST_TRIES: usize = 10_000;

/// The system's resolver: hosts file, DNS, and whatever it is set up for.
///
/// # Errors
/// What `getaddrinfo(3)` says.
pub fn system_lookup(host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// A question under way.
#[derive(Debug)]
pub struct Resolution {
    answer: Receiver<Vec<SocketAddr>>,
    timer: TimerId,
}

/// How far a question has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The completion is not of this question.
    NotMine,
    /// Its addresses, at least one, in the order of the resolver.
    Addresses(Vec<SocketAddr>),
    /// There is no address, or no answer in time.
    Failed(NetError),
}

impl Resolution {
    /// Asks. The deadline's timer keeps the loop running meanwhile. Cost: a thread; it lives until
    /// `lookup` returns, also when nobody waits for it any more.
    ///
    /// # Errors
    /// No room for the timer; no thread.
    pub fn start<K: Kernel>(
        io: &mut Io<K>,
        host: &str,
        port: u16,
        lookup: Lookup,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        let timer = io.timer_at(deadline, MARK)?;
        let (sender, answer) = channel();
        let (poster, host, number) = (io.poster(), host.to_owned(), timer.number());
        let ask = move || answer_by_post(&sender, lookup(&host, port), &poster, number);
        let thread = std::thread::Builder::new().name("taut-resolve".to_owned()).spawn(ask);
        if let Err(error) = thread {
            io.cancel_timer(timer);
            let errno = error.raw_os_error().unwrap_or(0);
            return Err(SysError::from_errno("start the resolver's thread", errno).into());
        }
        Ok(Self { answer, timer })
    }

    /// Looks whether a completion answers the question.
    pub fn handle<K: Kernel>(&self, io: &mut Io<K>, completion: &Completion<'_>) -> Resolved {
        match completion {
            Completion::Posted { payload } if *payload == post(self.timer.number()) => {
                io.cancel_timer(self.timer);
            }
            Completion::Timer { timer, .. } if *timer == self.timer => {}
            _ => return Resolved::NotMine,
        }
        match self.answer.try_recv() {
            Ok(addresses) if addresses.is_empty() => Resolved::Failed(NetError::UnknownName),
            Ok(addresses) => Resolved::Addresses(addresses),
            Err(_) => Resolved::Failed(NetError::Io(taut_io::IoError::TimedOut)),
        }
    }

    /// Gives the question up.
    pub fn cancel<K: Kernel>(self, io: &mut Io<K>) {
        io.cancel_timer(self.timer);
    }
}

const fn post(number: u64) -> taut_io::Payload {
    [number, 0, 0, 0, 0, 0, MARK]
}

fn answer_by_post(
    sender: &Sender<Vec<SocketAddr>>,
    answer: std::io::Result<Vec<SocketAddr>>,
    poster: &Poster,
    number: u64,
) {
    // A name that cannot be looked up has no addresses; the reason is the resolver's own text.
    if sender.send(answer.unwrap_or_default()).is_err() {
        return;
    }
    for _ in 0..POST_TRIES {
        if poster.post(&post(number)).is_ok() {
            return;
        }
        std::thread::yield_now();
    }
    // The loop is a whole queue behind: the answer is found when the deadline's timer goes off.
}
