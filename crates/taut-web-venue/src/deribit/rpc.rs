//! JSON-RPC 2.0 as Deribit has it: requests with named parameters, answers with times, error codes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::decimal;
use crate::fix::FixMessage;
use crate::http;

/// The longest frame or body.
pub const REQUEST_BYTES_MAX: usize = 32 << 10;

/// An error as it is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    /// A parameter that is wrong, and why.
    pub fn param(name: &str, reason: &str) -> Self {
        let data = Some(json!({ "param": name, "reason": reason }));
        Self { code: -32602, message: "Invalid params".to_owned(), data }
    }

    /// The message, and what is wrong with which parameter.
    pub fn words(&self) -> String {
        let of = |name: &str| self.data.as_ref().and_then(|data| data[name].as_str());
        match (of("param"), of("reason")) {
            (Some(param), Some(reason)) => format!("{}: {param}: {reason}", self.message),
            _ => self.message.clone(),
        }
    }

    fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(map)) = (&self.data, error.as_object_mut()) {
            map.insert("data".to_owned(), data.clone());
        }
        error
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// The errors that need no words of their own.
pub fn error(code: i64) -> RpcError {
    let message = match code {
        10000 => "authorization_required",
        10001 => "error",
        10002 => "qty_too_low",
        10004 => "order_not_found",
        10009 => "not_enough_funds",
        10010 => "already_closed",
        10020 => "invalid_instrument",
        10021 => "invalid_amount",
        10023 => "invalid_price",
        10028 => "too_many_requests",
        10029 => "not_owner_of_order",
        10030 => "must_be_websocket_request",
        10035 => "invalid_trigger_price",
        10043 => "price_wrong_tick",
        11008 => "already_filled",
        11030 => "other_reject",
        11044 => "not_open_order",
        11050 => "bad_request",
        11051 => "system_maintenance",
        11052 => "subscribe_error",
        11054 => "post_only_reject",
        13004 => "invalid_credentials",
        13009 => "unauthorized",
        13020 => "not_found",
        13021 => "forbidden",
        13778 => "raw_subscriptions_not_available_for_unauthorized",
        13888 => "timed_out",
        -32601 => "Method not found",
        -32600 => "Invalid request",
        -32700 => "Parse error",
        _ => "error",
    };
    RpcError::new(code, message)
}

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// As it came, in JSON.
    pub id: Option<String>,
    pub method: String,
    pub params: Params,
    /// When it came, in microseconds of UTC.
    pub us_in: i64,
    pub connection: u64,
    pub is_http: bool,
    /// The FIX message that it came in.
    pub fix: Option<FixMessage>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Reads a request. What can be read of one that is wrong is in the error, so that it is answered
/// with its id.
pub fn read(text: &str) -> Result<Request, (Option<String>, RpcError)> {
    if text.len() > REQUEST_BYTES_MAX {
        return Err((None, error(-32600)));
    }
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(problem) if problem.is_data() => return Err((None, error(-32600))),
        Err(_) => return Err((None, error(-32700))),
    };
    let id = envelope.id.map(|id| id.get().to_owned());
    let Some(method) = envelope.method else { return Err((id, error(-32600))) };
    let method = method.strip_prefix("/api/v2/").unwrap_or(&method).to_owned();
    let params = match envelope.params.map(RawValue::get) {
        None | Some("null") => Params::default(),
        Some(params) => match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(params) {
            Ok(params) => {
                Params(params.into_iter().map(|(key, it)| (key, it.get().to_owned())).collect())
            }
            Err(_) => return Err((id, RpcError::param("params", "must be an object"))),
        },
    };
    Ok(Request { id, method, params, ..Request::default() })
}

/// Named parameters: JSON texts.
#[derive(Clone, Debug, Default)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Of a query: what is JSON is that, the rest is text.
    pub fn of_query(query: &str) -> Self {
        let json = |text: String| match serde_json::from_str::<Value>(&text) {
            Ok(value) if !value.is_string() => text,
            _ => Value::String(text).to_string(),
        };
        let mut params = BTreeMap::new();
        for (key, value) in http::pairs(query) {
            // A list may come as `channels[]=a&channels[]=b`.
            match key.strip_suffix("[]") {
                None => _ = params.insert(key, json(value)),
                Some(list) => {
                    let list: &mut String =
                        params.entry(list.to_owned()).or_insert_with(|| "[]".to_owned());
                    let comma = if list == "[]" { "" } else { "," };
                    list.pop();
                    list.push_str(&format!("{comma}{}]", Value::String(value)));
                }
            }
        }
        Self(params)
    }

    /// Of texts by their names.
    pub fn of_texts<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let json =
            |(name, text): (&str, String)| (name.to_owned(), Value::String(text).to_string());
        Self(pairs.into_iter().map(json).collect())
    }

    fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| *text != "null")
    }

    /// A text; a number's digits are one, too.
    pub fn text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?;
        match serde_json::from_str(raw) {
            Ok(Value::String(text)) => Some(text),
            _ => Some(raw.to_owned()),
        }
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> Result<String, RpcError> {
        self.text(name).ok_or_else(|| RpcError::param(name, "value required"))
    }

    /// A number at 1e-9.
    pub fn number(&self, name: &str) -> Result<Option<i128>, RpcError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        decimal::parse(&text).map(Some).ok_or_else(|| RpcError::param(name, "must be a number"))
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, RpcError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| RpcError::param(name, "must be an integer"))
    }

    /// True or false; absent is false.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text == "true")
    }

    /// A list of texts; one text counts as a list of it.
    pub fn list(&self, name: &str) -> Result<Vec<String>, RpcError> {
        let raw = self.raw(name).ok_or_else(|| RpcError::param(name, "value required"))?;
        match serde_json::from_str(raw) {
            Ok(Value::Array(list)) => list
                .iter()
                .map(|it| it.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| RpcError::param(name, "must be a list of texts")),
            Ok(Value::String(text)) => Ok(vec![text]),
            _ => Err(RpcError::param(name, "must be a list")),
        }
    }
}

/// The text of an answer.
pub fn answer(
    id: Option<&str>,
    outcome: &Result<Value, RpcError>,
    us_in: i64,
    us_out: i64,
) -> String {
    let id = id.map_or(String::new(), |id| format!("\"id\":{id},"));
    let outcome = match outcome {
        Ok(result) => format!("\"result\":{result}"),
        Err(error) => format!("\"error\":{}", error.json()),
    };
    format!(
        "{{\"jsonrpc\":\"2.0\",{id}{outcome},\"usIn\":{us_in},\"usOut\":{us_out},\"usDiff\":{},\
         \"testnet\":true}}",
        us_out - us_in
    )
}

/// The text of a notification.
pub fn notification(channel: &str, data: &Value) -> String {
    let channel = Value::from(channel);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{{\"channel\":{channel},\
         \"data\":{data}}}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_echoed_as_it_came() {
        for id in ["1", "\"0x1f\"", "1.50", "18446744073709551616", "\"7d-\\u00e9\"", "null"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"public/test"}}"#);
            let request = read(&text).expect("a request");
            let answer = answer(request.id.as_deref(), &Ok(json!(1)), 5, 7);
            // An absent id and null are the same to JSON-RPC.
            let echo = if id == "null" { String::new() } else { format!("\"id\":{id},") };
            assert!(answer.contains(&format!("\"2.0\",{echo}\"result\":1,\"usIn\":5")), "{answer}");
        }
    }

    #[test]
    fn what_is_no_request_has_a_code() {
        for (text, code) in [
            ("", -32700),
            ("{", -32700),
            ("[]", -32600),
            ("{}", -32600),
            (r#"{"id":1}"#, -32600),
            (r#"{"id":1,"method":"public/test","params":[1]}"#, -32602),
        ] {
            assert_eq!(read(text).expect_err("an error").1.code, code, "{text}");
        }
        assert_eq!(read(&" ".repeat(REQUEST_BYTES_MAX + 1)).expect_err("an error").1.code, -32600);
    }

    #[test]
    fn parameters_come_as_json_and_in_a_query() {
        let params =
            Params::of_query("amount=1e1&label=007&flag=true&channels[]=a&channels[]=b&c=x.y");
        assert_eq!(params.number("amount"), Ok(Some(10 * decimal::UNITS)));
        assert_eq!(params.text("label").as_deref(), Some("007"));
        assert!(params.flag("flag") && !params.flag("other"));
        assert_eq!(params.list("channels"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(params.text("c").as_deref(), Some("x.y"));
        assert!(params.needed("d").is_err() && params.number("c").is_err());
    }
}
