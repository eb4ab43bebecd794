//! Sources that their owner reads and writes call by call: for a protocol that reads into memory of
//! its own, sends datagrams in batches, or stops in the middle of what arrived. The loop says when
//! there is something, by priority, and remembers it until a read has found nothing more.
//!
//! A stale handle is `EBADF` here: on a hot path a failed call has one type of error.

use core::net::SocketAddr;

use taut_sys::{DatagramBatch, SysError};

use crate::error::{IoError, Misuse};
use crate::handle::Handle;
use crate::io::Io;
use crate::kernel::{Kernel, Received};
use crate::source::{Kind, STALE, Source};

impl<K: Kernel> Io<K> {
    /// Completes as [`Ready`](crate::Completion::Ready) whenever a stream or datagram socket can be
    /// read, in place of [`Io::receive`]. What is left unread is told again: in the same turn to a
    /// handler that made a call when it was told, otherwise in the next one.
    ///
    /// # Errors
    /// A stale handle, what is no stream and no datagram socket, what is received already; what the
    /// system says.
    pub fn watch(&mut self, source: Handle) -> Result<(), IoError> {
        let found = self.sources.get(source)?;
        if !matches!(found.kind, Kind::Stream | Kind::Datagram) || found.receiving {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        if !found.watched {
            self.kernel.watch(source.index)?;
            let found = self.sources.get(source)?;
            found.watched = true;
            if found.readable {
                self.sources.queue(source.index);
            }
        }
        Ok(())
    }

    /// Reads a stream, or takes one datagram: `None` when nothing is there; 0 at the end of a
    /// stream. Cost: one system call.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    #[inline(always)]
    pub fn read(&mut self, source: Handle, into: &mut [u8]) -> Result<Option<usize>, SysError> {
        let found = known(self.sources.get(source))?;
        match self.kernel.read(source.index, into)? {
            Received::Some { lease, more } => {
                found.readable &= more;
                Ok(Some(lease))
            }
            Received::Nothing => {
                found.readable = false;
                Ok(None)
            }
            // It stays readable: whoever asks again is told again.
            Received::End => Ok(Some(0)),
        }
    }

    /// Takes the datagrams that arrived, as many as the batch asks for; returns how many. Cost: one
    /// system call.
    ///
    /// # Errors
    /// A stale handle; what the system says, such as the echo of a datagram that nobody took.
    #[inline(always)]
    pub fn receive_batch(
        &mut self,
        socket: Handle,
        batch: &mut DatagramBatch,
    ) -> Result<usize, SysError> {
        let found = known(self.sources.get(socket))?;
        let count = self.kernel.receive_batch(socket.index, batch)?;
        // A batch that was not filled has emptied the queue.
        found.readable &= batch.is_full();
        Ok(count)
    }

    /// Sends what the kernel takes of these bytes, past the loop's own queue; `None` when it takes
    /// none. A watched stream is told as ready when the kernel takes more. Cost: one system call.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    #[inline(always)]
    pub fn send(&mut self, stream: Handle, bytes: &[u8]) -> Result<Option<usize>, SysError> {
        let found = known(self.sources.get(stream))?;
        let sent = self.kernel.send(stream.index, &[bytes])?;
        if sent.unwrap_or(0) < bytes.len() {
            // An edge that came before says nothing about now.
            (found.blocked, found.writable) = (true, false);
        }
        Ok(sent)
    }

    /// Sends several datagrams, to `to` or to the connected peer; returns how many the kernel took.
    /// Cost: one system call.
    ///
    /// # Errors
    /// A stale handle; what the system says about the first one.
    #[inline]
    pub fn send_batch(
        &mut self,
        socket: Handle,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.sources.check(socket)?;
        self.kernel.send_batch(socket.index, datagrams, to)
    }

    /// Sends one run of bytes as datagrams of `segment_bytes` each (segmentation offload), at most
    /// 64; returns the bytes that the kernel took. Cost: one system call.
    ///
    /// # Errors
    /// A stale handle; what the system says: `EINVAL`, `EIO` or `EOPNOTSUPP` where the kernel or
    /// the interface does not split.
    #[inline(always)]
    pub fn send_segmented(
        &mut self,
        socket: Handle,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.sources.check(socket)?;
        self.kernel.send_segmented(socket.index, bytes, segment_bytes, to)
    }

    /// As [`Io::send_to`], of a watched socket: `None` when the kernel has no room.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    #[inline(always)]
    pub fn send_datagram(
        &mut self,
        socket: Handle,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        self.sources.check(socket)?;
        self.kernel.send_to(socket.index, bytes, to)
    }

    /// Closes a source at once and without a completion, as its owner may who watches it: nothing
    /// is under way then. Also for a listener, and for a connection that does not stand yet.
    ///
    /// # Errors
    /// A stale handle; a source that is received, or whose writes wait: [`Io::close`] completes
    /// those.
    pub fn discard(&mut self, source: Handle) -> Result<(), IoError> {
        let found = self.sources.get(source)?;
        if found.receiving || !found.out.is_empty() || found.out.has_sent() {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        if let Some(timer) = found.life_deadline.take() {
            self.timers.cancel(timer);
        }
        self.kernel.close(source.index);
        self.sources.remove_queued(source.index);
        if core::mem::take(&mut self.accept_waits) {
            self.sources.wake_listeners();
        }
        Ok(())
    }
}

#[inline(always)]
fn known(found: Result<&mut Source, IoError>) -> Result<&mut Source, SysError> {
    found.map_err(|_| STALE)
}
