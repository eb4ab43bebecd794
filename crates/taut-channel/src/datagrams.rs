//! Sending and receiving datagrams on the loop, many with one call, with loss on purpose where it
//! is asked for: the one place of channels over UDP where that is.

use std::net::SocketAddr;

use taut_io::{Handle, Io, Kernel};
use taut_sys::{DatagramBatch, SEND_BATCH_MAX, SysError};

use crate::loss::Loss;

const INVALID: i32 = 22;
const IO: i32 = 5;
const NOT_SUPPORTED: i32 = 95;
const REFUSED: i32 = 111;

/// A run of datagrams of one length, the last one maybe shorter, and where they go: to the
/// connected peer without an address.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) socket: Handle,
    pub(crate) bytes: &'a [u8],
    pub(crate) segment_bytes: usize,
    pub(crate) to: Option<&'a SocketAddr>,
}

impl<'a> Run<'a> {
    fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.chunks(self.segment_bytes.max(1))
    }
}

/// What becomes of a channel's datagrams besides travelling.
#[derive(Debug)]
pub(crate) struct Datagrams {
    loss: Option<Loss>,
    /// The kernel splits runs into datagrams.
    has_offload: bool,
    /// Datagrams sent and received.
    pub(crate) transfers: u64,
    /// Datagrams that the injected loss dropped.
    pub(crate) injected: u64,
    /// Sends that the kernel refused.
    pub(crate) failed: u64,
    /// Datagrams that came back from a port where nobody listens.
    pub(crate) echoes: u64,
}

impl Datagrams {
    pub(crate) const fn new(loss: Option<Loss>) -> Self {
        Self { loss, has_offload: true, transfers: 0, injected: 0, failed: 0, echoes: 0 }
    }

    /// Sends a run. False when the kernel has no room now; what it
    /// refuses otherwise counts as lost on the way.
    #[inline(always)]
    pub(crate) fn send<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>) -> bool {
        if self.loss.is_some() {
            return self.send_with_loss(io, run);
        }
        // Most messages are sent as soon as they are offered, each as a datagram by itself.
        if run.bytes.len() <= run.segment_bytes {
            self.transfers += 1;
            return self.send_one(io, run);
        }
        self.send_all(io, run)
    }

    /// The datagrams that the loss spares, in runs as long as they are.
    #[cold]
    fn send_with_loss<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>) -> bool {
        let (mut from, mut at) = (0, 0);
        for datagram in run.datagrams() {
            if self.drops() {
                if let Some(bytes) = run.bytes.get(from..at).filter(|bytes| !bytes.is_empty()) {
                    self.send_all(io, Run { bytes, ..run });
                }
                from = at + datagram.len();
            }
            at += datagram.len();
        }
        if let Some(bytes) = run.bytes.get(from..).filter(|bytes| !bytes.is_empty()) {
            self.send_all(io, Run { bytes, ..run });
        }
        true
    }

    fn send_all<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>) -> bool {
        let Run { socket, bytes, segment_bytes, to } = run;
        self.transfers += bytes.len().div_ceil(segment_bytes.max(1)) as u64;
        if bytes.len() <= segment_bytes {
            return self.send_one(io, run);
        }
        if !self.has_offload {
            return self.send_singly(io, run);
        }
        for _ in 0..2 {
            match io.send_segmented(socket, bytes, segment_bytes as u16, to) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(error) if is_echo(error) => self.echoes += 1,
                Err(error) => {
                    if [INVALID, IO, NOT_SUPPORTED].contains(&error.errno()) {
                        self.has_offload = false;
                        return self.send_singly(io, run);
                    }
                    self.failed += 1;
                    return true;
                }
            }
        }
        true
    }

    /// One datagram. False when the kernel has no room now.
    #[inline(always)]
    fn send_one<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>) -> bool {
        match io.send_datagram(run.socket, run.bytes, run.to) {
            Ok(sent) => sent.is_some(),
            Err(error) => self.send_again(io, run, error),
        }
    }

    /// After an error, which an echo is not: this datagram has then not been tried.
    #[cold]
    fn send_again<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>, error: SysError) -> bool {
        self.echoes += u64::from(is_echo(error));
        let sent = match is_echo(error) {
            true => io.send_datagram(run.socket, run.bytes, run.to),
            false => Err(error),
        };
        match sent {
            Ok(sent) => sent.is_some(),
            Err(error) => {
                self.failed += u64::from(!is_echo(error));
                true
            }
        }
    }

    fn send_singly<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>) -> bool {
        let mut datagrams = run.datagrams();
        let mut is_first = true;
        loop {
            let mut batch = [&[][..]; SEND_BATCH_MAX];
            let mut count = 0;
            for (place, datagram) in batch.iter_mut().zip(&mut datagrams) {
                *place = datagram;
                count += 1;
            }
            let Some(batch) = batch.get(..count).filter(|batch| !batch.is_empty()) else {
                return true;
            };
            match self.send_batch(io, run, batch) {
                // Only of a run of which nothing has left yet is more to be had by waiting.
                0 if is_first => return false,
                sent if sent < count => return true,
                _ => is_first = false,
            }
        }
    }

    fn send_batch<K: Kernel>(&mut self, io: &mut Io<K>, run: Run<'_>, batch: &[&[u8]]) -> usize {
        for _ in 0..2 {
            match io.send_batch(run.socket, batch, run.to) {
                Ok(sent) => return sent,
                Err(error) if is_echo(error) => self.echoes += 1,
                Err(_) => {
                    self.failed += 1;
                    return batch.len();
                }
            }
        }
        batch.len()
    }

    /// Takes what has arrived, datagram by datagram. Returns how many receive buffers were filled.
    #[inline]
    pub(crate) fn receive<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        socket: Handle,
        batch: &mut DatagramBatch,
        mut handle: impl FnMut(SocketAddr, &[u8]),
    ) -> usize {
        let count = match io.receive_batch(socket, batch) {
            Ok(count) => count,
            // An echo of what was sent to nobody: the next call tells what is there.
            Err(error) => {
                self.echoes += u64::from(is_echo(error));
                0
            }
        };
        for place in 0..count {
            let info = batch.info(place);
            let (Some(from), false) = (info.from, info.truncated) else { continue };
            let bytes = batch.bytes(place);
            let segment = info.segment_bytes.map_or(bytes.len(), usize::from).max(1);
            for datagram in bytes.chunks(segment) {
                self.transfers += 1;
                if !self.drops() {
                    handle(from, datagram);
                }
            }
        }
        count
    }

    /// Whether the next datagram is dropped on purpose.
    #[inline]
    pub(crate) fn drops(&mut self) -> bool {
        let Some(loss) = &mut self.loss else { return false };
        let drops = loss.drops();
        self.injected += u64::from(drops);
        drops
    }
}

/// The error of a datagram that was sent before, to a port where nobody listens.
fn is_echo(error: SysError) -> bool {
    error.errno() == REFUSED
}
