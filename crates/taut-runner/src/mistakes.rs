//! Everything that is wrong with a file of settings, each mistake with its line.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Error, ValueDeserializer};

use crate::error::RunnerError;
use crate::reading::suggestion;

/// A file of settings.
pub trait FileSettings: DeserializeOwned {
    /// Relative paths start at the file's folder.
    fn start_paths_at(&mut self, folder: &Path);

    /// Everything that is wrong with the values.
    fn mistakes(&self) -> Vec<Mistake>;
}

/// A value that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands: `instruments[0].tick`.
    key: String,
    text: String,
}

impl Mistake {
    /// A setting whose value cannot be.
    pub fn new(key: &str, value: impl std::fmt::Display, must_be: impl std::fmt::Display) -> Self {
        RunnerError::setting(key, value, must_be).into()
    }

    /// In words of its own.
    pub fn told(key: &str, text: impl Into<String>) -> Self {
        Self { key: key.to_owned(), text: text.into() }
    }
}

impl From<RunnerError> for Mistake {
    /// The words of a setting begin with its key.
    fn from(error: RunnerError) -> Self {
        let text = error.to_string();
        let key = text.split_once(" = ").map_or("", |(key, _)| key).to_owned();
        Self { key, text }
    }
}

/// All of them as one error, one on each line.
pub fn error(mistakes: &[Mistake]) -> RunnerError {
    let texts: Vec<&str> = mistakes.iter().map(|mistake| mistake.text.as_str()).collect();
    RunnerError::Settings(texts.join("\n"))
}

/// The settings of a file; relative paths in it start at its folder.
///
/// # Errors
/// Everything that is wrong in it: the file, the line, the key, the key that was meant.
pub fn from_file<T: FileSettings>(path: &Path) -> Result<T, RunnerError> {
    from_file_checked(path, T::mistakes)
}

/// The same of a file that is read for another purpose, in which something else is wrong.
///
/// # Errors
/// As [`from_file`].
pub fn from_file_checked<T: FileSettings>(
    path: &Path,
    check: impl FnOnce(&T) -> Vec<Mistake>,
) -> Result<T, RunnerError> {
    let named = |error: std::io::Error| {
        RunnerError::Settings(format!("{}: {error}; check the path", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(named)?;
    let absolute = std::path::absolute(path).map_err(named)?;
    from_text(&text, absolute.parent().unwrap_or(&absolute), check).map_err(|found| {
        let line = |found: &Found| match found.line {
            Some(line) => format!("{}:{line}: {}", path.display(), found.text),
            None => format!("{}: {}", path.display(), found.text),
        };
        RunnerError::Settings(found.iter().map(line).collect::<Vec<_>>().join("\n"))
    })
}

/// The settings of a table; relative paths in it start at a folder.
///
/// # Errors
/// Everything that is wrong in it: the key, the key that was meant. It has no lines.
pub fn from_table<T: FileSettings>(table: &toml::Table, folder: &Path) -> Result<T, RunnerError> {
    let text = toml::to_string(table).map_err(|error| RunnerError::Settings(error.to_string()))?;
    from_text(&text, folder, T::mistakes).map_err(|found| {
        let texts: Vec<_> = found.into_iter().map(|found| found.text).collect();
        RunnerError::Settings(texts.join("\n"))
    })
}

/// A mistake and its line, where it has one.
#[derive(Debug)]
struct Found {
    line: Option<usize>,
    text: String,
}

fn from_text<T: FileSettings>(
    text: &str,
    folder: &Path,
    check: impl FnOnce(&T) -> Vec<Mistake>,
) -> Result<T, Vec<Found>> {
    let (whole, errors) = DeTable::parse_recoverable(text);
    let whole = whole.into_inner();
    if !errors.is_empty() {
        return Err(errors.iter().map(|error| found(text, error)).collect());
    }
    let mut reading = Reading { text, table: whole.clone(), found: Vec::new(), taken: Vec::new() };
    let read = reading.read::<T>();
    let Reading { mut found, taken, .. } = reading;
    // Behind an element that was taken out, what stands in an array has another number.
    if let Some(mut settings) = read.filter(|_| taken.iter().all(|taken| taken.name.is_some())) {
        settings.start_paths_at(folder);
        let untold = |mistake: &Mistake| taken.iter().all(|taken| taken.key != mistake.key);
        found.extend(check(&settings).into_iter().filter(untold).map(|mistake| Found {
            line: line_of(text, &whole, &mistake.key),
            text: mistake.text,
        }));
        if found.is_empty() {
            return Ok(settings);
        }
    }
    found.sort_by_key(|found| found.line);
    Err(found)
}

/// A text that is read as far as it goes: what cannot be read is noted, taken out, and the rest is
/// tried again.
struct Reading<'t> {
    text: &'t str,
    table: DeTable<'t>,
    found: Vec<Found>,
    taken: Vec<Taken>,
}

/// What was taken out of a text.
#[derive(Debug)]
struct Taken {
    /// Where it stood: `instruments[0].tick`.
    key: String,
    /// The place of the table or the array that it was a part of.
    parent: Range<usize>,
    /// Its name in the table; none of an element of an array.
    name: Option<String>,
}

impl Reading<'_> {
    fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            let table = Spanned::new(0..0, DeValue::Table(self.table.clone()));
            let error = match T::deserialize(ValueDeserializer::from(table)) {
                Ok(settings) => return Some(settings),
                Err(error) => error,
            };
            let span = error.span().unwrap_or(0..0);
            let missing = error.message().strip_prefix("missing field `");
            let missing = missing.and_then(|rest| rest.strip_suffix('`'));
            // What was taken out is missing because of that, or its array is too short.
            let is_told = |taken: &Taken| taken.parent == span && taken.name.as_deref() == missing;
            let is_told = self.taken.iter().any(is_told);
            let taken = take_out(&mut self.table, &(0..0), &span, "");
            if !is_told {
                let mut found = found(self.text, &error);
                if let Some(taken) = &taken {
                    found.text = format!("{}: {}", taken.key, found.text);
                }
                self.found.push(found);
            }
            self.taken.push(taken?);
        }
    }
}

fn found(text: &str, error: &Error) -> Found {
    let span = error.span().filter(|span| *span != (0..0));
    let text_of = match suggestion(error.message()) {
        Some(known) => format!("{}; did you mean `{known}`?", error.message()),
        None => error.message().to_owned(),
    };
    Found { line: span.map(|span| line(text, span.start)), text: text_of }
}

/// Takes the entry out that stands there, if one does.
fn take_out(
    table: &mut DeTable<'_>,
    parent: &Range<usize>,
    span: &Range<usize>,
    path: &str,
) -> Option<Taken> {
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let separator = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{separator}{}", key.get_ref());
        let own = value.span();
        let within = match value.get_mut() {
            DeValue::Table(table) => take_out(table, &own, span, &path),
            DeValue::Array(array) => take_out_element(array, &own, span, &path),
            _ => None,
        };
        if within.is_some() {
            return within;
        }
        if key.span() == *span || own == *span {
            let name = key.get_ref().to_string();
            found = Some(Taken { key: path, parent: parent.clone(), name: Some(name) });
            break;
        }
    }
    let taken = found?;
    table.remove(taken.name.as_deref()?);
    Some(taken)
}

fn take_out_element(
    array: &mut DeArray<'_>,
    parent: &Range<usize>,
    span: &Range<usize>,
    path: &str,
) -> Option<Taken> {
    let mut place = None;
    for (at, element) in array.iter_mut().enumerate() {
        let own = element.span();
        if let DeValue::Table(table) = element.get_mut()
            && let Some(within) = take_out(table, &own, span, &format!("{path}[{at}]"))
        {
            return Some(within);
        }
        if own == *span {
            place = Some(at);
            break;
        }
    }
    let taken = place?;
    let others = array.clone().into_iter().enumerate().filter(|(at, _)| *at != taken);
    *array = others.map(|(_, element)| element).collect();
    Some(Taken { key: format!("{path}[{taken}]"), parent: parent.clone(), name: None })
}

/// The line on which a key stands, or else the table that it belongs to.
fn line_of(text: &str, table: &DeTable<'_>, key: &str) -> Option<usize> {
    let (mut here, mut start) = (Some(table), None);
    for part in key.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        let Some((key, value)) = here.and_then(|table| table.get_key_value(name)) else { break };
        let (mut place, mut value) = (key.span().start, value.get_ref());
        if let Ok(index) = index.trim_end_matches(']').parse::<usize>()
            && let Some(element) = value.get(index)
        {
            (place, value) = (element.span().start, element.get_ref());
        }
        (start, here) = (Some(place), value.as_table());
    }
    start.map(|start| line(text, start))
}

/// The line of a byte, from 1.
fn line(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        name: String,
        #[serde(default)]
        count: u8,
        #[serde(default)]
        parts: Vec<Part>,
        #[serde(default)]
        pair: [u32; 2],
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        id: u8,
        #[serde(default)]
        text: String,
    }

    impl FileSettings for File {
        fn start_paths_at(&mut self, _folder: &Path) {}

        fn mistakes(&self) -> Vec<Mistake> {
            let parts = self.parts.iter().enumerate().filter(|(_, part)| part.text == "bad");
            let mistake =
                |at: usize| Mistake::new(&format!("parts[{at}].text"), "bad", "anything else");
            parts.map(|(at, _)| mistake(at)).collect()
        }
    }

    fn told(text: &str) -> Vec<(Option<usize>, String)> {
        let found = from_text(text, Path::new(""), File::mistakes).expect_err(text);
        found.into_iter().map(|found| (found.line, found.text)).collect()
    }

    #[track_caller]
    fn assert_told(text: &str, expected: &[(Option<usize>, &str)]) {
        let told = told(text);
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for ((line, told), (expected_line, words)) in told.iter().zip(expected) {
            assert_eq!(line, expected_line, "{told}");
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn every_mistake_is_told_with_its_line() {
        let text = "nam = \"x\"\ncount = 300\n\n[[parts]]\nid = 1\ntexd = 1\n\
                    [[parts]]\nid = 2\ntext = \"bad\"\n";
        assert_told(
            &format!("name = \"x\"\n{text}"),
            &[
                (Some(2), "did you mean `name`?"),
                (Some(3), "300"),
                (Some(7), "did you mean `text`?"),
                (Some(10), "parts[1].text = bad: must be anything else"),
            ],
        );
        assert_told(
            text,
            &[(None, "missing field `name`"), (Some(1), "unknown field `nam`")]
                .into_iter()
                .chain([(Some(2), "300"), (Some(6), "texd")])
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn what_is_missing_because_it_is_wrong_is_told_once() {
        assert_told("name = 1\n", &[(Some(1), "invalid type")]);
        assert_told("name = \"x\"\npair = [\"a\", 1]\n", &[(Some(2), "invalid type")]);
        let text = "name = \"x\"\n[[parts]]\nid = -1\n[[parts]]\ntext = \"no id\"\n";
        assert_told(text, &[(Some(3), "-1"), (Some(4), "missing field `id`")]);
    }

    #[test]
    fn what_is_no_toml_is_told_as_such() {
        assert!(told("name = \nx = = 1\n").iter().all(|(line, _)| line.is_some()));
        let right = from_text("name = \"x\"\n", Path::new(""), File::mistakes).expect("right");
        assert_eq!(right.name, "x");
    }
}
