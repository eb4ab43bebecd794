//! What a machine is judged for.

use std::net::Ipv4Addr;

use crate::cpu_list::CpuList;

/// The CPUs and the network of the threads that trade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Their CPUs. Without any the isolated ones are judged, or, where none is isolated, the last.
    pub cpus: CpuList,
    /// The interfaces that they name.
    pub interfaces: Vec<String>,
    /// Where they send to: the routing table gives the interface. Without any interface or address
    /// all interfaces with hardware that are up are judged.
    pub addresses: Vec<Ipv4Addr>,
    /// A gateway's thread, where its file is judged.
    pub gateway: Option<GatewayThread>,
}

/// How a gateway's file has its thread run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayThread {
    /// The CPU that it is pinned to.
    pub cpu: Option<usize>,
    /// Its wait strategy: `spin`, `yield` or `block`.
    pub wait: &'static str,
}

impl GatewayThread {
    /// Whether it sleeps when there is nothing to do.
    #[must_use]
    pub fn sleeps(&self) -> bool {
        self.wait == "block"
    }
}
