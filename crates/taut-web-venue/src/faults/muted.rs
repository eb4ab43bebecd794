//! Channels of books, as messages and requests name them.

/// What stands before a channel's name in a message of Deribit's, and of Binance's streams.
const BEFORE_NAME: [&str; 2] = ["\"channel\":\"", "{\"stream\":\""];

/// The channel of a book that a message is of.
pub(super) fn book_channel(text: &str) -> Option<&str> {
    let behind = BEFORE_NAME.iter().find_map(|key| text.split_once(key))?.1;
    let name = behind.split('"').next()?;
    let is_book = ["book.", "quote."].iter().any(|kind| name.starts_with(kind));
    (is_book || name.contains("@depth")).then_some(name)
}

/// Whether a request is about subscriptions.
pub(super) fn subscribes(text: &str) -> bool {
    ["/subscribe\"", "\"SUBSCRIBE\""].iter().any(|method| text.contains(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_of_books_are_told_from_others() {
        let deribit = r#"{"method":"subscription","params":{"channel":"book.A.raw","data":{}}}"#;
        assert_eq!(book_channel(deribit), Some("book.A.raw"));
        let binance = r#"{"stream":"a@depth@100ms","data":{}}"#;
        assert_eq!(book_channel(binance), Some("a@depth@100ms"));
        for other in [r#"{"stream":"a@trade","data":{}}"#, r#"{"channel":"trades.A.raw"}"#, "{}"] {
            assert_eq!(book_channel(other), None, "{other}");
        }
        let methods = ["public/subscribe", "SUBSCRIBE", "public/unsubscribe", "UNSUBSCRIBE"];
        let is_one = methods.map(|method| subscribes(&format!("{{\"method\":\"{method}\"}}")));
        assert_eq!(is_one, [true, true, false, false]);
    }
}
