//! Yield: whoever else wants the core has it first. One system call per idle turn.

use super::step::Step;

#[inline]
pub(super) fn idle() -> Step {
    taut_sys::yield_cpu();
    Step::Again
}
