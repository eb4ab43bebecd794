//! From values to bytes.

use crate::blank::is_nullable;
use crate::dynamic::value::from_hex;
use crate::dynamic::{DynamicError, DynamicMessage, Value};
use crate::primitive::{Charset, Literal, Primitive};
use crate::schema::{Body, Choice, Data, Field, Group, Notes, Plain, Schema, Slot, Type};

impl Schema {
    /// Encodes a message with its header.
    ///
    /// # Errors
    /// When a value is missing, of the wrong kind, or does not fit.
    pub fn encode(&self, message: &DynamicMessage) -> Result<Vec<u8>, DynamicError> {
        let mut writer = Writer {
            schema: self,
            bytes: Vec::new(),
            version: message.version,
            path: vec![message.message.clone()],
        };
        let Some(shape) = self.message(&message.message) else {
            return Err(writer.wrong("the schema has no such message"));
        };
        let header = &self.header;
        let composite = &self[header.composite];
        let mut head = self.blank_block(&composite.fields, header.size);
        for &at in &header.extras {
            let field = &composite.fields[at];
            let given = message.header.iter().find(|(name, _)| *name == field.name);
            if let Some((_, value)) = given.filter(|_| !field.is_constant()) {
                writer.field(field, value, &mut head)?;
            }
        }
        let length = message
            .block_length
            .unwrap_or_else(|| shape.body.expected_block_length(message.version, self.version));
        let (groups, data) = writer.parts(&shape.body);
        let numbers = [
            (header.block_length, length as u64),
            (Some(header.template), shape.id),
            (header.schema, self.id),
            (header.version, message.version.into()),
            (header.group_count, groups),
            (header.data_count, data),
        ];
        for (slot, value) in numbers {
            writer.slot(slot, value, &mut head)?;
        }
        writer.bytes.extend(head);
        writer.body(&shape.body, length, &message.fields)?;
        Ok(writer.bytes)
    }
}

struct Writer<'s> {
    schema: &'s Schema,
    bytes: Vec<u8>,
    version: u32,
    path: Vec<String>,
}

impl Writer<'_> {
    fn wrong(&self, problem: impl Into<String>) -> DynamicError {
        DynamicError::Value { path: self.path.join("."), problem: problem.into() }
    }

    /// Whether the version that is written has a part.
    fn has(&self, body: &Body, notes: &Notes) -> bool {
        !body.is_newer(notes) || self.version >= notes.since
    }

    /// How many groups and data a body has in the version that is written.
    fn parts(&self, body: &Body) -> (u64, u64) {
        let groups = body.groups.iter().filter(|group| self.has(body, &group.notes)).count();
        let data = body.data.iter().filter(|data| self.has(body, &data.notes)).count();
        (groups as u64, data as u64)
    }

    fn slot(&self, slot: Option<Slot>, value: u64, head: &mut [u8]) -> Result<(), DynamicError> {
        let Some(slot) = slot else { return Ok(()) };
        if slot.primitive.range().is_none_or(|(_, top)| i128::from(value) > top) {
            return Err(self.wrong(format!("{value} does not fit a {}", slot.primitive.name())));
        }
        let bytes = self.schema.byte_order.encode(slot.primitive, &Literal::Int(value.into()));
        self.place(slot.offset, &bytes, head)
    }

    fn place(&self, offset: usize, bytes: &[u8], to: &mut [u8]) -> Result<(), DynamicError> {
        let to = to.get_mut(offset..offset + bytes.len());
        to.ok_or_else(|| self.wrong("the block is too short for it"))?.copy_from_slice(bytes);
        Ok(())
    }

    fn body(&mut self, body: &Body, length: usize, values: &Value) -> Result<(), DynamicError> {
        let Value::Record(items) = values else {
            return Err(self.wrong("the fields must be an object"));
        };
        let names = body.fields.iter().map(|field| &field.name);
        let names = names.chain(body.groups.iter().map(|group| &group.name));
        let names: Vec<_> = names.chain(body.data.iter().map(|data| &data.name)).collect();
        if let Some((name, _)) = items.iter().find(|(name, _)| !names.contains(&name)) {
            return Err(self.wrong(format!("there is no field {name}")));
        }
        if length > 1 << 24 {
            return Err(self.wrong(format!("a block of {length} bytes is too long")));
        }
        let mut block = self.schema.blank_block(&body.fields, length);
        for field in &body.fields {
            let value = values.get(&field.name);
            if !field.is_constant() && self.has(body, &field.notes) {
                self.path.push(field.name.clone());
                match value {
                    Some(value) => self.field(field, value, &mut block)?,
                    None if is_nullable(field) => {}
                    None => return Err(self.wrong("there is no value")),
                }
                self.path.pop();
            }
        }
        self.bytes.extend(block);
        for group in &body.groups {
            if self.has(body, &group.notes) {
                self.path.push(group.name.clone());
                self.group(group, values.get(&group.name))?;
                self.path.pop();
            }
        }
        for data in &body.data {
            if self.has(body, &data.notes) {
                self.path.push(data.name.clone());
                self.data(data, values.get(&data.name))?;
                self.path.pop();
            }
        }
        Ok(())
    }

    fn group(&mut self, group: &Group, entries: Option<&Value>) -> Result<(), DynamicError> {
        let entries = match entries {
            Some(Value::List(entries)) => entries.as_slice(),
            None | Some(Value::Null) => &[],
            Some(_) => return Err(self.wrong("the entries must be a list")),
        };
        let dimension = &group.dimension;
        let max = dimension.count.max;
        if entries.len() as u64 > max {
            return Err(self.wrong(format!("it can have {max} entries at most")));
        }
        let length = group.body.expected_block_length(self.version, self.schema.version);
        let (groups, data) = self.parts(&group.body);
        let mut head = vec![0; dimension.size];
        self.slot(Some(dimension.block_length), length as u64, &mut head)?;
        self.slot(Some(dimension.count), entries.len() as u64, &mut head)?;
        self.slot(dimension.group_count, groups, &mut head)?;
        self.slot(dimension.data_count, data, &mut head)?;
        self.bytes.extend(head);
        for (at, entry) in entries.iter().enumerate() {
            self.path.push(at.to_string());
            self.body(&group.body, length, entry)?;
            self.path.pop();
        }
        Ok(())
    }

    fn data(&mut self, data: &Data, value: Option<&Value>) -> Result<(), DynamicError> {
        let bytes = match (value, data.charset) {
            (None | Some(Value::Null), _) => Vec::new(),
            (Some(value), charset) => self.text(charset.unwrap_or(Charset::Other), value)?,
        };
        let max = data.length.max;
        if bytes.len() as u64 > max {
            return Err(self.wrong(format!("it can have {max} bytes at most")));
        }
        let mut head = vec![0; data.data_offset];
        self.slot(Some(data.length), bytes.len() as u64, &mut head)?;
        self.bytes.extend(head);
        self.bytes.extend(bytes);
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        value: &Value,
        block: &mut [u8],
    ) -> Result<(), DynamicError> {
        if *value == Value::Null {
            // A field that came later is null where its sender does not have it.
            if is_nullable(field) || field.notes.since > 0 {
                return Ok(());
            }
            return Err(self.wrong("it cannot be null"));
        }
        let bytes = match &field.kind {
            Type::Plain(plain) => self.plain(plain, value)?,
            Type::Enum(id) => {
                let item = &self.schema[*id];
                let raw = self.choice(&item.values, value)?;
                self.integer(item.primitive, raw)?
            }
            Type::Set(id) => {
                let item = &self.schema[*id];
                let Value::List(names) = value else {
                    return Err(self.wrong("the bits must be a list"));
                };
                let mut bits = 0;
                for name in names {
                    let bit = self.choice(&item.choices, name)?;
                    if !(0..64).contains(&bit) {
                        return Err(self.wrong(format!("there is no bit {bit}")));
                    }
                    bits |= 1i128 << bit;
                }
                self.integer(item.primitive, bits)?
            }
            Type::Composite(id) => {
                let schema = self.schema;
                let composite = &schema[*id];
                let mut inner = schema.blank_block(&composite.fields, composite.size);
                for member in composite.fields.iter().filter(|member| !member.is_constant()) {
                    self.path.push(member.name.clone());
                    match value.get(&member.name) {
                        Some(value) => self.field(member, value, &mut inner)?,
                        None if is_nullable(member) => {}
                        None => return Err(self.wrong("there is no value")),
                    }
                    self.path.pop();
                }
                inner
            }
        };
        self.place(field.offset, &bytes, block)
    }

    /// The number of an enum's value or a set's bit, by its name or as it is.
    fn choice(&self, choices: &[Choice], value: &Value) -> Result<i128, DynamicError> {
        match value {
            Value::Int(raw) => Ok(*raw),
            Value::Text(name) => choices
                .iter()
                .find(|choice| choice.name == *name)
                .map(|choice| choice.value)
                .ok_or_else(|| self.wrong(format!("there is no value {name}"))),
            _ => Err(self.wrong("it must be a name or a number")),
        }
    }

    fn integer(&self, primitive: Primitive, value: i128) -> Result<Vec<u8>, DynamicError> {
        match primitive.range() {
            Some((min, max)) if (min..=max).contains(&value) => {
                Ok(self.schema.byte_order.encode(primitive, &Literal::Int(value)))
            }
            _ => Err(self.wrong(format!("{value} does not fit {}", primitive.name()))),
        }
    }

    fn plain(&self, plain: &Plain, value: &Value) -> Result<Vec<u8>, DynamicError> {
        match (plain.primitive, plain.is_array()) {
            (Primitive::Char, true) => {
                let mut bytes = self.text(plain.charset.unwrap_or(Charset::Utf8), value)?;
                if bytes.len() > plain.length {
                    return Err(self.wrong(format!("it can have {} bytes at most", plain.length)));
                }
                bytes.resize(plain.length, 0);
                Ok(bytes)
            }
            (Primitive::Char, false) => match value {
                Value::Int(_) => self.number(plain.primitive, value),
                _ => match self.text(Charset::Latin1, value)?.as_slice() {
                    [byte] => Ok(vec![*byte]),
                    _ => Err(self.wrong("it must be one character")),
                },
            },
            (primitive, false) => self.number(primitive, value),
            (primitive, true) => match value {
                Value::List(items) if items.len() == plain.length => {
                    let items: Result<Vec<_>, _> =
                        items.iter().map(|item| self.number(primitive, item)).collect();
                    Ok(items?.concat())
                }
                _ => Err(self.wrong(format!("it must be a list of {} numbers", plain.length))),
            },
        }
    }

    fn number(&self, primitive: Primitive, value: &Value) -> Result<Vec<u8>, DynamicError> {
        let float = match (primitive, value) {
            (Primitive::Float | Primitive::Double, Value::Text(text)) => text.parse().ok(),
            (Primitive::Float | Primitive::Double, Value::Float(value)) => Some(f64::from(*value)),
            (Primitive::Float | Primitive::Double, Value::Double(value)) => Some(*value),
            #[expect(clippy::cast_precision_loss, reason = "the schema's type is a float")]
            (Primitive::Float | Primitive::Double, Value::Int(value)) => Some(*value as f64),
            (_, Value::Int(value)) => return self.integer(primitive, *value),
            _ => None,
        };
        let float = float.ok_or_else(|| self.wrong("it must be a number"))?;
        Ok(self.schema.byte_order.encode(primitive, &Literal::Float(float)))
    }

    fn text(&self, charset: Charset, value: &Value) -> Result<Vec<u8>, DynamicError> {
        let digits = |text: &str| {
            from_hex(text).ok_or_else(|| self.wrong("it must be an even number of hex digits"))
        };
        match (value, charset) {
            (Value::Record(_), _) => match value.get("hex") {
                Some(Value::Text(text)) => digits(text),
                _ => Err(self.wrong("it must be a text or {\"hex\":\"...\"}")),
            },
            (Value::Text(text), Charset::Utf8) => Ok(text.clone().into_bytes()),
            (Value::Text(text), Charset::Other) => digits(text),
            (Value::Text(text), Charset::Latin1) => {
                let byte = |letter| u8::try_from(u32::from(letter)).ok();
                let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
                bytes.ok_or_else(|| self.wrong("it has characters beyond ISO 8859-1"))
            }
            _ => Err(self.wrong("it must be a text")),
        }
    }
}
