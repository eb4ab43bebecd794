//! `taut fix decode`: names for tags and values. `taut fix check`: what a dictionary says.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use taut_fix::{Dictionary, FieldIndex, Fields, Framed, Rules, frame, msg_type};

use crate::exit::Failure;
use crate::fix::messages::{Found, none_in, split};
use crate::input::read;
use crate::terminal::print;

/// The largest message that is looked at.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
const FIELDS_MAX: usize = 1 << 20;

#[derive(Args, Debug)]
pub struct DecodeArguments {
    /// A file of messages, or - for standard input.
    file: PathBuf,
    /// Names come from this dictionary instead of the built-in one of FIX 4.4.
    #[arg(long, value_name = "FILE")]
    dictionary: Option<PathBuf>,
    /// Print JSON lines: an object for each message, a line each.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// A file of messages, or - for standard input.
    file: PathBuf,
    /// What they are held against; without it, the built-in dictionary of FIX 4.4.
    #[arg(long, value_name = "FILE")]
    dictionary: Option<PathBuf>,
    /// Header, trailer and the session's messages (FIXT11.xml), where `--dictionary` has the
    /// application's alone: FIX 5.0 and later.
    #[arg(long, value_name = "FILE", requires = "dictionary")]
    transport_dictionary: Option<PathBuf>,
}

/// What messages are held against.
#[derive(Debug)]
struct Held {
    application: Dictionary,
    /// Another one's header, trailer and session messages.
    transport: Option<Dictionary>,
}

impl Held {
    fn transport(&self) -> &Dictionary {
        self.transport.as_ref().unwrap_or(&self.application)
    }

    /// Where the body of such a message is described.
    fn body(&self, msg_type: &[u8]) -> &Dictionary {
        let transport = self.transport();
        if transport.is_admin(msg_type) == Some(true) { transport } else { &self.application }
    }

    fn field_name(&self, tag: u32) -> Option<&str> {
        self.application.field_name(tag).or_else(|| self.transport().field_name(tag))
    }
}

fn dictionary(path: Option<&PathBuf>) -> Result<Dictionary, Failure> {
    match path {
        Some(path) => {
            taut_fix_engine::dictionary::load(path).map_err(|error| Failure::in_file(path, error))
        }
        None => taut_fix::fix44().map_err(|error| Failure::Run(format!("{error}"))),
    }
}

/// Prints each message with names.
pub fn decode(arguments: &DecodeArguments) -> Result<(), Failure> {
    let dictionary = dictionary(arguments.dictionary.as_ref())?;
    let messages = split(&read(&arguments.file)?);
    for found in &messages {
        if arguments.json {
            print(object(&dictionary, found))?;
        } else {
            for line in lines(&dictionary, found) {
                print(line)?;
            }
        }
    }
    if messages.is_empty() {
        return Err(none_in(&arguments.file));
    }
    Ok(())
}

/// Tag, name, value and what the value means.
fn explained<'a>(
    dictionary: &'a Dictionary,
    found: &'a Found,
) -> impl Iterator<Item = (u32, Option<&'a str>, String, Option<&'a str>)> {
    Fields::tolerant(&found.bytes, dictionary.data_tags()).map(|(tag, value)| {
        let means = match tag {
            35 => dictionary.message_name(value),
            _ => dictionary.value_name(tag, value),
        };
        (tag, dictionary.field_name(tag), text(value), means)
    })
}

/// UTF-8, or else Latin-1, which every byte is.
fn text(value: &[u8]) -> String {
    String::from_utf8(value.to_vec())
        .unwrap_or_else(|_| value.iter().map(|byte| char::from(*byte)).collect())
}

fn lines(dictionary: &Dictionary, found: &Found) -> Vec<String> {
    let mut lines = vec![format!("message at byte {}", found.offset)];
    for (tag, name, value, means) in explained(dictionary, found) {
        let means = means.map_or_else(String::new, |means| format!(" ({means})"));
        lines.push(format!("  {tag:>5} {:<24} {value:?}{means}", name.unwrap_or("?")));
    }
    if let Err(fault) = verdict(found) {
        lines.push(format!("  {fault}"));
    }
    lines
}

fn object(dictionary: &Dictionary, found: &Found) -> Value {
    let fields: Vec<_> = explained(dictionary, found)
        .map(|(tag, name, value, means)| {
            json!({"tag": tag, "name": name, "value": value, "meaning": means})
        })
        .collect();
    json!({"offset": found.offset, "fields": fields, "fault": verdict(found).err()})
}

/// Whether length and checksum are right.
fn verdict(found: &Found) -> Result<(), String> {
    match frame(&found.bytes, MESSAGE_BYTES_MAX) {
        Ok(Framed::Message(frame)) if frame.consumed() == found.bytes.len() => Ok(()),
        Ok(Framed::NeedMore) => {
            Err(String::from("the message is cut, or its BodyLength too large"))
        }
        _ => Err(String::from("garbled: BodyLength or CheckSum is wrong, or 8, 9, 35 do not lead")),
    }
}

/// Holds each message against the dictionary; fails when one is wrong.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let transport = arguments.transport_dictionary.as_ref();
    let held = Held {
        application: dictionary(arguments.dictionary.as_ref())?,
        transport: transport.map(|path| dictionary(Some(path))).transpose()?,
    };
    let messages = split(&read(&arguments.file)?);
    if messages.is_empty() {
        return Err(none_in(&arguments.file));
    }
    let mut index = FieldIndex::with_capacity(FIELDS_MAX);
    let mut wrong = 0;
    for found in &messages {
        if let Err(fault) = check_one(&held, found, &mut index) {
            wrong += 1;
            print(format_args!("byte {}: {fault}", found.offset))?;
        }
    }
    print(format_args!("{} messages, {wrong} of them wrong", messages.len()))?;
    if wrong > 0 { Err(Failure::Told) } else { Ok(()) }
}

fn check_one(held: &Held, found: &Found, index: &mut FieldIndex) -> Result<(), String> {
    verdict(found)?;
    let Ok(Framed::Message(frame)) = frame(&found.bytes, MESSAGE_BYTES_MAX) else {
        return Err(String::from("garbled"));
    };
    let data_tags = held.transport().data_tags().union(held.application.data_tags());
    let filled = index.fill_with(&frame, &data_tags);
    filled.map_err(|error| format!("garbled: {error}"))?;
    let body = held.body(msg_type(frame.bytes(), index));
    let checked =
        held.transport().check_application(body, frame.bytes(), index.slots(), Rules::ALL);
    checked.map_err(|fault| {
        let tag = fault.tag.map_or_else(String::new, |tag| {
            let name = u32::try_from(tag).ok().and_then(|tag| held.field_name(tag));
            format!(": tag {tag} {}", name.unwrap_or("?"))
        });
        let offset = fault.offset;
        format!("{}{tag}, at byte {offset} of the message", fault.reason.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::{Held, check_one, lines, object};
    use crate::fix::messages::split;
    use taut_fix::{FieldIndex, fix44};

    const HEARTBEAT: &str = "8=FIX.4.4|9=5|35=0|10=163|";

    #[test]
    fn names_fields_and_values() {
        let dictionary = fix44().expect("the dictionary");
        let found = &split(b"8=FIX.4.4|9=10|35=D|54=1|10=140|")[0];
        let lines = lines(&dictionary, found).join("\n");
        assert!(lines.contains("35 MsgType") && lines.contains("(NewOrderSingle)"), "{lines}");
        assert!(lines.contains("(BUY)"), "{lines}");
        let object = object(&dictionary, found);
        assert_eq!(object["fields"][3]["meaning"], "BUY");
        assert_eq!(object["fields"][3]["tag"], 54);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let held = Held { application: fix44().expect("the dictionary"), transport: None };
        let mut index = FieldIndex::with_capacity(64);
        let fault = check_one(&held, &split(HEARTBEAT.as_bytes())[0], &mut index);
        let fault = fault.expect_err("no header");
        assert!(fault.starts_with("Required tag missing: tag 34 MsgSeqNum"), "{fault}");
        let garbled = HEARTBEAT.replace("163", "164");
        let fault = check_one(&held, &split(garbled.as_bytes())[0], &mut index);
        assert!(fault.expect_err("a wrong sum").contains("CheckSum"));
    }
}
