//! JSON objects into the caller's room.

use taut_types::Qty;

use crate::text::Text;

/// An object that is being written.
#[derive(Debug)]
pub(crate) struct Object<'o> {
    text: Text<'o>,
    has_field: bool,
}

impl<'o> Object<'o> {
    /// An object that begins with this.
    pub(crate) fn begin(room: &'o mut [u8], head: &[u8]) -> Self {
        let mut text = Text::new(room);
        text.put(head);
        Self { text, has_field: false }
    }

    /// What was written before is continued as another object, whose first field is the next one.
    pub(crate) fn nest(&mut self, between: &[u8]) {
        self.text.put(between);
        self.has_field = false;
    }

    fn key(&mut self, key: &str) {
        self.text.put(if self.has_field { b",\"" } else { b"\"" });
        self.has_field = true;
        self.text.put(key.as_bytes());
        self.text.put(b"\":");
    }

    /// A text, escaped where it must be.
    pub(crate) fn text(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        put_text(&mut self.text, value);
    }

    pub(crate) fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        self.text.put_number(value);
    }

    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.text.put(if value { b"true" } else { b"false" });
    }

    /// A decimal, exactly, without an exponent.
    pub(crate) fn decimal(&mut self, key: &str, value: Qty) {
        self.key(key);
        self.text.put_decimal(value.mantissa, value.decimals);
    }

    /// The same as a text: of digits and a point, which need no escapes.
    pub(crate) fn decimal_text(&mut self, key: &str, value: Qty) {
        self.key(key);
        self.text.put(b"\"");
        self.text.put_decimal(value.mantissa, value.decimals);
        self.text.put(b"\"");
    }

    pub(crate) fn texts<'t>(&mut self, key: &str, values: impl Iterator<Item = &'t [u8]>) {
        self.key(key);
        self.text.put(b"[");
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.text.put(b",");
            }
            put_text(&mut self.text, value);
        }
        self.text.put(b"]");
    }

    /// The whole text with this behind it; nothing when it did not fit.
    pub(crate) fn finish(mut self, tail: &[u8]) -> Option<&'o [u8]> {
        self.text.put(tail);
        self.text.finish()
    }
}

fn put_text(text: &mut Text<'_>, value: &[u8]) {
    text.put(b"\"");
    // Mostly there is nothing to escape: pieces are as long as they can be.
    let must_be_escaped = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    let mut rest = value;
    while let Some(at) = rest.iter().position(must_be_escaped) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or_default();
        text.put(plain);
        let Some((&byte, behind)) = special.split_first() else { break };
        match byte {
            b'"' | b'\\' => text.put(&[b'\\', byte]),
            _ => {
                let digit = |of: u8| if of < 10 { b'0' + of } else { b'a' + of - 10 };
                text.put(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
        }
        rest = behind;
    }
    text.put(rest);
    text.put(b"\"");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;

    #[test]
    fn fields_are_written_one_behind_the_other() {
        let mut room = [0; 128];
        let mut object = Object::begin(&mut room, b"{");
        object.number("id", 7);
        object.nest(b",\"params\":{");
        object.text("label", b"a\"b");
        object.decimal("price", Qty { mantissa: -150, decimals: 2 });
        object.flag("post_only", true);
        object.texts("channels", [&b"x"[..], b"y"].into_iter());
        let expected = concat!(
            r#"{"id":7,"params":{"label":"a\"b","price":-1.5,"#,
            r#""post_only":true,"channels":["x","y"]}}"#
        );
        assert_eq!(object.finish(b"}}"), Some(expected.as_bytes()));
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in any::<String>()) {
            let mut room = [0; 4096];
            let mut object = Object::begin(&mut room, b"{");
            object.text("a", text.as_bytes());
            let written = object.finish(b"}").unwrap();
            let read: serde_json::Value = serde_json::from_slice(written).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(text.as_str()));
        }
    }
}
