//! Books as a client was told them before: what a cache in front of a venue answers with.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::front::{HttpRequest, Output};

/// How many requests of a connection are remembered that nobody has answered yet.
const ASKED_MAX: usize = 256;
/// What a book that was asked for has, at Binance.
const NUMBER: &str = "\"lastUpdateId\":";

/// What was asked for, and what was told of it the last time.
#[derive(Debug, Default)]
pub(super) struct OldBooks {
    /// By connection and id: the book that a text asks for.
    texts: BTreeMap<u64, Vec<(Value, String)>>,
    /// By connection, in their order: the books that HTTP requests ask for, where it is one.
    requests: BTreeMap<u64, VecDeque<Option<String>>>,
    /// The book's part of an answer, by what was asked for.
    told: BTreeMap<String, Value>,
}

impl OldBooks {
    /// A text of a client's.
    pub(super) fn text(&mut self, connection: u64, text: &str) {
        if !text.contains("\"depth\"") {
            return;
        }
        let Ok(request) = serde_json::from_str::<Value>(text) else { return };
        if request.get("method").and_then(Value::as_str) != Some("depth") {
            return;
        }
        let asked = self.texts.entry(connection).or_default();
        if asked.len() < ASKED_MAX
            && let (Some(id), Some(book)) = (request.get("id"), request.get("params"))
        {
            asked.push((id.clone(), book.to_string()));
        }
    }

    /// An HTTP request of a client's.
    pub(super) fn request(&mut self, connection: u64, request: &HttpRequest) {
        let is_book = request.path.ends_with("/depth");
        let asked = self.requests.entry(connection).or_default();
        if asked.len() < ASKED_MAX {
            asked.push_back(is_book.then(|| request.query.clone()));
        }
    }

    /// What the book was asked for by that this answers with.
    pub(super) fn asked(&mut self, output: &Output) -> Option<String> {
        match output {
            Output::Text { connection, text } if text.contains(NUMBER) => {
                let asked = self.texts.get_mut(connection)?;
                let answer: Value = serde_json::from_str(text).ok()?;
                let id = answer.get("id")?;
                let at = asked.iter().position(|(of, _)| of == id)?;
                Some(asked.remove(at).1)
            }
            Output::Answer { connection, body, .. } => {
                let key = self.requests.get_mut(connection)?.pop_front()?;
                key.filter(|_| body.contains(NUMBER))
            }
            _ => None,
        }
    }

    /// Whether such a book was told before.
    pub(super) fn has(&self, key: &str) -> bool {
        self.told.contains_key(key)
    }

    /// The answer with the book that was told the last time.
    pub(super) fn instead_of(&self, key: &str, output: Output) -> Output {
        let Some(book) = self.told.get(key) else { return output };
        match output {
            Output::Text { connection, text } => {
                let text = match serde_json::from_str::<Value>(&text) {
                    Ok(Value::Object(mut answer)) => {
                        answer.insert("result".to_owned(), book.clone());
                        Value::Object(answer).to_string()
                    }
                    _ => text,
                };
                Output::Text { connection, text }
            }
            Output::Answer { connection, status, headers, .. } => {
                Output::Answer { connection, status, headers, body: book.to_string() }
            }
            other => other,
        }
    }

    /// Keeps the book that is told now.
    pub(super) fn keep(&mut self, key: String, output: &Output) {
        let book = match output {
            Output::Text { text, .. } => serde_json::from_str::<Value>(text)
                .ok()
                .and_then(|mut answer| answer.get_mut("result").map(Value::take)),
            Output::Answer { body, .. } => serde_json::from_str(body).ok(),
            _ => None,
        };
        if let Some(book) = book {
            self.told.insert(key, book);
        }
    }

    /// A connection is gone.
    pub(super) fn closed(&mut self, connection: u64) {
        self.texts.remove(&connection);
        self.requests.remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_is_answered_with_the_one_before_under_the_id_that_asks() {
        let mut old = OldBooks::default();
        let ask = |id: u64| format!(r#"{{"id":{id},"method":"depth","params":{{"symbol":"A"}}}}"#);
        let told = |id: u64, last: u64| {
            let text = format!(r#"{{"id":{id},"result":{{"lastUpdateId":{last}}}}}"#);
            Output::Text { connection: 1, text }
        };
        old.text(1, &ask(7));
        old.text(1, r#"{"id":8,"method":"time"}"#);
        assert_eq!(old.asked(&told(8, 1)), None);
        let key = old.asked(&told(7, 20)).expect("it was asked for");
        assert_eq!((old.asked(&told(7, 20)), old.has(&key)), (None, false));
        old.keep(key, &told(7, 20));
        old.text(1, &ask(9));
        let key = old.asked(&told(9, 30)).expect("it was asked for");
        assert!(old.has(&key));
        assert_eq!(old.instead_of(&key, told(9, 30)), told(9, 20));
        // Over HTTP answers come in the order of their requests.
        let request = |path: &str| HttpRequest {
            path: path.to_owned(),
            query: "symbol=A".to_owned(),
            ..HttpRequest::default()
        };
        let answer = |body: &str| Output::Answer {
            connection: 2,
            status: 200,
            headers: Vec::new(),
            body: body.to_owned(),
        };
        old.request(2, &request("/api/v3/time"));
        old.request(2, &request("/api/v3/depth"));
        assert_eq!(old.asked(&answer("{}")), None);
        let key = old.asked(&answer(r#"{"lastUpdateId":5}"#)).expect("it was asked for");
        old.keep(key.clone(), &answer(r#"{"lastUpdateId":5}"#));
        assert_eq!(
            old.instead_of(&key, answer(r#"{"lastUpdateId":6}"#)),
            answer(r#"{"lastUpdateId":5}"#)
        );
    }
}
