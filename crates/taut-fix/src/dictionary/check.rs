//! Holds a message against the tables.

use crate::codec::index::Slot;
use crate::codec::number::parse_u64;
use crate::codec::timestamp::is_timestamp;
use crate::dictionary::format::Format;
use crate::dictionary::rules::{Fault, Rules};
use crate::dictionary::tables::{
    Block, Dictionary, Glance, MEMBERS_MAX, Member, Part, is_of_frame,
};
use crate::error::RejectReason;

/// The first tag that users may define.
const USER_DEFINED_MIN: i32 = 5000;
/// How deep groups may nest; the standard's deepest has four levels.
const DEPTH_MAX: usize = 12;

/// Which members of a block were seen.
struct Seen([u64; MEMBERS_MAX / 64]);

impl Seen {
    #[inline]
    const fn new() -> Self {
        Self([0; MEMBERS_MAX / 64])
    }

    /// Marks a member; `false` when it was marked before.
    #[inline]
    fn mark(&mut self, member: usize) -> bool {
        let bit = 1 << (member % 64);
        // No block has more members than there are bits.
        let Some(word) = self.0.get_mut(member / 64 % (MEMBERS_MAX / 64)) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    #[inline]
    fn has(&self, member: usize) -> bool {
        self.0.get(member / 64).is_some_and(|word| word >> (member % 64) & 1 == 1)
    }

    /// The first of the required members that is not marked.
    #[inline]
    fn missing(&self, block: &Block) -> Option<Member> {
        let mut left = block.required_count;
        for (index, word) in self.0.iter().enumerate() {
            if left == 0 {
                break;
            }
            let wanted = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            let absent = wanted & !word;
            if absent != 0 {
                return block.members.get(index * 64 + absent.trailing_zeros() as usize).copied();
            }
            left = left.saturating_sub(64);
        }
        None
    }
}

/// One message and what it is held against.
struct Check<'a> {
    /// For the header and the trailer.
    transport: &'a Dictionary,
    /// For the body.
    application: &'a Dictionary,
    rules: Rules,
    message: &'a [u8],
    slots: &'a [Slot],
}

impl Dictionary {
    /// Holds an indexed message against this dictionary.
    ///
    /// The order in which faults are looked for is that of QuickFIX: the type of the message,
    /// fields out of order, missing fields, then the first other fault on the wire.
    /// Cost: a few nanoseconds for each field; nothing is allocated.
    ///
    /// # Errors
    /// The [`Fault`] that a Reject (3) names.
    #[inline]
    pub fn check(&self, message: &[u8], slots: &[Slot], rules: Rules) -> Result<(), Fault> {
        self.check_application(self, message, slots, rules)
    }

    /// As [`Dictionary::check`], with header and trailer of this dictionary and the body of another
    /// (FIXT 1.1 and an application version).
    ///
    /// # Errors
    /// As [`Dictionary::check`].
    #[inline]
    pub fn check_application(
        &self,
        application: &Self,
        message: &[u8],
        slots: &[Slot],
        rules: Rules,
    ) -> Result<(), Fault> {
        Check { transport: self, application, rules, message, slots }.run()
    }

    /// Where the group that the slot at `at` counts ends, when it counts one in this type of
    /// message: the place of the first slot that is none of its fields.
    #[must_use]
    pub fn group_end(&self, msg_type: &[u8], slots: &[Slot], at: usize) -> Option<usize> {
        let block = self.block(self.message(msg_type)?.block)?;
        let slot = slots.get(at)?;
        let (_, member) = block.member(slot.tag)?;
        Some(self.group_end_from(self.block(member.group)?, slots, at + 1, 0))
    }

    fn group_end_from(&self, group: &Block, slots: &[Slot], from: usize, depth: usize) -> usize {
        let mut at = from;
        while let Some(slot) = slots.get(at) {
            let Some((_, member)) = group.member(slot.tag) else { break };
            at += 1;
            if let Some(inner) = self.block(member.group)
                && depth < DEPTH_MAX
            {
                at = self.group_end_from(inner, slots, at, depth + 1);
            }
        }
        at
    }
}

impl Check<'_> {
    fn run(&self) -> Result<(), Fault> {
        let msg_type = self.slots.first().map_or(&[][..], |slot| slot.value(self.message));
        let entry = self.application.message(msg_type);
        let body = entry.and_then(|entry| self.application.block(entry.block));
        let header = self.transport.block(self.transport.header);
        let trailer = self.transport.block(self.transport.trailer);
        let (Some(body), Some(header), Some(trailer)) = (body, header, trailer) else {
            return Err(self.unknown_type());
        };
        let (mut in_header, mut in_body) = (Seen::new(), Seen::new());
        // Most trailers have nothing but the CheckSum, which the index leaves out.
        let mut in_trailer: Option<Seen> = None;
        let mut found_fault = None;
        let (mut at, mut last) = (0, Part::Header);
        loop {
            self.pass_ordinary(Part::Header, &mut last, header, &mut in_header, &mut at);
            self.pass_ordinary(Part::Body, &mut last, body, &mut in_body, &mut at);
            let Some(slot) = self.slots.get(at) else { break };
            at += 1;
            let part = Part::of(slot.tag);
            if part < last && self.rules.field_order {
                return Err(fault(RejectReason::TagOutOfOrder, slot));
            }
            last = part;
            let (dictionary, block, seen) = match part {
                Part::Header => (self.transport, header, &mut in_header),
                Part::Body => (self.application, body, &mut in_body),
                Part::Trailer => {
                    (self.transport, trailer, in_trailer.get_or_insert_with(Seen::new))
                }
            };
            let found = match self.check_field(dictionary, block, seen, slot) {
                Ok(None) => continue,
                Ok(Some(group)) => self.check_group(dictionary, group, slot, &mut at, 0),
                Err(found) => Err(found),
            };
            if let Err(found) = found {
                found_fault.get_or_insert(found);
            }
        }
        if self.rules.required {
            self.check_required(header, &in_header, body, &in_body)?;
        }
        found_fault.map_or(Ok(()), Err)
    }

    /// Passes over fields of one part, up to one that is not plainly right: that one, a group, and
    /// whatever is out of order is left to [`Check::check_field`]. Which rules hold need not be
    /// asked here, for what passes keeps them all.
    #[inline(always)]
    fn pass_ordinary(
        &self,
        part: Part,
        last: &mut Part,
        block: &Block,
        seen: &mut Seen,
        at: &mut usize,
    ) {
        if *last > part {
            return;
        }
        let slots = self.slots.get(*at..).unwrap_or(&[]);
        let passed = count_plain(block, self.message, slots, seen);
        if passed > 0 {
            *at += passed;
            *last = part;
        }
    }

    /// Fields out of order come before a type that is not known.
    #[cold]
    fn unknown_type(&self) -> Fault {
        let mut last = Part::Header;
        for slot in self.slots {
            let now = Part::of(slot.tag);
            if now < last && self.rules.field_order {
                return fault(RejectReason::TagOutOfOrder, slot);
            }
            last = now;
        }
        let offset = self.slots.first().map_or(0, |slot| slot.start as usize);
        Fault { reason: RejectReason::InvalidMsgType, tag: None, offset }
    }

    fn check_required(
        &self,
        header: &Block,
        in_header: &Seen,
        body: &Block,
        in_body: &Seen,
    ) -> Result<(), Fault> {
        let in_transport = in_header.missing(header).map(|member| (self.transport, member));
        let missing =
            in_transport.or_else(|| in_body.missing(body).map(|member| (self.application, member)));
        match missing {
            None => Ok(()),
            Some((dictionary, member)) => Err(self.missing(dictionary, member)),
        }
    }

    #[cold]
    fn missing(&self, dictionary: &Dictionary, member: Member) -> Fault {
        let field = dictionary.fields.get(usize::from(member.field));
        Fault {
            reason: RejectReason::RequiredTagMissing,
            tag: field.and_then(|field| i32::try_from(field.tag).ok()),
            offset: self.slots.last().map_or(0, |slot| slot.end as usize + 1),
        }
    }

    /// Checks one field; returns the block of its entries when it counts a group.
    #[inline(always)]
    fn check_field<'d>(
        &self,
        dictionary: &'d Dictionary,
        block: &Block,
        seen: &mut Seen,
        slot: &Slot,
    ) -> Result<Option<&'d Block>, Fault> {
        let value = slot.value(self.message);
        let Some((index, member)) = block.member(slot.tag) else {
            return self.check_stray(dictionary, slot, value);
        };
        // Marked first: a field with a wrong value is there all the same.
        let is_new = seen.mark(index);
        self.check_value(dictionary, member, slot, value)?;
        if !is_new || is_of_frame(slot.tag) {
            return Err(fault(RejectReason::TagAppearsTwice, slot));
        }
        Ok(dictionary.block(member.group))
    }

    /// A field that is no member of its block.
    #[cold]
    fn check_stray<'d>(
        &self,
        dictionary: &Dictionary,
        slot: &Slot,
        value: &[u8],
    ) -> Result<Option<&'d Block>, Fault> {
        if value.is_empty() {
            self.check_empty(slot)?;
        }
        let is_exempt = !self.rules.user_defined && slot.tag >= USER_DEFINED_MIN;
        let known = u32::try_from(slot.tag).ok().and_then(|tag| dictionary.field(tag));
        if let Some((_, entry)) = known
            && self.rules.formats
            && !value.is_empty()
            && !entry.format.accepts(value)
        {
            return Err(fault(RejectReason::IncorrectDataFormat, slot));
        }
        if is_exempt || (self.rules.allow_unknown_fields && slot.tag > 0) {
            return self.check_data_length(dictionary, slot).map(|()| None);
        }
        let reason = match known {
            Some(_) => RejectReason::TagNotDefinedForMessage,
            None => RejectReason::InvalidTagNumber,
        };
        Err(fault(reason, slot))
    }

    #[inline(always)]
    fn check_value(
        &self,
        dictionary: &Dictionary,
        member: &Member,
        slot: &Slot,
        value: &[u8],
    ) -> Result<(), Fault> {
        if value.is_empty() {
            return self.check_empty(slot);
        }
        // A listed value has the right format: most values of one byte end here.
        if let [byte] = value
            && member.lists_byte(*byte)
        {
            return Ok(());
        }
        if self.rules.formats && !member.format.accepts(value) {
            return Err(fault(RejectReason::IncorrectDataFormat, slot));
        }
        if member.is_closed && self.rules.ranges {
            check_listed(dictionary, member, slot, value)?;
        }
        if member.format == Format::Data {
            return self.check_data_length(dictionary, slot);
        }
        Ok(())
    }

    /// A field whose length stands right before it has so many bytes: one that does not was indexed
    /// up to the next delimiter.
    #[cold]
    fn check_data_length(&self, dictionary: &Dictionary, slot: &Slot) -> Result<(), Fault> {
        let at = self.slots.partition_point(|other| other.start < slot.start);
        let before = at.checked_sub(1).and_then(|at| self.slots.get(at));
        let is_length = |before: &&Slot| {
            let length_tag = u32::try_from(before.tag).ok();
            let data_tag = length_tag.and_then(|tag| dictionary.data_tags.data_tag(tag));
            data_tag == Some(slot.tag.cast_unsigned())
        };
        let Some(length) = before.filter(is_length) else { return Ok(()) };
        let bytes = u64::from(slot.end - slot.start);
        if self.rules.data_lengths && parse_u64(length.value(self.message)) != Some(bytes) {
            return Err(fault(RejectReason::ValueIncorrect, length));
        }
        Ok(())
    }

    #[cold]
    fn check_empty(&self, slot: &Slot) -> Result<(), Fault> {
        if self.rules.values_present {
            return Err(fault(RejectReason::TagWithoutValue, slot));
        }
        Ok(())
    }

    /// The entries of a group, from the slot behind its count. An entry starts at the group's first
    /// field, or at a field that the entry before has already. A wrong count comes before what is
    /// wrong in an entry, for it may be where one starts that is misunderstood.
    fn check_group(
        &self,
        dictionary: &Dictionary,
        group: &Block,
        count: &Slot,
        at: &mut usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let mut entries: u64 = 0;
        let mut seen = Seen::new();
        let mut checked = Ok(());
        while let Some(slot) = self.slots.get(*at) {
            let Some((index, member)) = group.member(slot.tag) else { break };
            *at += 1;
            if entries == 0 || slot.tag.cast_unsigned() == group.first_tag || seen.has(index) {
                checked =
                    checked.and_then(|()| self.check_entry(dictionary, group, &seen, entries));
                entries += 1;
                seen = Seen::new();
                if self.rules.group_starts && slot.tag.cast_unsigned() != group.first_tag {
                    checked = checked.and(Err(fault(RejectReason::GroupOutOfOrder, slot)));
                }
            }
            seen.mark(index);
            let value = slot.value(self.message);
            checked = checked.and_then(|()| self.check_value(dictionary, member, slot, value));
            if let Some(inner) = dictionary.block(member.group)
                && depth < DEPTH_MAX
            {
                checked = checked.and(self.check_group(dictionary, inner, slot, at, depth + 1));
            }
        }
        checked = checked.and_then(|()| self.check_entry(dictionary, group, &seen, entries));
        let announced = parse_u64(count.value(self.message));
        if self.rules.group_counts && announced != Some(entries) {
            return Err(fault(RejectReason::GroupCountIncorrect, count));
        }
        checked
    }

    /// What an entry that ends must have had.
    fn check_entry(
        &self,
        dictionary: &Dictionary,
        group: &Block,
        seen: &Seen,
        entries: u64,
    ) -> Result<(), Fault> {
        if entries == 0 || !self.rules.required {
            return Ok(());
        }
        seen.missing(group).map_or(Ok(()), |member| Err(self.missing(dictionary, member)))
    }
}

/// How many fields are members of the block, right at a glance, and there for the first time; those
/// are marked. A function of its own: its loop has no register to spare.
#[inline(never)]
fn count_plain(block: &Block, message: &[u8], slots: &[Slot], seen: &mut Seen) -> usize {
    let mut count = 0;
    // Through memory, each mark would wait for the one before.
    let mut first = seen.0[0];
    for slot in slots {
        let Some((index, member)) = block.member(slot.tag) else { break };
        if !is_plain(member, message, slot) {
            break;
        }
        let is_marked = if index < 64 {
            let bit = 1 << index;
            let is_marked = first & bit != 0;
            first |= bit;
            is_marked
        } else {
            !seen.mark(index)
        };
        if is_marked {
            break;
        }
        count += 1;
    }
    seen.0[0] = first;
    count
}

/// Whether a value is right at first sight.
#[inline(always)]
fn is_plain(member: &Member, message: &[u8], slot: &Slot) -> bool {
    let len = slot.end.wrapping_sub(slot.start);
    let rest = || message.get(slot.start as usize..);
    match member.glance {
        Glance::Text => slot.end > slot.start,
        Glance::Listed if len == 1 => {
            rest().and_then(<[u8]>::first).is_some_and(|byte| member.lists_byte(*byte))
        }
        Glance::Listed => false,
        // Behind a value in a frame is at least its delimiter and a trailer.
        Glance::Digits
            if rest().and_then(<[u8]>::first_chunk).is_some_and(|start| {
                is_short_number(*start, len, member.format == Format::Float)
            }) =>
        {
            true
        }
        _ => is_right(member, message, slot),
    }
}

/// Whether a value has its format, where no other rule can be broken.
#[inline(never)]
fn is_right(member: &Member, message: &[u8], slot: &Slot) -> bool {
    let value = slot.value(message);
    match member.format {
        _ if member.glance == Glance::Never || value.is_empty() => false,
        // Every message has one, so that it comes before the other formats.
        Format::Timestamp => is_timestamp(value),
        other => other.accepts(value),
    }
}

/// Up to eight digits, with at most one point among them where there may be one, looked at in one
/// word. What is none may still be a number: longer, or with a sign.
#[inline(always)]
fn is_short_number(start: [u8; 8], len: u32, may_have_point: bool) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH * 0x80;
    if len.wrapping_sub(1) >= 8 {
        return false;
    }
    // The digits move to the high end, zeros below them.
    let digits = (u64::from_le_bytes(start) ^ (EACH * b'0' as u64)) << (64 - 8 * len);
    let wrong = (digits.wrapping_add(EACH * 0x76) | digits) & HIGH;
    if wrong == 0 {
        return true;
    }
    // One wrong byte, a point, and a digit beside it.
    let found = digits >> (wrong.trailing_zeros() & !7) & 0xff;
    may_have_point && wrong.is_power_of_two() && found == u64::from(b'.' ^ b'0') && len > 1
}

/// A value of several bytes, or one that is not listed.
fn check_listed(
    dictionary: &Dictionary,
    member: &Member,
    slot: &Slot,
    value: &[u8],
) -> Result<(), Fault> {
    let entry = dictionary.fields.get(usize::from(member.field));
    if entry.is_some_and(|entry| entry.lists(value)) {
        return Ok(());
    }
    Err(fault(RejectReason::ValueIncorrect, slot))
}

#[cold]
const fn fault(reason: RejectReason, slot: &Slot) -> Fault {
    Fault { reason, tag: Some(slot.tag), offset: slot.start as usize }
}

#[cfg(test)]
mod tests {
    use super::{Format, is_short_number};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_short_number_has_the_format(
            value in proptest::collection::vec(
                prop_oneof![b'0'..=b'9', b'0'..=b'9', Just(b'.'), Just(b'-'), any::<u8>()], 0..11,
            ),
        ) {
            let mut start = [b'x'; 8];
            start.iter_mut().zip(&value).for_each(|(room, byte)| *room = *byte);
            for format in [Format::Int, Format::Count, Format::Float] {
                let may_have_point = format == Format::Float;
                let is_number = is_short_number(start, value.len() as u32, may_have_point);
                prop_assert!(!is_number || format.accepts(&value));
                // Without a sign, and short, it finds every number.
                let is_simple = value.len() <= 8 && value.first() != Some(&b'-');
                prop_assert!(is_number || !is_simple || !format.accepts(&value));
            }
        }
    }
}
