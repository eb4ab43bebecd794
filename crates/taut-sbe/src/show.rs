//! Messages as text and as JSON.

use core::fmt;

/// Shows a message as JSON: `{"message","template","version","fields":{...}}`, with
/// `"header":{...}` before the fields where the schema's header has more than numbers, lengths and
/// version.
pub struct Json<'m, M>(&'m M);

impl<'m, M: Show> Json<'m, M> {
    /// Shows this message.
    #[must_use]
    pub const fn new(message: &'m M) -> Self {
        Self(message)
    }
}

impl<M: Show> fmt::Display for Json<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show_message(&mut Writer { out: f, json: true, first: true })
    }
}

impl<M: Show> fmt::Debug for Json<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A message that can be shown.
pub trait Show {
    /// Hands name, template, version and fields over.
    #[doc(hidden)]
    fn show_message(&self, to: &mut Writer<'_>) -> fmt::Result;
}

/// Writes names and values as text or as JSON.
pub struct Writer<'w> {
    out: &'w mut dyn fmt::Write,
    json: bool,
    first: bool,
}

impl<'w> Writer<'w> {
    /// Writes text: names and values as Rust's `Debug` would.
    pub fn text(out: &'w mut dyn fmt::Write) -> Self {
        Self { out, json: false, first: true }
    }

    /// Writes a message, whose fields the caller hands over. `header` is what the header says more.
    pub fn message(
        &mut self,
        name: &str,
        template: u64,
        version: u32,
        header: Option<&dyn Value>,
        fields: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        if !self.json {
            self.out.write_str(name)?;
            self.out.write_str(" ")?;
            return self.record(fields);
        }
        write!(self.out, "{{\"message\":\"{name}\",\"template\":{template},\"version\":{version}")?;
        if let Some(header) = header {
            self.out.write_str(",\"header\":")?;
            header.show(self)?;
        }
        self.out.write_str(",\"fields\":")?;
        self.record(fields)?;
        self.out.write_str("}")
    }

    /// Writes a field with its name.
    pub fn field(&mut self, name: &str, value: &dyn Value) -> fmt::Result {
        self.comma()?;
        if self.json {
            write!(self.out, "\"{name}\":")?;
        } else {
            write!(self.out, "{name}: ")?;
        }
        value.show(self)
    }

    /// Writes what consists of fields.
    pub fn record(&mut self, fields: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.enclosed(["{", "}"], fields)
    }

    /// Writes what consists of items.
    pub fn list(&mut self, items: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.enclosed(["[", "]"], items)
    }

    /// Writes an item of a list.
    pub fn item(&mut self, value: &dyn Value) -> fmt::Result {
        self.comma()?;
        value.show(self)
    }

    fn enclosed(
        &mut self,
        [open, close]: [&str; 2],
        inner: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        self.out.write_str(open)?;
        self.first = true;
        inner(self)?;
        self.first = false;
        self.out.write_str(close)
    }

    fn comma(&mut self) -> fmt::Result {
        if !core::mem::replace(&mut self.first, false) {
            self.out.write_str(if self.json { "," } else { ", " })?;
        }
        Ok(())
    }

    /// Writes a name of the schema as a value.
    pub fn name(&mut self, name: &str) -> fmt::Result {
        if self.json { self.quoted(name.chars()) } else { self.out.write_str(name) }
    }

    /// As JSON writes it, and with every character escaped that a terminal would obey, or that
    /// changes the direction of what stands behind it.
    fn quoted(&mut self, text: impl Iterator<Item = char>) -> fmt::Result {
        self.out.write_str("\"")?;
        for character in text {
            match character {
                '"' => self.out.write_str("\\\"")?,
                '\\' => self.out.write_str("\\\\")?,
                '\0'..='\u{1f}'
                | '\u{7f}'..='\u{9f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => {
                    write!(self.out, "\\u{:04x}", character as u32)?;
                }
                _ => self.out.write_char(character)?,
            }
        }
        self.out.write_str("\"")
    }

    fn hex(&mut self, bytes: &[u8]) -> fmt::Result {
        self.out.write_str("\"")?;
        for byte in bytes {
            write!(self.out, "{byte:02x}")?;
        }
        self.out.write_str("\"")
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("json", &self.json).finish_non_exhaustive()
    }
}

/// A value that can be shown.
pub trait Value {
    /// Writes the value.
    #[doc(hidden)]
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result;
}

macro_rules! shown_as_number {
    ($($integer:ty),*; $($float:ty),*) => {
        $(impl Value for $integer {
            fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
                write!(to.out, "{self}")
            }
        })*
        $(impl Value for $float {
            fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
                if self.is_finite() {
                    write!(to.out, "{self:?}")
                } else {
                    write!(to.out, "\"{self:?}\"")
                }
            }
        })*
    };
}

shown_as_number!(u8, u16, u32, u64, i8, i16, i32, i64; f32, f64);

impl<V: Value> Value for Option<V> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        match self {
            Some(value) => value.show(to),
            None => to.out.write_str("null"),
        }
    }
}

impl<V: Value, const N: usize> Value for [V; N] {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.list(|to| self.iter().try_for_each(|value| to.item(value)))
    }
}

/// Bytes that are text in UTF-8, in a fixed field filled up with zeros.
#[derive(Clone, Copy, Debug)]
pub struct Utf8<'a>(pub &'a [u8]);

impl Value for Utf8<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        match core::str::from_utf8(self.0) {
            Ok(text) => to.quoted(text.chars()),
            Err(_) => {
                to.out.write_str("{\"hex\":")?;
                to.hex(self.0)?;
                to.out.write_str("}")
            }
        }
    }
}

/// Bytes that are text in ISO 8859-1.
#[derive(Clone, Copy, Debug)]
pub struct Latin1<'a>(pub &'a [u8]);

impl Value for Latin1<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.quoted(self.0.iter().map(|&byte| char::from(byte)))
    }
}

/// Bytes that are no text.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl Value for Hex<'_> {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.hex(self.0)
    }
}

/// A name of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Name(pub &'static str);

impl Value for Name {
    fn show(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.name(self.0)
    }
}
