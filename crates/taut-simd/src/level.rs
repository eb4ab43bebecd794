//! Which instructions are used, and how code is compiled for each.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use crate::avx2::Avx2;
use crate::lanes::{LaneOperation, Lanes};
use crate::portable::Portable;
#[cfg(target_arch = "x86_64")]
use crate::sse2::Sse2;

/// A set of instructions that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

impl Level {
    /// 64-bit words, which every processor has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The fastest. Cost: one load, but for the first call.
    #[inline]
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().last().unwrap_or(Self::PORTABLE))
    }

    /// Every level that this processor has, the fastest last.
    pub fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vectors = [Some(Kind::Sse2(Sse2::new())), Avx2::detect().map(Kind::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let vectors: [Option<Kind>; 0] = [];
        core::iter::once(Kind::Portable).chain(vectors.into_iter().flatten()).map(Self)
    }

    /// The level with this name, if the processor has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|level| level.name() == name)
    }

    /// `avx2`, `sse2` or `portable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Sse2(_) => "sse2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
        }
    }

    /// Runs the work as it was compiled for this level. Cost: a branch and a call.
    #[inline]
    pub fn run<K: LaneOperation>(self, kernel: K) -> K::Output {
        match self.0 {
            Kind::Portable => kernel.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Kind::Sse2(lanes) => kernel.run(lanes),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(lanes) => lanes.enter(kernel),
        }
    }

    /// The sum of the bytes modulo 256.
    #[inline]
    #[must_use]
    pub fn sum(self, bytes: &[u8]) -> u8 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(lanes) => lanes.enter(Sum(bytes)),
            _ => self.narrow_sum(bytes),
        }
    }

    /// In line these would take the caller's registers from the level that most processors have.
    #[inline(never)]
    fn narrow_sum(self, bytes: &[u8]) -> u8 {
        self.run(Sum(bytes))
    }
}

struct Sum<'a>(&'a [u8]);

impl LaneOperation for Sum<'_> {
    type Output = u8;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u8 {
        lanes.sum(self.0)
    }
}
