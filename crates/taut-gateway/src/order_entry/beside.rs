//! The second connection of a session, over which questions are asked and answered.

use std::net::SocketAddr;

use taut_io::{Completion, Handle, Io, Kernel, Operation};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use super::addresses::Addresses;
use super::wire::{Gone, Unwrapped, Wire};
use crate::config::{SecondConnection, Transport};

/// It is made when the first one stands, and both end together.
#[derive(Debug)]
pub(super) struct Beside {
    addresses: Addresses,
    transport: Transport,
    stream: Option<Handle>,
    wire: Wire,
    is_open: bool,
    unwrapped: Unwrapped,
}

impl Beside {
    pub(super) fn new(settings: SecondConnection) -> Self {
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        let others = settings.others.into_iter().map(inet);
        Self {
            addresses: Addresses::new(inet(settings.address), others),
            transport: settings.transport,
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
            self.is_open |= self.unwrapped.is_open;
            self.unwrapped.is_beside = true;
            return Some(std::mem::take(&mut self.unwrapped));
        }
        // It is not wrapped yet.
        let is_gone = match *completion {
            Completion::Connected { stream: connected } if connected == stream => {
                match Wire::open(io, stream, &self.transport) {
                    Ok(wire) => {
                        self.wire = wire;
                        false
                    }
                    Err(Gone) => true,
                }
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
        (self.unwrapped.is_gone, self.unwrapped.is_beside) = (is_gone, true);
        Some(std::mem::take(&mut self.unwrapped))
    }

    /// Its memory serves the next completion.
    pub(super) fn put_back(&mut self, unwrapped: Unwrapped) {
        self.unwrapped = unwrapped;
    }

    pub(super) fn write(&mut self, io: &mut Io<impl Kernel>, message: &[u8]) -> Result<(), Gone> {
        if self.is_open { self.wire.write(io, message) } else { Err(Gone) }
    }

    pub(super) fn close(&mut self, io: &mut Io<impl Kernel>) {
        let was_open = std::mem::take(&mut self.is_open);
        if let Some(stream) = self.stream.take() {
            if !was_open {
                self.addresses.failed();
            }
            std::mem::replace(&mut self.wire, Wire::Plain).close(io, stream);
        }
    }
}
