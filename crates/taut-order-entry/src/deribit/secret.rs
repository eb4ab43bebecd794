//! What must not get into a log.

use core::fmt;

/// Bytes that are not shown, such as a token: whoever has it trades.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Secret<'a>(pub &'a [u8]);

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::super::{Request, read_token};

    #[test]
    fn neither_a_token_nor_the_request_for_another_shows_it() {
        let body = br#"{"access_token":"abc","expires_in":9,"refresh_token":"xyz","scope":"s"}"#;
        let token = read_token(body).expect("a token");
        assert_eq!((token.access.0, token.refresh.0), (&b"abc"[..], &b"xyz"[..]));
        let hidden = "Token { access: Secret, refresh: Secret, expires_in_s: Some(9), ";
        assert!(format!("{token:?}").starts_with(hidden));
        let request = Request::Refresh { token: token.refresh };
        assert_eq!(format!("{request:?}"), "Refresh { token: Secret }");
    }
}
