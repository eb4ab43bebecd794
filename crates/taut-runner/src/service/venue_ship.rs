//! The journal of a venue, served to a standby on another machine.

use std::fmt;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use taut_sys::{Address, Socket, StreamOptions, SysError, monotonic, wait_readable};
use taut_types::Nanos;
use taut_venue::{Replication, Serving, ServingEnd, ServingTerms, Shipment, Whereabouts};

use crate::error::RunnerError;

/// How often it looks whether there are entries that nobody waits for, and whether it is over.
const LOOK: Nanos = Nanos::from_millis(1);
/// How often the other venue is told, and how long it may take to accept.
const TELL: Nanos = Nanos::from_secs(1);
const CONNECT: Nanos = Nanos::from_millis(100);

/// The thread that serves copies, one at a time. It ends with this.
#[derive(Debug)]
pub(super) struct ShipThread {
    over: Option<Sender<()>>,
    /// What it has to say.
    told: Receiver<String>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ShipThread {
    /// Serves the journal in this folder at this address. A venue at the other one that is in an
    /// earlier start is told that this one has taken its place.
    pub fn start(
        at: SocketAddrV4,
        other: Option<SocketAddrV4>,
        folder: &Path,
        (replication, is_replicated): (Replication, bool),
    ) -> Result<Self, RunnerError> {
        let address = Address::Inet(SocketAddr::V4(at));
        let listener = Socket::listen(&address, &StreamOptions::default())
            .map_err(|error| RunnerError::run(format_args!("journal: serve = {at}"), error))?;
        let ((over, is_over), (tell, told)) = (channel(), channel());
        let (folder, is_own_standby) = (folder.to_owned(), other.is_some());
        let terms = ServingTerms { folder, replication, is_replicated, is_own_standby };
        let server = Server { at, other, terms, is_over, tell };
        let thread = thread::spawn(move || server.run(&listener));
        Ok(Self { over: Some(over), told, thread: Some(thread) })
    }

    /// What it has said since the last call.
    pub fn told(&self) -> impl Iterator<Item = String> {
        self.told.try_iter()
    }
}

impl Drop for ShipThread {
    fn drop(&mut self) {
        self.over = None;
        // A thread that panicked has said so.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Whether somebody comes from the machine of this address.
fn is_at(from: Option<&Address>, machine: SocketAddrV4) -> bool {
    match from {
        Some(Address::Inet(from)) => from.ip().to_canonical() == *machine.ip(),
        _ => false,
    }
}

/// Connections to the other machine come from the address that it knows of this one.
pub(super) fn from_machine_of(own: SocketAddrV4) -> StreamOptions {
    let local = SocketAddr::V4(SocketAddrV4::new(*own.ip(), 0));
    StreamOptions {
        local: (!own.ip().is_unspecified()).then_some(local),
        ..StreamOptions::default()
    }
}

struct Server {
    at: SocketAddrV4,
    other: Option<SocketAddrV4>,
    terms: ServingTerms,
    is_over: Receiver<()>,
    tell: Sender<String>,
}

impl Server {
    fn is_over(&self) -> bool {
        self.is_over.try_recv() == Err(TryRecvError::Disconnected)
    }

    fn run(&self, listener: &Socket) {
        let mut told_at = Nanos::ZERO;
        while !self.is_over() {
            let now = monotonic();
            if now - told_at >= TELL {
                told_at = now;
                // Mostly nobody listens there: it is a standby, or gone.
                let _ = self.tell_other();
            }
            let _ = wait_readable(&[listener.as_fd()], Some(Nanos::from_millis(20)));
            let Ok(Some((stream, from))) = listener.accept() else { continue };
            let who = from.as_ref().map_or_else(String::new, |from| format!(" at {from:?}"));
            if self.other.is_some_and(|other| !is_at(from.as_ref(), other)) {
                let _ = self.tell.send(format!("a copy{who} was turned away: it is not `from`"));
                continue;
            }
            // Nobody listens any more at the end.
            let why = match self.serve(&stream, &who) {
                Ok(()) => continue,
                Err(why) => why,
            };
            let _ = self.tell.send(format!("the copy{who} is gone: {why}"));
        }
    }

    /// Says to a venue at the other address in which start this one is: one in an earlier start
    /// must end. It may have been cut off, or stopped, when this one took its place.
    fn tell_other(&self) -> Option<()> {
        let nothing = Whereabouts { epoch: 0, next: 1 };
        let own = Shipment::open(&self.terms.folder, nothing).ok()??.from();
        let to = Address::Inet(SocketAddr::V4(self.other?));
        let (stream, _) = Socket::connect(&to, &from_machine_of(self.at)).ok()?;
        let until = monotonic() + CONNECT;
        while stream.send(&own.to_bytes()).ok()?.is_none() && monotonic() < until {
            let _ = wait_readable(&[stream.as_fd()], Some(LOOK));
        }
        Some(())
    }

    /// Serves one copy until it is gone.
    fn serve(&self, stream: &Socket, who: &str) -> Result<(), String> {
        let mut serving = Serving::new(self.terms.clone(), monotonic());
        match self.exchange(&mut serving, stream, who) {
            Err(why) if serving.from().is_some() || why.is_told() => Err(why.to_string()),
            // Somebody who is no copy.
            _ => Ok(()),
        }
    }

    /// Sends and receives until it is over.
    fn exchange(&self, serving: &mut Serving, stream: &Socket, who: &str) -> Result<(), Gone> {
        let (mut buffer, mut is_told) = ([0; 4_096], false);
        while !self.is_over() {
            while let Some(count) = stream.receive(&mut buffer)? {
                if count == 0 {
                    return Err(Gone::Closed);
                }
                serving.handle_bytes(buffer.get(..count).unwrap_or(&[]))?;
            }
            if let Some(from) = serving.from()
                && !std::mem::replace(&mut is_told, true)
            {
                let words = format!("a copy{who} follows from entry {} on", from.next);
                let _ = self.tell.send(words);
            }
            let out = serving.poll_transmit(monotonic())?;
            let length = out.len();
            let sent = if length == 0 { Some(0) } else { stream.send(out)? };
            serving.sent(sent.unwrap_or(0));
            if sent.is_none_or(|sent| sent == length) {
                let fds = [stream.as_fd(), self.terms.replication.bell()];
                let _ = wait_readable(&fds, Some(LOOK));
                self.terms.replication.silence();
            }
        }
        Ok(())
    }
}

/// Why a copy is served no more.
enum Gone {
    Closed,
    Broken(SysError),
    Ended(ServingEnd),
}

impl Gone {
    /// Whether it is told of somebody who did not say what a copy says.
    const fn is_told(&self) -> bool {
        matches!(self, Self::Ended(ServingEnd::Overtaken { .. } | ServingEnd::Journal(_)))
    }
}

impl From<SysError> for Gone {
    fn from(error: SysError) -> Self {
        Self::Broken(error)
    }
}

impl From<ServingEnd> for Gone {
    fn from(end: ServingEnd) -> Self {
        Self::Ended(end)
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("it has closed the connection"),
            Self::Broken(error) => error.fmt(f),
            Self::Ended(end) => end.fmt(f),
        }
    }
}
