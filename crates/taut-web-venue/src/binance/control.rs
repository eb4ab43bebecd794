//! The requests that open and close market streams, and what goes to who listens.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::binance::market::Market;
use crate::binance::session::Kind;
use crate::binance::state::Binance;
use crate::binance::stream::{Class, SbeStream, Stream, sbe_stream_of, stream_of, usd_m_stream_of};
use crate::front::Output;

/// Streams of a connection.
const STREAMS_MAX: usize = 1_024;

impl Binance {
    pub(super) fn stream(&self, class: Class, name: &str) -> Stream {
        if class == Class::SpotJson {
            if name == "!miniTicker@arr" {
                return Stream::MiniTickers;
            }
            if let Some(key) = self.listen_keys.get(name) {
                return Stream::Account(key.account);
            }
        }
        let Some((symbol, kind)) = name.split_once('@') else { return Stream::Unknown };
        let is_it = |it: &Market| {
            it.settings.market == class.market() && it.settings.name.to_lowercase() == symbol
        };
        let Some(place) = self.markets.iter().position(is_it) else { return Stream::Unknown };
        let stream = match class {
            Class::SpotJson => stream_of(place, kind),
            Class::SpotSbe => sbe_stream_of(place, kind),
            Class::UsdMPublic | Class::UsdMMarket | Class::UsdMNone => {
                usd_m_stream_of(place, kind, class)
            }
        };
        stream.unwrap_or(Stream::Unknown)
    }

    /// A request on a connection to the streams.
    pub(super) fn control(&mut self, connection: u64, text: &str) {
        let (id, outcome) = match read(text) {
            Ok(request) => {
                let outcome = self.do_control(connection, &request);
                (request.id, outcome)
            }
            Err(problem) => (None, Err(problem)),
        };
        let id = id.as_deref();
        let text = match outcome {
            Ok(result) => format!("{{\"result\":{result},\"id\":{}}}", id.unwrap_or("null")),
            Err((code, why)) => {
                let why = json!(why);
                let id = id.map_or(String::new(), |id| format!(",\"id\":{id}"));
                format!("{{\"code\":{code},\"msg\":{why}{id}}}")
            }
        };
        self.out.push_back(Output::Text { connection, text });
    }

    fn do_control(&mut self, connection: u64, request: &Control) -> Result<Value, Problem> {
        let session = self.sessions.get(&connection).map(|it| &it.kind);
        let Some(Kind::Streams { class, .. }) = session else { return Ok(Value::Null) };
        let class = *class;
        let names = request.params.as_array().cloned().unwrap_or_default();
        let texts: Option<Vec<String>> =
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
        let wanted = match (request.method.as_str(), texts) {
            ("SUBSCRIBE" | "UNSUBSCRIBE", None) => {
                return Err((2, "Invalid request: stream names must be strings".to_owned()));
            }
            ("SUBSCRIBE", Some(texts)) => {
                texts.into_iter().map(|name| (self.stream(class, &name), name)).collect::<Vec<_>>()
            }
            (_, texts) => {
                texts.unwrap_or_default().into_iter().map(|it| (Stream::Unknown, it)).collect()
            }
        };
        let session = self.sessions.get_mut(&connection).map(|it| &mut it.kind);
        let Some(Kind::Streams { is_combined, streams, .. }) = session else {
            return Ok(Value::Null);
        };
        let is_property = names.first().and_then(Value::as_str) == Some("combined");
        match request.method.as_str() {
            "SUBSCRIBE" => {
                for (stream, name) in wanted {
                    if streams.iter().all(|(it, _)| *it != name) {
                        streams.push((name, stream));
                    }
                }
                if streams.len() > STREAMS_MAX {
                    streams.truncate(STREAMS_MAX);
                    return Err((2, "Invalid request: too many streams".to_owned()));
                }
                Ok(Value::Null)
            }
            "UNSUBSCRIBE" => {
                streams.retain(|(it, _)| wanted.iter().all(|(_, name)| name != it));
                Ok(Value::Null)
            }
            "LIST_SUBSCRIPTIONS" => Ok(streams.iter().map(|(name, _)| json!(name)).collect()),
            "SET_PROPERTY" | "GET_PROPERTY" if !is_property => {
                Err((0, "Unknown property".to_owned()))
            }
            "SET_PROPERTY" => match names.get(1) {
                Some(Value::Bool(combined)) => {
                    *is_combined = *combined;
                    Ok(Value::Null)
                }
                _ => Err((1, "Invalid value type: expected Boolean".to_owned())),
            },
            "GET_PROPERTY" => Ok(json!(is_combined)),
            other => Err((2, unknown_variant(other))),
        }
    }

    /// Who listens to a stream, and its name where it is told with its payload.
    pub(super) fn listeners(&self, stream: &Stream) -> Vec<(u64, Option<Value>)> {
        let mut listeners = Vec::new();
        for (&connection, session) in &self.sessions {
            let Kind::Streams { is_combined, streams, .. } = &session.kind else { continue };
            for (name, _) in streams.iter().filter(|(_, it)| it == stream) {
                listeners.push((connection, is_combined.then(|| json!(name))));
            }
        }
        listeners
    }

    /// Sends a stream's payload to who listens; it is made once, and only then.
    pub(super) fn publish(
        &mut self,
        stream: &Stream,
        payload: impl FnOnce(&Self) -> String,
    ) -> usize {
        let listeners = self.listeners(stream);
        let count = listeners.len();
        if count == 0 {
            return 0;
        }
        let payload = payload(self);
        for (connection, name) in listeners {
            let text = match name {
                Some(name) => format!("{{\"stream\":{name},\"data\":{payload}}}"),
                None => payload.clone(),
            };
            self.out.push_back(Output::Text { connection, text });
        }
        count
    }

    /// The same of a market's stream in SBE, where a message has no name before it: whose it is, it
    /// says itself.
    pub(super) fn publish_sbe(
        &mut self,
        place: usize,
        stream: SbeStream,
        message: impl FnOnce(&Market, i64) -> Vec<u8>,
    ) -> usize {
        let listeners = self.listeners(&Stream::Sbe(place, stream));
        let Some(market) = self.market(place).filter(|_| !listeners.is_empty()) else { return 0 };
        let bytes = message(market, self.now.utc.0 / 1_000);
        if bytes.is_empty() {
            return 0;
        }
        let count = listeners.len();
        for (connection, _) in listeners {
            self.out.push_back(Output::Message { connection, bytes: bytes.clone() });
        }
        count
    }
}

/// A number and a text.
type Problem = (i64, String);

struct Control {
    method: String,
    params: Value,
    /// As it came, in JSON.
    id: Option<String>,
}

fn read(text: &str) -> Result<Control, Problem> {
    #[derive(Deserialize)]
    struct Raw<'a> {
        method: String,
        #[serde(default)]
        params: Value,
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    let raw: Raw<'_> = serde_json::from_str(text).map_err(|problem| {
        let kind = if problem.is_data() { "Invalid request" } else { "Invalid JSON" };
        (if problem.is_data() { 2 } else { 3 }, format!("{kind}: {problem}"))
    })?;
    let id = raw.id.map(|id| id.get().to_owned());
    if !id.as_deref().is_none_or(is_request_id) {
        let why = "Invalid request: request ID must be an unsigned integer";
        return Err((2, why.to_owned()));
    }
    Ok(Control { method: raw.method, params: raw.params, id })
}

/// A whole number of 64 bits, a text of at most 36 letters, or null: in JSON.
pub fn is_request_id(json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(Value::Null) => true,
        Ok(Value::Number(number)) => number.is_i64(),
        Ok(Value::String(text)) => text.chars().count() <= 36,
        _ => false,
    }
}

fn unknown_variant(name: &str) -> String {
    format!(
        "Invalid request: unknown variant `{name}`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, \
         `LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY`"
    )
}
