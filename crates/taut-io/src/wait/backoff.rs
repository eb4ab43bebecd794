//! Back-off: spin, then yield, then sleep twice as long each time. What arrives ends a sleep early,
//! for the sleep is the kernel's wait.

use taut_types::Nanos;

use super::step::Step;

const SPINS: u32 = 64;
const YIELDS: u32 = 64;
const SLEEP_NS_MIN: i64 = 1_000;
const SLEEP_NS_MAX: i64 = 1_000_000;

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
    let doublings = (idle_turns - SPINS - YIELDS - 1).min(20);
    Step::Sleep(Nanos((SLEEP_NS_MIN << doublings).min(SLEEP_NS_MAX)))
}
