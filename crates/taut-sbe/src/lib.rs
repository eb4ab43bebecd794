//! The runtime of the SBE codecs that `taut-sbe-gen` generates: what is the same for every schema.
//!
//! A program names [`DecodeError`] and [`EncodeError`], the [`Group`]s of a message, and [`Json`].
//! The rest is what generated code calls; it changes with the generator, so that both have one
//! version. Nothing here allocates, and no input panics.
//!
//! ```
//! use taut_sbe::{Block, Body, Cut, Group, Writer};
//!
//! /// What the generator writes for the entries of a group with one number of 16 bits.
//! #[derive(Clone, Copy)]
//! struct Entry<'a>(Block<'a, 2>);
//!
//! impl<'a> Body<'a> for Entry<'a> {
//!     const FLAT: bool = true;
//!     const BYTES: usize = 2;
//!     fn split(bytes: &'a [u8], length: usize, version: u32) -> Result<(Self, &'a [u8]), Cut> {
//!         Block::split(bytes, length, version).map(|(block, rest)| (Self(block), rest))
//!     }
//!     fn show(&self, to: &mut Writer<'_>) -> core::fmt::Result {
//!         to.field("number", &u16::from_le_bytes(*self.0.base))
//!     }
//! }
//!
//! // Two entries of three bytes each: a newer sender's. The last byte is not theirs.
//! let (group, rest) = Group::<Entry<'_>>::split(&[1, 0, 9, 2, 0, 9, 7], 3, 2, 0).ok().unwrap();
//! assert_eq!(format!("{group:?}"), "[{number: 1}, {number: 2}]");
//! assert_eq!(rest, [7]);
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bytes;
mod error;
mod group;
mod show;

#[doc(hidden)]
pub use bytes::{
    apart, array, array_bytes, at, padded, put, put_data, split, split_at, split_mut, text, trimmed,
};
#[doc(hidden)]
pub use error::Cut;
pub use error::{DecodeError, EncodeError};
#[doc(hidden)]
pub use group::Block;
pub use group::{Body, Entries, Group};
#[doc(hidden)]
pub use show::{Hex, Latin1, Name, Utf8, Value, Writer};
pub use show::{Json, Show};
