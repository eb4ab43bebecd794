//! From a line of JSON to a message.

use serde_json::{Map, Value as Json};
use taut_sbe_gen::{DynamicMessage, Schema, Value};

use super::framing::Packet;

/// Reads what `taut sbe decode` prints.
pub(super) fn message(schema: &Schema, line: &str) -> Result<(DynamicMessage, Packet), String> {
    let line: Json = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let Json::Object(line) = line else { return Err("it is no object".to_owned()) };
    let keys = ["message", "template", "version", "block_length", "header", "fields", "packet"];
    if let Some(key) = line.keys().find(|key| !keys.contains(&key.as_str())) {
        return Err(format!("{key} is none of {}", keys.join(", ")));
    }
    let name = line.get("message").and_then(Json::as_str).ok_or("there is no message's name")?;
    let shape = schema.message(name).ok_or_else(|| format!("the schema has no message {name}"))?;
    if let Some(template) = number(&line, "template")?
        && template != shape.id
    {
        return Err(format!("{name} has template {}, not {template}", shape.id));
    }
    let version = match number(&line, "version")? {
        Some(version) => u32::try_from(version).map_err(|_| "the version is too large")?,
        None => schema.version,
    };
    let length = number(&line, "block_length")?.map(usize::try_from);
    let header = match line.get("header").map(value) {
        None => Vec::new(),
        Some(Value::Record(items)) => items,
        Some(_) => return Err("the header must be an object".to_owned()),
    };
    let message = DynamicMessage {
        message: name.to_owned(),
        template: shape.id,
        version,
        block_length: length.transpose().map_err(|_| "the block length is too large")?,
        header,
        fields: line.get("fields").map_or_else(|| Value::Record(Vec::new()), value),
    };
    Ok((message, packet(&line)?))
}

fn packet(line: &Map<String, Json>) -> Result<Packet, String> {
    let Some(Json::Object(packet)) = line.get("packet") else { return Ok(Packet::default()) };
    let sequence = number(packet, "sequence")?.unwrap_or(0);
    Ok(Packet {
        sequence: u32::try_from(sequence).map_err(|_| "the packet's sequence is too large")?,
        sending_time: number(packet, "sending_time")?.unwrap_or(0),
    })
}

fn number(object: &Map<String, Json>, key: &str) -> Result<Option<u64>, String> {
    match object.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key} must be a number from 0")),
        },
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Int((*value).into()),
        Json::Number(number) => {
            let integer = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            integer.map_or_else(|| Value::Double(number.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(items) => {
            Value::Record(items.iter().map(|(key, item)| (key.clone(), value(item))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_testkit::for_each_seed;

    use super::*;

    #[test]
    fn doubles_are_read_to_the_last_bit() {
        for_each_seed(0..5_000, |_, mut random| {
            let double = f64::from_bits(random.u64(..));
            if double.is_finite() {
                let line = serde_json::to_string(&double).expect("a number");
                let read = value(&serde_json::from_str(&line).expect("a number"));
                assert_eq!(read, Value::Double(double), "{line}");
            }
        });
    }
}
