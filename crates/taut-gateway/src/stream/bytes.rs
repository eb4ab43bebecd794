//! A connection of a feed that carries bytes and no WebSocket: as they are, or in TLS.

use taut_io::{Completion, Handle, Io, Kernel};
use taut_net::{ProxyFault, TlsClientConfig};

use crate::config::Transport;
use crate::order_entry::wire::{Gone, Unwrapped, Wire};
use crate::through::Through;

/// What a URL of such a connection begins with.
const SCHEME: &str = "fix://";

/// The connection.
#[derive(Debug)]
pub(super) struct ByteStream {
    stream: Handle,
    wire: Wire,
    is_open: bool,
    unwrapped: Unwrapped,
}

/// What a completion was to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is another one's.
    NotOurs,
    Taken,
    /// From now on bytes pass.
    Opened,
    /// It is over.
    Gone,
}

/// The host and the port of the URL of a connection that carries bytes; nothing of any other URL.
pub(super) fn authority(url: &str) -> Option<&str> {
    url.strip_prefix(SCHEME)
}

impl ByteStream {
    /// On a stream that is connected; nothing when the loop has no room.
    pub(super) fn open(
        io: &mut Io<impl Kernel>,
        stream: Handle,
        tls: Option<(&TlsClientConfig, &str)>,
        through: Option<&Through>,
    ) -> Option<Self> {
        let transport = match tls {
            None => Transport::Plain,
            Some((config, name)) => {
                Transport::Tls { config: config.clone(), name: name.to_owned() }
            }
        };
        let wire = Wire::open(io, stream, &transport, through).ok()?;
        let is_open = wire.is_plain();
        if is_open {
            io.receive(stream).ok()?;
        }
        Some(Self { stream, wire, is_open, unwrapped: Unwrapped::default() })
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Why there was no way through the proxy.
    pub(super) const fn proxy_fault(&self) -> Option<ProxyFault> {
        self.unwrapped.fault
    }

    /// Takes a completion if it is this connection's; `take` gets the bytes that it brought.
    pub(super) fn handle(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Heard {
        if self.wire.is_plain() {
            return match *completion {
                Completion::Received { stream, bytes } if stream == self.stream => {
                    take(bytes);
                    Heard::Taken
                }
                Completion::Ended { stream: source } | Completion::Closed { source, .. }
                    if source == self.stream =>
                {
                    Heard::Gone
                }
                Completion::Failed { source, .. } if source == self.stream => Heard::Taken,
                _ => Heard::NotOurs,
            };
        }
        let is_taken = self.wire.take(io, completion, &mut self.unwrapped);
        self.unwrapped.pieces().for_each(take);
        let is_opened = self.unwrapped.is_open && !self.is_open;
        self.is_open |= is_opened;
        match (self.unwrapped.is_gone, is_opened, is_taken) {
            (true, ..) => Heard::Gone,
            (_, true, _) => Heard::Opened,
            (_, _, true) => Heard::Taken,
            _ => Heard::NotOurs,
        }
    }

    /// Sends bytes behind those before them. One whose peer reads too slowly ends: a part of what
    /// is said would be worse.
    pub(super) fn write(&mut self, io: &mut Io<impl Kernel>, bytes: &[u8]) {
        let sent = match self.wire.is_plain() {
            true => io.write(self.stream, bytes, None).map_err(|_| Gone),
            false => self.wire.write(io, bytes),
        };
        if sent.is_err() {
            // Its end comes as a completion; one that is closed already is stale.
            let _ = io.close(self.stream);
        }
    }

    /// Closes it: what waits is dropped, and nothing more is told of it.
    pub(super) fn abort(self, io: &mut Io<impl Kernel>) {
        self.wire.close(io, self.stream);
    }
}
