//! Cache lines that are asked for before they are needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the lines of a value that will be read soon; the processor goes on meanwhile. Costs an
/// instruction a line, and is worth it where the value is likely in no near cache.
#[inline(always)]
pub fn prefetch_read<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in lines(value) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes no memory and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

/// Asks for the lines of a value that will be written soon, before a store waits for them: a store
/// that waits holds up all stores behind it.
#[inline(always)]
pub fn prefetch_write<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in lines(value) {
        // SAFETY: a prefetch changes no memory and cannot fault; processors without it ignore it.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

/// An address in each line from where a value begins; one that begins within a line may end in one
/// more.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn lines<T>(value: &T) -> impl Iterator<Item = *const i8> {
    let begin: *const i8 = core::ptr::from_ref(value).cast();
    (0..size_of::<T>()).step_by(LINE).map(move |at| begin.wrapping_add(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_any_size_can_be_asked_for_and_stays_as_it_is() {
        let (nothing, word, page) = ((), 7u64, [9u8; 4_096]);
        prefetch_read(&nothing);
        prefetch_write(&nothing);
        prefetch_read(&word);
        prefetch_write(&word);
        prefetch_read(&page);
        prefetch_write(&page);
        assert_eq!((word, page), (7, [9; 4_096]));
    }
}
