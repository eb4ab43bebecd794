//! `taut ws echo`: a server that sends every message back.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use taut_io::{Admission, Completion, EpollKernel, Handle, Io};
use taut_net::{TlsServerConfig, WsEvent, WsStream};
use taut_types::Nanos;
use taut_ws::{CloseCode, Closed, Connection, Deflate, Event, KeepAlive, Outbox, WsConfig};

use crate::channel::arguments::Wait;
use crate::event_loop::{self, not_served};
use crate::exit::Failure;
use crate::listen;
use crate::listen::listen_address;
use crate::tell_few::TellFew;
use crate::terminal::{print, tell};
use crate::ws::words;

/// How long the peers may take to answer our close frames.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// A peer to which so much waits is not read from either.
const PAUSE_BYTES: usize = 1 << 20;
/// A peer that is not read from must take some of its echo within this.
const WRITE_TIMEOUT: Nanos = Nanos::from_secs(30);
/// What the messages of all peers may take at the same time, unless four longest take more.
const MEMORY_BYTES_MAX: usize = 512 << 20;
/// Freed memory is given back when they took more than this, and a quarter is left.
const MEMORY_BYTES_KEPT: usize = 32 << 20;

/// The arguments of `taut ws echo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where to listen; port 0 lets the kernel choose.
    #[arg(long, value_name = "HOST:PORT", value_parser = listen_address)]
    listen: SocketAddr,
    /// Our certificate and what leads to its root, in PEM: then it is wss://.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The longest message that is taken.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20,
          value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    message_bytes: u32,
    /// Connections at the same time.
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// Compress messages (permessage-deflate) for clients that offer it.
    #[arg(long)]
    compress: bool,
    /// How it waits for messages.
    #[arg(long, value_enum, default_value_t = Wait::Block)]
    wait: Wait,
}

/// Serves until it is told to stop, then closes every connection.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let tls = listen::tls(arguments.tls_cert.as_deref(), arguments.tls_key.as_deref())?;
    let connections_max = usize::from(arguments.connections);
    // The listener, and the place that is kept for who comes next.
    let sources_max = connections_max + 2;
    let mut events = event_loop::open(sources_max)?;
    let admission = Admission::new(connections_max, WsConfig::default().handshake_timeout);
    let (listener, address) = listen::listen(&mut events, arguments.listen, &admission)?;
    let scheme = if tls.is_some() { "wss" } else { "ws" };
    print(format_args!("listening on {scheme}://{address}"))?;
    let message_bytes_max = arguments.message_bytes as usize;
    let config = WsConfig {
        message_bytes_max,
        // A message beyond the limit at which it is not read any more, and its answer.
        send_bytes_max: 2 * message_bytes_max + 2 * PAUSE_BYTES,
        keep_alive: Some(KeepAlive::DEFAULT),
        deflate: arguments.compress.then(Deflate::default),
        ..WsConfig::default()
    };
    let peers = (0..sources_max).map(|_| None).collect();
    let memory_bytes_max = MEMORY_BYTES_MAX.max(4 * message_bytes_max);
    let mut server = Server {
        listener,
        config,
        tls,
        peers,
        memory_bytes: 0,
        memory_bytes_peak: 0,
        memory_bytes_max,
        until: None,
        lines: TellFew::default(),
    };
    let mut handler =
        |io: &mut Io<EpollKernel>, completion: Completion<'_>| server.handle(io, &completion);
    event_loop::run(&mut events, &mut handler, arguments.wait.strategy())
}

/// The listener and its connections, by the place of their streams.
struct Server {
    listener: Handle,
    config: WsConfig,
    tls: Option<TlsServerConfig>,
    peers: Vec<Option<Peer>>,
    /// Of all of them.
    memory_bytes: usize,
    /// The most since freed memory was given back.
    memory_bytes_peak: usize,
    memory_bytes_max: usize,
    /// It is told to stop: when it does in any case.
    until: Option<Nanos>,
    /// What is told of peers.
    lines: TellFew,
}

/// A connection, and what it had when it was last looked at.
struct Peer {
    ws: WsStream,
    /// The memory of its messages.
    memory_bytes: usize,
    /// What waits to be sent, while it is not read from.
    paused_at_bytes: Option<usize>,
}

impl Server {
    fn handle(&mut self, io: &mut Io<EpollKernel>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { stream, peer, .. } if self.until.is_none() => {
                if let Err(words) = self.accept(io, stream) {
                    self.lines.tell(io.now(), format_args!("{peer}: {words}"));
                    // A stale handle is closed already.
                    let _ = io.close(stream);
                }
            }
            Completion::Accepted { stream, .. } => drop(io.close(stream)),
            Completion::Received { stream, .. }
            | Completion::Written { stream, .. }
            | Completion::Ended { stream } => self.serve(io, stream, completion),
            Completion::Failed { source, .. } | Completion::Closed { source, .. } => {
                self.serve(io, source, completion);
            }
            Completion::Timer { .. } => {
                let Self { peers, lines, .. } = self;
                let now = io.now();
                lines.look(now);
                for peer in peers.iter_mut().flatten() {
                    if peer.ws.handle(io, completion, &mut |out, event| {
                        echo(out, event, now, lines);
                    }) {
                        let memory_bytes = peer.ws.memory_bytes();
                        self.memory_bytes += memory_bytes;
                        self.memory_bytes -=
                            std::mem::replace(&mut peer.memory_bytes, memory_bytes);
                        break;
                    }
                }
            }
            _ => {}
        }
        self.look_for_end(io);
    }

    fn accept(&mut self, io: &mut Io<EpollKernel>, stream: Handle) -> Result<(), String> {
        let connection = Connection::server(&self.config, io.now());
        let connection = connection.map_err(|error| error.to_string())?;
        let ws = WsStream::server(io, stream, self.tls.as_ref(), connection);
        let ws = ws.map_err(|error| error.to_string())?;
        if let Some(place) = self.peers.get_mut(stream.index()) {
            let memory_bytes = ws.memory_bytes();
            self.memory_bytes += memory_bytes;
            *place = Some(Peer { ws, memory_bytes, paused_at_bytes: None });
        }
        Ok(())
    }

    fn serve(&mut self, io: &mut Io<EpollKernel>, stream: Handle, completion: &Completion<'_>) {
        let Self { peers, lines, .. } = self;
        let Some(place) = peers.get_mut(stream.index()) else { return };
        let Some(peer) = place.as_mut().filter(|peer| peer.ws.stream() == stream) else { return };
        let now = io.now();
        peer.ws.handle(io, completion, &mut |out, event| echo(out, event, now, lines));
        let is_gone = matches!(completion, Completion::Closed { .. });
        let memory_bytes = if is_gone { 0 } else { peer.ws.memory_bytes() };
        self.memory_bytes += memory_bytes;
        self.memory_bytes -= std::mem::replace(&mut peer.memory_bytes, memory_bytes);
        if is_gone {
            *place = None;
        } else {
            peer.pause_or_resume(io);
        }
        while self.memory_bytes > self.memory_bytes_max && self.close_largest(io) {}
        self.give_back();
    }

    /// Gives memory back when those who took it have left.
    fn give_back(&mut self) {
        self.memory_bytes_peak = self.memory_bytes_peak.max(self.memory_bytes);
        let peak = self.memory_bytes_peak;
        if peak > MEMORY_BYTES_KEPT && self.memory_bytes < peak / 4 {
            self.memory_bytes_peak = self.memory_bytes;
            taut_sys::return_freed_memory();
        }
    }

    /// Many that do not read would have all the memory: who has most of it is closed, whoever it
    /// was that asked for more. Whether there was anybody.
    fn close_largest(&mut self, io: &mut Io<EpollKernel>) -> bool {
        let memory_of = |place: &Option<Peer>| place.as_ref().map_or(0, |peer| peer.memory_bytes);
        let largest = self.peers.iter_mut().max_by_key(|place| memory_of(place));
        let Some(peer) = largest.and_then(Option::take) else { return false };
        self.memory_bytes -= peer.memory_bytes;
        let what = "the peer with most of it is closed: the memory for messages is used up";
        self.lines.tell(io.now(), what);
        peer.ws.abort(io);
        true
    }

    fn look_for_end(&mut self, io: &mut Io<EpollKernel>) {
        if taut_sys::stop_requests() > 0 && self.until.is_none() {
            self.until = Some(io.now() + PATIENCE);
            let counters = io.admission_counters(self.listener).ok();
            if let Some(words) = counters.and_then(not_served) {
                tell(words);
            }
            let _ = io.close(self.listener);
            for peer in self.peers.iter_mut().flatten() {
                if peer.ws.close(io, CloseCode::GOING_AWAY, "the server stops").is_err() {
                    // Not open yet, or not any more.
                    let _ = io.close(peer.ws.stream());
                }
            }
        }
        let is_idle = || self.peers.iter().all(Option::is_none);
        if self.until.is_some_and(|until| io.now() >= until || is_idle()) {
            io.stop();
        }
    }
}

impl Peer {
    /// Who does not read is not read from, and has a deadline that only reading moves.
    fn pause_or_resume(&mut self, io: &mut Io<EpollKernel>) {
        let pending_bytes = self.ws.pending_bytes();
        let stream = self.ws.stream();
        if pending_bytes > PAUSE_BYTES {
            self.ws.pause(io);
            if self.paused_at_bytes.is_none_or(|before| pending_bytes < before) {
                let deadline = io.now() + WRITE_TIMEOUT;
                // A stale handle is closed already, and there are timers for every peer.
                let _ = io.set_write_deadline(stream, Some(deadline));
            }
            self.paused_at_bytes = Some(pending_bytes);
        } else {
            self.ws.resume(io);
            if self.paused_at_bytes.take().is_some() {
                let _ = io.set_write_deadline(stream, None);
            }
        }
    }
}

/// What is taken goes back; a peer's end is told when it is not as it should be.
fn echo(outbox: &mut Outbox, event: WsEvent<'_>, now: Nanos, lines: &mut TellFew) {
    let sent = match event {
        WsEvent::Session(Event::Requested(_)) => outbox.accept(None, &[]),
        WsEvent::Session(Event::Text(text)) => outbox.text(text),
        WsEvent::Session(Event::Binary(bytes)) => outbox.binary(bytes),
        WsEvent::Session(Event::Closed(closed)) => {
            let is_quiet = matches!(closed, Closed::Agreed(_) | Closed::Cut);
            if let Err(words) = words::end(&closed).map(drop)
                && !is_quiet
            {
                lines.tell(now, words);
            }
            Ok(())
        }
        WsEvent::Session(_) => Ok(()),
        WsEvent::Gone(fault) => {
            if let Some(fault) = fault {
                lines.tell(now, format_args!("a peer: {fault}"));
            }
            Ok(())
        }
    };
    if let Err(error) = sent
        && outbox.is_open()
    {
        lines.tell(now, format_args!("cannot echo: {error}"));
    }
}
