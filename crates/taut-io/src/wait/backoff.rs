//! Back-off: spin, then yield, then sleep. What arrives ends the sleep, for it is the kernel's
//! wait: shorter steps first would cost calls and hasten nothing.

use taut_types::Nanos;

use super::step::Step;

const SPINS: u32 = 64;
const YIELDS: u32 = 64;
const SLEEP: Nanos = Nanos::from_millis(1);

#[inline]
pub(super) fn idle(idle_turns: u32) -> Step {
    if idle_turns <= SPINS {
        taut_sync::spin_loop();
        return Step::Again;
    }
    if idle_turns <= SPINS + YIELDS {
        taut_sys::yield_cpu();
        return Step::Again;
    }
    Step::Sleep(SLEEP)
}
