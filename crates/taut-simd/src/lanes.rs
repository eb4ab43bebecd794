//! The same functions on the vector registers of x86-64.

#[cfg(target_feature = "avx2")]
pub use avx2::{LEVEL, equal_mask, sum};
#[cfg(not(target_feature = "avx2"))]
pub use sse2::{LEVEL, equal_mask, sum};

#[cfg(target_feature = "avx2")]
mod avx2 {
    use core::arch::x86_64::{
        __m256i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_add_epi64,
        _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_extracti128_si256, _mm256_loadu_si256,
        _mm256_movemask_epi8, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_setzero_si256,
    };

    /// The name of this level.
    pub const LEVEL: &str = "avx2";

    #[inline]
    fn load(lane: &[u8; 32]) -> __m256i {
        // SAFETY: the array has the 32 bytes that are read, and the load asks for no alignment.
        // AVX2, which brings AVX, is a feature of the whole build here.
        unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) }
    }

    /// Bit `n` is set where byte `n` of the block equals `byte`. Cost: two compares.
    #[inline]
    #[must_use]
    pub fn equal_mask(block: &[u8; 64], byte: u8) -> u64 {
        let (lanes, _) = block.as_chunks::<32>();
        let mut mask = 0;
        for (index, lane) in lanes.iter().enumerate() {
            // SAFETY: AVX2 is a feature of the whole build here; the operations touch no memory.
            let bits = unsafe {
                let equal = _mm256_cmpeq_epi8(load(lane), _mm256_set1_epi8(byte.cast_signed()));
                _mm256_movemask_epi8(equal)
            };
            mask |= u64::from(bits.cast_unsigned()) << (32 * index);
        }
        mask
    }

    /// The sum of the bytes modulo 256. Cost: one sum of differences for 32 bytes.
    #[inline]
    #[must_use]
    pub fn sum(bytes: &[u8]) -> u8 {
        let (lanes, tail) = bytes.as_chunks::<32>();
        // SAFETY: AVX2 is a feature of the whole build here; memory is read by `load` alone.
        let whole = unsafe {
            let zero = _mm256_setzero_si256();
            let mut sums = zero;
            for lane in lanes {
                sums = _mm256_add_epi64(sums, _mm256_sad_epu8(load(lane), zero));
            }
            let halves =
                _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)))
        };
        crate::portable::sum(tail).wrapping_add((whole & 0xff) as u8)
    }
}

#[cfg(not(target_feature = "avx2"))]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128,
        _mm_movemask_epi8, _mm_sad_epu8, _mm_set1_epi8, _mm_setzero_si128, _mm_unpackhi_epi64,
    };

    /// The name of this level.
    pub const LEVEL: &str = "sse2";

    #[inline]
    fn load(lane: &[u8; 16]) -> __m128i {
        // SAFETY: the array has the 16 bytes that are read, and the load asks for no alignment.
        // SSE2 is part of x86-64.
        unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
    }

    /// Bit `n` is set where byte `n` of the block equals `byte`. Cost: four compares.
    #[inline]
    #[must_use]
    pub fn equal_mask(block: &[u8; 64], byte: u8) -> u64 {
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

    /// The sum of the bytes modulo 256. Cost: one sum of differences for 16 bytes.
    #[inline]
    #[must_use]
    pub fn sum(bytes: &[u8]) -> u8 {
        let (lanes, tail) = bytes.as_chunks::<16>();
        // SAFETY: SSE2 is part of x86-64; memory is read by `load` alone.
        let whole = unsafe {
            let zero = _mm_setzero_si128();
            let mut sums = zero;
            for lane in lanes {
                sums = _mm_add_epi64(sums, _mm_sad_epu8(load(lane), zero));
            }
            _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)))
        };
        crate::portable::sum(tail).wrapping_add((whole & 0xff) as u8)
    }
}
