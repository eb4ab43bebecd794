//! The sockets of a publication: a common one for questions, and beside it one connected to the
//! group, or to each of the first subscribers. A send on that looks up no route (on loopback an
//! eighth of its time).

use std::net::SocketAddr;
use std::os::fd::AsFd;

use taut_lease::LeasePublisher;
use taut_sys::{Address, DatagramBatch, DatagramOptions, Socket, SysError};

use super::place;
use crate::driver::Descriptors;

/// Subscribers with a socket of their own: each is one more to look at for questions.
const OWN_MAX: usize = 8;

/// Where datagrams leave and questions come in.
#[derive(Debug)]
pub(super) struct Outlets {
    common: Socket,
    own: Vec<(SocketAddr, Socket)>,
    group: Option<(SocketAddr, Socket)>,
    options: DatagramOptions,
}

impl Outlets {
    pub(super) fn open(at: SocketAddr, options: DatagramOptions) -> Result<Self, SysError> {
        let common = Socket::datagram(&Address::Inet(at), &options)?;
        Ok(Self { common, own: Vec::with_capacity(OWN_MAX), group: None, options })
    }

    pub(super) const fn common(&self) -> &Socket {
        &self.common
    }

    /// Messages go to this group, through this interface (0: the kernel's choice).
    pub(super) fn reach(
        &mut self,
        group: SocketAddr,
        interface: u32,
        hops: u8,
    ) -> Result<(), SysError> {
        let socket = self.common.datagram_beside_to_group(group, interface, hops, &self.options)?;
        self.group = Some((group, socket));
        Ok(())
    }

    /// After subscribers came or went: gives each its own socket as long as there are any.
    #[cold]
    pub(super) fn follow(&mut self, core: &LeasePublisher) {
        self.own.retain(|(address, _)| core.subscribers().any(|now| now == *address));
        for subscriber in core.subscribers() {
            if self.own.len() < OWN_MAX && self.own(&subscriber).is_none() {
                // Where it cannot be had, the common one does.
                let socket = self.common.datagram_beside(subscriber, &self.options);
                self.own.extend(socket.ok().map(|socket| (subscriber, socket)));
            }
        }
    }

    #[inline]
    fn own(&self, of: &SocketAddr) -> Option<&Socket> {
        let mut own = self.group.iter().chain(&self.own);
        own.find(|(address, _)| address == of).map(|(_, socket)| socket)
    }

    /// Sends a datagram; `None` when the kernel has no room. That nobody takes it is no error: the
    /// lease will tell.
    #[inline]
    pub(super) fn send(&self, datagram: &[u8], to: SocketAddr) -> Result<Option<usize>, SysError> {
        match self.try_send(datagram, to) {
            // What became of an earlier datagram; this one has not been tried.
            Err(error) if error.is_peer_gone() || error.is_too_long() => {
                match self.try_send(datagram, to) {
                    Err(error) if error.is_peer_gone() => Ok(Some(datagram.len())),
                    sent => sent,
                }
            }
            sent => sent,
        }
    }

    #[inline]
    fn try_send(&self, datagram: &[u8], to: SocketAddr) -> Result<Option<usize>, SysError> {
        match self.own(&to) {
            Some(socket) => socket.send(datagram),
            None => self.common.send_to(datagram, &to),
        }
    }

    /// Takes questions from the socket of this index; nothing behind the last one.
    pub(super) fn receive(&self, index: usize, batch: &mut DatagramBatch) -> Option<usize> {
        let socket = match index.checked_sub(1) {
            None => &self.common,
            Some(own) => &self.own.get(own)?.1,
        };
        // An error is a peer that went away, which its lease will tell.
        Some(socket.receive_batch(batch).unwrap_or(0))
    }

    /// The longest datagram payload that goes to an address in one piece.
    #[cold]
    pub(super) fn path_payload_bytes(&self, to: SocketAddr) -> Option<usize> {
        let asked = match self.own(&to) {
            Some(socket) => socket.path_payload_bytes(),
            None => {
                let at = Address::Inet(place::any_like(to));
                let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
                Socket::datagram(&at, &options).and_then(|socket| socket.path_payload_bytes())
            }
        };
        asked.ok()
    }

    pub(super) fn descriptors(&self) -> Descriptors<'_> {
        let common = Descriptors::default().and(self.common.as_fd(), false);
        self.own.iter().fold(common, |all, (_, socket)| all.and(socket.as_fd(), false))
    }
}
