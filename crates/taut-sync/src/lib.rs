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

/// Asserts, under loom, that who stores to `word` from now on does so after what this thread has
/// done: it catches a release or acquire that is missing between a reader that has finished and a
/// writer that goes on, which no value can show. Elsewhere it does nothing.
#[inline]
pub fn assert_stores_come_after(word: &atomic::AtomicU64) {
    #[cfg(not(loom))]
    let _ = word;
    // SAFETY: loom's models run one thread at a time, and it checks the access itself.
    #[cfg(loom)]
    let _ = unsafe { word.unsync_load() };
}
