//! Other settings for a gateway that runs: what differs, and what of it can change.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::service::file::GatewayFile;
use crate::service::listed::added;
use crate::settings::InstrumentSettings;

/// Changes that are told one by one.
const TOLD_MAX: usize = 50;

/// What differs between two files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// What cannot change while the gateway runs.
    pub fixed: Vec<String>,
    /// What can, with both values.
    pub free: Vec<String>,
    /// Instruments that come behind the others.
    pub added: usize,
}

impl Differences {
    pub fn between(old: &GatewayFile, new: &GatewayFile) -> Self {
        let mut differences = Self::default();
        let all = new.instruments.iter().enumerate();
        match added(&old.instruments, &new.instruments) {
            Ok(count) => {
                let words = |(at, it): (usize, &InstrumentSettings)| {
                    format!("instruments[{at}] {}: added", it.symbol)
                };
                differences.free.extend(all.skip(old.instruments.len()).map(words));
                differences.added = count;
            }
            Err(changed) => differences.fixed.extend(changed),
        }
        // Its instruments would be counted otherwise.
        if new.subscribe.is_empty() && !old.subscribe.is_empty() {
            differences.fixed.push("subscribe".to_owned());
        }
        let (old, new) = (flat(old), flat(new));
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let (was, is) = (old.get(key), new.get(key));
            if was == is {
                continue;
            }
            if is_fixed(key, was.is_some()) {
                differences.fixed.push(key.clone());
            } else {
                let words = |value: Option<&String>| {
                    value.map_or_else(|| "not set".to_owned(), String::clone)
                };
                differences.free.push(format!("{key}: {} -> {}", words(was), words(is)));
            }
        }
        if differences.free.len() > TOLD_MAX {
            let more = differences.free.len() - TOLD_MAX;
            differences.free.truncate(TOLD_MAX);
            differences.free.push(format!("and {more} more"));
        }
        differences
    }
}

/// Limits can change; who is who, and what memory and connections are made from, cannot. Users and
/// strategies may be added. Patterns may mean more.
fn is_fixed(key: &str, was_there: bool) -> bool {
    let table = key.split(['.', '[']).next().unwrap_or(key);
    let last = key.rsplit('.').next().unwrap_or(key);
    match table {
        "risk" | "symbols" | "subscribe" => false,
        "users" => was_there && matches!(last, "name" | "id"),
        "strategies" => was_there && matches!(last, "name" | "user" | "number"),
        "accounts" => matches!(last, "name" | "id") || key.contains("].balances."),
        _ => true,
    }
}

/// Every value but the instruments' under its key; an element of an array is called by its name,
/// where it has one.
fn flat(file: &GatewayFile) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    // Nothing in a file cannot be JSON.
    let mut file = serde_json::to_value(file).unwrap_or_default();
    if let Value::Object(tables) = &mut file {
        tables.remove("instruments");
    }
    flatten(&file, String::new(), &mut values);
    values
}

fn flatten(value: &Value, key: String, values: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(entries) => {
            for (name, value) in entries {
                let separator = if key.is_empty() { "" } else { "." };
                flatten(value, format!("{key}{separator}{name}"), values);
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for (at, element) in elements.iter().enumerate() {
                let name = element.get("name").and_then(Value::as_str);
                let name = name.map_or_else(|| at.to_string(), str::to_owned);
                flatten(element, format!("{key}[{name}]"), values);
            }
        }
        other => {
            values.insert(key, other.to_string());
        }
    }
}
