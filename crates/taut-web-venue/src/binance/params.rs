//! Parameters of a request, by their names: of a query, of a form, or of JSON.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::binance::error::ApiError;
use crate::decimal;
use crate::http;

/// Parameters. Texts as they were meant: percent-encoding and quotes undone; a list is JSON.
#[derive(Clone, Debug, Default)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Of a query and a body; what stands in both is the query's.
    pub fn of_http(query: &str, body: &str) -> Self {
        let mut params: BTreeMap<_, _> = http::pairs(body).into_iter().collect();
        params.extend(http::pairs(query));
        Self(params)
    }

    /// Of names and values.
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// Of a JSON object; `None` when it is none.
    pub fn of_json(text: &str) -> Option<Self> {
        let params = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text).ok()?;
        let plain = |value: &RawValue| {
            let raw = value.get();
            serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned())
        };
        Some(Self(params.into_iter().map(|(key, value)| (key, plain(&value))).collect()))
    }

    /// What is signed on the WebSocket API: all but the signature, sorted by their names.
    pub fn signed_text(&self) -> String {
        let signed = self.0.iter().filter(|(name, _)| *name != "signature");
        signed.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|it| !it.is_empty() && *it != "null")
    }

    pub fn needed(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| ApiError::mandatory(name))
    }

    /// One that has no place here.
    pub fn forbid(&self, name: &str) -> Result<(), ApiError> {
        match self.get(name) {
            None => Ok(()),
            Some(_) => {
                let text = format!("Parameter '{name}' sent when not required.");
                Err(ApiError::new(-1106, &text))
            }
        }
    }

    /// A decimal of at most eight places, at 1e-9.
    pub fn decimal(&self, name: &str) -> Result<Option<i128>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_point = text.contains('.');
        let is_plain = is_digits(whole)
            && is_digits(fraction)
            && (1..=20).contains(&whole.len())
            && (!has_point || (1..=20).contains(&fraction.len()));
        if !is_plain {
            return Err(ApiError::illegal(name, "^([0-9]{1,20})(\\.[0-9]{1,20})?$"));
        }
        if fraction.trim_end_matches('0').len() > 8 {
            return Err(ApiError::new(
                -1111,
                &format!("Parameter '{name}' has too much precision."),
            ));
        }
        decimal::parse(text).map(Some).ok_or_else(|| ApiError::illegal(name, "a smaller number"))
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| ApiError::illegal(name, "^[0-9]{1,20}$"))
    }

    /// How many are wanted: one at least, and no more than there are.
    pub fn limit(&self, default: usize, most: usize) -> Result<usize, ApiError> {
        match self.integer("limit")? {
            None => Ok(default),
            Some(limit) if limit < 1 => {
                Err(ApiError::new(-1130, "Data sent for parameter 'limit' is not valid."))
            }
            Some(limit) => Ok(usize::try_from(limit).unwrap_or(most).min(most)),
        }
    }

    /// A list in JSON; `None` without one.
    pub fn list(&self, name: &str) -> Result<Option<Vec<String>>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let list = serde_json::from_str(text).map(Some);
        list.map_err(|_| ApiError::illegal(name, "^\\[(\"[A-Z0-9-_.]{1,20}\"(,...)?)?\\]$"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_sorted_and_not_encoded() {
        let params = Params::of_json(
            r#"{"symbol":"１２３","signature":"x","price":"0.10","timestamp":1645423376532,
                "apiKey":"k"}"#,
        );
        let text = params.expect("parameters").signed_text();
        assert_eq!(text, "apiKey=k&price=0.10&symbol=１２３&timestamp=1645423376532");
    }

    #[test]
    fn a_query_wins_and_decimals_are_plain() {
        let params = Params::of_http("a=1.50&b=%31", "a=7&c=1e5&d=0.123456789&e=.5&f=&g=1.");
        assert_eq!(params.decimal("a"), Ok(Some(1_500_000_000)));
        assert_eq!(params.integer("b"), Ok(Some(1)));
        for (name, code) in [("c", -1100), ("d", -1111), ("e", -1100), ("g", -1100)] {
            assert_eq!(params.decimal(name).expect_err("an error").code, code, "{name}");
        }
        assert_eq!(params.needed("f").expect_err("an error").code, -1102);
        assert_eq!(params.forbid("a").expect_err("an error").code, -1106);
    }
}
