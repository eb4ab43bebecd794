//! The journal of a venue, served to a standby on another machine.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use taut_sys::{Address, Socket, StreamOptions, monotonic, wait_readable};
use taut_types::Nanos;
use taut_venue::{ACK_BYTES, GREETING_BYTES, Replication, Shipment, Whereabouts};

use crate::error::RunnerError;

/// How often it looks whether there are entries that nobody waits for, and whether it is over.
const LOOK: Nanos = Nanos::from_millis(1);
/// How long a copy may take to say what it needs.
const GREETING: Nanos = Nanos::from_secs(2);
/// How often the other venue is told, and how long it may take to accept.
const TELL: Nanos = Nanos::from_secs(1);
const CONNECT: Nanos = Nanos::from_millis(100);
/// How often a copy is told that the venue lives.
const ALIVE: Nanos = Nanos::from_millis(20);
/// Bytes of entries that are sent at once.
const SEND_BYTES: usize = 64 << 10;

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
        let folder = folder.to_owned();
        let server = Server { at, folder, other, replication, is_replicated, is_over, tell };
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
    folder: PathBuf,
    other: Option<SocketAddrV4>,
    replication: Replication,
    /// Answers wait for a copy.
    is_replicated: bool,
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
        let own = Shipment::open(&self.folder, nothing).ok()??.from();
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
        let Some(asked) = self.greeting(stream)? else { return Ok(()) };
        let shipment = Shipment::open(&self.folder, asked).map_err(|error| error.to_string())?;
        let Some(mut shipment) = shipment else { return Ok(()) };
        let from = shipment.from();
        // Of anybody that is no word to end by: only the machine of `from` takes this one's place.
        if asked.epoch > from.epoch && self.other.is_some() {
            self.replication.overtake();
            return Err(format!(
                "it is in start {} and this venue in start {}: it has become the venue",
                asked.epoch, from.epoch
            ));
        }
        let _ = self.tell.send(format!("a copy{who} follows from entry {} on", from.next));
        let mut out = from.to_bytes().to_vec();
        let (mut acks, mut waits, mut alive_at, mut has) = (Vec::new(), false, Nanos::ZERO, 0);
        while !self.is_over() {
            let now = monotonic();
            if now - alive_at >= ALIVE {
                alive_at = now;
                // This copy has all that any has, and nothing more is acknowledged without it.
                let is_waited_for = self.is_replicated
                    && !self.replication.is_alone()
                    && has > 0
                    && has >= self.replication.copied();
                Shipment::alive(&mut out, is_waited_for);
            }
            shipment.fill(&mut out, SEND_BYTES).map_err(|error| error.to_string())?;
            if !out.is_empty() {
                match stream.send(&out).map_err(|error| error.to_string())? {
                    Some(sent) => _ = out.drain(..sent),
                    None => waits = true,
                }
            }
            if let Some(last) = self.hear(stream, &mut acks)? {
                has = last;
            }
            if out.is_empty() || std::mem::take(&mut waits) {
                let fds = [stream.as_fd(), self.replication.bell()];
                let _ = wait_readable(&fds, Some(LOOK));
                self.replication.silence();
            }
        }
        Ok(())
    }

    /// What a copy has; nothing where somebody came who is none.
    fn greeting(&self, stream: &Socket) -> Result<Option<Whereabouts>, String> {
        let (mut greeting, mut filled) = ([0; GREETING_BYTES], 0);
        let until = monotonic() + GREETING;
        while filled < GREETING_BYTES {
            if monotonic() >= until || self.is_over() {
                return Ok(None);
            }
            let room = greeting.get_mut(filled..).unwrap_or(&mut []);
            match stream.receive(room).map_err(|error| error.to_string())? {
                Some(0) => return Ok(None),
                Some(count) => filled += count,
                None => _ = wait_readable(&[stream.as_fd()], Some(LOOK)),
            }
        }
        Ok(Whereabouts::read(&greeting))
    }

    /// Takes what the copy acknowledges; the number of its last entry, where that was said.
    fn hear(&self, stream: &Socket, acks: &mut Vec<u8>) -> Result<Option<u64>, String> {
        let mut buffer = [0; 4_096];
        loop {
            match stream.receive(&mut buffer).map_err(|error| error.to_string())? {
                None => break,
                Some(0) => return Err("it has closed the connection".to_owned()),
                Some(count) => acks.extend_from_slice(buffer.get(..count).unwrap_or(&[])),
            }
        }
        let (whole, _) = acks.as_chunks::<ACK_BYTES>();
        let last = whole.last().map(|last| u64::from_le_bytes(*last));
        if let Some(last) = last {
            self.replication.acknowledge(last);
            let bytes = whole.len() * ACK_BYTES;
            acks.drain(..bytes);
        }
        Ok(last)
    }
}
