//! What each key of a file of settings is for, out of the file that people start from: what stands
//! above a key there is what is said of it.

/// A key, and what is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHelp {
    /// Its place, such as `risk.lots_max`; of a key in an array of tables without its number.
    pub path: String,
    /// A value that it can have, as it is written; of a table its head.
    pub example: String,
    /// What it is for, line by line.
    pub words: Vec<String>,
    /// Whether it stands in the file that people start from, or only behind a `#`.
    pub is_set: bool,
}

/// The keys of all these samples, each once, in their order: of a key that is in several of them
/// what the first one says.
#[must_use]
pub fn key_help(samples: &[&str]) -> Vec<KeyHelp> {
    let mut all: Vec<KeyHelp> = Vec::new();
    for help in samples.iter().flat_map(|sample| of_sample(sample)) {
        if all.iter().all(|known| known.path != help.path) {
            all.push(help);
        }
    }
    all
}

/// What a line of a sample is.
enum Line<'l> {
    Blank,
    /// The head of a table, and whether it is one of many.
    Table(&'l str),
    Key(&'l str, &'l str),
    Words(&'l str),
}

impl<'l> Line<'l> {
    fn of(line: &'l str) -> (Self, bool) {
        let (text, is_set) = match line.strip_prefix('#') {
            Some(text) => (text.strip_prefix(' ').unwrap_or(text), false),
            None => (line, true),
        };
        if text.is_empty() {
            return (Self::Blank, is_set);
        }
        let name = text.trim_start_matches('[').trim_end_matches(']');
        if text.starts_with('[') && text.ends_with(']') && is_name(name) {
            return (Self::Table(name), is_set);
        }
        match text.split_once(" = ") {
            Some((key, value)) if is_name(key) => (Self::Key(key, value), is_set),
            _ => (Self::Words(text), is_set),
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

fn of_sample(sample: &str) -> Vec<KeyHelp> {
    let mut all = Vec::new();
    let mut table = String::new();
    let mut words: Vec<String> = Vec::new();
    // Keys one under the other share what stands above the first of them, or above their table.
    let mut are_shared = false;
    for line in sample.lines() {
        let (line_is, is_set) = Line::of(line);
        let (path, example) = match line_is {
            Line::Blank => {
                (words, are_shared) = (Vec::new(), false);
                continue;
            }
            Line::Words(text) => {
                if std::mem::take(&mut are_shared) {
                    words.clear();
                }
                words.push(text.to_owned());
                continue;
            }
            Line::Table(name) => {
                name.clone_into(&mut table);
                let head = line.trim_start_matches(['#', ' ']);
                (table.clone(), head.to_owned())
            }
            Line::Key(key, value) if table.is_empty() => (key.to_owned(), value.to_owned()),
            Line::Key(key, value) => (format!("{table}.{key}"), value.to_owned()),
        };
        all.push(KeyHelp { path, example, words: words.clone(), is_set });
        are_shared = true;
    }
    all
}

#[cfg(test)]
mod tests;
