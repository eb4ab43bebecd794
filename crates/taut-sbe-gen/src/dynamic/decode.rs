//! From bytes to values.

use crate::blank::is_nullable;
use crate::dynamic::numbers::{integer, slot};
use crate::dynamic::value::hex;
use crate::dynamic::{DynamicError, DynamicMessage, EMPTY_ENTRIES_MAX, Value};
use crate::primitive::{Charset, Literal, Primitive};
use crate::schema::{Body, Constant, Data, Field, Group, Plain, Presence, Schema, Type};

impl Schema {
    /// Decodes a message with its header, and gives the bytes behind it.
    ///
    /// # Errors
    /// When the bytes do not start with a message of the schema.
    pub fn decode<'b>(&self, bytes: &'b [u8]) -> Result<(DynamicMessage, &'b [u8]), DynamicError> {
        let order = self.byte_order;
        let header = &self.header;
        let (head, body) =
            bytes.split_at_checked(header.size).ok_or(DynamicError::Truncated { offset: 0 })?;
        let number = |at| slot(order, at, head).unwrap_or_default();
        let unsigned = |value| u64::try_from(value).unwrap_or(u64::MAX);
        if let Some(id) = header.schema.map(|at| unsigned(number(at)))
            && id != self.id
        {
            return Err(DynamicError::OtherSchema(id));
        }
        let template = unsigned(number(header.template));
        let message = self
            .messages
            .iter()
            .find(|message| message.id == template)
            .ok_or(DynamicError::OtherTemplate(template))?;
        let version =
            header.version.map_or(self.version, |at| u32::try_from(number(at)).unwrap_or(u32::MAX));
        let length = match header.block_length {
            Some(at) => {
                usize::try_from(number(at)).map_err(|_| DynamicError::Malformed { offset: 0 })?
            }
            None => message.body.block_length,
        };
        let mut reader = Reader { schema: self, whole: bytes, rest: body, version };
        let fields = reader.body(&message.body, length)?;
        let composite = &self[header.composite];
        let extras = header.extras.iter().map(|&at| &composite.fields[at]);
        let extras = extras
            .filter(|field| !field.is_constant())
            .map(|field| (field.name.clone(), reader.value(field, head)))
            .collect();
        let usual = message.body.expected_block_length(version, self.version);
        let message = DynamicMessage {
            message: message.name.clone(),
            template,
            version,
            block_length: (length != usual).then_some(length),
            header: extras,
            fields,
        };
        Ok((message, reader.rest))
    }
}

impl Body {
    /// The length of a block that a sender with this version writes, as far as is known.
    pub(super) fn expected_block_length(&self, version: u32, schema_version: u32) -> usize {
        if version >= schema_version { self.block_length } else { self.block_length_at(version) }
    }
}

struct Reader<'s, 'b> {
    schema: &'s Schema,
    whole: &'b [u8],
    rest: &'b [u8],
    version: u32,
}

impl<'b> Reader<'_, 'b> {
    fn offset(&self) -> usize {
        self.whole.len() - self.rest.len()
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], DynamicError> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(DynamicError::Truncated { offset: self.offset() })?;
        self.rest = rest;
        Ok(bytes)
    }

    fn body(&mut self, body: &Body, length: usize) -> Result<Value, DynamicError> {
        let offset = self.offset();
        let block = self.take(length)?;
        if length < body.oldest_block_length() {
            return Err(DynamicError::Malformed { offset });
        }
        let mut items = Vec::new();
        for field in &body.fields {
            let known = !body.is_newer(&field.notes)
                || self.version >= field.notes.since && field.end() <= length;
            let value =
                if known || field.is_constant() { self.value(field, block) } else { Value::Null };
            items.push((field.name.clone(), value));
        }
        for group in &body.groups {
            let known = !body.is_newer(&group.notes) || self.version >= group.notes.since;
            let value = if known { self.group(group)? } else { Value::List(Vec::new()) };
            items.push((group.name.clone(), value));
        }
        for data in &body.data {
            let known = !body.is_newer(&data.notes) || self.version >= data.notes.since;
            let value = if known { self.data(data)? } else { Value::Null };
            items.push((data.name.clone(), value));
        }
        Ok(Value::Record(items))
    }

    fn group(&mut self, group: &Group) -> Result<Value, DynamicError> {
        let offset = self.offset();
        let malformed = DynamicError::Malformed { offset };
        let head = self.take(group.dimension.size)?;
        let number = |at| {
            let value = slot(self.schema.byte_order, at, head).unwrap_or_default();
            usize::try_from(value).map_err(|_| DynamicError::Malformed { offset })
        };
        let length = number(group.dimension.block_length)?;
        let count = number(group.dimension.count)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let before = self.rest.len();
            entries.push(self.body(&group.body, length)?);
            if self.rest.len() == before && count > EMPTY_ENTRIES_MAX {
                return Err(malformed);
            }
        }
        Ok(Value::List(entries))
    }

    fn data(&mut self, data: &Data) -> Result<Value, DynamicError> {
        let offset = self.offset();
        let head = self.take(data.data_offset)?;
        let length = slot(self.schema.byte_order, data.length, head).unwrap_or_default();
        let length = usize::try_from(length).map_err(|_| DynamicError::Malformed { offset })?;
        let bytes = self.take(length)?;
        Ok(match data.charset {
            Some(charset) => text(charset, bytes),
            None => Value::Text(hex(bytes)),
        })
    }

    /// The value of a field that its block has.
    fn value(&self, field: &Field, block: &[u8]) -> Value {
        if let Presence::Constant(constant) = &field.presence {
            return self.constant(field, constant);
        }
        let Some(bytes) = block.get(field.offset..field.end()) else { return Value::Null };
        let is_null = is_nullable(field) && self.is_null(field, bytes);
        if is_null {
            return Value::Null;
        }
        match &field.kind {
            Type::Plain(plain) => self.plain(plain, bytes),
            Type::Composite(id) => {
                let members = &self.schema[*id].fields;
                let value = |member: &Field| (member.name.clone(), self.value(member, bytes));
                Value::Record(members.iter().map(value).collect())
            }
            Type::Enum(id) => {
                let item = &self.schema[*id];
                let raw = integer(self.schema.byte_order, item.primitive, bytes);
                let known = item.values.iter().find(|value| value.value == raw);
                known.map_or(Value::Int(raw), |value| Value::Text(value.name.clone()))
            }
            Type::Set(id) => {
                let item = &self.schema[*id];
                let raw = integer(self.schema.byte_order, item.primitive, bytes);
                let name = |bit| {
                    let known = item.choices.iter().find(|choice| choice.value == bit);
                    known.map_or(Value::Int(bit), |choice| Value::Text(choice.name.clone()))
                };
                Value::List((0..64).filter(|bit| raw >> bit & 1 == 1).map(name).collect())
            }
        }
    }

    fn is_null(&self, field: &Field, bytes: &[u8]) -> bool {
        let blank = self.schema.blank(field);
        match &field.kind {
            // Every NaN is null, and minus zero equals zero.
            Type::Plain(Plain { null: Literal::Float(null), primitive, .. }) => bytes
                .chunks_exact(primitive.bytes())
                .all(|chunk| match self.float(*primitive, chunk) {
                    Value::Double(value) => value == *null || value.is_nan() && null.is_nan(),
                    #[expect(clippy::cast_possible_truncation, reason = "the type is binary32")]
                    Value::Float(value) => value == *null as f32 || value.is_nan() && null.is_nan(),
                    _ => false,
                }),
            _ => bytes == blank,
        }
    }

    fn plain(&self, plain: &Plain, bytes: &[u8]) -> Value {
        match (plain.primitive, plain.is_array()) {
            (Primitive::Char, false) => text(Charset::Latin1, bytes),
            (Primitive::Char, true) => match plain.charset {
                Some(Charset::Other) => Value::Text(hex(bytes)),
                charset => text(charset.unwrap_or(Charset::Utf8), trimmed(bytes)),
            },
            (primitive, false) => self.number(primitive, bytes),
            (primitive, true) => {
                let chunks = bytes.chunks_exact(primitive.bytes());
                Value::List(chunks.map(|chunk| self.number(primitive, chunk)).collect())
            }
        }
    }

    fn number(&self, primitive: Primitive, bytes: &[u8]) -> Value {
        match primitive {
            Primitive::Float | Primitive::Double => self.float(primitive, bytes),
            _ => Value::Int(integer(self.schema.byte_order, primitive, bytes)),
        }
    }

    fn float(&self, primitive: Primitive, bytes: &[u8]) -> Value {
        let unsigned = Primitive::Int { bytes: bytes.len(), signed: false };
        let bits = integer(self.schema.byte_order, unsigned, bytes);
        match primitive {
            Primitive::Float => Value::Float(f32::from_bits(u32::try_from(bits).unwrap_or(0))),
            _ => Value::Double(f64::from_bits(u64::try_from(bits).unwrap_or(0))),
        }
    }

    fn constant(&self, field: &Field, constant: &Constant) -> Value {
        let is_char =
            matches!(&field.kind, Type::Plain(plain) if plain.primitive == Primitive::Char);
        match constant {
            Constant::Choice(id, index) => {
                Value::Text(self.schema[*id].values[*index].name.clone())
            }
            Constant::Value(Literal::Bytes(bytes)) => text(Charset::Utf8, bytes),
            Constant::Value(Literal::Int(value)) if is_char => {
                text(Charset::Latin1, &[u8::try_from(*value).unwrap_or(0)])
            }
            Constant::Value(Literal::Int(value)) => match &field.kind {
                #[expect(clippy::cast_precision_loss, reason = "the schema's type is a float")]
                Type::Plain(Plain { primitive: Primitive::Float | Primitive::Double, .. }) => {
                    Value::Double(*value as f64)
                }
                _ => Value::Int(*value),
            },
            Constant::Value(Literal::Float(value)) => match &field.kind {
                #[expect(clippy::cast_possible_truncation, reason = "the type is binary32")]
                Type::Plain(Plain { primitive: Primitive::Float, .. }) => {
                    Value::Float(*value as f32)
                }
                _ => Value::Double(*value),
            },
        }
    }
}

fn text(charset: Charset, bytes: &[u8]) -> Value {
    match charset {
        Charset::Utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Record(vec![("hex".to_owned(), Value::Text(hex(bytes)))]),
        },
        Charset::Latin1 => Value::Text(bytes.iter().copied().map(char::from).collect()),
        Charset::Other => Value::Text(hex(bytes)),
    }
}

/// A fixed field without the zeros at its end.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or(bytes)
}
