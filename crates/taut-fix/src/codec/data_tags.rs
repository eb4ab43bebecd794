//! Which fields hold data, and which give their lengths.

use alloc::vec::Vec;

use crate::codec::tag;

/// Pairs of a length's tag and the tag of the data field right behind it, whose value may hold
/// delimiters: those of the standard, and what a dialect adds to them.
///
/// A dictionary knows its own ([`Dictionary::data_tags`](crate::Dictionary::data_tags)). An
/// announced length is believed only when the data field follows and ends at a delimiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTags {
    /// Beyond the standard's, by the length's tag.
    extra: Vec<(u32, u32)>,
    /// The lowest length tag in `extra`: one comparison spares the search for most tags.
    lowest: u32,
}

impl DataTags {
    /// Nothing but the standard's.
    pub const STANDARD: &'static Self = &Self { extra: Vec::new(), lowest: u32::MAX };

    /// These pairs besides the standard's. What the standard, or a pair before, says about a
    /// length's tag stands.
    #[must_use]
    pub fn with_extra(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut extra: Vec<(u32, u32)> = Vec::new();
        for (length, data) in pairs {
            let is_new = extra.iter().all(|(other, _)| *other != length);
            if is_new && tag::data_tag(length).is_none() {
                extra.push((length, data));
            }
        }
        extra.sort_unstable();
        let lowest = extra.first().map_or(u32::MAX, |(length, _)| *length);
        Self { extra, lowest }
    }

    /// The pairs of both; for a length that both know, the one of these.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::with_extra(self.extra.iter().chain(&other.extra).copied())
    }

    /// The data field whose length this tag gives.
    #[must_use]
    pub fn data_tag(&self, length_tag: u32) -> Option<u32> {
        tag::data_tag(length_tag).or_else(|| self.extra_data_tag(length_tag))
    }

    /// Whether every length's tag that the standard does not know has more than three digits.
    #[inline(always)]
    pub(crate) const fn has_long_extras_only(&self) -> bool {
        self.lowest >= 1000
    }

    /// Whether the tag gives the length of a data field.
    #[inline(always)]
    pub(crate) fn is_length(&self, tag: u32) -> bool {
        tag::may_be_length(tag) || (tag >= self.lowest && self.extra_data_tag(tag).is_some())
    }

    #[cold]
    fn extra_data_tag(&self, length_tag: u32) -> Option<u32> {
        let at = self.extra.binary_search_by_key(&length_tag, |(length, _)| *length).ok()?;
        self.extra.get(at).map(|(_, data)| *data)
    }
}

#[cfg(test)]
mod tests {
    use super::DataTags;

    #[test]
    fn a_dialects_pairs_stand_beside_the_standards() {
        let tags = DataTags::with_extra([(6002, 6001), (5001, 5002), (95, 7), (5001, 5003)]);
        assert_eq!(tags.data_tag(95), Some(96));
        assert_eq!(tags.data_tag(5001), Some(5002));
        assert_eq!(tags.data_tag(6002), Some(6001));
        assert_eq!(tags.data_tag(5002), None);
        for tag in 0..7000 {
            assert_eq!(tags.is_length(tag), tags.data_tag(tag).is_some(), "{tag}");
            let standard = DataTags::STANDARD;
            assert_eq!(standard.is_length(tag), standard.data_tag(tag).is_some(), "{tag}");
        }
        assert!(tags.has_long_extras_only() && DataTags::STANDARD.has_long_extras_only());
        assert!(!DataTags::with_extra([(999, 998)]).has_long_extras_only());
    }

    #[test]
    fn a_union_knows_both() {
        let (one, two) = (DataTags::with_extra([(5001, 5002)]), DataTags::with_extra([(700, 701)]));
        let both = one.union(&two);
        assert_eq!((both.data_tag(5001), both.data_tag(700)), (Some(5002), Some(701)));
        assert_eq!(one.union(DataTags::STANDARD), one);
    }
}
