//! The sockets of a publication: a common one for questions, and beside it one connected to the
//! group, or to each of the first subscribers. A send on that looks up no route (on loopback an
//! eighth of its time).

use std::net::SocketAddr;

use taut_io::{Handle, Io, Kernel};
use taut_lease::LeasePublisher;
use taut_sys::{Address, DatagramOptions, Socket, SysError};

use super::place;
use crate::driver::close_source;
use crate::error::ChannelError;

/// Subscribers with a socket of their own: each is one more to look at for questions.
const OWN_MAX: usize = 8;

/// Where datagrams leave and questions come in.
#[derive(Debug)]
pub(super) struct Outlets {
    common: Handle,
    /// Of subscribers, or of the group alone.
    own: Vec<(SocketAddr, Handle)>,
    reaches_group: bool,
    options: DatagramOptions,
}

impl Outlets {
    pub(super) fn open<K: Kernel>(
        io: &mut Io<K>,
        at: SocketAddr,
        options: DatagramOptions,
    ) -> Result<Self, ChannelError> {
        let common = io.datagram(&Address::Inet(at), &options)?;
        io.watch(common).inspect_err(|_| close_source(io, common))?;
        Ok(Self { common, own: Vec::with_capacity(OWN_MAX), reaches_group: false, options })
    }

    /// Messages go to this group, through this interface (0: the kernel's choice).
    pub(super) fn reach<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        group: SocketAddr,
        interface: u32,
        hops: u8,
    ) -> Result<(), ChannelError> {
        let common = io.socket(self.common)?;
        let socket = common.datagram_beside_to_group(group, interface, hops, &self.options)?;
        self.own.push((group, io.adopt_datagram(socket, false)?));
        self.reaches_group = true;
        Ok(())
    }

    /// After subscribers came or went: gives each its own socket as long as there are any.
    #[cold]
    pub(super) fn follow<K: Kernel>(&mut self, io: &mut Io<K>, core: &LeasePublisher) {
        self.own.retain(|(address, socket)| {
            let stays = core.subscribers().any(|now| now == *address);
            if !stays {
                close_source(io, *socket);
            }
            stays
        });
        for subscriber in core.subscribers() {
            if self.own.len() < OWN_MAX && self.own(&subscriber).is_none() {
                // Where it cannot be had, the common one does.
                self.own.extend(self.beside(io, subscriber).map(|socket| (subscriber, socket)));
            }
        }
    }

    fn beside<K: Kernel>(&self, io: &mut Io<K>, subscriber: SocketAddr) -> Option<Handle> {
        let common = io.socket(self.common).ok()?;
        let socket = common.datagram_beside(subscriber, &self.options).ok()?;
        let socket = io.adopt_datagram(socket, false).ok()?;
        io.watch(socket).inspect_err(|_| close_source(io, socket)).ok()?;
        Some(socket)
    }

    /// Whether a source is one of these sockets.
    pub(super) fn has(&self, source: Handle) -> bool {
        source == self.common || self.own.iter().any(|(_, socket)| *socket == source)
    }

    pub(super) fn release<K: Kernel>(&self, io: &mut Io<K>) {
        close_source(io, self.common);
        self.own.iter().for_each(|(_, socket)| close_source(io, *socket));
    }

    #[inline]
    fn own(&self, of: &SocketAddr) -> Option<Handle> {
        self.own.iter().find(|(address, _)| address == of).map(|(_, socket)| *socket)
    }

    /// Sends a datagram; `None` when the kernel has no room. That nobody takes it is no error: the
    /// lease will tell.
    #[inline]
    pub(super) fn send<K: Kernel>(
        &self,
        io: &mut Io<K>,
        datagram: &[u8],
        to: SocketAddr,
    ) -> Result<Option<usize>, SysError> {
        let (socket, to) = match self.own(&to) {
            Some(own) => (own, None),
            None => (self.common, Some(&to)),
        };
        match io.send_datagram(socket, datagram, to) {
            Ok(sent) => Ok(sent),
            Err(error) => again(io, socket, datagram, to, error),
        }
    }

    /// The socket of this index to take questions from; nothing behind the last one. To that of a
    /// group nobody sends any.
    pub(super) fn socket(&self, index: usize) -> Option<Handle> {
        match index.checked_sub(1) {
            None => Some(self.common),
            Some(_) if self.reaches_group => None,
            Some(own) => self.own.get(own).map(|(_, socket)| *socket),
        }
    }

    /// The longest datagram payload that goes to an address in one piece.
    #[cold]
    pub(super) fn path_payload_bytes<K: Kernel>(
        &self,
        io: &mut Io<K>,
        to: SocketAddr,
    ) -> Option<usize> {
        if let Some(own) = self.own(&to) {
            return io.socket(own).ok()?.path_payload_bytes().ok();
        }
        let at = Address::Inet(place::any_like(to));
        let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
        Socket::datagram(&at, &options).and_then(|socket| socket.path_payload_bytes()).ok()
    }
}

/// After an error that may tell what became of an earlier datagram: this one has then not been
/// tried.
#[cold]
fn again<K: Kernel>(
    io: &mut Io<K>,
    socket: Handle,
    datagram: &[u8],
    to: Option<&SocketAddr>,
    error: SysError,
) -> Result<Option<usize>, SysError> {
    if !error.is_peer_gone() && !error.is_too_long() {
        return Err(error);
    }
    match io.send_datagram(socket, datagram, to) {
        Err(error) if error.is_peer_gone() => Ok(Some(datagram.len())),
        sent => sent,
    }
}
