//! Names of instruments by regular expressions.

use regex_lite::Regex;
use taut_types::{Instrument, InstrumentId};

use crate::mistakes::Mistake;

/// A name, or a regular expression over a whole name.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// The pattern that stands under this key.
    pub fn new(key: &str, text: &str) -> Result<Self, Mistake> {
        let whole = Regex::new(&format!("^(?:{text})$"));
        whole.map(Self).map_err(|error| {
            Mistake::new(key, text, format!("a name or a regular expression ({error})"))
        })
    }

    /// Whether it means this name.
    pub fn means(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

/// Patterns of which one is to match.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Those that stand under this key; what is none is added to the mistakes.
    pub fn new(key: &str, texts: &[String], mistakes: &mut Vec<Mistake>) -> Self {
        let mut patterns = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            match Pattern::new(&format!("{key}[{at}]"), text) {
                Ok(pattern) => patterns.push(pattern),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        Self(patterns)
    }

    /// Whether one of them means this name.
    pub fn mean(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.means(name))
    }
}

/// The instruments that are meant under a key; nothing where it is left out.
pub fn instruments_meant(
    key: &str,
    texts: Option<&Vec<String>>,
    listed: &[(&str, Instrument)],
    mistakes: &mut Vec<Mistake>,
) -> Option<Vec<InstrumentId>> {
    let texts = texts?;
    let named = Patterns::new(key, texts, mistakes);
    let is_meant = |(name, _): &&(&str, Instrument)| named.mean(name);
    let ids: Vec<_> = listed.iter().filter(is_meant).map(|(_, it)| it.id()).collect();
    if ids.is_empty() {
        let remedy = "names of instruments of this venue, or left out for all of them";
        mistakes.push(Mistake::new(key, format!("{texts:?}"), remedy));
    }
    Some(ids)
}
