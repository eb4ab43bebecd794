//! How a field's value is read, written, shown and left out, as Rust expressions.

use crate::blank::is_nullable;
use crate::generate::plan::Plan;
use crate::primitive::{ByteOrder, Charset, Literal, Primitive};
use crate::schema::{Constant, Field, Plain, Presence, Type};

impl Plan<'_> {
    /// `le` or `be`.
    pub(crate) const fn order(&self) -> &'static str {
        match self.schema.byte_order {
            ByteOrder::Little => "le",
            ByteOrder::Big => "be",
        }
    }

    /// Reads a number from a `&[u8; N]`.
    pub(crate) fn number(&self, primitive: Primitive, bytes: &str) -> String {
        let deref = bytes.strip_prefix('&').map_or_else(|| format!("*{bytes}"), str::to_owned);
        format!("{}::from_{}_bytes({deref})", primitive.rust(), self.order())
    }

    /// The type of a field that is there; `lifetime` when it may borrow from the message.
    pub(crate) fn value_type(&self, field: &Field, lifetime: Option<&str>) -> String {
        match &field.kind {
            Type::Plain(plain) if !plain.is_array() => plain.primitive.rust().to_owned(),
            Type::Plain(plain) => {
                let array = format!("[{}; {}]", plain.primitive.rust(), plain.length);
                match lifetime.filter(|_| is_bytes(plain)) {
                    Some(lifetime) => format!("&{lifetime} {array}"),
                    None => array,
                }
            }
            Type::Composite(id) => self.composite(*id).to_owned(),
            Type::Enum(id) => self.enumeration(*id).to_owned(),
            Type::Set(id) => self.set(*id).to_owned(),
        }
    }

    /// The value of a field from `bytes`, which is a `&[u8; N]` of its size: of its type, or an
    /// `Option` of it when it can be null.
    pub(crate) fn read(&self, field: &Field, borrow: bool) -> String {
        let optional = is_nullable(field);
        match &field.kind {
            Type::Plain(plain) => self.read_plain(plain, optional, borrow),
            Type::Composite(id) => format!("{}::read(bytes)", self.composite(*id)),
            Type::Enum(id) => {
                let (name, item) = (self.enumeration(*id), &self.schema[*id]);
                let raw = self.number(item.primitive, "bytes");
                match optional {
                    true => format!("{name}::from_nullable({raw})"),
                    false => format!("{name}::from_raw({raw})"),
                }
            }
            Type::Set(id) => {
                let raw = self.number(self.schema[*id].primitive, "bytes");
                format!("{}({raw})", self.set(*id))
            }
        }
    }

    fn read_plain(&self, plain: &Plain, optional: bool, borrow: bool) -> String {
        let null = self.literal(&plain.null, plain.primitive);
        if !plain.is_array() {
            let raw = self.number(plain.primitive, "bytes");
            return match (optional, &plain.null) {
                (false, _) => raw,
                (true, Literal::Float(value)) if value.is_nan() => {
                    format!("Some({raw}).filter(|value| !value.is_nan())")
                }
                (true, _) => format!("Some({raw}).filter(|&value| value != {null})"),
            };
        }
        let array = if is_bytes(plain) {
            if borrow { "bytes".to_owned() } else { "*bytes".to_owned() }
        } else {
            let read = format!("{}::from_{}_bytes", plain.primitive.rust(), self.order());
            format!("array(bytes, {read})")
        };
        let is_value = match &plain.null {
            Literal::Float(value) if value.is_nan() => "!value.is_nan()".to_owned(),
            _ => format!("*value != {null}"),
        };
        match optional {
            false => array,
            true => format!("Some({array}).filter(|all| all.iter().any(|value| {is_value}))"),
        }
    }

    /// The bytes of `value`, which is of the field's type and there.
    pub(crate) fn write(&self, field: &Field, value: &str, borrowed: bool) -> String {
        let order = self.order();
        match &field.kind {
            Type::Plain(plain) if !plain.is_array() => format!("{value}.to_{order}_bytes()"),
            Type::Plain(plain) if is_bytes(plain) => {
                if borrowed {
                    format!("*{value}")
                } else {
                    value.to_owned()
                }
            }
            Type::Plain(plain) => {
                format!("array_bytes({value}, {}::to_{order}_bytes)", plain.primitive.rust())
            }
            Type::Composite(_) => format!("{value}.bytes()"),
            Type::Enum(_) => format!("{value}.raw().to_{order}_bytes()"),
            Type::Set(_) => format!("{value}.0.to_{order}_bytes()"),
        }
    }

    /// The bytes that stand for "no value", as an expression.
    pub(crate) fn null(&self, field: &Field) -> String {
        bytes_literal(&self.schema.blank(field))
    }

    /// A value of the schema as Rust writes it.
    pub(crate) fn literal(&self, literal: &Literal, primitive: Primitive) -> String {
        match (literal, primitive) {
            (Literal::Int(value), Primitive::Float | Primitive::Double) => format!("{value}.0"),
            (Literal::Int(value), _) => value.to_string(),
            (Literal::Float(value), _) if value.is_nan() => {
                format!("{}::NAN", primitive.rust())
            }
            (Literal::Float(value), _) if value.is_infinite() => {
                let name = if *value > 0.0 { "INFINITY" } else { "NEG_INFINITY" };
                format!("{}::{name}", primitive.rust())
            }
            (Literal::Float(value), _) => format!("{value:?}"),
            (Literal::Bytes(bytes), _) => match std::str::from_utf8(bytes) {
                Ok(text) => format!("{text:?}"),
                Err(_) => format!("&{}", bytes_literal(bytes)),
            },
        }
    }

    /// The type and the value of a constant field.
    pub(crate) fn constant(&self, field: &Field, constant: &Constant) -> (String, String) {
        match (constant, &field.kind) {
            (Constant::Choice(id, index), _) => {
                let name = self.enumeration(*id);
                let value = &self.enum_values(*id)[*index];
                (name.to_owned(), format!("{name}::{value}"))
            }
            (Constant::Value(literal), Type::Plain(plain)) => {
                let kind = match literal {
                    Literal::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => "&'static str",
                    Literal::Bytes(_) => "&'static [u8]",
                    _ => plain.primitive.rust(),
                };
                (kind.to_owned(), self.literal(literal, plain.primitive))
            }
            (Constant::Value(_), _) => ("()".to_owned(), "()".to_owned()),
        }
    }

    /// What shows a field, given the expression of its value.
    pub(crate) fn shown(&self, field: &Field, value: &str, is_option: bool, own: bool) -> String {
        if let Presence::Constant(constant) = &field.presence {
            return match constant {
                Constant::Value(Literal::Bytes(bytes)) => {
                    let is_text = std::str::from_utf8(bytes).is_ok();
                    format!("Utf8({value}{})", if is_text { ".as_bytes()" } else { "" })
                }
                Constant::Value(_) if is_char(field) => format!("Latin1(&[{value}])"),
                _ => value.to_owned(),
            };
        }
        let Type::Plain(plain) = &field.kind else { return value.to_owned() };
        let shape = match (plain.is_array(), plain.primitive, plain.charset) {
            (false, Primitive::Char, _) => {
                return match is_option {
                    true => format!("{value}.as_ref().map(core::slice::from_ref).map(Latin1)"),
                    false => format!("Latin1(&[{value}])"),
                };
            }
            (true, Primitive::Char, Some(Charset::Latin1)) => "Latin1(trimmed(bytes))",
            (true, Primitive::Char, Some(Charset::Other)) => "Hex(bytes)",
            (true, Primitive::Char, _) => "Utf8(trimmed(bytes))",
            (true, ..) if is_bytes(plain) && !own && is_option => {
                return format!("{value}.copied()");
            }
            (true, ..) if is_bytes(plain) && !own => return format!("*{value}"),
            _ => return value.to_owned(),
        };
        match (is_option, own) {
            (true, true) => format!("{value}.as_ref().map(|bytes| {shape})"),
            (true, false) => format!("{value}.map(|bytes| {shape})"),
            (false, true) => shape.replace("bytes", &format!("&{value}")),
            (false, false) => shape.replace("bytes", value),
        }
    }
}

/// Whether a field's bytes are handed out as they are.
pub(crate) const fn is_bytes(plain: &Plain) -> bool {
    plain.is_array()
        && matches!(plain.primitive, Primitive::Char | Primitive::Int { bytes: 1, signed: false })
}

fn is_char(field: &Field) -> bool {
    matches!(&field.kind, Type::Plain(plain) if plain.primitive == Primitive::Char)
}

/// Bytes as an array of Rust.
pub(crate) fn bytes_literal(bytes: &[u8]) -> String {
    match bytes {
        [] => "[]".to_owned(),
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => {
            format!("[{first}; {}]", bytes.len())
        }
        _ => {
            let all: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", all.join(", "))
        }
    }
}
