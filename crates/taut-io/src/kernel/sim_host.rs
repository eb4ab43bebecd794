//! Several loops on one simulated network: each has a kernel of its own, and time is common.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::net::SocketAddr;

use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Granted, Readiness,
    StreamOptions, SysError,
};
use taut_types::Nanos;

use super::sim::{SimBell, SimBuffers, SimConfig, SimKernel};
use super::{Calls, Kernel, Received};

/// The network, and what its hosts have yet to notice.
struct Network {
    kernel: SimKernel,
    /// By host: where its places end, and what of them became ready in another one's look.
    hosts: Vec<(u32, Vec<(u32, Readiness)>)>,
}

/// A loop's kernel on a network that it shares with others of the same thread. A look of any of
/// them moves the time of all by [`SimConfig::look_ns`].
pub struct SimHost {
    network: Rc<RefCell<Network>>,
    /// Which one, and where its places begin.
    host: usize,
    base: u32,
}

impl SimHost {
    /// Two kernels on a network, with places for so many sockets each.
    #[must_use]
    pub fn pair(sources_max: [usize; 2], config: SimConfig) -> [Self; 2] {
        Self::several(sources_max, config)
    }

    /// As [`SimHost::pair`], for any number of kernels.
    #[must_use]
    pub fn several<const N: usize>(sources_max: [usize; N], config: SimConfig) -> [Self; N] {
        let mut base = 0_u32;
        let bases = sources_max.map(|count| {
            let begin = base;
            base = base.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            begin
        });
        let kernel = SimKernel::new(base as usize, config);
        let ends = bases.into_iter().skip(1).chain([base]);
        let hosts = ends.map(|end| (end, Vec::new())).collect();
        let network = Rc::new(RefCell::new(Network { kernel, hosts }));
        let mut host = 0;
        bases.map(|base| {
            host += 1;
            Self { network: Rc::clone(&network), host: host - 1, base }
        })
    }

    /// The network that it is on.
    #[must_use]
    pub fn network(&self) -> SimNetwork {
        SimNetwork(Rc::clone(&self.network))
    }

    fn time(&self) -> Nanos {
        self.network.borrow().kernel.now()
    }

    fn with<T>(&self, act: impl FnOnce(&mut SimKernel) -> T) -> T {
        act(&mut self.network.borrow_mut().kernel)
    }
}

/// A simulated network, for whoever tells its time, and breaks it on purpose.
#[derive(Clone)]
pub struct SimNetwork(Rc<RefCell<Network>>);

impl SimNetwork {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.borrow().kernel.now()
    }

    /// Time passes in which nobody looks.
    pub fn pass(&self, span: Nanos) {
        self.0.borrow_mut().kernel.pass(span);
    }

    /// From now on the network behaves like this, but for the seed. What is under way arrives as it
    /// would have.
    pub fn configure(&self, config: SimConfig) {
        self.0.borrow_mut().kernel.configure(config);
    }

    /// Breaks a stream, if there is any: both ends read a reset, and what is under way is lost.
    pub fn cut(&self, choice: u64) {
        let kernel = &mut self.0.borrow_mut().kernel;
        let streams: Vec<u32> = kernel.streams().collect();
        let chosen = choice.checked_rem(streams.len() as u64).unwrap_or(0);
        if let Some(place) = streams.get(chosen as usize) {
            kernel.reset(*place);
        }
    }

    /// Whether nothing is under way on any stream and nothing waits to be read there.
    #[must_use]
    pub fn are_streams_quiet(&self) -> bool {
        self.0.borrow().kernel.are_streams_quiet()
    }

    /// The process on a host ended: its sockets are closed. A kernel for the next one.
    #[must_use]
    pub fn restart(&self, host: usize) -> SimHost {
        let mut network = self.0.borrow_mut();
        let Network { kernel, hosts } = &mut *network;
        let begin = host.checked_sub(1).and_then(|before| hosts.get(before));
        let base = begin.map_or(0, |(end, _)| *end);
        if let Some((end, ready)) = hosts.get_mut(host) {
            (base..*end).for_each(|place| kernel.close(place));
            ready.clear();
        }
        SimHost { network: Rc::clone(&self.0), host, base }
    }
}

impl fmt::Debug for SimNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimNetwork").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Kernel for SimHost {
    type Buffers = SimBuffers;
    type Lease = usize;
    type Bell = SimBell;

    fn buffers(&mut self) -> SimBuffers {
        SimBuffers::default()
    }

    fn bytes<'b>(buffers: &'b SimBuffers, lease: &'b usize) -> &'b [u8] {
        SimKernel::bytes(buffers, lease)
    }

    fn info(buffers: &SimBuffers, lease: &usize) -> Option<DatagramInfo> {
        SimKernel::info(buffers, lease)
    }

    fn release(&mut self, _lease: usize) {}

    fn now(&self) -> Nanos {
        self.time()
    }

    fn bell(&self) -> Result<SimBell, SysError> {
        Ok(SimBell)
    }

    fn listen(&mut self, place: u32, at: &Address, how: &StreamOptions) -> Result<(), SysError> {
        self.with(|kernel| kernel.listen(self.base + place, at, how))
    }

    fn accept(
        &mut self,
        listener: u32,
        place: u32,
        how: &StreamOptions,
    ) -> Result<Option<Address>, SysError> {
        self.with(|kernel| kernel.accept(self.base + listener, self.base + place, how))
    }

    fn connect(
        &mut self,
        place: u32,
        to: &Address,
        how: &StreamOptions,
    ) -> Result<ConnectProgress, SysError> {
        self.with(|kernel| kernel.connect(self.base + place, to, how))
    }

    fn connect_result(&mut self, place: u32) -> Result<(), SysError> {
        self.with(|kernel| kernel.connect_result(self.base + place))
    }

    fn datagram(
        &mut self,
        place: u32,
        at: &Address,
        how: &DatagramOptions,
    ) -> Result<(), SysError> {
        self.with(|kernel| kernel.datagram(self.base + place, at, how))
    }

    fn start_receiving(&mut self, place: u32) -> Result<(), SysError> {
        self.with(|kernel| kernel.start_receiving(self.base + place))
    }

    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError> {
        self.with(|kernel| kernel.stop_receiving(self.base + place))
    }

    fn receive(
        &mut self,
        place: u32,
        buffers: &mut SimBuffers,
    ) -> Result<Received<usize>, SysError> {
        self.with(|kernel| kernel.receive(self.base + place, buffers))
    }

    fn send(&mut self, place: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        self.with(|kernel| kernel.send(self.base + place, parts))
    }

    fn send_to(
        &mut self,
        place: u32,
        bytes: &[u8],
        to: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        self.with(|kernel| kernel.send_to(self.base + place, bytes, to))
    }

    fn watch(&mut self, place: u32) -> Result<(), SysError> {
        self.with(|kernel| kernel.watch(self.base + place))
    }

    fn read(&mut self, place: u32, into: &mut [u8]) -> Result<Received<usize>, SysError> {
        self.with(|kernel| kernel.read(self.base + place, into))
    }

    fn receive_batch(&mut self, place: u32, batch: &mut DatagramBatch) -> Result<usize, SysError> {
        self.with(|kernel| kernel.receive_batch(self.base + place, batch))
    }

    fn send_batch(
        &mut self,
        place: u32,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.with(|kernel| kernel.send_batch(self.base + place, datagrams, to))
    }

    fn send_segmented(
        &mut self,
        place: u32,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        self.with(|kernel| kernel.send_segmented(self.base + place, bytes, segment_bytes, to))
    }

    fn shut_down_send(&mut self, place: u32) -> Result<(), SysError> {
        self.with(|kernel| kernel.shut_down_send(self.base + place))
    }

    fn close(&mut self, place: u32) {
        self.with(|kernel| kernel.close(self.base + place));
    }

    fn set_hot(&mut self, place: u32, hot: bool) -> Result<(), SysError> {
        self.with(|kernel| kernel.set_hot(self.base + place, hot))
    }

    fn local_address(&self, place: u32) -> Result<Address, SysError> {
        self.with(|kernel| kernel.local_address(self.base + place))
    }

    fn granted(&self, place: u32) -> Result<Granted, SysError> {
        self.with(|kernel| kernel.granted(self.base + place))
    }

    fn wait(
        &mut self,
        span: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        let mut network = self.network.borrow_mut();
        let Network { kernel, hosts } = &mut *network;
        let mut reported = 0;
        if let Some((_, ready)) = hosts.get_mut(self.host) {
            reported += ready.len();
            ready.drain(..).for_each(|(place, ready)| report(place, ready));
        }
        // Who has something to do does not wait for more.
        let span = if reported > 0 { Some(Nanos::ZERO) } else { span };
        let base = self.base;
        kernel.wait(span, &mut |place, ready| {
            let host = hosts.iter().position(|(end, _)| place < *end).unwrap_or(0);
            if host == self.host {
                report(place - base, ready);
                reported += 1;
            } else {
                let begin = host.checked_sub(1).and_then(|before| hosts.get(before));
                let begin = begin.map_or(0, |(end, _)| *end);
                if let Some((_, waiting)) = hosts.get_mut(host) {
                    waiting.push((place - begin, ready));
                }
            }
        })?;
        Ok(reported)
    }

    fn calls(&self) -> Calls {
        self.with(|kernel| kernel.calls())
    }
}

impl fmt::Debug for SimHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimHost").field("host", &self.host).finish_non_exhaustive()
    }
}
