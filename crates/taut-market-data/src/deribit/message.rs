//! What a JSON-RPC frame is, before anybody looks at what it says.

use crate::error::MarketDataError;
use crate::scan::Scanner;

/// A frame from the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// What a subscription brings.
    Notification {
        /// The subscription.
        channel: &'a [u8],
        /// The frame from where the data begin, up to its end.
        data: &'a [u8],
    },
    /// An answer to a request.
    Answer {
        /// The request's id as it stands there: a number, or a text with its quotes.
        id: &'a [u8],
        /// The frame from where the result or the error begins, up to its end.
        body: &'a [u8],
        /// Whether it is an error.
        is_error: bool,
    },
    /// The venue is there.
    Heartbeat,
    /// The venue wants to hear `public/test`, or it closes the connection.
    TestRequest,
    /// Something else.
    Unknown,
}

/// Takes a frame apart. Cost: its structure up to the data of a notification in the usual order;
/// all of its structure otherwise.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is no JSON object, as far as it was looked at.
pub fn read_message(frame: &[u8]) -> Result<Message<'_>, MarketDataError> {
    match usual(frame) {
        Some((channel, scanner)) => Ok(Message::Notification { channel, data: scanner.rest() }),
        None => any(frame),
    }
}

/// The channel of a notification in the usual order, and the place of its data. What stands behind
/// these has not been looked at: see [`finish`].
#[inline]
pub(super) fn usual(frame: &[u8]) -> Option<(&[u8], Scanner<'_>)> {
    let mut scanner = Scanner::new(frame);
    scanner
        .literal(b"{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{\"channel\":\"")?;
    let channel = scanner.text_tail()?;
    scanner.literal(b",\"data\":")?;
    Some((channel, scanner))
}

/// Takes what stands behind the data of a notification.
#[inline]
pub(super) fn finish(scanner: &mut Scanner<'_>) -> Option<()> {
    if scanner.rest() == b"}}" {
        return Some(());
    }
    scanner.finish_object()?;
    scanner.finish_object()?;
    if scanner.is_at_end() { Some(()) } else { scanner.refuse(crate::error::Expected::Json) }
}

/// A frame whose keys come in any order.
#[cold]
pub(super) fn any(frame: &[u8]) -> Result<Message<'_>, MarketDataError> {
    let mut scanner = Scanner::new(frame);
    let (mut method, mut kind): (&[u8], &[u8]) = (b"", b"");
    let (mut channel, mut data) = (None, None);
    let (mut id, mut result, mut error) = (None, None, None);
    let read = scanner.object(|scanner, key| {
        match key {
            b"method" => return text(scanner, |text| method = text),
            b"id" => id = Some(scanner.value()?),
            b"result" => result = Some(tail(scanner)?),
            b"error" => error = Some(tail(scanner)?),
            b"params" if scanner.peek()? == b'{' => {
                return scanner.object(|scanner, key| match key {
                    b"channel" => text(scanner, |text| channel = Some(text)),
                    b"type" => text(scanner, |text| kind = text),
                    b"data" => tail(scanner).map(|tail| data = Some(tail)),
                    _ => scanner.skip_value(),
                });
            }
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    if read.is_none() || !scanner.is_at_end() {
        return Err(scanner.error());
    }
    let id = id.unwrap_or(b"null");
    Ok(match (method, channel, data, result, error) {
        (b"subscription", Some(channel), Some(data), ..) => Message::Notification { channel, data },
        (b"heartbeat", ..) if kind == b"test_request" => Message::TestRequest,
        (b"heartbeat", ..) => Message::Heartbeat,
        (.., Some(body)) => Message::Answer { id, body, is_error: true },
        (.., Some(body), None) => Message::Answer { id, body, is_error: false },
        _ => Message::Unknown,
    })
}

/// A value that should be a text; any other says nothing.
fn text<'a>(scanner: &mut Scanner<'a>, take: impl FnOnce(&'a [u8])) -> Option<()> {
    if scanner.peek()? == b'"' {
        take(scanner.text()?);
        return Some(());
    }
    scanner.skip_value()
}

/// The frame from a value on; the value is skipped.
fn tail<'a>(scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
    scanner.peek()?;
    let tail = scanner.rest();
    scanner.skip_value()?;
    Some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    const BOOK: &str = concat!(
        r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.X.raw","#,
        r#""data":{"a":1}}}"#
    );

    #[test]
    fn a_notification_is_the_same_in_any_order() {
        let others = [
            r#"{"params":{"data":{"a":1},"channel":"book.X.raw"},"method":"subscription"}"#,
            concat!(
                r#" { "method" : "subscription", "params" : {"label":"l","#,
                r#""channel":"book.X.raw", "data":{"a":1}}}"#,
            ),
        ];
        for frame in others.iter().chain([&BOOK]) {
            let Ok(Message::Notification { channel, data }) = read_message(frame.as_bytes()) else {
                panic!("{frame}")
            };
            assert_eq!(channel, b"book.X.raw");
            assert!(data.starts_with(br#"{"a":1}"#), "{frame}");
        }
    }

    #[test]
    fn what_stands_behind_the_data_is_looked_at_in_the_end() {
        for (behind, is_well) in
            [("}}", true), (r#","label":"l"},"x":[1]} "#, true), ("}", false), ("}}}", false)]
        {
            let mut scanner = Scanner::new(behind.as_bytes());
            assert_eq!(finish(&mut scanner).is_some(), is_well, "{behind}");
        }
    }

    #[test]
    fn answers_heartbeats_and_strangers_are_told_apart() {
        let read = |frame: &'static str| read_message(frame.as_bytes()).unwrap();
        let answer = read(r#"{"jsonrpc":"2.0","id":"7","result":["a"],"usIn":1,"testnet":false}"#);
        let Message::Answer { id: br#""7""#, body, is_error: false } = answer else {
            panic!("{answer:?}")
        };
        assert!(body.starts_with(b"[\"a\"]"));
        let refused = read(r#"{"id":7,"error":{"code":10028,"message":"too_many_requests"}}"#);
        assert!(matches!(refused, Message::Answer { id: b"7", is_error: true, .. }));
        let heartbeat = |kind| {
            let text = format!(r#"{{"params":{{"type":"{kind}"}},"method":"heartbeat"}}"#);
            format!("{:?}", read_message(text.as_bytes()).unwrap())
        };
        assert_eq!(
            [heartbeat("heartbeat"), heartbeat("test_request")],
            ["Heartbeat", "TestRequest"]
        );
        for frame in ["{}", r#"{"method":"news","params":{}}"#, r#"{"method":5,"params":[]}"#] {
            assert_eq!(read(frame), Message::Unknown);
        }
        for frame in ["", "[]", "null", "{\"id\":", "{} x", "{\"params\":{]}"] {
            assert!(read_message(frame.as_bytes()).is_err(), "{frame}");
        }
    }
}
