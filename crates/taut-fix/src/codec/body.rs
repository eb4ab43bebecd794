//! Walks the body of an indexed message.

use core::slice::Iter;

use crate::codec::fields::Field;
use crate::codec::index::{FieldIndex, Slot};
use crate::codec::tag;
use crate::error::{FixError, RejectReason};

/// The fields behind the standard header, in their order on the wire.
///
/// What an index keeps for a dictionary to judge is judged here: an empty value and a tag below
/// one are errors. Offsets count to the value.
#[derive(Clone, Debug)]
pub struct Body<'a, 'i> {
    message: &'a [u8],
    slots: Iter<'i, Slot>,
    end: usize,
}

impl<'a, 'i> Body<'a, 'i> {
    /// The body of a message, out of the bytes that were indexed.
    #[inline]
    #[must_use]
    pub fn new(message: &'a [u8], index: &'i FieldIndex) -> Self {
        Self::of_slots(message, index.slots())
    }

    /// The body of a message with these fields.
    #[inline]
    pub(crate) fn of_slots(message: &'a [u8], slots: &'i [Slot]) -> Self {
        let is_header = |slot: &Slot| u32::try_from(slot.tag).is_ok_and(tag::is_header);
        let first = slots.iter().position(|slot| !is_header(slot)).unwrap_or(slots.len());
        let end = slots.last().map_or(0, |slot| slot.end as usize + 1);
        Self { message, slots: slots.get(first..).unwrap_or(&[]).iter(), end }
    }

    /// Where the fields end in the message.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end
    }
}

impl<'a> Iterator for Body<'a, '_> {
    type Item = Result<Field<'a>, FixError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.next()?;
        let field = slot.field(self.message);
        if field.value.is_empty() {
            return Some(Err(field.violates(RejectReason::TagWithoutValue)));
        }
        if field.tag == 0 {
            return Some(Err(field.violates(RejectReason::InvalidTagNumber)));
        }
        Some(Ok(field))
    }
}

#[cfg(test)]
mod tests {
    use super::Body;
    use crate::codec::frame::{Framed, frame};
    use crate::codec::index::FieldIndex;
    use crate::error::{FixError, RejectReason, Violation};
    use std::vec::Vec;

    fn walk(body: &str) -> Vec<Result<u32, RejectReason>> {
        let body = body.replace('|', "\x01");
        let mut bytes = std::format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
        let sum = taut_simd::sum(&bytes);
        bytes.extend_from_slice(std::format!("10={sum:03}\x01").as_bytes());
        let Ok(Framed::Message(frame)) = frame(&bytes, 1 << 20) else { panic!("{body}") };
        let mut index = FieldIndex::with_capacity(16);
        index.fill(&frame).unwrap();
        let fields = Body::new(&bytes, &index);
        assert_eq!(fields.end(), frame.body_range().end);
        fields
            .map(|field| match field {
                Ok(field) => Ok(field.tag),
                Err(FixError::PeerViolation(Violation::Field { reason, .. })) => Err(reason),
                Err(other) => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn starts_behind_the_header_and_refuses_what_is_no_field() {
        assert_eq!(walk("35=D|34=2|49=A|56=B|11=x|55=y|"), [Ok(11), Ok(55)]);
        assert_eq!(walk("35=0|34=2|"), []);
        let (empty, invalid) = (RejectReason::TagWithoutValue, RejectReason::InvalidTagNumber);
        assert_eq!(
            walk("35=D|11=|-5=x|0=x|34=2|"),
            [Err(empty), Err(invalid), Err(invalid), Ok(34)]
        );
    }
}
