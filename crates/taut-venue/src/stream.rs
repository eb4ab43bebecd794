//! The recorded venue's own feed: its frames over WebSocket, as they were recorded.
//!
//! A client of `/ws-api/...` asks for the book (`{"id":1,"method":"depth"}`) and is answered as
//! Binance's WebSocket API answers; a client of any other path gets every frame from then on.

use taut_io::{Admission, Completion, Endpoint, Handle, Io, IoError, Kernel};
use taut_net::{WsEvent, WsStream};
use taut_sys::StreamOptions;
use taut_ws::{CloseCode, Connection, Event, KeepAlive, Outbox, WsConfig};

/// Clients at once, with those whose upgrade is under way.
pub const CLIENTS_MAX: usize = 256;
/// What waits for a client that reads slowly.
const SEND_BYTES_MAX: usize = 4 << 20;
/// What may wait for a client before the flow waits for it.
const WAITING_BYTES_MAX: usize = 256 << 10;
/// Requests are short.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// What a recorded venue says to who asks.
pub trait Recorded {
    /// Its last update; empty when there is none.
    fn last_frame(&self) -> &str;
    /// The book, between these words.
    fn book(&self, head: &str, tail: &str) -> Option<String>;
}

/// A listener and its clients.
#[derive(Debug)]
pub struct Streams {
    listener: Option<Handle>,
    config: WsConfig,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    ws: WsStream,
    /// It gets the frames; another one only asks.
    is_subscribed: bool,
    is_gone: bool,
}

impl Streams {
    pub fn new(
        io: &mut Io<impl Kernel>,
        endpoint: Option<Endpoint<StreamOptions>>,
    ) -> Result<Self, IoError> {
        let config = WsConfig {
            message_bytes_max: MESSAGE_BYTES_MAX,
            send_bytes_max: SEND_BYTES_MAX,
            keep_alive: Some(KeepAlive::DEFAULT),
            ..WsConfig::default()
        };
        let admission = Admission {
            connections_max: CLIENTS_MAX,
            // They may all be on one host.
            per_source_max: CLIENTS_MAX,
            handshake_timeout: Some(config.handshake_timeout),
        };
        let listen = |endpoint| io.listen_on(endpoint, &admission);
        let listener = endpoint.map(listen).transpose()?;
        Ok(Self { listener, config, clients: Vec::with_capacity(CLIENTS_MAX) })
    }

    /// Takes a completion; false when it is somebody else's.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        recorded: &impl Recorded,
    ) -> bool {
        if let Completion::Accepted { listener, stream, .. } = *completion
            && Some(listener) == self.listener
        {
            self.accept(io, stream);
            return true;
        }
        let is_taken =
            self.clients.iter_mut().any(|client| client.handle(io, completion, recorded));
        if is_taken {
            self.clients.retain(|client| !client.is_gone);
        }
        is_taken
    }

    /// Sends a frame to all who want it. Who does not read loses the connection, and knows it.
    pub fn send(&mut self, io: &mut Io<impl Kernel>, frame: &str) {
        for client in self.clients.iter_mut().filter(|client| client.is_subscribed) {
            if !client.ws.is_open() {
                continue;
            }
            if client.ws.outbox().text(frame).is_ok() {
                client.ws.flush(io);
            } else if client.ws.close(io, CloseCode::POLICY, "too slow").is_err() {
                // A stale handle is closed already.
                let _ = io.close(client.ws.stream());
            }
        }
    }

    /// Where clients come to.
    pub const fn listener(&self) -> Option<Handle> {
        self.listener
    }

    /// Whether a client is so far behind that the flow should wait for it.
    pub fn is_behind(&self) -> bool {
        self.clients.iter().any(|client| client.ws.pending_bytes() > WAITING_BYTES_MAX)
    }

    /// How many clients get the frames.
    pub fn subscribed(&self) -> usize {
        self.clients.iter().filter(|client| client.is_subscribed && client.ws.is_open()).count()
    }

    fn accept<K: Kernel>(&mut self, io: &mut Io<K>, stream: Handle) {
        let ws = if self.clients.len() < CLIENTS_MAX {
            let connection = Connection::server(&self.config, io.now()).ok();
            connection.and_then(|connection| WsStream::server(io, stream, None, connection).ok())
        } else {
            None
        };
        match ws {
            Some(ws) => {
                self.clients.push(Client { ws, is_subscribed: false, is_gone: false });
            }
            // A stale handle is closed already.
            None => drop(io.close(stream)),
        }
    }
}

impl Client {
    fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        recorded: &impl Recorded,
    ) -> bool {
        let Self { ws, is_subscribed, is_gone } = self;
        ws.handle(io, completion, &mut |outbox, event| match event {
            WsEvent::Session(Event::Requested(request)) => {
                *is_subscribed = !request.path().starts_with("/ws-api");
                // Without room for the answer it just ends.
                let is_in = outbox.accept(None, &[]).is_ok();
                // Who follows a stream asks for the book when the stream brings something.
                if is_in && *is_subscribed && !recorded.last_frame().is_empty() {
                    let _ = outbox.text(recorded.last_frame());
                }
            }
            WsEvent::Session(Event::Text(text)) => answer(outbox, text, recorded),
            WsEvent::Session(_) => {}
            WsEvent::Gone(_) => *is_gone = true,
        })
    }
}

/// Answers who asks for the book. What is asked besides is not answered.
fn answer(outbox: &mut Outbox, text: &str, recorded: &impl Recorded) {
    if !text.contains("\"method\":\"depth\"") {
        return;
    }
    let id = text.split_once("\"id\":").map_or("null", |(_, rest)| {
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or("null").trim()
    });
    if let Some(answer) = recorded.book(&format!("{{\"id\":{id},\"status\":200,\"result\":"), "}") {
        // A client that has no room for it asks again.
        let _ = outbox.text(&answer);
    }
}
