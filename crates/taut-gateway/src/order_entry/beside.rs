//! The second connection of a session, over which questions are asked and answered.

use std::net::SocketAddr;

use taut_io::{Completion, Handle, Io, Kernel, Operation};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use super::addresses::Addresses;
use super::http::Answers;
use super::wire::{Gone, Unwrapped, Wire};
use crate::config::{SecondConnection, Transport};
use crate::through::Through;

/// How often a connection over HTTP may end without an answer before the session does.
const VAIN_MAX: u32 = 3;
/// How long the venue may take to accept it again.
const CONNECT_TIME: Nanos = Nanos::from_secs(5);

/// It is made when the first one stands, and both end together; one over HTTP, which servers end
/// when it pleases them, is made again.
#[derive(Debug)]
pub(super) struct Beside {
    addresses: Addresses,
    transport: Transport,
    through: Option<Through>,
    stream: Option<Handle>,
    wire: Wire,
    is_open: bool,
    unwrapped: Unwrapped,
    http: Option<Http>,
}

/// What a connection over HTTP has beside its wire.
#[derive(Debug, Default)]
struct Http {
    answers: Answers,
    /// Connections that ended one after the other and brought no answer.
    vain: u32,
}

impl Beside {
    pub(super) fn new(settings: SecondConnection) -> Self {
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        let others = settings.others.into_iter().map(inet);
        let is_http = matches!(settings.transport, Transport::Http { .. });
        Self {
            http: is_http.then(Http::default),
            addresses: Addresses::new(inet(settings.address), others),
            transport: settings.transport,
            through: settings.through,
            stream: None,
            wire: Wire::Plain,
            is_open: false,
            unwrapped: Unwrapped::default(),
        }
    }

    /// The venue is asked at these from now on.
    pub(super) fn set_addresses(&mut self, all: impl IntoIterator<Item = Address>) {
        self.addresses.replace(all);
    }

    /// Whether messages can be sent.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Starts to connect, unless it has.
    pub(super) fn open(&mut self, io: &mut Io<impl Kernel>, deadline: Nanos) -> Result<(), Gone> {
        if self.stream.is_none() {
            let stream =
                io.connect(&self.addresses.current(), &StreamOptions::default(), Some(deadline));
            self.stream = Some(stream.map_err(|_| Gone)?);
        }
        Ok(())
    }

    /// What a completion came to; nothing when it is another's. Give it back.
    pub(super) fn take(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Option<Unwrapped> {
        let stream = self.stream?;
        if self.wire.take(io, completion, &mut self.unwrapped) {
            if let Some(http) = &mut self.http {
                let bytes = std::mem::take(&mut self.unwrapped);
                (self.unwrapped.is_open, self.unwrapped.is_gone) = (bytes.is_open, bytes.is_gone);
                self.unwrapped.fault = bytes.fault;
                for bytes in bytes.pieces() {
                    self.unwrapped.is_gone |= http.take(bytes, &mut self.unwrapped).is_err();
                }
            }
            self.is_open |= self.unwrapped.is_open;
            return Some(self.taken(io));
        }
        // It is not wrapped yet.
        let is_gone = match *completion {
            Completion::Connected { stream: connected } if connected == stream => {
                match Wire::open(io, stream, &self.transport, self.through.as_ref()) {
                    Ok(wire) => {
                        // Without TLS HTTP has nothing to wait for.
                        self.unwrapped.is_open = self.http.is_some() && wire.is_plain();
                        self.is_open |= self.unwrapped.is_open;
                        self.wire = wire;
                        self.is_open && io.receive(stream).is_err()
                    }
                    Err(Gone) => true,
                }
            }
            Completion::Received { stream: from, bytes } if from == stream => {
                let http = self.http.as_mut().filter(|_| self.is_open);
                http.is_none_or(|http| http.take(bytes, &mut self.unwrapped).is_err())
            }
            Completion::Failed { source, operation: Operation::Connect, .. }
            | Completion::Closed { source, .. }
            | Completion::Ended { stream: source }
                if source == stream =>
            {
                true
            }
            _ => return None,
        };
        // What was not taken has been cleared.
        self.unwrapped.is_gone = is_gone;
        Some(self.taken(io))
    }

    /// What a completion came to. A connection over HTTP that is gone is made again: an empty
    /// message says that what was asked has no answer any more.
    fn taken(&mut self, io: &mut Io<impl Kernel>) -> Unwrapped {
        self.unwrapped.is_beside = true;
        if self.unwrapped.is_gone
            && self.is_open
            && self.http.as_mut().is_some_and(Http::begin_again)
        {
            self.close(io);
            self.unwrapped.is_open = false;
            self.unwrapped.is_gone = self.open(io, io.now() + CONNECT_TIME).is_err();
            self.unwrapped.push(b"");
        }
        std::mem::take(&mut self.unwrapped)
    }

    /// Its memory serves the next completion.
    pub(super) fn put_back(&mut self, unwrapped: Unwrapped) {
        self.unwrapped = unwrapped;
    }

    pub(super) fn write(&mut self, io: &mut Io<impl Kernel>, message: &[u8]) -> Result<(), Gone> {
        let stream = self.stream.filter(|_| self.is_open).ok_or(Gone)?;
        match self.http.is_some() && self.wire.is_plain() {
            true => io.write(stream, message, None).map_err(|_| Gone),
            false => self.wire.write(io, message),
        }
    }

    pub(super) fn close(&mut self, io: &mut Io<impl Kernel>) {
        let was_open = std::mem::take(&mut self.is_open);
        if let Some(stream) = self.stream.take() {
            if !was_open {
                self.addresses.failed();
            }
            std::mem::replace(&mut self.wire, Wire::Plain).close(io, stream);
        }
        self.http.iter_mut().for_each(|http| http.answers.forget());
    }
}

impl Http {
    /// Takes bytes; each answer's body becomes a message.
    fn take(&mut self, bytes: &[u8], into: &mut Unwrapped) -> Result<(), Gone> {
        let Self { answers, vain } = self;
        answers.take(bytes, &mut |body| {
            *vain = 0;
            into.push(body);
        })
    }

    /// Whether a connection that ended is to be made again.
    fn begin_again(&mut self) -> bool {
        self.vain += 1;
        self.vain <= VAIN_MAX
    }
}
