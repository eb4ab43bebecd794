//! Sources that were opened elsewhere, and what only their sockets know. A simulated kernel has no
//! sockets: there, all of this is `EOPNOTSUPP`.

use taut_sys::{Address, DatagramOptions, Socket, StreamOptions};

use crate::admission::Admission;
use crate::error::IoError;
use crate::handle::Handle;
use crate::io::Io;
use crate::kernel::{Adopted, Kernel};
use crate::source::Kind;

/// A socket that a loop is to have.
#[derive(Debug)]
pub enum Endpoint<O> {
    /// One that was opened elsewhere.
    Open(Socket),
    /// One that the loop's kernel is to open: a simulated kernel has no others.
    At(Address, O),
}

impl<O> From<Socket> for Endpoint<O> {
    fn from(socket: Socket) -> Self {
        Self::Open(socket)
    }
}

impl<K: Kernel> Io<K> {
    /// Listens, as [`Io::listen`] and [`Io::adopt_listener`].
    ///
    /// # Errors
    /// As these.
    pub fn listen_on(
        &mut self,
        endpoint: Endpoint<StreamOptions>,
        admission: &Admission,
    ) -> Result<Handle, IoError> {
        match endpoint {
            Endpoint::Open(socket) => {
                self.adopt_listener(socket, &StreamOptions::default(), admission)
            }
            Endpoint::At(at, options) => self.listen(&at, &options, admission),
        }
    }

    /// A datagram socket, as [`Io::datagram`] and [`Io::adopt_datagram`] without receive offload.
    ///
    /// # Errors
    /// As these.
    pub fn datagram_on(&mut self, endpoint: Endpoint<DatagramOptions>) -> Result<Handle, IoError> {
        match endpoint {
            Endpoint::Open(socket) => self.adopt_datagram(socket, false),
            Endpoint::At(at, options) => self.datagram(&at, &options),
        }
    }

    /// Takes over a connected socket, a pipe's end or another descriptor that can be polled, as a
    /// stream.
    ///
    /// # Errors
    /// As `connect`; `EPERM` for a regular file, which is always ready and needs no loop.
    pub fn adopt(&mut self, socket: Socket) -> Result<Handle, IoError> {
        let stream = self.adopt_as(socket, Adopted::Stream, Kind::Stream)?;
        self.sources.get(stream)?.out.reserve();
        Ok(stream)
    }

    /// Takes over a bound datagram socket; `coalesce` if it was opened with receive offload.
    ///
    /// # Errors
    /// As `datagram`.
    pub fn adopt_datagram(&mut self, socket: Socket, coalesce: bool) -> Result<Handle, IoError> {
        self.adopt_as(socket, Adopted::Datagram { coalesce }, Kind::Datagram)
    }

    /// Takes over a listening socket and accepts from now on, as [`Io::listen`].
    ///
    /// # Errors
    /// As `listen`.
    pub fn adopt_listener(
        &mut self,
        socket: Socket,
        options: &StreamOptions,
        admission: &Admission,
    ) -> Result<Handle, IoError> {
        let handle = self.adopt_as(socket, Adopted::Listener, Kind::Listener)?;
        self.sources.get(handle)?.options = *options;
        self.guard(handle, admission)?;
        Ok(handle)
    }

    /// The socket of a source, for what only it knows: groups to join, options to read.
    ///
    /// # Errors
    /// A stale handle.
    pub fn socket(&mut self, source: Handle) -> Result<&Socket, IoError> {
        self.sources.get(source)?;
        Ok(self.kernel.socket(source.index)?)
    }

    fn adopt_as(
        &mut self,
        socket: Socket,
        adopted: Adopted,
        kind: Kind,
    ) -> Result<Handle, IoError> {
        let place = self.vacant()?;
        self.kernel.adopt(place, socket, adopted)?;
        Ok(self.open(kind))
    }
}
