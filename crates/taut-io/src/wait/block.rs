//! Block: the kernel wakes the loop.

use super::step::Step;

#[inline]
pub(super) const fn idle() -> Step {
    Step::Block
}
