//! The parameters of a URI: split, known, each given once, each taken.

use strsim::osa_distance;

use crate::uri::error::UriError;

/// The parameters of one URI, in order. Each is taken once; what a channel does not know is refused
/// when they are split.
#[derive(Debug)]
pub(crate) struct Parameters<'a> {
    pairs: Vec<(&'static str, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// Splits `query` at any of `separators`. Each name must be `known`; all but those `repeated`
    /// are given at most once. A name without `=` has the empty value.
    pub(crate) fn split(
        query: &'a str,
        separators: &[char],
        known: &'static [&'static str],
        repeated: &[&str],
    ) -> Result<Self, UriError> {
        let mut pairs: Vec<(&'static str, &str)> = Vec::new();
        for pair in query.split(separators).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = known.iter().find(|known| **known == name) else {
                let nearest = nearest(name, known);
                return Err(UriError::Unknown { found: name.to_owned(), nearest, known });
            };
            if pairs.iter().any(|(other, _)| other == name) && !repeated.contains(name) {
                return Err(UriError::Twice { name });
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }

    /// The value of a parameter, if it was given.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// All values of a parameter that may be repeated.
    pub(crate) fn texts(&self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// Whether a parameter was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// The value of a parameter as `read` understands it.
    pub(crate) fn value<T>(
        &self,
        name: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, UriError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = || UriError::Value { name, found: text.to_owned(), wanted };
        read(text).map(Some).ok_or_else(found)
    }
}

/// The candidate that a mistyped name is nearest to, if one is near enough to be meant.
pub(crate) fn nearest(found: &str, candidates: &[&'static str]) -> Option<&'static str> {
    let found = found.to_ascii_lowercase().replace('_', "-");
    // Letters to insert, delete, replace or swap with their neighbour.
    let distance = |candidate: &&'static str| (osa_distance(&found, candidate), *candidate);
    let near = candidates.iter().map(distance).min();
    near.filter(|(distance, name)| *distance <= 1 + name.len() / 4).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_what_is_near_and_nothing_that_is_far() {
        let known = ["endpoint", "term-length", "mtu"];
        assert_eq!(nearest("endpont", &known), Some("endpoint"));
        assert_eq!(nearest("term_length", &known), Some("term-length"));
        assert_eq!(nearest("mut", &known), Some("mtu"), "two letters that are swapped");
        assert_eq!(nearest("colour", &known), None);
    }
}
