//! The kernel under a gateway that trades at a simulated exchange: one connection, in memory, at
//! the time that the driver says.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use taut_io::{Bell, Calls, Kernel, Received};
use taut_sys::{
    Address, ConnectProgress, DatagramBatch, DatagramInfo, DatagramOptions, Granted, Readiness,
    StreamOptions, SysError,
};
use taut_types::Nanos;

/// `EOPNOTSUPP`: what a gateway does not need that has one connection.
const NOT_HERE: i32 = 95;

/// Both ends of the connection.
#[derive(Debug, Default)]
pub struct Link {
    /// The time.
    pub now: Nanos,
    /// From the gateway.
    pub outbound: Vec<u8>,
    /// To the gateway.
    pub inbound: Vec<u8>,
    /// The gateway's end, where there is one.
    place: Option<u32>,
    /// It has not been told yet that it stands.
    connects: bool,
}

impl Link {
    /// A connection that nobody has made yet.
    pub fn at(now: Nanos) -> Shared {
        Rc::new(RefCell::new(Self { now, ..Self::default() }))
    }
}

/// A link that both sides hold.
pub type Shared = Rc<RefCell<Link>>;

/// The gateway's end of a [`Link`].
#[derive(Debug)]
pub struct LinkKernel(pub Shared);

/// Nobody sleeps here.
#[derive(Clone, Copy, Debug)]
pub struct NoBell;

impl Bell for NoBell {
    fn ring(&self) {}
}

const fn not_here<T>(operation: &'static str) -> Result<T, SysError> {
    Err(SysError::from_errno(operation, NOT_HERE))
}

impl Kernel for LinkKernel {
    type Buffers = Vec<u8>;
    type Lease = usize;
    type Bell = NoBell;

    fn buffers(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn bytes<'b>(buffers: &'b Vec<u8>, lease: &'b usize) -> &'b [u8] {
        buffers.get(..*lease).unwrap_or(&[])
    }

    fn info(_: &Vec<u8>, _: &usize) -> Option<DatagramInfo> {
        None
    }

    fn release(&mut self, _: usize) {}

    fn now(&self) -> Nanos {
        self.0.borrow().now
    }

    fn bell(&self) -> Result<NoBell, SysError> {
        Ok(NoBell)
    }

    fn listen(&mut self, _: u32, _: &Address, _: &StreamOptions) -> Result<(), SysError> {
        not_here("listen")
    }

    fn accept(&mut self, _: u32, _: u32, _: &StreamOptions) -> Result<Option<Address>, SysError> {
        not_here("accept")
    }

    fn connect(
        &mut self,
        place: u32,
        _: &Address,
        _: &StreamOptions,
    ) -> Result<ConnectProgress, SysError> {
        let mut link = self.0.borrow_mut();
        (link.place, link.connects) = (Some(place), true);
        Ok(ConnectProgress::Underway)
    }

    fn connect_result(&mut self, _: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn datagram(&mut self, _: u32, _: &Address, _: &DatagramOptions) -> Result<(), SysError> {
        not_here("bind")
    }

    fn start_receiving(&mut self, _: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn stop_receiving(&mut self, _: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn receive(&mut self, _: u32, buffers: &mut Vec<u8>) -> Result<Received<usize>, SysError> {
        buffers.clear();
        std::mem::swap(buffers, &mut self.0.borrow_mut().inbound);
        Ok(match buffers.len() {
            0 => Received::Nothing,
            lease => Received::Some { lease, more: false },
        })
    }

    fn send(&mut self, _: u32, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        let mut link = self.0.borrow_mut();
        parts.iter().for_each(|part| link.outbound.extend_from_slice(part));
        Ok(Some(parts.iter().map(|part| part.len()).sum()))
    }

    fn send_to(
        &mut self,
        _: u32,
        _: &[u8],
        _: Option<&SocketAddr>,
    ) -> Result<Option<usize>, SysError> {
        not_here("send")
    }

    fn watch(&mut self, _: u32) -> Result<(), SysError> {
        not_here("watch")
    }

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<Received<usize>, SysError> {
        not_here("read")
    }

    fn receive_batch(&mut self, _: u32, _: &mut DatagramBatch) -> Result<usize, SysError> {
        not_here("receive")
    }

    fn send_batch(
        &mut self,
        _: u32,
        _: &[&[u8]],
        _: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        not_here("send")
    }

    fn send_segmented(
        &mut self,
        _: u32,
        _: &[u8],
        _: u16,
        _: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        not_here("send")
    }

    fn shut_down_send(&mut self, _: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn close(&mut self, _: u32) {
        self.0.borrow_mut().place = None;
    }

    fn set_hot(&mut self, _: u32, _: bool) -> Result<(), SysError> {
        Ok(())
    }

    fn local_address(&self, _: u32) -> Result<Address, SysError> {
        not_here("local address")
    }

    fn granted(&self, _: u32) -> Result<Granted, SysError> {
        not_here("options")
    }

    fn wait(
        &mut self,
        _: Option<Nanos>,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        let mut link = self.0.borrow_mut();
        let Some(place) = link.place else { return Ok(0) };
        let (readable, writable) = (!link.inbound.is_empty(), std::mem::take(&mut link.connects));
        if !readable && !writable {
            return Ok(0);
        }
        report(place, Readiness { readable, writable, ended: false });
        Ok(1)
    }

    fn calls(&self) -> Calls {
        Calls::default()
    }
}
