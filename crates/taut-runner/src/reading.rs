//! TOML to settings, with words for what is wrong.

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, Deserializer};
use toml::{Table, Value};

use crate::error::RunnerError;
use crate::settings::Settings;

impl Settings {
    /// The settings of this text; relative paths in it start at `folder`.
    ///
    /// # Errors
    /// What the text says wrong: the line, the key, and the key that was meant.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, RunnerError> {
        read(text, folder, &Table::new())
    }
}

/// The settings of this text with `overrides` over them.
pub fn read(text: &str, folder: &Path, overrides: &Table) -> Result<Settings, RunnerError> {
    // By itself first: what is wrong in it has a line there, which a table has not.
    let mut settings: Settings = toml::from_str(text).map_err(|error| explained(&error))?;
    if !overrides.is_empty() {
        let table: Table = toml::from_str(text).map_err(|error| explained(&error))?;
        settings = parsed(merge(table, overrides.clone()))?;
    }
    let data = settings.simulator.as_mut().and_then(|simulator| simulator.data.as_mut());
    for path in data.into_iter().chain(&mut settings.record) {
        *path = std::path::absolute(folder.join(&path))
            .map_err(|error| RunnerError::Settings(format!("{}: {error}", path.display())))?;
    }
    Ok(settings)
}

/// What a table says. It is read as files are, out of a text: another way of reading would be
/// compiled for each type of settings once more, which takes seconds.
pub fn parsed<T: DeserializeOwned>(table: Table) -> Result<T, RunnerError> {
    let text = toml::to_string(&table).map_err(|error| RunnerError::run("a table", error))?;
    // Nobody has written the text: what is wrong is told without its lines.
    let read = DeTable::parse(&text).and_then(|table| T::deserialize(Deserializer::from(table)));
    read.map_err(|error| explained(&error))
}

/// The keys above over those below, table by table.
fn merge(mut below: Table, above: Table) -> Table {
    for (key, value) in above {
        let merged = match (below.remove(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(merge(below, above)),
            (_, value) => value,
        };
        below.insert(key, merged);
    }
    below
}

/// What the TOML reader says, and which key was meant when one is unknown.
fn explained(error: &toml::de::Error) -> RunnerError {
    let text = error.to_string();
    let text = text.trim_end();
    RunnerError::Settings(match suggestion(error.message()) {
        Some(known) => format!("{text}; did you mean `{known}`?"),
        None => text.to_owned(),
    })
}

/// The key or name that was meant where the TOML reader says that it does not know one.
pub fn suggestion(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = ["unknown field", "unknown variant"].iter().any(|it| message.starts_with(it));
    let unknown = quoted.next().filter(|_| is_unknown)?;
    nearest(unknown, quoted)
}

/// The name that is spelled most like this one, if any is.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similar = known.map(|known| (strsim::jaro_winkler(unknown, known), known));
    let best = similar.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.75).then_some(best.1)
}
