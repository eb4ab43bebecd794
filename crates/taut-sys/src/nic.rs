//! How a network interface's hardware is set: what `ethtool(8)` shows.

use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType};

use crate::error::{SysError, SysResult};

/// The request of `ethtool(8)` (linux/sockios.h), and its commands (linux/ethtool.h).
const SIOCETHTOOL: u64 = 0x8946;
const GET_COALESCE: u32 = 0x0e;
const GET_RING: u32 = 0x10;
const GET_TIME_STAMPING: u32 = 0x41;

/// SOF_TIMESTAMPING_RX_HARDWARE and _RAW_HARDWARE (linux/net_tstamp.h).
const RECEIVE_HARDWARE: u32 = 1 << 2;
const RAW_HARDWARE: u32 = 1 << 6;

/// The settings of an interface's hardware; what its driver does not say is the kernel's word why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicSettings {
    /// How long it waits before it interrupts.
    pub coalescing: Result<Coalescing, SysError>,
    /// How many packets its receive ring holds, and the most that it can.
    pub receive_ring: Result<(u32, u32), SysError>,
    /// Whether it stamps the packets that it receives, and the number of its clock (`/dev/ptpN`).
    pub time_stamping: Result<(bool, Option<u32>), SysError>,
}

/// When an interface interrupts for packets that it received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// So many microseconds after the first one.
    pub receive_us: u32,
    /// It changes this by itself with the load.
    pub is_adaptive: bool,
}

/// How the hardware of the interface of this name is set. Cost: four system calls.
#[must_use]
pub fn nic_settings(name: &str) -> NicSettings {
    let coalesce = ask::<23>(name, GET_COALESCE, "interrupt coalescing");
    let ring = ask::<9>(name, GET_RING, "ring sizes");
    let stamps = ask::<11>(name, GET_TIME_STAMPING, "time stamping");
    NicSettings {
        coalescing: coalesce
            .map(|words| Coalescing { receive_us: words[1], is_adaptive: words[10] != 0 }),
        receive_ring: ring.map(|words| (words[5], words[1])),
        time_stamping: stamps.map(|words| {
            let both = RECEIVE_HARDWARE | RAW_HARDWARE;
            // No clock is -1.
            (words[1] & both == both, Some(words[2]).filter(|clock| *clock != u32::MAX))
        }),
    }
}

/// The kernel's structure for a command: `WORDS` words, of which the first is the command.
fn ask<const WORDS: usize>(
    name: &str,
    command: u32,
    operation: &'static str,
) -> Result<[u32; WORDS], SysError> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None);
    let socket = socket.during(operation)?;
    let mut words = [0; WORDS];
    words[0] = command;
    // SAFETY: all of it is integers and bytes, and a null pointer.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero, which ends the name.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(room)) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the socket is open, and the request points to as many words as the structure of this
    // command has, which outlive the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } {
        0 => Ok(words),
        _ => Err(SysError::last(operation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_no_ring_and_no_interface_says_so() {
        let lo = nic_settings("lo");
        assert!(lo.receive_ring.is_err() && lo.coalescing.is_err(), "{lo:?}");
        if let Ok((stamps, clock)) = lo.time_stamping {
            assert!(!stamps && clock.is_none(), "{lo:?}");
        }
        let none = nic_settings("no-such-interface-there");
        assert_eq!(none.time_stamping.err().map(SysError::errno), Some(libc::ENODEV));
    }
}
