//! The killer: a process on the victim's CPU.
//!
//! It sleeps, and when its timer goes off it stands where the victim was running: the victim never
//! comes to its next instruction, and the judge, on another CPU, has not paused for a moment. Were
//! the judge to kill by itself, the ring would fill up (or run empty) while its signal travels, and
//! nearly every victim would die waiting, not working.

use std::os::fd::AsFd;

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{
    ControlSocket, ProcessSignal, Received, fork, pin_to_cpu, set_fifo_scheduling, set_timer_slack,
    signal_process, sleep, wait_for_child, wait_readable,
};
use taut_types::Nanos;

use crate::ipc_kill::plan::{KILLED, VICTIM_CPU};
use taut_report::Failure;

/// The killer, as the judge sees it.
pub struct Killer<'c> {
    orders: ControlSocket,
    process: u32,
    notes: &'c [AtomicU64],
    ordered: u64,
}

fn failed(error: taut_sys::SysError) -> Failure {
    Failure::run("killer", error)
}

impl<'c> Killer<'c> {
    /// Starts it; `notes` is where it says how many it has killed.
    pub fn start(notes: &'c [AtomicU64]) -> Result<Self, Failure> {
        let (near, far) = ControlSocket::pair().map_err(failed)?;
        let process = fork(|| {
            let _ = pin_to_cpu(VICTIM_CPU);
            // To be there at once. Where it is not allowed, it comes with the scheduler's next
            // turn, which is a random time too.
            let _ = set_fifo_scheduling(1);
            let _ = set_timer_slack(Nanos(1));
            serve(&far, notes);
            0
        })
        .map_err(failed)?;
        Ok(Self { orders: near, process, notes, ordered: 0 })
    }

    /// Lets this process die after so long.
    pub fn order(&mut self, victim: u32, after: Nanos) -> Result<(), Failure> {
        let order = (u64::from(victim), after.0.unsigned_abs());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&order.0.to_ne_bytes());
        bytes[8..].copy_from_slice(&order.1.to_ne_bytes());
        self.ordered += 1;
        self.orders.send(&bytes, &[]).map_err(failed)
    }

    /// Whether the last order has been carried out.
    pub fn is_done(&self) -> bool {
        self.notes[KILLED].load(Ordering::Acquire) == self.ordered
    }
}

impl Drop for Killer<'_> {
    fn drop(&mut self) {
        // It has a copy of this end of its socket, and would not see it close.
        let _ = signal_process(self.process, ProcessSignal::Kill);
        let _ = wait_for_child(self.process);
    }
}

/// Carries out orders until there can be no more.
fn serve(orders: &ControlSocket, notes: &[AtomicU64]) {
    let mut buffer = [0; 16];
    loop {
        let _ = wait_readable(&[orders.as_fd()], None);
        match orders.recv(&mut buffer) {
            Ok(Received::Message(16, _)) => {}
            Ok(Received::Nothing) => continue,
            _ => return,
        }
        let [victim, after] = [0, 8].map(|at| {
            buffer[at..].first_chunk().map_or(0, |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes))
        });
        // PACE: the victim asked to be killed so much later, wherever it is then.
        sleep(Nanos(after.cast_signed()));
        let _ = signal_process(victim as u32, ProcessSignal::Kill);
        notes[KILLED].fetch_add(1, Ordering::Release);
    }
}
