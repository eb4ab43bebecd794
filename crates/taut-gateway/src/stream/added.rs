//! What streams that stand are asked for: symbols that are added, and books that are quiet.
//!
//! Symbols that are added while streams of them stand: those are asked for the new ones' streams,
//! which stand in the URL of every connection that follows.
//!
//! Source: binance-spot-api-docs, "WebSocket Streams": `SUBSCRIBE`, five messages a second.

use std::collections::VecDeque;

use taut_types::Nanos;

use crate::order_entry::last_words::LastWords;

/// Streams of one request.
const STREAMS_MAX: usize = 100;
/// From one request of a connection to the next: the venue counts its pongs, too.
const PACE: Nanos = Nanos::from_secs(1);
/// How long the venue may take to answer.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// How a symbol is followed: `{name}` stands for the venue's name of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolStreams {
    /// Its streams, its book's first, whose names have it in small letters: `{name}@trade`. They
    /// are added to the stream's URL, each behind a slash.
    pub streams: Vec<String>,
    /// What is sent to ask for its book; `{id}` stands for the number of its instrument.
    pub snapshot_request: String,
}

impl SymbolStreams {
    /// The names of a symbol's streams.
    pub fn streams_of(&self, name: &str) -> impl Iterator<Item = String> {
        let small = name.to_ascii_lowercase();
        self.streams.iter().map(move |stream| stream.replace("{name}", &small))
    }

    /// What is sent to ask for the book of the symbol whose instrument has this number.
    #[must_use]
    pub fn snapshot_request_of(&self, id: usize, name: &str) -> String {
        self.snapshot_request.replace("{id}", &id.to_string()).replace("{name}", name)
    }
}

/// Streams that were added, and what came of asking for them.
#[derive(Debug, Default)]
pub(super) struct Added {
    streams: Vec<String>,
    last_id: u64,
    /// Requests that the venue refused.
    pub refused: u64,
    /// Streams that were given up and asked for anew.
    pub resubscribed: u64,
    pub last_words: LastWords,
}

/// How far a connection has been asked for the added streams.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// So many are in its URL, or were asked for.
    count: usize,
    /// Streams to give up and to ask for anew; whether the first one has been given up.
    anew: VecDeque<String>,
    is_given_up: bool,
    /// Until when the answer to the last request must come, if it has not.
    answer_by: Option<Nanos>,
    /// The next request leaves no earlier.
    next_at: Nanos,
}

impl Asked {
    /// Whether an answer has not come in time.
    pub(super) fn is_late(&self, now: Nanos) -> bool {
        self.answer_by.is_some_and(|by| now >= by)
    }

    /// A stream of the connection is to be given up and asked for anew; whether it was not to be
    /// already.
    pub(super) fn anew(&mut self, stream: &str) -> bool {
        let is_new = self.anew.iter().all(|it| it != stream);
        if is_new {
            self.anew.push_back(stream.to_owned());
        }
        is_new
    }

    /// The next request for such a stream, without its id.
    fn poll_anew(&mut self) -> Option<String> {
        let stream = self.anew.front()?;
        let method = if self.is_given_up { "SUBSCRIBE" } else { "UNSUBSCRIBE" };
        let request = format!("{{\"method\":\"{method}\",\"params\":[\"{stream}\"]");
        if self.is_given_up {
            self.anew.pop_front();
        }
        self.is_given_up = !self.is_given_up;
        Some(request)
    }
}

impl Added {
    pub(super) fn push(&mut self, stream: String) {
        self.streams.push(stream);
    }

    /// A connection was made whose URL has all of them.
    pub(super) fn connected(&self) -> Asked {
        Asked { count: self.streams.len(), ..Asked::default() }
    }

    /// The next request for streams that a connection does not bring yet.
    pub(super) fn poll_request(&mut self, asked: &mut Asked, now: Nanos) -> Option<String> {
        if asked.answer_by.is_some() || now < asked.next_at {
            return None;
        }
        if let Some(request) = asked.poll_anew() {
            self.last_id += 1;
            (asked.answer_by, asked.next_at) = (Some(now + PATIENCE), now + PACE);
            return Some(format!("{request},\"id\":{}}}", self.last_id));
        }
        let missing = self.streams.get(asked.count..).filter(|missing| !missing.is_empty())?;
        let some = missing.get(..STREAMS_MAX).unwrap_or(missing);
        self.last_id += 1;
        asked.count += some.len();
        (asked.answer_by, asked.next_at) = (Some(now + PATIENCE), now + PACE);
        let names = some.join("\",\"");
        Some(format!(
            "{{\"method\":\"SUBSCRIBE\",\"params\":[\"{names}\"],\"id\":{}}}",
            self.last_id
        ))
    }

    /// An answer: there is one request under way on a connection at the most. What was refused is
    /// not asked for again there.
    pub(super) fn answered(&mut self, asked: &mut Asked, answer: &[u8]) {
        asked.answer_by = None;
        if !answer.starts_with(b"{\"result\"") {
            self.refused += 1;
            self.last_words.say(format_args!("{}", String::from_utf8_lossy(answer)));
        }
    }
}

/// Whether a message of a stream is an answer, and no data. Cost: a comparison of its beginning.
#[inline]
pub(super) fn is_answer(frame: &[u8]) -> bool {
    matches!(frame.first_chunk::<4>(), Some(b"{\"re" | b"{\"er" | b"{\"co" | b"{\"id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Nanos = Nanos::from_secs(100);

    fn added(count: usize) -> Added {
        let mut added = Added::default();
        (0..count).for_each(|at| added.push(format!("s{at}@trade")));
        added
    }

    #[test]
    fn a_connection_is_asked_once_for_what_its_url_has_not_one_request_after_the_other() {
        let mut added = added(1);
        let mut old = Asked::default();
        let mut new = added.connected();
        let first = r#"{"method":"SUBSCRIBE","params":["s0@trade"],"id":1}"#;
        assert_eq!(added.poll_request(&mut old, AT).as_deref(), Some(first));
        assert_eq!(added.poll_request(&mut new, AT), None);
        for name in ["x@depth", "x@trade"] {
            added.push(name.to_owned());
        }
        assert_eq!(added.poll_request(&mut old, AT + PACE), None, "an answer is to come");
        added.answered(&mut old, br#"{"result":null,"id":1}"#);
        assert_eq!(added.poll_request(&mut old, AT), None, "not so soon");
        for (asked, id) in [(&mut old, 2), (&mut new, 3)] {
            let text = added.poll_request(asked, AT + PACE).unwrap_or_default();
            let params = r#""params":["x@depth","x@trade"]"#;
            assert_eq!(text, format!(r#"{{"method":"SUBSCRIBE",{params},"id":{id}}}"#));
        }
        assert!(!old.is_late(AT + PATIENCE) && old.is_late(AT + PACE + PATIENCE));
        assert_eq!(added.refused, 0);
    }

    #[test]
    fn a_stream_is_given_up_and_asked_for_anew_before_what_is_added() {
        let (mut added, mut asked) = (added(1), Asked::default());
        assert!(asked.anew("x@depth") && !asked.anew("x@depth"));
        let mut said = Vec::new();
        for second in 0..4 {
            said.extend(added.poll_request(&mut asked, AT + Nanos::from_secs(second)));
            added.answered(&mut asked, br#"{"result":null,"id":1}"#);
        }
        let text = |method: &str, name: &str, id: u32| {
            format!(r#"{{"method":"{method}","params":["{name}"],"id":{id}}}"#)
        };
        let expected = [
            text("UNSUBSCRIBE", "x@depth", 1),
            text("SUBSCRIBE", "x@depth", 2),
            text("SUBSCRIBE", "s0@trade", 3),
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn many_streams_leave_in_pieces_and_what_is_refused_is_said() {
        let (mut added, mut asked) = (added(250), Asked::default());
        let mut counts = Vec::new();
        for second in 0..5 {
            let text = added.poll_request(&mut asked, AT + Nanos::from_secs(second));
            counts.extend(text.map(|text| text.matches("@trade").count()));
            let refused = br#"{"code":2,"msg":"Invalid request: too many streams","id":1}"#;
            added.answered(&mut asked, refused);
        }
        assert_eq!(counts, [100, 100, 50]);
        assert!(added.refused > 0 && added.last_words.as_str().contains("too many streams"));
    }

    #[test]
    fn answers_are_told_from_data() {
        for answer in [
            r#"{"result":null,"id":1}"#,
            r#"{"error":{"code":3,"msg":"Invalid JSON"},"id":1}"#,
            r#"{"code":2,"msg":"Invalid request"}"#,
            r#"{"id":1,"result":null}"#,
        ] {
            assert!(is_answer(answer.as_bytes()), "{answer}");
        }
        for data in [
            r#"{"stream":"btcusdt@trade","data":{"e":"trade"}}"#,
            r#"{"e":"depthUpdate","E":1}"#,
            "",
            "\u{12}\0\u{10}'",
        ] {
            assert!(!is_answer(data.as_bytes()), "{data}");
        }
    }

    #[test]
    fn what_a_symbol_is_followed_by_has_its_name_and_number() {
        let symbols = SymbolStreams {
            streams: vec!["{name}@depth@100ms".to_owned(), "{name}@trade".to_owned()],
            snapshot_request: r#"{"id":{id},"params":{"symbol":"{name}"}}"#.to_owned(),
        };
        assert!(symbols.streams_of("ETHUSDT").eq(["ethusdt@depth@100ms", "ethusdt@trade"]));
        let request = symbols.snapshot_request_of(7, "ETHUSDT");
        assert_eq!(request, r#"{"id":7,"params":{"symbol":"ETHUSDT"}}"#);
    }
}
