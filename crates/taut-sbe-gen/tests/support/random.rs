//! Random messages of any schema.

/// `fastrand`'s generator: the kit of the tests stands no lower than this crate.
pub use fastrand::Rng as Random;
use taut_sbe_gen::{
    Body, Charset, Composite, DynamicMessage, Field, Group, Literal, Message, Plain, Presence,
    Primitive, Schema, Type, Value,
};

/// A message with random values, all of which the schema names.
pub fn message(schema: &Schema, message: &Message, random: &mut Random) -> DynamicMessage {
    let header = &schema[schema.header.composite];
    let extras = schema.header.extras.iter().map(|&at| &header.fields[at]);
    let extras: Vec<_> = extras
        .filter(|field| !field.is_constant())
        .map(|field| (field.name.clone(), value(schema, field, random)))
        .collect();
    DynamicMessage {
        message: message.name.clone(),
        template: message.id,
        version: schema.version,
        block_length: None,
        header: extras,
        fields: body(schema, &message.body, random),
    }
}

fn body(schema: &Schema, body: &Body, random: &mut Random) -> Value {
    let mut items = Vec::new();
    for field in body.fields.iter().filter(|field| !field.is_constant()) {
        items.push((field.name.clone(), value(schema, field, random)));
    }
    for group in &body.groups {
        let count = random.u64(..4).clamp(least(schema, group), group.dimension.count.max);
        let entries = (0..count).map(|_| self::body(schema, &group.body, random)).collect();
        items.push((group.name.clone(), Value::List(entries)));
    }
    for data in &body.data {
        let length = random.u64(..12).min(data.length.max) as usize;
        let value = match data.charset {
            Some(Charset::Utf8 | Charset::Latin1) => Value::Text(letters(length, random)),
            // Whole characters, of one, two or four bytes.
            Some(Charset::Other) => Value::Text("5a".repeat(length & !3)),
            None => Value::Text("5a".repeat(length)),
        };
        items.push((data.name.clone(), value));
    }
    Value::Record(items)
}

/// How many entries a group must have: the reference refuses fewer.
fn least(schema: &Schema, group: &Group) -> u64 {
    let count = group.dimension.count;
    let mut fields = schema[group.dimension.composite].fields.iter();
    let field = fields.find(|field| field.offset == count.offset && !field.is_constant());
    match field.map(|field| &field.kind) {
        Some(Type::Plain(Plain { min: Some(Literal::Int(min)), .. })) => (*min).max(0) as u64,
        _ => 0,
    }
}

fn letters(length: usize, random: &mut Random) -> String {
    (0..length).map(|_| char::from(b'!' + random.u64(..94) as u8)).collect()
}

fn value(schema: &Schema, field: &Field, random: &mut Random) -> Value {
    let optional = matches!(field.presence, Presence::Optional);
    if optional && matches!(field.kind, Type::Plain(_)) && random.u64(..3) == 0 {
        return Value::Null;
    }
    match &field.kind {
        Type::Plain(plain) => plain_value(plain, random),
        Type::Composite(id) => {
            let composite: &Composite = &schema[*id];
            let members = composite.fields.iter().filter(|member| !member.is_constant());
            let values = members.map(|member| (member.name.clone(), value(schema, member, random)));
            Value::Record(values.collect())
        }
        Type::Enum(id) => {
            let values = &schema[*id].values;
            match values.get(random.u64(..values.len().max(1) as u64) as usize) {
                Some(choice) if !optional || random.u64(..3) > 0 => {
                    Value::Text(choice.name.clone())
                }
                _ if optional => Value::Null,
                _ => Value::Int(schema[*id].null),
            }
        }
        Type::Set(id) => {
            let choices = schema[*id].choices.iter().filter(|_| random.u64(..2) == 0);
            Value::List(choices.map(|choice| Value::Text(choice.name.clone())).collect())
        }
    }
}

fn plain_value(plain: &Plain, random: &mut Random) -> Value {
    match (plain.primitive, plain.is_array()) {
        (Primitive::Char, true) if plain.charset == Some(Charset::Other) => {
            Value::Text("41".repeat(plain.length))
        }
        (Primitive::Char, true) => {
            let length = 1 + random.u64(..plain.length as u64) as usize;
            Value::Text(letters(length, random))
        }
        (Primitive::Char, false) => Value::Text(letters(1, random)),
        (primitive, false) => number(primitive, plain, random),
        (primitive, true) => {
            Value::List((0..plain.length).map(|_| number(primitive, plain, random)).collect())
        }
    }
}

fn number(primitive: Primitive, plain: &Plain, random: &mut Random) -> Value {
    let Some((min, max)) = primitive.range() else {
        let value = random.u64(..1 << 20) as f32 / 64.0;
        return match primitive {
            Primitive::Float => Value::Float(value),
            _ => Value::Double(value.into()),
        };
    };
    // The ends of the range belong to nulls; the reference refuses them and what the schema's own
    // range leaves out.
    let bound = |literal: &Option<Literal>, otherwise| match literal {
        Some(Literal::Int(bound)) => *bound,
        _ => otherwise,
    };
    let (min, max) = (bound(&plain.min, min + 1), bound(&plain.max, max - 1));
    let value = min + (u128::from(random.u64(..)) % (max - min + 1) as u128) as i128;
    match plain.null {
        Literal::Int(null) if null == value => Value::Int(max - 1),
        _ => Value::Int(value),
    }
}

/// Changes some bytes, or cuts some off.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.u64(..3) {
        let at = random.u64(..bytes.len().max(1) as u64) as usize;
        match random.u64(..6) {
            0 => bytes.truncate(at),
            1 => bytes.extend([0xff; 3]),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = match random.u64(..4) {
                        0 => 0,
                        1 => 0xff,
                        2 => byte.wrapping_add(1),
                        _ => random.u8(..),
                    };
                }
            }
        }
    }
}
