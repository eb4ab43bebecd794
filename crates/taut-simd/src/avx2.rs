//! The operations on registers of 32 bytes, with the bit instructions that came with them.

use core::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_add_epi64,
    _mm256_and_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_sad_epu8, _mm256_set1_epi8,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
};

use crate::lanes::{LaneOperation, Lanes};
use crate::portable::{keep, short_sum};

/// AVX2, BMI1, BMI2, LZCNT and POPCNT: there is a value only where the processor has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// Asks the processor, and the system whether it keeps the wide registers.
    pub fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Self(()))
    }

    /// Runs the work in a function that is compiled for these instructions.
    #[inline]
    pub fn enter<K: LaneOperation>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn run<K: LaneOperation>(lanes: Avx2, kernel: K) -> K::Output {
            kernel.run(lanes)
        }
        // SAFETY: `detect` alone makes such a value, and it has found every one of the features.
        unsafe { run(self, kernel) }
    }
}

#[inline(always)]
fn load(lane: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are read, and the load asks for no alignment.
    // Only the methods of `Avx2` call this, so the processor has AVX2, which brings AVX.
    unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) }
}

const KEEP: [u8; 64] = keep::<32, 64>();

impl Lanes for Avx2 {
    /// Cost: two compares.
    #[inline(always)]
    fn equal_mask(self, block: &[u8; 64], byte: u8) -> u64 {
        let (lanes, _) = block.as_chunks::<32>();
        let mut mask = 0;
        for (index, lane) in lanes.iter().enumerate() {
            // SAFETY: a value of `Avx2` says that the processor has it; no memory is touched.
            let bits = unsafe {
                let equal = _mm256_cmpeq_epi8(load(lane), _mm256_set1_epi8(byte.cast_signed()));
                _mm256_movemask_epi8(equal)
            };
            mask |= u64::from(bits.cast_unsigned()) << (32 * index);
        }
        mask
    }

    /// Cost: one sum of differences for 32 bytes.
    #[inline(always)]
    fn sum(self, bytes: &[u8]) -> u8 {
        let (lanes, tail) = bytes.as_chunks::<32>();
        let (Some(last), Some(kept)) =
            (bytes.last_chunk::<32>(), KEEP.get(tail.len()..).and_then(<[u8]>::first_chunk))
        else {
            return short_sum(bytes);
        };
        // SAFETY: a value of `Avx2` says that the processor has it; memory is read by `load` alone.
        let whole = unsafe {
            let zero = _mm256_setzero_si256();
            // The tail is what the last 32 bytes have beyond the whole lanes.
            let mut sums = _mm256_sad_epu8(_mm256_and_si256(load(last), load(kept)), zero);
            for lane in lanes {
                sums = _mm256_add_epi64(sums, _mm256_sad_epu8(load(lane), zero));
            }
            let halves =
                _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)))
        };
        (whole & 0xff) as u8
    }

    type Seen = __m256i;

    #[inline(always)]
    fn unseen(self) -> __m256i {
        // SAFETY: a value of `Avx2` says that the processor has it; no memory is touched.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn see(self, bytes: &[u8; 32], seen: __m256i) -> __m256i {
        // SAFETY: as in `unseen`; memory is read by `load` alone.
        unsafe { _mm256_or_si256(seen, load(bytes)) }
    }

    /// Cost: one register.
    #[inline(always)]
    fn xor(self, to: &mut [u8; 32], from: &[u8; 32], pattern: u64, seen: __m256i) -> __m256i {
        // SAFETY: the array has the 32 bytes that are written, and the store asks for no alignment;
        // a value of `Avx2` says that the processor has it.
        unsafe {
            let masked = _mm256_xor_si256(load(from), _mm256_set1_epi64x(pattern.cast_signed()));
            _mm256_storeu_si256(to.as_mut_ptr().cast(), masked);
            _mm256_or_si256(seen, masked)
        }
    }

    #[inline(always)]
    fn is_ascii(self, seen: __m256i) -> bool {
        // SAFETY: as in `unseen`.
        unsafe { _mm256_movemask_epi8(seen) == 0 }
    }
}
