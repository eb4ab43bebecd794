//! Datagrams of one length for one target that lie apart: gathered, so that one call sends them.

use taut_aeron::Target;

/// What one call takes, in datagrams.
const SEGMENTS_MAX: usize = 64;

/// Datagrams that wait for each other within one turn. Its memory is taken when it is built.
#[derive(Debug)]
pub struct Bundle {
    bytes: Box<[u8]>,
    filled: usize,
    segment_bytes: usize,
    to: Target,
}

impl Bundle {
    pub fn new(bytes_max: usize) -> Self {
        let bytes = vec![0; bytes_max].into_boxed_slice();
        Self { bytes, filled: 0, segment_bytes: 0, to: Target::All }
    }

    /// Takes a run of datagrams, when it can travel with those that are here: to the same target,
    /// of the same length, and none shorter before it. What is here must be sent first otherwise.
    #[must_use]
    pub fn take(&mut self, to: Target, run: &[u8], segment_bytes: usize) -> bool {
        let segment = segment_bytes.clamp(1, run.len().max(1));
        let end = self.filled + run.len();
        let fits = self.filled == 0
            || (to == self.to
                && segment == self.segment_bytes
                && self.filled.is_multiple_of(segment)
                && end.div_ceil(segment) <= SEGMENTS_MAX);
        let Some(place) = self.bytes.get_mut(self.filled..end).filter(|_| fits) else {
            return false;
        };
        place.copy_from_slice(run);
        (self.filled, self.segment_bytes, self.to) = (end, segment, to);
        true
    }

    /// What is here, to be sent now: the target, the bytes, the length of each datagram.
    pub fn empty(&mut self) -> Option<(Target, &[u8], usize)> {
        let bytes = self.bytes.get(..self.filled).filter(|bytes| !bytes.is_empty())?;
        self.filled = 0;
        Some((self.to, bytes, self.segment_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_datagrams_to_one_target_travel_together_and_a_shorter_one_is_the_last() {
        let mut bundle = Bundle::new(256);
        let other = Target::One("127.0.0.1:9".parse().expect("an address"));
        assert!(bundle.take(Target::All, &[1; 32], 32) && bundle.take(Target::All, &[2; 64], 32));
        assert!(!bundle.take(other, &[3; 32], 32), "another target");
        assert!(!bundle.take(Target::All, &[3; 64], 64), "another length");
        assert!(bundle.take(Target::All, &[4; 40], 32), "8 bytes at the end");
        assert!(!bundle.take(Target::All, &[5; 32], 32), "none behind a shorter one");
        let (to, bytes, segment) = bundle.empty().expect("three runs");
        assert_eq!((to, bytes.len(), segment), (Target::All, 136, 32));
        assert!(bundle.empty().is_none() && bundle.take(other, &[6; 256], 1408));
        assert!(!bundle.take(other, &[6; 1], 1408), "it is full");
        assert_eq!(
            bundle.empty().map(|(_, bytes, segment)| (bytes.len(), segment)),
            Some((256, 256))
        );
        assert!(!bundle.take(other, &[0; 257], 1408), "more than it holds");
    }
}
