//! Ticks with named fields, and a layout hash that follows from them.

use taut_ring::{PAYLOAD_WORDS, Payload};

/// A type of ticks: what [`tick_layout!`](crate::tick_layout) makes.
pub trait TickLayout: Copy {
    /// The hash of its name and of its fields' names and types, for [`Stream`](crate::Stream).
    const LAYOUT: u64;

    /// Its fields, a word each.
    fn to_payload(&self) -> Payload;

    /// From its fields.
    fn from_payload(payload: &Payload) -> Self;
}

/// What fits into a word.
pub trait Field: Copy {
    /// As a word.
    fn to_word(self) -> u64;
    /// From a word; what the type cannot hold is cut off.
    fn from_word(word: u64) -> Self;
}

macro_rules! fields {
    ($($integer:ty),+) => {
        $(impl Field for $integer {
            #[inline]
            fn to_word(self) -> u64 {
                self as u64
            }
            #[inline]
            fn from_word(word: u64) -> Self {
                word as Self
            }
        })+
    };
}

fields!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Field for bool {
    #[inline]
    fn to_word(self) -> u64 {
        self.into()
    }
    #[inline]
    fn from_word(word: u64) -> Self {
        word != 0
    }
}

/// The fields in the first words, the rest zero.
#[doc(hidden)]
#[must_use]
pub fn payload_of<const N: usize>(fields: [u64; N]) -> Payload {
    const { assert!(N <= PAYLOAD_WORDS, "a tick has at most seven fields") };
    let mut payload = [0; PAYLOAD_WORDS];
    payload[..N].copy_from_slice(&fields);
    payload
}

/// Declares a type of ticks: a struct of at most seven integers or truth values, a word each.
///
/// ```
/// taut_ipc::tick_layout! {
///     /// A quote.
///     pub struct Quote {
///         pub bid: i64,
///         pub ask: i64,
///         pub is_firm: bool,
///     }
/// }
/// use taut_ipc::TickLayout;
///
/// let quote = Quote { bid: -1, ask: 2, is_firm: true };
/// assert_eq!(Quote::from_payload(&quote.to_payload()), quote);
/// ```
#[macro_export]
macro_rules! tick_layout {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $kind:ty),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $kind),+
        }

        impl $crate::TickLayout for $name {
            const LAYOUT: u64 = $crate::layout_hash(concat!(
                stringify!($name), $(" ", stringify!($field), ":", stringify!($kind)),+
            ));

            #[inline]
            fn to_payload(&self) -> $crate::Payload {
                $crate::payload_of([$($crate::Field::to_word(self.$field)),+])
            }

            #[inline]
            fn from_payload(payload: &$crate::Payload) -> Self {
                let mut words = payload.iter().copied();
                Self { $($field: $crate::Field::from_word(words.next().unwrap_or(0))),+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::tick_layout! {
        struct One { price: i64, lots: u32, last: bool }
    }

    mod other {
        crate::tick_layout! {
            pub struct One { pub price: i64, pub lots: i32, pub last: bool }
        }
    }

    #[test]
    fn fields_come_back_and_another_type_of_a_field_is_another_layout() {
        let one = One { price: -5, lots: u32::MAX, last: true };
        assert_eq!(one.to_payload()[3..], [0; 4]);
        assert_eq!(One::from_payload(&one.to_payload()), one);
        assert_ne!(One::LAYOUT, <other::One as TickLayout>::LAYOUT);
    }
}
