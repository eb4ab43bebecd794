//! Spin with pause: the processor is told, which frees its shared parts for the sibling thread and
//! avoids the pipeline's flush when the look succeeds at last.

use super::step::Step;

#[inline]
pub(super) fn idle() -> Step {
    taut_sync::spin_loop();
    Step::Again
}
