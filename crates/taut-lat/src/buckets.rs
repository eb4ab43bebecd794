//! HdrHistogram's bucket maths: which bucket a value belongs to, and which values a bucket holds.
//!
//! Values below 512 have a bucket each. From there on every octave is cut into 256 linear steps,
//! so that a bucket is never wider than 1/256 of its smallest value:
//!
//! ```text
//! values          width   buckets
//! 0..512          1       0..512
//! 512..1024       2       512..768
//! 1024..2048      4       768..1024
//! ...
//! 2^35..2^36      2^27    7168..7424
//! ```

/// The largest value that has a bucket: 2^36 - 1 ns, which is 68.7 seconds.
pub const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;

/// How many buckets a histogram has.
pub const BUCKET_COUNT: usize = index_of(VALUE_MAX) + 1;

const VALUE_BITS: u32 = 36;
/// 2^8 linear steps in an octave.
const STEP_BITS: u32 = 8;
const STEPS: usize = 1 << STEP_BITS;

/// A bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value of the bucket, ns.
    pub lowest: u64,
    /// The largest value of the bucket, ns.
    pub highest: u64,
    /// How many values were recorded in it; at least 1.
    pub count: u64,
}

/// The bucket of `value`, which is at most [`VALUE_MAX`].
#[inline]
pub(crate) const fn index_of(value: u64) -> usize {
    // Forcing the low nine bits makes the first 512 values one group with steps of 1.
    let bits = u64::BITS - (value | (2 * STEPS as u64 - 1)).leading_zeros();
    let shift = bits - (STEP_BITS + 1);
    ((shift as usize) << STEP_BITS) + (value >> shift) as usize
}

/// The smallest value of the bucket `index`.
pub(crate) const fn lowest_of(index: usize) -> u64 {
    let shift = shift_of(index);
    ((index - (shift << STEP_BITS)) as u64) << shift
}

/// The largest value of the bucket `index`.
pub(crate) const fn highest_of(index: usize) -> u64 {
    lowest_of(index) + (1 << shift_of(index)) - 1
}

/// The buckets of `counts`, the counts of all buckets in order, that are not empty.
pub(crate) fn non_empty(counts: impl Iterator<Item = u64>) -> impl Iterator<Item = Bucket> {
    counts.enumerate().filter(|&(_, count)| count > 0).map(|(index, count)| Bucket {
        lowest: lowest_of(index),
        highest: highest_of(index),
        count,
    })
}

const fn shift_of(index: usize) -> usize {
    let octave = index >> STEP_BITS;
    if octave < 2 { 0 } else { octave - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_touch_and_cover_every_value() {
        assert_eq!(lowest_of(0), 0);
        assert_eq!(highest_of(BUCKET_COUNT - 1), VALUE_MAX);
        for index in 1..BUCKET_COUNT {
            assert_eq!(lowest_of(index), highest_of(index - 1) + 1, "at {index}");
        }
    }

    #[test]
    fn both_ends_of_a_bucket_map_to_it() {
        for index in 0..BUCKET_COUNT {
            assert_eq!(index_of(lowest_of(index)), index);
            assert_eq!(index_of(highest_of(index)), index);
        }
    }

    #[test]
    fn a_bucket_is_no_wider_than_a_256th_of_its_smallest_value() {
        for index in 0..BUCKET_COUNT {
            let width = highest_of(index) - lowest_of(index);
            assert!(width * 256 <= lowest_of(index), "at {index}");
        }
    }

    #[test]
    fn has_the_sizes_that_the_module_states() {
        assert_eq!(BUCKET_COUNT, 7424);
        assert_eq!((lowest_of(512), lowest_of(768), lowest_of(7168)), (512, 1024, 1 << 35));
    }
}
