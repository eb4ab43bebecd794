//! Errors by the numbers of the venue's list ("Error codes for Binance SPOT").

use std::fmt;

use serde_json::{Value, json};

/// An error as it is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The status of HTTP, and of the WebSocket API.
    pub status: u16,
    pub code: i64,
    pub text: String,
    pub data: Option<Value>,
    /// In how many seconds it may be tried again.
    pub retry_after: Option<i64>,
}

impl ApiError {
    pub fn new(code: i64, text: &str) -> Self {
        let status = match code {
            -1003 | -1015 => 429,
            -1002 | -2014 | -2015 => 401,
            -1008 | -1016 => 503,
            _ => 400,
        };
        Self { status, code, text: text.to_owned(), data: None, retry_after: None }
    }

    pub fn mandatory(name: &str) -> Self {
        let text =
            format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.");
        Self::new(-1102, &text)
    }

    pub fn illegal(name: &str, range: &str) -> Self {
        let text =
            format!("Illegal characters found in parameter '{name}'; legal range is '{range}'.");
        Self::new(-1100, &text)
    }

    pub fn filter(name: &str) -> Self {
        Self::new(-1013, &format!("Filter failure: {name}"))
    }

    /// The object of REST, and of `error` on the WebSocket API.
    pub fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "msg": self.text });
        if let (Some(data), Some(map)) = (&self.data, error.as_object_mut()) {
            map.insert("data".to_owned(), data.clone());
        }
        error
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.code)
    }
}

impl std::error::Error for ApiError {}

/// The errors that need no words of their own.
pub fn error(code: i64) -> ApiError {
    let text = match code {
        -1003 => {
            "Too many requests; current limit of IP is 6000 request weight per 1 MINUTE. Please \
             use WebSocket Streams for live updates to avoid polling the API."
        }
        -1008 => {
            "Server is currently overloaded with other requests. Please try again in a few minutes."
        }
        -1016 => "This service is no longer available.",
        -1021 => "Timestamp for this request is outside of the recvWindow.",
        -1022 => "Signature for this request is not valid.",
        -1115 => "Invalid timeInForce.",
        -1116 => "Invalid orderType.",
        -1117 => "Invalid side.",
        -1120 => "Invalid interval.",
        -1121 => "Invalid symbol.",
        -1125 => "This listenKey does not exist.",
        -1131 => "recvWindow must be less than 60000.",
        -2011 => "Unknown order sent.",
        -2013 => "Order does not exist.",
        -2014 => "API-key format invalid.",
        -2015 => "Invalid API-key, IP, or permissions for action.",
        _ => "An unknown error occurred while processing the request.",
    };
    ApiError::new(code, text)
}
