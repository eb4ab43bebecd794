//! Whom a message comes from and goes to beyond the session: tags 115, 116, 144 and 128, 129, 145.

use crate::codec::begin::BeginString;
use crate::codec::index::Slot;
use crate::codec::text::CompId;
use crate::codec::writer::Writer;

/// The routing fields of a header. Names of more than 31 bytes are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// OnBehalfOfCompID (115), OnBehalfOfSubID (116), OnBehalfOfLocationID (144).
    on_behalf_of: [Option<CompId>; 3],
    /// DeliverToCompID (128), DeliverToSubID (129), DeliverToLocationID (145).
    deliver_to: [Option<CompId>; 3],
}

impl Route {
    /// The way back to whom a message comes from.
    #[must_use]
    pub fn back(message: &[u8], slots: &[Slot]) -> Self {
        let mut route = Self::default();
        for slot in slots {
            let place = match slot.tag {
                115 => &mut route.deliver_to[0],
                116 => &mut route.deliver_to[1],
                144 => &mut route.deliver_to[2],
                128 => &mut route.on_behalf_of[0],
                129 => &mut route.on_behalf_of[1],
                145 => &mut route.on_behalf_of[2],
                tag if u32::try_from(tag).is_ok_and(crate::codec::tag::is_header) => continue,
                _ => break,
            };
            *place = CompId::new(slot.value(message));
        }
        route
    }

    /// Whether it says nothing.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let none = |names: &[Option<CompId>; 3]| names.iter().all(Option::is_none);
        none(&self.on_behalf_of) && none(&self.deliver_to)
    }

    pub(crate) fn write_on_behalf_of(&self, writer: &mut Writer<'_>) {
        let [comp_id, sub_id, _] = &self.on_behalf_of;
        write::<115>(writer, comp_id);
        write::<116>(writer, sub_id);
    }

    /// FIX 4.0 knows no locations.
    pub(crate) fn write_deliver_to(&self, writer: &mut Writer<'_>, begin: BeginString) {
        let ([comp_id, sub_id, location], [.., from_location]) =
            (&self.deliver_to, &self.on_behalf_of);
        write::<128>(writer, comp_id);
        write::<129>(writer, sub_id);
        if begin > BeginString::Fix40 {
            write::<144>(writer, from_location);
            write::<145>(writer, location);
        }
    }
}

fn write<const TAG: u32>(writer: &mut Writer<'_>, name: &Option<CompId>) {
    if let Some(name) = name {
        writer.short::<TAG, 31>(name);
    }
}

#[cfg(test)]
mod tests {
    use super::Route;
    use crate::codec::begin::BeginString;
    use crate::codec::text::CompId;
    use crate::codec::timestamp::{Precision, StampCache};
    use crate::codec::writer::Writer;
    use std::string::String;

    #[test]
    fn locations_are_written_since_fix_41() {
        let route = Route {
            deliver_to: [b"A", b"B", b"C"].map(|name| CompId::new(name)),
            ..Route::default()
        };
        for (begin, has_location) in [(BeginString::Fix40, false), (BeginString::Fix41, true)] {
            let (mut out, mut stamps) = ([0; 128], StampCache::new(Precision::Seconds));
            let mut writer = Writer::begin_version(&mut out, &mut stamps, begin, b"3");
            route.write_deliver_to(&mut writer, begin);
            let range = writer.finish().unwrap();
            let text = String::from_utf8_lossy(&out[range]).replace('\x01', "|");
            assert!(text.contains("|128=A|129=B|"), "{text}");
            assert_eq!(text.contains("|145=C|"), has_location, "{text}");
        }
    }
}
