//! Fields of one message, written into another.

use taut_fix::{DataTags, Writer};

const SOH: u8 = 1;

/// Writes fields as they stood in a message. A data field that holds delimiters is written behind
/// its length, which must be the field before it.
pub fn copy<'a>(
    writer: &mut Writer<'_>,
    fields: impl IntoIterator<Item = (i32, &'a [u8])>,
    data_tags: &DataTags,
) {
    let mut fields = fields.into_iter().peekable();
    while let Some((tag, value)) = fields.next() {
        let length_tag = u32::try_from(tag).unwrap_or(0);
        let Some(data_tag) = data_tags.data_tag(length_tag) else {
            writer.field(tag, value);
            continue;
        };
        let is_data = |next: i32| u32::try_from(next) == Ok(data_tag);
        match fields.next_if(|(next, data)| is_data(*next) && data.contains(&SOH)) {
            Some((_, data)) => writer.data_field(length_tag, data_tag, data),
            None => writer.field(tag, value),
        }
    }
}
