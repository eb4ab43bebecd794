//! A kernel whose answers stand on the thread's tape: of a real kernel while they are written down,
//! of nobody while they are given again.
//!
//! A turn in which nothing arrives and nothing is sent is no turn ([`tape::mark_effect`]): what
//! looks that found nothing answer is written too, and thrown away with it.

mod answers;

use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use taut_sys::tape::{self, Get, Heard, Put};
use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Granted, Readiness,
    Socket, StreamOptions, SysError,
};
use taut_types::Nanos;

use self::answers::{
    get_address, get_granted, get_info, get_length, get_option, get_received, put_address,
    put_granted, put_info, put_option, put_received,
};

use super::traffic::{Traffic, Witness};
use super::{Adopted, Bell, Calls, Kernel, NOT_REAL, Received};

/// Any kernel, and none: see the module.
pub struct TapedKernel<K> {
    live: Option<K>,
    /// Of a kernel that is none.
    calls: Calls,
    /// The first 64 places that are hot: a look at these says nothing yet.
    hot: u64,
    /// Those whose bytes are sealed: how many there were is written down.
    sealed: u64,
    /// Who sees what passes, of a kernel that is none.
    witness: Option<Witness>,
}

/// Received bytes: the kernel's, and those of the tape.
#[derive(Debug)]
pub struct TapedBuffers<B> {
    live: Option<B>,
    given: Vec<u8>,
}

/// A run of received bytes.
#[derive(Debug)]
pub enum TapedLease<L> {
    /// The kernel's.
    Live(L),
    /// From the tape: a datagram's information, too.
    Given(Option<DatagramInfo>),
}

/// What wakes the kernel's wait; one that is none does not wait.
#[derive(Debug)]
pub struct TapedBell<B>(Option<B>);

impl<B: Bell> Bell for TapedBell<B> {
    fn ring(&self) {
        if let Some(bell) = &self.0 {
            bell.ring();
        }
    }
}

impl<K> TapedKernel<K> {
    /// A kernel that can be written down.
    #[must_use]
    pub const fn live(kernel: K) -> Self {
        Self {
            live: Some(kernel),
            calls: Calls { io: 0, idle: 0 },
            hot: 0,
            sealed: 0,
            witness: None,
        }
    }

    /// None: every answer is the tape's.
    #[must_use]
    pub const fn given() -> Self {
        Self { live: None, calls: Calls { io: 0, idle: 0 }, hot: 0, sealed: 0, witness: None }
    }

    /// The same, and somebody sees what passes: bytes that are not sealed, and whose they are.
    #[must_use]
    pub fn witnessed_by(self, witness: Witness) -> Self {
        Self { witness: Some(witness), ..self }
    }

    fn witness(&mut self, traffic: Traffic<'_>) {
        if let Some(witness) = &mut self.witness {
            witness(traffic);
        }
    }

    /// Shows what went out of a place.
    fn witness_out(&mut self, place: u32, parts: &[&[u8]], taken: usize, to: Option<&SocketAddr>) {
        if self.witness.is_some() && !is_in(self.sealed, place) {
            let bytes = parts.concat();
            let bytes = bytes.get(..taken).unwrap_or(&bytes);
            self.witness(Traffic::Out { place, bytes, to: to.copied() });
        }
    }

    /// The kernel below.
    #[must_use]
    pub const fn below(&self) -> Option<&K> {
        self.live.as_ref()
    }
}

/// Nobody is there to be asked.
const NOBODY: SysError = SysError::from_errno("call of a replayed kernel", 5);

impl<K: Kernel> TapedKernel<K> {
    /// A call with no answer but whether it worked: what was asked for is told, the answer heard.
    fn done(
        &mut self,
        call: Call,
        place: u32,
        act: impl FnOnce(&mut K) -> Result<(), SysError>,
    ) -> Result<(), SysError> {
        self.asked(Heard::Done, call, place, act, |(), _| (), |_| Some(()))
    }

    fn asked<T>(
        &mut self,
        what: Heard,
        call: Call,
        place: u32,
        act: impl FnOnce(&mut K) -> Result<T, SysError>,
        put: impl FnOnce(&T, &mut Put<'_>),
        get: impl FnOnce(&mut Get<'_>) -> Option<T>,
    ) -> Result<T, SysError> {
        tape::mark_effect();
        self.calls.io += u64::from(self.live.is_none());
        let live = &mut self.live;
        let asked = call as u64 | u64::from(place) << 8;
        tape::hear_or(
            what,
            || live.as_mut().map_or(Err(NOBODY), act),
            |answer, on| {
                on.number(asked);
                on.result(answer, put);
            },
            |from| {
                let is_same = from.number()? == asked;
                from.result(get).filter(|_| is_same)
            },
            || Err(NOBODY),
        )
    }

    fn sent(
        &mut self,
        place: u32,
        parts: &[&[u8]],
        act: impl FnOnce(&mut K) -> Result<Option<usize>, SysError>,
    ) -> Result<Option<usize>, SysError> {
        if is_in(self.sealed, place) {
            let length: usize = parts.iter().map(|part| part.len()).sum();
            tape::tell(Heard::Sent, &[&length.to_le_bytes()]);
        } else {
            tape::tell(Heard::Sent, parts);
        }
        let put = |taken: &Option<usize>, on: &mut Put<'_>| put_option(on, taken.map(|n| n as u64));
        let get = |from: &mut Get<'_>| {
            get_option(from)?.map_or(Some(None), |taken| usize::try_from(taken).ok().map(Some))
        };
        self.asked(Heard::Done, Call::Send, place, act, put, get)
    }
}

/// Which call an answer is of.
#[derive(Clone, Copy, Debug)]
enum Call {
    Listen = 1,
    Accept,
    Connect,
    ConnectResult,
    Datagram,
    StartReceiving,
    StopReceiving,
    Watch,
    Send,
    ShutDown,
    Close,
    Hot,
    Address,
    Granted,
}

/// Whether a place is looked at in every turn, so that a look that finds nothing leaves the loop as
/// it was. Of another place the loop remembers that it is to be looked at, until nothing is found.
const fn is_in(places: u64, place: u32) -> bool {
    place < u64::BITS && places >> place & 1 != 0
}

/// Whether it is an answer that no idle turn has.
fn is_something<L>(answer: &Result<Received<L>, SysError>) -> bool {
    !matches!(answer, Ok(Received::Nothing))
}

impl<K: Kernel> Kernel for TapedKernel<K> {
    type Buffers = TapedBuffers<K::Buffers>;
    type Lease = TapedLease<K::Lease>;
    type Bell = TapedBell<K::Bell>;

    fn buffers(&mut self) -> Self::Buffers {
        TapedBuffers { live: self.live.as_mut().map(K::buffers), given: Vec::new() }
    }

    #[inline]
    fn bytes<'b>(buffers: &'b Self::Buffers, lease: &'b Self::Lease) -> &'b [u8] {
        match (lease, &buffers.live) {
            (TapedLease::Live(lease), Some(live)) => K::bytes(live, lease),
            _ => &buffers.given,
        }
    }

    #[inline]
    fn info(buffers: &Self::Buffers, lease: &Self::Lease) -> Option<DatagramInfo> {
        match (lease, &buffers.live) {
            (TapedLease::Live(lease), Some(live)) => K::info(live, lease),
            (TapedLease::Given(info), _) => *info,
            _ => None,
        }
    }

    #[inline]
    fn release(&mut self, lease: Self::Lease) {
        if let (TapedLease::Live(lease), Some(live)) = (lease, &mut self.live) {
            live.release(lease);
        }
    }

    #[inline]
    fn now(&self) -> Nanos {
        let read = || self.live.as_ref().map_or(0, |live| live.now().0.cast_unsigned());
        Nanos(tape::time(read).cast_signed())
    }

    fn bell(&self) -> Result<Self::Bell, SysError> {
        Ok(TapedBell(self.live.as_ref().map(K::bell).transpose()?))
    }

    fn listen(
        &mut self,
        place: u32,
        at: &Address,
        options: &StreamOptions,
    ) -> Result<(), SysError> {
        self.done(Call::Listen, place, |live| live.listen(place, at, options))
    }

    fn accept(
        &mut self,
        listener: u32,
        stream: u32,
        options: &StreamOptions,
    ) -> Result<Option<Address>, SysError> {
        let put = |peer: &Option<Address>, on: &mut Put<'_>| {
            on.number(u64::from(peer.is_some()));
            if let Some(peer) = peer {
                put_address(peer, on);
            }
        };
        let get = |from: &mut Get<'_>| match from.number()? {
            0 => Some(None),
            _ => get_address(from).map(Some),
        };
        let act = |live: &mut K| live.accept(listener, stream, options);
        let accepted = self.asked(Heard::Opened, Call::Accept, stream, act, put, get)?;
        if let Some(peer) = &accepted {
            self.witness(Traffic::Stream { place: stream, peer: Some(peer), is_accepted: true });
        }
        Ok(accepted)
    }

    fn connect(
        &mut self,
        place: u32,
        to: &Address,
        options: &StreamOptions,
    ) -> Result<ConnectProgress, SysError> {
        let put = |progress: &ConnectProgress, on: &mut Put<'_>| {
            on.number(u64::from(*progress == ConnectProgress::Connected));
        };
        let get = |from: &mut Get<'_>| {
            let stands = from.number()? != 0;
            Some(if stands { ConnectProgress::Connected } else { ConnectProgress::Underway })
        };
        let act = |live: &mut K| live.connect(place, to, options);
        let progress = self.asked(Heard::Opened, Call::Connect, place, act, put, get)?;
        self.witness(Traffic::Stream { place, peer: Some(to), is_accepted: false });
        Ok(progress)
    }

    fn connect_result(&mut self, place: u32) -> Result<(), SysError> {
        self.done(Call::ConnectResult, place, |live| live.connect_result(place))
    }

    fn datagram(
        &mut self,
        place: u32,
        at: &Address,
        options: &DatagramOptions,
    ) -> Result<(), SysError> {
        self.done(Call::Datagram, place, |live| live.datagram(place, at, options))?;
        self.witness(Traffic::Datagrams { place, at: Some(at) });
        Ok(())
    }

    fn adopt(&mut self, place: u32, socket: Socket, adopted: Adopted) -> Result<(), SysError> {
        // Where it is read again it is opened there, by nobody.
        let call = match adopted {
            Adopted::Datagram { .. } => Call::Datagram,
            Adopted::Listener => Call::Listen,
            Adopted::Stream => Call::Connect,
        };
        self.done(call, place, |live| live.adopt(place, socket, adopted))?;
        match adopted {
            Adopted::Datagram { .. } => self.witness(Traffic::Datagrams { place, at: None }),
            Adopted::Stream => {
                self.witness(Traffic::Stream { place, peer: None, is_accepted: false });
            }
            Adopted::Listener => {}
        }
        Ok(())
    }

    fn socket(&self, place: u32) -> Result<&Socket, SysError> {
        self.live.as_ref().map_or(Err(NOT_REAL), |live| live.socket(place))
    }

    fn start_receiving(&mut self, place: u32) -> Result<(), SysError> {
        self.done(Call::StartReceiving, place, |live| live.start_receiving(place))
    }

    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError> {
        self.done(Call::StopReceiving, place, |live| live.stop_receiving(place))
    }

    #[inline]
    fn receive(
        &mut self,
        place: u32,
        buffers: &mut Self::Buffers,
    ) -> Result<Received<Self::Lease>, SysError> {
        let TapedBuffers { live: own, given } = buffers;
        let (Some(live), Some(own)) = (&mut self.live, own) else {
            self.calls.io += 1;
            let is_sealed = is_in(self.sealed, place);
            let get = |from: &mut Get<'_>| {
                let is_same = from.number()? == u64::from(place);
                let found = from.result(|from| {
                    get_received(from, |from| {
                        let info = if from.number()? != 0 { Some(get_info(from)?) } else { None };
                        given.clear();
                        match is_sealed {
                            true => given.resize(get_length(from)?, 0),
                            false => given.extend_from_slice(from.bytes()?),
                        }
                        Some(TapedLease::Given(info))
                    })
                });
                found.filter(|_| is_same)
            };
            let nothing = || Ok(Received::Nothing);
            let found = tape::hear_or(Heard::Arrived, nothing, |_, _| (), get, nothing);
            if let (Some(witness), false) = (&mut self.witness, is_sealed)
                && let Ok(Received::Some { lease: TapedLease::Given(info), .. }) = &found
            {
                witness(Traffic::In { place, bytes: given, info: info.as_ref() });
            }
            return found;
        };
        let received = live.receive(place, own);
        if tape::is_writing() {
            let is_sealed = is_in(self.sealed, place);
            if is_something(&received) || !is_in(self.hot, place) {
                tape::mark_effect();
            }
            let put = |received: &Received<K::Lease>, on: &mut Put<'_>| {
                put_received(received, on, |lease, on| {
                    let info = K::info(own, lease);
                    on.number(u64::from(info.is_some()));
                    if let Some(info) = info {
                        put_info(on, &info);
                    }
                    match is_sealed {
                        true => on.number(K::bytes(own, lease).len() as u64),
                        false => on.bytes(K::bytes(own, lease)),
                    }
                });
            };
            let put = |(): &(), on: &mut Put<'_>| {
                on.number(place.into());
                on.result(&received, put);
            };
            tape::hear(Heard::Arrived, || (), put, |_| None);
        }
        Ok(match received? {
            Received::Nothing => Received::Nothing,
            Received::End => Received::End,
            Received::Some { lease, more } => {
                Received::Some { lease: TapedLease::Live(lease), more }
            }
        })
    }

    #[inline]
    fn send(&mut self, place: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        match &mut self.live {
            Some(live) if !tape::is_writing() => live.send(place, parts),
            _ => {
                let taken = self.sent(place, parts, |live| live.send(place, parts))?;
                self.witness_out(place, parts, taken.unwrap_or(0), None);
                Ok(taken)
            }
        }
    }

    #[inline]
    fn send_to(
        &mut self,
        place: u32,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        match &mut self.live {
            Some(live) if !tape::is_writing() => live.send_to(place, bytes, to),
            _ => {
                let taken = self.sent(place, &[bytes], |live| live.send_to(place, bytes, to))?;
                self.witness_out(place, &[bytes], taken.unwrap_or(0), to);
                Ok(taken)
            }
        }
    }

    fn watch(&mut self, place: u32) -> Result<(), SysError> {
        self.done(Call::Watch, place, |live| live.watch(place))
    }

    #[inline]
    fn read(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError> {
        let Some(live) = &mut self.live else {
            self.calls.io += 1;
            let is_sealed = is_in(self.sealed, place);
            let get = |from: &mut Get<'_>| {
                let is_same = from.number()? == u64::from(place);
                let found = from.result(|from| {
                    get_received(from, |from| {
                        if is_sealed {
                            let length = get_length(from)?;
                            into.get_mut(..length)?.fill(0);
                            return Some(length);
                        }
                        let bytes = from.bytes()?;
                        into.get_mut(..bytes.len())?.copy_from_slice(bytes);
                        Some(bytes.len())
                    })
                });
                found.filter(|_| is_same)
            };
            let nothing = || Ok(Received::Nothing);
            let found = tape::hear_or(Heard::Arrived, nothing, |_, _| (), get, nothing);
            if let (Some(witness), false) = (&mut self.witness, is_sealed)
                && let Ok(Received::Some { lease: length, .. }) = found
            {
                let bytes = into.get(..length).unwrap_or(&[]);
                witness(Traffic::In { place, bytes, info: None });
            }
            return found;
        };
        let received = live.read(place, into);
        if tape::is_writing() {
            let is_sealed = is_in(self.sealed, place);
            if is_something(&received) || !is_in(self.hot, place) {
                tape::mark_effect();
            }
            let put = |received: &Received<usize>, on: &mut Put<'_>| {
                put_received(received, on, |length, on| match is_sealed {
                    true => on.number(*length as u64),
                    false => on.bytes(into.get(..*length).unwrap_or(&[])),
                });
            };
            let put = |(): &(), on: &mut Put<'_>| {
                on.number(place.into());
                on.result(&received, put);
            };
            tape::hear(Heard::Arrived, || (), put, |_| None);
        }
        received
    }

    fn receive_batch(&mut self, place: u32, batch: &mut DatagramBatch) -> Result<usize, SysError> {
        // Whose owner reads in batches is not written down.
        self.live.as_mut().map_or(Err(NOT_REAL), |live| live.receive_batch(place, batch))
    }

    fn send_batch(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let act = |live: &mut K| live.send_batch(place, datagrams, to).map(Some);
        let sent = self.sent(place, datagrams, act)?.unwrap_or(0);
        for datagram in datagrams.iter().take(sent) {
            self.witness_out(place, &[datagram], datagram.len(), to);
        }
        Ok(sent)
    }

    fn send_segmented(
        &mut self,
        place: u32,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let act = |live: &mut K| live.send_segmented(place, bytes, segment_bytes, to).map(Some);
        let sent = self.sent(place, &[bytes], act)?.unwrap_or(0);
        let segments = bytes.get(..sent).unwrap_or(bytes).chunks(segment_bytes.max(1).into());
        for segment in segments {
            self.witness_out(place, &[segment], segment.len(), to);
        }
        Ok(sent)
    }

    fn shut_down_send(&mut self, place: u32) -> Result<(), SysError> {
        self.done(Call::ShutDown, place, |live| live.shut_down_send(place))
    }

    fn close(&mut self, place: u32) {
        let others = !1_u64.checked_shl(place).unwrap_or(0);
        (self.hot, self.sealed) = (self.hot & others, self.sealed & others);
        let act = |live: &mut K| {
            live.close(place);
            Ok(())
        };
        let _ = self.done(Call::Close, place, act);
        self.witness(Traffic::Closed { place });
    }

    fn set_hot(&mut self, place: u32, hot: bool) -> Result<(), SysError> {
        let bit = 1_u64.checked_shl(place).unwrap_or(0);
        self.hot = if hot { self.hot | bit } else { self.hot & !bit };
        self.done(Call::Hot, place, |live| live.set_hot(place, hot))
    }

    fn seal(&mut self, place: u32) {
        self.sealed |= 1_u64.checked_shl(place).unwrap_or(0);
    }

    fn local_address(&self, place: u32) -> Result<Address, SysError> {
        let ask = || self.live.as_ref().map_or(Err(NOBODY), |live| live.local_address(place));
        let asked = Call::Address as u64 | u64::from(place) << 8;
        let put = |answer: &Result<Address, SysError>, on: &mut Put<'_>| {
            on.number(asked);
            on.result(answer, put_address);
        };
        let get = |from: &mut Get<'_>| {
            let is_same = from.number()? == asked;
            from.result(get_address).filter(|_| is_same)
        };
        tape::mark_effect();
        tape::hear_or(Heard::Opened, ask, put, get, || Err(NOBODY))
    }

    fn granted(&self, place: u32) -> Result<Granted, SysError> {
        let ask = || self.live.as_ref().map_or(Err(NOBODY), |live| live.granted(place));
        let put = |answer: &Result<Granted, SysError>, on: &mut Put<'_>| {
            on.number(Call::Granted as u64);
            on.result(answer, put_granted);
        };
        let get = |from: &mut Get<'_>| {
            from.number()?;
            from.result(get_granted)
        };
        tape::mark_effect();
        tape::hear_or(Heard::Opened, ask, put, get, || Err(NOBODY))
    }

    #[inline]
    fn wait(
        &mut self,
        span: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        match &mut self.live {
            Some(live) if !tape::is_writing() => live.wait(span, report),
            Some(live) => {
                let hot = self.hot;
                let waited = live.wait(span, &mut |place, ready| {
                    if !is_in(hot, place) || ready.writable || ready.ended {
                        tape::mark_effect();
                    }
                    let flags = u64::from(ready.readable)
                        | u64::from(ready.writable) << 1
                        | u64::from(ready.ended) << 2;
                    let said = (flags << 33) | (u64::from(place) + 1);
                    tape::hear(Heard::Ready, || (), |(), on| on.number(said), |_| None);
                    report(place, ready);
                });
                let put = |answer: &Result<usize, SysError>, on: &mut Put<'_>| {
                    on.number(0);
                    on.result(answer, |_, _| ());
                };
                tape::hear_or(Heard::Ready, || waited, put, |_| None, || waited)
            }
            None => {
                let mut reported = 0;
                loop {
                    let get = |from: &mut Get<'_>| match from.number()? {
                        0 => from.result(|_| Some(())).map(Err),
                        said => Some(Ok(said)),
                    };
                    match tape::hear_or(
                        Heard::Ready,
                        || Err(Ok(())),
                        |_, _| (),
                        get,
                        || Err(Ok(())),
                    ) {
                        Err(ended) => return ended.map(|()| reported),
                        Ok(said) => {
                            reported += 1;
                            let ready = Readiness {
                                readable: said >> 33 & 1 != 0,
                                writable: said >> 33 & 2 != 0,
                                ended: said >> 33 & 4 != 0,
                            };
                            report(said as u32 - 1, ready);
                        }
                    }
                }
            }
        }
    }

    fn calls(&self) -> Calls {
        self.live.as_ref().map_or(self.calls, K::calls)
    }
}

impl<K> fmt::Debug for TapedKernel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TapedKernel").field("is_live", &self.live.is_some()).finish_non_exhaustive()
    }
}
