//! Atomics facade (core or loom) and cache-line padding.
//!
//! This is the only crate that names `core::sync::atomic`. Everything else takes its atomics from
//! here, so that one flag (`RUSTFLAGS="--cfg loom"`) puts every lock-free structure under the loom
//! model checker without a change in its code.
#![no_std]

pub mod atomic;
mod padded;

pub use padded::CachePadded;

/// Tells the processor that this is a spin loop: `PAUSE` on x86 (about 40 cycles on AMD Zen, about
/// 140 on Intel since Skylake). Under loom it yields to the other modelled threads.
#[inline]
pub fn spin_loop() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}
