//! The atomic types: `core`'s, or loom's when the crate is built with `--cfg loom`.

#[cfg(not(loom))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, fence,
};
#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, fence,
};
