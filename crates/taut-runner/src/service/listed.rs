//! The instruments of a file that is read again, beside those of the gateway that runs.

use serde_json::Value;

use crate::settings::InstrumentSettings;

/// How many instruments the file names behind those that are traded.
///
/// # Errors
/// Those that are traded and would not be what they are, each in words: the first that is gone or
/// has another one in its place, or every key of which the value is another.
pub fn added(
    traded: &[InstrumentSettings],
    named: &[InstrumentSettings],
) -> Result<usize, Vec<String>> {
    let mut changed = Vec::new();
    for (at, was) in traded.iter().enumerate() {
        let symbol = &was.symbol;
        match named.get(at) {
            Some(is) if is == was => {}
            Some(is) if is.symbol == *symbol => changed.extend(changed_keys(at, was, is)),
            Some(InstrumentSettings { symbol: other, .. }) => {
                return Err(vec![format!("instruments[{at}] {symbol} (the file says {other})")]);
            }
            None => {
                return Err(vec![format!(
                    "instruments[{at}] {symbol} (the file names it no more)"
                )]);
            }
        }
    }
    let more = named.len().saturating_sub(traded.len());
    if changed.is_empty() { Ok(more) } else { Err(changed) }
}

/// The keys of which the value is another.
fn changed_keys(at: usize, was: &InstrumentSettings, is: &InstrumentSettings) -> Vec<String> {
    // Nothing in a file cannot be JSON.
    let [was_value, is_value] = [was, is].map(|it| serde_json::to_value(it).unwrap_or_default());
    let (Value::Object(was_keys), Value::Object(is_keys)) = (was_value, is_value) else {
        return vec![format!("instruments[{at}] {}", was.symbol)];
    };
    let differs = |key: &&String| was_keys.get(*key) != is_keys.get(*key);
    let keys = was_keys.keys().filter(differs);
    keys.map(|key| format!("instruments[{at}].{key} of {}", was.symbol)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(symbols: &[&str]) -> Vec<InstrumentSettings> {
        let of = |symbol: &&str| InstrumentSettings {
            symbol: (*symbol).to_owned(),
            ..InstrumentSettings::default()
        };
        symbols.iter().map(of).collect()
    }

    #[test]
    fn instruments_are_added_behind_those_that_are_traded_and_none_becomes_another() {
        let traded = named(&["A", "B"]);
        let of = |symbols: &[&str]| added(&traded, &named(symbols));
        assert_eq!((of(&["A", "B"]), of(&["A", "B", "C", "D"])), (Ok(0), Ok(2)));
        for (symbols, words) in [
            (&["A"][..], "instruments[1] B (the file names it no more)"),
            (&["B"], "instruments[0] A (the file says B)"),
            (&["C", "A", "B"], "instruments[0] A (the file says C)"),
            (&["A", "C", "B"], "instruments[1] B (the file says C)"),
        ] {
            assert_eq!(of(symbols), Err(vec![words.to_owned()]));
        }
        let mut other = named(&["A", "B", "C"]);
        (other[1].tick, other[1].currency) = ("0.5".to_owned(), Some("USD".to_owned()));
        let words = ["instruments[1].currency of B", "instruments[1].tick of B"];
        assert_eq!(added(&traded, &other), Err(words.map(str::to_owned).to_vec()));
    }
}
