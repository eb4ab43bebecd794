//! JSON objects into the caller's room.

use taut_types::Qty;

use crate::text::Text;

/// A key with what stands around it, behind another field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(pub(crate) &'static [u8]);

/// The key of this name.
macro_rules! key {
    ($name:literal) => {
        $crate::json::Key(concat!(",\"", $name, "\":").as_bytes())
    };
}
pub(crate) use key;

/// An object that is being written.
#[derive(Debug)]
pub(crate) struct Object<'o> {
    text: Text<'o>,
    has_field: bool,
}

impl<'o> Object<'o> {
    /// An object that begins with this.
    #[inline(always)]
    pub(crate) fn begin(room: &'o mut [u8], head: &[u8]) -> Self {
        let mut text = Text::new(room);
        text.put(head);
        Self { text, has_field: false }
    }

    /// What was written before is continued as another object, whose first field is the next one.
    #[inline(always)]
    pub(crate) fn nest(&mut self, between: &[u8]) {
        self.text.put(between);
        self.has_field = false;
    }

    #[inline(always)]
    fn key(&mut self, key: Key) {
        let Key(piece) = key;
        // Which it is, is known where this is inlined.
        let piece = if self.has_field {
            piece
        } else {
            piece.split_first().map_or(piece, |(_, first)| first)
        };
        self.has_field = true;
        self.text.put(piece);
    }

    /// A word of the venue's, in which there is nothing to escape.
    #[inline(always)]
    pub(crate) fn word(&mut self, key: Key, word: &'static [u8]) {
        self.key(key);
        self.text.put(b"\"");
        self.text.put_short(word);
        self.text.put(b"\"");
    }

    /// A text, escaped where it must be.
    #[inline(always)]
    pub(crate) fn text(&mut self, key: Key, value: &[u8]) {
        self.key(key);
        put_text(&mut self.text, value);
    }

    #[inline(always)]
    pub(crate) fn number(&mut self, key: Key, value: u64) {
        self.key(key);
        self.text.put_number(value);
    }

    #[inline(always)]
    pub(crate) fn flag(&mut self, key: Key, value: bool) {
        self.key(key);
        self.text.put(if value { b"true" } else { b"false" });
    }

    /// A decimal, exactly, without an exponent.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, key: Key, value: Qty) {
        self.key(key);
        self.text.put_decimal(value.mantissa, value.decimals);
    }

    /// The same as a text: of digits and a point, which need no escapes.
    #[inline(always)]
    pub(crate) fn decimal_text(&mut self, key: Key, value: Qty) {
        self.key(key);
        self.text.put(b"\"");
        self.text.put_decimal(value.mantissa, value.decimals);
        self.text.put(b"\"");
    }

    pub(crate) fn texts<'t>(&mut self, key: Key, values: impl Iterator<Item = &'t [u8]>) {
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
    #[inline(always)]
    pub(crate) fn finish(mut self, tail: &[u8]) -> Option<&'o [u8]> {
        self.text.put(tail);
        self.text.finish()
    }
}

#[inline(always)]
fn put_text(text: &mut Text<'_>, value: &[u8]) {
    text.put(b"\"");
    match must_be_escaped(value) {
        false => text.put_short(value),
        true => put_escaped(text, value),
    }
    text.put(b"\"");
}

/// Whether a text has a quote, a backslash or a control character.
#[inline]
fn must_be_escaped(value: &[u8]) -> bool {
    let (words, tail) = value.as_chunks::<8>();
    let marks = words.iter().fold(0, |marks, word| marks | special(u64::from_le_bytes(*word)));
    marks != 0 || tail.iter().any(is_special)
}

const fn is_special(byte: &u8) -> bool {
    *byte < b' ' || matches!(byte, b'"' | b'\\')
}

/// Not zero if one of eight bytes is such.
#[inline]
const fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The high bit of every byte below this value, of those that are ASCII.
    const fn below(word: u64, value: u64) -> u64 {
        word.wrapping_sub(ONES * value) & !word & (ONES << 7)
    }
    let [quotes, backslashes] = [ONES * b'"' as u64, ONES * b'\\' as u64];
    below(word, b' ' as u64) | below(word ^ quotes, 1) | below(word ^ backslashes, 1)
}

#[cold]
fn put_escaped(text: &mut Text<'_>, value: &[u8]) {
    // Pieces are as long as they can be.
    let mut rest = value;
    while let Some(at) = rest.iter().position(is_special) {
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
        object.number(key!("id"), 7);
        object.nest(b",\"params\":{");
        object.text(key!("label"), b"a\"b");
        object.decimal(key!("price"), Qty { mantissa: -150, decimals: 2 });
        object.flag(key!("post_only"), true);
        object.texts(key!("channels"), [&b"x"[..], b"y"].into_iter());
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
            object.text(key!("a"), text.as_bytes());
            let written = object.finish(b"}").unwrap();
            let read: serde_json::Value = serde_json::from_slice(written).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(text.as_str()));
        }
    }
}
