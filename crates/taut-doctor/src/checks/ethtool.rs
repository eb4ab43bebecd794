//! How the hardware of network interfaces is set.

use taut_sys::{NicSettings, SysError};

use crate::check::{Check, Group, Severity};
use crate::finding::{Fix, Unseen};
use crate::look::{Look, each_interface, quoted};
use crate::machine::Machine;

pub const CHECKS: &[Check] = &[
    Check {
        name: "nic-coalescing",
        group: Group::Network,
        severity: Severity::Important,
        reads: "ethtool -c IF",
        wanted: "rx-usecs 0, adaptive-rx off",
        why: "the interface holds a packet back in case that another one follows",
        cost: "more interrupts",
        look: coalescing,
    },
    Check {
        name: "nic-ring",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -g IF",
        wanted: "a receive ring of 1024 packets or more, or as many as it can hold",
        why: "a burst that the ring does not hold is lost in the hardware",
        cost: "more of the cache is touched; many drivers reset the link when the ring changes",
        look: ring,
    },
    Check {
        name: "nic-time-stamps",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -T IF",
        wanted: "hardware receive time stamps",
        why: "without them nobody knows how long a packet waited for the kernel",
        cost: "a card that can",
        look: time_stamps,
    },
    Check {
        name: "nic-clock",
        group: Group::Network,
        severity: Severity::Minor,
        reads: "ethtool -T IF (PTP hardware clock)",
        wanted: "a clock that PTP can keep",
        why: "software time stamps keep the clock to 10 us at best",
        cost: "a card that has one",
        look: clock,
    },
];

/// Packets that a ring should hold.
const RING_MIN: u32 = 1_024;

/// What the hardware of an interface told.
fn asked<T>(
    machine: &Machine,
    name: &str,
    answer: impl Fn(&NicSettings) -> Result<T, SysError>,
) -> Result<T, Unseen> {
    let nic = machine.answers.nics.get(name);
    let nic = nic.ok_or_else(|| Unseen(format!("{name} was not asked")))?;
    answer(nic).map_err(|error| Unseen(format!("{name}: its driver does not say ({error})")))
}

fn coalescing(machine: &Machine) -> Look {
    let look = |name: &str| {
        let is = asked(machine, name, |nic| nic.coalescing)?;
        let adaptive = if is.is_adaptive { "on" } else { "off" };
        let found = format!("rx-usecs {}, adaptive-rx {adaptive}", is.receive_us);
        Ok((is.receive_us == 0 && !is.is_adaptive, found))
    };
    let fix = |name: &str| {
        Fix::Command(format!("ethtool -C {} adaptive-rx off rx-usecs 0", quoted(name)))
    };
    each_interface(machine, look, fix)
}

fn ring(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (now, most) = asked(machine, name, |nic| nic.receive_ring)?;
        Ok((now >= RING_MIN.min(most), format!("{now} of at most {most}")))
    };
    let fix = |name: &str| {
        let advice = || Fix::Advice(format!("{name}: use a card with a larger ring"));
        larger_ring(machine, name).unwrap_or_else(advice)
    };
    each_interface(machine, look, fix)
}

/// Makes the receive ring of an interface larger, where the hardware has room.
pub fn larger_ring(machine: &Machine, name: &str) -> Option<Fix> {
    let (now, most) = asked(machine, name, |nic| nic.receive_ring).ok()?;
    let wanted = most.min(4 * RING_MIN);
    let command = || Fix::Command(format!("ethtool -G {} rx {wanted}", quoted(name)));
    (now < wanted).then(command)
}

fn time_stamps(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (stamps, _) = asked(machine, name, |nic| nic.time_stamping)?;
        Ok((stamps, if stamps { "in hardware" } else { "in software alone" }.to_owned()))
    };
    each_interface(machine, look, |name| {
        Fix::Advice(format!("{name}: use a card that stamps packets"))
    })
}

fn clock(machine: &Machine) -> Look {
    let look = |name: &str| {
        let (_, clock) = asked(machine, name, |nic| nic.time_stamping)?;
        let found = clock.map_or("none".to_owned(), |number| format!("/dev/ptp{number}"));
        Ok((clock.is_some(), found))
    };
    each_interface(machine, look, |name| {
        Fix::Advice(format!("{name}: use a card with a PTP clock"))
    })
}
