//! Settings from a command line: `--settings FILE`, and `--KEY VALUE` for every key of the file.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::error::RunnerError;
use crate::reading;
use crate::settings::{SAMPLE, Settings};

/// What `--help` prints above the sample.
const USAGE: &str = "\
Options:
  --settings FILE  Read this TOML file
  --KEY VALUE      Set a key, over the file's: --mode fused, --seconds 2, --simulator.seed 7
  --replay DIR     Do the run once more that was recorded there (--record DIR), and compare

Keys of the file and their defaults:
";

/// What arguments ask for.
#[derive(Debug)]
pub enum Asked {
    Help,
    Run(Box<Settings>),
    /// The recording in this folder once more.
    Replay(PathBuf),
}

/// What these arguments ask for.
pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Asked, RunnerError> {
    let (mut file, mut overrides, mut replay) = (None, Table::new(), None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if matches!(&*argument, "--help" | "-h") {
            return Ok(Asked::Help);
        }
        let Some(option) = argument.strip_prefix("--") else {
            let remedy = "every argument is --KEY VALUE; --help lists the keys";
            return Err(RunnerError::Settings(format!("'{argument}': {remedy}")));
        };
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, value.to_owned()),
            None => (
                option,
                arguments.next().ok_or_else(|| {
                    RunnerError::Settings(format!("--{option}: its value is missing"))
                })?,
            ),
        };
        match key {
            "settings" => file = Some(value),
            "replay" => replay = Some(PathBuf::from(value)),
            _ => set(&mut overrides, key, &value)?,
        }
    }
    if let Some(folder) = replay {
        if file.is_some() || !overrides.is_empty() {
            let what = "--replay takes no settings: those of the recorded run are in the recording";
            return Err(RunnerError::Settings(what.to_owned()));
        }
        return Ok(Asked::Replay(folder));
    }
    let (text, folder) = match &file {
        None => (String::new(), Path::new("")),
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                let remedy = "check the path";
                RunnerError::Settings(format!("--settings {file}: {error}; {remedy}"))
            })?;
            (text, Path::new(file).parent().unwrap_or(Path::new("")))
        }
    };
    let settings = reading::read(&text, folder, &overrides)?;
    Ok(Asked::Run(Box::new(settings)))
}

/// What `--help` prints.
pub fn help() -> String {
    format!("{USAGE}\n{SAMPLE}")
}

/// Sets `a.b.c`. A value that is no TOML is a text: `--mode fused` needs no quotes.
fn set(table: &mut Table, key: &str, value: &str) -> Result<(), RunnerError> {
    let toml = toml::from_str::<Table>(&format!("value = {value}")).ok();
    let toml = toml.and_then(|mut table| table.remove("value"));
    let value = toml.unwrap_or_else(|| Value::String(value.to_owned()));
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().unwrap_or_default();
    let mut table = table;
    for part in path {
        let below = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        table = below.as_table_mut().ok_or_else(|| {
            RunnerError::Settings(format!("--{key}: `{part}` was given a value before"))
        })?;
    }
    table.insert(last.to_owned(), value);
    Ok(())
}
