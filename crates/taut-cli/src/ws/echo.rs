//! `taut ws echo`: a server that sends every message back.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use taut_io::{Completion, EpollKernel, Handle, Io};
use taut_net::{TlsServerConfig, WsEvent, WsStream};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;
use taut_ws::{CloseCode, Closed, Connection, Event, KeepAlive, Outbox, WsConfig};

use crate::channel::arguments::Wait;
use crate::event_loop;
use crate::exit::Failure;
use crate::input::read;
use crate::terminal::{print, tell};
use crate::ws::words;

/// How long the peers may take to answer our close frames.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// A peer to which so much waits is not read from either.
const PAUSE_BYTES: usize = 1 << 20;

/// The arguments of `taut ws echo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where to listen, as ADDRESS:PORT; port 0 lets the kernel choose.
    #[arg(long, value_name = "HOST:PORT")]
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
    /// How it waits for messages.
    #[arg(long, value_enum, default_value_t = Wait::Block)]
    wait: Wait,
}

/// Serves until it is told to stop, then closes every connection.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let tls = tls(arguments)?;
    let sources_max = usize::from(arguments.connections) + 1;
    let mut events = event_loop::open(sources_max)?;
    let (at, options) = (Address::Inet(arguments.listen), StreamOptions::default());
    let listener = events.io().listen(&at, &options);
    let listener = listener
        .map_err(|error| Failure::run(&format!("cannot listen on {}", arguments.listen), error))?;
    let address = events.io().local_address(listener);
    let address = address.map_err(|error| Failure::run("the socket", error))?;
    let scheme = if tls.is_some() { "wss" } else { "ws" };
    print(format_args!("listening on {scheme}://{address}"))?;
    let message_bytes_max = arguments.message_bytes as usize;
    let config = WsConfig {
        message_bytes_max,
        // A message beyond the limit at which it is not read any more, and its answer.
        send_bytes_max: 2 * message_bytes_max + 2 * PAUSE_BYTES,
        keep_alive: Some(KeepAlive::DEFAULT),
        ..WsConfig::default()
    };
    let peers = (0..sources_max).map(|_| None).collect();
    let mut server = Server { listener, config, tls, peers, until: None };
    let mut handler =
        |io: &mut Io<EpollKernel>, completion: Completion<'_>| server.handle(io, &completion);
    event_loop::run(&mut events, &mut handler, arguments.wait.strategy())
}

fn tls(arguments: &Arguments) -> Result<Option<TlsServerConfig>, Failure> {
    let (Some(chain), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) else {
        return Ok(None);
    };
    let config = TlsServerConfig::new(&read(chain)?, &read(key)?, &[b"http/1.1"]);
    let pair = format!("{} and {}", chain.display(), key.display());
    config.map(Some).map_err(|error| Failure::Usage(format!("{pair}: {error}")))
}

/// The listener and its connections, by the place of their streams.
struct Server {
    listener: Handle,
    config: WsConfig,
    tls: Option<TlsServerConfig>,
    peers: Vec<Option<WsStream>>,
    /// It is told to stop: when it does in any case.
    until: Option<Nanos>,
}

impl Server {
    fn handle(&mut self, io: &mut Io<EpollKernel>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { stream, peer, .. } if self.until.is_none() => {
                if let Err(words) = self.accept(io, stream) {
                    tell(format_args!("{peer}: {words}"));
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
                for peer in self.peers.iter_mut().flatten() {
                    if peer.handle(io, completion, &mut echo) {
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
            *place = Some(ws);
        }
        Ok(())
    }

    fn serve(&mut self, io: &mut Io<EpollKernel>, stream: Handle, completion: &Completion<'_>) {
        let Some(place) = self.peers.get_mut(stream.index()) else { return };
        let Some(peer) = place.as_mut().filter(|peer| peer.stream() == stream) else { return };
        peer.handle(io, completion, &mut echo);
        if matches!(completion, Completion::Closed { .. }) {
            *place = None;
        } else if peer.pending_bytes() > PAUSE_BYTES {
            peer.pause(io);
        } else {
            peer.resume(io);
        }
    }

    fn look_for_end(&mut self, io: &mut Io<EpollKernel>) {
        if taut_sys::stop_requests() > 0 && self.until.is_none() {
            self.until = Some(io.now() + PATIENCE);
            let _ = io.close(self.listener);
            for peer in self.peers.iter_mut().flatten() {
                if peer.close(io, CloseCode::GOING_AWAY, "the server stops").is_err() {
                    // Not open yet, or not any more.
                    let _ = io.close(peer.stream());
                }
            }
        }
        let is_idle = || self.peers.iter().all(Option::is_none);
        if self.until.is_some_and(|until| io.now() >= until || is_idle()) {
            io.stop();
        }
    }
}

/// What is taken goes back; a peer's end is told when it is not as it should be.
fn echo(outbox: &mut Outbox, event: WsEvent<'_>) {
    let sent = match event {
        WsEvent::Session(Event::Requested(_)) => outbox.accept(None, &[]),
        WsEvent::Session(Event::Text(text)) => outbox.text(text),
        WsEvent::Session(Event::Binary(bytes)) => outbox.binary(bytes),
        WsEvent::Session(Event::Closed(closed)) => {
            let is_quiet = matches!(closed, Closed::Agreed(_) | Closed::Cut);
            if let Err(words) = words::end(&closed).map(drop)
                && !is_quiet
            {
                tell(words);
            }
            Ok(())
        }
        WsEvent::Session(_) => Ok(()),
        WsEvent::Gone(fault) => {
            if let Some(fault) = fault {
                tell(format_args!("a peer: {fault}"));
            }
            Ok(())
        }
    };
    if let Err(error) = sent
        && outbox.is_open()
    {
        tell(format_args!("cannot echo: {error}"));
    }
}
