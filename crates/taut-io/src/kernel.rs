//! What the loop needs from below: sockets by place, readiness, and time.
//!
//! A place is an index that the loop chooses; a kernel keeps its own socket there. Three kernels
//! implement the trait: [`epoll`](crate::EpollKernel), [`io_uring`](crate::UringKernel) and the
//! [simulated one](crate::SimKernel). What any of them answers can be written down and given again:
//! [`TapedKernel`](crate::TapedKernel).

pub mod epoll;
pub mod linux;
pub mod sim;
pub mod sim_host;
pub mod taped;
pub mod traffic;
pub mod uring;

use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Granted, Readiness,
    Socket, StreamOptions, SysError,
};
use taut_types::Nanos;

/// What a receive found.
#[derive(Debug)]
pub enum Received<L> {
    /// Nothing: the kernel will say when there is something.
    Nothing,
    /// Bytes, or a datagram.
    Some {
        /// The bytes, until they are released.
        lease: L,
        /// More may have arrived: ask again without waiting to be told.
        more: bool,
    },
    /// The peer sends no more.
    End,
}

/// Wakes a loop that sleeps, from another thread.
pub trait Bell: Send + Sync {
    /// Rings.
    fn ring(&self);
}

/// What a descriptor that was opened elsewhere is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// A connected stream socket, a pipe's end, a terminal.
    Stream,
    /// A bound datagram socket.
    Datagram {
        /// Its receives may be several datagrams in one (`DatagramOptions::coalesce`).
        coalesce: bool,
    },
    /// A listening socket.
    Listener,
}

/// Calls into the kernel so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Receives, sends and waits, except the idle ones.
    pub io: u64,
    /// Looks that found nothing while spinning.
    pub idle: u64,
}

/// `EOPNOTSUPP`: a simulated kernel has no sockets.
const NOT_REAL: SysError = SysError::from_errno("socket of a simulated kernel", 95);

/// The kernel under a loop.
pub trait Kernel {
    /// Where received bytes lie.
    type Buffers;
    /// A run of received bytes.
    type Lease;
    /// What wakes its wait.
    type Bell: Bell + 'static;

    /// Its receive buffers; the loop asks once.
    fn buffers(&mut self) -> Self::Buffers;
    /// The bytes of a lease.
    fn bytes<'b>(buffers: &'b Self::Buffers, lease: &'b Self::Lease) -> &'b [u8];
    /// What is known of a lease's datagram; `None` for bytes of a stream.
    fn info(buffers: &Self::Buffers, lease: &Self::Lease) -> Option<DatagramInfo>;
    /// Takes a lease back.
    fn release(&mut self, lease: Self::Lease);

    /// Monotonic time.
    fn now(&self) -> Nanos;
    /// What wakes [`Kernel::wait`].
    ///
    /// # Errors
    /// When no further handle can be made.
    fn bell(&self) -> Result<Self::Bell, SysError>;

    /// Listens at `place`.
    ///
    /// # Errors
    /// What the system says, here and below.
    fn listen(&mut self, place: u32, at: &Address, options: &StreamOptions)
    -> Result<(), SysError>;
    /// Takes a waiting connection into `stream`, with its peer's address.
    ///
    /// # Errors
    /// What the system says.
    fn accept(
        &mut self,
        listener: u32,
        stream: u32,
        options: &StreamOptions,
    ) -> Result<Option<Address>, SysError>;
    /// Starts to connect; the place becomes writable when that is over.
    ///
    /// # Errors
    /// What the system says.
    fn connect(
        &mut self,
        place: u32,
        to: &Address,
        options: &StreamOptions,
    ) -> Result<ConnectProgress, SysError>;
    /// How connecting ended.
    ///
    /// # Errors
    /// Why it failed.
    fn connect_result(&mut self, place: u32) -> Result<(), SysError>;
    /// Opens a datagram socket.
    ///
    /// # Errors
    /// What the system says.
    fn datagram(
        &mut self,
        place: u32,
        at: &Address,
        options: &DatagramOptions,
    ) -> Result<(), SysError>;
    /// Takes over a socket that was opened elsewhere.
    ///
    /// # Errors
    /// What the system says: `EPERM` for a regular file; `EOPNOTSUPP` where nothing is real.
    fn adopt(&mut self, place: u32, socket: Socket, adopted: Adopted) -> Result<(), SysError> {
        let _ = (place, socket, adopted);
        Err(NOT_REAL)
    }
    /// The socket at a place, for what only it knows.
    ///
    /// # Errors
    /// `EOPNOTSUPP` where nothing is real.
    fn socket(&self, place: u32) -> Result<&Socket, SysError> {
        let _ = place;
        Err(NOT_REAL)
    }
    /// Starts to look for what arrives.
    ///
    /// # Errors
    /// What the system says.
    fn start_receiving(&mut self, place: u32) -> Result<(), SysError>;
    /// Stops it. What arrived already can still be received.
    ///
    /// # Errors
    /// What the system says.
    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError>;
    /// Takes what arrived.
    ///
    /// # Errors
    /// What the system says.
    fn receive(
        &mut self,
        place: u32,
        buffers: &mut Self::Buffers,
    ) -> Result<Received<Self::Lease>, SysError>;
    /// Sends what fits; `None` when nothing does, and then the place becomes writable later.
    ///
    /// # Errors
    /// What the system says.
    fn send(&mut self, place: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError>;
    /// Sends one datagram; `None` when there is no room.
    ///
    /// # Errors
    /// What the system says.
    fn send_to(
        &mut self,
        place: u32,
        bytes: &[u8],
        to: Option<&core::net::SocketAddr>,
    ) -> Result<Option<usize>, SysError>;
    /// Reports a place from now on, whose owner takes what arrived by [`Kernel::read`] or
    /// [`Kernel::receive_batch`].
    ///
    /// # Errors
    /// What the system says; `EBUSY` when it receives by itself already.
    fn watch(&mut self, place: u32) -> Result<(), SysError>;
    /// Takes bytes of a stream, or one datagram, into the owner's memory.
    ///
    /// # Errors
    /// What the system says.
    fn read(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError>;
    /// Takes as many datagrams as a batch asks for. Returns how many.
    ///
    /// # Errors
    /// What the system says.
    fn receive_batch(&mut self, place: u32, batch: &mut DatagramBatch) -> Result<usize, SysError>;
    /// Sends several datagrams; returns how many fitted.
    ///
    /// # Errors
    /// What the system says about the first one.
    fn send_batch(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&core::net::SocketAddr>,
    ) -> Result<usize, SysError>;
    /// Sends bytes as datagrams of one length; returns how many bytes fitted, all or none.
    ///
    /// # Errors
    /// What the system says, such as `EINVAL` where it does not split bytes into datagrams.
    fn send_segmented(
        &mut self,
        place: u32,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&core::net::SocketAddr>,
    ) -> Result<usize, SysError>;
    /// Closes the sending half.
    ///
    /// # Errors
    /// What the system says.
    fn shut_down_send(&mut self, place: u32) -> Result<(), SysError>;
    /// Forgets the socket at a place.
    fn close(&mut self, place: u32);
    /// Polls a place by receiving, without asking what is ready.
    ///
    /// # Errors
    /// What the system says.
    fn set_hot(&mut self, place: u32, hot: bool) -> Result<(), SysError>;
    /// What goes to and comes from a place says nothing to who has not the keys: where calls are
    /// written down, how many bytes there were is enough.
    fn seal(&mut self, place: u32) {
        let _ = place;
    }
    /// The socket's own address.
    ///
    /// # Errors
    /// What the system says.
    fn local_address(&self, place: u32) -> Result<Address, SysError>;
    /// What became of the options.
    ///
    /// # Errors
    /// What the system says.
    fn granted(&self, place: u32) -> Result<Granted, SysError>;

    /// Reports places that are ready, waiting for at most `span` (no span is for ever, a zero one
    /// not at all). Returns how many it reported.
    ///
    /// # Errors
    /// What the system says.
    fn wait(
        &mut self,
        span: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError>;
    /// Calls so far.
    fn calls(&self) -> Calls;
}
