//! Repeating groups: entries that are to be written, or that were read.

use core::fmt;

use crate::event::{BookOrder, LevelUpdate};
use crate::native::codec;
use crate::native::event::{snapshot_level, snapshot_order};

macro_rules! group {
    (
        $(#[$doc:meta])*
        $group:ident of $entry:ident by $read:ident, $decoder:ident, $entries:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $group<'a>(Source<&'a [$entry], codec::Group<'a, codec::$decoder<'a>>>);

        impl<'a> $group<'a> {
            /// A group of these entries.
            #[must_use]
            pub const fn new(entries: &'a [$entry]) -> Self {
                Self(Source::Values(entries))
            }

            /// A group that was decoded, if every value in it is one.
            pub(crate) fn of(group: codec::Group<'a, codec::$decoder<'a>>) -> Option<Self> {
                let sound = group.iter().all(|entry| $read(&entry).is_some());
                sound.then_some(Self(Source::Encoded(group)))
            }

            /// How many entries it has.
            #[must_use]
            pub const fn len(&self) -> usize {
                match self.0 {
                    Source::Values(values) => values.len(),
                    Source::Encoded(group) => group.len(),
                }
            }

            /// Whether it has none.
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Its entries in order.
            #[must_use]
            pub fn iter(&self) -> $entries<'a> {
                $entries(match self.0 {
                    Source::Values(values) => Source::Values(values.iter()),
                    Source::Encoded(group) => Source::Encoded(group.iter()),
                })
            }
        }

        impl PartialEq for $group<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().eq(other.iter())
            }
        }

        impl fmt::Debug for $group<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }

        impl<'a> IntoIterator for $group<'a> {
            type Item = $entry;
            type IntoIter = $entries<'a>;

            fn into_iter(self) -> $entries<'a> {
                self.iter()
            }
        }

        /// The entries of the group, in order.
        #[derive(Clone, Debug)]
        pub struct $entries<'a>(
            Source<core::slice::Iter<'a, $entry>, codec::Entries<'a, codec::$decoder<'a>>>,
        );

        impl Iterator for $entries<'_> {
            type Item = $entry;

            #[inline]
            fn next(&mut self) -> Option<$entry> {
                match &mut self.0 {
                    Source::Values(values) => values.next().copied(),
                    Source::Encoded(entries) => entries.next().and_then(|entry| $read(&entry)),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                match &self.0 {
                    Source::Values(values) => values.size_hint(),
                    Source::Encoded(entries) => entries.size_hint(),
                }
            }
        }

        impl ExactSizeIterator for $entries<'_> {}
    };
}

/// Where a group comes from: a slice that is to be written, or a checked piece of a datagram.
#[derive(Clone, Copy, Debug)]
enum Source<V, E> {
    Values(V),
    Encoded(E),
}

group! {
    /// The levels of a [`crate::native::SnapshotLevels`].
    Levels of LevelUpdate by snapshot_level, SnapshotLevelsLevelsDecoder, LevelEntries
}

group! {
    /// The orders of a [`crate::native::SnapshotOrders`].
    Orders of BookOrder by snapshot_order, SnapshotOrdersOrdersDecoder, OrderEntries
}
