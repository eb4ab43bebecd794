//! The surface of the loop: what a handler (and everybody before and after a run) can ask for.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;

use taut_ring::Payload;
use taut_sys::{Address, ConnectProgress, DatagramOptions, Granted, StreamOptions, SysError};
use taut_types::Nanos;

use crate::admission::Admission;
use crate::completion::Operation;
use crate::config::LoopConfig;
use crate::error::{IoError, Limit, Misuse};
use crate::handle::{Handle, TimerId};
use crate::kernel::{Bell, Calls, Kernel};
use crate::post::{Poster, Queue};
use crate::source::{Kind, Sending, Source, Sources};
use crate::timer::TimerWheel;

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    User(u64),
    Receive(Handle),
    Write(Handle),
    Life(Handle),
    /// Of a listener's streams.
    Handshakes(Handle),
}

/// The sources, timers and posts of a loop.
pub struct Io<K: Kernel> {
    pub(crate) kernel: K,
    pub(crate) config: LoopConfig,
    pub(crate) now: Nanos,
    pub(crate) sources: Sources,
    pub(crate) timers: TimerWheel<Purpose>,
    pub(crate) posted: VecDeque<Payload>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) queue_position: u64,
    bell: Arc<dyn Bell>,
    pub(crate) stopping: bool,
    /// A listener found no room for a connection.
    pub(crate) accept_waits: bool,
}

impl<K: Kernel> Io<K> {
    pub(crate) fn new(kernel: K, config: LoopConfig) -> Result<Self, SysError> {
        let now = kernel.now();
        let bell: Arc<dyn Bell> = Arc::new(kernel.bell()?);
        Ok(Self {
            now,
            sources: Sources::new(config.sources_max),
            timers: TimerWheel::new(now, config.timers_max),
            posted: VecDeque::with_capacity(config.posts_max),
            queue: Arc::new(Queue::new(config.posts_max)),
            queue_position: 0,
            bell,
            stopping: false,
            accept_waits: false,
            kernel,
            config,
        })
    }

    /// Monotonic time, as of this turn's last look.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// Asks the kernel for the time, for who acts between two turns: the last look may be long ago.
    pub fn look_at_clock(&mut self) {
        self.now = self.kernel.now();
    }

    /// The kernel, for what only it knows.
    #[must_use]
    pub const fn kernel(&self) -> &K {
        &self.kernel
    }

    /// The kernel, to change what only it knows.
    pub const fn kernel_mut(&mut self) -> &mut K {
        &mut self.kernel
    }

    /// System calls so far.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.kernel.calls()
    }

    /// Open sources.
    #[must_use]
    pub const fn source_count(&self) -> usize {
        self.sources.open()
    }

    /// Listens on an address and accepts from now on. What is accepted gets the options, and the
    /// listener's priority; `admission` says how much of it there may be, and how long a stream may
    /// take until [`Io::prove`]. A loop without a free timer refuses those that have a handshake.
    ///
    /// # Errors
    /// [`Limit::Sources`]; what the system says.
    pub fn listen(
        &mut self,
        at: &Address,
        options: &StreamOptions,
        admission: &Admission,
    ) -> Result<Handle, IoError> {
        let place = self.vacant()?;
        self.kernel.listen(place, at, options)?;
        let handle = self.open(Kind::Listener);
        self.sources.get(handle)?.options = *options;
        self.guard(handle, admission)?;
        Ok(handle)
    }

    /// Lets a listener look once more for connections that wait, after accepting has failed for
    /// want of something that another part of the program may have given back, such as descriptors.
    ///
    /// # Errors
    /// A stale handle, what is no listener.
    pub fn accept_again(&mut self, listener: Handle) -> Result<(), IoError> {
        let source = self.sources.get(listener)?;
        if source.kind != Kind::Listener {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        source.readable = true;
        self.sources.queue(listener.index);
        Ok(())
    }

    /// Connects. Completes as `Connected`, or as `Failed` and then `Closed`: when the peer refuses,
    /// and when it does not stand by `deadline`.
    ///
    /// # Errors
    /// [`Limit::Sources`], [`Limit::Timers`]; what the system says at once.
    pub fn connect(
        &mut self,
        to: &Address,
        options: &StreamOptions,
        deadline: Option<Nanos>,
    ) -> Result<Handle, IoError> {
        let place = self.vacant()?;
        let progress = self.kernel.connect(place, to, options)?;
        let handle = self.open(Kind::Connecting);
        let timer = match deadline {
            Some(at) => Some(self.arm(at, Purpose::Life(handle)).inspect_err(|_| {
                self.kernel.close(place);
                self.sources.remove(place);
            })?),
            None => None,
        };
        let source = self.sources.get(handle)?;
        source.life_deadline = timer;
        source.out.reserve();
        source.peer = Some(*to);
        if progress == ConnectProgress::Connected {
            source.writable = true;
            self.sources.queue(handle.index);
        }
        Ok(handle)
    }

    /// Opens a datagram socket. Receiving has not started.
    ///
    /// # Errors
    /// [`Limit::Sources`]; what the system says.
    pub fn datagram(&mut self, at: &Address, options: &DatagramOptions) -> Result<Handle, IoError> {
        let place = self.vacant()?;
        self.kernel.datagram(place, at, options)?;
        Ok(self.open(Kind::Datagram))
    }

    /// The address of a source, with the real port.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    pub fn local_address(&mut self, source: Handle) -> Result<Address, IoError> {
        self.sources.get(source)?;
        Ok(self.kernel.local_address(source.index)?)
    }

    /// The address that a stream was connected to or accepted from.
    ///
    /// # Errors
    /// A stale handle.
    pub fn peer_address(&mut self, stream: Handle) -> Result<Option<Address>, IoError> {
        Ok(self.sources.get(stream)?.peer)
    }

    /// Whether the kernel has said that the peer of a stream sends no more. What it has sent may
    /// still wait to be received: only epoll says so before. No: nothing is known, or the handle is
    /// stale.
    #[must_use]
    pub fn peer_has_ended(&mut self, stream: Handle) -> bool {
        self.sources.get(stream).is_ok_and(|source| source.peer_ended || source.ended)
    }

    /// What the kernel made of the options.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    pub fn granted(&mut self, source: Handle) -> Result<Granted, IoError> {
        self.sources.get(source)?;
        Ok(self.kernel.granted(source.index)?)
    }

    /// Puts a source into a class: 0 is served first. Order traffic belongs before market data. A
    /// stranger is served behind all classes until it has [proved](Io::prove) itself, and so is the
    /// listener that it came to.
    ///
    /// # Errors
    /// A stale handle.
    pub fn set_priority(&mut self, source: Handle, priority: u8) -> Result<(), IoError> {
        // A place that is queued is visited once more in its old class, which does no harm.
        self.sources.get(source)?.priority = priority.min(crate::source::PRIORITIES as u8 - 1);
        Ok(())
    }

    /// Polls a source by receiving from it in every turn, without asking the kernel what is ready:
    /// one system call less per message, for one more per turn. For very few sources; the loop does
    /// not sleep while there is one.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    pub fn set_hot(&mut self, source: Handle, hot: bool) -> Result<(), IoError> {
        self.sources.get(source)?;
        Ok(self.kernel.set_hot(source.index, hot)?)
    }

    /// The bytes of a stream are sealed from here on: whoever opens them writes down what they say
    /// ([`Kernel::seal`]). A stale handle has none.
    pub fn seal(&mut self, stream: Handle) {
        if self.sources.get(stream).is_ok() {
            self.kernel.seal(stream.index);
        }
    }

    /// Starts to receive: every arrival completes, until it is cancelled, fails, or ends.
    ///
    /// # Errors
    /// A stale handle, a listener, what is [watched](Io::watch); what the system says.
    pub fn receive(&mut self, source: Handle) -> Result<(), IoError> {
        let found = self.sources.get(source)?;
        if matches!(found.kind, Kind::Listener | Kind::Connecting) || found.watched {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        if found.receiving || found.ended {
            return Ok(());
        }
        self.kernel.start_receiving(source.index)?;
        let found = self.sources.get(source)?;
        found.receiving = true;
        if found.readable {
            self.sources.queue(source.index);
        }
        Ok(())
    }

    /// Fails receiving (`TimedOut`) if it still goes on at `deadline`; `None` takes the deadline
    /// back. Constant time: set it anew with each message.
    ///
    /// # Errors
    /// A stale handle, [`Limit::Timers`].
    pub fn set_receive_deadline(
        &mut self,
        source: Handle,
        deadline: Option<Nanos>,
    ) -> Result<(), IoError> {
        let old = self.sources.get(source)?.receive_deadline.take();
        let timer = self.rearm(old, deadline, Purpose::Receive(source))?;
        self.sources.get(source)?.receive_deadline = timer;
        Ok(())
    }

    /// Fails the writes that wait (`TimedOut`) and closes the stream if any still waits at
    /// `deadline`, for part of it may have left.
    ///
    /// # Errors
    /// A stale handle, [`Limit::Timers`].
    pub fn set_write_deadline(
        &mut self,
        stream: Handle,
        deadline: Option<Nanos>,
    ) -> Result<(), IoError> {
        let old = self.sources.get(stream)?.write_deadline.take();
        let timer = self.rearm(old, deadline, Purpose::Write(stream))?;
        self.sources.get(stream)?.write_deadline = timer;
        Ok(())
    }

    /// Writes bytes behind all that was written before. They are taken whole or not at all: what
    /// the kernel does not take now is copied and sent when it does. With a token, the write
    /// completes as `Written` when its last byte has left. Cost: one system call.
    ///
    /// # Errors
    /// [`Limit::WriteBytes`] or [`Limit::Writes`] when the peer reads too slowly: nothing was
    /// taken. A stale handle, a shut-down half, what is [watched](Io::watch), whose owner sends. A
    /// broken stream is not an error here: it completes.
    #[inline]
    pub fn write(
        &mut self,
        stream: Handle,
        bytes: &[u8],
        token: Option<u64>,
    ) -> Result<(), IoError> {
        self.write_parts(stream, &[bytes], token)
    }

    /// As [`Io::write`], of several parts in one system call.
    ///
    /// # Errors
    /// As [`Io::write`].
    pub fn write_parts(
        &mut self,
        stream: Handle,
        parts: &[&[u8]],
        token: Option<u64>,
    ) -> Result<(), IoError> {
        let writes_max = self.config.writes_max;
        let source = self.sources.get(stream)?;
        if source.kind != Kind::Stream || source.watched {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        if source.sending != Sending::Open {
            return Err(IoError::Misuse(Misuse::ShutDown));
        }
        let length = parts.iter().map(|part| part.len()).sum();
        source.out.has_room(length, writes_max)?;
        let mut sent = 0;
        if source.out.is_empty() && source.write_fault.is_none() && source.closing.is_none() {
            match self.kernel.send(stream.index, parts) {
                Ok(taken) => sent = taken.unwrap_or(0),
                Err(error) => source.write_fault = Some(error.into()),
            }
        }
        source.out.push(parts, sent, token);
        source.blocked = !source.out.is_empty();
        if source.has_work() {
            self.sources.queue(stream.index);
        }
        Ok(())
    }

    /// Sends one datagram, to `to` or to the connected peer. Returns whether the kernel took it.
    ///
    /// # Errors
    /// A stale handle; what the system says.
    pub fn send_to(
        &mut self,
        socket: Handle,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<bool, IoError> {
        if self.sources.get(socket)?.kind != Kind::Datagram {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        Ok(self.kernel.send_to(socket.index, bytes, to)?.is_some())
    }

    /// Bytes that wait for the kernel to take them.
    ///
    /// # Errors
    /// A stale handle.
    pub fn unsent_bytes(&mut self, stream: Handle) -> Result<usize, IoError> {
        Ok(self.sources.get(stream)?.out.waiting())
    }

    /// Closes the sending half once everything is sent; the peer then reads an end.
    ///
    /// # Errors
    /// A stale handle; not a stream.
    pub fn shut_down(&mut self, stream: Handle) -> Result<(), IoError> {
        let source = self.sources.get(stream)?;
        if source.kind != Kind::Stream {
            return Err(IoError::Misuse(Misuse::WrongKind));
        }
        if source.sending == Sending::Open {
            source.sending = Sending::Ending;
        }
        self.end_sending(stream.index);
        Ok(())
    }

    /// Cancels an operation: receiving, accepting or connecting, or the writes that wait. It
    /// completes as `Failed` with `Cancelled`; if none is under way, nothing happens. Cancelling
    /// writes or a connect closes the stream too, for part of it may have left.
    ///
    /// # Errors
    /// A stale handle.
    pub fn cancel(&mut self, source: Handle, operation: Operation) -> Result<(), IoError> {
        self.fail(source, operation, IoError::Cancelled)
    }

    /// Closes a source now. Everything under way completes as `Cancelled`, then the source as
    /// `Closed`.
    ///
    /// # Errors
    /// A stale handle.
    pub fn close(&mut self, source: Handle) -> Result<(), IoError> {
        self.close_because(source, Some(IoError::Cancelled))
    }

    /// Closes a stream as it should end: what was written is sent, the sending half shut down, and
    /// the stream closed when the peer has ended too; at `deadline` in any case. At once when no
    /// timer is left for that: without one it could take for ever.
    ///
    /// # Errors
    /// A stale handle.
    pub fn close_gracefully(&mut self, source: Handle, deadline: Nanos) -> Result<(), IoError> {
        let found = self.sources.get(source)?;
        if found.kind != Kind::Stream {
            return self.close_because(source, None);
        }
        let old = found.life_deadline.take();
        let Ok(timer) = self.rearm(old, Some(deadline), Purpose::Life(source)) else {
            return self.close_because(source, None);
        };
        let found = self.sources.get(source)?;
        found.life_deadline = timer;
        found.graceful = true;
        if found.ended {
            found.receiving = false;
        }
        self.shut_down(source)?;
        let _ = self.receive(source);
        self.close_if_over(source.index);
        Ok(())
    }

    /// Closes everything as it should end: listeners now, streams gracefully by `deadline`. `run`
    /// returns when all are closed and no timer is armed.
    pub fn drain(&mut self, deadline: Nanos) {
        let mut place = 0;
        while let Some(source) = self.sources.at(place) {
            if source.kind != Kind::Free {
                let handle = self.sources.handle(place);
                // The handle is not stale.
                let _ = self.close_gracefully(handle, deadline);
            }
            place += 1;
        }
    }

    /// Arms a timer. It completes once, at or after `deadline`.
    ///
    /// # Errors
    /// [`Limit::Timers`].
    pub fn timer_at(&mut self, deadline: Nanos, token: u64) -> Result<TimerId, IoError> {
        self.arm(deadline, Purpose::User(token))
    }

    /// Arms a timer for `first` and every `period` after that, on the grid: a late completion does
    /// not shift the next one.
    ///
    /// # Errors
    /// [`Limit::Timers`]; a period that is not positive.
    pub fn timer_every(
        &mut self,
        first: Nanos,
        period: Nanos,
        token: u64,
    ) -> Result<TimerId, IoError> {
        if period <= Nanos::ZERO {
            return Err(IoError::Misuse(Misuse::ZeroPeriod));
        }
        let armed = self.timers.arm(first, Some(period), Purpose::User(token));
        armed.ok_or(IoError::Limit(Limit::Timers))
    }

    /// Takes a timer back, from anywhere, also from inside its own completion. False when it has
    /// gone off for good.
    pub fn cancel_timer(&mut self, timer: TimerId) -> bool {
        self.timers.cancel(timer)
    }

    /// Posts a message to this loop: it completes in a later turn, after I/O had its own.
    ///
    /// # Errors
    /// [`Limit::Posts`].
    pub fn post(&mut self, payload: &Payload) -> Result<(), IoError> {
        if self.posted.len() >= self.config.posts_max {
            return Err(IoError::Limit(Limit::Posts));
        }
        self.posted.push_back(*payload);
        Ok(())
    }

    /// What other threads post with.
    #[must_use]
    pub fn poster(&self) -> Poster {
        Poster::new(Arc::clone(&self.queue), Arc::clone(&self.bell))
    }

    /// Ends the run after this completion.
    pub const fn stop(&mut self) {
        self.stopping = true;
    }

    pub(crate) fn vacant(&self) -> Result<u32, IoError> {
        self.sources.vacant().ok_or(IoError::Limit(Limit::Sources))
    }

    pub(crate) fn open(&mut self, kind: Kind) -> Handle {
        let handle = self.sources.insert(kind, 1);
        if let (Kind::Stream | Kind::Connecting, Some(source)) =
            (kind, self.sources.at(handle.index))
        {
            source.out.reset(self.config.write_bytes_max, self.config.writes_max);
        }
        handle
    }

    fn arm(&mut self, deadline: Nanos, purpose: Purpose) -> Result<TimerId, IoError> {
        self.timers.arm(deadline, None, purpose).ok_or(IoError::Limit(Limit::Timers))
    }

    fn rearm(
        &mut self,
        old: Option<TimerId>,
        deadline: Option<Nanos>,
        purpose: Purpose,
    ) -> Result<Option<TimerId>, IoError> {
        if let Some(old) = old {
            self.timers.cancel(old);
        }
        deadline.map(|deadline| self.arm(deadline, purpose)).transpose()
    }

    /// Lets an operation complete as failed, at its next visit.
    pub(crate) fn fail(
        &mut self,
        handle: Handle,
        operation: Operation,
        error: IoError,
    ) -> Result<(), IoError> {
        let source = self.sources.get(handle)?;
        match (operation, source.kind) {
            (Operation::Connect, Kind::Connecting) => {
                return self.close_because(handle, Some(error));
            }
            (Operation::Accept, Kind::Listener) => return self.close_because(handle, Some(error)),
            (Operation::Receive, Kind::Stream | Kind::Datagram) if source.receiving => {
                source.receiving = false;
                source.receive_fault = Some(error);
                // That of this receive; one that is set from now on is the next one's.
                if let Some(timer) = source.receive_deadline.take() {
                    self.timers.cancel(timer);
                }
                self.kernel.stop_receiving(handle.index)?;
            }
            (Operation::Write, Kind::Stream) if !source.out.is_empty() => {
                source.write_fault = Some(error);
            }
            _ => return Ok(()),
        }
        self.sources.queue(handle.index);
        Ok(())
    }

    /// Closes at the next visit.
    pub(crate) fn close_because(
        &mut self,
        handle: Handle,
        reason: Option<IoError>,
    ) -> Result<(), IoError> {
        let source = self.sources.get(handle)?;
        source.closing.get_or_insert(reason);
        self.sources.queue(handle.index);
        Ok(())
    }

    /// Shuts the sending half down if that is wanted and everything is sent.
    pub(crate) fn end_sending(&mut self, place: u32) {
        let Some(source) = self.sources.at(place) else { return };
        if source.sending == Sending::Ending && source.out.is_empty() {
            source.sending = Sending::ShutDown;
            if let Err(error) = self.kernel.shut_down_send(place) {
                source.closing.get_or_insert(Some(error.into()));
                self.sources.queue(place);
            }
        }
    }

    /// Closes a stream that ends gracefully once both halves are over.
    pub(crate) fn close_if_over(&mut self, place: u32) {
        let over = |source: &&mut Source| {
            source.graceful && source.ended && source.sending == Sending::ShutDown
        };
        if let Some(source) = self.sources.at(place).filter(over) {
            source.closing.get_or_insert(None);
            self.sources.queue(place);
        }
    }
}

impl<K: Kernel> fmt::Debug for Io<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io")
            .field("sources", &self.sources.open())
            .field("timers", &self.timers.len())
            .finish_non_exhaustive()
    }
}
