//! What a level can do, and what is compiled for each.

/// The operations of a level. A value of such a type is proof that the processor has it.
pub trait Lanes: Copy {
    /// Bit `n` is set where byte `n` of the block equals `byte`.
    fn equal_mask(self, block: &[u8; 64], byte: u8) -> u64;

    /// The sum of the bytes modulo 256.
    fn sum(self, bytes: &[u8]) -> u8;

    /// The bits that are set in some of many bytes, in any of them.
    type Seen: Copy;

    /// Of no bytes.
    fn unseen(self) -> Self::Seen;

    /// With these bytes.
    fn see(self, bytes: &[u8; 32], seen: Self::Seen) -> Self::Seen;

    /// Puts `from` XOR the pattern, repeated, into `to`, and sees what comes out.
    fn xor(self, to: &mut [u8; 32], from: &[u8; 32], pattern: u64, seen: Self::Seen) -> Self::Seen;

    /// Whether no byte had its highest bit: all were ASCII.
    fn is_ascii(self, seen: Self::Seen) -> bool;
}

/// A piece of work that is compiled for every level. Its `run`, and what it calls that matters,
/// is `#[inline(always)]`: a function of its own would be compiled for the processors of the
/// whole build.
pub trait LaneOperation {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}
