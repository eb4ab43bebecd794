//! What the machine's CPUs are like at the moment: measured, before processes are placed.

use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use taut_sys::{Doorbell, monotonic, pin_to_cpu, sleep, wait_readable};
use taut_types::Nanos;

/// How long a thread looks at its CPU.
const LOOK: Nanos = Nanos::from_millis(8);
/// Between two looks at the clock: a longer gap is time in which something else ran. Interrupts,
/// which take some microseconds each, are not.
const GAP: Nanos = Nanos::from_micros(50);
/// What has not been measured by then is busy.
const PATIENCE: Nanos = Nanos::from_millis(45);
/// CPUs that are looked at: a run has three processes.
const CPUS_MAX: usize = 16;
/// Wake-ups of which the median is taken, and what the peer has to fall asleep before each.
const WAKE_UPS: usize = 15;
const FALL_ASLEEP: Nanos = Nanos::from_micros(200);
/// How long either waits for the other at one time.
const TURN: Nanos = Nanos::from_millis(2);

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// By CPU: thousandths of the time in which a thread that wanted it all did not have it,
    /// because of other programs or of a hypervisor.
    pub taken: Vec<(usize, u16)>,
    /// From the ring of a doorbell until the thread that slept behind it, on the first CPU, runs.
    pub wake_up: Option<Nanos>,
}

impl Measured {
    /// Looks at these CPUs, for at most 50 ms.
    pub fn now(cpus: &[usize]) -> Self {
        let deadline = monotonic() + PATIENCE;
        let (looked, looks) = mpsc::channel();
        let cpus = cpus.get(..CPUS_MAX).unwrap_or(cpus);
        for &cpu in cpus {
            let looked = looked.clone();
            // Nobody waits for a thread that finds no time.
            thread::spawn(move || {
                if pin_to_cpu(cpu).is_ok() {
                    let _ = looked.send((cpu, taken()));
                }
            });
        }
        drop(looked);
        let mut taken: Vec<_> = cpus.iter().map(|&cpu| (cpu, 1_000)).collect();
        while let Ok((cpu, share)) = receive(&looks, deadline) {
            if let Some(known) = taken.iter_mut().find(|(known, _)| *known == cpu) {
                known.1 = share;
            }
        }
        let wake_up = cpus.first().and_then(|&cpu| wake_up(cpu, deadline));
        Self { taken, wake_up }
    }

    /// Of a CPU: thousandths that others take; none of one that was not looked at.
    pub fn taken_of(&self, cpu: usize) -> u16 {
        self.taken.iter().find(|(known, _)| *known == cpu).map_or(0, |(_, taken)| *taken)
    }
}

fn receive<T>(from: &Receiver<T>, deadline: Nanos) -> Result<T, RecvTimeoutError> {
    let left = deadline.since(monotonic()).0.max(0).unsigned_abs();
    from.recv_timeout(Duration::from_nanos(left))
}

/// Thousandths of the time in which this thread does not run although it wants to.
fn taken() -> u16 {
    let began = monotonic();
    let (mut last, mut lost) = (began, 0);
    while last.since(began) < LOOK {
        let now = monotonic();
        let gap = now.since(last);
        if gap > GAP {
            lost += gap.0;
        }
        last = now;
    }
    u16::try_from(lost * 1_000 / last.since(began).0.max(1)).unwrap_or(1_000)
}

/// How long a thread that sleeps on this CPU takes to run once it is rung for: the median of some
/// times, or nothing when there was no time for any.
fn wake_up(cpu: usize, deadline: Nanos) -> Option<Nanos> {
    let (bell, own_bell) = (Doorbell::new().ok()?, Doorbell::new().ok()?);
    let (rung, rings) = (bell.try_clone().ok()?, own_bell.try_clone().ok()?);
    let (woken, wakes): (Sender<Nanos>, _) = mpsc::channel();
    thread::spawn(move || {
        let _ = pin_to_cpu(cpu);
        while monotonic() < deadline {
            rings.ring();
            if wait_readable(&[rung.as_fd()], Some(TURN)) != Ok(true) {
                continue;
            }
            let now = monotonic();
            rung.silence();
            if woken.send(now).is_err() {
                return;
            }
        }
    });
    let mut spans = Vec::with_capacity(WAKE_UPS);
    while spans.len() < WAKE_UPS && monotonic() < deadline {
        // It is about to sleep.
        let _ = wait_readable(&[own_bell.as_fd()], Some(TURN));
        own_bell.silence();
        sleep(FALL_ASLEEP);
        let at = monotonic();
        bell.ring();
        let Ok(now) = receive(&wakes, deadline) else { break };
        spans.push(now.since(at));
    }
    spans.sort_unstable();
    spans.get(spans.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use taut_sys::available_cpus;

    use super::*;

    #[test]
    fn every_cpu_is_looked_at_and_it_does_not_take_long() {
        let cpus = available_cpus().expect("cpus");
        let began = monotonic();
        let measured = Measured::now(&cpus);
        let took = monotonic().since(began);
        let looked_at: Vec<_> = measured.taken.iter().map(|(cpu, _)| *cpu).collect();
        assert_eq!(looked_at, cpus[..cpus.len().min(CPUS_MAX)]);
        assert!(measured.taken.iter().all(|(_, taken)| *taken <= 1_000), "{measured:?}");
        // Twice what is promised: this thread itself may have to wait for a CPU.
        assert!(took < Nanos::from_secs(2), "{took:?}");
        assert_eq!(measured.taken_of(usize::MAX), 0);
    }
}
