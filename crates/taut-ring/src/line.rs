//! Words to the cache.

use taut_sync::atomic::AtomicU64;

/// Asks for the line of a word that will be written soon, before a store waits for it: a store that
/// waits holds up all stores behind it.
#[inline]
pub(crate) fn ask_to_write(word: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a prefetch changes no memory and cannot fault; processors without it ignore it.
    unsafe {
        let word: *const AtomicU64 = word;
        core::arch::asm!("prefetchw [{}]", in(reg) word, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = word;
}

/// Asks for the line of a word that will be read soon.
#[inline]
pub(crate) fn ask_to_read(word: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: as above.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let word: *const AtomicU64 = word;
        _mm_prefetch::<_MM_HINT_T0>(word.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = word;
}
