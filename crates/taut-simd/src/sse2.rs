//! The operations on the sixteen-byte registers of every x86-64.

use core::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_or_si128, _mm_sad_epu8, _mm_set1_epi8, _mm_set1_epi64x,
    _mm_setzero_si128, _mm_storeu_si128, _mm_unpackhi_epi64, _mm_xor_si128,
};

use crate::lanes::Lanes;
use crate::portable::{keep, short_sum};

/// SSE2 is part of x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sse2(());

impl Sse2 {
    pub const fn new() -> Self {
        Self(())
    }
}

#[inline(always)]
fn load(lane: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read, and the load asks for no alignment.
    // SSE2 is part of x86-64.
    unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
}

const KEEP: [u8; 32] = keep::<16, 32>();

impl Lanes for Sse2 {
    /// Cost: four compares.
    #[inline(always)]
    fn equal_mask(self, block: &[u8; 64], byte: u8) -> u64 {
        let (lanes, _) = block.as_chunks::<16>();
        let mut mask = 0;
        for (index, lane) in lanes.iter().enumerate() {
            // SAFETY: SSE2 is part of x86-64; the operations touch no memory.
            let bits = unsafe {
                _mm_movemask_epi8(_mm_cmpeq_epi8(load(lane), _mm_set1_epi8(byte.cast_signed())))
            };
            mask |= u64::from(bits.cast_unsigned()) << (16 * index);
        }
        mask
    }

    /// Cost: one sum of differences for 16 bytes.
    #[inline(always)]
    fn sum(self, bytes: &[u8]) -> u8 {
        let (lanes, tail) = bytes.as_chunks::<16>();
        let (Some(last), Some(kept)) =
            (bytes.last_chunk::<16>(), KEEP.get(tail.len()..).and_then(<[u8]>::first_chunk))
        else {
            return short_sum(bytes);
        };
        // SAFETY: SSE2 is part of x86-64; memory is read by `load` alone.
        let whole = unsafe {
            let zero = _mm_setzero_si128();
            // The tail is what the last 16 bytes have beyond the whole lanes.
            let mut sums = _mm_sad_epu8(_mm_and_si128(load(last), load(kept)), zero);
            for lane in lanes {
                sums = _mm_add_epi64(sums, _mm_sad_epu8(load(lane), zero));
            }
            _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)))
        };
        (whole & 0xff) as u8
    }

    type Seen = __m128i;

    #[inline(always)]
    fn unseen(self) -> __m128i {
        // SAFETY: SSE2 is part of x86-64; no memory is touched.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    fn see(self, bytes: &[u8; 32], mut seen: __m128i) -> __m128i {
        for lane in bytes.as_chunks::<16>().0 {
            // SAFETY: as in `unseen`; memory is read by `load` alone.
            seen = unsafe { _mm_or_si128(seen, load(lane)) };
        }
        seen
    }

    /// Cost: two registers.
    #[inline(always)]
    fn xor(self, to: &mut [u8; 32], from: &[u8; 32], pattern: u64, mut seen: __m128i) -> __m128i {
        let (lanes, _) = to.as_chunks_mut::<16>();
        for (lane, from) in lanes.iter_mut().zip(from.as_chunks::<16>().0) {
            // SAFETY: the lane has the 16 bytes that are written, and the store asks for no
            // alignment. SSE2 is part of x86-64.
            unsafe {
                let masked = _mm_xor_si128(load(from), _mm_set1_epi64x(pattern.cast_signed()));
                _mm_storeu_si128(lane.as_mut_ptr().cast(), masked);
                seen = _mm_or_si128(seen, masked);
            }
        }
        seen
    }

    #[inline(always)]
    fn is_ascii(self, seen: __m128i) -> bool {
        // SAFETY: as in `unseen`.
        unsafe { _mm_movemask_epi8(seen) == 0 }
    }
}
