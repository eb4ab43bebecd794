//! Block: the kernel wakes the loop.

use super::Step;

#[inline]
pub(super) const fn idle() -> Step {
    Step::Block
}
