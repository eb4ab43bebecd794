//! What the kernels on Linux share: the sockets, and every call that does not depend on how
//! readiness is learnt.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Doorbell, Granted,
    Readiness, Socket, StreamOptions, SysError, monotonic,
};
use taut_types::Nanos;

use super::{Adopted, Bell, Calls, Kernel, Received};

/// Bytes that one receive from a stream can take.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Datagrams that one call can take, and their size (jumbo frames fit); with receive offload fewer
/// and larger ones.
const BATCH: (usize, usize) = (32, 9216);
const BATCH_COALESCED: (usize, usize) = (8, 65_536);
/// How many turns pass between two looks at what is not hot, when only hot sources are open.
const TURNS_PER_COLD_LOOK: u32 = 64;

/// What a socket is, as far as a notifier cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Waits for connections.
    Listener,
    /// A connected stream socket.
    Stream,
    /// Datagrams: readiness to read is all that is asked.
    Datagram,
    /// A pipe, a connection under way: readiness is all that is asked.
    Plain,
}

/// How readiness is learnt, and maybe how streams are received.
pub trait Notifier {
    /// What a completed receive leaves.
    type Lease;
    /// Where such leases lie.
    type Buffers;

    /// The buffers; asked for once.
    fn buffers(&mut self) -> Self::Buffers;
    /// The bytes of a lease.
    fn bytes<'b>(buffers: &'b Self::Buffers, lease: &'b Self::Lease) -> &'b [u8];
    /// Takes a lease back.
    fn release(&mut self, lease: Self::Lease);
    /// A socket came to a place.
    ///
    /// # Errors
    /// What the system says, here and below.
    fn attach(&mut self, place: u32, socket: &Socket, class: Class) -> Result<(), SysError>;
    /// A connection under way stands.
    ///
    /// # Errors
    /// What the system says.
    fn connected(&mut self, place: u32) -> Result<(), SysError>;
    /// The socket at a place goes.
    fn detach(&mut self, place: u32, socket: &Socket);
    /// Its bytes are wanted.
    ///
    /// # Errors
    /// What the system says.
    fn start_receiving(&mut self, place: u32) -> Result<(), SysError>;
    /// Its owner reads it by calls: readiness is all that is asked from now on.
    ///
    /// # Errors
    /// What the system says; `EBUSY` when it receives by itself already.
    fn watch(&mut self, place: u32) -> Result<(), SysError>;
    /// They are not wanted any more.
    ///
    /// # Errors
    /// What the system says.
    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError>;
    /// A send found no room.
    ///
    /// # Errors
    /// What the system says.
    fn want_writable(&mut self, place: u32) -> Result<(), SysError>;
    /// Somebody else looks for what arrives, or no longer does.
    ///
    /// # Errors
    /// What the system says.
    fn set_hot(&mut self, place: u32, socket: &Socket, hot: bool) -> Result<(), SysError>;
    /// A receive that completed by itself; `None` when this place is received by a call.
    fn take(&mut self, place: u32) -> Option<Result<Received<Self::Lease>, SysError>>;
    /// Reports what is ready, as [`Kernel::wait`].
    ///
    /// # Errors
    /// What the system says.
    fn wait(
        &mut self,
        span: Option<Nanos>,
        calls: &mut Calls,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError>;
}

struct Entry {
    socket: Socket,
    /// The peer ended or the connection broke: no further edge will tell, so read to the end.
    ended: bool,
    hot: bool,
    reads: Reads,
}

/// What a read that did not fill its room says.
enum Reads {
    /// Nothing is left behind it, as on a TCP stream.
    All,
    /// There may be more: a Unix stream ends a read at a message that brought descriptors, a
    /// terminal at the end of a line.
    InParts,
    /// Datagrams, several of them with one call.
    Datagrams(Datagrams),
}

struct Datagrams {
    coalesce: bool,
    /// Taken when receiving starts: who reads a socket itself has a batch of its own.
    batch: Option<DatagramBatch>,
    next: usize,
    /// The batch was read before receiving started once more: what has come since may have filled
    /// the socket, and then there is no edge any more.
    is_old: bool,
}

/// A kernel over Linux sockets.
pub struct Linux<N> {
    notifier: N,
    entries: Box<[Option<Entry>]>,
    hot: Vec<u32>,
    cold: usize,
    turns_until_cold_look: u32,
    bell: Doorbell,
    calls: Calls,
}

/// Received bytes of a loop on Linux.
pub struct LinuxBuffers<B> {
    scratch: Box<[u8]>,
    info: DatagramInfo,
    own: B,
}

/// A run of received bytes.
#[derive(Debug)]
pub enum LinuxLease<L> {
    /// That many bytes of a stream, in the scratch buffer.
    Bytes(usize),
    /// A datagram of that many bytes, there too.
    Datagram(usize),
    /// In a buffer of the notifier.
    Own(L),
}

impl<N: Notifier> Linux<N> {
    /// `bell` is attached to the notifier already.
    pub(super) fn with(notifier: N, sources_max: usize, bell: Doorbell) -> Self {
        Self {
            notifier,
            entries: (0..sources_max).map(|_| None).collect(),
            hot: Vec::with_capacity(sources_max),
            cold: 0,
            turns_until_cold_look: 0,
            bell,
            calls: Calls::default(),
        }
    }

    pub(super) const fn notifier(&self) -> &N {
        &self.notifier
    }

    #[inline]
    fn socket_at(&self, place: u32) -> Result<&Socket, SysError> {
        let entry = self.entries.get(place as usize).and_then(Option::as_ref);
        entry.map(|entry| &entry.socket).ok_or(GONE)
    }

    fn entry(&mut self, place: u32) -> Result<&mut Entry, SysError> {
        self.entries.get_mut(place as usize).and_then(Option::as_mut).ok_or(GONE)
    }

    fn put(
        &mut self,
        place: u32,
        socket: Socket,
        class: Class,
        reads: Reads,
    ) -> Result<(), SysError> {
        self.notifier.attach(place, &socket, class)?;
        match self.entries.get_mut(place as usize) {
            Some(entry) => {
                *entry = Some(Entry { socket, ended: false, hot: false, reads });
                self.cold += 1;
                Ok(())
            }
            None => Err(GONE),
        }
    }
}

const fn reads_of(peer: &Address) -> Reads {
    if matches!(peer, Address::Inet(_)) { Reads::All } else { Reads::InParts }
}

const GONE: SysError = SysError::from_errno("source", 9);

impl Bell for Doorbell {
    fn ring(&self) {
        Self::ring(self);
    }
}

impl<N: Notifier> Kernel for Linux<N> {
    type Buffers = LinuxBuffers<N::Buffers>;
    type Lease = LinuxLease<N::Lease>;
    type Bell = Doorbell;

    fn buffers(&mut self) -> Self::Buffers {
        LinuxBuffers {
            scratch: alloc::vec![0; SCRATCH_BYTES].into_boxed_slice(),
            info: DatagramInfo::default(),
            own: self.notifier.buffers(),
        }
    }

    #[inline]
    fn bytes<'b>(buffers: &'b Self::Buffers, lease: &'b Self::Lease) -> &'b [u8] {
        match lease {
            LinuxLease::Bytes(length) | LinuxLease::Datagram(length) => {
                buffers.scratch.get(..*length).unwrap_or(&[])
            }
            LinuxLease::Own(lease) => N::bytes(&buffers.own, lease),
        }
    }

    fn info(buffers: &Self::Buffers, lease: &Self::Lease) -> Option<DatagramInfo> {
        matches!(lease, LinuxLease::Datagram(_)).then_some(buffers.info)
    }

    #[inline]
    fn release(&mut self, lease: Self::Lease) {
        if let LinuxLease::Own(lease) = lease {
            self.notifier.release(lease);
        }
    }

    #[inline]
    fn now(&self) -> Nanos {
        monotonic()
    }

    fn bell(&self) -> Result<Doorbell, SysError> {
        self.bell.try_clone()
    }

    fn listen(
        &mut self,
        place: u32,
        at: &Address,
        options: &StreamOptions,
    ) -> Result<(), SysError> {
        self.put(place, Socket::listen(at, options)?, Class::Listener, Reads::All)
    }

    fn accept(
        &mut self,
        listener: u32,
        stream: u32,
        options: &StreamOptions,
    ) -> Result<Option<Address>, SysError> {
        let Some((socket, peer)) = self.socket_at(listener)?.accept()? else { return Ok(None) };
        let peer = match peer {
            Some(peer) => peer,
            None => Address::unix("")?,
        };
        if matches!(peer, Address::Inet(_)) {
            socket.apply(options)?;
        }
        self.put(stream, socket, Class::Stream, reads_of(&peer))?;
        Ok(Some(peer))
    }

    fn connect(
        &mut self,
        place: u32,
        to: &Address,
        options: &StreamOptions,
    ) -> Result<ConnectProgress, SysError> {
        let (socket, progress) = Socket::connect(to, options)?;
        self.put(place, socket, Class::Plain, reads_of(to))?;
        Ok(progress)
    }

    fn connect_result(&mut self, place: u32) -> Result<(), SysError> {
        self.socket_at(place)?.connect_result()?;
        self.notifier.connected(place)
    }

    fn datagram(
        &mut self,
        place: u32,
        at: &Address,
        options: &DatagramOptions,
    ) -> Result<(), SysError> {
        let socket = Socket::datagram(at, options)?;
        self.adopt(place, socket, Adopted::Datagram { coalesce: options.coalesce })
    }

    fn adopt(&mut self, place: u32, socket: Socket, adopted: Adopted) -> Result<(), SysError> {
        let (class, reads) = match adopted {
            Adopted::Listener => (Class::Listener, Reads::All),
            Adopted::Stream if socket.is_socket() => {
                let reads = socket.local_address().map_or(Reads::InParts, |at| reads_of(&at));
                (Class::Stream, reads)
            }
            Adopted::Stream => (Class::Plain, Reads::InParts),
            Adopted::Datagram { coalesce } => {
                let datagrams = Datagrams { coalesce, batch: None, next: 0, is_old: false };
                (Class::Datagram, Reads::Datagrams(datagrams))
            }
        };
        self.put(place, socket, class, reads)
    }

    fn socket(&self, place: u32) -> Result<&Socket, SysError> {
        self.socket_at(place)
    }

    fn start_receiving(&mut self, place: u32) -> Result<(), SysError> {
        if let Reads::Datagrams(datagrams) = &mut self.entry(place)?.reads {
            let Datagrams { coalesce, batch, is_old, .. } = datagrams;
            *is_old = true;
            let (count, bytes) = if *coalesce { BATCH_COALESCED } else { BATCH };
            batch.get_or_insert_with(|| DatagramBatch::new(count, bytes));
        }
        self.notifier.start_receiving(place)
    }

    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError> {
        self.notifier.stop_receiving(place)
    }

    #[inline]
    fn receive(
        &mut self,
        place: u32,
        buffers: &mut Self::Buffers,
    ) -> Result<Received<Self::Lease>, SysError> {
        let entry = self.entries.get_mut(place as usize).and_then(Option::as_mut).ok_or(GONE)?;
        if let Reads::Datagrams(datagrams) = &mut entry.reads {
            return receive_datagram(&entry.socket, datagrams, buffers, &mut self.calls, entry.hot);
        }
        if !entry.hot
            && let Some(taken) = self.notifier.take(place)
        {
            return taken.map(|received| match received {
                Received::Nothing => Received::Nothing,
                Received::End => Received::End,
                Received::Some { lease, more } => {
                    Received::Some { lease: LinuxLease::Own(lease), more }
                }
            });
        }
        let received = entry.socket.receive(&mut buffers.scratch);
        count(&mut self.calls, entry.hot && received == Ok(None));
        Ok(match received? {
            None => Received::Nothing,
            Some(0) => Received::End,
            // Less than there is room for means mostly that nothing is left, and a new arrival is a
            // new edge; only the end that has been announced already has none.
            Some(length) => Received::Some {
                lease: LinuxLease::Bytes(length),
                more: entry.ended
                    || length == buffers.scratch.len()
                    || matches!(entry.reads, Reads::InParts),
            },
        })
    }

    #[inline]
    fn send(&mut self, place: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        let socket = self.socket_at(place)?;
        let wanted: usize = parts.iter().map(|part| part.len()).sum();
        let sent = match parts {
            [bytes] | [bytes, []] => socket.send(bytes)?,
            parts => socket.send_parts(parts)?,
        };
        self.calls.io += 1;
        if sent.unwrap_or(0) < wanted {
            self.notifier.want_writable(place)?;
        }
        Ok(sent)
    }

    fn watch(&mut self, place: u32) -> Result<(), SysError> {
        self.notifier.watch(place)
    }

    #[inline(always)]
    fn read(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError> {
        let entry = self.entries.get_mut(place as usize).and_then(Option::as_mut).ok_or(GONE)?;
        // One look at the result: this is once per datagram of some channels.
        match entry.socket.receive(into) {
            Ok(Some(length)) => {
                self.calls.io += 1;
                if length == 0 && !matches!(entry.reads, Reads::Datagrams(_)) {
                    return Ok(Received::End);
                }
                // As in `receive`.
                let more =
                    !matches!(entry.reads, Reads::All) || entry.ended || length == into.len();
                Ok(Received::Some { lease: length, more })
            }
            Ok(None) => {
                count(&mut self.calls, entry.hot);
                Ok(Received::Nothing)
            }
            Err(error) => {
                self.calls.io += 1;
                Err(error)
            }
        }
    }

    #[inline(always)]
    fn receive_batch(&mut self, place: u32, batch: &mut DatagramBatch) -> Result<usize, SysError> {
        let entry = self.entries.get_mut(place as usize).and_then(Option::as_mut).ok_or(GONE)?;
        let received = entry.socket.receive_batch(batch);
        count(&mut self.calls, entry.hot && received == Ok(0));
        received
    }

    #[inline]
    fn send_batch(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.calls.io += 1;
        self.socket_at(place)?.send_batch(datagrams, to)
    }

    #[inline(always)]
    fn send_segmented(
        &mut self,
        place: u32,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.calls.io += 1;
        self.socket_at(place)?.send_segmented_to(bytes, segment_bytes, to)
    }

    #[inline(always)]
    fn send_to(
        &mut self,
        place: u32,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        self.calls.io += 1;
        let socket = self.socket_at(place)?;
        match to {
            Some(to) => socket.send_to(bytes, to),
            None => socket.send(bytes),
        }
    }

    fn shut_down_send(&mut self, place: u32) -> Result<(), SysError> {
        let socket = self.socket_at(place)?;
        // A pipe's end has no half to shut: it is closed with the source.
        if socket.is_socket() { socket.shut_down_send() } else { Ok(()) }
    }

    fn close(&mut self, place: u32) {
        if let Some(entry) = self.entries.get_mut(place as usize).and_then(Option::take) {
            if entry.hot {
                self.hot.retain(|hot| *hot != place);
            } else {
                self.cold -= 1;
            }
            self.notifier.detach(place, &entry.socket);
        }
    }

    fn set_hot(&mut self, place: u32, hot: bool) -> Result<(), SysError> {
        let entry = self.entries.get_mut(place as usize).and_then(Option::as_mut).ok_or(GONE)?;
        if entry.hot == hot {
            return Ok(());
        }
        self.notifier.set_hot(place, &entry.socket, hot)?;
        entry.hot = hot;
        if hot {
            self.hot.push(place);
            self.cold -= 1;
        } else {
            self.hot.retain(|other| *other != place);
            self.cold += 1;
        }
        Ok(())
    }

    fn local_address(&self, place: u32) -> Result<Address, SysError> {
        self.socket_at(place)?.local_address()
    }

    fn granted(&self, place: u32) -> Result<Granted, SysError> {
        self.socket_at(place)?.granted()
    }

    #[inline]
    fn wait(
        &mut self,
        span: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        let mut reported = self.hot.len();
        let span = if self.hot.is_empty() { span } else { Some(Nanos::ZERO) };
        let look = Readiness { readable: true, writable: false, ended: false };
        self.hot.iter().for_each(|place| report(*place, look));
        if self.cold == 0 && !self.hot.is_empty() && self.turns_until_cold_look > 0 {
            self.turns_until_cold_look -= 1;
            return Ok(reported);
        }
        self.turns_until_cold_look = TURNS_PER_COLD_LOOK;
        let entries = &mut self.entries;
        reported += self.notifier.wait(span, &mut self.calls, &mut |place, ready| {
            if ready.ended
                && let Some(Some(entry)) = entries.get_mut(place as usize)
            {
                entry.ended = true;
            }
            report(place, ready);
        })?;
        Ok(reported)
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}

fn receive_datagram<B, L>(
    socket: &Socket,
    datagrams: &mut Datagrams,
    buffers: &mut LinuxBuffers<B>,
    calls: &mut Calls,
    hot: bool,
) -> Result<Received<LinuxLease<L>>, SysError> {
    let Datagrams { batch: Some(batch), next, is_old, .. } = datagrams else {
        return Ok(Received::Nothing);
    };
    if *next >= batch.received() {
        (*next, *is_old) = (0, false);
        let received = socket.receive_batch(batch);
        count(calls, hot && received == Ok(0));
        if received? == 0 {
            return Ok(Received::Nothing);
        }
    }
    let bytes = batch.bytes(*next);
    let length = bytes.len().min(buffers.scratch.len());
    buffers.scratch[..length].copy_from_slice(&bytes[..length]);
    buffers.info = batch.info(*next);
    *next += 1;
    // A batch that was not filled has emptied the queue, when it was read.
    let more = *next < batch.received() || batch.is_full() || *is_old;
    Ok(Received::Some { lease: LinuxLease::Datagram(length), more })
}

const fn count(calls: &mut Calls, idle: bool) {
    if idle {
        calls.idle += 1;
    } else {
        calls.io += 1;
    }
}

impl<N> fmt::Debug for Linux<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linux").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for LinuxBuffers<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinuxBuffers")
    }
}
