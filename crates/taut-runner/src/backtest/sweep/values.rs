//! What keys are gone through, and how a value gets to its place.

use std::fmt;

use serde::Serialize;
use toml::{Table, Value};

/// The most values of a key.
const VALUES_MAX: usize = 10_000;

/// A value of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SweepValue {
    /// A whole number.
    Whole(i64),
    /// A number.
    Decimal(f64),
    /// A word, or a decimal in quotes.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

impl SweepValue {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Integer(number) => Self::Whole(*number),
            Value::Float(number) => Self::Decimal(*number),
            Value::Boolean(flag) => Self::Flag(*flag),
            Value::String(text) => Self::Text(text.clone()),
            other => Self::Text(other.to_string()),
        }
    }

    /// As a number, where it is one: a decimal in quotes is.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Decimal(number) => Some(*number),
            Self::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for SweepValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Decimal(number) => number.fmt(f),
            Self::Text(text) => f.pad(text),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

/// A key and what it is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub path: Vec<String>,
    pub values: Vec<Value>,
}

impl Axis {
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// The keys of a table, in the order of their names.
pub(super) fn axes(over: &Table) -> Result<Vec<Axis>, String> {
    let mut found = Vec::new();
    walk(over, &[], &mut found)?;
    Ok(found)
}

fn walk(table: &Table, above: &[String], found: &mut Vec<Axis>) -> Result<(), String> {
    for (key, value) in table {
        let path = [above, std::slice::from_ref(key)].concat();
        let name = path.join(".");
        let values = match value {
            Value::Table(range) if range.contains_key("from") => {
                of_range(range).map_err(|what| format!("{name}: {what}"))?
            }
            Value::Table(below) => {
                walk(below, &path, found)?;
                continue;
            }
            Value::Array(values) => values.clone(),
            one => {
                return Err(format!(
                    "{name} = {one}: it must be a list of values, or a range such as {{ from = 1, \
                     to = 5, step = 1 }}"
                ));
            }
        };
        let is_simple = |it: &Value| !matches!(it, Value::Array(_) | Value::Table(_));
        let is_twice = |(at, it)| values.get(..at).is_some_and(|before| before.contains(it));
        if values.is_empty() || !values.iter().all(is_simple) {
            return Err(format!("{name}: its list must have values, numbers or words"));
        }
        if let Some((_, value)) = values.iter().enumerate().find(|it| is_twice(*it)) {
            return Err(format!("{name}: {value} stands in its list twice"));
        }
        found.push(Axis { path, values });
    }
    Ok(())
}

/// `{ from, to, step }` or `{ from, to, count }`.
fn of_range(range: &Table) -> Result<Vec<Value>, String> {
    let known = ["from", "to", "step", "count"];
    if let Some(other) = range.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("a range has from, to and step or count, and no {other}"));
    }
    let number = |key: &str| match range.get(key) {
        Some(Value::Integer(number)) => Ok(Some(*number as f64)),
        Some(Value::Float(number)) if number.is_finite() => Ok(Some(*number)),
        Some(other) => Err(format!("{key} = {other}: it must be a number")),
        None => Ok(None),
    };
    let (from, to) = (number("from")?.unwrap_or(0.0), number("to")?);
    let to = to.filter(|to| *to >= from).ok_or("its `to` must be there, and `from` at least")?;
    let (step, count) = match (number("step")?, number("count")?) {
        (Some(step), None) if step > 0.0 => {
            // A step that ends a rounding error before the end ends there.
            (step, ((to - from) / step * (1.0 + 1e-12) + 1e-9).floor() + 1.0)
        }
        (None, Some(count)) if count >= 2.0 && count.fract() == 0.0 => {
            ((to - from) / (count - 1.0), count)
        }
        _ => return Err("it must have a step above 0, or a count of 2 at least".to_owned()),
    };
    if count > VALUES_MAX as f64 {
        return Err(format!("{count} values; {VALUES_MAX} at most"));
    }
    let value = |at: u32| from + f64::from(at) * step;
    let is_whole = !range.values().any(Value::is_float)
        && (0..count as u32).all(|at| value(at).fract() == 0.0);
    let rounded = |number: f64| format!("{number:.11e}").parse().unwrap_or(number);
    Ok((0..count as u32)
        .map(|at| match is_whole {
            true => Value::Integer(value(at) as i64),
            false => Value::Float(rounded(value(at))),
        })
        .collect())
}

/// Gives a key its value. Of tables in an array the one is meant whose symbol or name is said.
pub(super) fn set(table: &mut Table, path: &[String], value: Value) -> Result<(), String> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        table.insert(key.clone(), value);
        return Ok(());
    }
    match table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(below) => set(below, rest, value),
        Value::Array(all) => {
            let (wanted, rest) = rest.split_first().ok_or("it is no value")?;
            let is_it = |it: &Table| {
                ["symbol", "name"].iter().any(|key| {
                    it.get(*key).and_then(Value::as_str).is_some_and(|text| text == wanted)
                })
            };
            let found = all.iter_mut().filter_map(Value::as_table_mut).find(|it| is_it(it));
            let found = found.ok_or_else(|| format!("{key} has none that is called {wanted}"))?;
            set(found, rest, value)
        }
        _ => Err(format!("{key} is no table")),
    }
}
