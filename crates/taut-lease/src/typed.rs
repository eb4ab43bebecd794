//! Typed messages, and how long one may be.

use super::header::HEADER_BYTES;
use super::seal::TAG_BYTES;

/// A message of a fixed layout that travels in one datagram, such as a generated SBE message or a
/// struct of integers.
pub trait TypedMessage: Sized {
    /// Its number in the header.
    const TYPE: u16;
    /// Its length in bytes.
    const BYTES: usize;

    /// Writes it into exactly [`TypedMessage::BYTES`] bytes.
    fn write(&self, bytes: &mut [u8]);

    /// Reads it out of as many; nothing when they are no such message.
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// The longest message in a datagram of `mtu_bytes` of UDP payload.
#[must_use]
pub const fn payload_bytes_max(mtu_bytes: usize, has_key: bool) -> usize {
    mtu_bytes.saturating_sub(HEADER_BYTES + if has_key { TAG_BYTES } else { 0 })
}

/// Refuses at compile time a message that does not fit `MTU_BYTES` of UDP payload, tag included:
///
/// ```compile_fail
/// use taut_lease::{TypedMessage, check_fits};
///
/// struct Large;
/// impl TypedMessage for Large {
///     const TYPE: u16 = 1;
///     const BYTES: usize = 1_425;
///     fn write(&self, _bytes: &mut [u8]) {}
///     fn read(_bytes: &[u8]) -> Option<Self> { Some(Self) }
/// }
/// check_fits::<Large, 1472>(); // 1425 + 32 + 16 > 1472
/// ```
///
/// One of 1,424 bytes fits:
///
/// ```
/// # use taut_lease::{TypedMessage, check_fits};
/// # struct Fits;
/// # impl TypedMessage for Fits {
/// #     const TYPE: u16 = 1;
/// #     const BYTES: usize = 1_424;
/// #     fn write(&self, _bytes: &mut [u8]) {}
/// #     fn read(_bytes: &[u8]) -> Option<Self> { Some(Self) }
/// # }
/// check_fits::<Fits, 1472>();
/// ```
pub const fn check_fits<T: TypedMessage, const MTU_BYTES: usize>() {
    const { assert!(T::BYTES <= payload_bytes_max(MTU_BYTES, true), "longer than a datagram") }
}
